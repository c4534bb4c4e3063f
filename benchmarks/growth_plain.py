"""Plain scripts and notebooks for `--to-ray` and `--to-accelerate`, as inputs of any size."""

from benchmarks.growth_inputs import Case, Files, notebook, project, script

TRAINER = """\
import os
from datasets import load_dataset
from transformers import AutoModel, AutoTokenizer, Trainer, TrainingArguments

tokenizer = AutoTokenizer.from_pretrained("bert")
"""
TRAINING = """\
trainer = Trainer(AutoModel.from_pretrained("bert"), TrainingArguments("out"))
trainer.train()
"""
OBJECTS = """\
import torch
from torch.utils.data import DataLoader
from transformers import AutoModel

model = AutoModel.from_pretrained("bert")
"""
LOADERS = """\
loader = DataLoader(rows, shuffle=True, batch_size=8)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
"""
NATIVE = OBJECTS + 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\nmodel.to(device)\n' + LOADERS
NATIVE_LOOP = """\
for epoch in range(3):
    for batch in loader:
        loss = model(**batch.to(device)).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
"""
ACCELERATE = f"from accelerate import Accelerator\n{OBJECTS}accelerator = Accelerator()\n{LOADERS}"
PREPARED = "model, optimizer, loader = accelerator.prepare(model, optimizer, loader)\n"
PREPARED_LOOP = NATIVE_LOOP.replace("batch.to(device)", "batch").replace(
    "loss.backward()", "accelerator.backward(loss)"
)
LAUNCHED = "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_processes: 2\n"
TO_RAY = ("--to-ray", "--workers", "2", "--cpu")
TO_ACCELERATE = ("--to-accelerate",)
TO_BOTH = (*TO_ACCELERATE, *TO_RAY)
WRITER = """\
def train_<n>(rows):
    trainer = Trainer(AutoModel.from_pretrained("bert"), TrainingArguments("out"), train_dataset=rows)
    trainer.train()
    open("file_<n>", "w").write("<n>")


"""
IN_ONE_FUNCTION = """\
    trainer_<n> = Trainer(AutoModel.from_pretrained("bert"), TrainingArguments("out_<n>"), train_dataset=rows)
    trainer_<n>.train()
    trainer_<n>.save_model("model_<n>")
    results["<n>"] = trainer_<n>.evaluate()
"""
WITH_TABLE = """\
def train_<n>(rows):
    trainer = Trainer(AutoModel.from_pretrained("bert"), TrainingArguments("out"), train_dataset=rows)
    trainer.train()
    results["<n>"] = trainer.evaluate()
    print(results)


train_<n>(rows)
"""
STORE = "def store(path):\n    open(path, 'w').write('x')\n\n\n"
METER = """\
class Meter:
    def update(self, loss):
        self.loss = loss


"""
IN_BRANCH = """\
if step == <n>:
    trainer_<n> = Trainer(AutoModel.from_pretrained("bert"), TrainingArguments("out"))
    trainer_<n>.train()
    open("file_<n>", "w").write("<n>")
"""


def _functions_that_hand_on(number: int) -> dict[str, str]:
    """Functions of which each gives its batch to the next; the first is given that of the loop."""
    functions = "".join(f"def f_{n}(batch):\n    return f_{n + 1}(batch)\n\n\n" for n in range(number))
    loop = NATIVE_LOOP.replace("in loader:\n", "in loader:\n        batch = f_0(batch)\n")
    return {"train.py": NATIVE + functions + loop}


def _case(name: str, files: Files, arguments: tuple[str, ...], size: int = 300) -> Case:
    return Case(name, size, files, arguments)


BEFORE_TRAINING = {
    "functions that move": "def encode_<n>(row):\n    return tokenizer(row)\n",
    "functions that make models": "def make_<n>():\n    return AutoModel.from_pretrained(str(make_<n>))\n",
    "datasets of one name": "rows = make(tokenizer)\n",
    "constants of a plain script": 'NAME_<n> = "<n>"\n',
    "names that depend on each other": "rows_<n> = make(tokenizer, tokenizer)\n",
    "statements under a condition": "if tokenizer:\n    rows_<n> = make(tokenizer)\n",
    "classes of a plain script": "class Rows_<n>:\n    def __init__(self):\n        self.rows = []\n",
    "options of the command line": "parser.add_argument('--option_<n>')\nprint(args.option_<n>)\n",
    "trainers of a plain script": TRAINING.replace("trainer", "trainer_<n>"),
    "trainings in functions": "def train_<n>():\n    " + TRAINING.replace("\n", "\n    ").rstrip(" "),
    "files that functions write behind their trainings": WRITER,
}
BEHIND_TRAINING = {
    "metrics that are printed": "metrics_<n> = trainer.evaluate()\nprint(metrics_<n>)\n",
    "folders that are saved to": 'trainer.save_model("model_<n>")\n',
    "models that are loaded behind the training": 'model_<n> = AutoModel.from_pretrained("<n>")\n',
    "a trainer that is bound again": "trainer = wrapped(trainer)\n",
    "files that are read": 'open("file_<n>").read()\n',
    "reads of what was trained": "print(trainer.state.best_metric)\n",
}
PARTS_OF_A_LOOP = {
    "tensors on a device": "x_<n> = make(<n>).to(device)\n",
    "functions that use the device": "def f_<n>(x):\n    return x.to(device)\n",
    "loaders of a script": "loader_<n> = DataLoader(rows, batch_size=8)\n",
    "statements of a script with a loop": "x_<n> = f(<n>)\nprint(x_<n>)\n",
    "models of a script": 'model_<n> = AutoModel.from_pretrained("bert")\nmodel_<n>.to(device)\n',
}
BEHIND_A_LOOP = {
    "prints behind a loop": "print(loss.item())\n",
    "states that are saved": 'torch.save(model.state_dict(), "model_<n>.pt")\n',
    "evaluations": "model.eval()\nfor batch in loader:\n    print(model(**batch.to(device)).loss)\n",
    "training loops": NATIVE_LOOP,
}
INSIDE_A_LOOP = {
    "statements of a training step": "        x_<n> = f(loss)\n",
    "tensors of a training step": "        x_<n> = batch[<n>].to(device)\n",
    "prints in a loop": "        print(loss.item())\n",
    "losses that are summed up": "        total_<n> += loss.item()\n",
}


