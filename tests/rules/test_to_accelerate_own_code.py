"""RM857: which files the main process alone writes, where code of the project runs without a call of it."""

import pytest

from tests.rules.test_to_accelerate import LOOP, accelerated
from tests.rules.test_to_accelerate_written_files import EVERY, IMPORTS, guarded, is_said

CLASSES = """
class Report:
    def __init__(self, model, rows):
        self.model, self.rows, self.total, self.count = model, rows, 0.0, 0

    @property
    def score(self):
        return sum(self.model(x).sum().item() for x, y in self.rows)

    @property
    def mean(self):
        return self.total / max(self.count, 1)

    @property
    def rank(self):
        self.count += 1
        return self.count

    def __str__(self):
        return f"score {self.score}"

    def get(self, key):
        return self.score


class Meter:
    def __init__(self, name):
        self.name, self.seen = name, []

    @functools.cached_property
    def label(self):
        return self.name.strip()

    def __str__(self):
        return f"{self.label}: {len(self.seen)}"


class Box:
    def __init__(self, inner):
        self.inner = inner


"""
OBJECTS = "report, meter = Report(model, loader), Meter('k')\nbox = Box(report)\n"


@pytest.mark.parametrize(
    ("value", "alone"),
    [
        ("report.score", False),
        ("str(report)", False),
        ("f'{report}'", False),
        ("box.inner.score", False),
        ("box.inner.get('k')", False),
        ("[each.get('k') for each in (report, report)]", False),
        ("report.rank", False),
        ("report.mean", True),
        ("f'{meter}'", True),
        ("meter.label + box.inner.name", True),
        ("{}.get('k')", True),
        ("dict(a=1).get('k')", True),
    ],
)
@pytest.mark.parametrize(
    "form", ["with open('out/a.txt', 'w') as f:\n    f.write(VALUE)\n", "Path('out/a.txt').write_text(VALUE)\n"]
)
def test_a_property_and_what_shows_an_object_may_run_the_model(value: str, alone: bool, form: str) -> None:
    write = form.replace("VALUE", value)
    outcome = accelerated(IMPORTS, "import functools\n", CLASSES, OBJECTS, LOOP, write)
    assert (guarded(write) in outcome.text) is alone
    assert is_said(EVERY, outcome.messages) is not alone


@pytest.mark.parametrize(
    ("before", "later", "alone"),
    [
        ("", "os.chdir('out')\nprint(open('a.txt').read())\n", False),
        ("", "with contextlib.chdir('out'):\n    print(open('a.txt').read())\n", False),
        ("", "def go():\n    os.chdir('out')\n    print(open('a.txt').read())\n\n\ngo()\n", False),
        ("os.chdir(os.path.dirname(__file__))\n", "", True),
        ("os.getcwd()\n", "", True),
        ("", "chdir = print\nchdir('out')\n", True),
    ],
)
def test_a_file_has_another_name_where_the_process_goes_to_another_folder(before: str, later: str, alone: bool) -> None:
    write = "with open('out/a.txt', 'w') as f:\n    f.write('done')\n"
    outcome = accelerated(IMPORTS, "import contextlib, os\n", before, LOOP, write, later)
    assert (guarded(write) in outcome.text) is alone
    assert is_said(EVERY, outcome.messages) is not alone


def test_a_file_with_an_absolute_path_keeps_its_name() -> None:
    write = "with open('/out/a.txt', 'w') as f:\n    f.write('done')\n"
    assert guarded(write) in accelerated(IMPORTS, "import os\n", LOOP, write, "os.chdir('out')\n").text
