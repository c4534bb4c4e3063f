"""RM773: use_fast=False, which transformers 5 ignores."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

LEGACY = "from ray.air import session"
SCRIPT = """
{imports}
from transformers import AutoImageProcessor, AutoTokenizer, LlamaTokenizer

SLOW = False


def load(config, slow=True):
    {body}
"""


def noted(body: str, imports: str = LEGACY) -> int:
    return len(converted(SCRIPT.format(body=body, imports=imports)).lines("RM773", Kind.NOTE))


@pytest.mark.parametrize(
    "body",
    [
        'return AutoTokenizer.from_pretrained("a/b", use_fast=False)',
        'return AutoTokenizer.from_pretrained(config["model"], padding_side="left", use_fast=SLOW)',
        "fast = False\n    return AutoTokenizer.from_pretrained(config, use_fast=fast)",
        'more = {"use_fast": False}\n    return AutoTokenizer.from_pretrained("a/b", **more)',
        'return AutoTokenizer.from_pretrained("a/b", **dict(use_fast=False))',
        'return AutoTokenizer.from_pretrained("a/b", use_fast=not slow)',
        'slow = True\n    return AutoTokenizer.from_pretrained("a/b", use_fast=not slow)',
        'load = AutoTokenizer.from_pretrained\n    return load("a/b", use_fast=False)',
        "from functools import partial\n    return partial(AutoTokenizer.from_pretrained, use_fast=False)",
        'classes = {"t": AutoTokenizer}\n    return classes[config].from_pretrained("a/b", use_fast=False)',
        "import transformers as t\n    return t.AutoTokenizer.from_pretrained('a/b', use_fast=False)",
        "import transformers as t\n    return getattr(t, 'AutoTokenizer').from_pretrained('a/b', use_fast=False)",
        # turned in a loop
        "fast = True\n    for x in y:\n      fast = not fast\n      AutoTokenizer.from_pretrained(x, use_fast=fast)",
    ],
)
def test_a_slow_tokenizer_is_asked_for_in_vain(body: str) -> None:
    assert noted(body) == 1


@pytest.mark.parametrize(
    "body",
    [
        'return AutoTokenizer.from_pretrained("a/b", use_fast=True)',
        'return AutoTokenizer.from_pretrained("a/b")',
        'return AutoTokenizer.from_pretrained("a/b", use_fast=config["fast"])',
        'return AutoTokenizer.from_pretrained("a/b", use_fast=not config["slow"])',
        'slow = False\n    return AutoTokenizer.from_pretrained("a/b", use_fast=not slow)',
        'load = LlamaTokenizer.from_pretrained\n    return load("a/b", use_fast=False)',
        'return AutoImageProcessor.from_pretrained("a/b", use_fast=False)',
        'return LlamaTokenizer.from_pretrained("a/b", use_fast=False)',
        "slow = config\n    while slow:\n      slow = not slow\n      AutoTokenizer.from_pretrained(x, use_fast=slow)",
        'return config.AutoTokenizer.from_pretrained("a/b", use_fast=False)',
    ],
)
def test_what_asks_for_none_is_not_told(body: str) -> None:
    assert noted(body) == 0


def test_only_scripts_for_transformers_4_are_told() -> None:
    assert noted('return AutoTokenizer.from_pretrained("a/b", use_fast=False)', imports="") == 0


def test_a_setting_of_two_tokenizers_is_told_once() -> None:
    body = (
        "more = {'use_fast': False}\n"
        "    return AutoTokenizer.from_pretrained(config, **more), AutoTokenizer.from_pretrained('a', **more)"
    )
    assert noted(body) == 1
