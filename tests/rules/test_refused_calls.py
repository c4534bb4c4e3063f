"""RM697: names and parameters that Ray has today, and that only raise."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted


@pytest.mark.parametrize(
    "script",
    [
        "from ray.train.xgboost import XGBoostTrainer\nXGBoostTrainer(label_column='y', params={}, num_boost_round=3)",
        "from ray.train.xgboost import XGBoostTrainer as Boost\nBoost(params={'max_depth': 2})",
        "import ray.train.lightgbm\nray.train.lightgbm.LightGBMTrainer(num_boost_round=3)",
        "from ray.train import lightgbm\nkind = lightgbm.LightGBMTrainer(**{'label_column': 'y'})",
        "from ray.train.lightgbm import LightGBMTrainer\nLightGBMTrainer(**dict(label_column='y', params={}))",
        "from ray.train.xgboost import XGBoostTrainer\nmodel = XGBoostTrainer.get_model(checkpoint)",
        "from ray.train.horovod import HorovodTrainer\nHorovodTrainer(loop)",
        "import ray.train.torch\nray.train.torch.backward(loss)",
        "from ray.train.torch import prepare_optimizer as ready\nready(optimizer)",
        "from ray import train\ntrain.torch.accelerate()",
        "from ray.tune.integration.keras import TuneReportCallback\nTuneReportCallback()",
        "from ray import tune\ntune.run(loop, local_dir='results')",
        "import ray.tune\nray.tune.run(loop, chdir_to_trial_dir=False)",
        "from ray import tune\ntune.Tuner(loop, tune_config=tune.TuneConfig(chdir_to_trial_dir=False))",
        "from ray.tune.tune_config import TuneConfig\nconfig = TuneConfig(**{'chdir_to_trial_dir': False})",
        "import ray\nray.init(local_mode=True)",
        "from ray import init as start\nstart(num_cpus=2, local_mode=args.debug)",
        "import ray\nray.init(**{'local_mode': True})",
    ],
)
def test_what_only_raises_is_told_where_it_is_used(script: str) -> None:
    assert converted(script).lines("RM697", Kind.MANUAL) == [2]


@pytest.mark.parametrize(
    "call", ["ray.init(local_mode=False)", "ray.init()", "ray.init(num_cpus=2)", "server.init(local_mode=True)"]
)
def test_what_is_refused_only_if_it_is_true_may_be_false(call: str) -> None:
    assert not converted(f"import ray\n{call}\n").lines("RM697", Kind.MANUAL)


def test_the_error_is_named() -> None:
    (message,) = converted("import ray\nray.init(local_mode=True)\n").messages
    assert message.startswith("ray.init(local_mode=True) raises a RuntimeError on Ray >= 2.55.")


CLASSES = (
    "import pytest\nfrom ray.train.lightgbm import LightGBMTrainer\nfrom ray.train.xgboost import XGBoostTrainer\n"
)


@pytest.mark.parametrize(
    "use",
    [
        "@pytest.mark.parametrize('cls', [XGBoostTrainer, LightGBMTrainer])\ndef test(cls):\n    cls(params={})",
        "cls = XGBoostTrainer if gpu else LightGBMTrainer\ncls(label_column='y', params={})",
        "def start(cls):\n    return cls(params={})\n\n\nstart(XGBoostTrainer)",
        "for cls in (XGBoostTrainer, LightGBMTrainer):\n    cls(params={}).fit()",
    ],
)
def test_a_class_that_has_another_name_is_seen(use: str) -> None:
    assert converted(f"{CLASSES}{use}\n").lines("RM697", Kind.MANUAL)


@pytest.mark.parametrize(
    "use",
    [
        "@pytest.mark.parametrize('cls', [XGBoostTrainer, LightGBMTrainer])\ndef test(cls):\n    cls({given})",
        "@pytest.mark.parametrize('cls, n', [(XGBoostTrainer, 1), (LightGBMTrainer, 2)])\ndef test(cls, n):\n"
        "    cls({given})",
        "for cls in (XGBoostTrainer, LightGBMTrainer):\n    cls({given})",
        "cls = XGBoostTrainer if gpu else LightGBMTrainer\ncls({given})",
        "def start(cls):\n    return cls({given})\n\n\nstart(XGBoostTrainer)\nstart(LightGBMTrainer)",
        "class Job:\n    def __init__(self, kind):\n        self.cls = XGBoostTrainer if kind else LightGBMTrainer\n\n"
        "    def run(self):\n        self.cls({given})",
    ],
)
@pytest.mark.parametrize(
    ("given", "error"), [("params={}, label_column='y'", "a TypeError"), ("loop, params={}", "a DeprecationWarning")]
)
def test_each_class_is_told_with_its_own_advice(use: str, given: str, error: str) -> None:
    outcome = converted(f"{CLASSES}{use.replace('{given}', given)}\n")
    first, second = (message for message in outcome.messages if "Give it a training function" in message)
    assert first.startswith("XGBoostTrainer(") and "makes a DMatrix of them" in first
    assert second.startswith("LightGBMTrainer(") and "makes a lightgbm.Dataset of them" in second
    assert f"raises {error}" in first and f"raises {error}" in second


def test_so_is_each_class_whose_method_is_called() -> None:
    outcome = converted(f"{CLASSES}for cls in (XGBoostTrainer, LightGBMTrainer):\n    cls.get_model(checkpoint)\n")
    assert outcome.lines("RM697", Kind.MANUAL) == [5, 5]


@pytest.mark.parametrize("given", ["label_column='y', params={}", "**{'label_column': 'y'}"])
def test_a_class_that_moves_to_its_package_is_refused_there(given: str) -> None:
    script = f"from ray.train.xgboost.xgboost_trainer import XGBoostTrainer\nXGBoostTrainer({given})\n"
    assert converted(script).lines("RM697", Kind.MANUAL) == [2]


def test_a_warning_that_a_test_waits_for_as_an_error_is_no_news() -> None:
    script = f"{CLASSES}with pytest.raises(DeprecationWarning):\n    XGBoostTrainer(loop, params={{}})\n"
    assert not converted(script).lines("RM697", Kind.MANUAL)


@pytest.mark.parametrize("use", ["def start(cls):\n    cls(params={})", "cls = own.Trainer\ncls(params={})"])
def test_a_class_that_is_not_known_is_not_taken_for_one_of_ray(use: str) -> None:
    assert not converted(f"{CLASSES}print(XGBoostTrainer)\n{use}\n").lines("RM697", Kind.MANUAL)


def test_an_argument_that_is_gone_is_told_beside_those_that_are_refused() -> None:
    trainer = "from ray.train.xgboost import XGBoostTrainer\nXGBoostTrainer(label_column='y', dmatrix_params={})"
    assert sorted(code for code, _, _ in converted(trainer).findings) == ["RM693", "RM697"]


@pytest.mark.parametrize(
    "script",
    [
        "from ray.train.xgboost import XGBoostTrainer\nXGBoostTrainer(loop, train_loop_config={}, params=None)",
        "from ray.train.xgboost import RayTrainReportCallback\nRayTrainReportCallback.get_model(checkpoint)",
        "import ray.train\nfrom own import XGBoostTrainer\nXGBoostTrainer(label_column='y')",
        "from ray import tune\ntune.run(loop, storage_path='/results', local_dir=None)",
        "import ray\nfrom ray.train.xgboost import XGBoostTrainer\nif ray.__version__ < '2.51':\n"
        "    XGBoostTrainer(label_column='y', params={})",
    ],
)
def test_what_works_today_is_not(script: str) -> None:
    assert "RM697" not in {code for code, _, _ in converted(script).findings}


TREES = """
from ray.air.config import CheckpointConfig, RunConfig
from ray.train.{library} import {trainer}

