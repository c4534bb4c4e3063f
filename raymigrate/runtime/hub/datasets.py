"""Datasets with the schemas of the real ones: GLUE (MRPC, SST-2), wikitext-2, IMDB, as Parquet files.

A label can be learned from the words of a text: each topic has its own, so a tiny model gets better within a few steps.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

from raymigrate.runtime.hub.text import BUSINESS, TOPICS, generator, sentence

STRING = {"dtype": "string", "_type": "Value"}
INT32 = {"dtype": "int32", "_type": "Value"}


def _label(*names: str) -> dict[str, object]:
    return {"names": list(names), "_type": "ClassLabel"}


def _write(folder: Path, config: str, splits: Mapping[str, dict[str, list[Any]]], features: dict[str, object]) -> None:
    """Writes the splits of one configuration; the features are those that `datasets` reads from Parquet metadata."""
    import pyarrow as pa  # noqa: PLC0415 - only for building
    import pyarrow.parquet as pq  # noqa: PLC0415

    metadata = {b"huggingface": json.dumps({"info": {"features": features}}).encode()}
    kinds = {"idx": pa.int32(), "label": pa.int64()}
    for split, columns in splits.items():
        path = folder / config / f"{split}-00000-of-00001.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        arrays = {name: pa.array(values, kinds.get(name, pa.string())) for name, values in columns.items()}
        pq.write_table(pa.table(arrays).replace_schema_metadata(metadata), path)


def _write_card(folder: Path, configs: Mapping[str, list[str]]) -> None:
    """Writes the README that tells `datasets` which files belong to which configuration and split."""
    lines = ["---", "configs:"]
    for config, splits in configs.items():
        lines += [f"- config_name: {config}", "  data_files:"]
        for split in splits:
            lines += [f"  - split: {split}", f"    path: {config}/{split}-*"]
    (folder / "README.md").write_text("\n".join([*lines, "---", "Generated for offline runs.", ""]), encoding="utf-8")


def _splits(name: str, sizes: Mapping[str, int], rows: Callable[[Random, int], dict[str, list[Any]]]) -> dict[str, Any]:
    return {split: rows(generator(f"{name}-{split}"), size) for split, size in sizes.items()}


def _mrpc(random_: Random, size: int) -> dict[str, list[Any]]:
    """Pairs; the second sentence is the first with words left out (equivalent), or of the other topic."""
    first, second, labels = [], [], []
    for _ in range(size):
        label = random_.randint(0, 1)
        text = sentence(random_, TOPICS[0])
        kept = " ".join(word for word in text.split() if random_.random() > 0.15)
        first.append(text)
        second.append(kept if label else sentence(random_, TOPICS[1]))
        labels.append(label)
    return {"sentence1": first, "sentence2": second, "label": labels, "idx": list(range(size))}


def _topic_rows(column: str, *, index: bool) -> Callable[[Random, int], dict[str, list[Any]]]:
    def rows(random_: Random, size: int) -> dict[str, list[Any]]:
        labels = [random_.randint(0, 1) for _ in range(size)]
        columns: dict[str, list[Any]] = {column: [sentence(random_, TOPICS[label]) for label in labels], "label": labels}
        return {**columns, "idx": list(range(size))} if index else columns

    return rows


def _wikitext(random_: Random, size: int) -> dict[str, list[Any]]:
    """Lines as in wikitext: empty ones, headings and paragraphs."""
    lines = []
    for number in range(size):
        if number % 5 == 1:
            lines.append(f" = {sentence(random_, BUSINESS, 2, 4)[:-2]} = \n")
        elif number % 5 in (0, 2):
            lines.append("")
        else:
            paragraph = " ".join(sentence(random_, TOPICS[number % 2]) for _ in range(random_.randint(3, 6)))
            lines.append(f" {paragraph} \n")
    return {"text": lines}


def glue(folder: Path) -> None:
    """Writes GLUE's configurations mrpc and sst2."""
    sizes = {"train": 256, "validation": 64, "test": 32}
    features = {"sentence1": STRING, "sentence2": STRING, "label": _label("not_equivalent", "equivalent"), "idx": INT32}
    _write(folder, "mrpc", _splits("mrpc", sizes, _mrpc), features)
    features = {"sentence": STRING, "label": _label("negative", "positive"), "idx": INT32}
    _write(folder, "sst2", _splits("sst2", sizes, _topic_rows("sentence", index=True)), features)
    _write_card(folder, {"mrpc": list(sizes), "sst2": list(sizes)})


def wikitext(folder: Path) -> None:
    """Writes wikitext-2-raw-v1."""
    sizes = {"test": 60, "train": 400, "validation": 100}
    _write(folder, "wikitext-2-raw-v1", _splits("wikitext", sizes, _wikitext), {"text": STRING})
    _write_card(folder, {"wikitext-2-raw-v1": list(sizes)})


def imdb(folder: Path) -> None:
    """Writes IMDB's plain_text."""
    sizes = {"train": 128, "test": 64}
    features = {"text": STRING, "label": _label("neg", "pos")}
    _write(folder, "plain_text", _splits("imdb", sizes, _topic_rows("text", index=False)), features)
    _write_card(folder, {"plain_text": list(sizes)})
