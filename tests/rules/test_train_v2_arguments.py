"""RM403: arguments that TorchTrainer refuses."""

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
