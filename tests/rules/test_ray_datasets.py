"""RM505 and RM508: datasets of Hugging Face, and what functions get as their batch."""

from pathlib import Path

import pytest

from raymigrate.base.findings import Kind
from tests.projects.files import convert, write
from tests.rules.scripts import converted

DICTS = {
    "indexed by calls": """
        def load(task):
            splits = ray.data.from_huggingface(task.dataset())
            return splits[task.train_key()], splits[task.test_key()]
        """,
    "indexed at once": "train = ray.data.from_huggingface(task.dataset())[key]",
    "bound anew": "data = ray.data.from_huggingface(task.dataset())\ndata = data[key]",
    "returned": """
        def load(task):
            return ray.data.from_huggingface(task.dataset())

        train = load(task)[key]
        """,
    "handed over": """
        def train(splits, name):
            return splits[name]

        train(ray.data.from_huggingface(task.dataset()), key)
        """,
    "annotated": "splits: dict = ray.data.from_huggingface(task.dataset())\nprint(splits[key])",
    "walked through": "for name, split in ray.data.from_huggingface(task.dataset()).items():\n    print(name)",
}
SPLITS = {
    "one split": "train = ray.data.from_huggingface(task.dataset())\ntrain = train.limit(5)",
    "indexed before": "data = task.dataset()\ndata = ray.data.from_huggingface(data[key])",
    "indexed later": "data = ray.data.from_huggingface(a)\nuse(data)\ndata = other()\nprint(data[key])",
}


@pytest.mark.parametrize("body", DICTS.values(), ids=DICTS)
def test_what_is_indexed_was_a_dict_of_datasets(body: str) -> None:
    script = "        import ray\n" + body if body.startswith("\n") else f"import ray\n{body}"
    assert converted(script).lines("RM505", Kind.CONVERTED)


@pytest.mark.parametrize("body", SPLITS.values(), ids=SPLITS)
def test_a_dataset_that_is_not_indexed_is_one_split(body: str) -> None:
    assert not converted(f"import ray\n{body}").lines("RM505", Kind.CONVERTED)


@pytest.mark.parametrize(
    "function",
    [
        'lambda batch: batch[["a"]]',
        'lambda batch: batch[["a", "b"]].assign(c=1)',
        'lambda frame: frame[frame["a"] > 0]',
        "lambda batch: batch[[name for name in names]]",
        "pick",
    ],
)
def test_a_function_that_picks_columns_gets_a_frame(function: str) -> None:
    head = 'import ray\n\n\ndef pick(batch):\n    return batch[["a"]]\n\n\n'
    script = f"{head}ds = ray.data.range(8).map_batches({function})\n"
    outcome = converted(script)
    assert outcome.lines("RM508", Kind.CONVERTED) == [8]
    assert 'batch_format="pandas"' in outcome.text


