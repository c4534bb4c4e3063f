"""What the codemods believe of objects and arguments of the libraries is true of the installed ones."""

import ast
import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from raymigrate.base.findings import Finding
from raymigrate.codemods.gone import scheduler_verbose
from raymigrate.codemods.libraries import library_attributes, loading, tokenizer_calls
from raymigrate.codemods.libraries.argument_changes import TRAINING_ARGUMENTS_CHANGES
from raymigrate.codemods.to_accelerate import fixed_steps
from raymigrate.facts.hugging_face.instances import ACCELERATOR, TRAINER, TRAINING_ARGUMENTS
from raymigrate.knowledge.libraries import is_made_on_request, names_of
from raymigrate.run.engine import convert

LIBRARIES = ("accelerate", "huggingface_hub", "transformers")
needs_libraries = pytest.mark.skipif(
    any(find_spec(library) is None for library in LIBRARIES), reason="needs the extra raymigrate[verify]"
)

ASK = """
import json, inspect, warnings
warnings.simplefilter("ignore")
import accelerate, huggingface_hub, transformers
from transformers.pipelines import PIPELINE_REGISTRY

vocabulary = {"[UNK]": 0, "a": 1}
from tokenizers import Tokenizer, models
tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel(vocabulary, "[UNK]")))
arguments = transformers.TrainingArguments("unused", use_cpu=True)
trainer_source = inspect.getsource(transformers.Trainer)

def gone_task(task):
    try:
        PIPELINE_REGISTRY.check_task(task)
    except KeyError:
        return True
    return False

print(json.dumps({
    "tokenizer": {n: hasattr(tokenizer, n) for n in asked["tokenizer"]},
    "arguments": {n: hasattr(arguments, n) for n in asked["arguments"]},
    "trainer": {n: hasattr(transformers.Trainer, n) or f"self.{n} =" in trainer_source for n in asked["trainer"]},
    "accelerator": {n: hasattr(accelerate.Accelerator, n) for n in asked["accelerator"]},
    "hub": {n: hasattr(huggingface_hub, n) for n in asked["hub"]},
    "tasks": {n: not gone_task(n) for n in asked["tasks"]},
}))
"""


