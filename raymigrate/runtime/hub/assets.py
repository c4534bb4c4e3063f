"""Builds everything that the hub serves, once, into a folder."""

import hashlib
import json
import os
import shutil
import tempfile
from pathlib import Path

from raymigrate.runtime.hub.repository import ALIASES_FILE, VERSION_FILE
from raymigrate.runtime.hub.tokenizers import write_json

HERE = Path(__file__).parent
METRICS = ("accuracy", "f1", "glue")
# The short names that the Hub redirects to full ones.
ALIASES = {
    "models": {
        "bert-base-cased": "google-bert/bert-base-cased",
        "bert-base-uncased": "google-bert/bert-base-uncased",
        "distilbert-base-uncased": "distilbert/distilbert-base-uncased",
        "distilgpt2": "distilbert/distilgpt2",
        "gpt2": "openai-community/gpt2",
    },
    "datasets": {"glue": "nyu-mll/glue", "wikitext": "Salesforce/wikitext", "imdb": "stanfordnlp/imdb"},
    "spaces": {},
}


class AssetError(Exception):
    """The assets cannot be built or served; the message says why and what to do."""


def assets_version(size: str = "tiny", *, task_heads: bool = True) -> str:
    """Names what `build_hub` would write, such as `tiny-3f9c0a12b4d5`.

    The second part is a hash of the code that writes the assets, so that a folder built by other code is never taken
    for a current one, and nobody has to remember to count a number up.
    """
    digest = hashlib.sha256()
    for path in [*sorted(HERE.glob("*.py")), *sorted(HERE.glob("metrics/*.py"))]:
        if path.name not in ("__init__.py", "command.py", "repository.py", "server.py"):
            digest.update(path.read_bytes())
    return f"{size}{'' if task_heads else '-without-heads'}-{digest.hexdigest()[:12]}"


def build_hub(directory: Path, size: str = "tiny", *, task_heads: bool = True) -> None:
    """Writes all repositories; the same bytes each time (with the same pyarrow and tokenizers).

    Args:
        directory: Where to; it is created.
        size: Size of the models, a key of `models.SIZES`.
        task_heads: Whether BERT and DistilBERT come with a classifier of two classes. With it, `from_pretrained` of a
            two-class model draws no random number. Without it, as with the real checkpoints, any number of classes
            can be loaded, and the new head depends on the seed of the script.

    Raises:
        AssetError: If the size is unknown, a library is missing or the folder cannot be written.
    """
    from raymigrate.runtime.hub import datasets, models  # noqa: PLC0415

    if size not in models.SIZES:
        raise AssetError(f"There is no hub of size {size}; sizes are: {', '.join(models.SIZES)}.")
    dimensions = models.SIZES[size]
    model, dataset = directory / "models", directory / "datasets"
    try:
        models.bert(model / "google-bert/bert-base-cased", dimensions, lowercase=False, task_heads=task_heads)
        models.bert(model / "google-bert/bert-base-uncased", dimensions, lowercase=True, task_heads=task_heads)
        models.distilbert(model / "distilbert/distilbert-base-uncased", dimensions, task_heads=task_heads)
        models.gpt2(model / "openai-community/gpt2", dimensions)
        models.gpt2(model / "distilbert/distilgpt2", dimensions, distilled=True)
        datasets.glue(dataset / "nyu-mll/glue")
        datasets.wikitext(dataset / "Salesforce/wikitext")
        datasets.imdb(dataset / "stanfordnlp/imdb")
        for name in METRICS:
            place = directory / "spaces/evaluate-metric" / name
            place.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(HERE / "metrics" / f"{name}.py", place / f"{name}.py")
        write_json(directory / ALIASES_FILE, ALIASES)
        write_json(directory / VERSION_FILE, assets_version(size, task_heads=task_heads))
    except ImportError as error:
        needed = error.name or str(error)
        message = f'The offline hub needs {needed} to build its assets: pip install "raymigrate[verify]".'
        raise AssetError(message) from error
    except OSError as error:
        raise _unwritable(directory, error) from error


def cached_hub(size: str = "tiny", *, task_heads: bool = True) -> Path:
    """The folder of a hub in the user's cache (`XDG_CACHE_HOME`, else `~/.cache`), built on first use.

    Raises:
        AssetError: As `build_hub`.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    place = cache / "raymigrate/hub" / assets_version(size, task_heads=task_heads)
    ensure_hub(place, size, task_heads=task_heads)
    return place


def ensure_hub(directory: Path, size: str = "tiny", *, task_heads: bool = True) -> None:
    """Builds a hub unless it is there already.

    It is built beside its place and renamed, so that an interrupted build is never served.

    Args:
        directory: Where to: a folder that is missing, empty or a hub of the current version.
        size: As for `build_hub`.
        task_heads: As for `build_hub`.

    Raises:
        AssetError: As `build_hub`, or if the folder holds something else.
    """
    if _is_current(directory, size, task_heads):
        return
    try:
        if directory.is_dir() and any(directory.iterdir()):
            reason = "a hub of another version" if (directory / VERSION_FILE).is_file() else "other files"
            raise AssetError(f"{directory} holds {reason}; remove it or name another folder.")
        directory.parent.mkdir(parents=True, exist_ok=True)
        building = Path(tempfile.mkdtemp(prefix=".building-", dir=directory.parent))
    except OSError as error:
        raise _unwritable(directory, error) from error
    try:
        build_hub(building, size, task_heads=task_heads)
        building.chmod(0o755)  # mkdtemp's folders are for one user only
        building.rename(directory)
    except OSError as error:
        if not _is_current(directory, size, task_heads):  # else another process was quicker
            raise _unwritable(directory, error) from error
    finally:
        shutil.rmtree(building, ignore_errors=True)


def _is_current(directory: Path, size: str, task_heads: bool) -> bool:
    try:
        built = json.loads((directory / VERSION_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return bool(built == assets_version(size, task_heads=task_heads))


def _unwritable(directory: Path, error: OSError) -> AssetError:
    reason = f"{error.strerror}: {error.filename}" if error.filename else error
    return AssetError(f"The offline hub cannot be built in {directory}: {reason}.")