SPLIT = 'load_dataset("nyu-mll/glue", "sst2")'
PREDICTORS = "from ray.train.batch_predictor import BatchPredictor\n\n"
OF_A_SPLIT = {
    "by name": f'ds = ray.data.from_huggingface({SPLIT})\nds["test"].map_batches(pick)',
    "by a variable": f"ds = ray.data.from_huggingface({SPLIT})\nds[key].map_batches(pick)",
    "get()": f'ds = ray.data.from_huggingface({SPLIT})\nds.get("test").limit(5).map_batches(pick)',
    "named": f'ds = ray.data.from_huggingface({SPLIT})\nds = ds["test"]\nds = ds.limit(5)\nds.map_batches(pick)',
    "in a loop": f"for name, ds in ray.data.from_huggingface({SPLIT}).items():\n    ds.map_batches(pick)",
    "values()": f"ds = ray.data.from_huggingface({SPLIT})\n[split.map_batches(pick) for split in ds.values()]",
    "each split": f'ds = {{n: ray.data.from_huggingface(s) for n, s in {SPLIT}.items()}}\nds["test"].map_batches(pick)',
    "dict": "ds = {'train': ray.data.read_csv(a), 'test': None}\nds['train'].map_batches(pick)",
    "filled dict": "ds = {}\nds['a'] = ray.data.read_csv(a)\nfor name in ds:\n    ds[name].map_batches(pick)",
    "returned": f"def load():\n    return ray.data.from_huggingface({SPLIT})\n\nload()['test'].map_batches(pick)",
    "handed over": f"def f(ds):\n    ds['a'].map_batches(pick)\n\nf(ray.data.from_huggingface({SPLIT}))",
    "attribute": (
        f"class Job:\n    def __init__(self):\n        self.ds = ray.data.from_huggingface({SPLIT})\n\n"
        "    def run(self):\n        return self.ds['test'].map_batches(pick)"
    ),
    "annotated": "def f(ds: ray.data.Dataset):\n    return ds.map_batches(pick)",
    "train_test_split": "train, test = ray.data.read_csv(a).train_test_split(0.2)\ntest.map_batches(pick)",
    "split": "ray.data.read_csv(a).split(2)[0].map_batches(pick)",
    "predictions": f"{PREDICTORS}BatchPredictor.from_checkpoint(c, P).predict(rows).map_batches(pick)",
    "pipelined": f"{PREDICTORS}p = BatchPredictor(c, P)\np.predict_pipelined(rows, batch_size=8).map_batches(pick)",
    "chosen": f"{PREDICTORS}p = BatchPredictor(c, P) if P else BatchPredictor.from_pandas_udf(f)\n"
    "d = p.predict(rows)\nd.limit(5).map_batches(pick)",
    "switch": "ds = None\nif path:\n    ds = ray.data.read_csv(path)\nds.map_batches(pick)",
}
OF_SOMETHING_ELSE = {
    "one caller unknown": (
        f"def f(ds):\n    ds['a'].map_batches(pick)\n\nf(ray.data.from_huggingface({SPLIT}))\nf(load())"
    ),
    "another library": f'{SPLIT}["train"].map_batches(pick)',
    "its own split": f'train, test = {SPLIT}["train"].train_test_split(0.2)\ntrain.map_batches(pick)',
    "unpacked": "ds = {'a': ray.data.read_csv(a), **load()}\n[split.map_batches(pick) for split in ds.values()]",
    "a class of one's own": "def f(ds: Rows):\n    return ds.map_batches(pick)",
    "another predictor": f"{PREDICTORS}p = BatchPredictor(c, P) if P else load()\np.predict(rows).map_batches(pick)",
    "itself": "ds = ds.limit(5)\nds.map_batches(pick)",
}
PICK = 'import ray\nfrom datasets import load_dataset\n\n\ndef pick(batch):\n    return batch[["a"]]\n\n\n'


@pytest.mark.parametrize("body", OF_A_SPLIT.values(), ids=OF_A_SPLIT)
def test_what_a_collection_of_ray_datasets_holds_are_ray_datasets(body: str) -> None:
    outcome = converted(PICK + body)
    assert outcome.lines("RM508", Kind.CONVERTED)
    assert 'map_batches(pick, batch_format="pandas")' in outcome.text


@pytest.mark.parametrize("body", OF_SOMETHING_ELSE.values(), ids=OF_SOMETHING_ELSE)
def test_what_may_be_something_else_than_a_ray_dataset_is_left_alone(body: str) -> None:
    assert not converted(PICK + body).lines("RM508", Kind.CONVERTED)


@pytest.mark.parametrize("method", ["fully_executed", "window", "iter_rows(prefetch_blocks=1)"])
def test_other_rules_know_a_split_as_well(method: str) -> None:
    call = method if method.endswith(")") else f"{method}()"
    outcome = converted(f'import ray\nds = ray.data.from_huggingface(load())\nprint(ds["test"].{call})')
    assert {code for code, _, line in outcome.findings if line == 3} & {"RM506", "RM507"}


