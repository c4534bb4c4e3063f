"""RM692: an import of a legacy name stays, and is told, where another file takes the name from there."""

from pathlib import Path

import pytest

from raymigrate.base.findings import Kind
from tests.projects.files import codes, convert, write

HELPERS = """\
from ray.air.config import ScalingConfig
from ray.train.huggingface import HuggingFaceTrainer
from transformers import Trainer, TrainingArguments
"""
TRAIN = """\
import ray
{imported}


def make(train_dataset, eval_dataset=None, **config):
    return Trainer(model=load(), args=TrainingArguments("out"), train_dataset=train_dataset)


trainer = {prefix}HuggingFaceTrainer(make, scaling_config={prefix}ScalingConfig(num_workers=2), datasets=read())
"""
MEANS = {
    "star": ("helpers.py", "train.py", "from helpers import *", ""),
    "names": ("helpers.py", "train.py", "from helpers import HuggingFaceTrainer, ScalingConfig", ""),
    "alias": ("helpers.py", "train.py", "from helpers import HuggingFaceTrainer as HF, ScalingConfig as SC", ""),
    "module": ("helpers.py", "train.py", "import helpers", "helpers."),
    "module as": ("helpers.py", "train.py", "import helpers as h", "h."),
    "relative": ("job/helpers.py", "job/train.py", "from .helpers import *", ""),
    "package": ("job/helpers.py", "train.py", "from job import helpers", "helpers."),
}


@pytest.mark.parametrize("means", MEANS)
@pytest.mark.parametrize("uses", ["", "\n\ndef is_trainer(given):\n    return isinstance(given, HuggingFaceTrainer)\n"])
def test_a_name_that_is_passed_on_stays_and_is_told_rm692(tmp_path: Path, means: str, uses: str) -> None:
    helpers, train, imported, prefix = MEANS[means]
    files = {helpers: HELPERS + uses, train: TRAIN.format(imported=imported, prefix=prefix)}
    write(tmp_path, {**files, "job/__init__.py": ""})
    found = convert(tmp_path)
    after = (tmp_path / helpers).read_text()
    assert "from ray.train import ScalingConfig" in after
    assert "from ray.train.huggingface import HuggingFaceTrainer" in after
    told = [f for f in found.findings if f.code == "RM692" and train in f.message and f.kind is Kind.MANUAL]
    assert [(Path(f.path).name, f.line) for f in told] == [("helpers.py", 2)]


@pytest.mark.parametrize("imported", ["import helpers", "from helpers import Trainer", "from ray.train import *"])
def test_what_nothing_takes_goes_rm691(tmp_path: Path, imported: str) -> None:
    write(tmp_path, {"helpers.py": HELPERS, "train.py": f"{imported}\nHuggingFaceTrainer = None\n"})
    found = convert(tmp_path)
    assert "ray" not in (tmp_path / "helpers.py").read_text()
    assert "RM692" not in codes(found, Kind.MANUAL, "helpers.py")


def test_a_star_import_of_another_module_takes_nothing(tmp_path: Path) -> None:
    train = "from helpers import Trainer\nfrom other import *\nHuggingFaceTrainer()\n"
    write(tmp_path, {"helpers.py": HELPERS, "other.py": "HuggingFaceTrainer = print\n", "train.py": train})
    convert(tmp_path)
    assert "HuggingFaceTrainer" not in (tmp_path / "helpers.py").read_text()


@pytest.mark.parametrize(
    ("head", "tail", "left"),
    [
        ("try:", "except ImportError:\n    tune = None\n\n    def is_session_enabled(): ...", "left: tune, is_session"),
        ("try:", "except ImportError:\n    pass", "is_session_enabled is not imported"),
        ("import contextlib\nwith contextlib.suppress(ImportError):", "", "is_session_enabled is not imported"),
    ],
)
def test_a_name_whose_error_is_caught_does_not_raise_it(tmp_path: Path, head: str, tail: str, left: str) -> None:
    helpers = f"{head}\n    from ray import tune\n    from ray.tune import is_session_enabled\n{tail}\n"
    write(tmp_path, {"helpers.py": helpers, "train.py": "import ray\nfrom helpers import is_session_enabled\n"})
    [told] = [found for found in convert(tmp_path).findings if found.code == "RM692"]
    assert left in told.message and "raises" not in told.message and "train.py takes" in told.message
    assert "Import it from its library" not in told.advice


TRIED = """\
import ray

try:
    from ray.rllib.agents.ppo import PPOTrainer
    from ray.rllib.agents.dqn import DQNTrainer
{handler}


def dqn():
    return DQNTrainer
"""


@pytest.mark.parametrize("others", [1, 2, 5])
def test_all_gone_imports_of_a_try_are_told_at_once_with_all_files_that_take_one(tmp_path: Path, others: int) -> None:
    users = {f"user{number}.py": "from helpers import PPOTrainer\n" for number in range(others)}
    helpers = TRIED.format(handler="except ImportError:\n    PPOTrainer = DQNTrainer = None")
    write(tmp_path, {"helpers.py": helpers, **users})
    told = [found for found in convert(tmp_path).findings if found.code == "RM692"]
    assert [found.line for found in told] == [4, 5]
    assert all("left: PPOTrainer, DQNTrainer." in found.message for found in told)
    named = [name for name in users if name in told[0].message]
    assert len(named) == min(others, 3) and ("and 2 more take" in told[0].message) is (others > 3)
    assert "from here" not in told[1].message


