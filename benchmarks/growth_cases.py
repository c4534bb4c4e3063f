"""Everything in a file or a project that there can be many of, as inputs of any size.

`growth.py` measures them as commands, `tests/test_growth.py` counts calls.
"""

import json

from benchmarks.growth_inputs import IMPORT, REPORT, USE, Case, beside, notebook, notebook_of, parted, project, script
from benchmarks.growth_libraries import CASES as LIBRARIES
from benchmarks.growth_plain import CASES as PLAIN
from benchmarks.growth_values import CASES as VALUES

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
FRAMES = 'rows = rows.map_batches(lambda x: x % 2, batch_format="pandas")\n'
READ = 'd<n> = ray.data.read_csv("<n>").map_batches(f, batch_format="pandas")\n'
MAPPED = 'rows.map_batches(f, batch_format="pandas")\n\n\n'
AGAIN = "if y:\n    result = trainer.fit()\n"
DRIVER = """\
from ray.train.huggingface import TransformersTrainer
from common import init

TransformersTrainer(init, datasets={"train": rows}).fit()
"""

CONFIGURED = "TransformersTrainer(init, trainer_init_config=config).fit()\n"
RESULT = 'x = result.metrics["time_total_s"]\n'
PREDICTOR_IMPORTS = (
    "from ray.train.batch_predictor import BatchPredictor\nfrom ray.train.huggingface import TransformersPredictor\n"
)
PREDICTOR = "BatchPredictor.from_checkpoint(result.checkpoint, TransformersPredictor).predict(rows)\n"
TUNER = "from ray import tune\nfrom ray.tune import Tuner\n"
PREPROCESSORS = f"from ray.data.preprocessors import BatchMapper\n{JOB}{INIT}"
PREPROCESSED = 'TransformersTrainer(init, datasets={"train": rows}, preprocessor=p_0).fit()\n'
TOKENIZER = f"from transformers import AutoTokenizer\n{JOB}tokenizer = AutoTokenizer.from_pretrained('a')\n"
ACCELERATED = """\
from accelerate import Accelerator
from ray.train.huggingface import AccelerateTrainer


def loop(config):
    accelerator = Accelerator()
"""
FACTORY = f"{ACCELERATED}\n\ndef make():\n    return AccelerateTrainer(loop, accelerate_config={{}})\n"
READER = 'from common import make\n\nresult = make().fit()\nprint(result.metrics["time_total_s"], result.log_dir)\n'
SHOW = "def show_<n>(found):\n    print(found.log_dir)\n\n\nshow_<n>(result)\n"
LISTED = f"{JOB}from ray.air import RunConfig\n\n\nclass A:\n    def f(self):\n        self.x = []\n"
LISTED_END = "        return RunConfig(callbacks=self.x)\n"
SETTINGS = "output_dir: o\nno_cuda: 1\n"
SETUP_JOB = "from ray.air import session\n\n\ndef setup(config):\n    session.report({})\n"
NEXT = "import m<n+1>\nsetup = 'train'\n"
PARSED = f"""\
{JOB}import sys
from transformers import HfArgumentParser

args = HfArgumentParser(TrainingArguments).parse_yaml_file(sys.argv[1])
TransformersTrainer(init).fit()
"""
SETUP = "from setuptools import setup\n\nsetup(name='a', install_requires=[\n"


def _baseline(number: int) -> str:
    """A file of known findings."""
    entry = {"file": "train.py", "rule": "RM302", "line": "x", "count": 1}
    return json.dumps({"version": 1, "findings": [{**entry, "line": str(n)} for n in range(number)]})