PLAIN = [
    'from_items([(1, 2)]).map_batches(lambda rows: pd.DataFrame(rows, columns=["a", "b"]))',
    "from_items(list(zip([1], [2]))).map_batches(lambda rows: pd.DataFrame(rows, columns=['a', 'b']))",
    "from_items([1, 2]).map_batches(lambda rows: {'x': [row + 1 for row in rows]})",
    "from_items(pairs).limit(5).map(lambda pair: {'first': pair[0]})",
    "range(8).map(lambda number: {'double': number * 2})",
    "range(8).filter(lambda number: number > 2)",
    "read_text('s3://a').flat_map(lambda line: [{'word': word} for word in line.split()])",
    "from_items(texts).map_batches(lambda frame: {'n': frame['value'].map(len)}, batch_format='pandas')",
    "from_items(['a', 'b']).map_batches(lambda frame: frame[['other']].assign(n=frame['value']))",
    "range(8).repartition(2).map_batches(lambda frame: {'x': frame['value'] * 2}, batch_format='pandas')",
]
REFUSED = [
    "range(8).map_batches(lambda batch: [value + 1 for value in batch['id']])",
    "range(8).map_batches(lambda batch: batch['id'])",
    "range(8).map_batches(lambda frame: frame['id'], batch_format='pandas')",
    "range(8).map(lambda row: row['id'] * 2)",
    "range(8).flat_map(lambda row: [row['id'] + 1, 0])",
    "range(8).map_batches(as_list)",
    "read_text('a').map_batches(lambda batch: pipe(list(batch['text']), max_length=20))",
    "read_text('a').map_batches(Classify, concurrency=2)",
    "read_parquet('a').map_batches(classified, batch_format='pandas')",
]
FINE = [
    "from_items([{'a': 1}]).map_batches(lambda rows: pd.DataFrame(rows, columns=['a']))",
    "from_items([dict(a=i) for i in numbers]).map(lambda row: {'b': row['a'] * 2})",
    "from_items([1, 2]).map_batches(lambda batch: {'x': batch['item'] + 1})",
    "from_items(pairs).map(lambda row: {'first': row['item'][0]})",
    "range(8).map(lambda row: {'double': row['id'] * 2})",
    "range(8).map(lambda row: row | {'x': 1})",
    "range(8).map_batches(lambda frame: frame * 2, batch_format='pandas')",
    "range(8).map_batches(lambda frame: frame[['id']], batch_format='pandas')",
    "range(8).flat_map(lambda row: [row, row])",
    "range(8).map(other)",
    "from_items([{'value': 1}]).map_batches(lambda frame: {'x': frame['value'] * 2}, batch_format='pandas')",
    "read_parquet('a').map_batches(lambda frame: {'x': frame['value'] * 2}, batch_format='pandas')",
    "read_text('a').map_batches(lambda batch: {'x': pipe(list(batch['text']))})",
    "read_text('a').map_batches(lambda batch: pd.DataFrame(pipe(list(batch['text']))))",
    "read_text('a').map_batches(lambda batch: other(list(batch['text'])))",
    "read_text('a').map_batches(lambda batch: pipe(question=batch['q'], context=batch['c']))",
    "read_text('a').map(lambda row: pipe([row['text']])[0])",
]
HEAD = (
    "import pandas as pd\nimport ray\nfrom job import other\nfrom transformers import pipeline\n\n"
    "pipe = pipeline('text-classification')\n\n\ndef as_list(batch):\n    return list(batch), 1\n\n\n"
    "def classified(frame):\n    found = pipe(frame['text'].to_list())\n    return found\n\n\n"
    "class Classify:\n    def __init__(self):\n        self.model = pipeline(model='gpt2')\n\n"
    "    def __call__(self, batch):\n        return self.model([str(t) for t in batch['text']])\n\n\n"
)


