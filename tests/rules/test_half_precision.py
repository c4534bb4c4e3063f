"""RM751 without --freeze-numerics: a note where weights in half precision would stop a job, or train otherwise."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.base.findings import Kind
from raymigrate.cli import main
from tests.rules.scripts import Outcome, converted

SCRIPT = """
import torch
from accelerate import Accelerator
from ray.air.config import ScalingConfig
from ray.train.huggingface import TransformersTrainer
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments


def make(train_dataset, eval_dataset=None, **config):
    model = AutoModelForCausalLM.from_pretrained({model})
    args = TrainingArguments("out", {arguments})
    return Trainer(model=model, args=args, train_dataset=train_dataset)


TransformersTrainer(make, scaling_config=ScalingConfig(num_workers=2, use_gpu=True), datasets={{"train": rows}}).fit()
"""


SCALED = ["fp16=True", "fp16=torch.cuda.is_available()", 'fp16=config["half"]', "fp16=True, deepspeed=None"]
WITH_DEEPSPEED = ['fp16=True, deepspeed={"fp16": {"enabled": "auto"}}', 'fp16=True, deepspeed=config["deepspeed"]']
NOT_SCALED = ["bf16=True", "fp16=False", "learning_rate=1e-4", *WITH_DEEPSPEED]


@pytest.mark.parametrize("arguments", [*SCALED, *NOT_SCALED])
@pytest.mark.parametrize("model", ['"facebook/opt-125m"', 'config["model"]'])
def test_a_model_of_unknown_precision_is_noted(model: str, arguments: str) -> None:
    outcome = converted(SCRIPT.format(model=model, arguments=arguments))
    assert len(outcome.lines("RM751", Kind.NOTE)) == 1
    assert any("fp16 needs" in message for message in outcome.messages) == (arguments in SCALED)
    assert not outcome.lines("RM751", Kind.MANUAL) and not outcome.lines("RM751", Kind.CONVERTED)


@pytest.mark.parametrize(
    ("model", "arguments"),
    [
        ('"facebook/opt-125m", dtype="bfloat16"', "bf16=True"),
        ('"facebook/opt-125m", torch_dtype=torch.float32', "fp16=True"),
        ('"gpt2"', "fp16=True"),
        ('"google-bert/bert-base-cased"', "fp16=True"),
    ],
)
def test_weights_in_float32_are_no_news(model: str, arguments: str) -> None:
    outcome = converted(SCRIPT.format(model=model, arguments=arguments))
    assert not outcome.lines("RM751", Kind.NOTE)


@pytest.mark.parametrize("name", ["dtype", "torch_dtype"])
@pytest.mark.parametrize("dtype", ["None", "torch.bfloat16 if config['half'] else None", "chosen(config)"])
def test_a_dtype_that_is_or_may_be_none_is_that_of_the_checkpoint(name: str, dtype: str) -> None:
    chosen = "def chosen(config):\n    if config['half']:\n        return torch.float16\n    return None\n\n\n"
    script = SCRIPT.format(model=f'"facebook/opt-125m", {name}={dtype}', arguments="bf16=True")
    assert len(converted(script.replace("def make", f"{chosen}def make")).lines("RM751", Kind.NOTE)) == 1


@pytest.mark.parametrize(
    "dtype",
    [
        "{'bf16': torch.bfloat16, 'no': None}[config['kind']]",
        "{'bf16': torch.bfloat16}.get(config['kind'])",
        "config.get('dtype')",
        "config.get('dtype', None)",
        "getattr(config, 'dtype', None)",
    ],
)
def test_a_dtype_that_is_looked_up_may_be_none(dtype: str) -> None:
    script = SCRIPT.format(model=f'"facebook/opt-125m", dtype={dtype}', arguments="bf16=True")
    outcome = converted(script)
    assert len(outcome.lines("RM751", Kind.NOTE)) == 1
    assert any(message.startswith("Where its dtype is None") for message in outcome.messages)


@pytest.mark.parametrize(
    "dtype",
    [
        "{'bf16': torch.bfloat16, 'no': torch.float32}[config['kind']]",
        "config.get('dtype', 'float32')",
        "getattr(torch, config['dtype'])",
        "config['dtype']",
    ],
)
def test_a_dtype_that_is_looked_up_and_not_seen_to_be_none_is_not_told(dtype: str) -> None:
    script = SCRIPT.format(model=f'"facebook/opt-125m", dtype={dtype}', arguments="bf16=True")
    assert not converted(script).lines("RM751", Kind.NOTE)


@pytest.mark.parametrize("name", ["dtype", "torch_dtype"])
def test_with_freeze_numerics_none_becomes_float32(name: str) -> None:
    script = SCRIPT.format(model=f'"facebook/opt-125m", {name}=None', arguments="bf16=True")
    text = converted(script, freeze_numerics=True).text
    assert f"{name}=torch.float32" in text and "None," not in text.partition("args = ")[0].partition("model = ")[2]


@pytest.mark.parametrize("imports", ["", "from ray.air import session\n"])
def test_the_init_function_of_another_file_gets_the_note(tmp_path: Path, imports: str) -> None:
    script = SCRIPT.format(model='"facebook/opt-125m"', arguments="fp16=True")
    legacy = "".join(line for line in script.splitlines(keepends=True) if line.startswith("from ray."))
    init, _, job = script.replace(legacy, "").partition("\n\n\nTransformersTrainer(")
    (tmp_path / "init.py").write_text(imports + init)
    (tmp_path / "job.py").write_text(f"from init import make\n{legacy}\nTransformersTrainer({job}")
    outcome = CliRunner().invoke(main, ["--check", "--verbose", str(tmp_path)])
    assert len([line for line in outcome.stdout.splitlines() if "init.py:" in line and "RM751 note" in line]) == 1


PLAIN = """
import torch
{imports}
from accelerate import Accelerator
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, GPT2Config
accelerator = Accelerator({of_accelerator})
model = {model}
model, loader = accelerator.prepare(model, rows())
for epoch in range(3):
    for batch in loader:
        accelerator.backward(model(batch))
    print(epoch)
