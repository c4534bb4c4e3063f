"""Everything in a file or a project that there can be many of, as inputs of any size.

`growth.py` measures them as commands.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

IMPORT = "from ray.air import session\n"
REPORT = "session.report({})\n"
USE = IMPORT + REPORT  # something to convert, so that the whole way through the tool is taken
JOB = """\
import ray
from ray.air.config import ScalingConfig
from ray.train.huggingface import TransformersTrainer
from transformers import Trainer, TrainingArguments

rows = ray.data.from_items([{"a": 1}])


"""
INIT = """\
def init(train_dataset, eval_dataset=None, **config):
    return Trainer(model=load(), args=TrainingArguments("out"), train_dataset=train_dataset)


"""
TRAINER = """\
trainer = TransformersTrainer(init, scaling_config=ScalingConfig(num_workers=2), datasets={"train": rows})
result = trainer.fit()


"""
AGAIN = "if y:\n    result = trainer.fit()\n"
DRIVER = """\
from ray.train.huggingface import TransformersTrainer
from common import init

TransformersTrainer(init, datasets={"train": rows}).fit()
"""

Text = Callable[[int], str]
Files = Callable[[int], dict[str, str]]


@dataclass(frozen=True)
class Case:
    """Something that there can be many of.

    Args:
        name: What it is.
        size: How many are measured first; then twice and four times as many.
        files: Gives the texts of the files, by name.
        arguments: Options of the command.
    """

    name: str
    size: int
    files: Files
    arguments: tuple[str, ...] = ()

    def write(self, folder: Path, number: int) -> None:
        """Writes the files with so many of it into a folder."""
        for name, text in self.files(number).items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)


def copies(text: str, number: int) -> list[str]:
    """So many copies of a text, each with its number for `<n>`."""
    return [text.replace("<n>", str(index)) for index in range(number)]


def script(text: str, head: str = USE, foot: str = "") -> Files:
    """A script with many copies of a text."""
    return lambda number: {"train.py": head + "".join(copies(text, number)) + foot}


def notebook(cell: str) -> Files:
    """A notebook with many copies of a cell, and one of many lines before them."""
    return lambda number: {"train.ipynb": _notebook([USE, *copies(cell, number)])}


def _notebook(cells: Iterable[str]) -> str:
    kind = {"cell_type": "code", "metadata": {}, "outputs": []}
    code_cells = [{**kind, "source": cell.splitlines(keepends=True)} for cell in cells]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": code_cells}, indent=1)


def parted(edge: str, text: str, head: str = "") -> Files:
    """A script of cells."""
    return lambda number: {"train.py": head + edge.join([USE, *copies(text, number)])}


def project(text: str, name: str, **others: str) -> Files:
    """Many copies of a file, beside others, which have their names without `.py`."""
    beside = {f"{other}.py": content for other, content in others.items()}
    return lambda number: (
        beside | {name.replace("<n>", str(n)): text.replace("<n+1>", str(n + 1)) for n in range(number)}
    )


def beside(name: str, line: str) -> Files:
    """A script, and another file of many lines."""
    return lambda number: {"train.py": USE, name: "".join(copies(line, number))}


LINES = [
    Case("statements that are all alike", 24_000, script("x = 1\n")),
    Case("statements that are all different", 12_000, script("x_<n> = f(y, <n>)\n")),
    Case("statements in one function", 24_000, script("    x = 1\n", f"{IMPORT}def f():\n    {REPORT}")),
    Case("statements on one line", 8_000, script("x = 1; ", USE, "x = 1\n")),
    Case("blank lines", 200_000, script("\n")),
    Case("comments", 28_000, script("# Comment <n>.\n")),
    Case("lines that go on", 60_000, script(", \\\n1", f"{USE}x = [1", "]\n")),
    Case("items on lines of their own", 60_000, script("    1,\n", f"{USE}x = [\n", "]\n")),
    Case("items on one line", 24_000, script("1, ", f"{USE}x = [", "]\n")),
    Case("items on one line that is not ASCII", 24_000, script("'é', ", f"{USE}x = [", "]\n")),
    Case("lines of a string", 20_000, script("some words, and more\n", f'{USE}x = """\n', '"""\n')),
    Case("characters of a string", 490_000, script("a", f'{USE}x = "', '"\n')),
    Case("functions", 4_000, script("def f_<n>(a, b):\n    c = a + b\n    return c * <n>\n\n\n")),
    Case("methods", 12_000, script("    def f_<n>(self):\n        return <n>\n\n", f"{USE}class C:\n")),
    Case("branches", 70, script("elif x == <n>:\n    y = <n>\n", f"{USE}if x:\n    pass\n")),
    Case(
        "blocks in each other",
        20,
        lambda n: {"train.py": USE + "".join(f"{' ' * i}if x:\n" for i in range(n + 1)) + " " * (n + 1) + "pass\n"},
    ),
]
FINDINGS = [
    Case("reports", 5_000, script(REPORT, IMPORT)),
    Case("reports in functions", 400, script(f"def f_<n>(config):\n    for a in b:\n        {REPORT}\n\n", IMPORT)),
    Case("reports on one line", 500, script("session.report({}); ", IMPORT, REPORT)),
    Case("reports in one expression", 500, script("session.report({}), ", f"{IMPORT}x = [", "]\n")),
    Case("reports of one worker", 300, script(f"if session.get_world_rank() == 0:\n    {REPORT}", IMPORT)),
    Case("reports under one condition", 300, script(f"    {REPORT}", f"{IMPORT}if session.get_world_rank() == 0:\n")),
    Case("uses of a result", 300, script('x = result.metrics["time_total_s"]\n', JOB + INIT + TRAINER)),
    Case(
        "uses of a result that is bound twice",
        300,
        script('x = result.metrics["time_total_s"]\n', JOB + INIT + TRAINER + AGAIN),
    ),
    Case(
        "calls of a function that reports", 1_000, script("f({})\n", f"{IMPORT}def f(a):\n    session.report(a)\n\n\n")
    ),
    Case("trainers, each with a function", 60, script((INIT + TRAINER).replace("init", "init_<n>"), JOB)),
    Case("trainers with one function", 60, script(TRAINER.replace("trainer =", "trainer_<n> ="), JOB + INIT)),
    Case("trainers of one name", 60, script(TRAINER, JOB + INIT)),
    Case(
        "entries of a configuration",
        500,
        script('"k<n>": <n>, ', f"{JOB}{INIT}TransformersTrainer(init, trainer_init_config={{", "}).fit()\n"),
    ),
]
NAMES = [
    Case("imports", 20_000, script("import module_<n>\n")),
    Case("old imports under many names", 300, script("from ray.air import session as s<n>\ns<n>.report({})\n", "")),
    Case("old imports in functions", 300, script(f"def f<n>():\n    {IMPORT}    {REPORT}", "")),
    Case("names of one old import", 300, script("session as s<n>, ", "from ray.air import ", "session\n")),
    Case("aliases", 500, script("report_<n> = session.report\nreport_<n>({})\n")),
    Case("transformations of a dataset", 300, script("rows = rows.map(f)\n", JOB + INIT + TRAINER)),
    Case(
        "transformations of a dataset, each with a name",
        300,
        lambda n: {
            "train.py": JOB
            + INIT
            + "".join(f"r{i + 1} = {f'r{i}' if i else 'rows'}.map(f)\n" for i in range(n))
            + TRAINER
        },
    ),
    Case("bindings of one name", 2_000, script("x = <n>\nprint(x)\n")),
    Case("uses of a name with two bindings", 1_000, script("print(x)\n", f"{USE}x = 1\nif y:\n    x = 2\n")),
    Case("imports of one name", 300, script("import os\nprint(os.name)\n")),
]
COMMENTS = [
    Case("skip comments", 500, script("session.report({})  # raymigrate: skip\n", IMPORT)),
    Case("skip comments that silence nothing", 500, script("x = <n>  # raymigrate: skip\n")),
    Case("comments of --todo", 300, script('x = result.metrics["time_total_s"]\n', JOB + INIT + TRAINER), ("--todo",)),
]
CELLS = [
    Case("cells", 10_000, notebook("x_<n> = <n>\n")),
    Case("cells with a report", 400, notebook(f"def f_<n>():\n    {REPORT}")),
    Case("cells with an old import", 100, notebook(USE)),
    Case("cells with magics", 500, notebook("%time x_<n> = <n>\n!ls\n")),
    Case("magics of a cell", 1_000, lambda n: {"train.ipynb": _notebook([USE, "!ls\nx = 1\n" * n])}),
    Case("lines of a cell", 5_000, lambda n: {"train.ipynb": _notebook([USE + "x = 1\n" * n])}),
    Case("cells of a script", 1_000, parted("# %%\n", "x_<n> = <n>\n")),
    Case("cells of a script with a report", 400, parted("# %%\n", f"def f_<n>():\n    {REPORT}")),
    Case(
        "cells of a Databricks source",
        1_000,
        parted("\n# COMMAND ----------\n\n", "x_<n> = <n>\n", "# Databricks notebook source\n"),
    ),
    Case("blocks of a Markdown page", 200, lambda n: {"a.md": f"Text.\n\n```python\n{USE}```\n\n" * n}, ("--docs",)),
    Case(
        "blocks of an rst page",
        200,
        lambda n: {"a.rst": f"Text.\n\n.. code-block:: python\n\n    {IMPORT}    {REPORT}\n" * n},
        ("--docs",),
    ),
]
SARIF = ("--check", "--output-format", "sarif")
OUTPUTS = [
    Case("reports, as a diff", 1_000, script(f"x = <n>\n{REPORT}", IMPORT), ("--diff",)),
    Case("reports, as SARIF", 500, script(f"x = <n>\n{REPORT}", IMPORT), SARIF),
    Case("cells with a report, as SARIF", 200, notebook(f"def f_<n>():\n    {REPORT}"), SARIF),
    Case("reports, as JSON", 1_000, script(f"x = <n>\n{REPORT}", IMPORT), ("--output-format", "json")),
]
FILES = [
    Case("scripts", 100, project(USE, "s<n>/train.py")),
    Case("scripts with one common module", 50, project(DRIVER, "s<n>.py", common=INIT)),
    Case(
        "modules that import the next",
        100,
        project("import m<n+1>\n", "m<n>.py", train=DRIVER, common=INIT + "import m0\n"),
    ),
    Case("lines of requirements", 1_000, beside("requirements.txt", "package-<n>==1.0\n"), ("--unsafe",)),
    Case("patterns of a .gitignore", 500, beside(".gitignore", "*a<n>*\n")),
    Case("stars of a pattern", 200, lambda n: {f"{'a' * 200}.py": USE, ".gitignore": "*a" * n + "b\n"}),
]
PLAIN = """\
import os
from datasets import load_dataset
from transformers import AutoModel, AutoTokenizer, Trainer, TrainingArguments