saving = CheckpointConfig({given})
{trainer}(label_column="y", params={{}}, run_config=RunConfig(checkpoint_config=saving)).fit()
"""


@pytest.mark.parametrize("given", ["checkpoint_frequency=5", "checkpoint_at_end=False", "checkpoint_frequency=often"])
@pytest.mark.parametrize(("library", "trainer"), [("xgboost", "XGBoostTrainer"), ("lightgbm", "LightGBMTrainer")])
def test_when_trees_are_saved_is_not_deleted(library: str, trainer: str, given: str) -> None:
    outcome = converted(TREES.format(library=library, trainer=trainer, given=given))
    assert outcome.lines("RM401", Kind.MANUAL) == [4]
    assert f"CheckpointConfig({given})" in outcome.text


@pytest.mark.parametrize("given", ["checkpoint_frequency=0", "checkpoint_at_end=True"])
def test_what_their_callback_does_by_itself_is(given: str) -> None:
    outcome = converted(TREES.format(library="xgboost", trainer="XGBoostTrainer", given=given))
    assert not outcome.lines("RM401", Kind.MANUAL)
    assert given not in outcome.text


def test_what_takes_the_place_of_mixed_precision_is_explained_once_in_a_loop() -> None:
    script = (
        "from ray import train\n\n\ndef loop(config):\n    train.torch.accelerate(amp=True)\n"
        "    optimizer = train.torch.prepare_optimizer(config['optimizer'])\n    train.torch.backward(config['loss'])\n"
        "\n\ndef other(config):\n    train.torch.accelerate(amp=True)\n"
    )
    outcome = converted(script)
    assert outcome.lines("RM697", Kind.MANUAL) == [5, 6, 7, 11]
    assert sum("Use torch.autocast" in message for message in outcome.messages) == 2


@pytest.mark.parametrize(
    ("accelerate", "mixed"),
    [
        ("", False),
        ("torch.accelerate()", False),
        ("torch.accelerate(amp=False)", False),
        ("torch.accelerate(False)", False),
        ("torch.accelerate(True)", True),
        ("torch.accelerate(amp=config['amp'])", True),
        ("torch.accelerate(**config)", True),
        ("begin = torch.accelerate; begin(amp=True)", True),
    ],
)
def test_without_mixed_precision_there_is_none_to_write(accelerate: str, mixed: bool) -> None:
    script = (
        f"from ray.train import torch\n\ndef loop(config):\n    {accelerate or 'pass'}\n"
        "    optimizer = torch.prepare_optimizer(config['optimizer'])\n    torch.backward(config['loss'])\n"
    )
    messages = converted(script).messages
    assert any("Use torch.autocast" in message for message in messages) == mixed
    for part in ("the steps were those of the optimizer", "called backward() of the loss"):
        assert any(part in message for message in messages) != mixed
    assert any("Where another file" in message for message in messages) == (not accelerate)


def test_a_method_that_a_class_of_the_project_defines_takes_what_it_says() -> None:
    script = """
    from ray import train
    from transformers import Trainer

    class Own(Trainer):
        def train(self, model_path=None):
            return super().train(model_path)

    Own(train).train(model_path="checkpoint")
    Trainer(train).train(model_path="checkpoint")
    """
    assert converted(script).lines("RM693", Kind.MANUAL) == [9]


@pytest.mark.parametrize(
    ("call", "advice"),
    [
        ("SFTTrainer(model, max_seq_length=512)", "SFTConfig(max_length=) takes it today"),
        ("SFTTrainer(model, packing=True)", "SFTConfig(packing=) takes it today"),
        ("DPOTrainer(model, beta=0.1)", "DPOConfig(beta=) takes it today"),
        ("SFTTrainer(model, of_nobody=1)", "Leave it out"),
        ("SFTConfig('out', of_nobody=1)", "Leave it out"),
    ],
)
def test_the_configuration_of_trl_that_takes_an_argument_is_named(call: str, advice: str) -> None:
    outcome = converted(f"import ray\nfrom trl import DPOTrainer, SFTConfig, SFTTrainer\n{call}\n")
    assert outcome.lines("RM693", Kind.MANUAL) == [3]
    assert any(advice in message for message in outcome.messages)


@pytest.mark.parametrize(
    "code",
    [
        "def make(**more):\n    return ScalingConfig(num_workers=2, **more)\n\nmake(trainer_resources={'CPU': 0})",
        "more = {\n    'trainer_resources': {'CPU': 0},\n}\nScalingConfig(num_workers=2, **more)",
    ],
)
def test_what_another_rule_says_where_an_entry_is_written_is_not_said_again(code: str) -> None:
    outcome = converted(f"from ray.train import ScalingConfig\n{code}\n")
    assert [code for code, _, _ in outcome.findings] == ["RM401"]


@pytest.mark.parametrize(
    ("given", "now"),
    [
        ("model, wrap_ddp=True", "model"),
        ("model, wrap_ddp=False", "model, parallel_strategy=None"),
        ("model, wrap_ddp=ALONE", "model, parallel_strategy=None"),
        ("model, wrap_ddp=None", "model, parallel_strategy=None"),
        ("model, wrap_ddp=size() > 1", 'model, parallel_strategy="ddp" if (size() > 1) else None'),
        ("model, wrap_ddp=config['ddp']", "model, parallel_strategy=\"ddp\" if config['ddp'] else None"),
        ("model, wrap_ddp=a if b else c", 'model, parallel_strategy="ddp" if (a if b else c) else None'),
        ("model, ddp_kwargs={'bucket_cap_mb': 1}", "model, parallel_strategy_kwargs={'bucket_cap_mb': 1}"),
        ("model, wrap_ddp=False, ddp_kwargs=k", "model, parallel_strategy=None, parallel_strategy_kwargs=k"),
        ("model, True, True", 'model, True, "ddp"'),
    ],
)
@pytest.mark.parametrize("name", ["ready", "torch.prepare_model"])
def test_how_a_model_is_wrapped_is_said_as_today(given: str, now: str, name: str) -> None:
    head = "from ray.train import torch\nfrom ray.train.torch import prepare_model as ready\nALONE = False\n"
    outcome = converted(f"{head}made = {name}({given})\n")
    assert f"made = {name}({now})\n" in outcome.text
    assert outcome.lines("RM693", Kind.CONVERTED) and not outcome.lines("RM693", Kind.MANUAL)


@pytest.mark.parametrize(
    "given",
    [
        "model, True, False",
        "model, True, None",
        "model, True, 'fsdp'",
        "model, parallel_strategy='ddp'",
        "*given",
        "model",
    ],
)
def test_what_wraps_a_model_as_before_stays(given: str) -> None:
    outcome = converted(f"from ray.train.torch import prepare_model\nmade = prepare_model({given})\n")
    assert f"prepare_model({given})" in outcome.text and not outcome.findings


@pytest.mark.parametrize(
    ("name", "told"),
    [("wrap_ddp", True), ("ddp_kwargs", True), ("move_to_device", False), ("parallel_strategy", False)],
)
def test_what_prepare_model_gets_out_of_a_dict_is_told(name: str, told: bool) -> None:
    script = (
        f"from ray.train.torch import prepare_model\n\noptions = {{'{name}': None}}\n\n\ndef loop(config):\n"
        "    return prepare_model(config['model'], **options)\n"
    )
    assert converted(script).lines("RM693", Kind.MANUAL) == [3] * told


@pytest.mark.parametrize("given", ["model, wrap_ddp=False, **more", "model, wrap_ddp=True, parallel_strategy=None"])
def test_an_argument_that_may_be_given_twice_is_left_to_a_person(given: str) -> None:
    outcome = converted(f"from ray.train.torch import prepare_model\nmade = prepare_model({given})\n")
    assert f"prepare_model({given})" in outcome.text and outcome.lines("RM693", Kind.MANUAL) == [2]


def test_a_prepare_model_of_another_library_takes_what_it_takes() -> None:
    script = (
        "import ray.train\nfrom mine import prepare_model\nmade = prepare_model(model, True, True, wrap_ddp=False)\n"
    )
    assert not converted(script).findings


@pytest.mark.parametrize(
    ("given", "options", "now", "told"),
    [
        ("model, True, True", {"from_ray": "2.8"}, "model, True, True", True),  # FSDP there, too
        ("model, True, WRAP", {"from_ray": "2.8"}, "model, True, WRAP", True),
        ("model, True, WRAP", {}, 'model, True, "ddp"', False),
        ("model, True, how", {"from_ray": "2.8"}, "model, True, how", False),
        ("model, True, how", {}, "model, True, how", True),
        ("model, True, how", {"from_ray": "2.2"}, 'model, True, "ddp" if how else None', False),
        ("model, True, how()", {"from_ray": "2.2"}, 'model, True, "ddp" if how() else None', False),
        ("model, True, False", {"from_ray": "2.2"}, "model, True, False", False),
        ('model, True, "ddp" if how else None', {}, 'model, True, "ddp" if how else None', False),
    ],
)
def test_the_third_argument_was_another_one(given: str, options: dict[str, str], now: str, told: bool) -> None:
    head = "from ray.train.torch import prepare_model\nWRAP = True\n\n\ndef loop(model, how):\n"
    outcome = converted(f"{head}    return prepare_model({given})\n", **options)
    assert f"prepare_model({now})" in outcome.text
    assert outcome.lines("RM693", Kind.MANUAL) == [6] * told


@pytest.mark.parametrize(
    ("bases", "call", "told"),
    [
        ("Seq2SeqTrainer", "predict(data, num_beams=4)", False),
        ("Mixin, Seq2SeqTrainer", "evaluate(max_new_tokens=9)", False),
        ("Between", "predict(data, num_beams=4)", False),
        ("Seq2SeqTrainer", "train(num_beams=4)", True),
        ("Trainer", "predict(data, num_beams=4)", True),
        ("Mixin, Trainer", "evaluate(max_new_tokens=9)", True),
    ],
)
def test_a_class_made_from_a_trainer_takes_what_that_one_takes(bases: str, call: str, told: bool) -> None:
    script = f"""
        import ray
        from transformers import Seq2SeqTrainer, Trainer

        class Mixin:
            pass

        class Between(Seq2SeqTrainer):
            pass

        class Own({bases}):
            pass

        Own(model, args=args).{call}
        """
    assert bool(converted(script).lines("RM693", Kind.MANUAL)) is told
