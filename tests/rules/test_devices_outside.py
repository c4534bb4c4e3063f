"""RM302: ray.train.torch.get_device() where no trainer runs."""

from pathlib import Path

import pytest

from raymigrate.base.findings import Kind
from tests.projects.files import convert, write
from tests.rules.scripts import converted

SCRIPT = """
import torch
from ray import train, tune
from ray.air.config import ScalingConfig
from ray.train import torch as ray_torch
from ray.train.torch import TorchTrainer, get_device, get_devices

def batch(rows):
    {body}

def loop(config):
    batch(1)

def trial(config):
    {trial}

def main():
    {main}
    tune.Tuner(trial).fit()
    TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=1)).fit()

if __name__ == "__main__":
    main()
"""
ASKED = ["get_device()", "get_devices()[0]", "train.torch.get_device()", "ray_torch.get_device()"]


def told(body: str = "pass", main: str = "pass", trial: str = "pass") -> list[int]:
    return converted(SCRIPT.format(body=body, main=main, trial=trial)).lines("RM302", Kind.MANUAL)


@pytest.mark.parametrize("asked", ASKED)
def test_a_function_that_both_run_is_told_once(asked: str) -> None:
    body = f"print({asked})\n    return rows.to({asked})"
    assert told(body) == []
    assert told(body, main="batch(2)") == [7]
    assert told(body, trial="batch(2)") == [8, 9]
    assert told(f"return lambda: {asked}", main="batch(2)") == []


@pytest.mark.parametrize("asked", ASKED)
def test_what_the_driver_or_a_trial_runs_is_told_at_the_call(asked: str) -> None:
    assert told(main=f"model.to({asked})") == [17]
    assert told(trial=f"model.to({asked})") == [14]


@pytest.mark.parametrize(
    "body",
    [
        "device = get_device() if distributed else 'cpu'",
        "if distributed:\n        return get_device()\n    else:\n        return 'cpu'",
        "try:\n        return get_device()\n    except RuntimeError:\n        return 'cpu'",
        "return torch.get_device(rows)",
    ],
)
def test_functions_with_another_way_stay(body: str) -> None:
    assert told(body, main="batch(2)") == []


def test_a_way_around_the_definition_of_a_function_is_none_in_it() -> None:
    main = (
        "if rows:\n        def place():\n            return get_device()\n    else:\n        place = print\n    place()"
    )
    assert told(main=main) == [19]


def test_the_second_run_says_the_same() -> None:
    first = converted(SCRIPT.format(body="return get_device()", main="batch(2)", trial="pass"))
    second = converted(first.text)
    assert [text for text in second.messages if "RuntimeError" in text] == [
        text for text in first.messages if "RuntimeError" in text
    ]


@pytest.mark.parametrize("asked", ["get_device", "ray_torch.get_device"])
def test_a_function_that_is_handed_on_and_called_is_told_where_the_driver_hands_it(asked: str) -> None:
    assert told("return rows()", main=f"batch({asked})") == [17]
    assert told("return rows()", main=f"batch(rows={asked})") == [17]
    assert told("return rows", main=f"batch({asked})") == []
    assert told(f"def inner(ask={asked}):\n        return ask()\n    return inner()", main="batch(2)") == [8]
    assert told(f"def inner(ask={asked}()):\n        return ask\n    return inner", main="batch(2)") == [7]


CLASS = """
from ray.train.torch import TorchTrainer, get_device

class Net:
    @classmethod
    def make(cls):
        return cls.inner()

    @classmethod
    def inner(cls):
        return get_device()

    def place(self):
        return get_device()

def loop(config):
    Net.make()
    Net().place()

{use}
TorchTrainer(loop).fit()
"""


@pytest.mark.parametrize(
    ("use", "lines"), [("", []), ("Net.make()", [9]), ("Net().place()", [12]), ("net = Net()\nnet.place()", [12])]
)
def test_methods_that_the_driver_calls_too_are_told(use: str, lines: list[int]) -> None:
    found = converted(CLASS.format(use=use)).lines("RM302", Kind.MANUAL)
    assert found == lines


TEST = """
import {imported}
import ray
from ray.train.torch import TorchTrainer, get_device

def helper():
    return get_device()

def test_here():
    {here}

class TestAll:
    def setup_method(self):
        self.device = helper()
"""