tokenizer = AutoTokenizer.from_pretrained("bert")
"""
PLAIN_TRAINING = """\
trainer = Trainer(AutoModel.from_pretrained("bert"), TrainingArguments("out"))
trainer.train()
"""
TO_RAY = ("--to-ray",)
PLAIN_SCRIPTS = [
    Case(name, 500, script(text, PLAIN, PLAIN_TRAINING), TO_RAY)
    for name, text in {
        "functions that move": "def encode_<n>(row):\n    return tokenizer(row)\n",
        "functions that make models": "def make_<n>():\n    return AutoModel.from_pretrained(str(make_<n>))\n",
        "datasets of one name": "rows = make(tokenizer)\n",
        "constants of a plain script": 'NAME_<n> = "<n>"\n',
    }.items()
] + [
    Case(name, 500, script(text, PLAIN + PLAIN_TRAINING), TO_RAY)
    for name, text in {
        "metrics that are printed": "metrics_<n> = trainer.evaluate()\nprint(metrics_<n>)\n",
        "folders that are saved to": 'trainer.save_model("model_<n>")\n',
        "models that are loaded behind the training": 'model_<n> = AutoModel.from_pretrained("<n>")\n',
        "a trainer that is bound again": "trainer = wrapped(trainer)\n",
    }.items()
]
MANY_PLAIN_SCRIPTS = [
    Case("plain scripts in folders", 100, project(PLAIN + PLAIN_TRAINING, "s<n>/train.py"), TO_RAY),
    Case("plain scripts in a folder", 50, project(PLAIN + PLAIN_TRAINING, "s<n>.py"), TO_RAY),
]
CASES = [*PLAIN_SCRIPTS, *MANY_PLAIN_SCRIPTS, *LINES, *FINDINGS, *NAMES, *COMMENTS, *CELLS, *OUTPUTS, *FILES]