def test_all_files_that_take_a_name_are_told_where_its_import_raises(tmp_path: Path) -> None:
    users = dict.fromkeys(("a.py", "b.py"), "from helpers import Trainer\n")
    write(tmp_path, {"helpers.py": "import ray\nfrom ray.train.trainer import Trainer\n", **users})
    [told] = [found for found in convert(tmp_path).findings if found.code == "RM692"]
    assert "a.py (line 1) and " in told.message and "b.py (line 1) take Trainer from here." in told.message


@pytest.mark.parametrize("head", ["try:", "if ray.__version__ < '2.7':"])
def test_what_is_imported_from_elsewhere_on_current_libraries_is_not_told(tmp_path: Path, head: str) -> None:
    new = "from ray.rllib.algorithms.ppo import PPO as PPOTrainer, PPO as DQNTrainer"
    helpers = TRIED.format(handler=f"{'except ImportError' if head == 'try:' else 'else'}:\n    {new}")
    helpers = helpers.replace("try:", head)
    write(tmp_path, {"helpers.py": helpers, "train.py": "from helpers import PPOTrainer, DQNTrainer\n"})
    assert not [found for found in convert(tmp_path).findings if found.code == "RM692"]


@pytest.mark.parametrize("own", ["", "def own():\n    session.report({})\n"])
@pytest.mark.parametrize(
    "imports",
    ["from ray.air import session", "from ray.air.session import report", "import ray.air.session as session"],
)
@pytest.mark.parametrize("star", [True, False])
def test_session_that_other_files_take_is_told_where_it_is_imported(
    tmp_path: Path, own: str, imports: str, star: bool
) -> None:
    name = imports.rsplit(maxsplit=1)[-1]
    call = "report({})" if name == "report" else "session.report({})"
    taken = f"from common import {'*' if star else name}\n\n\ndef train(config):\n    {call}\n"
    common = f"{imports}\n{own if name == 'session' else ''}"
    write(tmp_path, {"common.py": common, "loop.py": taken, "other.py": "def session():\n    pass\n"})
    for _ in range(2):
        [told] = [found for found in convert(tmp_path).findings if found.code == "RM302" and found.kind is Kind.MANUAL]
        assert "does nothing but warn inside a worker of Ray >= 2.51, and " in told.message
        assert f"loop.py takes {name} from here (line {5 if star else 1})." in told.message
        assert (tmp_path / "loop.py").read_text() == taken


OLD = "from ray.air import session"
NEW = "from ray import train as session"


@pytest.mark.parametrize(
    ("common", "told"),
    [
        (f"try:\n    {NEW}\nexcept ImportError:\n    {OLD}\n", []),
        (f"try:\n    from ray.train import report\nexcept ImportError:\n    {OLD}\n", []),
        (f"try:\n    {NEW}\nexcept ImportError:\n    try:\n        {OLD}\n    except ImportError:\n        0\n", []),
        (f"import ray\n\nif ray.__version__ >= '2.7':\n    {NEW}\nelse:\n    {OLD}\n", []),
        (f"import ray\n\nif hasattr(ray.train, 'report'):\n    {NEW}\nelse:\n    {OLD}\n", []),
        (f"try:\n    {OLD}\nexcept ImportError:\n    {NEW}\n", ["can still be imported, but"]),
        (f"import ray\n\nif ray.__version__ >= '2':\n    {OLD}\nelse:\n    from a import session\n", ["can still"]),
        (f"try:\n    {OLD}\nexcept ImportError:\n    session = None\n", ["loop.py takes session from here"]),
        (f"import ray\n\nif ray.__version__ >= '2.0':\n    {OLD}\n", ["loop.py takes session from here"]),
        (f"try:\n    from ray.gone import a\nexcept ImportError:\n    {OLD}\n", ["loop.py takes session from here"]),
        (f"{NEW}\n{OLD}\n", ["loop.py takes session from here"]),
    ],
)
def test_session_that_current_ray_takes_from_elsewhere_is_not_told(
    tmp_path: Path, common: str, told: list[str]
) -> None:
    loop = "from common import session\n\n\ndef train(config):\n    session.report({})\n"
    write(tmp_path, {"common.py": common, "loop.py": loop})
    found = [found.message for found in convert(tmp_path).findings if found.code == "RM302"]
    assert len(found) == len(told) and all(part in message for part, message in zip(told, found, strict=True)), found


def test_session_that_no_other_file_takes_is_not_told(tmp_path: Path) -> None:
    common = "from ray.air import session\n\n\ndef own():\n    session.report({})\n"
    loop = "from common import *\n\n\ndef train(session):\n    session.report({})\n"
    write(tmp_path, {"common.py": common, "loop.py": loop, "other.py": "from common import own\n"})
    assert not [found for found in convert(tmp_path).findings if found.kind is Kind.MANUAL]
    assert "ray.air" not in (tmp_path / "common.py").read_text()
