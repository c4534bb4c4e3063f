"""`raymigrate verify`: the command line of a verification."""

from __future__ import annotations

import shlex
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

import click

from raymigrate.base.extras import install
from raymigrate.base.options import Options
from raymigrate.base.ray_version import ray_version
from raymigrate.base.signals import interruptible
from raymigrate.runtime.watcher import temporary_folder

if TYPE_CHECKING:
    from raymigrate.runtime.verify.cluster import Cluster
    from raymigrate.runtime.verify.request import Request
    from raymigrate.runtime.verify.results import Verification
    from raymigrate.runtime.verify.scripts import Sources

ARMS = ("P", "Q", "A", "O", "B", "C")
LEGACY, PLAIN, AS_THEY_ARE = ("B", "C"), ("P", "C"), ("P", "Q")  # what runs unless --arms says otherwise
FROM_RAY = "The Ray that the script was written for, as in convert; arm A runs it on 2.7 from 2.7 on, else on 2.6."
HUB_SIZE = "Size of the offline hub's models: full is BERT-base and GPT-2 124M, of random weights."
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
FILE_OR_FOLDER = click.Path(exists=True, path_type=Path)
BEFORE = "Environment of the original: a requirements file, or the folder of a virtual environment."
LAUNCH = "What starts both scripts as they are: python, torchrun ... or accelerate launch ...; given twice, each one."


def _letters(ctx: click.Context, parameter: click.Parameter, value: str) -> tuple[str, ...]:
    letters = tuple(dict.fromkeys(part.strip().upper() for part in value.split(",") if part.strip()))
    if value and (len(letters) < 2 or set(letters) - set(ARMS)):
        raise click.BadParameter("two or more of P, A, O, B and C, such as A,O,B,C; or P,Q", ctx, parameter)
    if "Q" in letters and set(letters) != set(AS_THEY_ARE):
        raise click.BadParameter("Q is compared with P and with nothing else: P,Q", ctx, parameter)
    return tuple(sorted(letters, key=ARMS.index))