@pytest.mark.parametrize("body", PLAIN + REFUSED)
def test_rows_that_are_no_dicts_are_told(body: str) -> None:
    assert converted(f"{HEAD}ds = ray.data.{body}\n").lines("RM511", Kind.MANUAL)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (
            "from_items([1]).map_batches(lambda b: {'a': [b[0]]})",
            'by its number, raises a KeyError. Use list(batch["item"])',
        ),
        ("from_items([1]).map_batches(lambda b: {'a': b[:2]})", "a slice of it raises an error. Use list(batch["),
        (
            "from_items(t).map_batches(lambda b: pd.DataFrame(b, columns=['a']))",
            "the DataFrame has no rows, without an",
        ),
        ("from_items(t).map_batches(lambda b: {'a': [x for x in b]})", "goes over the names of its columns. Use list("),
        (
            "read_text('a').map(lambda row: {'a': row.lower()})",
            'lower of it raises an AttributeError. Use row["text"], w',
        ),
        ("range(3).filter(lambda row: row > 1)", 'to compare it raises a TypeError. Use row["id"], which is what'),
        ("range(3).filter(lambda row: row == 1)", "it equals nothing that it is compared with"),
        ("from_numpy(a).map_batches(lambda b: {'a': b * 2})", 'raises a TypeError. Use batch["data"], which is what'),
        (
            "from_items(t).map_batches(lambda b: b['value'], batch_format='pandas')",
            '"value" raises a KeyError. Use batch["item"], which is what it was.',
        ),
        ("from_pandas(t).map_batches(lambda b: [1])", "Return a dict with a list or an array for each column, such"),
        ("from_pandas(t).map(lambda row: 1)", 'Return a dict with a value for each column, such as {"output": re'),
        ("from_pandas(t).flat_map(lambda row: [1, 2])", "Return a list of dicts, such as"),
    ],
)
def test_what_comes_of_a_plain_row_is_told_and_advice_names_its_column(body: str, told: str) -> None:
    assert any(told in message for message in converted(f"{HEAD}import pandas as pd\nds = ray.data.{body}\n").messages)


@pytest.mark.parametrize("body", FINE)
def test_rows_that_are_dicts_are_no_news(body: str) -> None:
    assert not converted(f"{HEAD}ds = ray.data.{body}\n").lines("RM511", Kind.MANUAL)


LOADED = 'load_dataset("nyu-mll/glue", "sst2", split="train")'
GIVEN = """
from datasets import Dataset, load_dataset
import ray
from ray.air.config import ScalingConfig
from ray.train.{module} import {trainer}
from job import build, encode, frame

{before}

{trainer}(build, scaling_config=ScalingConfig(num_workers=2, use_gpu=True), datasets={datasets})
"""
OF_HUGGING_FACE = {
    "function": (f"def load():\n    rows = {LOADED}\n    return rows.map(encode)\n", '{"train": load()}'),
    "tuple": (
        f"def load(f):\n    ds = {LOADED}.train_test_split(0.1)\n    return ds['train'].map(f), ds['test'].map(f)\n\n"
        "train, rest = load(encode)",
        '{"train": train, "evaluation": rest}',
    ),
    "dict": (f"def load():\n    return {{'train': {LOADED}}}\n\nsets = load()", '{"train": sets["train"]}'),
    "parameter": (f"def same(rows):\n    return rows\n\nrows = same({LOADED})", '{"train": rows}'),
    "made": ("rows = Dataset.from_pandas(frame)\nrows = rows.shuffle(seed=0)", '{"train": rows}'),
    "branch": (f"rows = {LOADED} if frame is None else Dataset.from_pandas(frame)", '{"train": rows}'),
}
OF_RAY = {
    "wrapped": (
        f"def load():\n    return {LOADED}, 1\n\nrows, _ = load()",
        '{"train": ray.data.from_huggingface(rows)}',
    ),
    "from pandas": (f"rows = {LOADED}", '{"train": ray.data.from_pandas(rows.to_pandas())}'),
    "unknown": ("train, rest = encode()", '{"train": train, "evaluation": rest}'),
}


