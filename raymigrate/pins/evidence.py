"""Whether code is legacy, or was and is converted: only then are the pins of its project looked at."""

from collections.abc import Iterable

from raymigrate.base.expressions import lazy_regex
from raymigrate.base.families import LEGACY_TRAINERS, Family
from raymigrate.base.findings import Finding, Kind
from raymigrate.knowledge.versions import Pin, keeps_out

LEGACY = LEGACY_TRAINERS | {Family.RAY_AIR}
# Of what current libraries refuse, or do in another way.
CURRENT = frozenset(
    {Family.TRAIN_AND_TUNE, Family.DATA, Family.RESULTS, Family.PREDICTORS, Family.GONE, Family.LIBRARIES}
)
# Comments of converted code, which raymigrate/codemods/shared/ writes: tests/architecture/test_words_in_two_places.py.
CONVERTED = lazy_regex(
    rb"as Ray's legacy trainer did|Without it accelerate would train one model per CPU worker"
    rb"|else some losses grow with the workers"
)
# Names, and the version that they came with: code that uses one contradicts a pin that keeps this version out.
# Read in the wheels of PyPI, each in the version named and in the one before it: ray 2.6.3 and 2.7.0
# (ray/train/__init__.py, ray/train/huggingface/transformers/__init__.py; the module itself is older, it held
# TransformersTrainer), transformers 4.40.2 and 4.41.0, 4.45.2 and 4.46.0, 4.46.1 and 4.46.2 (training_args.py,
# trainer.py).
PREPARED = lazy_regex(
    rb"\bRayTrainReportCallback\b|"
    rb"\bray\.train\.huggingface\.transformers(?:\.|\s+import\s[^#;]*?\b)prepare_trainer\b"
)
CAME_WITH = (
    (PREPARED, "ray", "2.7"),
    (
        lazy_regex(
            rb"\bray\.train\.(?:get_context|get_checkpoint|get_dataset_shard|report)\b|"
            rb"\b(?:from\s+ray\.train\s+import\s[^#;]*?|ray\.train\.)(?:Run|Scaling|Checkpoint|Failure)Config\b"
        ),
        "ray",
        "2.7",
    ),
    (lazy_regex(rb"\beval_strategy\s*="), "transformers", "4.41"),
    (lazy_regex(rb"\bprocessing_class\s*="), "transformers", "4.46"),
    (lazy_regex(rb"\baverage_tokens_across_devices\s*="), "transformers", "4.46.2"),
)
# A script that imports Ray, or a cell that installs it.
USES_RAY = lazy_regex(rb"\b(?:import|from)\s+ray\b|\bray(?:\[[\w, ]*\])?\s*(?:[=<>~!]=|[<>])")


def uses_ray(data: bytes) -> bool:
    """Whether a script or notebook has to do with Ray; its pins are looked at where the user asks for that alone."""
    return USES_RAY.search(data) is not None


def is_legacy(findings: Iterable[Finding]) -> bool:
    """Whether a script uses legacy Ray, is changed, or has to be changed by a person for current libraries."""
    changed = (Kind.CONVERTED, Kind.UNSAFE)
    return any(
        finding.family in LEGACY
        or finding.kind in changed
        or (finding.kind is Kind.MANUAL and finding.family in CURRENT)
        for finding in findings
        if finding.family is not Family.PINS
    )


def may_be_converted(script: bytes) -> bool:
    """Whether a script uses what only newer versions have; whether pins keep these out `is_converted` tells."""
    return any(sign.search(script) for sign in (CONVERTED, *(name_used for name_used, _, _ in CAME_WITH)))


def trains_as_converted(script: bytes) -> bool:
    """Whether a script has what converted code has around a Trainer of transformers; legacy code has none of it."""
    return any(sign.search(script) for sign in (CONVERTED, PREPARED))


def is_converted(script: bytes, pins: Iterable[Pin]) -> bool:
    """Whether a script cannot have been written for the versions that pins allow."""
    if CONVERTED.search(script):
        return True
    return any(
        pin.name == name and keeps_out(pin.versions, version) and name_used.search(script)
        for name_used, name, version in CAME_WITH
        for pin in pins
    )
