"""`--to-accelerate --to-ray`: both conversions in one run."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from raymigrate.base.findings import Finding, Kind
from raymigrate.base.options import Options
from raymigrate.run.engine import convert
from raymigrate.run.outcome import FileResult
from raymigrate.run.two_steps import convert_in_two_steps
from tests.conftest import FIXTURES, case_name

BOTH = Options(to_accelerate=True, to_ray=True, workers=2, gpu=False)
LOOPS = [
    path
    for path in sorted(FIXTURES.glob("to_accelerate/*/before.py"))
    if path.read_bytes() != path.with_name("after.py").read_bytes()
]
ON_RAY = [path for path in sorted(FIXTURES.glob("to_ray/*/before.py")) if path.parent.name != "guide_loop"]


@cache
def in_both_steps(path: Path) -> FileResult:
    """One conversion of a file, of which several tests ask something."""
    return convert(path.read_text(), str(path), BOTH)


@pytest.mark.parametrize("loop", LOOPS, ids=case_name)
def test_it_is_what_two_runs_give(loop: Path) -> None:
    text = loop.read_text()
    first = convert(text, str(loop), replace(BOTH, to_ray=False)).after
    assert first is not None
    second = convert(first, str(loop), replace(BOTH, to_accelerate=False))
    both = in_both_steps(loop)
    if any(finding.kind is Kind.ERROR for finding in second.findings):
        assert both.after is None
        return
    assert both.after == (second.after or first)
    again = convert(both.after, str(loop), BOTH)
    assert again.after is None
    assert both.left == again.findings


@pytest.mark.parametrize("loop", LOOPS, ids=case_name)
def test_findings_of_both_steps_are_told_once_with_places_in_the_script(loop: Path) -> None:
    result = in_both_steps(loop)
    lines = loop.read_text().splitlines()
    assert {"RM850"} <= {finding.code for finding in result.findings}
    assert all(1 <= f.line <= len(lines) and f.column <= max(1, len(lines[f.line - 1])) for f in result.findings)
    told = [(f.code, f.message, f.line, f.column) for f in result.findings]
    assert len(set(told)) == len(told)
    assert [(f.line, f.column) for f in result.findings] == sorted((f.line, f.column) for f in result.findings)


@pytest.mark.parametrize("script", ON_RAY, ids=case_name)
def test_a_script_without_a_native_loop_is_none_the_worse_for_it(script: Path) -> None:
    text = script.read_text()
    assert (
        convert(text, str(script), BOTH).after == convert(text, str(script), replace(BOTH, to_accelerate=False)).after
    )


def test_a_check_says_that_it_changes() -> None:
    result = convert(LOOPS[0].read_text(), str(LOOPS[0]), BOTH, rewrite=False)
    assert result.changes
    assert result.after is None


def test_a_skip_comment_keeps_the_file() -> None:
    result = convert(f"{LOOPS[0].read_text()}# raymigrate: skip-file\n", str(LOOPS[0]), BOTH)
    assert result.after is None
    assert {finding.kind for finding in result.findings} == {Kind.SKIPPED}


MOVED = """\
import torch
from torch.utils.data import DataLoader, random_split

model = torch.nn.Linear(2, 1)
device = "cuda" if torch.cuda.is_available() else "cpu"
i = 13
rows = [torch.ones(2)] * 16
train, test = random_split(rows, [12, 4])
model.to(device)
loader = DataLoader(train, batch_size=4, shuffle=True)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    for batch in loader:
        optimizer.zero_grad()
        loss = make_loss(model(batch.to(device)))
        loss.backward()
        optimizer.step()