@pytest.mark.parametrize(
    ("module", "trainer", "code"), [("huggingface", "TransformersTrainer", "RM914"), ("torch", "TorchTrainer", "RM509")]
)
@pytest.mark.parametrize(("before", "datasets"), OF_HUGGING_FACE.values(), ids=OF_HUGGING_FACE)
def test_datasets_of_hugging_face_are_no_ray_datasets(
    before: str, datasets: str, module: str, trainer: str, code: str
) -> None:
    outcome = converted(GIVEN.format(module=module, trainer=trainer, before=before, datasets=datasets))
    assert outcome.lines(code, Kind.MANUAL)


@pytest.mark.parametrize(("before", "datasets"), OF_RAY.values(), ids=OF_RAY)
def test_ray_datasets_of_other_data_are_no_news(before: str, datasets: str) -> None:
    script = GIVEN.format(module="huggingface", trainer="TransformersTrainer", before=before, datasets=datasets)
    assert not converted(script).lines("RM914", Kind.MANUAL)


PREDICTOR = """
import ray
from ray.train.predictor import Predictor

ds = ray.data.{rows}


class Own({base}):
    def _predict_pandas(self, batch, **kwargs):
        return self.model(batch[{column}])


print(Own, ds, Predictor)
"""


@pytest.mark.parametrize("rows", ["from_items(images)", "from_items([1, 2])", "range(8)"])
def test_a_predictor_reads_the_column_that_tables_of_such_rows_had(rows: str) -> None:
    outcome = converted(PREDICTOR.format(rows=rows, base="Predictor", column="'value'"))
    assert outcome.lines("RM511", Kind.MANUAL) == [9]


@pytest.mark.parametrize(
    ("rows", "base", "column"),
    [
        ("from_items([{'value': 1}])", "Predictor", "'value'"),
        ("read_parquet('a')", "Predictor", "'value'"),
        ("from_items([1, 2])", "Predictor", "'item'"),
        ("from_items([1, 2])", "object", "'value'"),
    ],
)
def test_other_columns_and_classes_are_no_news(rows: str, base: str, column: str) -> None:
    assert not converted(PREDICTOR.format(rows=rows, base=base, column=column)).lines("RM511", Kind.MANUAL)


@pytest.mark.parametrize(
    ("first", "is_dataset"), [("ray.data.read_csv(path)", True), ("load(path)", False)], ids=["Dataset", "unknown"]
)
def test_a_chain_of_many_names_is_followed_to_its_end(first: str, is_dataset: bool) -> None:
    chain = "".join(f"r{number + 1} = r{number}.map(f)\n" for number in range(3_000))
    outcome = converted(f"import ray\nr0 = {first}\n{chain}r3000.fully_executed()\n")
    assert bool(outcome.lines("RM506", Kind.CONVERTED)) is is_dataset


@pytest.mark.parametrize(
    ("other", "is_dataset"), [("rows = rows.limit(5)", True), ("rows = load()", False), ("del rows", False)]
)
def test_a_name_is_a_dataset_if_all_that_it_is_bound_to_are(other: str, is_dataset: bool) -> None:
    outcome = converted(f"import ray\nrows = ray.data.read_csv(path)\n{other}\nrows.fully_executed()\n")
    assert bool(outcome.lines("RM506", Kind.CONVERTED)) is is_dataset