accelerator.unwrap_model(model).save_pretrained("out"{of_save})
"""
LOAD = "AutoModelForCausalLM.from_pretrained(name{})"


def plain(model: str, imports: str = "", of_accelerator: str = "", of_save: str = "") -> Outcome:
    script = PLAIN.format(imports=imports, model=model, of_accelerator=of_accelerator, of_save=of_save)
    return converted(script, to_ray=True)


def age(outcome: Outcome) -> list[bool]:
    """Whether each note of a model says that it is so only if the script ran with transformers 4."""
    return ["and the script ran with transformers 4" in m for m in outcome.messages if "since transformers 5" in m]


@pytest.mark.parametrize(
    ("argument", "more"),
    [
        *((f", {argument}", {}) for argument in ("from_tf=False", "from_flax=x", "low_cpu_mem_usage=True")),
        *((f", {argument}", {}) for argument in ("_fast_init=False", "use_auth_token=True", "resume_download=True")),
        ("", {"of_save": ", save_function=accelerator.save"}),
        ("", {"of_accelerator": "fp16=True"}),
        ("", {"imports": "from transformers import AdamW\noptimizer = AdamW"}),
        ("", {"imports": "import transformers\ntransformers.is_torch_tpu_available()"}),
        ("", {"imports": "from transformers.deepspeed import HfDeepSpeedConfig\nHfDeepSpeedConfig({})"}),
    ],
)
def test_a_plain_script_shows_that_it_ran_with_transformers_4(argument: str, more: dict[str, str]) -> None:
    assert age(plain(LOAD.format(argument), **more)) == [False]


GUARDED = """\
try:
    from transformers import AdamW
except ImportError:
    from torch.optim import AdamW
