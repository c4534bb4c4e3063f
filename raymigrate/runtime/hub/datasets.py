"""Datasets with the schemas of the real ones: GLUE (MRPC, SST-2, CoLA), wikitext-2, IMDB, as Parquet files.

A label can be learned from the words of a text: each topic has its own, so a tiny model gets better within a few steps.
Test splits are unlabelled (-1) where the real ones are: SST-2 and CoLA, and IMDB's split "unsupervised".
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

from raymigrate.runtime.hub.text import BUSINESS, TOPICS, generator, sentence

Columns = dict[str, list[Any]]
STRING = {"dtype": "string", "_type": "Value"}
INT32 = {"dtype": "int32", "_type": "Value"}
GLUE_ROWS = {"train": 256, "validation": 64, "test": 32}
WIKITEXT_ROWS = {"test": 60, "train": 400, "validation": 100}
IMDB_ROWS = {"train": 128, "test": 64, "unsupervised": 64}


def glue(folder: Path) -> None:
    """Writes GLUE's configurations mrpc, sst2 and cola into its repository."""
    features = {"sentence1": STRING, "sentence2": STRING, "label": _label("not_equivalent", "equivalent"), "idx": INT32}
    _write(folder, "mrpc", _splits("mrpc", GLUE_ROWS, _mrpc), features)
    for config, labels in {
        "sst2": _label("negative", "positive"),
        "cola": _label("unacceptable", "acceptable"),
    }.items():
        features = {"sentence": STRING, "label": labels, "idx": INT32}
        splits = _splits(config, GLUE_ROWS, _by_topic("sentence"))
        splits["test"]["label"] = [-1] * GLUE_ROWS["test"]
        for columns in splits.values():
            columns["idx"] = list(range(len(columns["label"])))
        _write(folder, config, splits, features)
    _write_card(folder, dict.fromkeys(("mrpc", "sst2", "cola"), GLUE_ROWS))


def wikitext(folder: Path) -> None:
    """Writes wikitext-2-raw-v1 into its repository."""
    _write(folder, "wikitext-2-raw-v1", _splits("wikitext", WIKITEXT_ROWS, _wikitext), {"text": STRING})
    _write_card(folder, {"wikitext-2-raw-v1": WIKITEXT_ROWS})


def imdb(folder: Path) -> None:
    """Writes IMDB's plain_text into its repository."""
    splits = _splits("imdb", IMDB_ROWS, _by_topic("text"))
    splits["unsupervised"]["label"] = [-1] * IMDB_ROWS["unsupervised"]
    _write(folder, "plain_text", splits, {"text": STRING, "label": _label("neg", "pos")})
    _write_card(folder, {"plain_text": IMDB_ROWS})


def _splits(name: str, rows: Mapping[str, int], columns: Callable[[Random, int], Columns]) -> dict[str, Columns]:
    return {split: columns(generator(f"{name}-{split}"), size) for split, size in rows.items()}


def _mrpc(random: Random, size: int) -> Columns:
    """Pairs; the second sentence is the first with words left out (equivalent), or of the other topic."""
    first, second, labels = [], [], []
    for _ in range(size):
        label = random.randint(0, 1)
        text = sentence(random, TOPICS[0])
        kept = " ".join(word for word in text.split() if random.random() > 0.15)
        first.append(text)
        second.append(kept if label else sentence(random, TOPICS[1]))
        labels.append(label)
    return {"sentence1": first, "sentence2": second, "label": labels, "idx": list(range(size))}


def _by_topic(column: str) -> Callable[[Random, int], Columns]:
    """Sentences whose topic is their label."""

    def columns(random: Random, size: int) -> Columns:
        labels = [random.randint(0, 1) for _ in range(size)]
        return {column: [sentence(random, TOPICS[label]) for label in labels], "label": labels}

    return columns


def _wikitext(random: Random, size: int) -> Columns:
    """Lines as in wikitext: empty ones, headings and paragraphs."""
    lines = []
    for number in range(size):
        if number % 5 == 1:
            lines.append(f" = {sentence(random, BUSINESS, 2, 4)[:-2]} = \n")
        elif number % 5 in (0, 2):
            lines.append("")
        else:
            paragraph = " ".join(sentence(random, TOPICS[number % 2]) for _ in range(random.randint(3, 6)))
            lines.append(f" {paragraph} \n")
    return {"text": lines}


def _label(*names: str) -> dict[str, Any]:
    return {"names": list(names), "_type": "ClassLabel"}


def _write(folder: Path, config: str, splits: Mapping[str, Columns], features: Mapping[str, Any]) -> None:
    """Writes the splits of one configuration; the features are those that `datasets` reads from Parquet metadata."""
    import pyarrow as pa  # noqa: PLC0415 - only for building
    import pyarrow.parquet as pq  # noqa: PLC0415

    metadata = {b"huggingface": json.dumps({"info": {"features": features}}).encode()}
    kinds = {"idx": pa.int32(), "label": pa.int64()}
    for split, columns in splits.items():
        path = folder / config / f"{split}-00000-of-00001.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        arrays = {name: pa.array(columns[name], kinds.get(name, pa.string())) for name in features}
        pq.write_table(pa.table(arrays).replace_schema_metadata(metadata), path)


def _write_card(folder: Path, configs: Mapping[str, Mapping[str, int]]) -> None:
    """Writes the README that tells `datasets` which files belong to which configuration and split."""
    lines = ["---", "configs:"]
    for config, rows in configs.items():
        lines += [f"- config_name: {config}", "  data_files:"]
        for split in rows:
            lines += [f"  - split: {split}", f"    path: {config}/{split}-*"]
    (folder / "README.md").write_text("\n".join([*lines, "---", "Generated for offline runs.", ""]), encoding="utf-8")
