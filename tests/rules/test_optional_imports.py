"""Names that are imported in a `try`, with a stub in case that fails: they stand for what current libraries have."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

REPORT = """

def loop(config):
    tune.report(loss=1.0)
    with tune.checkpoint_dir(step=1) as folder:
        print(folder)
"""
WAYS = {
    "none": "try:\n    from ray import tune\nexcept ImportError:\n    tune = None\n",
    "several": "try:\n    import ray\n    from ray import tune\nexcept (ImportError, A):\n    ray = tune = None\n",
    "tuple": "try:\n    from ray import tune\nexcept Exception:\n    tune, session = None, None\n",
    "annotated": "try:\n    from ray import tune\nexcept ModuleNotFoundError:\n    tune: object = None\n",
    "class": "try:\n    from ray import tune\nexcept ImportError:\n    class tune:\n        pass\n",
    "other class": "class Missing: ...\ntry:\n    from ray import tune\nexcept ImportError:\n    tune = Missing\n",
    "before": "tune = None\ntry:\n    from ray import tune\nexcept ImportError:\n    pass\n",
    "suppress": "import contextlib\ntune = None\nwith contextlib.suppress(ImportError):\n    from ray import tune\n",
    "else": "try:\n    import ray\nexcept ImportError:\n    ray = tune = None\nelse:\n    from ray import tune\n",
    "condition": "from own import has_ray\nif has_ray():\n    from ray import tune\nelse:\n    tune = None\n",
    "flag": "try:\n    from ray import tune\n    HAS = True\nexcept ImportError:\n    tune = None\n    HAS = False\n",
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_the_import_counts_where_a_stub_takes_over(way: str) -> None:
    outcome = converted(way + REPORT)
    assert outcome.text == way + REPORT.replace("loss=1.0", '{"loss": 1.0}')
    assert outcome.lines("RM414", Kind.MANUAL)


@pytest.mark.parametrize(
    "way",
    [
        "if ray.__version__ < '2':\n    from ray import tune\nelse:\n    tune = None\n",
        "if TYPE_CHECKING:\n    from ray import tune\nelse:\n    tune = None\n",
        "try:\n    from ray import tune\nexcept ImportError:\n    from own import tune\n",
        "try:\n    from ray import tune\n    from ray.ml import gone\nexcept ImportError:\n    tune = None\n",
        "try:\n    from ray import tune\nexcept KeyError:\n    tune = None\n",
        "if has_ray():\n    from ray import tune\nelse:\n    def tune(): ...\n",
    ],
)
def test_other_ways_are_not_sure(way: str) -> None:
    assert f"{way}{REPORT}" in converted(f"import ray\n{way}{REPORT}").text


LOOP = "\n\ndef loop(config):\n    {use}.report({{'loss': 1.0}})\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "try:\n    from ray.air import session\nexcept ImportError:\n    session = None\n",
            "try:\n    import ray.train\nexcept ImportError:\n    session = None\n",
        ),
        (
            "try:\n    from ray.air import session\n    HAS = True\nexcept ImportError:\n    HAS = False\n",
            "try:\n    import ray.train\n\n    HAS = True\nexcept ImportError:\n    HAS = False\n",
        ),
        (
            "if has_ray():\n    from ray.air import session\n",
            "if has_ray():\n    import ray.train\n",
        ),
    ],
)
def test_a_file_still_runs_without_ray(before: str, after: str) -> None:
    outcome = converted("from own import has_ray\n" + before + LOOP.format(use="session"))
    assert outcome.text == "from own import has_ray\n" + after + LOOP.format(use="ray.train")


def test_names_that_moved_change_inside_the_try() -> None:
    script = "try:\n    from {home} import RunConfig\nexcept ImportError:\n    RunConfig = None\n\nRunConfig(name=a)\n"
    assert converted(script.format(home="ray.air")).text == script.format(home="ray.train")


def test_what_a_function_asks_of_the_module_stays_so() -> None:
    script = (
        "import ray\nfrom ray.train.torch import TorchTrainer\n\n\ndef loop(config):\n    if ray is not None:\n"
        "        from ray.air import session\n\n        session.report({'a': 1})\n\n\nTorchTrainer(loop).fit()\n"
    )
    text = converted(script).text
    assert "\nimport ray.train\n" in text and "        ray.train.report({'a': 1})\n" in text


TRIED = "import ray\n\ntry:\n    from transformers import AdamW\nexcept ImportError:\n    AdamW = None\n"


@pytest.mark.parametrize("use", ["AdamW([], lr=1.0)", "def f():\n    return AdamW.step", "[AdamW(x) for x in y]"])
def test_a_use_of_none_is_told(use: str) -> None:
    outcome = converted(f"{TRIED}\n{use}\n")
    assert outcome.lines("RM692", Kind.MANUAL) == [4]
    assert "AdamW is None here" in outcome.messages[0]


@pytest.mark.parametrize(
    "use",
    [
        "if AdamW is not None:\n    AdamW([])",
        "try:\n    AdamW([])\nexcept TypeError:\n    pass",
        "print(AdamW)",
        "AdamW([]) if AdamW else None",
        "def check():\n    assert AdamW\n\nAdamW([])",
    ],
)
def test_a_use_that_asks_first_is_left_alone(use: str) -> None:
    assert not converted(f"{TRIED}\n{use}\n").findings


def test_a_flag_counts_as_a_question() -> None:
    flagged = TRIED.replace("AdamW\nexcept", "AdamW\n    HAS = True\nexcept") + "    HAS = False\n"
    assert not converted(f"{flagged}\nif not HAS:\n    raise ValueError\nAdamW([])\n").findings
