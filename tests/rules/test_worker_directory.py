"""RM482: TUNE_ORIG_WORKING_DIR. RM483: what a training function writes into its working directory."""

from pathlib import Path

import pytest

from raymigrate.base.findings import Kind
from tests.projects.files import convert
from tests.rules.scripts import converted

SCRIPT = """
import argparse
import os
import pathlib

from accelerate import Accelerator
from accelerate.utils import ProjectConfiguration
from ray.air import ScalingConfig, session
from ray.train.huggingface import AccelerateTrainer

OUT = "outputs"
GIVEN = {{"project_dir": OUT}}
parser = argparse.ArgumentParser()
parser.add_argument("--out", default="outputs")
parser.add_argument("--shared", default="/shared/outputs")
args = parser.parse_args()


class Settings:
    out = "outputs"


def loop(config):
    accelerator = {made}
    accelerator.init_trackers("run")
    session.report({{"loss": 1.0}})


trainer = AccelerateTrainer(loop, accelerate_config={{}}, scaling_config=ScalingConfig(num_workers=2, use_gpu=True))
trainer.fit()
"""


@pytest.mark.parametrize(
    "made",
    [
        'Accelerator(log_with="tensorboard", project_dir="logs")',
        'Accelerator(log_with="tensorboard", logging_dir="./logs")',
        'Accelerator(project_config=ProjectConfiguration(project_dir="runs/one"))',
        'Accelerator(project_config=ProjectConfiguration("/runs", logging_dir="logs"))',
        'Accelerator(project_dir=f"{OUT}/logs")',
        "Accelerator(project_dir=os.path.join(OUT, config['run']))",
        "Accelerator(project_dir=pathlib.Path(OUT) / 'logs')",
        "Accelerator(project_dir=args.out)",
        "Accelerator(project_dir=Settings.out)",
        'Accelerator(**{"project_dir": "logs"})',
        'Accelerator(log_with="tensorboard", **dict(logging_dir="logs"))',
        "Accelerator(**GIVEN)",
    ],
)
def test_a_relative_folder_of_accelerate_is_told(made: str) -> None:
    assert converted(SCRIPT.format(made=made)).lines("RM483", Kind.MANUAL)


@pytest.mark.parametrize(
    "made",
    [
        "Accelerator()",
        'Accelerator(project_dir="/shared/logs")',
        'Accelerator(project_dir="~/logs")',
        "Accelerator(project_dir=None)",
        'Accelerator(**{"project_dir": "/shared/logs"})',
        'Accelerator(**{"log_with": "all"})',
        "Accelerator(**config)",
        "Accelerator(project_dir=os.path.abspath(args.out))",
        'make(project_dir="logs")',
    ],
)
def test_other_folders_are_not(made: str) -> None:
    assert not converted(SCRIPT.format(made=made)).lines("RM483", Kind.MANUAL)


@pytest.mark.parametrize("folder", ["config['folder']", "load_settings().folder", "os.environ['OUT']"])
def test_a_folder_that_cannot_be_seen_is_told_as_such(folder: str) -> None:
    messages = converted(SCRIPT.format(made=f"Accelerator(project_dir={folder})")).messages
    assert any(f"If {folder} is a relative path, it is written to" in message for message in messages)


@pytest.mark.parametrize(
    "written",
    [
        "accelerator.save_state('states')",
        "accelerator.save_model(model, OUT)",
        "torch.save(model.state_dict(), f'{OUT}/{name}.pt')",
        "model.save_pretrained(args.out)",
        "open(pathlib.Path(OUT) / 'log.txt', 'w')",
    ],
)
def test_what_is_written_below_a_named_folder_is_told(written: str) -> None:
    script = SCRIPT.format(made=f"Accelerator()\n    {written}").replace("import os\n", "import os\nimport torch\n")
    assert len(converted(script).lines("RM483", Kind.MANUAL)) == 1


