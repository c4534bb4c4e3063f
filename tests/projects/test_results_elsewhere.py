"""Results are known in files that neither make the trainer nor import Ray: by whatever way they are handed on."""

import json
from pathlib import Path

import pytest

from raymigrate.base.findings import Kind
from raymigrate.facts.projects import project as project_facts
from raymigrate.facts.projects.project import Project
from raymigrate.facts.syntax.module import Module
from raymigrate.run.outcome import Summary
from tests.projects.files import convert, write

LOOP = """
from accelerate import Accelerator
from ray.air import Checkpoint, session


def loop(config):
    accelerator = Accelerator()
    {report}
"""
REPORT = 'session.report({"loss": 1.0}, checkpoint=Checkpoint.from_dict({"epoch": 1}))'
FACTORY = """
from loops import loop
from ray.train.huggingface import AccelerateTrainer, TransformersTrainer
from ray.train.base_trainer import BaseTrainer


def make(kind=None):
    return AccelerateTrainer(loop, accelerate_config={{}})


{more}
"""
READ = 'print(result.metrics["time_total_s"], result.log_dir, result.checkpoint.to_dict())'
RUNNER = """
class Runner:
    def __init__(self):
        self.trainer = make()

    def fit(self):
        self.result = self.trainer.fit()
        return self.result
"""
CHOOSING = """
TRAINERS = {"accelerate": AccelerateTrainer, "transformers": TransformersTrainer}


def class_of(kind):
    try:
        return TRAINERS[kind]
    except KeyError:
        raise ValueError(kind) from None


def create(kind, **arguments):
    trainer_class = class_of(kind)
    return trainer_class(**arguments)
"""
TEAM = """
class Notifies:
    def fit(self):
        return super().fit()


class TeamTrainer(Notifies, AccelerateTrainer):
    def __init__(self, name):
        super().__init__(loop, accelerate_config={})
"""


def found(folder: Path, more: str, files: dict[str, str], report: str = REPORT) -> Summary:
    more = more.replace("{", "{{").replace("}", "}}")
    write(folder, {"setup.py": "", "loops.py": LOOP.format(report=report)})
    write(folder, {"factory.py": FACTORY.format(more=more).replace("{{", "{").replace("}}", "}"), **files})
    return convert(folder)


def told(summary: Summary, name: str = "run.py") -> set[tuple[str, Kind]]:
    return {(f.code, f.kind) for f in summary.findings if Path(f.path).name == name and f.code[:3] in ("RM3", "RM6")}


SURE = {("RM604", Kind.MANUAL), ("RM604", Kind.CONVERTED), ("RM304", Kind.MANUAL)}


@pytest.mark.parametrize(
    ("more", "run"),
    [
        ("", "from factory import make\nresult = make().fit()"),
        ("", "from factory import make as build\ntrainer = build()\nresult = trainer.fit()"),
        ("", "import factory\nresult = factory.make('a').fit()"),
        ("", "from factory import *\nresult = make().fit()"),
        ("trainer = make()", "from factory import trainer\nresult = trainer.fit()"),
        ("def run():\n    return make().fit()", "import factory\nresult = factory.run()"),
        ("def run():\n    return make().fit(), 3", "from factory import run\nresult, steps = run()"),
        ("def run():\n    return {'a': make().fit()}", "from factory import run\nresult = run()['a']"),
        ("def run():\n    return [make().fit()]", "from factory import run\nresult = run()[-1]"),
        (RUNNER, "from factory import Runner\nresult = Runner().fit()"),
        (RUNNER, "from factory import Runner\nrunner = Runner()\nrunner.fit()\nresult = runner.result"),
        (RUNNER, "from factory import Runner\nclass Mine(Runner):\n    pass\nresult = Mine().fit()"),
        (CHOOSING, "import sys\nfrom factory import create\nresult = create(sys.argv[1]).fit()"),
        (CHOOSING, "import sys\nfrom factory import TRAINERS\nresult = TRAINERS.get(sys.argv[1])(None).fit()"),
        ("def build(kind) -> BaseTrainer:\n    return load(kind)", "import factory\nresult = factory.build(1).fit()"),
        (TEAM, "from factory import TeamTrainer\nresult = TeamTrainer('a').fit()"),
        (TEAM, "from factory import TeamTrainer\nclass Mine(TeamTrainer):\n    pass\nresult = Mine('a').fit()"),
        ("", "import ray\nfrom factory import make\nray.init()\nresult = make().fit()"),
    ],
)
def test_what_a_script_reads_of_a_result_that_another_file_makes_is_told(more: str, run: str, tmp_path: Path) -> None:
    summary = found(tmp_path, more, {"run.py": f"{run}\n{READ}\n"})
    assert told(summary) == SURE
    assert "result.path" in (tmp_path / "run.py").read_text()


