"""Which of several loops goes over the epochs, and what is reported of those around it (RM823)."""

from textwrap import indent

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = """\
import evaluate, torch
from accelerate import Accelerator
from torch.optim import AdamW
metric = evaluate.load("glue", "mrpc")
def make(fold):
    model = build(fold)
    return model, AdamW(model.parameters()), rows(fold)
"""
ACCELERATOR = "accelerator = Accelerator()\n"
PREPARE = "model, optimizer, loader = accelerator.prepare(*make(3))\n"
EPOCHS = """\
for epoch in range(2):
    for batch in loader:
        accelerator.backward(model(**batch).loss)
        optimizer.step()
    scores = metric.compute()
    accelerator.print(f"epoch {epoch}:", scores)
"""


def within(loop: str, *parts: str) -> str:
    """Code below a line that begins a loop."""
    return f"{loop}\n{indent(''.join(parts), '    ')}"


def reported(script: str) -> str:
    """The line by which the converted script reports."""
    text = converted(f"{HEAD}{script}", to_ray=True).text
    [line] = [line for line in text.splitlines() if "ray.train.report(" in line]
    return line.strip()


@pytest.mark.parametrize(
    ("script", "counters"),
    [
        (ACCELERATOR + PREPARE + EPOCHS, '"epoch": epoch'),
        (ACCELERATOR + within("for fold in range(3):", PREPARE, EPOCHS), '"fold": fold, "epoch": epoch'),
        (
            ACCELERATOR + within("for n, fold in enumerate(folds):", PREPARE, EPOCHS),
            '"n": n, "epoch": epoch',
        ),
        (ACCELERATOR + within("for train, valid in folds:", PREPARE, EPOCHS), '"epoch": epoch'),
        (within("for fold in range(3):", ACCELERATOR, PREPARE, EPOCHS), '"fold": fold, "epoch": epoch'),
        (
            ACCELERATOR + within("for rate in range(2):", within("for fold in range(3):", PREPARE, EPOCHS)),
            '"rate": rate, "fold": fold, "epoch": epoch',
        ),
        (
            ACCELERATOR
            + within("def train_fold(fold):", PREPARE, EPOCHS)
            + within("for fold in range(3):", "train_fold(fold)\n"),
            '"epoch": epoch',
        ),
        (
            ACCELERATOR
            + within(
                "for fold in range(3):",
                "model, optimizer, rows = make(fold)\nmodel = accelerator.prepare(model)\nloader = rows\n",
                EPOCHS,
            ),
            '"fold": fold, "epoch": epoch',
        ),
    ],
)
def test_a_loop_that_trains_anew_is_none_over_epochs(script: str, counters: str) -> None:
    assert reported(script) == f"ray.train.report({{{counters}, **scores}})"


@pytest.mark.parametrize(
    "batches",
    [
        "    for phase in ('train', 'eval'):\n        for batch in loaders[phase]:\n            STEP",
        "    for update in range(10):\n        for batch in take(loader):\n            STEP",
        "    loader = accelerator.prepare(rows(epoch))\n    for batch in loader:\n        STEP",
    ],
)
def test_loops_within_an_epoch_are_no_epochs(batches: str) -> None:
    step = batches.replace("STEP", "accelerator.backward(model(**batch).loss)\n")
    end = "    scores = metric.compute()\n    accelerator.print(epoch, scores)\n"
    script = f"{ACCELERATOR}{PREPARE}for epoch in range(2):\n{step}{end}"
    assert reported(script) == 'ray.train.report({"epoch": epoch, **scores})'


def test_no_state_is_reported_where_epochs_are_counted_anew() -> None:
    saving = f"{EPOCHS}    accelerator.save_state('state')\n"
    once = converted(f"{HEAD}{ACCELERATOR}{PREPARE}{saving}", to_ray=True)
    assert "load_state" in once.text
    folds = converted(f"{HEAD}{ACCELERATOR}{within('for fold in range(3):', PREPARE, saving)}", to_ray=True)
    assert "load_state" not in folds.text
    assert len(folds.lines("RM823", Kind.MANUAL)) == 1
    assert '"fold": fold, "epoch": epoch' in folds.text