WRITTEN = {
    "command line": "accelerator.unwrap_model(model).save_pretrained(args.folder, is_main_process=True)",
    "namespace in the config": "model.save_pretrained(config['args'].output_dir)",
    "config": "torch.save(model.state_dict(), config['folder'] + '/model.pt')",
    "config with get()": "accelerator.save_state(config.get('folder'))",
    "environment": "open(os.path.join(os.environ['OUT'], 'log.txt'), 'a')",
    "keyword": "accelerator.save_model(model, save_directory=config['folder'])",
    "another module": "accelerator.save(model.state_dict(), settings.FOLDER / 'model.pt')",
    "function of somebody else": "torch.save(model.state_dict(), make_folder())",
    "through a name": "out = config['folder']\n    torch.save(1, out)",
    "beside a checkpoint of another folder": (
        "with tempfile.TemporaryDirectory() as folder:\n        session.report({}, "
        "checkpoint=Checkpoint.from_directory(folder))\n    torch.save(1, config['folder'])"
    ),
}
KNOWN = {
    "temporary folder": "with tempfile.TemporaryDirectory() as folder:\n        torch.save(1, folder + '/model.pt')",
    "temporary folder without with": "torch.save(1, os.path.join(tempfile.mkdtemp(), 'model.pt'))",
    "open file": "with open('/shared/model.pt', 'wb') as file:\n        torch.save(1, file)",
    "buffer": "file = io.BytesIO()\n    torch.save(1, file)",
    "remote file": "with storage.open(config['folder'], 'wb') as file:\n        torch.save(1, file)",
    "read": "open(config['folder'])",
    "made absolute": "torch.save(1, os.path.abspath(config['folder']))",
    "absolute by default": "torch.save(1, args.shared)",
    "beside the script": "torch.save(1, os.path.join(os.path.dirname(__file__), 'model.pt'))",
    "checkpoint": (
        "folder = config['folder']\n    model.save_pretrained(folder)\n    session.report({}, "
        "checkpoint=Checkpoint.from_directory(folder))"
    ),
    "folder below a checkpoint's": (
        "torch.save(1, os.path.join(config['folder'], 'model.pt'))\n    session.report({}, "
        "checkpoint=Checkpoint.from_directory(config['folder']))"
    ),
    "null device": "open(os.devnull, 'w')",
    "folder of a checkpoint that was loaded": (
        "folder = config['checkpoint'].to_directory()\n    torch.save(1, os.path.join(folder, 'model.pt'))"
    ),
    "another library": "image.save(config['folder'])",
}
MORE_IMPORTS = "import io\nimport os\nimport tempfile\nimport torch\nimport settings\nfrom job import make_folder\n"


def _written(body: str) -> list[str]:
    script = SCRIPT.format(made=f"Accelerator()\n    {body}").replace("import os\n", MORE_IMPORTS)
    script = script.replace("import ScalingConfig,", "import Checkpoint, ScalingConfig,")
    return [message for message in converted(script).messages if "session's folder" in message]


@pytest.mark.parametrize("body", WRITTEN.values(), ids=WRITTEN)
def test_a_path_that_cannot_be_seen_is_told_as_such(body: str) -> None:
    assert [message for message in _written(body) if message.startswith("If ")]


@pytest.mark.parametrize("body", KNOWN.values(), ids=KNOWN)
def test_what_is_no_path_of_the_user_is_not(body: str) -> None:
    assert not _written(body)


def test_a_folder_that_cannot_be_seen_is_told_once() -> None:
    body = "model.save_pretrained(args.folder)\n    torch.save(1, f'{args.folder}/a')\n    torch.save(1, args.other)"
    assert len(_written(body)) == 2


def test_the_folder_comes_from_another_module_of_the_project(tmp_path: Path) -> None:
    (tmp_path / "settings.py").write_text(
        "OUT = 'outputs'\n\n\nclass Config:\n    out = 'outputs'\n\n\nconfig = Config()\n"
    )
    made = "Accelerator(project_dir=settings.OUT)\n    accelerator = Accelerator(project_dir=settings.config.out)"
    (tmp_path / "job.py").write_text(f"import settings\n{SCRIPT.format(made=made)}")
    assert len([f for f in convert(tmp_path).findings if f.code == "RM483"]) == 2


