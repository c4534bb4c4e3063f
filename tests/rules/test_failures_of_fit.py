"""RM427: what catches the error of a trainer's fit()."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = "from ray.train import ScalingConfig\nfrom ray.train.torch import TorchTrainer\n"
FIT = "TorchTrainer(print, scaling_config=ScalingConfig()).fit()"


@pytest.mark.parametrize(
    ("head", "name", "after"),
    [
        (
            "from ray.train.base_trainer import TrainingFailedError",
            "TrainingFailedError",
            "import ScalingConfig, TrainingFailedError",
        ),
        ("from ray.train.trainer import TrainingFailedError as F", "F", "import TrainingFailedError as F"),
        ("from ray.train import base_trainer", "base_trainer.TrainingFailedError", "except ray.train.TrainingFailed"),
        ("import ray.train.base_trainer", "ray.train.base_trainer.TrainingFailedError", "except ray.train.Training"),
        (
            "from ray.train.base_trainer import BaseTrainer, TrainingFailedError\nprint(BaseTrainer)",
            "(TrainingFailedError, OSError)",
            "import ScalingConfig, TrainingFailedError",
        ),
    ],
)
def test_the_error_is_taken_from_where_fit_takes_it(head: str, name: str, after: str) -> None:
    outcome = converted(f"{head}\n{HEAD}try:\n    {FIT}\nexcept {name}:\n    print('failed')\n")
    assert outcome.lines("RM427", Kind.CONVERTED)
    assert not outcome.lines("RM427", Kind.MANUAL)
    assert after in outcome.text
    assert "trainer.TrainingFailedError" not in outcome.text


@pytest.mark.parametrize(
    "block",
    [
        "try:\n    {fit}\nexcept RuntimeError as error:\n    print(error)",
        "try:\n    for _ in range(2):\n        {fit}\nexcept (OSError, RuntimeError):\n    pass",
        "import ray\ntry:\n    {fit}\nexcept ray.exceptions.RayTaskError:\n    pass\nexcept Exception:\n    raise",
        "from ray.tune import TuneError\ntry:\n    {fit}\nexcept TuneError:\n    pass",
        "import pytest\nwith pytest.raises(ValueError, match='rows'):\n    {fit}",
        "import contextlib\nwith contextlib.suppress(KeyError, ValueError):\n    {fit}",
    ],
)
def test_what_waits_for_another_error_is_told(block: str) -> None:
    outcome = converted(f"{HEAD}{block.format(fit=FIT)}\n")
    (line,) = outcome.lines("RM427", Kind.MANUAL)
    assert outcome.text.split("\n")[line - 1].startswith(("except", "with"))


@pytest.mark.parametrize(
    "block",
    [
        "try:\n    {fit}\nexcept Exception:\n    pass",
        "try:\n    {fit}\nexcept:\n    pass",
        "try:\n    {fit}\nexcept KeyboardInterrupt:\n    pass",
        "try:\n    {fit}\nexcept FileNotFoundError:\n    pass",
        "try:\n    {fit}\nexcept Exception:\n    pass\nexcept RuntimeError:\n    pass",
        "import ray.train\ntry:\n    {fit}\nexcept ray.train.WorkerGroupError:\n    pass",
        "try:\n    print()\nexcept RuntimeError:\n    {fit}",
        "try:\n    print()\nexcept RuntimeError:\n    pass\nelse:\n    {fit}",
        "try:\n    def run():\n        {fit}\nexcept RuntimeError:\n    pass",
        "from sklearn.svm import SVC\ntry:\n    SVC().fit([], [])\nexcept RuntimeError:\n    pass",
        "from ray import tune\ntry:\n    tune.Tuner(print).fit()\nexcept RuntimeError:\n    pass",
        "import pytest\nwith pytest.raises(Exception):\n    {fit}",
        "with open('log'):\n    {fit}",
        "import contextlib\nwith contextlib.suppress(ImportError):\n    {fit}",
    ],
)
def test_other_handlers_are_left_alone(block: str) -> None:
    outcome = converted(f"{HEAD}{block.format(fit=FIT)}\n")
    assert "RM427" not in {code for code, _, _ in outcome.findings}


def test_the_cause_of_the_error_is_told_and_that_of_others_is_not() -> None:
    script = (
        f"from ray.train.base_trainer import TrainingFailedError\n{HEAD}"
        f"try:\n    {FIT}\nexcept TrainingFailedError as error:\n    print(error.__cause__)\n"
        "try:\n    open('a')\nexcept OSError as error:\n    print(error.__cause__)\n"
    )
    assert converted(script).lines("RM427", Kind.MANUAL) == [7]


@pytest.mark.parametrize(("raised", "lines"), [("TrainingFailedError", [6]), ("ValueError", [])])
def test_the_cause_of_an_expected_error_is_told(raised: str, lines: list[int]) -> None:
    script = (
        "import pytest\nfrom ray.train.base_trainer import TrainingFailedError\n\n"
        f"with pytest.raises({raised}) as info:\n    run()\nprint(info.value.__cause__)\n"
        "print(TrainingFailedError)\n"
    )
    assert converted(script).lines("RM427", Kind.MANUAL) == lines
