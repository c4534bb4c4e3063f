"""`raymigrate hub`: the offline hub by hand."""

from pathlib import Path

import click


@click.group()
def hub() -> None:
    """Serve tiny models and datasets in place of the Hugging Face Hub."""


@hub.command()
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port on 127.0.0.1; 0 takes a free one.")
@click.option("--directory", type=click.Path(path_type=Path), help="Folder for the assets; default: the user's cache.")
def serve(port: int, directory: Path | None) -> None:
    """Serve until Ctrl-C."""
    from raymigrate.runtime.hub.assets import AssetError, build_hub, cached_hub  # noqa: PLC0415
    from raymigrate.runtime.hub.server import HubServer  # noqa: PLC0415

    try:
        if directory is None:
            folder = cached_hub()
        else:
            folder = directory
            if not (folder / "aliases.json").is_file():
                build_hub(folder)
        server = HubServer(folder, port)
    except AssetError as error:
        raise click.ClickException(str(error)) from error
    except OSError as error:
        raise click.ClickException(f"Port {port} cannot be used: {error.strerror}; choose another with --port.") from error
    click.echo(f"Serving {folder} until Ctrl-C. In the shell of your job:\n\n    export HF_ENDPOINT={server.url}\n")
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        click.echo("Stopped.")
    finally:
        server.close()
