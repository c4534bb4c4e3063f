"""On which kind of storage a checkpoint is: a folder of a machine, or a bucket whose URIs begin with s3://."""

import ast

from raymigrate.facts.projects.handed_on import named_trainers
from raymigrate.facts.ray_train.results import class_method, made_by_script, trainers_behind, tuners_behind
from raymigrate.facts.ray_train.storage import scheme
from raymigrate.facts.ray_tune.tuners import TunerCall, config_names, is_named_first, made
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import Source, argument, class_named, has_unpacking, is_none, keyword_argument, sources
from raymigrate.knowledge.legacy import SYNC_CONFIGS

LOCAL = ""


def schemes(module: Module, checkpoint: ast.expr) -> set[str | None]:
    """The schemes that URIs of a checkpoint can have; LOCAL for a folder of a machine, None for one that is unknown."""
    found: set[str | None] = set()
    for source in sources(module, checkpoint):
        method = made_by_script(module, source)
        method = class_method(module, source) if method is None else method
        trainers, tuners = trainers_behind(module, source), tuners_behind(module, source)
        if tuners:
            found |= {_of_trial(tuner.module, tuner.node) for tuner in tuners}
        elif trainers:
            found |= {scheme_of_run(trainer.module, trainer.node) for trainer in trainers}
        elif method in ("from_directory", "from_model"):
            found.add(LOCAL)
        elif method in ("", "from_uri") and isinstance(source, ast.Call):
            given = argument(source, 0, "path", "uri", "local_path")
            found.add(scheme(module, given) if given is not None else None)
        else:
            found.add(None)
    return found


def scheme_of_run(module: Module, trainer: ast.expr) -> str | None:
    """The scheme of the storage that the RunConfig of a trainer names, as `schemes` tells it."""
    if not isinstance(trainer, ast.Call) or has_unpacking(trainer):
        return None
    if next(named_trainers(Source(module, trainer.func)), None) is None:
        return None  # a function that is not seen, whose RunConfig may name any storage
    given = keyword_argument(trainer, "run_config")
    if given is None and any(class_named(source.module, source.node) for source in module.origins(trainer.func)):
        return None  # an own class, which may make a RunConfig itself
    return _of_config(module, given) if not is_none(given) else LOCAL


def _of_trial(module: Module, tuner: ast.expr) -> str | None:
    """The scheme of the storage of trials: the RunConfig of the Tuner names it, else that of the trainer."""
    made_of = TunerCall(module, tuner) if isinstance(tuner, ast.Call) else None
    if made_of is None or made_of.unpacked:
        return None
    own = made_of.arguments.get("run_config")
    if not is_none(own):
        return _of_config(module, own)
    return scheme_of_run(module, made_of.trainer) if made_of.trainer is not None else None


def _of_config(module: Module, given: ast.expr | None) -> str | None:
    """The scheme of the storage that a RunConfig names."""
    config = made(module, given, *config_names("RunConfig"))
    if config is None or has_unpacking(config) or not is_named_first(config):
        return None
    named = {keyword.arg: keyword.value for keyword in config.keywords if not is_none(keyword.value)}
    sync = made(module, named.get("sync_config"), *SYNC_CONFIGS)
    if "storage_filesystem" in named or ("sync_config" in named and sync is None):
        return None
    uploads = keyword_argument(sync, "upload_dir") if sync is not None else None
    place = named.get("storage_path") or uploads
    if is_none(place) and "local_dir" in named:  # a path of the machine, and converted code makes it an absolute one
        return scheme(module, named["local_dir"]) or LOCAL
    return scheme(module, place) if place is not None and not is_none(place) else LOCAL
