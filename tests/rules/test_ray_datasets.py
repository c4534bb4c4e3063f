"""RM505 and RM508: datasets of Hugging Face, and what functions get as their batch."""

import pytest

from raymigrate.findings import Kind
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
