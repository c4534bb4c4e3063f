"""RM711: names that are found elsewhere today."""

from textwrap import dedent

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted


@pytest.mark.parametrize(
    "script",
    [
        "from transformers.deepspeed import is_deepspeed_zero3_enabled\nprint(is_deepspeed_zero3_enabled(), ray)\n",
        "from transformers.deepspeed import HfDeepSpeedConfig as C, deepspeed_init as init\nprint(C, init)",
        "import transformers.deepspeed\nprint(transformers.deepspeed.is_deepspeed_zero3_enabled())\n",
        "from transformers import deepspeed as ds\nprint(ds.is_deepspeed_available())\n",
    ],
)
def test_the_names_of_transformers_deepspeed_are_in_its_integrations(script: str) -> None:
    outcome = converted(f"import ray\n{script}")
    assert "transformers.integrations import" in outcome.text or "transformers.integrations." in outcome.text
    assert not outcome.lines("RM692", Kind.MANUAL)


@pytest.mark.parametrize(
    ("script", "gone"),
    [
        ("import ray.air.checkpoint\nprint(ray.air.checkpoint.Checkpoint('/a'))\n", "import ray.air.checkpoint\n"),
        ("import ray, transformers.deepspeed\nprint(transformers.deepspeed.deepspeed_config())\n", "deepspeed\n"),
    ],
)
def test_an_import_of_a_module_goes_with_the_last_use_of_its_names(script: str, gone: str) -> None:
    outcome = converted(script)
    assert gone not in outcome.text and not outcome.lines("RM692", Kind.MANUAL)


OLD = "from transformers.utils.hub import TRANSFORMERS_CACHE"
NEW = "from huggingface_hub.constants import HF_HUB_CACHE"


@pytest.mark.parametrize(
    ("script", "after"),
    [
        (f"{OLD}\nprint(TRANSFORMERS_CACHE)", f"{NEW}\nprint(HF_HUB_CACHE)"),
        ("from transformers import PYTORCH_TRANSFORMERS_CACHE as c\nprint(c)", f"{NEW} as c\nprint(c)"),
        (
            "from transformers import file_utils\nprint(file_utils.TRANSFORMERS_CACHE)",
            "print(huggingface_hub.constants.",
        ),
        (
            "import transformers\nprint(transformers.TRANSFORMERS_CACHE)",
            "print(huggingface_hub.constants.HF_HUB_CACHE)",
        ),
        (f"def f():\n    {OLD}\n    return TRANSFORMERS_CACHE", f"    {NEW}\n\n    return HF_HUB_CACHE"),
        (f"{NEW}\n{OLD}\nprint(TRANSFORMERS_CACHE)", "print(HF_HUB_CACHE)"),
        (f"{OLD}\nHF_HUB_CACHE = 1\nprint(TRANSFORMERS_CACHE)", f"{NEW} as TRANSFORMERS_CACHE\n"),
        (f"{OLD}\ndef f(HF_HUB_CACHE):\n    print(TRANSFORMERS_CACHE)", f"{NEW} as TRANSFORMERS_CACHE\n"),
        (f'{OLD}\n__all__ = ["TRANSFORMERS_CACHE"]', f"{NEW} as TRANSFORMERS_CACHE\n"),
    ],
)
def test_the_folder_of_models_is_a_constant_of_the_hub(script: str, after: str) -> None:
    outcome = converted(f"import ray\n\n{script}\n")
    assert after in outcome.text
    assert not outcome.lines("RM692", Kind.MANUAL)


@pytest.mark.parametrize(
    "script",
    [
        'import transformers.utils.hub as hub\nhub.TRANSFORMERS_CACHE = "/a"\nprint(hub.TRANSFORMERS_CACHE)',  # is set
        "import transformers\nhuggingface_hub = 1\nprint(transformers.TRANSFORMERS_CACHE)",
    ],
)
def test_a_folder_that_cannot_be_moved_is_told(script: str) -> None:
    outcome = converted(f"import ray\n{script}\n")
    assert script in outcome.text
    assert outcome.lines("RM692", Kind.MANUAL) or outcome.lines("RM711", Kind.MANUAL)


@pytest.mark.parametrize(
    "script",
    [
        "from settings import TRANSFORMERS_CACHE\nprint(TRANSFORMERS_CACHE)",
        'TRANSFORMERS_CACHE = "/a"\nprint(TRANSFORMERS_CACHE)',
        f"try:\n    {OLD}\nexcept ImportError:\n    {NEW} as TRANSFORMERS_CACHE\nprint(TRANSFORMERS_CACHE)",
    ],
)
def test_a_folder_of_others_stays(script: str) -> None:
    outcome = converted(f"import ray\n{script}\n")
    assert script in outcome.text and not outcome.findings


