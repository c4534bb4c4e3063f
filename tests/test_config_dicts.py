"""A dict in place of a configuration becomes one, wherever the dict is written."""

import pytest

from raymigrate.base.findings import Kind
from raymigrate.run.engine import convert

SCRIPT = """
from ray.train.torch import TorchTrainer
from ray.air import session
{head}
def train(loop, anything=None):
    TorchTrainer(loop, {keyword}={value}).fit()
"""


@pytest.mark.parametrize(
    ("head", "value", "after"),
    [
        ("", "{'num_workers': 2}", "ScalingConfig(num_workers=2)"),
        ("", "dict(num_workers=2, use_gpu=True)", "ScalingConfig(num_workers=2, use_gpu=True)"),
        ("", "{'num_workers': 2, **{'use_gpu': True}}", "ScalingConfig(num_workers=2, use_gpu=True)"),
        ("d = {'num_workers': 2}", "d", "ScalingConfig(**d)"),
        ("d = {}\nd['num_workers'] = 2", "d", "ScalingConfig(**d)"),
        ("def d():\n    return {'num_workers': 2}", "d()", "ScalingConfig(**d())"),
        ("class C:\n    d = {'num_workers': 2}", "C.d", "ScalingConfig(**C.d)"),
        ("a = {'num_workers': 2}\nb = {'num_workers': 4}", "a if big else b", "ScalingConfig(**(a if big else b))"),
        ("", "anything", "anything"),
        ("d = make()", "d", "d"),
        ("class ScalingConfig: ...", "{'num_workers': 2}", "ray.train.ScalingConfig(num_workers=2)"),
    ],
)
def test_a_dict_becomes_a_scaling_config(head: str, value: str, after: str) -> None:
    text = SCRIPT.format(head=head, keyword="scaling_config", value=value)
    assert f"scaling_config={after})" in (convert(text).after or text)


@pytest.mark.parametrize("value", ["{'name': 'a', 'local_dir': 'b'}", "dict(stop=stopper)", "{'name of it': 1}"])
def test_a_dict_with_keys_that_run_config_has_not_is_left_to_a_person(value: str) -> None:
    text = SCRIPT.format(head="", keyword="run_config", value=value)
    result = convert(text)
    assert f"run_config={value})" in (result.after or text)
    told = [f.code for f in result.findings if f.kind is Kind.MANUAL]
    assert told == ["RM422", *(["RM406"] if "'name'" in value else [])]  # what a run of the same name does
