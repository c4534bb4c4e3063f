"""`del` of names that move to the workers with --to-ray: the driver has none of them to delete."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import gc
import os
from transformers import AutoModel, Trainer, TrainingArguments

out = os.environ["OUT"]
rate = 0.2
model = AutoModel.from_pretrained("bert")
trainer = Trainer(model, TrainingArguments(out, learning_rate=rate))
trainer.train()
print(os.listdir(out))
kept = 1
{end}
"""
MAIN = 'def main():\n{body}\n\n\nif __name__ == "__main__":\n    main()\n'


def in_main(script: str) -> str:
    """The same script with all but its imports in a function."""
    head, blank, body = script.strip("\n").partition("\n\n")
    return head + blank + "\n" + MAIN.format(body="\n".join(f"    {line}" for line in body.split("\n")))


@pytest.mark.parametrize("form", [str, in_main])
@pytest.mark.parametrize(
    ("end", "left"),
    [
        ("del model\ngc.collect()", "gc.collect()"),
        ("del model, rate", ""),
        ("del model, kept", "del kept"),
        ("del kept, rate, model\ngc.collect()", "del kept\ngc.collect()"),
        ("if True:\n    del model\ngc.collect()", "if True:\n    pass\ngc.collect()"),
        ("try:\n    del rate\nexcept NameError:\n    pass", "try:\n    pass\nexcept NameError:\n    pass"),
        ("del model\ngc.collect()\nmodel = 'x'\nprint(model)", "gc.collect()\nmodel = 'x'\nprint(model)"),
        ("del os.environ['OUT']", "del os.environ['OUT']"),
    ],
)
def test_the_driver_deletes_only_what_it_has(form: type[str], end: str, left: str) -> None:
    outcome = converted(form(SCRIPT.format(end=end)), to_ray=True)
    assert outcome.lines("RM801", Kind.CONVERTED)
    behind = outcome.text.partition(".fit()\n")[2].partition('if __name__ == "__main__"')[0]
    assert behind.replace("print(os.listdir(out))", "").replace("kept = 1", "").split() == left.split()


def test_a_name_that_is_deleted_before_the_training_ends_goes_with_it() -> None:
    script = SCRIPT.format(end="").replace("trainer.train()", "del rate\ntrainer.train()")
    outcome = converted(script, to_ray=True)
    assert "    del rate\n" in outcome.text
