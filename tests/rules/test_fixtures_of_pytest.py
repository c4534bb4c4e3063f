"""What a test is given by a fixture is known as what the fixture returns or yields."""

from pathlib import Path

import pytest

from tests.projects.files import convert, write
from tests.rules.scripts import converted

HEAD = """import pytest
from job import make
from ray.train.torch import TorchTrainer
from ray.air import ScalingConfig


"""
FIT = "TorchTrainer(make, scaling_config=ScalingConfig(num_workers=1)).fit()"
TEST = "\n\ndef test_it(result):\n    assert result.log_dir\n"
LOST = "result.log_dir raises"


def told(script: str) -> bool:
    return any(message.startswith(LOST) for message in converted(script).messages)


@pytest.mark.parametrize(
    "fixture",
    [
        f"@pytest.fixture\ndef result():\n    return {FIT}\n",
        f"@pytest.fixture(scope='module')\ndef result():\n    found = {FIT}\n    yield found\n    print(found)\n",
        f"@pytest.fixture(name='result')\ndef fitted():\n    return {FIT}\n",
        f"@pytest.fixture\ndef made():\n    return {FIT}\n\n\n@pytest.fixture\ndef result(made):\n    return made\n",
        "@pytest.fixture\ndef trainer():\n    return TorchTrainer(make)\n\n\n"
        "@pytest.fixture\ndef result(trainer):\n    return trainer.fit()\n",
    ],
)
def test_the_result_that_a_fixture_gives_is_one(fixture: str) -> None:
    assert told(HEAD + fixture + TEST)
    assert told(HEAD + fixture + "\n\nclass TestIt:\n    def test_it(self, result):\n        assert result.log_dir\n")


@pytest.mark.parametrize(
    "script",
    [
        f"def result():\n    return {FIT}\n{TEST}",
        f"@pytest.fixture\ndef result():\n    return make({FIT})\n{TEST}",
        f"@pytest.fixture\ndef result():\n    return {FIT}\n\n\ndef show(result):\n    print(result.log_dir)\n",
        f"@pytest.fixture\ndef result():\n    return {FIT}\n\n\n"
        f"@pytest.fixture\ndef result():\n    return make()\n{TEST}",
        f"@pytest.fixture\ndef result(result):\n    return result\n{TEST}",
        f"@pytest.fixture\ndef result():\n    return {FIT}\n\n\n"
        "@pytest.mark.parametrize('result', [make()])\ndef test_it(result):\n    assert result.log_dir\n",
    ],
)
def test_what_else_a_parameter_may_be_is_not(script: str) -> None:
    assert not told(HEAD + script)


IN_CLASS = """class {name}:
    @pytest.fixture
    def result(self):
        return {given}

    def test_method(self, result):
        assert {read}


"""


@pytest.mark.parametrize(
    ("of_class", "of_file", "method_told", "function_told"),
    [(FIT, "make()", True, False), ("make()", FIT, False, True), (FIT, None, True, False)],
)
def test_a_fixture_of_a_class_is_for_its_methods(
    of_class: str, of_file: str | None, method_told: bool, function_told: bool
) -> None:
    file = f"@pytest.fixture\ndef result():\n    return {of_file}\n\n\n" if of_file is not None else ""
    method = IN_CLASS.format(name="TestIt", given=of_class, read="result.log_dir")
    assert told(f"{HEAD}{file}{method}") is method_told
    other = IN_CLASS.format(name="TestIt", given=of_class, read="result")
    assert told(f"{HEAD}{file}{other}{TEST.lstrip()}") is function_told


@pytest.mark.parametrize(
    ("name", "is_told"), [("tests/test_it.py", True), ("tests/deep/it_test.py", True), ("tests/run.py", False)]
)
def test_a_fixture_may_be_in_the_file_that_pytest_reads_first(tmp_path: Path, name: str, is_told: bool) -> None:
    conftest = f"{HEAD}@pytest.fixture\ndef result():\n    return {FIT}\n"
    test = f"from own import show\nfrom ray.air import Checkpoint\n{TEST}    assert result.checkpoint is Checkpoint\n"
    test += "\n\nshow(lambda result: result.log_dir)\n"  # whose parameter is nothing of pytest
    write(tmp_path, {"setup.py": "", "tests/conftest.py": conftest, "tests/own.py": "show = print\n", name: test})
    found = [f for result in convert(tmp_path).results for f in result.findings if f.message.startswith(LOST)]
    assert [finding.path for finding in found] == [str(tmp_path / name)] * is_told


def test_the_nearest_one_counts(tmp_path: Path) -> None:
    conftest = f"{HEAD}@pytest.fixture\ndef result():\n    return {FIT}\n"
    own = "import pytest\n\n\n@pytest.fixture\ndef result():\n    return object()\n"
    test = f"from ray.air import Checkpoint\n{TEST}    assert isinstance(result.checkpoint, Checkpoint)\n"
    write(tmp_path, {"conftest.py": conftest, "tests/conftest.py": own, "tests/test_it.py": test})
    assert not [f for result in convert(tmp_path).results for f in result.findings if f.message.startswith(LOST)]


RESULT = f"@pytest.fixture\ndef result():\n    return {FIT}\n\n\n"
LOST_DICT = "Checkpoint.to_dict() raises"


@pytest.mark.parametrize(
    ("fixtures", "is_told"),
    [
        ("@pytest.fixture\ndef ckpt(result):\n    return result.checkpoint\n", True),
        ("@pytest.fixture\ndef ckpt(result):\n    found = result.checkpoint\n    yield found\n", True),
        ("@pytest.fixture(name='ckpt')\ndef _ckpt(result):\n    return result.best_checkpoints[0][0]\n", True),
        (
            "@pytest.fixture\ndef first(result):\n    return result.checkpoint\n\n\n"
            "@pytest.fixture\ndef ckpt(first):\n    return first\n",
            True,
        ),
        ("@pytest.fixture\ndef ckpt(result):\n    return make(result).checkpoint\n", False),
        ("@pytest.fixture\ndef ckpt(result):\n    return result\n", False),
        ("@pytest.fixture\ndef ckpt(result):\n    return make() if make else result.checkpoint\n", False),
    ],
)
def test_a_fixture_may_give_what_it_takes_from_another_one(tmp_path: Path, fixtures: str, is_told: bool) -> None:
    test = "import ray\n\n\ndef test_it(ckpt):\n    assert ray and ckpt.to_dict()\n"
    write(tmp_path, {"setup.py": "", "tests/conftest.py": HEAD + RESULT + fixtures, "tests/test_it.py": test})
    found = [f for result in convert(tmp_path).results for f in result.findings if f.message.startswith(LOST_DICT)]
    assert [finding.path for finding in found] == [str(tmp_path / "tests/test_it.py")] * is_told
    same_file = converted(HEAD + RESULT + fixtures + test.removeprefix("import ray\n").replace("ray and ", ""))
    assert any(message.startswith(LOST_DICT) for message in same_file.messages) is is_told