OF_TORCH = """
from ray.air import Checkpoint, session
from ray.air.config import ScalingConfig
from ray.train.torch import TorchTrainer


def loop(config):
    session.report({"loss": 1.0}, checkpoint=Checkpoint.from_dict({"epoch": 1}))


def run():
    trainer = TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=2))
    return trainer.fit()


def scaling():
    return ScalingConfig(num_workers=2)
"""


@pytest.mark.parametrize(
    "run",
    [
        "import job\nresult = job.run()",
        "from job import run as fit\nresult = fit()",
        "from job import *\nresult = run()",
        "import ray\nimport job\nresult = job.run()",
        "from middle import go\nresult = go()",
    ],
)
def test_what_is_read_of_the_result_of_a_torch_trainer_is_told(run: str, tmp_path: Path) -> None:
    """Also in a file that holds no word of Ray, such as a test."""
    middle = "import job\n\n\ndef go():\n    return job.run()\n"
    write(tmp_path, {"setup.py": "", "job.py": OF_TORCH, "middle.py": middle, "run.py": f"{run}\n{READ}\n"})
    assert told(convert(tmp_path)) == SURE
    assert "result.path" in (tmp_path / "run.py").read_text()
    assert convert(tmp_path).changed == []


@pytest.mark.parametrize("run", ["import job\nresult = job.scaling()", "from other import run\nresult = run()"])
def test_what_another_function_than_that_of_the_trainer_gives_is_no_result(run: str, tmp_path: Path) -> None:
    other = "def run():\n    return Study().fit()\n"
    write(tmp_path, {"setup.py": "", "job.py": OF_TORCH, "other.py": other, "run.py": f"{run}\n{READ}\n"})
    assert ("RM604", Kind.MANUAL) not in told(convert(tmp_path))


RENAMED = "from factory import make\nbuild = make\n"


@pytest.mark.parametrize(
    ("between", "run"),
    [
        (
            {"middle.py": "from factory import make\ndef build(**kw):\n    return make(**kw)\n"},
            "from middle import build",
        ),
        ({"middle.py": "from factory import make as build\n"}, "from middle import build"),
        ({"pack/__init__.py": "from .a import build\n", "pack/a.py": RENAMED}, "from pack import build"),
        ({"middle.py": RENAMED.replace("import make", "import *")}, "from middle import *"),
    ],
)
def test_files_in_between_only_hand_on(between: dict[str, str], run: str, tmp_path: Path) -> None:
    summary = found(tmp_path, "", {**between, "run.py": f"{run}\nresult = build().fit()\n{READ}\n"})
    assert told(summary) == SURE
    assert not any(told(summary, name.rpartition("/")[2]) for name in between)


@pytest.mark.parametrize(
    ("show", "job"),
    [
        (f"def show(result):\n    {READ}\n", "show(make().fit())"),
        (f"def show(title, *, result=None):\n    {READ}\n", "show('a', result=make().fit())"),
        (
            f"def show(found):\n    inner(found)\n\n\ndef inner(result):\n    {READ}\n",
            "result = make().fit()\nshow(result)",
        ),
    ],
)
@pytest.mark.parametrize("home", ["factory.py", "run.py"])
def test_a_function_that_gets_a_result_from_another_file_is_looked_at(
    show: str, job: str, home: str, tmp_path: Path
) -> None:
    imports = "from factory import make\nfrom show import show"
    files = {"run.py": f"{imports}\n{job}\n"} if home == "run.py" else {}
    summary = found(tmp_path, "" if files else f"from show import show\n{job}", {"show.py": show, **files})
    assert told(summary, "show.py") == SURE