def _handed_on(number: int) -> dict[str, str]:
    """A factory, and modules of which each hands on what the one before has."""
    links = {f"m{n + 1}.py": f"from m{n} import make\n" for n in range(number)}
    return {"m0.py": FACTORY, **links, "run.py": READER.replace("common", f"m{number}")}


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
    Case("methods", 10_000, script("    def f_<n>(self):\n        return <n>\n\n", f"{USE}class C:\n")),
    Case("branches", 70, script("elif x == <n>:\n    y = <n>\n", f"{USE}if x:\n    pass\n")),
    Case("classes", 4_000, script("class C_<n>(Base):\n    size = <n>\n\n\n")),
    Case("decorators of one function", 12_000, script("@d(<n>)\n", USE, "def f(): ...\n")),
    Case("decorated functions", 4_000, script("@d(<n>)\ndef f_<n>():\n    pass\n\n\n")),
    Case("parameters of a function", 10_000, script("a_<n>=<n>, ", f"{USE}def f(", "): ...\n")),
    Case("arguments of a call", 12_000, script("a_<n>=<n>, ", f"{USE}f(", ")\n")),
    Case("keys of a dict", 12_000, script('    "k_<n>": <n>,\n', f"{USE}x = {{\n", "}\n")),
    Case("values of an f-string", 8_000, script("{a_<n>}", f'{USE}x = f"', '"\n')),
    Case("names of one assignment", 8_000, script("a_<n> = ", USE, "1\n")),
    Case("targets of one assignment", 8_000, script("a_<n>, ", USE, "= f()\n")),
    Case("lambdas", 6_000, script("f_<n> = lambda a: a + <n>\n")),
    Case("comprehensions", 4_000, script("a_<n> = [b for b in c if b > <n>]\n")),
    Case("conditions", 6_000, script("if a:\n    b_<n> = <n>\n")),
    Case("loops", 6_000, script("for a in b:\n    c_<n> = a\n")),
    Case("handlers of one try", 6_000, script("except E_<n>:\n    pass\n", f"{USE}try:\n    pass\n")),
    Case("tries", 4_000, script("try:\n    a_<n> = f()\nexcept E:\n    a_<n> = 1\n")),
    Case("cases of one match", 6_000, script("    case <n>:\n        pass\n", f"{USE}match x:\n")),
    Case("parentheses in each other", 40, lambda n: {"train.py": f"{USE}x = {'(' * n}1{')' * n}\n"}),
    Case("lists in each other", 40, lambda n: {"train.py": f"{USE}x = {'[' * n}1{']' * n}\n"}),
    Case(
        "functions in each other",
        20,
        lambda n: {"train.py": IMPORT + "".join(f"{' ' * i}def f_{i}():\n" for i in range(n)) + " " * n + REPORT},
    ),
    Case(
        "blocks in each other",
        20,
        lambda n: {"train.py": USE + "".join(f"{' ' * i}if x:\n" for i in range(n + 1)) + " " * (n + 1) + "pass\n"},
    ),
]
FINDINGS = [
    Case("reports", 4_000, script(REPORT, IMPORT)),
    Case("reports in functions", 400, script(f"def f_<n>(config):\n    for a in b:\n        {REPORT}\n\n", IMPORT)),
    Case("reports on one line", 500, script("session.report({}); ", IMPORT, REPORT)),
    Case("reports in one expression", 500, script("session.report({}), ", f"{IMPORT}x = [", "]\n")),
    Case("reports of one worker", 300, script(f"if session.get_world_rank() == 0:\n    {REPORT}", IMPORT)),
    Case("reports under one condition", 300, script(f"    {REPORT}", f"{IMPORT}if session.get_world_rank() == 0:\n")),
    Case("uses of a result", 300, script(RESULT, JOB + INIT + TRAINER)),
    Case(
        "uses of a result that is bound twice",
        300,
        script(RESULT, JOB + INIT + TRAINER + AGAIN),
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
    Case(
        "entries that are filled in",
        300,
        script('config["k<n>"] = <n>\n', f"{JOB}{INIT}config = {{}}\n", CONFIGURED),
    ),
    Case(
        "uses of a configuration that is filled in",
        200,
        script(f'config["k<n>"] = <n>\n{CONFIGURED}', f"{JOB}{INIT}config = {{}}\n"),
    ),
    Case("settings of the workers", 500, script("ScalingConfig(num_workers=<n>)\n", JOB)),
    Case("arguments of trainings", 300, script('TrainingArguments("out", evaluation_strategy="no")\n', JOB)),
    Case("arguments of trainings from one dict", 300, script("TrainingArguments(**given)\n", f"{JOB}given = {{}}\n")),
    Case("checkpoints", 300, script("Checkpoint.from_dict({'a': <n>})\n", "from ray.air import Checkpoint\n")),
    Case("checkpoints that are read", 300, script("print(result.checkpoint.to_dict())\n", JOB + INIT + TRAINER)),
    Case("predictors", 200, script(PREDICTOR, f"{PREDICTOR_IMPORTS}{JOB}{INIT}{TRAINER}")),
    Case("tuners", 100, script("Tuner(trainer, param_space={'a': <n>}).fit()\n", f"{TUNER}{JOB}{INIT}{TRAINER}")),
    Case("functions that tune", 200, script("def f_<n>(c):\n    tune.report(a=1)\n\n\ntune.run(f_<n>)\n", TUNER)),
    Case("preprocessors", 200, script("p_<n> = BatchMapper(lambda b: b)\n", PREPROCESSORS, PREPROCESSED)),
    Case("metrics that are loaded", 300, script("m_<n> = load_metric('x')\n", "from datasets import load_metric\n")),
    Case("calls of a tokenizer", 300, script("tokenizer.encode_plus(x, pad_to_max_length=True)\n", TOKENIZER)),
    Case("calls of loggers", 300, script("wandb.log({'a': <n>})\n", f"import wandb\n{JOB}{INIT}{TRAINER}")),
    Case(
        "datasets of one trainer",
        300,
        script('"d<n>": rows, ', f"{JOB}{INIT}TransformersTrainer(init, datasets={{", "}).fit()\n"),
    ),
    Case(
        "uses of an accelerator",
        300,
        script(
            "    accelerator.print(<n>)\n", ACCELERATED, "\n\nAccelerateTrainer(loop, accelerate_config={}).fit()\n"
        ),
    ),
]
NAMES = [
    Case("imports", 20_000, script("import module_<n>\n")),
    Case("old imports under many names", 300, script("from ray.air import session as s<n>\ns<n>.report({})\n", "")),
    Case("old imports in functions", 300, script(f"def f<n>():\n    {IMPORT}    {REPORT}", "")),
    Case("names of one old import", 300, script("session as s<n>, ", "from ray.air import ", "session\n")),
    Case("aliases", 500, script("report_<n> = session.report\nreport_<n>({})\n")),
    Case(
        "aliases of aliases",
        100,
        lambda n: {
            "train.py": f"{IMPORT}a0 = session\n{''.join(f'a{i + 1} = a{i}' + chr(10) for i in range(n))}{REPORT}"
        },
    ),
    Case("attributes", 10_000, script("a.b_<n>.c = d.e_<n>.f\n")),
    Case(
        "loads by attributes of attributes", 300, script("m_<n>.a.b = torch.load(m_<n>.a.b)\n", f"import torch\n{USE}")
    ),
    Case("attributes of one object", 300, script("self_.a_<n> = session.get_world_rank()\n", IMPORT)),
    Case(
        "old imports in a try", 200, script(f"try:\n    {IMPORT}except ImportError:\n    session = None\n", "", REPORT)
    ),
    Case("star imports", 200, script("from module_<n> import *\n")),
    Case("functions of DataFrames, one after the other", 200, script(FRAMES, JOB + INIT + TRAINER)),
    Case(
        "datasets that are read beside functions of DataFrames",
        200,
        script(READ, f"{JOB}def f(x):\n    return x % 2\n"),
    ),
    Case("lines of a function of DataFrames", 300, script("    x['c<n>'] = x['a'] + 2\n", f"{JOB}{MAPPED}def f(x):\n")),
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
    Case("imports whose names are bound again", 1_000, script("from m import f_<n>\nf_<n> = f_<n>()\n")),
    Case(
        "meanings of one imported name",
        1_000,
        script("if y:\n    report = <n>\nx = [report]\n", f"{IMPORT}from ray.air.session import report\n", REPORT),
    ),
    Case("uses of an imported name that is bound again", 500, script(REPORT, IMPORT, "session = 1\nprint(session)\n")),
]
COMMENTS = [
    Case("skip comments", 500, script("session.report({})  # raymigrate: skip\n", IMPORT)),
    Case("skip comments that silence nothing", 500, script("x = <n>  # raymigrate: skip\n")),
    Case("comments of --todo", 300, script(RESULT, JOB + INIT + TRAINER), ("--todo",)),
]
CELLS = [
    Case("cells", 10_000, notebook("x_<n> = <n>\n")),
    Case("cells with a report", 400, notebook(f"def f_<n>():\n    {REPORT}")),
    Case("cells with an old import", 100, notebook(USE)),
    Case("cells with magics", 500, notebook("%time x_<n> = <n>\n!ls\n")),
    Case("magics of a cell", 1_000, lambda n: {"train.ipynb": notebook_of([USE, "!ls\nx = 1\n" * n])}),
    Case("lines of a cell", 5_000, lambda n: {"train.ipynb": notebook_of([USE + "x = 1\n" * n])}),
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
    *(
        Case(kind, 2_000, lambda n, text=text: {"a.md": USE + text * n}, ("--docs",))
        for kind, text in {
            "blocks of HTML in a page": f'<pre class="python">{USE}</pre>\n\n',
            "blocks of HTML without a language": f"<pre>{USE}</pre>\n\n",
            "blocks of HTML that nothing closes": "<pre>\n",
        }.items()
    ),
]
HTML, MARKDOWN = ("--report", "report.html"), ("--report", "report.md")
SARIF = ("--check", "--output-format", "sarif")
OUTPUTS = [
    Case("reports, as a diff", 1_000, script(f"x = <n>\n{REPORT}", IMPORT), ("--diff",)),
    Case("reports, as SARIF", 500, script(f"x = <n>\n{REPORT}", IMPORT), SARIF),
    Case("cells with a report, as SARIF", 200, notebook(f"def f_<n>():\n    {REPORT}"), SARIF),
    *(
        Case(f"reports, {told}", 500, script(f"x = <n>\n{REPORT}", IMPORT), arguments)
        for told, arguments in {
            "as JSON": ("--output-format", "json"),
            "as messages of GitHub": ("--check", "--output-format", "github"),
            "as a report of GitLab": ("--check", "--output-format", "gitlab"),
            "with their lines": ("--check", "--output-format", "full"),
            "by rule": ("--check", "--group-by", "rule", "--statistics"),
            "only looked for": ("--check",),
            "side by side": HTML,
            "in Markdown": MARKDOWN,
            "that become known": ("--check", "--write-baseline", "known.json"),
        }.items()
    ),
    Case("uses of a result, in Markdown", 300, script(RESULT, JOB + INIT + TRAINER), ("--check", *MARKDOWN)),
    Case("uses of a result, side by side", 300, script(RESULT, JOB + INIT + TRAINER), HTML),
    Case("cells with a report, side by side", 200, notebook(f"def f_<n>():\n    {REPORT}"), HTML),
    Case("cells with a report, as a diff", 200, notebook(f"def f_<n>():\n    {REPORT}"), ("--diff",)),
    Case(
        "known findings",
        500,
        lambda n: {"train.py": f"{IMPORT}{REPORT * n}", "known.json": _baseline(n)},
        ("--check", "--baseline", "job/known.json"),
    ),
    Case("scripts, as SARIF", 100, project(USE, "s<n>/train.py"), SARIF),
    Case("scripts, side by side", 100, project(USE, "s<n>/train.py"), HTML),
    Case("scripts, in Markdown", 100, project(USE, "s<n>/train.py"), MARKDOWN),
]
FILES = [
    Case("scripts", 100, project(USE, "s<n>/train.py")),
    Case("scripts with one common module", 50, project(DRIVER, "s<n>.py", common=INIT)),
    Case(
        "modules that import the next",
        100,
        project("import m<n+1>\n", "m<n>.py", train=DRIVER, common=INIT + "import m0\n"),
    ),
    Case("modules that import the next and name what a script defines", 100, project(NEXT, "m<n>.py", train=SETUP_JOB)),
    Case("scripts that read the result of another's trainer", 50, project(READER, "s<n>.py", common=FACTORY)),
    Case(
        "jobs of one name, each with a script that reads its result",
        30,
        lambda n: {f"s{i}/{name}.py": text for i in range(n) for name, text in (("common", FACTORY), ("run", READER))},
    ),
    Case("modules that hand a trainer on", 20, _handed_on),
    Case("functions that a result is given to", 100, script(SHOW, f"{FACTORY}\nresult = make().fit()\n")),
    Case("items of a list in an attribute", 300, script("        self.x.append(<n>)\n", LISTED, LISTED_END)),
    Case(
        "keys for TrainingArguments in a file", 300, beside("a.yaml", "- {output_dir: o, no_cuda: 1}\n", script=PARSED)
    ),
    Case("files with keys for TrainingArguments", 50, project(SETTINGS, "s<n>/a.yaml", train=PARSED)),
    Case("lines of requirements", 1_000, beside("requirements.txt", "package-<n>==1.0\n"), ("--unsafe",)),
    Case("versions of requirements", 500, beside("requirements.txt", "ray==2.6.<n>\n"), ("--unsafe",)),
    Case("lines of a setup.cfg", 1_000, beside("setup.cfg", "    ray==2.6.<n>\n", "[options]\ninstall_requires =\n")),
    Case("lines of a Dockerfile", 1_000, beside("Dockerfile", "RUN pip install ray==2.6.<n>\n")),
    Case(
        "lines of a pyproject.toml",
        500,
        beside("pyproject.toml", '    "ray==2.6.<n>",\n', '[project]\nname = "a"\ndependencies = [\n', "]\n"),
        ("--unsafe",),
    ),
    Case(
        "packages of an environment.yml",
        200,
        beside("environment.yml", "  - ray=2.6.<n>\n", "dependencies:\n"),
        ("--unsafe",),
    ),
    Case("requirements of a setup.py", 500, beside("setup.py", "    'ray==2.6.<n>',\n", SETUP, "])\n"), ("--unsafe",)),
    Case(
        "keys of a file of accelerate config",
        300,
        beside(
            "a.yaml",
            "key_<n>: 1\n",
            "",
            script=f"{ACCELERATED}\n\nAccelerateTrainer(loop, accelerate_config='a.yaml')\n",
        ),
    ),
    Case("requirements files", 50, project("ray==2.6.3\n", "s<n>/requirements.txt", train=USE)),
    Case(
        "scripts with requirements above",
        50,
        lambda n: {"requirements.txt": "ray==2.6.3\n", **{f"s{i}/train.py": USE for i in range(n)}},
    ),
    Case(
        "scripts beside settings",
        100,
        lambda n: {f"s{i}.{kind}": text for i in range(n) for kind, text in (("py", USE), ("yaml", "rate: 1\n"))},
    ),
    Case("notebooks", 50, project(notebook_of([USE]), "s<n>.ipynb")),
    Case("clean files", 5_000, project("x = 1\n", "s<n>.py", train=USE)),
    Case("folders in each other", 50, lambda n: {f"{'d/' * n}train.py": USE}),
    Case("patterns of a .gitignore", 500, beside(".gitignore", "*a<n>*\n")),
    Case("stars of a pattern", 200, lambda n: {f"{'a' * 200}.py": USE, ".gitignore": "*a" * n + "b\n"}),
]
CASES = [*PLAIN, *LIBRARIES, *LINES, *FINDINGS, *NAMES, *VALUES, *COMMENTS, *CELLS, *OUTPUTS, *FILES]
