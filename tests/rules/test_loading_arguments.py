"""RM701: arguments of `from_pretrained` that are gone, by keyword and in a dict that is unpacked."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
from dataclasses import asdict, dataclass
from typing import Optional

import ray.air
import transformers
from pydantic import BaseModel
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

{code}

ray.air.session.report({{}})
"""
LOAD = "AutoModelForCausalLM.from_pretrained('gpt2', **{given})"
SETTINGS = "class Settings(BaseModel):\n    use_auth_token: Optional[str] = None\n\n"
READ = ":\n    @classmethod\n    def read(cls):\n        return cls(**options())\n"


@pytest.mark.parametrize(
    "code",
    [
        "config = {'use_auth_token': None}\n" + LOAD.format(given="config"),
        "config = {}\nif token:\n    config.update({'use_auth_token': token})\n" + LOAD.format(given="config"),
        "config = dict(use_auth_token=None)\ntransformers." + LOAD.format(given="config"),
        "def config():\n    return {'use_auth_token': None}\n" + LOAD.format(given="config()"),
        "def load(name, **more):\n    return " + LOAD.format(given="more") + "\nload('a', use_auth_token=True)",
        "def load(cls, more):\n    return cls.from_pretrained('a', **more)\n"
        "load(AutoModelForCausalLM, {'use_auth_token': 1})",
        "config = {'use_auth_token': None}\nfor cls in (AutoTokenizer, AutoModelForCausalLM):\n"
        "    cls.from_pretrained('a', **config)",
        "config = {'use_auth_token': None}\nAutoTokenizer.from_pretrained('a', **config)\n"
        + LOAD.format(given="config"),
        SETTINGS + LOAD.format(given="Settings().model_dump()"),
        SETTINGS + "def load(settings: Settings):\n    return " + LOAD.format(given="settings.dict(exclude_none=True)"),
        SETTINGS + "class Job(BaseModel):\n    model: Settings | None = None\n\n"
        "def load(job: Job):\n    model = job.model\n    return " + LOAD.format(given="model.dict()"),
        "@dataclass\n" + SETTINGS.replace("(BaseModel)", "") + LOAD.format(given="asdict(Settings())"),
        "@dataclass\n" + SETTINGS.replace("(BaseModel):\n", READ) + LOAD.format(given="asdict(Settings.read())"),
        "def token(config):\n    return config['model'].get('use_auth_token')\n\n"
        "def load(config):\n    model = config['model']\n    return " + LOAD.format(given="model"),
    ],
)
def test_a_key_that_a_models_constructor_refuses_is_told_where_it_is_written(code: str) -> None:
    script = SCRIPT.format(code=code)
    outcome = converted(script)
    (line,) = outcome.lines("RM701", Kind.MANUAL)
    assert "use_auth_token" in script.lstrip("\n").split("\n")[line - 1]
    (message,) = (
        text for text in outcome.messages if text.startswith("use_auth_token= raises a TypeError today where")
    )
    assert "from_pretrained(**" in message
    assert code in outcome.text


@pytest.mark.parametrize(
    "code",
    [
        LOAD.format(given="config"),
        "def load(config):\n    token = config.pop('use_auth_token', None)\n    return " + LOAD.format(given="config"),
        "def load(config):\n    print('use_auth_token', config.use_auth_token)\n    return "
        + LOAD.format(given="config"),
        "class Own:\n    pass\n\nconfig = {'use_auth_token': None}\nOwn.from_pretrained('a', **config)",
        "config = {'use_auth_token': None}\n" + LOAD.format(given="other"),
        "config = {'token': None}\nOWN = {'use_auth_token': 1}\n" + LOAD.format(given="config"),
    ],
)
def test_what_a_dict_is_not_seen_to_hold_is_no_news(code: str) -> None:
    told = "other" in code  # nothing is known of that dict, and the file names the key
    assert bool(converted(SCRIPT.format(code=code)).lines("RM701", Kind.MANUAL)) is told


@pytest.mark.parametrize("name", ["AutoTokenizer", "AutoConfig"])
def test_what_takes_everything_ignores_it(name: str) -> None:
    code = f"{name}.from_pretrained('a', use_auth_token=1)\n{name}.from_pretrained('a', **{{'use_auth_token': 1}})"
    outcome = converted(SCRIPT.format(code=code))
    assert [text.partition(" today")[0] for text in outcome.messages if "use_auth" in text] == [
        "use_auth_token= has no effect"
    ] * 2
    assert f"{name}.from_pretrained('a', token=1)" in outcome.text


def test_a_model_is_not_loaded_in_bits_by_a_key() -> None:
    (message,) = converted(SCRIPT.format(code=LOAD.format(given="{'load_in_8bit': True}"))).messages[:1]
    assert message.startswith(
        "load_in_8bit= raises a TypeError today where AutoModelForCausalLM.from_pretrained(**...)"
    )
    assert "quantization_config= took its place" in message


PIPE = "transformers.pipeline('text-generation', model='gpt2', model_kwargs={given})"


@pytest.mark.parametrize(
    "code",
    [
        PIPE.format(given="{'use_auth_token': True}"),
        PIPE.format(given="dict(load_in_8bit=True)"),
        "given = {'load_in_4bit': True, 'device_map': 'auto'}\n" + PIPE.format(given="given"),
        "given = {}\ngiven['use_flash_attention_2'] = True\n" + PIPE.format(given="given"),
        "def load(**more):\n    return " + PIPE.format(given="more") + "\n\nload(use_auth_token='a')",
    ],
)
def test_a_key_that_a_pipeline_hands_to_its_model_is_told(code: str) -> None:
    outcome = converted(SCRIPT.format(code=code))
    told = [code for code in ("RM701", "RM702") if outcome.lines(code, Kind.MANUAL)]
    assert len(told) == 1
    assert any("model_kwargs" in message for message in outcome.messages)


@pytest.mark.parametrize(
    "code",
    [
        PIPE.format(given="{'device_map': 'auto', 'torch_dtype': 'auto', 'token': True}"),
        PIPE.format(given="None"),
        "def pipeline(**more):\n    return more\n\npipeline(model_kwargs={'use_auth_token': True})",
    ],
)
def test_keys_of_today_and_other_pipelines_stay(code: str) -> None:
    outcome = converted(SCRIPT.format(code=code))
    assert not outcome.lines("RM701", Kind.MANUAL) + outcome.lines("RM702", Kind.MANUAL)