"""
STANDS = {  # what the code of a finding is about stands in its line of the new text
    "RM820": "Accelerator(",
    "RM821": "Accelerator(",
    "RM823": "for epoch in range(3):",
    "RM828": "random_split(",
    "RM829": "accelerator.prepare(",
    "RM850": "for batch in loader:",
}


def test_the_places_of_both_steps_are_in_the_new_text() -> None:
    script = MOVED.replace("model = torch.nn.Linear(2, 1)", "model = make()")
    result = convert(script, options=BOTH)
    assert result.after is not None
    lines = result.after.splitlines()
    placed = [finding for finding, _ in result.in_new_text() if finding.code in STANDS]
    assert {finding.code for finding in placed} == set(STANDS)
    for finding in placed:
        assert STANDS[finding.code] in lines[finding.line - 1][finding.column - 1 :] + lines[finding.line - 1], finding


@pytest.mark.parametrize("words", ["No seed is set", "find_unused_parameters=True"])
def test_what_both_steps_see_is_told_once(words: str) -> None:
    script = MOVED.replace("model = torch.nn.Linear(2, 1)", "model = make()")
    assert sum(words in finding.message for finding in convert(script, options=BOTH).findings) == 1
    for options in (replace(BOTH, to_ray=False), replace(BOTH, to_accelerate=False, to_ray=False)):
        assert sum(words in f.message for f in convert(script, options=options).findings) <= 1


@pytest.mark.parametrize("wrap", ["torch.nn.DataParallel", "torch.nn.parallel.DataParallel"])
def test_a_model_on_several_gpus_shows_that_the_workers_have_some(wrap: str) -> None:
    line = f"model.to(device)\nif torch.cuda.device_count() > 1:\n    model = {wrap}(model)\n"
    options = replace(BOTH, gpu=None)
    assert "use_gpu=True" in str(convert(MOVED.replace("model.to(device)\n", line), options=options).after)
    assert "use_gpu=False" in str(convert(MOVED, options=options).after)


@pytest.mark.parametrize(("workers", "says"), [(2, "the same learning rate; here N = 2."), (None, "learning rate.")])
def test_how_many_workers_is_told_where_it_is_known(workers: int | None, says: str) -> None:
    found = convert(MOVED, options=replace(BOTH, workers=workers)).findings
    [message] = [f.message for f in found if "The batch_size of a DataLoader is" in f.message]
    assert message.endswith(says)


@pytest.mark.parametrize("loop", LOOPS, ids=case_name)
def test_what_may_have_started_a_native_loop(loop: Path) -> None:
    text = loop.read_text()
    told = [f.message for f in convert(text, "", BOTH).findings if f.code == "RM825"]
    started = [message for message in told if message.startswith("It is started with")]
    asks = any(words in text for words in ("init_process_group", "LOCAL_RANK", "local_rank", "RANK", "world_size"))
    is_moved = any("batch_size" in message for message in told)
    assert not [message for message in told if "default_config.yaml" in message or "accelerate launch" in message]
    assert [" under torchrun " in message for message in started] == ([True] if asks and is_moved else [])


def test_what_may_have_started_a_loop_of_accelerate_is_told_as_without_the_first_step() -> None:
    text = (FIXTURES / "to_ray/accelerate_main_argparse/before.py").read_text()
    told = [f.message for f in convert(text, "", BOTH).findings if f.code == "RM825"]
    assert [message for message in told if "under accelerate launch" in message]
    assert [message for message in told if "default_config.yaml" in message]


@pytest.mark.parametrize(("line", "times"), [(1, 1), (2, 2)])
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Every process of a distributed run writes this file.", "Every process writes this file, one over the other."),
        (
            "Weights are loaded in the dtype of the checkpoint: if half.",
            "Weights are loaded in the dtype of the checkpoint.",
        ),
    ],
)
def test_what_both_steps_tell_of_one_line_stands_there_once(first: str, second: str, line: int, times: int) -> None:
    text = "a = 1\nb = 2\n"

    def step(text: str, options: Options, rewrite: bool) -> FileResult:
        told = (first, 1) if options.to_accelerate else (second, line)
        return FileResult("", [Finding("RM857", Kind.MANUAL, told[0], line=told[1])], text)

    found = convert_in_two_steps(text, BOTH, step, rewrite=True).findings
    assert len(found) == times
    assert second in {finding.message for finding in found}
