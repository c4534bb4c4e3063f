"""Whether it is seen that a run reports no checkpoint: nothing that its trainer runs does, nor what that calls."""

from raymigrate.base.expressions import lazy_regex
from raymigrate.facts.ray_train.reports import REPORTS, may_carry
from raymigrate.facts.ray_train.training_code import TrainingCode
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.own_modules import LIBRARIES
from raymigrate.facts.syntax.scopes import Reference

# Packages that know nothing of Ray, beside those of the standard library and those that training is written with.
STRANGERS = frozenset(
    {
        *("PIL", "albumentations", "bitsandbytes", "cv2", "einops", "huggingface_hub", "jiwer", "librosa"),
        *("matplotlib", "nltk", "psutil", "requests", "rouge_score", "sacrebleu", "safetensors", "scipy"),
        *("sentencepiece", "seqeval", "soundfile", "spacy", "tabulate", "tensorboardX", "timm", "torchaudio"),
        *("torchmetrics", "torchtext", "torchvision", "tqdm", "yaml"),
    }
)
REPORTER = lazy_regex(r"Report\w*Callback$|\.integration\.|\.integrations\.")


def reports_no_checkpoint(homes: list[Module], code: TrainingCode | None) -> bool:
    """Whether all that a trainer runs is seen, and reports no checkpoint, itself or by something of another package.

    Args:
        homes: The files that may have a part in it.
        code: What the trainer runs; None where that cannot be seen.
    """
    if code is None or any(alias.name == "*" for home in homes for line in home.imports for alias in line.names):
        return False
    for home in homes:
        if any(code.may_run(home, report) and may_carry(home, report) for report in home.calls(*REPORTS)):
            return False
        if any(code.runs(home, used.root) and _may_report(home, used) for used in home.references):
            return False
    return True


def _may_report(module: Module, used: Reference) -> bool:
    """Whether a name of another package may report a checkpoint: a callback does, or a report() that is handed on."""
    if used.qualified in REPORTS:
        return module.calling(used.node) is None
    package = used.qualified.partition(".")[0]
    if package in STRANGERS:
        return False
    if package in LIBRARIES:
        return REPORTER.search(used.qualified) is not None
    return module.elsewhere(used.node) is None