INIT = """
import json
import os
import tempfile
from pathlib import Path

import numpy as np
import torch
from ray.air import ScalingConfig, session
from ray.train.huggingface import TransformersTrainer
from transformers import AutoModel, Trainer, TrainerCallback, TrainingArguments

NAME = "ds.json"


class Log(TrainerCallback):
    def on_train_end(self, args, state, control, **kwargs):
        if state.is_world_process_zero:
            {called}


def write(config):
    with open("written.json", "w") as file:
        json.dump(config["ds"], file)


def init(train_dataset, eval_dataset=None, **config):
    rank = session.get_world_rank()
    {body}
    return Trainer(model, args, train_dataset=train_dataset, callbacks=[Log()])


trainer = TransformersTrainer(
    trainer_init_per_worker=init,
    trainer_init_config={{}},
    scaling_config=ScalingConfig(num_workers=2, use_gpu=True),
    datasets={{"train": make()}},
)
trainer.fit()
print(open("ds.json").read())
"""
RACE = "one may read it while another one writes it"
DUMP = "with open({0}, 'w') as file:\n        json.dump(config['ds'], file)\n    args = TrainingArguments('/out'{1})"


def _in_init(body: str, called: str = "pass", workers: int = 2) -> list[str]:
    script = INIT.format(body=body, called=called).replace("num_workers=2", f"num_workers={workers}")
    result = converted(script)
    told = [m for (code, _, _), m in zip(result.findings, result.messages, strict=True) if code == "RM483"]
    again = converted(result.text)
    assert told == [m for (code, _, _), m in zip(again.findings, again.messages, strict=True) if code == "RM483"]
    return told


@pytest.mark.parametrize(
    "body",
    [
        DUMP.format("'ds.json'", ", deepspeed='ds.json'"),
        DUMP.format("NAME", ", deepspeed=NAME"),
        DUMP.format("'ds.json'", ", deepspeed=NAME"),
        DUMP.format("Path('ds.json')", ", deepspeed='ds.json'"),
        DUMP.format("'ds.json'", "\n    )\n    args.deepspeed = ('ds.json'"),
        DUMP.format("'ds.json'", ", **{'deepspeed': 'ds.json'}"),
        DUMP.format("'ds.json'", ")\n    read = json.load(open('ds.json')"),
        DUMP.format("'ds.json'", ")\n    read = json.loads(Path('ds.json').read_text()"),
        DUMP.format("config['path']", ", deepspeed=config['path']"),
        "path = os.path.join('settings', 'ds.json')\n    " + DUMP.format("path", ", deepspeed=path"),
        "path = Path('settings') / 'ds.json'\n    " + DUMP.format("path", ", deepspeed=str(path)"),
        "write(config)\n    args = TrainingArguments('/out', deepspeed='written.json')",
        "Path('ds.json').write_text('{}')\n    args = TrainingArguments('/out', deepspeed='ds.json')",
        "torch.save(1, 'a.pt')\n    args = make_arguments(torch.load('a.pt'))",
        "np.save('a.npy', 1)\n    args = make_arguments(np.load('a.npy'))",
        "config['model'].save_pretrained('model')\n    args = make_arguments(AutoModel.from_pretrained('model'))",
    ],
)
def test_a_file_that_every_worker_writes_and_reads_is_a_race(body: str) -> None:
    assert any(RACE in message and "tempfile.mkdtemp()" in message for message in _in_init(body))
    assert not any(RACE in message for message in _in_init(body, workers=1))


@pytest.mark.parametrize(
    "body",
    [
        DUMP.format("'ds.json'", ""),
        DUMP.format("'ds.json'", ")\n    print('ds.json')\n    os.remove('ds.json'"),
        DUMP.format("f'ds-{rank}.json'", ", deepspeed=f'ds-{rank}.json'"),
        DUMP.format("'/shared/ds.json'", ", deepspeed='/shared/ds.json'"),
        "path = os.path.join(tempfile.mkdtemp(), 'a')\n    " + DUMP.format("path", ", deepspeed=path"),
        "torch.save(1, os.path.join(config['out'], 'a.pt'))\n    args = TrainingArguments(config['out'])",
        "if rank == 0:\n        torch.save(1, 'a.pt')\n    args = make_arguments(torch.load('a.pt'))",
    ],
)
def test_other_files_are_none(body: str) -> None:
    assert not any(RACE in message for message in _in_init(body))


LOGGED = "np.save(os.path.join(args.output_dir, 'lr.npy'), 1)"


