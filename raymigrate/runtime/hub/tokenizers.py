"""Tokenizers of the right kind with small vocabularies: WordPiece for BERT, byte-level BPE for GPT-2."""

import json
from pathlib import Path

from raymigrate.runtime.hub.text import TOPICS, WORDS, generator, sentence

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def write_json(path: Path, document: object) -> None:
    """Writes a JSON file, with its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")


def bert_tokenizer(folder: Path, *, lowercase: bool) -> int:
    """Writes a WordPiece tokenizer; returns the size of its vocabulary."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors  # noqa: PLC0415

    characters = [chr(code) for code in range(33, 127)]
    vocabulary = [*SPECIAL, *characters, *(f"##{character}" for character in characters), *WORDS]
    if not lowercase:
        vocabulary += [word.capitalize() for word in WORDS]
    vocabulary = list(dict.fromkeys(vocabulary))
    numbers = {token: number for number, token in enumerate(vocabulary)}
    tokenizer = Tokenizer(models.WordPiece(numbers, unk_token="[UNK]"))
    tokenizer.add_special_tokens(SPECIAL)
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[("[CLS]", numbers["[CLS]"]), ("[SEP]", numbers["[SEP]"])],
    )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n", encoding="utf-8")
    tokenizer.save(str(folder / "tokenizer.json"))
    write_json(folder / "tokenizer_config.json", {"do_lower_case": lowercase, "model_max_length": 512})
    return len(vocabulary)


def gpt2_tokenizer(folder: Path, size: int) -> int:
    """Trains a byte-level BPE tokenizer on generated text; returns the size of its vocabulary."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers  # noqa: PLC0415

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        special_tokens=["<|endoftext|>"],
        show_progress=False,
    )
    random_ = generator("gpt2-tokenizer")
    tokenizer.train_from_iterator([sentence(random_, TOPICS[i % 2]) for i in range(400)], trainer)
    document = json.loads(tokenizer.to_str())
    # tokenizers < 0.20 reads merges only as "a b"; newer versions read both forms.
    merges = document["model"]["merges"]
    document["model"]["merges"] = [merge if isinstance(merge, str) else " ".join(merge) for merge in merges]
    write_json(folder / "tokenizer.json", document)
    write_json(folder / "vocab.json", document["model"]["vocab"])
    lines = ["#version: 0.2", *document["model"]["merges"]]
    (folder / "merges.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    write_json(folder / "tokenizer_config.json", {"model_max_length": 1024})
    return int(tokenizer.get_vocab_size())
