"""`raymigrate hub`: the offline hub by hand."""

import shlex
from pathlib import Path

import click


@click.group()
def hub() -> None:
    """Serve models of random weights and small datasets in place of the Hugging Face Hub."""


SIZE = click.option(
    "--size",
    type=click.Choice(["tiny", "full"]),
    default="tiny",
    show_default=True,
    help="Size of the models; full is that of BERT-base and GPT-2 124M (2 GB in all, of random weights).",
)


@hub.command()
@SIZE
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port on 127.0.0.1; 0 takes a free one.")
@click.option("--directory", type=click.Path(path_type=Path), help="Folder for the assets; default: the user's cache.")
@click.option(
    "--task-heads/--no-task-heads",
    default=True,
    help="Whether BERT's weights hold a classifier of two classes; leave it out to load another number of classes.",
)
def serve(size: str, port: int, directory: Path | None, task_heads: bool) -> None:
    """Serve until Ctrl-C."""
    from raymigrate.base.signals import interruptible  # noqa: PLC0415
    from raymigrate.runtime.hub.assets import AssetError, cached_hub, ensure_hub  # noqa: PLC0415

    try:
        with interruptible():
            if directory is None:
                folder = cached_hub(size, task_heads=task_heads)
            else:
                folder = directory.resolve()
                ensure_hub(folder, size, task_heads=task_heads)
            _serve(folder, port)
    except AssetError as error:
        raise click.ClickException(str(error)) from error
    except KeyboardInterrupt:
        click.echo("Stopped.")


def _serve(folder: Path, port: int) -> None:
    from raymigrate.runtime.hub.server import HubServer  # noqa: PLC0415

    try:
        server = HubServer(folder, port)
    except OSError as error:
        raise click.ClickException(
            f"Port {port} cannot be used: {error.strerror}; choose another with --port."
        ) from error
    downloads = shlex.quote(str(folder.with_name(f"{folder.name}-downloads")))
    try:
        click.echo(f"Serving {folder} on {server.url} until Ctrl-C. In the shell of your job:\n")
        click.echo(f"    export HF_ENDPOINT={server.url}")
        click.echo(f"    export HF_HOME={downloads}  # keeps the tiny models out of your own cache\n")
        server.serve_forever()
    finally:
        server.close()


@hub.command(context_settings={"ignore_unknown_options": True})
@SIZE
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def run(size: str, command: tuple[str, ...]) -> None:
    """Run COMMAND with the hub, and exit as it does: `raymigrate hub run -- python train.py`."""
    import os  # noqa: PLC0415
    import sys  # noqa: PLC0415

    from raymigrate.base.signals import interruptible  # noqa: PLC0415
    from raymigrate.runtime.hub import AssetError, HubServer, cached_hub, hub_environment  # noqa: PLC0415
    from raymigrate.runtime.run_command import run_command  # noqa: PLC0415
    from raymigrate.runtime.watcher import temporary_folder  # noqa: PLC0415

    with interruptible():
        try:
            folder = cached_hub(size)
        except AssetError as error:
            raise click.ClickException(str(error)) from error
        with HubServer(folder) as server, temporary_folder("raymigrate-hub-") as cache:
            variables = {**os.environ, **hub_environment(server.url, cache)}
            try:
                status = run_command(command, variables, cache.name)
            except OSError as error:
                raise click.ClickException(f"{command[0]} cannot be run: {error.strerror}.") from error
    sys.exit(status)
