"""RM802: what needs Spark or dbutils stays with the driver, and a script is left in which the training needs them."""

import pytest

from raymigrate.base.options import Options
from raymigrate.run.engine import convert

SCRIPT = """\
from datasets import Dataset
from pyspark.sql import SparkSession
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

{before}
train = {train}
args = TrainingArguments("/out", num_train_epochs={epochs})
trainer = Trainer(AutoModelForCausalLM.from_pretrained("gpt2"), args, train_dataset=train)
trainer.train()
"""
OF_FRAME = "Dataset.from_pandas(rows)"


def result(before: str, train: str = OF_FRAME, epochs: str = "3") -> tuple[str, str]:
    script = SCRIPT.format(before=before, train=train, epochs=epochs)
    changed = convert(script, "", options=Options(to_ray=True))
    return changed.after or "", "\n".join(finding.message for finding in changed.findings if finding.code == "RM802")


@pytest.mark.parametrize(
    "before",
    [
        'rows = spark.table("a").toPandas()',
        'table = spark.table("a")\nrows = table.where("x > 1").select("x").toPandas()',
        'session = SparkSession.builder.appName("a").getOrCreate()\nrows = session.sql("select 1").toPandas()',
        'def load(name):\n    return spark.table(name).toPandas()\n\n\nrows = load("a")',
        'table, other = spark.table("a").randomSplit([0.9, 0.1])\nrows: object = table.toPandas()',
        'def load():\n    return read().toPandas()\n\n\ndef read():\n    return spark.table("a")\n\n\nrows = load()',
        'rows = spark.table("a")\nrows = rows.where("x > 1")\nrows = rows.toPandas()',
        "from databricks.sdk.runtime import spark\n\nrows = spark.table('a').toPandas()",
        "from pyspark import SparkContext\n\nlocal = SparkContext('local')\nrows = local.textFile('a').collect()",
        "from delta import tuned\n\nbuilder = SparkSession.builder\nown = tuned(builder).getOrCreate()\n"
        "rows = own.table('a').toPandas()",
        "def clean(part):\n    part = part.dropna()\n    return part\n\n\ntable = clean(spark.table('a'))\n"
        "rows = table.toPandas()",
        "tables = {'a': spark.table('a')} if deep else None\nrows = tables['a'].toPandas()",
    ],
)
def test_rows_are_collected_on_the_driver(before: str) -> None:
    text, told = result(before)
    driver, worker = text.split("def train_func():")
    assert not told
    assert before in driver
    assert "train = Dataset.from_pandas(rows)" in worker
    assert "toPandas" not in worker


def test_widgets_are_read_on_the_driver_and_so_is_what_comes_of_them() -> None:
    before = 'rounds = int(dbutils.widgets.get("rounds"))\npath = f"/data/{rounds}"\nrows = read(path)'
    text, told = result(before, epochs="rounds")
    assert not told
    assert text.index('rounds = int(dbutils.widgets.get("rounds"))') < text.index("def train_func()")
    assert text.index('path = f"/data/{rounds}"') < text.index("def train_func()")


def test_what_comes_behind_the_training_stays_behind_it() -> None:
    text, told = result("rows = read()")
    assert not told
    script = SCRIPT.format(before="rows = read()", train=OF_FRAME, epochs="3") + 'dbutils.fs.cp("/out", "dbfs:/out")\n'
    text = str(convert(script, "", options=Options(to_ray=True)).after)
    assert text.endswith('trainer.fit()\ndbutils.fs.cp("/out", "dbfs:/out")\n')


@pytest.mark.parametrize(
    ("before", "train", "epochs"),
    [
        ('table = spark.table("a")', "Dataset.from_spark(table)", "3"),
        ('table = spark.table("a")', "Dataset.from_pandas(table.toPandas())", "3"),
        ("rows = read()", OF_FRAME, 'int(dbutils.widgets.get("rounds"))'),
        ('def load(name):\n    rows = spark.table(name)\n    return rows\n\n\nrows = load("a")', OF_FRAME, "3"),
        ("def load(name):\n    return Dataset.from_spark(spark.table(name))\n", 'load("a")', "3"),
        ("class Rows:\n    def __init__(self):\n        self.rows = spark.table('a').collect()\n", "Rows()", "3"),
    ],
)
def test_a_script_whose_training_needs_them_is_left(before: str, train: str, epochs: str) -> None:
    text, told = result(before, train, epochs)
    assert not text
    assert "it needs Spark or dbutils, which only the driver has" in told


@pytest.mark.parametrize("before", ["spark = make()\nrows = spark.rows()", "dbutils = make()\nrows = dbutils.rows"])
def test_names_of_the_script_are_its_own(before: str) -> None:
    assert not result(before)[1]


def test_a_name_that_a_frame_had_is_one_of_plain_values_behind_toPandas() -> None:
    text, told = result('rows = spark.table("a")\nrows = rows.toPandas()\nrows = rows.sort_values("x")')
    assert not told
    assert "train = Dataset.from_pandas(rows)" in text.split("def train_func():")[1]


def test_a_function_that_calls_itself_and_a_name_that_stands_for_itself_are_followed_once() -> None:
    before = "def deep(part):\n    return deep(part.dropna())\n\n\nx = x if y else None\nz = deep(spark.table('a'))"
    assert not result(f"{before}\nrows = spark.table('a').toPandas()")[1]


def test_rows_that_a_function_of_the_script_was_given_are_rows() -> None:
    before = "def clean(part):\n    return part.dropna()\n\n\nrows = clean(spark.table('a').toPandas())"
    text, told = result(before)
    assert not told
    assert "spark" not in text.split("def train_func():")[1]