def _around_a_file(number: int) -> dict[str, str]:
    """Scripts beside a file that accelerate may have launched each of them with."""
    return project(TRAINER + TRAINING, "s<n>.py")(number) | {"accelerate.yaml": LAUNCHED}


MANY_FILES = [
    Case("plain scripts in folders", 100, project(TRAINER + TRAINING, "s<n>/train.py"), TO_RAY),
    Case("plain scripts in a folder", 50, project(TRAINER + TRAINING, "s<n>.py"), TO_RAY),
    Case("plain scripts around a file of accelerate config", 50, _around_a_file, TO_RAY),
    Case("native scripts in a folder", 50, project(NATIVE + NATIVE_LOOP, "s<n>.py"), TO_ACCELERATE),
    Case(
        "lines of a file of accelerate config",
        500,
        lambda n: {"train.py": ACCELERATE + PREPARED + PREPARED_LOOP, "default_config.yaml": LAUNCHED + "x: 1\n" * n},
        TO_RAY,
    ),
]
CASES = [
    *(_case(f"{name}", script(text, TRAINER, TRAINING), TO_RAY) for name, text in BEFORE_TRAINING.items()),
    *(_case(f"{name}", script(text, TRAINER + TRAINING), TO_RAY) for name, text in BEHIND_TRAINING.items()),
    _case("trainings in branches", script(IN_BRANCH, TRAINER), TO_RAY, 20),
    _case(
        "trainings in one function",
        script(IN_ONE_FUNCTION, f"{TRAINER}def main(rows):\n    results = {{}}\n", "\n\nmain(1)\n"),
        TO_RAY,
        50,
    ),
    _case("trainings that fill a table", script(WITH_TABLE, f"{TRAINER}rows, results = 1, {{}}\n\n\n"), TO_RAY, 50),
    _case(
        "objects of one name that methods change",
        script("meter = Meter()\nmeter.update(<n>)\n", TRAINER + METER + TRAINING),
        TO_RAY,
    ),
    _case(
        "helpers that hand a parameter on",
        script("def save_<n>(path):\n    store(path)\n\n\nsave_<n>('<n>')\n", TRAINER + STORE, TRAINING),
        TO_RAY,
    ),
    _case("cells of a plain notebook", notebook("rows_<n> = make(tokenizer)\n", TRAINER, TRAINING), TO_RAY),
    _case("cells behind the training", notebook("print(trainer.evaluate())\n", TRAINER + TRAINING), TO_RAY),
    *(_case(name, script(text, NATIVE, NATIVE_LOOP), TO_ACCELERATE) for name, text in PARTS_OF_A_LOOP.items()),
    *(_case(name, script(text, NATIVE + NATIVE_LOOP), TO_ACCELERATE) for name, text in BEHIND_A_LOOP.items()),
    *(_case(name, script(text, NATIVE + NATIVE_LOOP), TO_ACCELERATE) for name, text in INSIDE_A_LOOP.items()),
    _case("functions that hand a batch on", _functions_that_hand_on, TO_ACCELERATE, 75),
    _case("cells of a native notebook", notebook("x_<n> = make(<n>).to(device)\n", NATIVE, NATIVE_LOOP), TO_ACCELERATE),
    _case("statements of a script, both steps", script("x_<n> = make(<n>).to(device)\n", NATIVE, NATIVE_LOOP), TO_BOTH),
    _case(
        "functions of a script, both steps",
        script("def f_<n>(x):\n    return x.to(device)\n", NATIVE, NATIVE_LOOP),
        TO_BOTH,
    ),
    _case("statements before prepare", script("x_<n> = f(<n>)\n", ACCELERATE, PREPARED + PREPARED_LOOP), TO_RAY),
    _case(
        "models that are prepared",
        script("m_<n> = accelerator.prepare(f(<n>))\n", ACCELERATE, PREPARED + PREPARED_LOOP),
        TO_RAY,
    ),
    _case(
        "logs of an accelerator", script("accelerator.log({'x': <n>})\n", ACCELERATE + PREPARED + PREPARED_LOOP), TO_RAY
    ),
    _case(
        "states that an accelerator saves",
        script('accelerator.save_state("s_<n>")\n', ACCELERATE + PREPARED + PREPARED_LOOP),
        TO_RAY,
    ),
    _case(
        "prints of the main process",
        script("if accelerator.is_main_process:\n    print(<n>)\n", ACCELERATE + PREPARED + PREPARED_LOOP),
        TO_RAY,
    ),
    *MANY_FILES,
]
