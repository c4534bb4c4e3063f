"""The family of a rule comes from its code alone, and decides where a list of codes could be forgotten."""

import re
from pathlib import Path

import pytest

import raymigrate
from raymigrate.base import families
from raymigrate.base.families import Family, family_of
from raymigrate.base.findings import Finding, Kind
from raymigrate.codemods import all_codemods
from raymigrate.run.rules import every_rule
from tests.architecture.test_codes import defined

PACKAGE = Path(raymigrate.__file__).parent
# Folders of other layers say what comes of files; `shared` holds what several families need.
HOMES = {
    **{family.name.lower(): {family} for family in Family},
    **{folder: {Family.TRAIN_AND_TUNE} for folder in ("torch_trainer", "tracking", "tuner")},
    "comments": {Family.FILES},
    "documents": {Family.FILES, Family.PINS},
    "run": {Family.FILES},
}
# Rules whose subject is another one than that of the folder: what it converts meets them.
ELSEWHERE = {
    "data": {"RM107", "RM109", "RM205"},  # datasets of both trainers
    "libraries": {"RM111", "RM523"},  # steps of accelerate, frames of pandas
    "tracking": {"RM760", "RM761"},  # what became of MLflow and wandb
    "transformers_trainer": {"RM911", "RM912", "RM913", "RM914"},  # calls that cannot be converted
    "tuner": {"RM608"},  # checkpoints of trials
}
# Codes in modules that cannot have the rule itself: it is in a layer above, or in a module that most runs save.
SPELLED_OUT = {
    "codemods/context.py": {"RM701"},
    "files/needles.py": {"RM731"},
    "pins/needed.py": {"RM713", "RM850"},
    "run/two_steps.py": {"RM802", "RM820", "RM851"},
}


def test_a_rule_is_in_the_folder_of_its_family() -> None:
    astray = [
        (code, path.parent.name)
        for code, path in defined()
        if path.parent.name != "shared" and family_of(code) not in HOMES[path.parent.name]
    ]
    listed = [(code, folder) for folder, codes in ELSEWHERE.items() for code in codes]
    assert sorted(astray) == sorted(listed), "take a code of the folder's family: raymigrate/base/families.py"


def test_every_family_has_rules() -> None:
    assert {rule.family for rule in every_rule()} == set(Family)


def test_every_folder_with_codemods_is_that_of_a_family() -> None:
    assert {item.folder for item in all_codemods()} <= HOMES.keys() | {"shared"}


@pytest.mark.parametrize(
    ("code", "family"),
    [
        ("RM110", Family.TRANSFORMERS_TRAINER),
        ("RM602", Family.RESULTS),
        ("RM603", Family.PREDICTORS),
        ("RM691", Family.GONE),
        ("RM723", Family.LIBRARIES),
        ("RM732", Family.PINS),
        ("RM849", Family.TO_RAY),
        ("RM850", Family.TO_ACCELERATE),
        ("RM906", Family.FILES),
    ],
)
def test_the_longest_beginning_counts(code: str, family: Family) -> None:
    assert Finding(code, Kind.MANUAL, "text").family is family


def test_a_code_of_no_family_is_refused() -> None:
    with pytest.raises(ValueError, match="RM001"):
        family_of("RM001")


def test_nothing_else_decides_by_codes_that_are_spelled_out() -> None:
    found: dict[str, set[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        text = re.sub(r'= Rule\(\s*"RM\d+"', "", path.read_text("utf-8"))
        codes = set(re.findall(r'"(RM\d+)"', text))
        if codes and path != Path(families.__file__):
            found[path.relative_to(PACKAGE).as_posix()] = codes
    assert found == SPELLED_OUT