def test_a_name_that_two_functions_import_moves_in_both() -> None:
    function = """
        def {name}(path):
            from transformers import SegformerFeatureExtractor

            return SegformerFeatureExtractor.from_pretrained(path)
    """
    outcome = converted("import ray\n" + "".join(dedent(function).format(name=name) for name in ("first", "second")))
    assert outcome.text.count("from transformers import SegformerImageProcessor") == 2
    assert outcome.text.count("SegformerImageProcessor.from_pretrained(path)") == 2


INT8, KBIT = "prepare_model_for_int8_training", "prepare_model_for_kbit_training"


@pytest.mark.parametrize(
    ("script", "after"),
    [
        (
            f"from peft import get_peft_model, {INT8}\nprint(get_peft_model({INT8}(model), settings))",
            f"from peft import get_peft_model, {KBIT}\nprint(get_peft_model({KBIT}(model), settings))",
        ),
        (f"from peft import {INT8} as prepared\nprepared(model)", f"from peft import {KBIT} as prepared\n"),
        (f"import peft\npeft.{INT8}(model, use_gradient_checkpointing=True)", f"peft.{KBIT}(model, use_gr"),
        (f"import peft as p\nprepared = p.{INT8}\nprepared(model)", f"prepared = peft.{KBIT}\n"),
        (f"def f(model):\n    from peft import {INT8}\n    return {INT8}(model)", f"    return {KBIT}(model)"),
        (f"def f(model):\n    from peft import {INT8}; return {INT8}(model)", f"return {KBIT}(model)"),
    ],
)
def test_what_prepares_a_model_in_eight_bits_is_called_by_its_new_name(script: str, after: str) -> None:
    outcome = converted(f"import ray\n\n{script}\nray.init()\n")
    assert after in outcome.text and INT8 not in outcome.text
    assert outcome.lines("RM711", Kind.CONVERTED) and not outcome.lines("RM692", Kind.MANUAL)


@pytest.mark.parametrize("module", ["peft.utils", "peft.utils.other"])
def test_elsewhere_in_peft_it_is_told(module: str) -> None:
    assert converted(f"import ray\nfrom {module} import {INT8}\n{INT8}(ray)\n").lines("RM692", Kind.MANUAL) == [2]


MOVED_ARGUMENTS = """
import ray
import peft
from peft import prepare_model_for_int8_training
from transformers import ViTFeatureExtractor
from transformers.deepspeed import HfDeepSpeedConfig, deepspeed_init

ray.init()
{call}
"""


@pytest.mark.parametrize(
    ("call", "refused"),
    [
        (
            'prepare_model_for_int8_training(model, output_embedding_layer_name="lm_head")',
            "output_embedding_layer_name",
        ),
        ('peft.prepare_model_for_int8_training(model=model, layer_norm_names=["ln"])', "layer_norm_names"),
        (
            "prepare = prepare_model_for_int8_training\nprepare_model_for_int8_training(1, layer_norm_names=[])",
            "layer_norm",
        ),
        ('deepspeed_init(trainer, num_training_steps=3, resume_from_checkpoint="x")', "resume_from_checkpoint"),
    ],
)
def test_what_a_function_refuses_under_its_name_of_today_is_told(call: str, refused: str) -> None:
    outcome = converted(MOVED_ARGUMENTS.format(call=call))
    assert outcome.lines("RM711", Kind.CONVERTED) and outcome.lines("RM693", Kind.MANUAL)
    assert any(refused in message and "is refused today" in message for message in outcome.messages)


@pytest.mark.parametrize(
    "call",
    [
        "prepare_model_for_int8_training(model, use_gradient_checkpointing=False)",
        'ViTFeatureExtractor.from_pretrained("x", do_resize=True, own=1)',
        "HfDeepSpeedConfig(config_file_or_dict={})",
        "deepspeed_init(trainer, num_training_steps=3, inference=True)",
    ],
)
def test_what_a_function_takes_under_its_name_of_today_is_not_told(call: str) -> None:
    assert not converted(MOVED_ARGUMENTS.format(call=call)).lines("RM693", Kind.MANUAL)


