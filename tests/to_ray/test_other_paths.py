"""Relative paths that go to what is not known to take paths: the workers go to the driver's folder."""

from pathlib import Path

import pytest

from raymigrate.base.options import Options
from raymigrate.run.engine import convert

SCRIPT = """
import argparse, glob, logging, mlflow, os, sys, torch, torchvision, wandb
from pathlib import Path
from PIL import Image
from datasets import load_dataset
from torch.utils.tensorboard import SummaryWriter
from transformers import AutoModel, AutoTokenizer, Trainer, TrainingArguments, pipeline
from own import make, rows

parser = argparse.ArgumentParser()
parser.add_argument("--log", default="./log")
parser.add_argument("--data_dir")
parser.add_argument("--count", default=3)
args = parser.parse_args()


def main():
    model = make()
    {line}
    trainer = Trainer(model, TrainingArguments("runs"), train_dataset=rows(1))
    trainer.train()


main()
"""


def converted(line: str, path: str = "") -> str:
    return str(convert(SCRIPT.format(line=line), path, options=Options(to_ray=True)).after)


@pytest.mark.parametrize(
    "line",
    [
        'data = torchvision.datasets.MNIST("./data")',
        'data = torchvision.datasets.MNIST("data")',
        'data = torchvision.datasets.ImageFolder(root="data")',
        "data = torchvision.datasets.MNIST(args.data_dir)",
        "writer = SummaryWriter()",
        'writer = SummaryWriter("runs/one")',
        "writer = SummaryWriter(args.log)",
        'data = rows("../data/%s" % args.count)',
        'data = rows("data/{}.pt".format(args.count))',
        'data = rows("{}.pt".format(args.count))',
        'data = rows(f"{args.count}.pt")',
        'data = rows("data/train")',
        'data = rows(folder="train")',
        "data = rows(sys.argv[1])",
        "data = rows(os.getcwd())",
        'model.config = make(chat_template_path="template.jinja")',
        'images = [Image.open(image) for image in glob.glob("images/*.png")]',
        'text = Path("words").read_text()',
        'logging.basicConfig(filename="train.log")',
        'wandb.init(dir="./logs")',
        'data = load_dataset("./script")',
        'data = load_dataset("csv", cache_dir="cache")',
        'data = os.path.join(model.name, "rows")',
        'data = os.path.abspath("rows")',
        'model.save_weights("weights/last")',
        "other = AutoModel.from_pretrained(args.model_path)",
        'torch.save(model, "model.pt")\n    wandb.save("model.pt")',
        'wandb.save("weights/*.pt", policy="end")',
        'wandb.log_artifact("model.pt", name="model", type="model")',
        'mlflow.log_artifacts("weights")',
        'wandb.log({"rows": wandb.Image("rows.png")})',
        'wandb.Artifact("model", type="model").add_file("model.pt")',
        'wandb.Artifact("model", type="model").add_dir("weights/last")',
    ],
)
def test_workers_go_to_the_folder_of_the_driver(line: str) -> None:
    after = converted(line)
    assert "DIRECTORY = os.getcwd()" in after
    assert "    os.chdir(DIRECTORY)" in after


@pytest.mark.parametrize(
    "line",
    [
        'data = load_dataset("org/name")',
        'other = AutoModel.from_pretrained("org/name", cache_dir="/cache")',
        'other = AutoTokenizer.from_pretrained("org/name", subfolder="tokenizer")',
        'pipe = pipeline("text-classification", model="org/name")',
        'data = rows("org-name")',
        'data = rows(model_name="org/name")',
        'data = load_model("org/name")',
        'data = rows("/data/train")',
        'data = rows("s3://bucket/rows.csv")',
        'data = rows(model.url or "s3://bucket/rows.csv")',
        'data = rows("Epoch {}/{}".format(1, 2))',
        'data = rows(folder="/data")',
        "data = rows(cache_dir=None)",
        'data = rows(split="train")',
        "data = rows(args.count)",
        "print(args.data_dir)",
        'print("a/b.txt")',
        'logging.info("a/b.txt")',
        'parts = "a/b".split("/")',
        'wandb.log({"train/loss": 1})',
        'wandb.init(project="a/b")',
        'wandb.save("/data/model.pt")',
        "wandb.log_artifact(model.artifact)",
        'wandb.log({"rows": wandb.Image(model.rows, caption="a row")})',
        'mlflow.log_metric("train/loss", 1)',
        'model.add_scalar("loss/train", 1)',
        'value = os.environ.get("A/B", "c/d")',
        'data = rows(Path(__file__).parent / "rows.csv")',
        'data = os.path.join(os.path.dirname(__file__), "rows")',
        "image = Image.open(model.raw)",
        'image = Image.open(model.get("image"))',
        'with open("/words") as file:\n        words = rows(file)',
        "print(model, file=make().log_file)",
        'torch.save(model, "model.pt")',  # a constant stands for it
    ],
)
def test_they_stay_where_nothing_looks_like_a_path(line: str) -> None:
    after = converted(line)
    assert "def train_func" in after
    assert "os.chdir" not in after