optimizer = AdamW"""


@pytest.mark.parametrize(
    ("argument", "imports"),
    [
        ("", ""),
        (", device_map=None, trust_remote_code=True", ""),
        ("", "from peft import PeftModel\nPeftModel.from_pretrained(base, name, low_cpu_mem_usage=True)"),
        (
            "",
            "import diffusers\nunet = diffusers.UNet2DModel()\nunet.save_pretrained('unet', save_function=torch.save)",
        ),
        ("", "from sentence_transformers import models\nmodels.Transformer.from_pretrained(name, from_tf=True)"),
        ("", GUARDED),
    ],
)
def test_a_plain_script_of_unknown_age_is_told_once(argument: str, imports: str) -> None:
    model = f"({LOAD.format(argument)}, {LOAD.format('')})"
    assert age(plain(model, imports)) == [True]


@pytest.mark.parametrize("argument", [", dtype=torch.bfloat16", ", torch_dtype='auto'", ", **kwargs"])
def test_a_plain_script_that_says_a_dtype_is_not_told(argument: str) -> None:
    assert not age(plain(LOAD.format(argument)))
    assert not age(plain('AutoModelForCausalLM.from_pretrained("gpt2")'))
    outcome = converted(PLAIN.format(imports="", of_accelerator="", of_save="", model=LOAD.format("")))
    assert not age(outcome)  # without --to-ray


@pytest.mark.parametrize(
    ("config", "arguments", "told"),
    [
        ('AutoConfig.from_pretrained("facebook/opt-350m")', "", True),
        ("AutoConfig.from_pretrained(name, vocab_size=9)", "", True),
        ("GPT2Config.from_pretrained(name)", ", trust_remote_code=True", True),
        ("GPT2Config(n_layer=2)", "", False),
        ('AutoConfig.from_pretrained("gpt2")', "", False),
        ('AutoConfig.for_model("gpt2")', "", False),
        ("AutoConfig.from_pretrained(name)", ", torch_dtype=torch.float32", False),
        ("AutoConfig.from_pretrained(name, dtype='float32')", "", False),
        ("AutoTokenizer.from_pretrained(name)", "", False),
    ],
)
def test_weights_of_a_loaded_configuration_are_in_its_dtype(config: str, arguments: str, told: bool) -> None:
    model = f"AutoModelForCausalLM.from_config({config}{arguments})"
    assert age(plain(model)) == [True] * told
    script = SCRIPT.format(model='"gpt2"', arguments="").replace(
        "return", f"config = {config}\n    model = AutoModelForCausalLM.from_config(config{arguments})\n    return"
    )
    script = script.replace("import Auto", "import AutoConfig, AutoTokenizer, GPT2Config, Auto")
    assert len([m for m in converted(script).messages if "configuration holds since" in m]) == told
    made = converted(script, freeze_numerics=True).text.partition(".from_config(")[2]
    assert ("dtype=torch.float32" in made) == (told or "torch_dtype" in arguments)


KEPT = """
class Scorer:
    def __init__(self):
        self.model = AutoModelForCausalLM.from_pretrained(folder){made}

    def __call__(self, rows):
        return {use}