@pytest.mark.parametrize(
    ("made", "told"),
    [
        ("TrainingArguments('out')", " is a relative path: written"),
        ("TrainingArguments(output_dir='/out')", None),
        ("TrainingArguments(**config)", "If os.path.join(args.output_dir"),
        ("make_arguments()", "If os.path.join(args.output_dir"),
    ],
)
def test_the_output_dir_of_the_training_arguments(made: str, told: str | None) -> None:
    for called, body in ((LOGGED, f"args = {made}"), ("pass", f"args = {made}\n    {LOGGED}")):
        messages = _in_init(body, called)
        assert len(messages) == (told is not None)
        assert told is None or told in messages[0]


def test_a_function_that_another_file_hands_to_the_trainer(tmp_path: Path) -> None:
    before, _, after = INIT.format(body="args = TrainingArguments('out')", called=LOGGED).partition("trainer = ")
    (tmp_path / "worker.py").write_text(before)
    (tmp_path / "job.py").write_text(
        "from ray.air import ScalingConfig\nfrom ray.train.huggingface import TransformersTrainer\n"
        f"from worker import init\n\ntrainer = {after}"
    )
    assert [f.path.rpartition("/")[2] for f in convert(tmp_path).findings if f.code == "RM483"] == ["worker.py"]


DOWNLOADED = {
    "dataset": "MNIST('./data', download=True)",
    "dataset by keyword": "torchvision.datasets.CIFAR10(root='data', train=False, download=True)",
    "two of one folder": "MNIST('data', download=True)\n    MNIST(root='data', train=False, download=True)",
    "constant": "torchvision.datasets.FashionMNIST(OUT, download=True)",
    "argument": "MNIST(args.out, download=True)",
    "speech": "torchaudio.datasets.SPEECHCOMMANDS('data', download=True)",
    "file": "urlretrieve('https://host/a', 'a.csv')",
    "file by keyword": "torch.hub.download_url_to_file(url='https://host/a', dst='a.pt')",
    "function": "prepare()",
}
NOT_AT_ONCE = {
    "absolute": "MNIST('/data', download=True)",
    "home": "MNIST('~/data', download=True)",
    "there already": "MNIST('data')\n    MNIST('data', download=False)",
    "unknown": "MNIST(config['root'], download=True)",
    "above": "MNIST('../data', download=True)",
    "lock": "with FileLock('/tmp/lock'):\n        MNIST('data', download=True)",
    "one after the other": "with accelerator.local_main_process_first():\n        MNIST('data', download=True)",
    "rank": "if session.get_local_rank() == 0:\n        MNIST('data', download=True)",
    "own class": "Own('data', download=True)",
    "temporary file": "urlretrieve('https://host/a')",
    "temporary folder": "MNIST(tempfile.mkdtemp(), download=True)",
}
DOWNLOADING = """
import tempfile
import torch
import torchaudio
import torchvision
from filelock import FileLock
from own import Own
from torchvision.datasets import MNIST
from urllib.request import urlretrieve


def prepare():
    return MNIST("prepared", download=True)

"""


def _downloaded(body: str, workers: int = 2) -> int:
    script = DOWNLOADING + SCRIPT.format(made=f"Accelerator()\n    {body}")
    outcome = converted(script.replace("num_workers=2", f"num_workers={workers}"))
    return len([message for message in outcome.messages if "they download to it at once" in message])


@pytest.mark.parametrize("body", DOWNLOADED.values(), ids=DOWNLOADED)
def test_what_every_worker_downloads_to_a_shared_folder_is_told(body: str) -> None:
    assert _downloaded(body) == 1
    assert not _downloaded(body, workers=1)


@pytest.mark.parametrize("body", NOT_AT_ONCE.values(), ids=NOT_AT_ONCE)
def test_other_downloads_are_not(body: str) -> None:
    assert not _downloaded(body)


OF_A_CLASS = """
from ray.air import session
from ray.air.config import ScalingConfig
from ray.train.torch import TorchTrainer


class Job:
    @staticmethod
    def train(config):
        {called}(config)
        session.report({{"loss": 1.0}})

    {decorator}
    def measure(self_or_config):
        {measures}

    def run(self):
        with open("out.txt", "w") as file:
            file.write("started")
        return TorchTrainer(Job.train, scaling_config=ScalingConfig(num_workers=2)).fit()


Job().run()
"""