COUNTED = """
import ray
from ray.air.config import ScalingConfig
from ray.train.huggingface import HuggingFaceTrainer
from transformers import Trainer, TrainingArguments


def build(train_dataset, eval_dataset=None, **config):
    args = TrainingArguments("out", {arguments})
    return Trainer(model=config["model"](), args=args, train_dataset=train_dataset, eval_dataset=eval_dataset)


{before}
HuggingFaceTrainer(
    build, datasets={datasets}, scaling_config=ScalingConfig(num_workers=2, use_gpu=True)
).fit()
"""
MAPPED = {
    "in place": ("rows = ray.data.read_csv(path)", '{"train": rows.map_batches(encode)}'),
    "by name": (
        "rows = ray.data.read_csv(path)\nrows = rows.map(encode)",
        '{"train": rows, "evaluation": rows.limit(9)}',
    ),
    "shuffled behind": ("rows = ray.data.read_csv(path).filter(keep).random_shuffle()", '{"train": rows}'),
    "by a function": ("def load():\n    return ray.data.read_csv(path).map(encode)", '{"train": load()}'),
    "each of a dict": (
        "sets = ray.data.from_huggingface(load())\nsets = {name: split.map(encode) for name, split in sets.items()}",
        '{"train": sets["train"], "evaluation": sets["test"]}',
    ),
    "all in a name": ("datasets = {'train': ray.data.from_items(rows).map(encode)}", "datasets"),
}
NOT_MAPPED = {
    "read": ("rows = ray.data.read_csv(path)", '{"train": rows}'),
    "in memory": ("rows = ray.data.from_pandas(frame)", '{"train": rows}'),
    "materialized": ("rows = ray.data.read_csv(path).map(encode).materialize()", '{"train": rows}'),
    "split": ("rows, rest = ray.data.read_csv(path).map(encode).train_test_split(0.1)", '{"train": rows}'),
    "of a dict": ("sets = ray.data.from_huggingface(load())", '{"train": sets["train"], "evaluation": sets["test"]}'),
    "unknown": ("from job import load", '{"train": load()}'),
}


@pytest.mark.parametrize(("before", "datasets"), MAPPED.values(), ids=MAPPED)
def test_rows_that_are_counted_are_mapped_once_as_before(before: str, datasets: str) -> None:
    outcome = converted(COUNTED.format(arguments="num_train_epochs=3", before=before, datasets=datasets))
    each = datasets.replace(', "', '.materialize(), "').replace("}", ".materialize()}")
    assert (f"datasets = {each}\n" if datasets != "datasets" else "name: dataset.materialize()") in outcome.text
    assert '["train"].count()' in outcome.text
    assert converted(outcome.text).text == outcome.text


def test_datasets_of_a_long_dict_are_mapped_once_in_a_loop_over_it() -> None:
    before, datasets = MAPPED["in place"]
    long = datasets.replace("}", ', "evaluation": ray.data.read_csv("a_very_long_name_of_a_file.csv").limit(9)}')
    text = converted(COUNTED.format(arguments="num_train_epochs=3", before=before, datasets=long)).text
    assert "name: dataset.materialize()" in text


@pytest.mark.parametrize(("before", "datasets"), NOT_MAPPED.values(), ids=NOT_MAPPED)
def test_rows_that_nothing_maps_are_left_as_they_are(before: str, datasets: str) -> None:
    outcome = converted(COUNTED.format(arguments="num_train_epochs=3", before=before, datasets=datasets))
    assert "dataset.materialize()" not in outcome.text
    assert not outcome.lines("RM107", Kind.NOTE)


def test_rows_that_a_later_ray_may_have_streamed_are_only_noted() -> None:
    before, datasets = MAPPED["by name"]
    outcome = converted(COUNTED.format(arguments="max_steps=20", before=before, datasets=datasets))
    assert "materialize()" not in outcome.text
    assert outcome.lines("RM107", Kind.NOTE)


@pytest.mark.parametrize("is_short", [True, False])
def test_a_dict_of_datasets_is_written_once_where_it_is_short(is_short: bool) -> None:
    datasets = '{"train": first, "evaluation": second}' if is_short else '{\n        "train": first,\n    }'
    before = "from ray.data.preprocessors import BatchMapper\nmapper = BatchMapper(encode, batch_format='pandas')"
    script = COUNTED.format(arguments="max_steps=20", before=before, datasets=f"{datasets}, preprocessor=mapper")
    text = converted(script).text
    assert text.count("datasets = {") == (1 if is_short else 2)
    assert ("for name, dataset in {" in text) is is_short


