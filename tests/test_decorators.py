"""Edits in decorators: LibCST starts a definition behind them."""

import pytest

from tests.rules.scripts import converted

CONFIG = "ScalingConfig(num_workers=2, trainer_resources=None)"
DEFINITIONS = [
    "@given({0})\ndef f(): pass\n",
    "@given({0})\nclass A: pass\n",
    "@first\n@given(x, [{0}])\n@last\ndef f(x={0}):\n    return {0}\n",
    "@given(\n    {0},\n)\nasync def f(): pass\n",
    "class A:\n    @given({0})\n    def f(self): pass\n\n    @property\n    def g(self): return {0}\n",
    "def f():\n    @given(lambda: {0})\n    def g(): pass\n    return g\n",
]


@pytest.mark.parametrize("definition", DEFINITIONS)
def test_what_stands_in_a_decorator_is_edited(definition: str) -> None:
    outcome = converted(f"from ray.air import ScalingConfig\n\n\n{definition.format(CONFIG)}")
    assert outcome.text == "from ray.train import ScalingConfig\n\n\n" + definition.format(
        "ScalingConfig(num_workers=2)"
    )


def test_versions_in_a_decorator_are_raised() -> None:
    script = (
        "import ray\nfrom ray.air import session\n\n\n@ray.remote(runtime_env={'pip': ['transformers==4.26.0']})\n"
        "def f():\n    return session.get_world_rank()\n"
    )
    assert "'transformers>=5.0'" in converted(script, unsafe=True).text