def test_of_a_class_whose_static_method_is_called_the_other_methods_do_not_run_on_workers() -> None:
    script = OF_A_CLASS.format(called="Job.measure", decorator="@staticmethod", measures="print(self_or_config)")
    assert not converted(script).lines("RM483", Kind.MANUAL)


@pytest.mark.parametrize(
    ("called", "decorator", "measures"),
    [
        ("Job.measure", "@staticmethod", "Job().run()"),
        ("Job.measure", "@classmethod", "self_or_config().run()"),
        ("Job().measure", "", "self_or_config.run()"),
    ],
    ids=["makes an instance", "class method", "method"],
)
def test_those_that_the_method_reaches_do(called: str, decorator: str, measures: str) -> None:
    script = OF_A_CLASS.format(called=called, decorator=decorator, measures=measures)
    assert converted(script).lines("RM483", Kind.MANUAL)


@pytest.mark.parametrize(
    ("value", "runs_there"),
    [
        ('scale = "base"', False),
        ("scale: float = 2.0", False),
        ("scale = SCALE", False),
        ("scale = lambda config: Job().run()", True),
        ("scale = start", True),
    ],
)
def test_a_class_of_which_only_a_value_is_read_runs_elsewhere(value: str, runs_there: bool) -> None:
    script = OF_A_CLASS.format(called="print(Job.scale); str", decorator="", measures="pass")
    script = script.replace(
        "class Job:", f"SCALE = 2.0\n\n\ndef start(config):\n    Job().run()\n\n\nclass Job:\n    {value}\n"
    )
    assert bool(converted(script).lines("RM483", Kind.MANUAL)) is runs_there


@pytest.mark.parametrize(
    ("read", "is_told"),
    [
        ('os.environ["TUNE_ORIG_WORKING_DIR"]', True),
        ('os.environ.get("TUNE_ORIG_WORKING_DIR", ".")', True),
        ('os.getenv("TUNE_ORIG_WORKING_DIR")', True),
        ('print("see", "TUNE_ORIG_WORKING_DIR")', True),
        ('"TUNE_ORIG_WORKING_DIR"', False),
        ('os.environ["ORIG_WORKING_DIR"]', False),
        ("session.get_trial_dir()", False),
    ],
)
def test_reads_of_the_variable_of_the_old_working_directory(read: str, *, is_told: bool) -> None:
    outcome = converted(SCRIPT.format(made=f"Accelerator()\n    {read}"))
    assert len(outcome.lines("RM482", Kind.MANUAL)) == is_told
    assert read in outcome.text or not is_told


def test_scripts_without_ray_may_call_a_variable_so() -> None:
    script = 'import os\nprint(os.environ["TUNE_ORIG_WORKING_DIR"])\n'
    assert converted(script).findings == []


OF_TRAINER = """
import os

import transformers
from ray.air import ScalingConfig
from ray.train.huggingface import TransformersTrainer
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR


class Base({base}):
    pass


class Own(Base):
    def {method}:
        {body}


def init(train_dataset, eval_dataset=None, **config):
    args = transformers.TrainingArguments("out", save_strategy="epoch")
    return {made}


scaling_config = ScalingConfig(num_workers=2, use_gpu=True)
TransformersTrainer(init, scaling_config=scaling_config, datasets={{"train": rows}}).fit()
"""
TRAINER = ("transformers.Trainer", "Own(model, args, train_dataset=train_dataset)")
CALLBACK = (
    "transformers.TrainerCallback",
    "transformers.Trainer(model, args, train_dataset=train_dataset, callbacks=[Own()])",
)
SAVE = "_save(self, output_dir=None, state_dict=None)"
ON_SAVE = "on_save(self, args, state, control, **kwargs)"
STEP = 'f"checkpoint-{state.global_step}"'