def ask(asked: dict[str, list[str]]) -> dict[str, dict[str, bool]]:
    """Asks the installed libraries in a child process which of these names they have."""
    done = subprocess.run(
        [sys.executable, "-c", f"asked = {asked!r}\n{ASK}"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    answers: dict[str, dict[str, bool]] = json.loads(done.stdout.splitlines()[-1])
    return answers


@needs_libraries
@pytest.mark.ray
def test_what_the_codemods_call_gone_is_gone_and_its_successor_is_there() -> None:
    gone = {
        "tokenizer": [*tokenizer_calls.CALLS, tokenizer_calls.AS_TARGET, *tokenizer_calls.GONE],
        "arguments": sorted(TRAINING_ARGUMENTS_CHANGES),
        "trainer": list(library_attributes.RENAMED[TRAINER]),
        "accelerator": list(library_attributes.RENAMED[ACCELERATOR]),
        "hub": list(loading.GONE_FROM_HUB),
        "tasks": [*loading.TASKS, "translation", "translation_en_to_fr"],
    }
    gone["tokenizer"] += tokenizer_calls.RENAMED
    new = {
        "tokenizer": list(tokenizer_calls.RENAMED.values()),
        "arguments": list(library_attributes.RENAMED[TRAINING_ARGUMENTS].values()),
        "trainer": list(library_attributes.RENAMED[TRAINER].values()),
        "accelerator": ["mixed_precision"],
        "hub": ["get_token", "hf_hub_download", "upload_folder", "login"],
        "tasks": ["text-generation", "text-classification"],
    }
    answers = ask({kind: [*gone[kind], *new[kind]] for kind in gone})
    assert {kind: [n for n in names if answers[kind][n]] for kind, names in gone.items()} == {kind: [] for kind in gone}
    assert {kind: [n for n in names if not answers[kind][n]] for kind, names in new.items()} == {
        kind: [] for kind in new
    }


@needs_libraries
@pytest.mark.ray
def test_what_transformers_makes_on_request_is_in_no_star_import() -> None:
    listed = "import transformers\nprint(*transformers.__all__)"
    starred = subprocess.run([sys.executable, "-c", listed], capture_output=True, text=True, check=True).stdout.split()
    kinds = ("Tokenizer", "TokenizerFast", "ImageProcessor", "ImageProcessorFast")
    names = {name for name in names_of("transformers") if name.endswith(kinds)}
    assert {name for name in names if is_made_on_request(f"transformers.{name}")} == names.difference(starred)


def parameters_of(module: str) -> dict[str, list[str]]:
    """The parameters of the functions of an installed module, and of what makes its classes, by name."""
    parent, _, name = module.rpartition(".")
    package = find_spec(parent.partition(".")[0])
    assert package is not None and package.origin is not None
    path = Path(package.origin).parent.joinpath(*parent.split(".")[1:], f"{name}.py")
    found = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        makers = [inner for inner in getattr(node, "body", ()) if getattr(inner, "name", "") == "__init__"]
        function = makers[0] if isinstance(node, ast.ClassDef) and makers else node
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and isinstance(function, ast.FunctionDef):
            found[node.name] = [parameter.arg for parameter in function.args.args if parameter.arg != "self"]
    return found


@needs_libraries
@pytest.mark.skipif(find_spec("torch") is None, reason="needs the extra raymigrate[verify]")
def test_the_places_of_what_schedulers_take() -> None:
    ours = parameters_of("torch.optim.lr_scheduler")
    ours["_LRScheduler"] = ours["LRScheduler"]
    assert {name: len(ours[name]) for name in scheduler_verbose.PLACES} == scheduler_verbose.PLACES
    made = {**ours, **parameters_of("transformers.optimization")}
    steps = {**fixed_steps.STEPS, **{name: {"lr_lambda": place} for name, place in fixed_steps.FACTORS.items()}}
    steps["get_linear_schedule_with_warmup"] = fixed_steps.OF_TRANSFORMERS
    for name, places in steps.items():
        assert {argument: made[name].index(argument) for argument in places} == places, name
    assert made["get_scheduler"].index(fixed_steps.OF_ITS_KIND) == 4


def said_of(script: str) -> list[Finding]:
    ast.parse(script)
    return convert(script).findings


@pytest.mark.parametrize(
    ("script", "code", "word"),
    [
        ("from ray.train.huggingface import *\nTransformersTrainer()\n", "RM694", "ray.train.huggingface"),
        ("from ray.air.config import *\nScalingConfig()\n", "RM694", "ray.air.config"),
        ("import ray\nfrom transformers import *\nAdamW([])\n", "RM712", "AdamW"),
        ("import ray\nfrom transformers import *\nTrainingArguments('x', no_cuda=True)\n", "RM701", "no_cuda"),
        ("import ray\nimport ray.ml\nray.init()\n", "RM691", "ray.ml"),
        ("import ray.ml\nray.ml.predictor.Predictor()\n", "RM692", "ray.ml"),
        ("import ray\nray.air.checkpoint.Checkpoint.from_dict({})\n", "", "Checkpoint"),
        ("import ray.train.huggingface as hf\ngetattr(hf, 'TransformersTrainer')\n", "RM692", "TransformersTrainer"),
        ("import ray, importlib\nimportlib.import_module('ray.train.huggingface.accelerate')\n", "RM692", "accelerate"),
        ("import ray, datasets\ndatasets.load_from_disk('x', fs=1)\n", "RM693", "fs"),
        ("import ray\nfrom datasets.load import load_from_disk as l\nl('x', fs=1)\n", "RM693", "fs"),
        ("import ray, datasets\ndatasets.load_dataset_builder('a/b', use_auth_token=1)\n", "RM693", "token="),
        ("import ray, datasets\ndatasets.load_dataset('mine.py')\n", "RM715", "mine.py"),
        ("import ray\nfrom huggingface_hub import HfFolder\nHfFolder.get_token()\n", "RM717", "HfFolder"),
        ("import ray, transformers\ntransformers.pipeline('summarization')\n", "RM724", "summarization"),
    ],
)
def test_nothing_that_is_gone_is_missed(script: str, code: str, word: str) -> None:
    assert any(finding.code.startswith(code) and word in finding.message for finding in said_of(script))


@pytest.mark.parametrize(
    "script",
    [
        "import ray\nfrom transformers import *\nTrainingArguments('x', eval_strategy='no')\nAutoTokenizer\n",
        "import ray\nfrom transformers import *\n\ndef f(AdamW):\n    AdamW()\n",
        "import ray\nfrom mine import AdamW\nfrom transformers import *\nAdamW([])\n",
        "import ray\ngetattr(ray, 'init')\n",
        "import ray, datasets\ndatasets.load_dataset('csv', data_files='x.csv')\n",
        "import ray, mine\nmine.load_from_disk('x', fs=1)\n",
    ],
)
def test_what_still_works_is_not_reported(script: str) -> None:
    assert said_of(script) == []


ACCUMULATE = """
import tempfile
import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments, logging

logging.set_verbosity_error()
torch.manual_seed(0)
rows = [{"input_ids": torch.randint(5, 90, (12,)), "labels": torch.tensor(number % 2)} for number in range(8)]
config = BertConfig(
    vocab_size=99, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
    hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
)

def moved(steps, **attributes):
    torch.manual_seed(1)
    model = BertForSequenceClassification(config)
    before = [p.detach().clone() for p in model.parameters()]
    with tempfile.TemporaryDirectory() as folder:
        args = TrainingArguments(
            folder, per_device_train_batch_size=8 // steps, gradient_accumulation_steps=steps, max_steps=1,
            learning_rate=1.0, optim="sgd", lr_scheduler_type="constant", max_grad_norm=0, use_cpu=True,
            report_to="none", save_strategy="no", disable_tqdm=True,
        )
        trainer = Trainer(model=model, args=args, train_dataset=rows)
        for name, value in attributes.items():
            setattr(trainer, name, value)
        trainer.train()
    return sum((p - b).norm() ** 2 for p, b in zip(model.parameters(), before, strict=True)).sqrt().item()

print("ratios", moved(4) / moved(1), moved(4, model_accepts_loss_kwargs=False) / moved(1))
"""


@needs_libraries
def test_only_a_switch_of_the_trainer_divides_accumulated_losses_by_their_number() -> None:
    run = subprocess.run([sys.executable, "-c", ACCUMULATE], capture_output=True, text=True, check=True)
    line = next(line for line in run.stdout.splitlines() if line.startswith("ratios"))
    assert [round(float(ratio), 3) for ratio in line.split()[1:]] == [4.0, 1.0]