def _launches(ctx: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    from raymigrate.runtime.verify.arms import LAUNCHERS  # noqa: PLC0415

    try:
        launches = [tuple(shlex.split(words)) for words in value]
    except ValueError as error:  # a quotation that does not end
        raise click.BadParameter(str(error), ctx, parameter) from None
    for words in launches:
        if not words or words[0] not in LAUNCHERS or (words[0] == "accelerate" and words[1:2] != ("launch",)):
            raise click.BadParameter("a launch begins with python, torchrun or accelerate launch", ctx, parameter)
    if len(launches) > len(AS_THEY_ARE):
        raise click.BadParameter("one launch for both scripts, or one for each", ctx, parameter)
    return dict(zip(AS_THEY_ARE, launches * 2, strict=False)) if launches else {}


def _pins(ctx: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    from raymigrate.runtime.verify.pins import PINS  # noqa: PLC0415 - only when the option is used

    names = [pin.name for pin in PINS]
    for name in value:
        if name not in names:
            raise click.BadParameter(f"there is no pin {name}; there are {', '.join(names)}", ctx, parameter)
    return value


def _dropped(named: tuple[str, ...], letters: tuple[str, ...], *, upgrade: bool) -> tuple[str, ...]:
    """The pins that are off: those named, and those that would hide what is asked.

    Of a plain script the arms have the same libraries, or it is asked what others change. Two scripts on the same
    libraries draw the same random numbers, unless one of them asks for others.
    """
    from raymigrate.runtime.verify.pins import PINS  # noqa: PLC0415

    of_generations = [pin.name for pin in PINS if pin.of_generations and "P" in letters]
    of_draws = [pin.name for pin in PINS if pin.of_draws and "Q" in letters and not upgrade]
    return tuple(dict.fromkeys((*named, *of_draws, *of_generations)))


def _reports(ctx: click.Context, parameter: click.Parameter, value: tuple[Path, ...]) -> tuple[Path, ...]:
    from raymigrate.runtime.verify.reporting import check_suffix  # noqa: PLC0415

    for path in value:
        try:
            check_suffix(path)
        except ValueError as error:
            raise click.BadParameter(str(error), ctx, parameter) from None
    return value


@click.command(context_settings={"ignore_unknown_options": False})
@click.argument("script", type=FILE)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("--original", type=FILE, help="The legacy script, if SCRIPT is converted already; or any other.")
@click.option("--original-rev", metavar="REV", help="Git revision in which SCRIPT is still legacy.")
@click.option("--arms", default="", callback=_letters, help="What to run (see above): B,C, P,C or P,Q.")
@click.option("--environment-before", type=FILE_OR_FOLDER, metavar="FILE|FOLDER", help=BEFORE)
@click.option("--environment-after", type=FILE_OR_FOLDER, metavar="FILE|FOLDER", help="Likewise, of SCRIPT.")
@click.option("--launch", "launches", multiple=True, metavar="COMMAND", callback=_launches, help=LAUNCH)
@click.option("--from-ray", default="", metavar="VERSION", callback=ray_version, help=FROM_RAY)
@click.option("--workers", type=click.IntRange(1), help="Number of workers in every arm.")
@click.option("--device", type=click.Choice(["cpu", "gpu"]), help="Device of every arm.")
@click.option("--precision", type=click.Choice(["fp32", "bf16", "fp16"]), help="Mixed precision of every arm.")
@click.option("--max-steps", type=click.IntRange(1), help="Optimizer steps after which every arm stops.")
@click.option("--address", envvar="RAY_ADDRESS", help="Run the arms as jobs of this Ray cluster: http://head:8265.")
@click.option(
    "--shared-folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="With --address: a folder that every node of the cluster sees under this path.",
)
@click.option("--offline", is_flag=True, help="Take models and datasets from the offline hub.")
@click.option("--hub-size", type=click.Choice(["tiny", "full"]), default="tiny", show_default=True, help=HUB_SIZE)
@click.option("--timeout", type=click.FloatRange(1), default=3600, show_default=True, help="Seconds for each run.")
@click.option("--repeat", type=click.IntRange(1, 9), default=1, show_default=True, help="Runs of each arm.")
@click.option("--kill-worker", is_flag=True, help="Run each arm on Ray once more and kill a worker in the middle.")
@click.option("--no-pin", "no_pins", multiple=True, metavar="NAME", callback=_pins, help="Leave out a determinism pin.")
@click.option("--unsafe", is_flag=True, help="Convert with --unsafe.")
@click.option("--freeze-numerics", is_flag=True, help="Convert with --freeze-numerics.")
@click.option("--style", type=click.Choice(["auto", "inline", "adapter"]), default="auto", help="As in convert.")
@click.option("--guide", is_flag=True, help="Convert with --guide.")
@click.option("--to-ray", is_flag=True, help="Convert a plain script with --to-ray.")
@click.option("--to-accelerate", is_flag=True, help="Convert a plain script with --to-accelerate.")
@click.option(
    "--report",
    "reports",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    callback=_reports,
    help="Also write a report: .html, .md, .json, or JUnit's .xml. Can be given several times.",
)
@click.option(
    "--keep", type=click.Path(path_type=Path, file_okay=False), help="New folder for scripts, logs and traces."
)
def verify(
    script: Path,
    arguments: tuple[str, ...],
    original: Path | None,
    original_rev: str | None,
    arms: tuple[str, ...],
    environment_before: Path | None,
    environment_after: Path | None,
    launches: dict[str, tuple[str, ...]],
    from_ray: str,
    workers: int | None,
    device: str | None,
    precision: str | None,
    max_steps: int | None,
    address: str | None,
    shared_folder: Path | None,
    offline: bool,
    hub_size: str,
    timeout: float,
    repeat: int,
    kill_worker: bool,
    no_pins: tuple[str, ...],
    unsafe: bool,
    freeze_numerics: bool,
    style: str,
    guide: bool,
    to_ray: bool,
    to_accelerate: bool,
    reports: tuple[Path, ...],
    keep: Path | None,
) -> None:
    """Run a job before and after its conversion, and compare data, losses, gradients and weights step by step.

    SCRIPT is a legacy script, which is converted in a scratch folder, or a converted one with --original or
    --original-rev. The files of its folder travel along. Give the script's own arguments behind `--`.

    An original that has nothing to convert is compared with SCRIPT as both are: any two scripts that train, or one
    script in two environments.

    \b
    Arms:
      P  a plain original as it is, in as many processes as there are workers
      Q  SCRIPT as it is, beside P
      A  the original on the real old Ray, in an environment that raymigrate makes (see `raymigrate env`)
      O  the conversion alone: the converted script on current Ray with the old libraries
      B  the original on the current libraries, under a stand-in for the old trainers
      C  the converted script on the current libraries

    Exit codes: 0 no difference, or each has a named cause and stays within its bound; 1 a difference; 2 an arm did not
    run.
    """
    from raymigrate.runtime.hub import AssetError  # noqa: PLC0415
    from raymigrate.runtime.verify.errors import VerifyError  # noqa: PLC0415

    with interruptible(), temporary_folder("raymigrate-original-") as folder:
        try:
            from raymigrate.runtime.verify.arms import Overrides  # noqa: PLC0415
            from raymigrate.runtime.verify.paths import typed  # noqa: PLC0415
            from raymigrate.runtime.verify.request import Request  # noqa: PLC0415
            from raymigrate.runtime.verify.verification import environment_of, has_gpu  # noqa: PLC0415

            plain = to_ray or to_accelerate
            options = Options(
                unsafe=unsafe,
                freeze_numerics=freeze_numerics,
                style=style,
                guide=guide,
                from_ray=from_ray,
                to_ray=to_ray,
                to_accelerate=to_accelerate,
                workers=workers if to_ray else None,
                gpu=device == "gpu" if to_ray and device else None,
            )
            places = {"P": environment_before, "Q": environment_after}
            environments = {letter: place for letter, place in places.items() if place is not None}
            sources = _sources(script, original, original_rev, folder, options, alone=bool(environments))
            letters = arms or _usual_arms(sources, plain=plain, upgrade=bool(environments))
            if letters == AS_THEY_ARE:
                _check_as_they_are(sources, workers, launched=bool(launches), kill_worker=kill_worker)
            else:
                _check_launch(launches, environments, kill_worker=kill_worker and plain and not to_ray)
            request = Request(
                sources=sources,
                arguments=arguments,
                letters=letters,
                old_ray=environment_of(from_ray),
                options=options,
                dropped_pins=_dropped(no_pins, letters, upgrade=bool(environments)),
                overrides=Overrides(
                    None if to_ray else workers,  # the conversion writes it
                    None if "P" in letters and device == "cpu" and not has_gpu() else device,
                    precision,
                    max_steps,
                ),
                offline=offline,
                hub_size=hub_size,
                timeout=timeout,
                repeat=repeat,
                kill_worker=kill_worker,
                launches=launches,
                environments=environments,
                cluster=_cluster(address, shared_folder, letters, keep),
                command=typed(["raymigrate", *sys.argv[1:]]),
            )
            passed = _run(request, keep, reports)
        except ModuleNotFoundError as error:
            raise _Failed(f"verify needs {error.name}: {install('verify')}.") from None
        except (VerifyError, AssetError) as error:
            raise _Failed(str(error)) from None
        except OSError as error:  # a full disk, a folder without rights
            raise _Failed(f"{error.filename or 'A file'}: {error.strerror or error}.") from None
        except KeyboardInterrupt:
            raise _Failed("Interrupted; everything that ran was ended.") from None
    sys.exit(0 if passed else 1)


def _run(request: Request, keep: Path | None, reports: tuple[Path, ...]) -> bool:
    """Verifies, prints, writes the reports; tells whether it passed."""
    from raymigrate.runtime.verify import verification  # noqa: PLC0415
    from raymigrate.runtime.verify.arms import ArmFailure  # noqa: PLC0415
    from raymigrate.runtime.verify.description import failed  # noqa: PLC0415
    from raymigrate.runtime.verify.reporting.terminal import ArmProgress, make_console, print_summary  # noqa: PLC0415

    if sentence := request.sources.left_out:
        click.echo(sentence, err=True)
    started = datetime.now(timezone.utc)
    try:
        with ArmProgress(make_console(sys.stderr)) as progress:
            result = verification.verify(request, progress, keep)
    except ArmFailure as failure:  # a report of an earlier run must not stay there as if it were that of this one
        _write(reports, failed(request, started, failure))
        raise
    print_summary(result, make_console())
    _write(reports, result)
    return result.passed


def _write(reports: tuple[Path, ...], result: Verification) -> None:
    from raymigrate.runtime.verify.reporting import write_report  # noqa: PLC0415

    for path in reports:
        write_report(result, path)
        click.echo(f"Report: {path}", err=True)


def _usual_arms(sources: Sources, *, plain: bool, upgrade: bool) -> tuple[str, ...]:
    """What runs unless --arms says otherwise."""
    from raymigrate.runtime.verify.scripts import is_legacy  # noqa: PLC0415

    if plain:
        return PLAIN
    if upgrade or (sources.converted is not None and not is_legacy(sources.original)):
        return AS_THEY_ARE
    return LEGACY


def _check_launch(launches: dict[str, tuple[str, ...]], environments: dict[str, Path], *, kill_worker: bool) -> None:
    """Looks whether the options go together for a job that is converted.

    Raises:
        VerifyError: If they do not.
    """
    from raymigrate.runtime.verify.errors import VerifyError  # noqa: PLC0415

    if kill_worker:
        raise VerifyError("Without Ray nothing goes on after a failure; leave --kill-worker out.")
    if launches or environments:
        raise VerifyError(
            "--launch, --environment-before and --environment-after are for two scripts as they are (arms P,Q), and "
            "this job is converted; leave them out."
        )


def _check_as_they_are(sources: Sources, workers: int | None, *, launched: bool, kill_worker: bool) -> None:
    """Looks whether the options go together for two scripts as they are.

    Raises:
        VerifyError: If they do not.
    """
    from raymigrate.runtime.verify.errors import VerifyError  # noqa: PLC0415

    if sources.converted is None:
        raise VerifyError(
            "Arms P,Q compare two scripts, or one in two environments: name the other script with --original FILE, or "
            "an environment with --environment-before."
        )
    if kill_worker:
        raise VerifyError("Nothing starts a script as it is anew when a process of it dies; leave --kill-worker out.")
    if launched and workers is not None:
        raise VerifyError("--launch says in how many processes a script trains; leave --workers out.")


def _sources(
    script: Path, original: Path | None, revision: str | None, folder: Path, options: Options, *, alone: bool
) -> Sources:
    """The two versions of the job; one and the same where it is to run `alone`, in two environments.

    Raises:
        VerifyError: If there is no legacy version.
    """
    from raymigrate.runtime.verify.errors import VerifyError  # noqa: PLC0415
    from raymigrate.runtime.verify.scripts import Sources, at_revision, is_converted_with  # noqa: PLC0415

    script = script.resolve()
    if original is not None and revision is not None:
        raise VerifyError("Give --original or --original-rev, not both.")
    if original is not None:
        return Sources(original.resolve(), script)
    if revision is not None:
        return Sources(at_revision(script, revision, folder), script)
    if alone:
        return Sources(script, script)
    if not is_converted_with(script, options):
        raise VerifyError(
            f"{script.name} has nothing to convert; name its legacy version with --original FILE or --original-rev REV."
        )
    return Sources(script)


def _cluster(
    address: str | None, shared_folder: Path | None, letters: tuple[str, ...], keep: Path | None
) -> Cluster | None:
    """Where the arms run.

    Raises:
        VerifyError: If the options do not go together.
    """
    from raymigrate.runtime.verify.cluster import Cluster  # noqa: PLC0415
    from raymigrate.runtime.verify.errors import VerifyError  # noqa: PLC0415

    if address is None or address == "local":
        return None
    if set(letters) & {"P", "Q", "A", "O"}:
        raise VerifyError(
            "Arms P, Q, A and O run what a running cluster does not have; leave --address out and RAY_ADDRESS unset."
        )
    if shared_folder is None:
        raise VerifyError(
            f"To run on the cluster {address}, name a folder that all of its nodes see with --shared-folder; to run on "
            "a Ray of its own, leave --address out and unset RAY_ADDRESS."
        )
    if keep is not None and not keep.resolve().is_relative_to(shared_folder.resolve()):
        raise VerifyError(f"With --address, --keep has to name a folder inside {shared_folder}.")
    return Cluster(address, shared_folder.resolve())


class _Failed(click.ClickException):
    """Verification was not possible."""

    exit_code = 2