"""
LOADS = {
    "model = AutoModelForCausalLM.from_pretrained(folder)\nprint(model.generate(rows))\n": True,
    "model = AutoModelForCausalLM.from_pretrained(folder).to(0).eval()\nprint(model(**rows))\n": True,
    "print(AutoModelForCausalLM.from_pretrained(folder).generate(rows))\n": True,
    "print(pipeline('text-generation', model=AutoModelForCausalLM.from_pretrained(folder))(rows))\n": True,
    "model = AutoModelForCausalLM.from_pretrained(folder)\nmodel.eval()\npipeline('x', model=model)\n": True,
    "model = AutoModelForCausalLM.from_pretrained(folder)\nmodel.eval()\nmodel.train()\n": False,
    "model = AutoModelForCausalLM.from_pretrained(folder)\nmodel.eval()\noptimizer(model.parameters())\n": False,
    "model = AutoModelForCausalLM.from_pretrained(folder)\nmodel.generate(rows)\nfit(model)\n": False,
    "model = AutoModelForCausalLM.from_pretrained(folder)\nmodel.eval()\nmodel = prepare(model)\n": False,
    "model = AutoModelForCausalLM.from_pretrained(folder)\nprint(model(**rows))\n": False,
    "AutoModelForCausalLM.from_pretrained(folder).save_pretrained('out')\n": True,
    "model = AutoModelForCausalLM.from_pretrained(folder)\nmodel.save_pretrained('out')\n": True,
    "model = AutoModelForCausalLM.from_pretrained(folder)\nprepare(model)\nmodel.save_pretrained('out')\n": False,
    "model = best.get_model(AutoModelForCausalLM.from_pretrained(folder))\nmodel.eval()\n": True,
    "model = best.get_model(AutoModelForCausalLM.from_pretrained(folder))\nmodel.train()\n": False,
    KEPT.format(made=".cuda().eval()", use="self.model(**rows).logits"): True,
    KEPT.format(made="", use="self.model.generate(rows)"): True,
    KEPT.format(made="", use="self.model(**rows).logits"): False,
    KEPT.format(made=".eval()", use="prepare(self.model)"): False,
    KEPT.format(made=".eval()", use="0") + "prepare(Scorer().model)\n": False,
}


@pytest.mark.parametrize(("load", "is_asked"), LOADS.items())
def test_fp16_says_nothing_of_a_model_that_is_asked_alone(load: str, is_asked: bool) -> None:
    script = SCRIPT.format(model='"gpt2"', arguments="fp16=True").replace("import Auto", "import pipeline, Auto")
    notes = [
        message
        for message in converted(f"{script}\n{load}").messages
        if ("from_pretrained" in message or "dtype" in message) and "get_model()" not in message
    ]
    assert len(notes) == 1
    assert ("fp16 needs" in notes[0]) is not is_asked


TRAINED = SCRIPT.replace("TransformersTrainer(make,", "trainer = TransformersTrainer(make,").replace(
    ").fit()\n", ")\nresult = trainer.fit()\n{load}"
)
OWN = [
    "with result.checkpoint.as_directory() as folder:\n    AutoModelForCausalLM.from_pretrained(folder)\n",
    "AutoModelForCausalLM.from_pretrained(result.checkpoint.path)\n",
    "best, _ = result.best_checkpoints[0]\nfolder = best.to_directory()\n"
    "AutoModelForCausalLM.from_pretrained(folder)\n",
    "import os\nwith result.checkpoint.as_directory() as folder:\n"
    "    files = os.path.join(folder, 'model')\n    AutoModelForCausalLM.from_pretrained(files)\n",
]


@pytest.mark.parametrize("load", OWN)
def test_what_a_run_of_the_script_trained_in_float32_comes_in_float32(load: str) -> None:
    def notes(model: str) -> int:
        outcome = converted(TRAINED.format(model=model, arguments="bf16=True", load=load))
        return len(outcome.lines("RM751", Kind.NOTE))

    assert notes('"gpt2"') == 0
    assert notes('"facebook/opt-125m"') == 2  # trained in that of its weights
    assert notes('"gpt2", dtype=torch.bfloat16') == 1


@pytest.mark.parametrize(
    "load",
    [
        "AutoModelForCausalLM.from_pretrained(folder)\n",
        "AutoModelForCausalLM.from_pretrained(settings.path)\n",
        "with earlier.checkpoint.as_directory() as folder:\n    AutoModelForCausalLM.from_pretrained(folder)\n",
    ],
)
def test_what_another_run_saved_is_of_unknown_precision(load: str) -> None:
    outcome = converted(TRAINED.format(model='"gpt2"', arguments="bf16=True", load=load))
    assert len(outcome.lines("RM751", Kind.NOTE)) == 1


@pytest.mark.parametrize("load", OWN)
def test_a_converted_script_is_told_nothing_new(load: str) -> None:
    text = converted(TRAINED.format(model='"gpt2"', arguments="bf16=True", load=load)).text
    again = converted(f"from ray.air import session\n{text}\nsession.report({{}})\n")
    assert not again.lines("RM751", Kind.NOTE)