REGISTRY = """
MADE = {}


def register(function):
    MADE[function.__name__] = function
    return function


@register
def other():
    return make()


def create(name):
    return MADE[name]()
"""


def test_what_is_not_seen_to_be_a_result_is_told_so(tmp_path: Path) -> None:
    run = f"from factory import create\nresult = create('other').fit()\n{READ}\n"
    summary = found(tmp_path, REGISTRY, {"run.py": run})
    messages = [f.message for f in summary.findings if f.path.endswith("run.py")]
    assert len(messages) == 3 and all(m.startswith("If this is ") for m in messages)
    assert run == (tmp_path / "run.py").read_text()


@pytest.mark.parametrize(
    "run",
    [
        "from sklearn.linear_model import LogisticRegression\nresult = LogisticRegression().fit()",
        "from ray.tune import Tuner\nresult = Tuner(make).fit()",
        "result = load().fit(1, 2)",
        "def make_own():\n    return {}\nresult = make_own()",
        "class Trainer:\n    def fit(self):\n        return Namespace(metrics={})\nresult = Trainer().fit()",
    ],
)
def test_results_of_others_are_their_own(run: str, tmp_path: Path) -> None:
    text = f"from factory import make\n{run}\nprint(result.metrics['time_total_s'], result.log_dir)\n"
    assert not told(found(tmp_path, "", {"run.py": text})) - {("RM601", Kind.MANUAL)}


@pytest.mark.parametrize(
    "read",
    [
        "print(TransformersCheckpoint.from_checkpoint(result.checkpoint).get_model(AutoModelForMaskedLM))",
        "with result.checkpoint.as_directory() as folder:\n    model = AutoModelForMaskedLM.from_pretrained(folder)",
        'with result.checkpoint.as_directory() as folder:\n    print(open(f"{folder}/vocab.txt").read())',
        "folder = result.checkpoint.to_directory()\nmodel = AutoModelForMaskedLM.from_pretrained(folder)",
    ],
)
def test_files_of_a_checkpoint_are_looked_for_one_folder_deeper_once(read: str, tmp_path: Path) -> None:
    """The proof of one file sees the other one as it was: with the trainer whose checkpoints had no such folder."""
    factory = """
    from ray.train.huggingface import TransformersTrainer
    from transformers import Trainer


    def init(train_dataset, eval_dataset=None, **config):
        return Trainer(model=config["model"], train_dataset=train_dataset)


    def make(datasets):
        return TransformersTrainer(init, datasets=datasets)
    """
    run = f"""
from factory import make
from ray.train.huggingface import TransformersCheckpoint
from transformers import AutoModelForMaskedLM

result = make({{}}).fit()
{read}
"""
    write(tmp_path, {"factory.py": factory, "run.py": run})
    summary = convert(tmp_path)
    assert not [finding for finding in summary.findings if finding.kind is Kind.ERROR]
    assert (tmp_path / "run.py").read_text().count('"checkpoint"') + (tmp_path / "run.py").read_text().count(
        "/checkpoint/"
    ) == 1
    assert not convert(tmp_path).changed


def test_a_script_that_uses_nothing_of_the_job_is_none_of_it(tmp_path: Path) -> None:
    other = f"from loops import helper\nargs = TrainingArguments(no_cuda=True)\nresult = helper()\n{READ}\n"
    write(tmp_path, {"loops.py": "helper = None\n"})
    assert not [f for f in found(tmp_path, "", {"other.py": other}).findings if f.path.endswith("other.py")]


@pytest.mark.parametrize(
    ("report", "message"),
    [
        ('session.report({"loss": 1.0})', "No report in {} carries a checkpoint, so "),
        (
            f'if config["last"]:\n        {REPORT}\n    else:\n        session.report({{"loss": 1.0}})',
            "Some reports in {} ",
        ),
        (REPORT, ""),
    ],
)
def test_reports_without_a_checkpoint_are_told_where_their_metrics_are_read(
    report: str, message: str, tmp_path: Path
) -> None:
    run = "from factory import make\nresult = make().fit()\nprint(result.metrics)\n"
    summary = found(tmp_path, "", {"run.py": run}, report)
    messages = [f.message for f in summary.findings if f.code == "RM605" and f.kind is Kind.MANUAL]
    assert [m.startswith(message.format(tmp_path / "loops.py")) for m in messages] == [True] * bool(message)