@pytest.mark.parametrize(
    ("kind", "method", "body"),
    [
        (TRAINER, SAVE, "out = output_dir or self.args.output_dir; self.model.save_pretrained(out)"),
        (TRAINER, SAVE, "self.model.save_pretrained(os.path.join(output_dir, 'adapter'))"),
        (TRAINER, SAVE, "self.model.save_pretrained(f'{output_dir}/adapter')"),
        (TRAINER, "save_model(self, output_dir=None, _internal_call=False)", "self.model.save_pretrained(output_dir)"),
        (
            *(TRAINER, "_save_checkpoint(self, model, trial)"),
            "model.save_pretrained(os.path.join(self._get_output_dir(trial=trial), 'checkpoint-last'))",
        ),
        (CALLBACK, ON_SAVE, f"kwargs['model'].save_pretrained(os.path.join(args.output_dir, {STEP}, 'adapter'))"),
        (
            *(CALLBACK, ON_SAVE),
            'out = os.path.join(args.output_dir, f"{PREFIX_CHECKPOINT_DIR}-{state.global_step}");'
            " kwargs['model'].save_pretrained(out)",
        ),
    ],
)
def test_what_goes_into_the_checkpoint_of_a_trainer_is_kept(kind: tuple[str, str], method: str, body: str) -> None:
    script = OF_TRAINER.format(base=kind[0], made=kind[1], method=method, body=body)
    assert not converted(script).lines("RM483", Kind.MANUAL)


@pytest.mark.parametrize(
    ("kind", "method", "body"),
    [
        (TRAINER, "evaluate(self, *args, **kwargs)", "self.save_model('best')"),
        (TRAINER, "save_best(self, output_dir)", "self.model.save_pretrained(output_dir)"),
        (TRAINER, SAVE, "self.model.save_pretrained('last')"),
        (TRAINER, SAVE, "self.model.save_pretrained(os.path.join(self.args.output_dir, 'history'))"),
        (TRAINER, SAVE, "self.model.save_pretrained('logs/' + os.path.basename(output_dir))"),
        (("Other", TRAINER[1]), SAVE, "self.model.save_pretrained(output_dir)"),
        (CALLBACK, ON_SAVE, "kwargs['model'].save_pretrained(os.path.join(args.output_dir, 'adapter'))"),
        (CALLBACK, "on_train_end(self, args, state, control, **kwargs)", "kwargs['model'].save_pretrained('adapter')"),
    ],
)
def test_what_goes_elsewhere_is_told(kind: tuple[str, str], method: str, body: str) -> None:
    script = OF_TRAINER.format(base=kind[0], made=kind[1], method=method, body=body)
    assert converted(script.replace("import os\n", "import os\nfrom job import Other\n")).lines("RM483", Kind.MANUAL)


HELPER = """
import json

from ray.air import ScalingConfig
from ray.train.huggingface import TransformersTrainer
from transformers import AutoModel, Trainer, TrainerCallback, TrainingArguments


class Log(TrainerCallback):
    def on_log(self, args, state, control, logs=None, **kwargs):
        {call}

    def {name}(self, {parameters}):
        with open({path}, "w") as file:
            json.dump(logs, file)


def init(train_dataset, eval_dataset=None, **config):
    return Trainer(AutoModel.from_pretrained("gpt2"), TrainingArguments("/out"), callbacks=[Log()])


trainer = TransformersTrainer(init, scaling_config=ScalingConfig(num_workers=2), datasets={{"train": rows}})
trainer.fit()
{end}
"""
CAN_BE, UNSURE = "can be a relative path, which is", "is a relative path, it is"


@pytest.mark.parametrize(
    ("call", "name", "parameters", "path", "end", "said"),
    [
        ("self._write('a.txt', logs)", "_write", "path, logs", "path", "", CAN_BE),
        ("self.write('a.txt', logs)", "write", "path, logs", "path", "", CAN_BE),
        ("Log._write('a.txt', logs)", "_write", "path, logs=None", "path", "", UNSURE),  # which is self there
        ("self._write(logs, path='a.txt')", "_write", "logs, path", "path", "", CAN_BE),
        ("self._write(logs, path='a.txt')", "_write", "logs, *, path", "path", "", CAN_BE),
        ("self._write('logs', logs)", "_write", "folder, logs", "f'{folder}/a.txt'", "", CAN_BE),
        ("self._write('/logs/a.txt', logs)", "_write", "path, logs", "path", "", None),
        ("self._write('/logs/a.txt', logs); self._write('a.txt', logs)", "_write", "path, logs", "path", "", CAN_BE),
        ("self.write('/logs/a.txt', logs)", "write", "path, logs", "path", "", UNSURE),
        ("self._write(state.path, logs)", "_write", "path, logs", "path", "", UNSURE),
        ("self._write(*pair)", "_write", "path, logs", "path", "", UNSURE),
        ("self._write('/logs/a.txt', logs)", "_write", "path, logs", "path", "Log()._write(path, {})", UNSURE),
    ],
)
def test_a_path_that_methods_of_its_class_give_a_helper_is_known(
    call: str, name: str, parameters: str, path: str, end: str, said: str | None
) -> None:
    found = converted(HELPER.format(call=call, name=name, parameters=parameters, path=path, end=end))
    told = [message for message in found.messages if "not kept with the trial" in message]
    assert [said in message for message in told] == [True] if said is not None else not told