@pytest.mark.parametrize("line", ['data = load_dataset("rows")', 'data = rows("rows")'])
def test_a_name_beside_the_script_is_that_of_the_file(tmp_path: Path, line: str) -> None:
    script = str(tmp_path / "train.py")
    assert "os.chdir" not in converted(line, script)
    (tmp_path / "rows").mkdir()
    assert "os.chdir(DIRECTORY)" in converted(line, script)


@pytest.mark.parametrize(
    ("line", "goes"),
    [
        ('upload("best", trainer.state)', True),
        ('upload(trainer.state, what="best")', True),
        ('upload("other", trainer.state)', False),
        ('print("best", trainer.state)', False),
        ('trainer.model.push_to_hub("best")', False),
    ],
)
def test_a_word_by_which_the_script_saves_is_a_path_for_a_library_too(line: str, goes: bool) -> None:
    script = SCRIPT.replace("import make", "import upload, make").replace(
        "trainer.train()", f"trainer.train()\n    trainer.save_model('best')\n    {line}"
    )
    assert ("os.chdir(" in str(convert(script.format(line="pass"), options=Options(to_ray=True)).after)) is goes


def test_a_constant_that_one_known_and_one_other_call_take() -> None:
    text = SCRIPT.format(line='writer = SummaryWriter(OUT)\n    torch.save(model, f"{OUT}/model.pt")')
    text = text.replace("\n\ndef main", '\nOUT = "out"\n\ndef main', 1)
    assert "os.chdir(DIRECTORY)" in str(convert(text, options=Options(to_ray=True)).after)


@pytest.mark.parametrize(
    "line",
    [
        'os.system(f"mkdir -p {args.log}")',
        'os.system("cp -r /data/rows " + args.data_dir)',
        'os.system("mkdir -p " + "made")',
        'command = "tar czf rows.tgz rows"\n    os.popen(command)',
        'import subprocess\n    subprocess.run(["tar", "czf", "/data/rows.tgz", "rows"], check=True)',
        'import subprocess\n    head = subprocess.check_output(["git", "rev-parse", "HEAD"])',
        "import subprocess\n    subprocess.call(args.command, shell=True)",
    ],
)
def test_a_command_that_may_name_files_runs_in_the_folder_of_the_driver(line: str) -> None:
    assert "os.chdir(DIRECTORY)" in converted(line)


@pytest.mark.parametrize(
    "line",
    [
        'os.system("nvidia-smi -L")',
        'os.system("mkdir -p /data/made")',
        'import subprocess\n    subprocess.run(["rm", "-rf", "/data/made"])',
        'os.system(f"ls /data/{args.count}")',
    ],
)
def test_a_command_that_names_none_does_not(line: str) -> None:
    assert "os.chdir" not in converted(line)


@pytest.mark.parametrize(
    "line",
    ['read_words("data/words.txt")', 'made = join("./data", "a")', 'export(model, "out/onnx")'],
)
def test_what_a_star_import_gives_may_take_paths(line: str) -> None:
    stars = SCRIPT.replace("from own import", "from helpers import *\nfrom own import")
    text = str(convert(stars.format(line=line), "", options=Options(to_ray=True)).after)
    assert "os.chdir(DIRECTORY)" in text
    assert "os.chdir" not in converted(line.replace("data/", "/data/").replace("./", "/").replace("out/", "/out/"))


@pytest.mark.parametrize("line", ['say("hello there")', 'print("data/words.txt")', 'model.say("no path")'])
def test_other_words_beside_a_star_import_are_none(line: str) -> None:
    stars = SCRIPT.replace("from own import", "from helpers import *\nfrom own import")
    assert "os.chdir" not in str(convert(stars.format(line=line), "", options=Options(to_ray=True)).after)


def test_the_folder_of_a_private_method_of_the_trainer_is_made_absolute() -> None:
    script = SCRIPT.format(line="pass").replace("trainer.train()\n", 'trainer.train()\n    trainer._save("best")\n')
    text = str(convert(script, "", options=Options(to_ray=True)).after)
    assert 'BEST = os.path.abspath("best")' in text
    assert "trainer._save(BEST)" in text


@pytest.mark.parametrize(
    ("made", "goes"),
    [
        ('IMAGES = Path("images")', True),
        ('IMAGES: Path = Path(".") / "images"', True),
        ('ROOT = Path("data")\nIMAGES = ROOT / "images"', True),
        ('IMAGES = Path("/data/images")', False),
        ('IMAGES = Path(__file__).parent / "images"', False),
        ('IMAGES = Path("images").resolve()', False),
    ],
)
def test_a_path_of_the_module_in_which_workers_look_for_files(made: str, goes: bool) -> None:
    script = SCRIPT.replace("def main", f"{made}\n\n\ndef main")
    line = 'images = [Image.open(image) for image in sorted(IMAGES.glob("*"))]'
    text = str(convert(script.format(line=line), "", options=Options(to_ray=True)).after)
    assert ("os.chdir(" in text) is goes