@pytest.mark.parametrize("imports", ["import scores", "from scores import score"])
def test_a_function_of_a_shorter_file_is_told_by_its_name_here(tmp_path: Path, imports: str) -> None:
    name = "scores.score" if imports.startswith("import") else "score"
    score = 'def score(df):\n    df["right"] = df["a"] == df["b"]\n    return df[["right"]]\n'
    lines = ["import ray", imports, *[f"x{n} = {n}" for n in range(20)], "ds = ray.data.read_parquet('a.parquet')"]
    write(tmp_path, {"scores.py": score, "script.py": "\n".join([*lines, f"ds = ds.map_batches({name})"]) + "\n"})
    summary = convert(tmp_path)
    assert not [finding for finding in summary.findings if finding.code == "RM903"]
    assert [f.message.split()[0] for f in summary.findings if f.code == "RM508"] == [f"{name}()"]
    assert f'ds.map_batches({name}, batch_format="pandas")' in (tmp_path / "script.py").read_text()


SHARDS = """
from ray.air import ScalingConfig, session
from ray.train.torch import TorchTrainer


def loop(config):
    shards = {shards}
    print({use})


TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=2)).fit()
"""


@pytest.mark.parametrize(
    ("shards", "item"),
    [
        ("{'train': session.get_dataset_shard('train'), 'test': session.get_dataset_shard('test')}", "['train']"),
        ("{k: session.get_dataset_shard(k) for k in ('train', 'test')}", "['train']"),
        ("[session.get_dataset_shard(k) for k in ('train', 'test')]", "[0]"),
        ("[session.get_dataset_shard('train'), session.get_dataset_shard('test')]", "[1]"),
        ("session.get_dataset_shard('train')", ""),
    ],
)
@pytest.mark.parametrize(("method", "told"), [("count()", True), ("iter_batches()", False)])
def test_a_shard_in_a_collection_is_no_dataset_either(shards: str, item: str, method: str, told: bool) -> None:
    outcome = converted(SHARDS.format(shards=shards, use=f"shards{item}.{method}"))
    assert bool(outcome.lines("RM506", Kind.MANUAL)) is told


@pytest.mark.parametrize(
    ("shards", "use"),
    [
        ("{k: session.get_dataset_shard(k) for k in ('train', 'test')}", "shards.keys()"),
        ("[session.get_dataset_shard('train')]", "shards.count(3)"),
        ("{'train': session.get_dataset_shard('train'), 'rows': [1, 2]}", "shards['rows'].count(1)"),
        ("[session.get_dataset_shard('train').iter_rows()]", "shards[0].count()"),
        ("{'train': len(str(session.get_dataset_shard('train')))}", "shards['train'].count()"),
    ],
)
def test_a_collection_of_shards_and_what_else_is_in_it_are_none(shards: str, use: str) -> None:
    assert not converted(SHARDS.format(shards=shards, use=use)).lines("RM506", Kind.MANUAL)


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("for one in predictor.predict_pipelined(ds, blocks_per_window=8).iter_datasets():\n    one.show()", True),
        ("def each(pipe):\n    for one in pipe.iter_datasets():\n        one.write_parquet(path)", True),
        ("pipe.foreach_window(lambda ds: ds.limit(3))", True),
        ("pipe.random_shuffle_each_window(seed=0)", True),
        ("pipe.rewindow(blocks_per_window=2)", True),
        ("class Own:\n    def iter_datasets(self):\n        return []\n\n\nOwn().iter_datasets()", False),
    ],
)
def test_what_only_a_pipeline_had_is_told(script: str, told: bool) -> None:
    assert bool(converted(f"import ray\n\n{script}\n").lines("RM506", Kind.MANUAL)) is told
