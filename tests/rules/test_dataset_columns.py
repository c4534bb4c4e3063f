"""RM716: columns of datasets, by whatever way the dataset comes from load_dataset."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = """
import ray
from datasets import load_dataset
from transformers import AutoTokenizer
from elsewhere import names, some

tokenizer = AutoTokenizer.from_pretrained("a")
"""
BOTH = 'split=["train", "test"])'


@pytest.mark.parametrize(
    "use",
    [
        f"a, b = load_dataset('o/x', {BOTH}\ntokenizer(a['text'])",
        f"[a, b] = load_dataset('o/x', {BOTH}\ntokenizer(b['text'], truncation=True)",
        "a, b = load_dataset('o/x', split=('train[:9]', 'test'))\na = a.shuffle(seed=1)\ntokenizer(a['text'])",
        f"parts = load_dataset('o/x', {BOTH}\ntokenizer(parts[0]['text'])",
        f"parts = load_dataset('o/x', {BOTH}\na, b = parts\ntokenizer(b['text'])",
        "SPLITS = ['train', 'test']\na, b = load_dataset('o/x', split=SPLITS)\ntokenizer(a['text'])",
        "a, b = load_dataset('o/x', split=[f'train[:{n}%]' for n in (1, 2)])\ntokenizer(a['text'])",
        "a, b = load_dataset('o/x', split='train').train_test_split(0.2).values()\ntokenizer(a['text'])",
        "a = load_dataset('o/x', **{'split': 'train'})\ntokenizer(a['text'])",
        "w = dict(split='train')\na = load_dataset('o/x', **w)\ntokenizer(a['text'])",
        "a = load_dataset('o/x', split='train', **{'revision': 'b'})\ntokenizer(a['text'])",
        "d = load_dataset('o/x')\na, b = d['train'], d['test']\ntokenizer(a['text'])",
        "d = load_dataset('o/x', split={'a': 'train', 'b': 'test'})\ntokenizer(d['a']['text'])",
        "a = load_dataset('o/x', split='train')\ntokenizer(sum(a['text'], []), names.pad(a['text']))",
        f"def f():\n    a, b = load_dataset('o/x', {BOTH}\n    return tokenizer(a['text'] + b['text'])",
    ],
)
def test_a_column_of_one_of_several_datasets_is_read_into_a_list(use: str) -> None:
    outcome = converted(HEAD + use + "\n")
    assert len(outcome.lines("RM716", Kind.CONVERTED)) == use.count("['text']")
    assert outcome.text.count("['text'][:]") == use.count("['text']")


@pytest.mark.parametrize(
    "use",
    [
        f"a, b = load_dataset('o/x', {BOTH}\nprint(len(a['text']), a['text'][0], a[:5]['text'])",
        f"a, b = load_dataset('o/x', {BOTH[:-1]}, streaming=True)\ntokenizer(a['text'])",
        "a = load_dataset('o/x', split='train')\nnames.update(np.array(a['n']), torch.tensor(a['n']), k=sum(a['n']))",
        "a, b = some()\ntokenizer(a['text'])",
        "a = load_dataset('o/x', split='train', **{'streaming': True})\ntokenizer(a['text'])",
        "a = load_dataset('o/x', split='train', **some())\ntokenizer(a['text'])",
        "w = {}\nw.update(some())\na = load_dataset('o/x', **w)\ntokenizer(a['text'])",
        "a, b = load_dataset('o/x', split='train')\ntokenizer(a['text'])",
        "a, b = load_dataset('o/x')\ntokenizer(names[a])",
        f"parts = load_dataset('o/x', {BOTH}\ntokenizer(parts[:1]['text'])",
        f"a, b = load_dataset('o/x', {BOTH}\na = some(a)\ntokenizer(a['text'])",
        "a = load_dataset('o/x', split=['train'] if some else 'train')\ntokenizer(a['text'])",
    ],
)
def test_what_is_no_column_of_a_dataset_or_only_read_is_left_alone(use: str) -> None:
    outcome = converted(HEAD + use + "\n")
    assert not [code for code, _, _ in outcome.findings if code == "RM716"]


@pytest.mark.parametrize("given", ['rows["train"]', "rows.map(prepare)", "rows.map(prepare)['train']"])
def test_what_is_made_of_itself_is_unknown(given: str) -> None:
    head = "from datasets import load_dataset\nfrom data import *\nimport ray\nfrom ray.air import session\n"
    outcome = converted(f'{head}rows = {given}\ntexts = rows["text"]\nsession.report({{"a": 1}})\n')
    assert 'texts = rows["text"]\n' in outcome.text and "ray.train.report(" in outcome.text
