"""RM301 where an annotation in quotes names what is imported: it is looked up, though nothing else uses it."""

import pytest

from tests.rules.scripts import converted

RUN = "RunConfig(name='a')\n"


@pytest.mark.parametrize(
    "annotated",
    [
        "def read(run: 'Result'):\n    return run.metrics\n",
        "def read() -> 'Result | None':\n    return fit()\n",
        "class Job:\n    runs: list['Result']\n",
        "async def read(*runs: 'Result'):\n    return runs\n",
        "found: 'dict[str, Result]' = {}\n",
    ],
    ids=["parameter", "returned", "field", "async", "variable"],
)
@pytest.mark.parametrize("place", ["ray.air", "ray.air.result"])
def test_what_only_a_quoted_annotation_names_moves(annotated: str, place: str) -> None:
    outcome = converted(f"from {place} import Result\nfrom ray.air.config import RunConfig\n\n{annotated}\n{RUN}")
    assert "from ray.train import Result, RunConfig" in outcome.text
    assert "ray.air" not in outcome.text
    assert not any("removed" in message for message in outcome.messages)


def test_so_does_the_module_that_it_begins_with_stay() -> None:
    outcome = converted(f"from ray import air\n\n\ndef read(run: 'air.Result'):\n    return run\n\n\nair.{RUN}")
    assert "from ray import air" in outcome.text and "ray.train.RunConfig(" in outcome.text
    assert converted(outcome.text).text == outcome.text


@pytest.mark.parametrize("text", ["def read(run: 'job.Result'):\n    pass\n", "read('Result')\n", "'''Result'''\n"])
def test_other_text_names_nothing(text: str) -> None:
    outcome = converted(f"from ray.air import Result\nfrom ray.air.config import RunConfig\n\n{text}\n{RUN}")
    assert "import RunConfig" in outcome.text and "import Result" not in outcome.text
