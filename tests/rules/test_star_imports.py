"""RM701 and RM693 under star imports."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
{imports}
from ray.air.config import ScalingConfig
from ray.train.huggingface import TransformersTrainer
from job import ds


def build(train_dataset, eval_dataset=None, **config):
    model = AutoModelForCausalLM.from_pretrained("gpt2", use_auth_token=True)
    args = TrainingArguments("out", evaluation_strategy="epoch", no_cuda=True)
    return Trainer(model=model, args=args, train_dataset=train_dataset, tokenizer=config["tokenizer"])


TransformersTrainer(build, scaling_config=ScalingConfig(num_workers=2), datasets={{"train": ds}}).fit()
"""
NAMED = "from transformers import AutoModelForCausalLM, Trainer, TrainingArguments"


@pytest.mark.parametrize("imports", [NAMED, "from transformers import *", "import torch\nfrom transformers import *"])
def test_what_a_star_import_brings_in_is_converted_as_if_it_were_named(imports: str) -> None:
    outcome = converted(SCRIPT.format(imports=imports))
    assert 'eval_strategy="epoch"' in outcome.text and "use_cpu=True" in outcome.text
    assert 'processing_class=config["tokenizer"]' in outcome.text and "token=True" in outcome.text
    assert len(outcome.lines("RM701", Kind.CONVERTED)) == 4
    assert not outcome.lines("RM693", Kind.MANUAL)


@pytest.mark.parametrize(
    "imports", ["from transformers import *\nfrom job import *", "from job import *\nfrom transformers import *"]
)
def test_where_several_star_imports_may_bring_it_in_the_new_name_is_told(imports: str) -> None:
    outcome = converted(SCRIPT.format(imports=imports))
    assert "evaluation_strategy" in outcome.text
    assert any("eval_strategy= took its place" in message for message in outcome.messages)
    assert not any("use_auth_token" in m and "evaluation" in m for m in outcome.messages)


def test_a_name_that_the_file_binds_is_its_own() -> None:
    own = "from transformers import *\n\nclass TrainingArguments:\n    pass\n"
    assert "evaluation_strategy" in converted(SCRIPT.format(imports=own)).text


@pytest.mark.parametrize(
    ("script", "count"),
    [
        ("scaler = StandardScaler(columns=['x'])\nChain(scaler, OneHotEncoder(columns=['y'])).fit(ds)", 0),
        ("def scaled(ds):\n    return MinMaxScaler(['x']).fit_transform(ds)", 0),
        ("print('nothing of it')", 0),
        ("BatchMapper(change, batch_format='pandas')", 1),
        ("StandardScaler(columns=['x'])\nMapper(change)", 1),
        ("Concatenator(columns=['x'])", 1),
        ("from job import *\nStandardScaler(columns=['x'])", 1),
        ("from transformers import *\nStandardScaler(columns=['x'])\nAutoTokenizer.from_pretrained('t5')", 0),
    ],
)
def test_preprocessors_that_are_there_are_no_legacy_names(script: str, count: int) -> None:
    head = "import ray\nfrom job import change, ds\nfrom ray.data.preprocessors import *\n\n"
    assert len(converted(head + script + "\n").lines("RM694", Kind.MANUAL)) == count


@pytest.mark.parametrize("module", ["ray.air", "ray.train.huggingface", "ray.ml.preprocessors"])
def test_other_star_imports_of_legacy_ray_are_told(module: str) -> None:
    assert converted(f"import ray\nfrom {module} import *\n").lines("RM694", Kind.MANUAL) == [2]
