"""RM403, RM501 and RM706: what a second run says of a converted job."""

import pytest

from tests.rules.scripts import converted

RESUMES = """
from ray.air.config import ScalingConfig
from ray.train.huggingface import HuggingFaceTrainer
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

def init(train_dataset, eval_dataset=None, **config):
    model = AutoModelForCausalLM.from_pretrained("gpt2")
    return Trainer(model=model, args=TrainingArguments("ray"), train_dataset=train_dataset)

def go_on(datasets, checkpoint):
    scaling = ScalingConfig(num_workers=2)
    return HuggingFaceTrainer(init, scaling_config=scaling, datasets=datasets, resume_from_checkpoint=checkpoint).fit()
"""


def test_a_second_run_says_the_same_of_a_checkpoint_to_start_from() -> None:
    first = converted(RESUMES)
    second = converted(first.text)
    said = [[text for text in run.messages if "resume_from_checkpoint=) raises" in text] for run in (first, second)]
    assert len(said[0]) == 1
    assert said[0] == said[1]
    assert "trainer_state.json" in said[0][0]


def test_a_function_that_was_one_before_loads_its_checkpoint_itself() -> None:
    loop = "from ray.train.torch import TorchTrainer\n\n\ndef loop(config):\n    pass\n\n\n"
    messages = converted(f"{loop}TorchTrainer(loop, resume_from_checkpoint=found)\n").messages
    (told,) = [text for text in messages if "resume_from_checkpoint=) raises" in text]
    assert "load it in the training function" in told and "trainer_state.json" not in told


HANDED_ON = """
import ray.air
from transformers import Trainer, TrainingArguments

def init(rows, **config):
    args = TrainingArguments("out", eval_strategy=config.pop("evaluation_strategy"), **config)
    return Trainer(model=make(), args=args, train_dataset=rows)

def loop(config):
    rows = config.pop("rows")
    init(rows, **config).train()

loop({{"rows": 3, "evaluation_strategy": "no", "{key}": 2}})
{more}
ray.air.session.report({{}})
"""


@pytest.mark.parametrize(
    ("key", "more", "said"),
    [
        ("max_steps", "", ""),
        (
            "per_gpu_train_batch_size",
            "",
            "per_gpu_train_batch_size= raises a TypeError today where TrainingArguments(**config) gets it",
        ),
        ("max_steps", "init(1, **elsewhere())", "What is passed with ** cannot be seen here"),
        ("max_steps", "started(init)", "What is passed with ** cannot be seen here"),
        (
            "max_steps",
            "init(1, extra=1, **{})",
            "extra= raises a TypeError today where TrainingArguments(**config) gets it",
        ),
    ],
)
def test_what_a_function_hands_on_with_two_stars_is_seen_in_its_calls(key: str, more: str, said: str) -> None:
    messages = converted(HANDED_ON.format(key=key, more=more)).messages
    told = [text for text in messages if "gets it" in text or text.startswith("What is passed")]
    assert [said in text for text in told] == [True] * bool(said)


KEPT = """
from ray.data.preprocessors import BatchMapper
from ray.train import ScalingConfig
from ray.train.torch import TorchTrainer

mapper = BatchMapper(change, batch_format="pandas"{size})
TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=2), preprocessor=mapper if wanted else None).fit()
"""


def test_where_the_tool_may_have_written_the_new_names_both_batch_sizes_are_told() -> None:
    told = [text for text in converted(KEPT.format(size="")).messages if text.startswith("BatchMapper is gone")]
    assert ["batch_size=4096" in text and "1024" in text for text in told] == [True]
    known = converted(KEPT.format(size=""), from_ray="2.6").messages
    assert [
        "batch_size=1024" in text and "4096" not in text for text in known if text.startswith("BatchMapper is gone")
    ] == [True]
    given = converted(KEPT.format(size=", batch_size=8")).messages
    assert [
        "batch_size=8" in text and "4096" not in text for text in given if text.startswith("BatchMapper is gone")
    ] == [True]
