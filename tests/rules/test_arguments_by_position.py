"""RM703: values by position that reach another parameter today."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = "import ray\nfrom transformers import Trainer, TrainingArguments\n"


def call(text: str) -> tuple[str, list[int], list[int]]:
    """What becomes of a call, and the lines that RM703 converts and leaves."""
    outcome = converted(f"{HEAD}made = {text}\n")
    after = outcome.text.partition("made = ")[2].rstrip("\n")
    return after, outcome.lines("RM703", Kind.CONVERTED), outcome.lines("RM703", Kind.MANUAL)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            'TrainingArguments("out", True, True)',
            'TrainingArguments(output_dir="out", do_train=True)',  # overwrite_output_dir is gone
        ),
        (
            "Trainer(a, b, c, d, e, f, g, h)",
            "Trainer(\n    model=a,\n    args=b,\n    data_collator=c,\n    train_dataset=d,\n    eval_dataset=e,\n"
            "    processing_class=f,\n    model_init=g,\n    compute_metrics=h,\n)",
        ),
    ],
)
def test_they_are_given_by_the_names_that_they_had(before: str, after: str) -> None:
    assert call(before) == (after, [3], [])


@pytest.mark.parametrize(
    "text",
    [
        'TrainingArguments("out", do_train=True)',
        "TrainingArguments(*given)",
        'TrainingArguments("out", *given)',
        "Trainer(a, b, c, d)",
        "Trainer(*given)",
    ],
)
def test_those_that_are_at_their_place_stay(text: str) -> None:
    assert call(text) == (text, [], [])


def test_more_than_there_were_parameters_is_left_to_a_person() -> None:
    values = ", ".join(["1"] * 200)
    _, converted_at, left_at = call(f"TrainingArguments({values})")
    assert (converted_at, left_at) == ([], [3])
