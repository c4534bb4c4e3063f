"""RM420, RM426, RM430: trainers that Ray has today: restored ones, those from inside its packages, their methods."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted


@pytest.mark.parametrize(
    ("head", "trainer"),
    [
        ("from ray.train.torch import TorchTrainer", "TorchTrainer"),
        ("from ray.train.torch import TorchTrainer as Trainer", "Trainer"),
        ("from ray.train.data_parallel_trainer import DataParallelTrainer", "DataParallelTrainer"),
        ("import ray.train.xgboost", "ray.train.xgboost.XGBoostTrainer"),
        ("from ray.train.torch import TorchTrainer\n\n\nclass OurTrainer(TorchTrainer):\n    pass\n\n", "OurTrainer"),
    ],
)
@pytest.mark.parametrize("method", ["restore", "can_restore"])
def test_a_restored_run_is_told_whatever_trainer_it_is_of(head: str, trainer: str, method: str) -> None:
    outcome = converted(f'{head}\nfound = {trainer}.{method}("/runs/first")\n')
    assert outcome.lines("RM420", Kind.MANUAL) == [head.count("\n") + 2]


@pytest.mark.parametrize(
    ("base", "error"), [("torch.TorchTrainer", "a DeprecationWarning"), ("trainer.BaseTrainer", "a ValueError")]
)
def test_so_is_one_that_a_class_takes_from_its_base(base: str, error: str) -> None:
    module, _, name = base.partition(".")
    script = (
        f"from ray.train.{module} import {name}\n\n\nclass Own({name}):\n    @classmethod\n"
        "    def restore(cls, path):\n        return super().restore(path)\n\n\nOwn.restore('/runs')\n"
    )
    outcome = converted(script)
    assert outcome.lines("RM420", Kind.MANUAL) == [7]
    assert f"{name}.restore() raises {error}" in " ".join(outcome.messages)


BEFORE_V2 = {
    "data parallel": ("from ray.train.data_parallel_trainer import DataParallelTrainer", "DataParallelTrainer"),
    "base": ("from ray.train.base_trainer import BaseTrainer as Base", "Base"),
    "base of another module": ("import ray.train.trainer", "ray.train.trainer.BaseTrainer"),
    "inner": ("from ray.train.torch import torch_trainer", "torch_trainer.TorchTrainer"),
    "horovod": ("from ray.train.horovod import HorovodTrainer", "HorovodTrainer"),
    "derived": (
        "from ray.train.data_parallel_trainer import DataParallelTrainer\n\n\n"
        "class Own(DataParallelTrainer):\n    pass\n\n",
        "Own",
    ),
}


@pytest.mark.parametrize(("head", "trainer"), BEFORE_V2.values(), ids=BEFORE_V2)
def test_a_class_from_before_train_v2_says_what_it_does(head: str, trainer: str) -> None:
    messages = converted(f"{head}\nif {trainer}.can_restore('/runs'):\n    {trainer}.restore('/runs')\n").messages
    told = [message for message in messages if "restore()" in message]
    assert "can_restore() is False for each run" in told[0]
    assert ".restore() raises a ValueError" in told[1]


def test_classes_of_both_kinds_are_told_apart() -> None:
    script = (
        "import pytest\nfrom ray.train.base_trainer import BaseTrainer\nfrom ray.train.torch import TorchTrainer\n"
        "from ray.train.xgboost import XGBoostTrainer\n\n\n"
        "@pytest.mark.parametrize('cls', [TorchTrainer, BaseTrainer, XGBoostTrainer])\n"
        "def test(cls):\n    cls.restore('/runs')\n"
    )
    told = " ".join(converted(script).messages)
    assert "TorchTrainer or XGBoostTrainer.restore() raises a DeprecationWarning" in told
    assert " BaseTrainer.restore() raises a ValueError" in told


def test_an_inner_trainer_that_moves_is_one_of_train_v2() -> None:
    script = (
        "from ray.train.torch.torch_trainer import TorchTrainer\nTorchTrainer(print)\nTorchTrainer.restore('/runs')\n"
    )
    assert "TorchTrainer.restore() raises a DeprecationWarning" in " ".join(converted(script).messages)


WAITING = "import unittest\nimport pytest\nfrom ray.train.torch import TorchTrainer\n" + BEFORE_V2["data parallel"][0]


@pytest.mark.parametrize(
    ("error", "trainer", "told"),
    [
        ("ValueError", "DataParallelTrainer", False),
        ("(OSError, Exception)", "DataParallelTrainer", False),
        ("OSError", "DataParallelTrainer", True),
        ("ValueError", "TorchTrainer", True),
        ("DeprecationWarning", "TorchTrainer", False),
    ],
)
@pytest.mark.parametrize(
    "test",
    [
        "with pytest.raises({error}, match='Invalid'):\n    {trainer}.restore('/runs')",
        "class T(unittest.TestCase):\n    def test(self):\n        with self.assertRaises({error}):\n"
        "            {trainer}.restore('/runs')",
    ],
)
def test_an_error_that_a_test_waits_for_and_gets_is_no_news(test: str, error: str, trainer: str, told: bool) -> None:
    outcome = converted(f"{WAITING}\n{test.format(error=error, trainer=trainer)}\n")
    assert bool(outcome.lines("RM420", Kind.MANUAL)) is told


@pytest.mark.parametrize(
    "script",
    [
        'import ray.train\nfrom keras import Trainer\nTrainer.restore("/runs/first")',
        "import ray.train\nclass Trainer:\n    pass\nTrainer.restore('/runs/first')",
        "from ray.train.torch import TorchTrainer\n\n\nclass Own(TorchTrainer):\n    @classmethod\n"
        "    def restore(cls, path):\n        return cls()\n\n\nOwn.restore('/runs/first')",
    ],
)
def test_what_others_restore_is_their_own(script: str) -> None:
    assert "RM420" not in {code for code, _, _ in converted(script).findings}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "from ray.train.xgboost.xgboost_trainer import XGBoostTrainer\nXGBoostTrainer()",
            "from ray.train.xgboost import",
        ),
        ("import ray.train.torch.torch_trainer as t\nt.TorchTrainer(print)", "ray.train.torch.TorchTrainer(print)"),
        (
            "from ray.train.torch import torch_trainer\ntorch_trainer.TorchTrainer(print)",
            "ray.train.torch.TorchTrainer(",
        ),
        ("from ray.train.torch.torch_trainer import TorchTrainer as T\nT(print)", "TorchTrainer as T\nT(print)"),
    ],
)
def test_a_trainer_is_taken_from_its_package(before: str, after: str) -> None:
    outcome = converted(before)
    assert outcome.lines("RM426", Kind.CONVERTED)
    assert after in outcome.text
    assert "_trainer import" not in outcome.text


@pytest.mark.parametrize("name", ["data_parallel_trainer.DataParallelTrainer", "base_trainer.BaseTrainer"])
def test_a_trainer_without_successor_is_told_where_it_is_made(name: str) -> None:
    module, _, trainer = name.partition(".")
    outcome = converted(f"from ray.train.{module} import {trainer}\n\n\ntrainer: {trainer} = {trainer}(print)\n")
    assert outcome.lines("RM426", Kind.MANUAL) == [4]


def test_a_trainer_that_only_stands_in_an_annotation_stays() -> None:
    script = "from ray.train.torch.torch_trainer import TorchTrainer\n\n\ndef fit(trainer: TorchTrainer): ...\n"
    assert converted(script).text == script


LOST = ("setup", "preprocess_datasets", "training_loop", "get_dataset_config", "_save", "starting_checkpoint")
TRAINERS = {
    "made": "trainer = TorchTrainer(print)",
    "restored": "trainer = TorchTrainer.restore('/runs')",
    "of trees": "from ray.train import xgboost\ntrainer = xgboost.XGBoostTrainer.restore('/runs')",
    "derived": "class Own(TorchTrainer):\n    pass\n\n\ntrainer = Own.restore('/runs')",
    "of a class in a dict": "kinds = {'torch': TorchTrainer}\ntrainer = kinds['torch'].restore('/runs')",
    "of a class by another name": "kind = TorchTrainer\ntrainer = kind.restore('/runs')",
    "legacy": "from ray.train.huggingface import AccelerateTrainer\ntrainer = AccelerateTrainer.restore('/runs')",
    "beside a class with the same": "class Step:\n    starting_checkpoint = None\n    def setup(self): pass\n\n\n"
    "trainer = TorchTrainer(print)",
}


@pytest.mark.parametrize("name", LOST)
@pytest.mark.parametrize("trainer", TRAINERS.values(), ids=TRAINERS)
def test_what_trainers_have_lost_is_told_of_every_trainer(trainer: str, name: str) -> None:
    script = f"from ray.train.torch import TorchTrainer\n{trainer}\nprint(trainer.{name})\n"
    assert converted(script).lines("RM723", Kind.MANUAL) == [script.count("\n")]


@pytest.mark.parametrize(
    "script",
    [
        "trainer = TorchTrainer(print)\nprint(trainer.datasets, trainer.run_config, trainer.scaling_config)",
        "class Own(TorchTrainer):\n    def setup(self):\n        return 1\n\n\nOwn(print).setup()",
        "trainer = TorchTrainer(print)\ntrainer.preprocessor = 1\nprint(trainer.preprocessor)",
        "def fit(trainer):\n    trainer.setup()",
        "from own import Trainer\nTrainer.restore('/runs').preprocess_datasets()",
    ],
)
def test_what_a_trainer_still_has_is_not(script: str) -> None:
    codes = {code for code, _, _ in converted(f"from ray.train.torch import TorchTrainer\n{script}\n").findings}
    assert not codes & {"RM723", "RM430"}


def test_a_class_from_before_train_v2_has_the_method_and_refuses_it() -> None:
    script = (
        "from ray.train.data_parallel_trainer import DataParallelTrainer\n"
        "DataParallelTrainer.restore('/runs').preprocess_datasets()\n"
    )
    outcome = converted(script)
    assert outcome.lines("RM697", Kind.MANUAL) == [2]
    assert "fit_transform()" in " ".join(outcome.messages)


@pytest.mark.parametrize("method", ["setup", "training_loop", "preprocess_datasets", "_validate_attributes"])
@pytest.mark.parametrize(
    "head",
    [
        "from ray.train.torch import TorchTrainer\nclass Own(TorchTrainer):",
        "import ray.train.lightgbm\nclass Own(ray.train.lightgbm.LightGBMTrainer):",
        "from ray.train.torch import TorchTrainer\nclass Base(TorchTrainer): pass\nclass Own(Base):",
        "from ray.train.torch.torch_trainer import TorchTrainer\nclass Own(TorchTrainer):",
    ],
)
def test_a_method_that_train_v2_does_not_call_is_told(head: str, method: str) -> None:
    body = f"    def {method}(self):\n        super().{method}()\n        print('ready')\n"
    assert converted(f"{head}\n{body}\nOwn(print).fit()\n").lines("RM430", Kind.MANUAL) == [head.count("\n") + 2]


@pytest.mark.parametrize(
    "script",
    [
        "class Own(TorchTrainer):\n    def __init__(self):\n        self.setup()\n\n    def setup(self):\n        pass",
        "class Own(TorchTrainer):\n    def prepare(self):\n        return setup",
        "class Own(dict):\n    def setup(self):\n        pass",
        "class Own(BaseTrainer):\n    def training_loop(self):\n        pass",
    ],
)
def test_a_method_that_is_called_is_not(script: str) -> None:
    head = "from ray.train.torch import TorchTrainer\nfrom ray.train.trainer import BaseTrainer\n"
    assert not converted(f"{head}\n\n{script}\n").lines("RM430", Kind.MANUAL)


RE_EXPORTED = {
    "base": ("from ray.train.trainer import BaseTrainer", "BaseTrainer"),
    "renamed": ("from ray.train.data_parallel_trainer import BaseTrainer as Base", "Base"),
    "module": ("from ray.train import trainer", "trainer.BaseTrainer"),
    "in full": ("import ray.train.trainer", "ray.train.trainer.BaseTrainer"),
    "data parallel": ("from ray.train.torch.torch_trainer import DataParallelTrainer", "DataParallelTrainer"),
}


@pytest.mark.parametrize(("head", "base"), RE_EXPORTED.values(), ids=RE_EXPORTED)
def test_a_class_from_before_train_v2_is_told_wherever_it_is_imported_from(head: str, base: str) -> None:
    outcome = converted(f"{head}\n\n\nclass Own({base}):\n    pass\n\n\n{base}(loop)\n")
    assert outcome.lines("RM426", Kind.MANUAL) == [4, 8]


def test_another_base_of_that_name_is_not() -> None:
    head = "import ray.train\nfrom own.train.trainer import BaseTrainer"
    assert not converted(f"{head}\n\n\nclass Own(BaseTrainer):\n    pass\n").lines("RM426", Kind.MANUAL)
