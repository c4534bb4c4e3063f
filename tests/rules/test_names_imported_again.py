"""A name that is imported again below, from wherever Ray had it, or that is imported only there."""

import pytest

from raymigrate.base.findings import Kind
from raymigrate.knowledge.legacy import are_one
from tests.rules.scripts import converted

PREDICTS = """
import ray
from ray.train.batch_predictor import BatchPredictor
from ray.train.huggingface import HuggingFaceCheckpoint, HuggingFacePredictor
{above}
checkpoint = HuggingFaceCheckpoint.from_directory("/data/checkpoint")
predictor = BatchPredictor.from_checkpoint(checkpoint, HuggingFacePredictor, task="text-classification")
predictor.predict(ray.data.from_items([{{"text": "a"}}])).show()

{below}
"""


@pytest.mark.parametrize(
    ("above", "below", "pipeline", "pandas"),
    [
        ("", "from transformers import pipeline\npipeline('ner')", "pipeline", "pandas"),
        ("", "from transformers import pipeline as hf\nhf('ner')", "hf", "pandas"),
        ("", "import transformers\ntransformers.pipeline('ner')", "pipeline", "pandas"),
        ("", "import pandas as pd\npd.DataFrame()", "pipeline", "pd"),
        ("import pandas as pd", "from transformers import pipeline\npipeline('ner')", "pipeline", "pd"),
        ("from transformers import pipeline as hf", "import pandas\npandas.DataFrame()", "hf", "pandas"),
        ("", "pipeline = 'mine'\nprint(pipeline)", "transformers.pipeline", "pandas"),
    ],
)
def test_new_code_imports_what_the_script_imports_only_later(
    above: str, below: str, pipeline: str, pandas: str
) -> None:
    outcome = converted(PREDICTS.format(above=above, below=below), unsafe=True)
    assert outcome.lines("RM603", Kind.CONVERTED)
    assert f"self.pipeline = {pipeline}(" in outcome.text and f"return {pandas}.DataFrame(" in outcome.text
    head, _, _ = outcome.text.partition("class PipelinePredictor")
    name, is_alias = pipeline.partition(".")[0], pipeline == "hf"
    assert f"import {'pipeline as hf' if is_alias else name}" in head
    assert ("import pandas as pd" if pandas == "pd" else "import pandas\n") in head
    assert converted(outcome.text, unsafe=True).text == outcome.text


RUNS = """
{first}
from ray.train.torch import TorchTrainer


def main():
    TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=2, trainer_resources={{"CPU": 0}})).fit()


main()
{second}

TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=4, trainer_resources={{"CPU": 0}})).fit()
"""


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("from ray.air.config import ScalingConfig", "from ray.air import ScalingConfig"),
        ("from ray.air import ScalingConfig", "from ray.air.config import RunConfig, ScalingConfig\nprint(RunConfig)"),
        ("from ray.air.config import ScalingConfig", "from ray.air.config import ScalingConfig"),
        ("from ray.air.config import ScalingConfig", "from ray.train import ScalingConfig"),
        ("from ray.train import ScalingConfig", "from ray.air import session, ScalingConfig\nprint(session)"),
    ],
)
def test_a_function_reads_either_of_two_imports_of_a_configuration(first: str, second: str) -> None:
    outcome = converted(RUNS.format(first=first, second=second))
    assert "trainer_resources" not in outcome.text  # of both
    above, _, below = outcome.text.partition("def main")
    assert "from ray.train import ScalingConfig" in above
    assert "import ScalingConfig" not in below or "from ray.train import ScalingConfig" in below
    assert "ray.air.config" not in outcome.text


def test_the_import_of_a_configuration_that_goes_leaves_that_of_another() -> None:
    script = """
    from ray.air.config import RunConfig, ScalingConfig
    from ray.train.torch import TorchTrainer

    TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=2), run_config=RunConfig(verbose=0)).fit()

    from ray.air import RunConfig, session

    print(RunConfig, session)
    """
    outcome = converted(script)
    assert "run_config" not in outcome.text
    assert "from ray.train import RunConfig, ScalingConfig\n" in outcome.text


TUNES = """
{first}
from ray.tune import Tuner


def objective(config):
    return {{"loss": 1}}


{made}

{later}
tune.Tuner(objective, param_space={{"a": tune.uniform(0, 1)}}).fit()
"""


@pytest.mark.parametrize("later", ["from ray import tune", "import ray.tune as tune", "from ray import train, tune"])
@pytest.mark.parametrize("first", ["from ray.air import RunConfig", "import ray\nfrom ray.air.config import RunConfig"])
@pytest.mark.parametrize(
    "made",
    [
        'Tuner(objective, run_config=RunConfig(name="a")).fit()',
        'run_config = RunConfig(name="a")\nTuner(objective, run_config=run_config).fit()',
        'def run():\n    return Tuner(objective, run_config=RunConfig(name="a")).fit()\n\n\nrun()',
    ],
)
def test_a_configuration_of_tune_is_named_before_the_script_imports_tune(first: str, made: str, later: str) -> None:
    outcome = converted(TUNES.format(first=first, made=made, later=later))
    assert outcome.text.index("from ray import tune") < outcome.text.index("tune.RunConfig(name=")
    assert "ray.air" not in outcome.text
    assert converted(outcome.text).text == outcome.text


@pytest.mark.parametrize(
    ("names", "are"),
    [
        (["ray.air.ScalingConfig", "ray.air.config.ScalingConfig", "ray.train.ScalingConfig"], True),
        (["ray.tune.Tuner", "ray.tune.tuner.Tuner"], True),
        (["ray.train.RunConfig", "ray.tune.RunConfig"], False),
        (["ray.air.checkpoint.Checkpoint", "ray.air.Checkpoint", "ray.train.Checkpoint"], True),
        (["ray.air.session", "ray.air.util.session"], False),
        (["torch.FloatTensor", "torch.cuda.FloatTensor"], False),
        (["ray.air.ScalingConfig", None], False),
        ([None], True),
        ([], False),
    ],
)
def test_which_names_are_one(names: list[str | None], are: bool) -> None:
    assert are_one(frozenset(names)) is are