TOTAL = """\
for epoch in range(2):
    total = 0
    for batch in loader:
        loss = model(**batch).loss
        total += loss.detach()
        accelerator.backward(loss)
        optimizer.step()
    mean = total / len(loader)
    last = accelerator.gather(loss).mean()
    each = accelerator.gather(loss)
    print(f"{epoch}: {mean} {last} {each}")
"""


def test_a_loss_that_is_shown_is_reported_as_a_number() -> None:
    expected = 'ray.train.report({"epoch": epoch, "mean": float(mean), "last": last.item()})'
    assert reported(ACCELERATOR + PREPARE + TOTAL) == expected


@pytest.mark.parametrize(
    ("made", "shown", "entry"),
    [
        ("f1_score(golds, preds, average='macro')", "print(score)", ', "score": score'),
        (
            "sklearn.metrics.accuracy_score(golds, preds)",
            "writer.add_scalar('accuracy', score, epoch)",
            ', "score": score',
        ),
        ("sklearn.metrics.mean_squared_error(golds, preds) ** 0.5", "print(f'{score:.3f}')", ', "score": score'),
        ("f1_score(golds, preds, average=None)", "print(score)", ""),
        ("f1_score(golds, preds, average=way)", "print(score)", ""),
        ("f1_score(golds, preds, **options)", "print(score)", ""),
        ("sklearn.metrics.r2_score(golds, preds, multioutput='raw_values')", "print(score)", ""),
        ("sklearn.metrics.confusion_matrix(golds, preds)", "print(score)", ""),
        ("own.f1_score(golds, preds)", "print(score)", ""),
    ],
)
def test_a_score_of_sklearn_is_a_number_unless_there_is_one_for_each_class(made: str, shown: str, entry: str) -> None:
    end = f"    score = {made}\n    if accelerator.is_main_process:\n        {shown}\n"
    imports = "import own\nimport sklearn.metrics\nfrom sklearn.metrics import f1_score\n"
    assert (
        reported(imports + ACCELERATOR + PREPARE + EPOCHS + end)
        == f'ray.train.report({{"epoch": epoch, **scores{entry}}})'
    )


@pytest.mark.parametrize(
    ("first", "start", "says"),
    [
        ("", "0", "the script starts with the first epoch again"),
        ("first = 1\n", "first", "the script starts with the first epoch again"),
        ("", "args.start", "`args.start` says again where it starts, as in a new run of the script"),
        ("first = torch.load('last.pt')['epoch']\n", "first", "`first` says again where it starts"),
        ("first = 0\nif kept():\n    first = restore(model)\n", "first", "`first` says again where it starts"),
    ],
)
def test_what_a_loop_that_saves_no_state_begins_with(first: str, start: str, says: str) -> None:
    loop = f"{first}{EPOCHS.replace('range(2)', f'range({start}, 2)')}"
    found = converted(f"{HEAD}{ACCELERATOR}{PREPARE}{loop}", to_ray=True).messages
    [told] = [message for message in found if "no checkpoint is reported" in message]
    assert f"after a failure {says}" in told


SNAPSHOT = '{"MODEL": model.state_dict(), "EPOCH": epoch}'
KEPT = {
    "a dict": f'    torch.save({SNAPSHOT}, "snapshot.pt")\n',
    "a dict with a name": f'    kept = {SNAPSHOT}\n    accelerator.save(kept, "snapshot.pt")\n',
    "keywords": '    torch.save(dict(model=accelerator.get_state_dict(model), epoch=epoch), "snapshot.pt")\n',
    "piece by piece": (
        '    kept = {}\n    kept["a"] = model.state_dict()\n    kept["b"] = optimizer.state_dict()\n'
        '    torch.save(kept, "x")\n'
    ),
    "two files": '    torch.save(model.state_dict(), "a.pt")\n    torch.save(optimizer.state_dict(), "b.pt")\n',
    "a helper": "    keep(epoch)\n",
}
HELPER = f'def keep(epoch):\n    torch.save({SNAPSHOT}, "snapshot.pt")\n'
NOT_KEPT = {
    "weights alone": '    torch.save(model.state_dict(), "model.pt")\n',
    "in memory": f"    best = {SNAPSHOT}\n",
    "figures": '    torch.save({"loss": 1, "epoch": epoch}, "losses.pt")\n',
}