@pytest.mark.parametrize(
    ("script", "now"),
    [
        (
            "from accelerate.memory_utils import find_executable_batch_size\nprint(find_executable_batch_size, ray)",
            "from accelerate.utils import find_executable_batch_size",
        ),
        (
            "from accelerate.deepspeed_utils import DummyOptim as DO\nprint(DO)",
            "accelerate.utils import DummyOptim as DO",
        ),
        (
            "import accelerate.memory_utils as mu\nprint(mu.find_executable_batch_size)",
            "accelerate.utils.find_executable_batch_size",
        ),
    ],
)
def test_names_of_accelerate_are_in_its_utils(script: str, now: str) -> None:
    outcome = converted(f"import ray\n{script}\n")
    assert now in outcome.text and "memory_utils" not in outcome.text and "deepspeed_utils" not in outcome.text
    assert outcome.lines("RM711", Kind.CONVERTED) and not outcome.lines("RM692", Kind.MANUAL)


@pytest.mark.parametrize("name", ["accelerate.memory_utils.never_there", "accelerate.utils.never_there"])
def test_a_name_that_accelerate_has_nowhere_is_told(name: str) -> None:
    home, _, last = name.rpartition(".")
    assert converted(f"import ray\nfrom {home} import {last}\nprint({last})\n").lines("RM692", Kind.MANUAL)


@pytest.mark.parametrize(
    "script",
    [
        "from accelerate.utils import is_tpu_available\nprint(is_tpu_available())\n",
        "from accelerate.utils import is_tpu_available\nprint(is_tpu_available(False))\n",
        "from accelerate.utils.imports import is_tpu_available as t\nprint(t(check_device=False))\n",
        "import accelerate.utils.imports\nprint(accelerate.utils.imports.is_tpu_available())\n",
        "from accelerate import utils\nprint(utils.is_tpu_available())\n",
    ],
)
def test_a_function_that_asked_something_else_is_told(script: str) -> None:
    outcome = converted(f"import ray\n{script}")
    assert outcome.text.endswith(script) and outcome.lines("RM692", Kind.MANUAL)
    assert any("is_torch_xla_available(check_is_tpu=True)" in message for message in outcome.messages)


@pytest.mark.parametrize(("given", "told"), [("", 0), ("False", 1), ("check_device=True", 1), ("**options", 1)])
def test_the_argument_of_is_torch_tpu_available_is_told(given: str, told: int) -> None:
    outcome = converted(f"import ray\nfrom transformers import is_torch_tpu_available as t\nprint(t({given}))\n")
    assert "import is_torch_xla_available as t" in outcome.text
    assert len(outcome.lines("RM711", Kind.MANUAL)) == told


def test_what_a_trainer_of_transformers_3_took_is_told_with_its_place_of_today() -> None:
    made = "trainer = Trainer(model, prediction_loss_only=True)\ntrainer.train(model_path='a')\n"
    messages = converted(f"import ray\nfrom transformers import Trainer\n\nray.init()\n{made}").messages
    assert any("prediction_loss_only= raises" in m and "Give it to TrainingArguments(prediction" in m for m in messages)
    assert any("train(model_path=) is" in m and "resume_from_checkpoint= took its place" in m for m in messages)


@pytest.mark.parametrize(
    ("script", "after"),
    [
        (
            "from transformers.utils import check_min_version, is_offline_mode\ncheck_min_version('4.0')\n"
            "print(is_offline_mode())",
            "from huggingface_hub import is_offline_mode\n",
        ),
        ("from transformers.file_utils import is_offline_mode as off\nprint(off())", "import is_offline_mode as off\n"),
        (
            "import transformers\nprint(transformers.utils.is_offline_mode())",
            "print(huggingface_hub.is_offline_mode())",
        ),
        ("from transformers import is_offline_mode\nprint(is_offline_mode())", "from huggingface_hub import is_off"),
    ],
)
def test_is_offline_mode_is_that_of_huggingface_hub(script: str, after: str) -> None:
    outcome = converted(f"import ray\n{script}\n")
    assert after in outcome.text
    assert outcome.lines("RM711", Kind.CONVERTED) and not outcome.lines("RM692", Kind.MANUAL)


@pytest.mark.parametrize(
    "script",
    [
        "from transformers.utils.hub import is_offline_mode\nprint(is_offline_mode())",  # it is there still
        "from helpers import is_offline_mode\nprint(is_offline_mode())",
        "def is_offline_mode():\n    return False\n\n\nprint(is_offline_mode())",
    ],
)
def test_other_names_is_offline_mode_stay(script: str) -> None:
    outcome = converted(f"import ray\n{script}\n")
    assert "huggingface_hub" not in outcome.text and not outcome.lines("RM711", Kind.CONVERTED)
