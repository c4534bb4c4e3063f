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