def why_again(saving: str) -> str:
    script = f"{HEAD}{HELPER}{ACCELERATOR}{PREPARE}{EPOCHS}{saving}"
    [told] = [message for message in converted(script, to_ray=True).messages if "after a failure" in message]
    return told


@pytest.mark.parametrize("saving", KEPT.values(), ids=KEPT)
def test_a_state_that_the_script_keeps_itself_is_named(saving: str) -> None:
    assert why_again(saving).startswith("The script keeps its state where Ray does not look (line ")


@pytest.mark.parametrize("saving", NOT_KEPT.values(), ids=NOT_KEPT)
def test_what_no_training_can_go_on_from_is_no_state(saving: str) -> None:
    said = why_again(saving)
    assert said.startswith("No save_state() of the script ends each epoch, and no checkpoint is reported: ")


@pytest.mark.parametrize(
    ("made", "shown", "entry"),
    [
        ("{'f1': found['overall_f1'], 'epoch_seconds': round(took, 1)}", "print(score)", ", **score"),
        ("{'f1': max(found['f1'], 0.0)}", "print(f\"{score['f1']:.3f}\")", ", **score"),
        ("dict(f1=found['f1'])", "accelerator.print('scores', score)", ", **score"),
        ("max(found['f1'], 0.0)", "print(score)", ', "score": score'),
        ("abs(found['f1'])", "print(score)", ', "score": score'),
        ("{'f1': found['f1'], 'preds': torch.cat(preds)}", "print(score)", ""),
        ("{'f1': found['f1'], **others}", "print(score)", ""),
        ("max(losses)", "print(score)", ""),
        ("max(found['f1'], best)", "print(score)", ""),
        ("own.max(found['f1'], 0.0)", "print(score)", ""),
    ],
)
def test_what_is_made_of_numbers_is_reported(made: str, shown: str, entry: str) -> None:
    """A dict too, where each of its entries is seen to be one."""
    end = f"    found = metric.compute()\n    score = {made}\n    {shown}\n"
    epochs = EPOCHS.partition("    scores")[0]
    assert reported(f"{ACCELERATOR}{PREPARE}{epochs}{end}") == f'ray.train.report({{"epoch": epoch{entry}}})'


def test_a_dict_that_gets_a_tensor_later_is_none_of_numbers() -> None:
    end = "    found = metric.compute()\n    score = {'f1': found['f1']}\n    score['all'] = torch.cat(preds)\n"
    epochs = EPOCHS.partition("    scores")[0]
    assert reported(f"{ACCELERATOR}{PREPARE}{epochs}{end}    print(score)\n") == 'ray.train.report({"epoch": epoch})'


LATE = """\
for epoch in range(9):
    total = 0.0
    for step, batch in enumerate(loader):
        loss = model(**batch).loss
        accelerator.backward(loss)
        optimizer.step()
        total += loss.item()
INNER    OUTER
    mean = total / len(loader)
    LATER
    print(epoch, mean)
"""
IN_BATCH = "        if step > limit:\n            break\n"


@pytest.mark.parametrize(
    ("inner", "outer", "later", "said"),
    [
        (IN_BATCH, "if step > limit: break", "", "ends the loop"),
        ("        if step > limit:\n            return\n", "", "", "ends the loop"),
        (IN_BATCH, "if not total: continue", "", "is left"),
        (f"{IN_BATCH}    else:\n        break\n", "", "", "ends the loop"),
        ("", "try:\n        check()\n    except StopIteration:\n        break", "", "ends the loop"),
        (IN_BATCH, "", "", ""),
        ("", "", "if step > limit: break", ""),
        (IN_BATCH, "def stop():\n        return step", "", ""),
        ("", "for row in rows:\n        if row: continue\n        while row: break", "", ""),
    ],
)
def test_an_epoch_that_ends_before_its_numbers_are_there_is_told(inner: str, outer: str, later: str, said: str) -> None:
    loop = LATE.replace("INNER", inner).replace("OUTER", outer).replace("LATER", later)
    train = within("def train():", ACCELERATOR, PREPARE, loop) + "train()\n"
    outcome = converted(HEAD + train, to_ray=True)
    told = [message for message in outcome.messages if message.startswith("An epoch that")]
    assert outcome.text.count("ray.train.report(") == 1
    assert [message.partition(" here")[0] for message in told] == ([f"An epoch that {said}"] if said else [])