@pytest.mark.parametrize(
    "classes",
    [
        "class Job:\n    product = lambda n: 1 if n < 2 else n * Job.product(n - 1)\n",
        "class Peer:\n    product = lambda n: Job.product(n)\nclass Job:\n    product = lambda n: Peer.product(n)\n",
    ],
)
def test_a_value_of_a_class_that_comes_to_itself_is_followed_once(classes: str) -> None:
    loop = "def loop(config):\n    open('losses.txt', 'w').write(str(Job.product(3)))\n    session.report({})\n"
    head = "from ray.air import session\nfrom ray.train.torch import TorchTrainer\n"
    outcome = converted(f"{head}{classes}\n{loop}\nTorchTrainer(loop).fit()\n")
    assert len(outcome.lines("RM483", Kind.MANUAL)) == 1


REPORTED = """
from accelerate import Accelerator
from ray.air import Checkpoint, ScalingConfig, session
from ray.train.huggingface import AccelerateTrainer
from job import save


def loop(config):
    accelerator, model = Accelerator(), config["model"]
    {written}
    session.report({{"loss": 1.0}}, checkpoint=Checkpoint.from_directory("out"))


AccelerateTrainer(loop, scaling_config=ScalingConfig(num_workers=2, use_gpu=True)).fit()
"""


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ('model.save_pretrained("out", save_function=accelerator.save)', False),
        ('keep = accelerator.save\n    model.save_pretrained("out", save_function=keep)', False),
        (
            'model.save_pretrained("out", save_function=accelerator.save, is_main_process=accelerator.is_main_process)',
            False,
        ),
        ('model.save_pretrained("out", save_function=save)', True),
        ('model.save_pretrained("out")', True),
    ],
)
def test_what_accelerate_saves_for_a_report_the_main_process_writes(written: str, told: bool) -> None:
    assert bool(converted(REPORTED.format(written=written)).lines("RM483", Kind.MANUAL)) is told


@pytest.mark.parametrize(
    ("path", "is_there"), [("./out/model", True), ("out/", True), ("outputs/model", False), ("other/out", False)]
)
def test_what_lies_beside_the_folder_that_is_reported_is_not_kept(path: str, is_there: bool) -> None:
    outcome = converted(REPORTED.format(written=f"model.save_pretrained('{path}')"))
    [message] = [each for each in outcome.messages if path in each]
    assert ("not kept with the trial" in message) is not is_there


def test_a_folder_that_a_function_makes_a_checkpoint_of_may_be_any() -> None:
    made = "def made(folder):\n    return Checkpoint.from_directory(folder)\n\n\ndef loop("
    script = REPORTED.replace("def loop(", made).replace('Checkpoint.from_directory("out")', 'made("out")')
    messages = converted(script.format(written="model.save_pretrained('out')")).messages
    assert not any("not kept with the trial" in message for message in messages)


@pytest.mark.parametrize("path", ["'out/{}.pt'.format(config['run'])", "'out/%d.pt' % config['run']"])
def test_a_path_from_a_template_is_told_as_any_other(path: str) -> None:
    outcome = converted(SCRIPT.format(made=f"Accelerator()\n    accelerator.save_state({path})"))
    assert outcome.lines("RM483", Kind.MANUAL)
    assert not [code for code, _, _ in outcome.findings if code.startswith("RM90")]
