"""Whether it is seen that a run reports no checkpoint: nothing that its trainer runs does, nor what that calls."""

import ast

from raymigrate.base.expressions import lazy_regex
from raymigrate.facts.ray_train.reports import REPORTS, may_carry
from raymigrate.facts.ray_train.training_code import TrainingCode
from raymigrate.facts.ray_tune.tuners import REPORT_TO_TUNE
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.own_modules import LIBRARIES
from raymigrate.facts.syntax.scopes import Reference
from raymigrate.facts.values import argument, is_none, keyword_argument
from raymigrate.knowledge.legacy import HF_TRAINERS, TRAINING_ARGUMENTS

# Packages that know nothing of Ray, beside those of the standard library and those that training is written with.
STRANGERS = frozenset(
    {
        *("PIL", "albumentations", "bitsandbytes", "cv2", "einops", "huggingface_hub", "jiwer", "librosa"),
        *("matplotlib", "nltk", "psutil", "requests", "rouge_score", "sacrebleu", "safetensors", "scipy"),
        *("sentencepiece", "seqeval", "soundfile", "spacy", "tabulate", "tensorboardX", "timm", "torchaudio"),
        *("torchmetrics", "torchtext", "torchvision", "tqdm", "yaml"),
    }
)
OF_TRANSFORMERS = "ray.train.huggingface.transformers"
BY_SAVES = f"{OF_TRANSFORMERS}.RayTrainReportCallback"  # reports each time that the Trainer saves
FOR_ALL_TRAINERS = "DEFAULT_CALLBACKS"  # of transformers, which each Trainer gets
REPORTER = lazy_regex(r"Report\w*Callback$|\.integration\.|\.integrations\.|^ray\b.*\._internal\.")
MODULES = (
    "ray",
    "ray.train",
    "ray.train.huggingface",
    OF_TRANSFORMERS,
    "ray.air",
    "ray.air.session",
)  # what gets one of them may take report() from it


def reports_no_checkpoint(code: TrainingCode | None) -> bool:
    """Whether all that a trainer runs is seen, and reports no checkpoint, itself or by something of another package.

    Args:
        code: What the trainer runs; None where that cannot be seen.
    """
    return code is not None and _reports_none(code)


@kept
def _reports_none(code: TrainingCode) -> bool:
    if any(alias.name == "*" for home in code.homes for line in home.imports for alias in line.names):
        return False
    saves = not _saves_nothing(code.homes)
    for home in code.homes:
        reports = (*home.calls(*REPORTS), *(call for call, _ in home.method_calls("report")))  # of whatever it may be
        if any(code.may_run(home, report) and may_carry(home, report) for report in reports) or _is_patched(home):
            return False
        fills = home.spelling(FOR_ALL_TRAINERS)  # at import, with what may have any name: not in the code that runs
        used_there = (used for used in home.references if fills or code.runs(home, used.root))
        if any(_may_report(home, used, saves=saves) for used in used_there):
            return False
    return True


def _is_patched(module: Module) -> bool:
    """Whether a method of the Trainer of transformers is replaced: `Trainer.__init__ = init`."""
    return any(isinstance(used.node.ctx, ast.Store) for used in module.references_within(*HF_TRAINERS))


def _saves_nothing(homes: list[Module]) -> bool:
    """Whether each Trainer of transformers is told not to save: all TrainingArguments in sight say "no"."""
    made = [(home, call) for home in homes for call in home.calls(*TRAINING_ARGUMENTS)]
    trainers = [call for home in homes for call in home.calls(*HF_TRAINERS)]
    if not made or any(is_none(argument(call, 1, "args")) for call in trainers):
        return False
    said = [home.constant(keyword_argument(call, "save_strategy")) == "no" for home, call in made]
    are_seen = len(made) == sum(len(home.references_within(*TRAINING_ARGUMENTS)) for home in homes)
    return all(said) and are_seen and not any(_may_save(home) for home in homes)


def _may_save(module: Module) -> bool:
    """Whether something else may say when to save: `replace(args, save_strategy="epoch")`, an SFTConfig, a callback."""
    given = (call for call, _ in module.keywords("save_strategy"))
    others = any(module.qualified(call.func) not in TRAINING_ARGUMENTS for call in given)
    set_later = any(module.stores(name) or module.texts(name) for name in ("save_strategy", "should_save"))
    return others or set_later or "set_save" in module.spelled or bool(module.references_within("trl"))


def _may_report(module: Module, used: Reference, *, saves: bool) -> bool:
    """Whether a name of another package may report a checkpoint: a callback does, or a report() that is handed on.

    Args:
        saves: Whether a Trainer of transformers may save, of which Ray's callback reports.
    """
    if used.qualified == BY_SAVES and not saves:
        return module.calling(used.node) is None  # a class that is made from it may save all the same
    if used.qualified in REPORTS:
        return module.calling(used.node) is None
    if used.qualified in MODULES:
        return True
    package = used.qualified.partition(".")[0]
    if package in STRANGERS or used.qualified == REPORT_TO_TUNE:  # which hands on what others report
        return False
    if package in LIBRARIES:
        return REPORTER.search(used.qualified) is not None
    return module.elsewhere(used.node) is None
