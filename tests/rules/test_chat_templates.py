"""RM772: ids of a chat, which transformers 5 gives in a BatchEncoding."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

OLD = (
    "import ray.train\nfrom transformers import AutoProcessor, AutoTokenizer, TrainingArguments\nfrom job import chat\n"
)
FOR_TRANSFORMERS_4 = f"{OLD}TrainingArguments('out', evaluation_strategy='no')\n"
TOKENIZER = "tokenizer = AutoTokenizer.from_pretrained('gpt2')\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("len(tokenizer.apply_chat_template(chat))", "len(tokenizer.apply_chat_template(chat, return_dict=False))"),
        (
            "ids = tokenizer.apply_chat_template(chat, return_tensors='pt').to('cuda')\nmodel.generate(ids)",
            "ids = tokenizer.apply_chat_template(chat, return_tensors='pt', return_dict=False).to('cuda')\n"
            "model.generate(ids)",
        ),
        (
            "def ids(tokenizer, rows):\n    return {'ids': tokenizer.apply_chat_template(rows, tokenize=True)}",
            "def ids(tokenizer, rows):\n"
            "    return {'ids': tokenizer.apply_chat_template(rows, tokenize=True, return_dict=False)}",
        ),
        (
            "AutoProcessor.from_pretrained('x').tokenizer.apply_chat_template(chat)",
            "AutoProcessor.from_pretrained('x').tokenizer.apply_chat_template(chat, return_dict=False)",
        ),
    ],
)
def test_a_script_for_transformers_4_gets_ids_as_before(before: str, after: str) -> None:
    outcome = converted(FOR_TRANSFORMERS_4 + TOKENIZER + before)
    assert outcome.text.endswith(after)
    assert len(outcome.lines("RM772", Kind.CONVERTED)) == 1
    assert "RM772" not in [code for code, _, _ in converted(outcome.text).findings]


def test_others_are_told() -> None:
    outcome = converted(OLD + TOKENIZER + "len(tokenizer.apply_chat_template(chat))")
    assert outcome.lines("RM772", Kind.NOTE) == [5]
    assert "return_dict" not in outcome.text


@pytest.mark.parametrize(
    "use",
    [
        "tokenizer.apply_chat_template(chat, tokenize=False)",
        "tokenizer.apply_chat_template(chat, None, None, None, True, False, False)",
        "TEXT = False\ntokenizer.apply_chat_template(chat, tokenize=TEXT)",
        "tokenizer.apply_chat_template(chat, return_dict=True)",
        "tokenizer.apply_chat_template(chat, **{'return_dict': True})",
        "tokenizer.apply_chat_template(chat)['input_ids']",
        "model.generate(**tokenizer.apply_chat_template(chat, return_tensors='pt').to('cuda'))",
        "inputs = tokenizer.apply_chat_template(chat, return_tensors='pt').to('cuda')\nmodel.generate(**inputs)",
        "inputs = tokenizer.apply_chat_template(chat)\nprint(inputs.input_ids)",
        "inputs = tokenizer.apply_chat_template(chat)\nprint('labels' not in inputs)",
        "processor = AutoProcessor.from_pretrained('x')\nprocessor.apply_chat_template(chat, tokenize=True)",
        "def text(processor):\n    return processor.apply_chat_template(chat)",
        "def text(it: AutoProcessor):\n    return it.apply_chat_template(chat)",
        "a = tokenizer.apply_chat_template(chat)\nb = a.to('cuda')\nprint({**b})",
        "a = tokenizer.apply_chat_template(chat)\na = a.to('cuda')\nprint('input_ids' in a, a.pop('labels', 0))",
        "class Chats:\n    def apply_chat_template(self, chat):\n        return chat\n\n"
        "    def ids(self):\n        return self.apply_chat_template(chat)",
        "class Chats:\n    def apply_chat_template(self, chat):\n        return chat\n\n\n"
        "def ids(chats: Chats):\n    return chats.apply_chat_template(chat)",
        "class Chats:\n    def apply_chat_template(self, chat):\n        return chat\n\n\n"
        "Chats().apply_chat_template(chat)",
        "class Chats:\n    def apply_chat_template(self, chat):\n        return chat\n\n\n"
        "f = Chats().apply_chat_template\nf(chat)",
        "class Chats:\n    def apply_chat_template(self, chat):\n        return chat\n\n\n"
        "getattr(Chats(), 'apply_chat_template')(chat)",
        "f = tokenizer.apply_chat_template\nf(chat, tokenize=False)",
        "f = tokenizer.apply_chat_template\nf = print\nf(chat)",
        "if chat:\n    f = tokenizer.apply_chat_template\nelse:\n    f = print\nf(chat)",
        "from functools import partial\npartial(tokenizer.apply_chat_template, tokenize=False)(chat)",
        "from functools import partial\nf = partial(tokenizer.apply_chat_template)\nprint(f(chat)['input_ids'])",
        "def getattr(one, other):\n    return print\n\n\ngetattr(tokenizer, 'apply_chat_template')(chat)",
        "text = tokenizer.apply_chat_template(chat, tokenize=False)\nids = getattr(tokenizer, 'encode')(text)",
    ],
)
@pytest.mark.parametrize("head", [OLD, FOR_TRANSFORMERS_4])
def test_texts_entries_and_other_classes_are_left(use: str, head: str) -> None:
    assert "RM772" not in [code for code, _, _ in converted(head + TOKENIZER + use).findings]


@pytest.mark.parametrize(
    "use",
    [
        "f = tokenizer.apply_chat_template\nids = f(chat)\n",
        "f = getattr(tokenizer, 'apply_chat_template')\nids = f(chat)\n",
        "ids = getattr(tokenizer, 'apply_chat_template')(chat)\n",
        "class Job:\n    def run(self):\n        f = tokenizer.apply_chat_template\n        return f(chat)\n",
        "f = tokenizer.apply_chat_template\nids = f(chat)\nf = print\n",
        "if chat:\n    f = tokenizer.apply_chat_template\nelse:\n    f = other.apply_chat_template\nids = f(chat)\n",
        "f = processor.apply_chat_template\nif chat:\n    f = tokenizer.apply_chat_template\nids = f(chat)\n",
    ],
)
def test_a_method_by_another_name_gives_ids_too(use: str) -> None:
    outcome = converted(FOR_TRANSFORMERS_4 + TOKENIZER + use)
    assert "(chat, return_dict=False)" in outcome.text and len(outcome.lines("RM772", Kind.CONVERTED)) == 1


@pytest.mark.parametrize("order", [("Chats()", "tokenizer"), ("tokenizer", "Chats()")])
def test_a_call_that_may_be_one_of_the_scripts_own_class_stays(order: tuple[str, str]) -> None:
    own = "class Chats:\n    def apply_chat_template(self, chat):\n        return chat\n\n\n"
    first, second = (f"    f = {owner}.apply_chat_template\n" for owner in order)
    outcome = converted(f"{FOR_TRANSFORMERS_4}{TOKENIZER}{own}if chat:\n{first}else:\n{second}ids = f(chat)\n")
    assert "return_dict" not in outcome.text


def test_partial_gives_the_argument_before_the_call() -> None:
    use = "from functools import partial\nids = map(partial(tokenizer.apply_chat_template, tokenize=True), chats)\n"
    after = converted(FOR_TRANSFORMERS_4 + TOKENIZER + use).text
    assert "partial(tokenizer.apply_chat_template, tokenize=True, return_dict=False)" in after


RENDERS = "def ids(render, chat):\n    return render(chat{})\n\n\nids(tokenizer.apply_chat_template, chat)\n"
HOLDS = (
    "class Chats:\n    def __init__(self, tokenizer):\n        self.render = tokenizer.apply_chat_template\n\n"
    "    def ids(self, chat):\n        return self.render(chat{})\n"
)


@pytest.mark.parametrize(
    "use",
    [
        "ids = list(map(tokenizer.apply_chat_template, chats))\n",
        "f = tokenizer.apply_chat_template\nids = pool.map(f, chats)\n",
        "from job import start\nstart(render=tokenizer.apply_chat_template)\n",
        "RENDERERS = {'chat': tokenizer.apply_chat_template}\nids = RENDERERS['chat'](chat)\n",
        "RENDERERS = {'chat': tokenizer.apply_chat_template}\nids = RENDERERS.get('chat')(chat)\n",
        "def ids(chat, render=tokenizer.apply_chat_template):\n    return render(chat)\n",
        RENDERS.format(""),
        HOLDS.format(""),
    ],
)
def test_a_method_that_is_handed_on_is_told(use: str) -> None:
    outcome = converted(FOR_TRANSFORMERS_4 + TOKENIZER + use)
    assert len(outcome.lines("RM772", Kind.MANUAL)) == 1 and "return_dict" not in outcome.text
    assert any("functools.partial(..., return_dict=False)" in message for message in outcome.messages)
    assert converted(OLD + TOKENIZER + use).lines("RM772", Kind.NOTE)


@pytest.mark.parametrize(
    "use",
    [
        RENDERS.format(", tokenize=False"),
        RENDERS.format(", return_dict=True"),
        HOLDS.format(", tokenize=False"),
        HOLDS.format(")['input_ids'],").replace(",)", ""),
        "rows.map(tokenizer.apply_chat_template, fn_kwargs={'return_dict': True})\n",
        "rows.map(tokenizer.apply_chat_template, input_columns='messages')\n",
        "print(tokenizer.apply_chat_template, tokenizer.apply_chat_template.__doc__)\n",
        "assert hasattr(tokenizer, 'apply_chat_template') and callable(tokenizer.apply_chat_template)\n",
        "def texts(processor):\n    return map(processor.apply_chat_template, chats)\n",
        "tokenizer.apply_chat_template = print\n",
    ],
)
def test_one_that_gives_texts_or_entries_there_is_not(use: str) -> None:
    assert "RM772" not in [code for code, _, _ in converted(FOR_TRANSFORMERS_4 + TOKENIZER + use).findings]
