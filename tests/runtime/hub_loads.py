"""Run by `test_hub.py` in a process of its own: loads from a hub as users' scripts do, prints what it found as JSON.

Runs on old libraries too (transformers 4.28, datasets 2.14, evaluate 0.4.1): `HF_ENDPOINT=... python hub_loads.py DIR`,
where DIR is a hub's folder that was built without task heads.
"""

import json
import sys

import evaluate
import torch
from datasets import load_dataset
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForPreTraining,
    AutoModelForSequenceClassification,
    AutoTokenizer,
)

CLASSIFIERS = ("bert-base-cased", "bert-base-uncased", "distilbert-base-uncased")
WHOLE_MODELS = {
    "bert-base-cased": AutoModelForPreTraining,
    "distilbert-base-uncased": AutoModelForMaskedLM,
    "gpt2": AutoModelForCausalLM,
    "distilgpt2": AutoModelForCausalLM,
}
DATASETS = (
    ("nyu-mll/glue", "mrpc"),
    ("nyu-mll/glue", "sst2"),
    ("nyu-mll/glue", "cola"),
    ("Salesforce/wikitext", "wikitext-2-raw-v1"),
    ("stanfordnlp/imdb",),
)
METRICS = (("glue", "mrpc"), ("glue", "sst2"), ("glue", "cola"), ("glue", "stsb"), ("accuracy",), ("f1",))


def absent(name, model_class):
    """Weights that the checkpoint lacks or has in another shape."""
    _, loaded = model_class.from_pretrained(name, output_loading_info=True)
    return sorted(map(str, [*loaded["missing_keys"], *loaded["mismatched_keys"]]))


def classifier_losses(name):
    tokenizer = AutoTokenizer.from_pretrained(name)
    model = AutoModelForSequenceClassification.from_pretrained(name, num_labels=2)
    rows = load_dataset("nyu-mll/glue", "mrpc", split="train")

    def loss(step):
        batch = rows[step * 16 : step * 16 + 16]
        inputs = tokenizer(batch["sentence1"], batch["sentence2"], padding=True, return_tensors="pt")
        return model(**inputs, labels=torch.tensor(batch["label"])).loss

    return descend(model, loss, steps=16, rate=3e-4)


def language_model_losses(name):
    tokenizer = AutoTokenizer.from_pretrained(name)
    model = AutoModelForCausalLM.from_pretrained(name)
    text = "".join(load_dataset("Salesforce/wikitext", "wikitext-2-raw-v1", split="train")["text"])
    numbers = torch.tensor(tokenizer(text)["input_ids"])[: 8 * 4 * 64].view(8, 4, 64)
    return descend(model, lambda step: model(input_ids=numbers[step], labels=numbers[step]).loss, steps=8, rate=1e-3)


def descend(model, loss_of_step, steps, rate):
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
    losses = []
    for step in range(steps):
        loss = loss_of_step(step)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses


def described(dataset):
    labels = dataset["train"].features.get("label")
    return {
        "rows": dataset.num_rows,
        "columns": {name: feature.dtype for name, feature in dataset["train"].features.items()},
        "labels": labels.names if labels is not None else None,
        "used": {split: sorted(set(rows["label"])) if labels is not None else None for split, rows in dataset.items()},
    }


def main(without_heads):
    pair = {"predictions": [1, 0, 1, 1, 0], "references": [1, 1, 0, 1, 0]}
    three_classes = {"predictions": [0, 1, 2, 2], "references": [0, 2, 2, 1]}
    bert = f"{without_heads}/models/google-bert/bert-base-cased"
    found = {
        "tokens": {
            name: AutoTokenizer.from_pretrained(name).tokenize("The market rose.") for name in (*CLASSIFIERS, "gpt2")
        },
        "layers": AutoConfig.from_pretrained("gpt2").n_layer,
        "absent": {name: absent(name, model_class) for name, model_class in WHOLE_MODELS.items()},
        "absent_heads": {name: absent(name, AutoModelForSequenceClassification) for name in CLASSIFIERS},
        "three_classes": AutoModelForSequenceClassification.from_pretrained(bert, num_labels=3).config.num_labels,
        "datasets": {" ".join(names): described(load_dataset(*names)) for names in DATASETS},
        "metrics": {" ".join(names): evaluate.load(*names).compute(**pair) for names in METRICS},
        "f1": {
            kind: evaluate.load("f1").compute(**three_classes, average=kind)["f1"]
            for kind in ("micro", "macro", "weighted")
        },
        "losses": {
            **{name: classifier_losses(name) for name in CLASSIFIERS},
            **{name: language_model_losses(name) for name in ("gpt2", "distilgpt2")},
        },
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
