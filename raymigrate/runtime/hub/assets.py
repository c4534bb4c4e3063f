"""Builds everything that the hub serves, once, into a folder."""

import os
import shutil
import tempfile
from pathlib import Path

from raymigrate.runtime.hub.tokenizers import write_json

# Rises with any change to what is generated, so that a folder built by an older version is not used.
VERSION = 1
METRICS = ("accuracy", "f1", "glue")
ALIASES = {
    "models": {
        "bert-base-cased": "google-bert/bert-base-cased",
        "bert-base-uncased": "google-bert/bert-base-uncased",
        "gpt2": "openai-community/gpt2",
    },
    "datasets": {"glue": "nyu-mll/glue", "wikitext": "Salesforce/wikitext", "imdb": "stanfordnlp/imdb"},
    "spaces": {},
}


class AssetError(Exception):
    """The assets cannot be built; the message says why and what to do."""


def build_hub(folder: Path, size: str = "tiny") -> None:
    """Writes all repositories; the same bytes each time.

    Args:
        folder: Where to; it is created.
        size: Size of the models, a key of `models.SIZES`.

    Raises:
        AssetError: If the size is unknown, a library is missing or the folder cannot be written.
    """
    from raymigrate.runtime.hub import datasets, models  # noqa: PLC0415

    if size not in models.SIZES:
        raise AssetError(f"There is no hub of size {size}; sizes are: {', '.join(models.SIZES)}.")
    dimensions = models.SIZES[size]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        models.bert(folder / "models/google-bert/bert-base-cased", dimensions, lowercase=False)
        models.bert(folder / "models/google-bert/bert-base-uncased", dimensions, lowercase=True)
        models.gpt2(folder / "models/openai-community/gpt2", dimensions)
        datasets.glue(folder / "datasets/nyu-mll/glue")
        datasets.wikitext(folder / "datasets/Salesforce/wikitext")
        datasets.imdb(folder / "datasets/stanfordnlp/imdb")
        for name in METRICS:
            script = Path(__file__).parent / "metrics" / f"{name}.py"
            place = folder / "spaces/evaluate-metric" / name / f"{name}.py"
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(script, place)
        write_json(folder / "aliases.json", ALIASES)
    except ImportError as error:
        message = f'The offline hub needs {error.name} to build its models: pip install "raymigrate[verify]".'
        raise AssetError(message) from error
    except OSError as error:
        raise AssetError(f"The offline hub cannot be built in {folder}: {error.strerror}.") from error


def cached_hub(size: str = "tiny") -> Path:
    """The folder of a hub in the user's cache, built on first use.

    It is built beside its place and renamed, so that an interrupted build is never served.

    Raises:
        AssetError: As `build_hub`.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "raymigrate"
    place = cache / f"hub-{size}-{VERSION}"
    if place.is_dir():
        return place
    try:
        cache.mkdir(parents=True, exist_ok=True)
        building = Path(tempfile.mkdtemp(prefix="hub-", dir=cache))
    except OSError as error:
        raise AssetError(f"The offline hub cannot be built in {cache}: {error.strerror}.") from error
    try:
        build_hub(building, size)
        try:
            building.rename(place)
        except OSError:
            if not place.is_dir():  # another process was quicker
                raise
    finally:
        shutil.rmtree(building, ignore_errors=True)
    return place