@pytest.mark.parametrize(
    ("imported", "here", "lines"),
    [
        ("pytest", "get_device()", [5, 8]),
        ("unittest", "assert get_device()", [5, 8]),
        ("pytest", "with pytest.raises(RuntimeError):\n        get_device()", [5]),
        ("pytest", "try:\n        get_device()\n    except RuntimeError:\n        pass", [5]),
        ("pytest", "def loop(config):\n        get_device()\n    TorchTrainer(loop).fit()", [5]),
        ("os", "get_device()", []),
        ("pytest", "pytest.monkeypatch.setattr(ray, 'x', 1)\n    get_device()", []),
    ],
)
def test_what_a_test_runs_is_told(imported: str, here: str, lines: list[int]) -> None:
    assert converted(TEST.format(imported=imported, here=here)).lines("RM302", Kind.MANUAL) == lines


@pytest.mark.parametrize(
    ("use", "lines"),
    [
        ("Net.make()", [5]),
        ("def main():\n    net = Net()\n    net.place()\nmain()", [8]),
        ("import net\nnet.Net.make()", [5]),
        ("def loop(config):\n    Net.make()\nTorchTrainer(loop).fit()", []),
        ("class Net: ...\nNet.make()", []),
    ],
)
def test_methods_that_another_file_calls_are_told(tmp_path: Path, use: str, lines: list[int]) -> None:
    net = """
        import ray.train.torch

        class Net:
            @classmethod
            def make(cls):
                return ray.train.torch.get_device()

            def place(self):
                return ray.train.torch.get_device()
    """
    use = f"from ray.train.torch import TorchTrainer\nfrom net import Net\n{use}\n"
    write(tmp_path, {"net.py": net, "use.py": use})
    found = [f.line for f in convert(tmp_path).findings if f.code == "RM302" and f.path.endswith("net.py")]
    assert found == lines


def test_the_first_method_of_a_class_says_who_runs_what_several_call(tmp_path: Path) -> None:
    """Also if there are many, so that no other order, as that of a set, is likely to begin with it."""
    methods = "".join(f"    def m{number}(self):\n        return self.device()\n\n" for number in range(20))
    device = "    def device(self):\n        return ray.train.torch.get_device()\n"
    tests = "".join(f"def test_{number}():\n    Net().m{number}()\n\n" for number in range(1, 20))
    write(
        tmp_path,
        {
            "net.py": f"import ray.train.torch\n\nclass Net:\n{methods}{device}",
            "test_use.py": f"from net import Net\n\nNet().m0()\n\n{tests}",
        },
    )
    told = [f.message for f in convert(tmp_path).findings if f.code == "RM302" and f.path.endswith("net.py")]
    assert len(told) == 1 and "is called without a trainer too" in told[0]


CONFTEST = """import pytest


@pytest.fixture(autouse=True)
def on_cpu({given}):
    {body}
"""


@pytest.mark.parametrize(
    ("place", "given", "body", "is_told"),
    [
        ("tests/unit/", "monkeypatch", 'monkeypatch.setattr("ray.train.torch.get_device", lambda: "cpu")', False),
        ("tests/", "mocker", 'mocker.patch("ray.train.torch.get_device")', False),
        ("", "", 'with mock.patch("ray.train.torch.get_device"):\n        yield', False),
        ("tests/unit/", "", "torch.manual_seed(1)", True),
        ("tests/other/", "monkeypatch", 'monkeypatch.setattr("ray.train.torch.get_device", lambda: "cpu")', True),
        ("../", "monkeypatch", 'monkeypatch.setattr("ray.train.torch.get_device", lambda: "cpu")', True),
    ],
)
def test_what_a_conftest_may_put_in_its_place_is_not_told(
    tmp_path: Path, place: str, given: str, body: str, *, is_told: bool
) -> None:
    device = "import ray.train.torch\n\n\ndef device():\n    return ray.train.torch.get_device()\n"
    test = "from dev import device\n\n\ndef test_it():\n    assert device()\n"
    home = tmp_path / "project"
    write(home, {"setup.py": "", "dev.py": device, "tests/unit/test_dev.py": test})
    (home / place).mkdir(exist_ok=True)
    (home / place / "conftest.py").write_text(CONFTEST.format(given=given, body=body))
    found = [f for f in convert(home).findings if f.code == "RM302" and f.path.endswith("dev.py")]
    assert [f.kind for f in found if f.kind is Kind.MANUAL] == ([Kind.MANUAL] if is_told else [])
