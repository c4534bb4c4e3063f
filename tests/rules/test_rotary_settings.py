"""RM767: rope_scaling and rope_theta of the config of a model."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

LEGACY = "import transformers\nfrom ray.air import session\nfrom transformers import *\n".replace("*", "LlamaConfig")
CONFIG = 'c = transformers.AutoConfig.from_pretrained("m")\n'
MODEL = 'model = transformers.AutoModelForCausalLM.from_pretrained("m")\n'
LINEAR = '{"type": "linear", "factor": 2.0}'


@pytest.mark.parametrize(
    ("use", "now"),
    [
        (f"c.rope_scaling = {LINEAR}", 'c.rope_scaling = {**c.rope_parameters, "rope_type": "linear", "factor": 2.0}'),
        (
            'c.rope_scaling = {"rope_type": "linear", "factor": n}',
            'c.rope_scaling = {**c.rope_parameters, "rope_type": "linear", "factor": n}',
        ),
        ("c.rope_scaling = None", 'c.rope_scaling = {**c.rope_parameters, "rope_type": "default"}'),
        ("c.rope_theta = 1e6", 'c.rope_parameters["rope_theta"] = 1e6'),
        ("print(c.rope_theta)", 'print(c.rope_parameters["rope_theta"])'),
        ("d = c\nd.rope_theta = 1e6", 'd.rope_parameters["rope_theta"] = 1e6'),
    ],
)
def test_the_rest_of_rope_parameters_is_kept(use: str, now: str) -> None:
    outcome = converted(LEGACY + CONFIG + use)
    assert now in outcome.text
    assert len(outcome.lines("RM767", Kind.CONVERTED)) == 1


@pytest.mark.parametrize(
    "use",
    [
        MODEL + f"model.config.rope_scaling = {LINEAR}",
        "c = LlamaConfig()\nc.rope_theta = 4.0",
        'c = LlamaConfig.from_pretrained("m")\nprint(c.rope_theta)',
    ],
)
def test_configs_of_models_and_classes_are_converted_too(use: str) -> None:
    assert len(converted(LEGACY + use).lines("RM767", Kind.CONVERTED)) == 1


@pytest.mark.parametrize(
    "use",
    [
        CONFIG + "c.rope_scaling = args.rope_scaling",
        CONFIG + 'c.rope_scaling = dict(type="linear", factor=2.0)',
        CONFIG + 'c.rope_scaling = {"factor": 2.0}',
        CONFIG + 'c.rope_scaling = {kind: "linear", "factor": 2.0}',
        CONFIG + f'setattr(c, "rope_scaling", {LINEAR})',
        CONFIG + f'c.update({{"rope_scaling": {LINEAR}}})',
        CONFIG + 'c.update({"rope_theta": 4})',
        CONFIG + 'print(getattr(c, "rope_theta", 10000.0))',
        CONFIG + 'print(hasattr(c, "rope_theta"))',
        CONFIG.replace('"m")', f'"m", rope_scaling={LINEAR})'),
        CONFIG.replace('"m")', '"m", rope_theta=4.0)'),
        MODEL.replace('"m")', f'"m", rope_scaling={LINEAR})'),
        f'k = {{"rope_scaling": {LINEAR}}}\n' + MODEL.replace('"m")', '"m", **k)'),
        MODEL.replace('"m")', '"m", rope_theta=4.0)'),
    ],
)
def test_what_is_not_one_plain_assignment_is_told(use: str) -> None:
    outcome = converted(LEGACY + use)
    assert len(outcome.lines("RM767", Kind.MANUAL)) == 1
    assert not outcome.lines("RM767", Kind.CONVERTED)


@pytest.mark.parametrize(
    "use",
    [
        f"def f(config):\n    config.rope_scaling = {LINEAR}",
        "class A:\n    def f(self):\n        return self.config.rope_theta",
        "class Layer:\n    def __init__(self, config):\n        self.rope_theta = config.rope_theta",
        "class Layer:\n    def __init__(self, config):\n        self.rope_theta = config.rope_theta\n\n\n"
        "class MyConfig:\n    size = 1",
        CONFIG.replace('"m")', '"m", trust_remote_code=True)') + f"c.rope_scaling = {LINEAR}",
    ],
)
def test_a_config_that_may_be_another_is_told_with_that_condition(use: str) -> None:
    outcome = converted(LEGACY + use)
    assert len(outcome.lines("RM767", Kind.MANUAL)) == 1
    assert any(message.startswith("If ") and "of transformers: rope_" in message for message in outcome.messages)


@pytest.mark.parametrize(
    ("use", "advice"),
    [
        ("def f(config):\n    config.rope_theta = 4.0", 'Set rope_parameters["rope_theta"] of it.'),
        ("def f(config):\n    return config.rope_theta", 'Read rope_parameters["rope_theta"] of it.'),
        (CONFIG.replace('"m")', '"m", rope_scaling=None)'), "Leave it out."),
    ],
)
def test_what_is_to_do_is_said(use: str, advice: str) -> None:
    [message] = [one for one in converted(LEGACY + use).messages if "rope_" in one]
    assert message.endswith(f" {advice}")


@pytest.mark.parametrize(
    "use",
    [
        "c = LlamaConfig(rope_theta=4.0, rope_scaling=None)",
        CONFIG + 'c.rope_scaling = {"rope_type": "linear", "factor": 2.0, "rope_theta": 1.0}',
        CONFIG + 'c.rope_scaling = {**c.rope_scaling, "factor": 2.0}',
        CONFIG + "print(c.rope_scaling)",
        CONFIG + "try:\n    print(c.rope_theta)\nexcept AttributeError:\n    pass",
        "def f(args):\n    args.rope_scaling = None\n    return args.rope_theta",
        "class C:\n    rope_theta = 4.0\n\n\ndef f(config: C):\n    return config.rope_theta",
        "class MyConfig:\n    def __init__(self):\n        self.rope_theta = 4.0\n\n\n"
        "def f(config):\n    return config.rope_theta",
        "config = dict(a=1)\nconfig.rope_theta = 4",
    ],
)
def test_what_holds_rope_theta_or_is_no_config_of_transformers_stays(use: str) -> None:
    assert "RM767" not in [code for code, _, _ in converted(LEGACY + use).findings]


@pytest.mark.parametrize(
    "value",
    [
        "c.rope_parameters",
        "c.rope_scaling",
        "dict(c.rope_parameters, factor=2.0)",
        "copy.deepcopy(c.rope_scaling)",
        "c.rope_scaling.copy()",
        'c.rope_parameters | {"factor": 2.0}',
        "{**dict(c.rope_parameters)}",
        "c.rope_parameters if args else c.rope_scaling",
    ],
)
def test_a_copy_of_what_a_config_had_keeps_rope_theta(value: str) -> None:
    """Directly, and where it has a name and is filled."""
    for use in (f"c.rope_scaling = {value}", f'new = {value}\nnew["factor"] = 4.0\nc.rope_scaling = new'):
        assert "RM767" not in [code for code, _, _ in converted(f"import copy\n{LEGACY}{CONFIG}{use}").findings]