def test_only_files_among_the_paths_given_are_looked_at(tmp_path: Path) -> None:
    run = f"from factory import make\nresult = make().fit()\n{READ}\n"
    found(tmp_path, "", {"scripts/run.py": run, "run.py": "pass\n"})
    write(tmp_path, {"job/loops.py": LOOP.format(report=REPORT), "job/factory.py": FACTORY.format(more="")})
    write(tmp_path, {"job/run.py": run})
    assert not told(convert(tmp_path / "job" / "factory.py", tmp_path / "job" / "loops.py"))
    write(tmp_path, {"job/loops.py": LOOP.format(report=REPORT), "job/factory.py": FACTORY.format(more="")})
    assert told(convert(tmp_path / "job" / "factory.py", tmp_path / "job" / "run.py")) == SURE


def test_files_that_only_have_words_in_common_are_not_parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []

    class Counted(Module):
        def __init__(self, text: str, path: str = "", project: Project | None = None) -> None:
            parsed.append(path)
            super().__init__(text, path, project)

    monkeypatch.setattr(project_facts, "Module", Counted)
    files = {}
    for number in range(10):
        files[f"p{number}/train.py"] = f"{FACTORY.format(more='')}\nmain = make\n"
        files[f"p{number}/loops.py"] = LOOP.format(report=REPORT)
        files[f"p{number}/run.py"] = f"from train import main\nresult = main().fit()\n{READ}\n"
        files[f"other_{number}.py"] = "from ray import train\n# from train import main, it says\nmain = train\n"
    write(tmp_path, {"setup.py": "", **files})
    summary = convert(tmp_path)
    assert sum(f.code == "RM304" for f in summary.findings) == 10
    assert max(parsed.count(path) for path in parsed) <= 4
    assert not any("other_" in path and parsed.count(path) > 2 for path in parsed)


def test_a_baseline_of_what_scripts_read_is_json(tmp_path: Path) -> None:
    """What is told of a file that was no candidate is told in every format."""
    run = f"from factory import make\nresult = make().fit()\n{READ}\n"
    summary = found(tmp_path, "", {"run.py": run})
    assert json.dumps([f.message for f in summary.findings])
    assert any(r.path.endswith("run.py") and r.is_written for r in summary.results)


HANDED_ON = """
def fit():
    return make().fit()


def last():
    return fit().checkpoint


def kept():
    return last()


class Job:
    def __init__(self):
        self.checkpoint = fit().checkpoint

    def best(self):
        return self.checkpoint


def other():
    return Accelerator()
"""


@pytest.mark.parametrize(
    ("read", "is_told"),
    [
        ("last().to_dict()", True),
        ("factory.kept().to_dict()", True),
        ("Job().checkpoint.to_dict()", True),
        ("Job().best().to_dict()", True),
        ("other().to_dict()", False),
        ("other().checkpoint.to_dict()", False),
    ],
)
def test_a_checkpoint_is_known_that_another_file_takes_from_a_result(tmp_path: Path, read: str, is_told: bool) -> None:
    user = f"import ray\nimport factory\nfrom factory import Job, last, other\n\nprint(ray, {read})\n"
    summary = found(tmp_path, "from accelerate import Accelerator\n" + HANDED_ON, {"user.py": user})
    told = [f for result in summary.results for f in result.findings if result.path.endswith("user.py")]
    assert any("Checkpoint.to_dict() raises" in f.message for f in told) is is_told


def test_what_another_file_saves_is_not_taken_for_what_this_one_does(tmp_path: Path) -> None:
    user = (
        "from factory import last\nfrom ray.air import Checkpoint, session\n\n\ndef other(config):\n"
        "    session.report({}, checkpoint=Checkpoint.from_dict({'a': 1}))\n\n\nprint(last().to_dict())\n"
    )
    summary = found(tmp_path, HANDED_ON.replace("Accelerator()", "1"), {"user.py": user})
    told = [f for result in summary.results for f in result.findings if result.path.endswith("user.py")]
    assert [f.kind for f in told if "Checkpoint.to_dict() raises" in f.message] == [Kind.MANUAL]
