"""Notebooks: resolved as one module, edited cell by cell, and nothing else in the file changes."""

import ast
import difflib
import json
import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import example, given, settings
from hypothesis import strategies as st

from raymigrate.base.findings import Kind
from raymigrate.base.options import Options
from raymigrate.cli import main
from raymigrate.documents import NotSplit, Plain, open_document, reopened
from raymigrate.run.engine import convert
from scripts.update_twins import converted, options_of
from tests.conftest import FALSE_FRIENDS, FIXTURES, SCRIPTS, case_name
from tests.documents.notebooks import SERIALISATIONS, Notebook, cells_of, notebook, sources
from tests.test_properties import scripts

NAME = Path("nb.ipynb")
# Not those of which statements of many cells move into one function.
OTHERS = {"notebooks", "to_ray"}
PLAIN = sorted({path for path in SCRIPTS if path.parent.parent.name not in OTHERS and b"\r" not in path.read_bytes()})
SESSION = ["from ray.air import session", "def loop(config):\n    session.report({})"]


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def indented(content: Notebook) -> bytes:
    return SERIALISATIONS["indent 1"](content).encode()


def changed_lines(before: list[str], after: list[str]) -> int:
    """How many lines a diff takes away and adds."""
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    return sum(a2 - a1 + b2 - b1 for tag, a1, a2, b1, b2 in matcher.get_opcodes() if tag != "equal")


def fewest_changed_lines(old: list[str], new: list[str]) -> int:
    """How many lines go and come at least, where difflib may not find the best match."""
    common = [0] * (len(new) + 1)  # of the longest common sequence, for each beginning of `new`
    for line in old:
        before, common = common, [0]
        for number, other in enumerate(new):
            common.append(before[number] + 1 if line == other else max(before[number + 1], common[-1]))
    return len(old) + len(new) - 2 * common[-1]


def assert_only_sources_changed(before: bytes, after: bytes) -> None:
    """Every line of the file outside the changed source lines is as it was, and in its place.

    A cell of which nothing is left goes whole, unless it has outputs or tags.
    """
    old, new = (data.decode().split("\n") for data in (before, after))
    content, result = json.loads(before), json.loads(after)
    left = {cell.get("execution_count") for cell in result["cells"]}
    gone = [cell for cell in content["cells"] if cell.get("execution_count") not in left]
    assert all("".join(c["source"]).strip() and not c["outputs"] and not c["metadata"].get("tags") for c in gone)
    content["cells"] = [cell for cell in content["cells"] if cell not in gone]
    rest = [{**data, "cells": [{**c, "source": 0} for c in data["cells"]]} for data in (content, result)]
    assert json.dumps(rest[0]) == json.dumps(rest[1])
    pairs = list(zip(sources(json.dumps(content).encode()), sources(after), strict=True))
    assert all(b or not a or c["outputs"] or c["metadata"] for c, (a, b) in zip(content["cells"], pairs, strict=True))
    wanted = sum(changed_lines(a, b) for a, b in pairs)
    removed = sum(len(json.dumps(cell, indent=1).split("\n")) for cell in gone)
    cells = [cell["source"] for cell, (a, b) in zip(content["cells"], pairs, strict=True) if a != b]
    if before.count(b"\n") < 3:  # all on one line
        assert changed_lines(old, new) == (2 if cells or gone else 0)
        return
    emptied = 3 * sum(bool(a) and not b for a, b in pairs)  # `[`, a line, `]` become `[]`, as Jupyter writes it
    on_one_line = any(isinstance(source, str) or len(source) == 1 for source in cells)  # all of a cell
    most = (max(2 * len(cells), wanted) if on_one_line else wanted) + removed + emptied
    if gone:  # whose lines are much like those of other cells
        assert fewest_changed_lines(old, new) <= most
    elif on_one_line:
        assert changed_lines(old, new) <= most
    else:
        assert changed_lines(old, new) == wanted + emptied


FORMS = list(SERIALISATIONS)
# What is said of a script, and of a notebook, which no launcher starts.
OF_NOTEBOOKS = {
    "DataParallel used all GPUs: under python alone the script trains on one of them now; `accelerate launch` starts a"
    " process for each.": "DataParallel used all GPUs: the one process of a notebook trains on one of them now."
}


def imports(text: str) -> list[ast.Import | ast.ImportFrom]:
    return [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom)]


def imported(text: str) -> set[tuple[str, str]]:
    """What a text imports: modules, and names from modules."""
    return {(getattr(node, "module", None) or "", ast.unparse(alias)) for node in imports(text) for alias in node.names}


def code_lines(text: str) -> list[str]:
    """The lines of a text that are neither blank nor part of an import."""
    of_imports = {line for node in imports(text) for line in range(node.lineno, (node.end_lineno or 0) + 1)}
    return [line for n, line in enumerate(text.split("\n"), 1) if line.strip() and n not in of_imports]


def twin_and_messages(script: Path) -> tuple[str, list[str]]:
    """What a script becomes and what is said of it, as test_twins.py converts it."""
    if not isinstance(open_document(script.read_bytes(), script.name), Plain):  # a script of cells, here without them
        result = convert(script.read_text(), str(script), options_of(script))
        return result.after or result.before, [finding.message for finding in result.findings]
    lines = script.with_name("findings.txt").read_text().splitlines()
    return script.with_name("after.py").read_text(), [line.partition(": ")[2] for line in lines]


@pytest.mark.parametrize("index", range(len(PLAIN)), ids=lambda index: case_name(PLAIN[index]))
def test_every_fixture_as_a_notebook(index: int) -> None:
    """Cut anywhere and written in any way, it converts to what it converts to as a script.

    Up to blank lines, and the places of imports: they go into the cells that need them.
    """
    script, form = PLAIN[index], FORMS[index % len(FORMS)]
    text = script.read_text()
    data = SERIALISATIONS[form](notebook(cells_of(text, index))).encode()
    after, result = converted(script.with_suffix(".ipynb"), options_of(script), data)
    of_script, told = twin_and_messages(script)
    of_code = [f.message for f in result.findings if not f.message.startswith("This text names")]
    assert sorted(of_code) == sorted(OF_NOTEBOOKS.get(message, message) for message in told)
    assert_only_sources_changed(data, after)
    cells = ["".join(source) for source in sources(after)[1:]]
    assert [line for cell in cells for line in code_lines(cell)] == code_lines(of_script)
    assert {name for cell in cells for name in imported(cell)} == imported(of_script)
    assert converted(script.with_suffix(".ipynb"), options_of(script), after)[1].after is None


@given(scripts(), st.sampled_from(sorted(SERIALISATIONS)), st.integers(0, 99), st.sampled_from(["auto", "adapter"]))
@settings(max_examples=25, deadline=None)
def test_any_script_as_a_notebook(text: str, form: str, seed: int, style: str) -> None:
    data = SERIALISATIONS[form](notebook(cells_of(text.replace("\r\n", "\n"), seed))).encode()
    document = open_document(data, "nb.ipynb")
    assert document.encode(document.text) == data
    after, result = converted(NAME, Options(style=style), data)
    assert not [f for f in result.findings if f.kind is Kind.ERROR]
    assert after != data
    assert_only_sources_changed(data, after)
    assert converted(NAME, Options(style=style), after)[1].after is None


MAGICS = [
    "%matplotlib inline",
    "!pip install \\\n    ray",
    "x = !ls",
    "%time y = 1",
    "ray?",
    "?ray",
    "%pip install a",
    "a = %pwd",
    "!ls 'it",
    "if True:\n    !ls",
    "s = '''\n%no magic\n!neither?\n'''",
    "n = (7\n% 2)",
    "# why?",
    "print('?')",
    "%timeit -n 3 1+1",
]


@given(
    st.lists(
        st.lists(st.sampled_from([*MAGICS, *SESSION, "z = 1", "", "   ", '# é 训练 \\ " \t']), max_size=5), max_size=6
    ),
    st.sampled_from(sorted(SERIALISATIONS)),
)
@example([[*SESSION, "# why?", *SESSION]], "ASCII")  # a comment over an import that goes away
@example([[], ["# why?", SESSION[0]]], "ASCII")  # with nothing behind it
@example([[], [SESSION[0]]], "ASCII")  # with nothing else in the cell, which goes
@settings(max_examples=80, deadline=None)
def test_magics_survive_in_their_place(cells: list[list[str]], form: str) -> None:
    data = SERIALISATIONS[form](notebook(["\n".join(cell) for cell in cells])).encode()
    after, result = converted(NAME, Options(), data)
    assert not [f for f in result.findings if f.kind in (Kind.ERROR, Kind.NOTE)]
    old, new = (
        [
            [line for line in "".join(cell).split("\n") if line.strip() and not re.search(r"session|ray\.train", line)]
            for cell in sources(content)
        ]
        for content in (data, after)
    )
    assert [lines for lines in old if lines] == [lines for lines in new if lines]
    emptied = [cell for cell in cells if SESSION[0] in cell and not "".join(cell).replace(SESSION[0], "").strip()]
    assert len(old) - len(new) <= len(emptied)


def test_only_the_three_lines_that_have_to_change_do_however_the_notebook_is_written() -> None:
    """Ruff, nbqa and jupytext change 8 to 207, measured over six ways of writing the notebook down."""
    cells = [
        "%pip install -q transformers\n!ls *.csv",
        "%%bash\nls -l 'it",
        "import os\nfrom ray.air import session\n\nfiles = !ls\nhere = %pwd",
        "def loop(config):\n    session.report({'é': 1});",
        "%%time\nsession.get_world_rank()  # 训练",
        "os.listdir?",
    ]
    for form, write in SERIALISATIONS.items():
        data = write(notebook(cells)).encode()
        after, _ = converted(NAME, Options(), data)
        old, new = (d.decode().split("\n") for d in (data, after))
        expected = {"compact": 2}.get(form, 6)
        assert changed_lines(old, new) == expected, form


@pytest.mark.parametrize("form", SERIALISATIONS)
def test_git_applies_the_diff(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    data = SERIALISATIONS[form](notebook(cells_of(SCRIPTS[3].read_text()))).encode()
    NAME.write_bytes(data)
    patch = invoke("--diff", NAME).stdout_bytes
    assert NAME.read_bytes() == data
    subprocess.run(["git", "init", "-q"], check=True)
    subprocess.run(["git", "apply", "--whitespace=nowarn", "-"], input=patch, check=True)
    patched = NAME.read_bytes()
    NAME.write_bytes(data)
    invoke(NAME)
    assert NAME.read_bytes() == patched != data


def test_a_byte_order_mark_stays() -> None:
    mark = b"\xef\xbb\xbf"
    after, _ = converted(NAME, Options(), mark + indented(notebook(SESSION)))
    assert after == mark + indented(notebook(["import ray.train", SESSION[1].replace("session", "ray.train")]))


def test_escapes_are_written_as_the_file_writes_them() -> None:
    source = r'"source": ["from ray.air import session\n", "session.report({\"a\/b\": \"\u003c\u00E9\"})"]'
    data = (
        '{"cells": [{"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": 1, '
        + source
        + '}], "metadata": {}, "nbformat": 4, "nbformat_minor": 2}'
    ).encode()
    after, _ = converted(NAME, Options(), data)
    assert after == data.replace(b"from ray.air import session", b"import ray.train").replace(
        b"session.rep", b"ray.train.rep"
    )


def test_lines_of_a_cell_keep_their_ends() -> None:
    content = notebook(["from ray.air import session\r\nx = 1\r\nsession.report({})\r\n", "y = 1\nz = 2"])
    after, _ = converted(NAME, Options(), indented(content))
    assert sources(after)[1:] == [
        ["import ray.train\r\n", "x = 1\r\n", "ray.train.report({})\r\n"],
        ["y = 1\n", "z = 2"],
    ]


def test_definitions_and_uses_in_different_cells(tmp_path: Path) -> None:
    path = tmp_path / "nb.ipynb"
    path.write_bytes(indented(notebook(SESSION)))
    result = invoke("--verbose", path)
    assert result.exit_code == 0
    assert f"{path}:cell 3:2:5: RM302 converted" in result.stdout
    assert invoke("--check", path).exit_code == 0


def test_findings_left_have_their_places_in_the_new_cells(tmp_path: Path) -> None:
    path = tmp_path / "nb.ipynb"
    shutil.copy(FIXTURES / "transformers_trainer/gpt2_wikitext_own_data/before.py", tmp_path / "x.py")
    shutil.copy(FIXTURES / "notebooks/gpt2_own_data/before.ipynb", path)
    result = invoke(path)
    cells = sources(path.read_bytes())
    lines = [line for line in result.stdout.splitlines() if "RM406" in line]
    cell, line = (int(part) for part in lines[0].removeprefix(f"{path}:cell ").split(":")[:2])
    assert "name=" in cells[cell - 1][line - 1]


def test_json_names_the_cell(tmp_path: Path) -> None:
    path = tmp_path / "nb.ipynb"
    path.write_bytes(indented(notebook(SESSION)))
    found = json.loads(invoke("--check", "--output-format", "json", path).stdout)["findings"]
    assert [(f["cell"], f["line"], f["column"]) for f in found] == [(3, 2, 5)]


@pytest.mark.parametrize("friend", FALSE_FRIENDS, ids=lambda path: path.stem)
def test_false_friends_are_left_alone(friend: Path) -> None:
    data = indented(notebook(cells_of(friend.read_text())))
    after, _ = converted(NAME, Options(), data)
    assert after == data


def test_words_in_outputs_and_prose_are_no_findings(tmp_path: Path) -> None:
    path = tmp_path / "nb.ipynb"
    path.write_bytes(indented(notebook(["import numpy", "%%html\n<b>ray.train.huggingface</b>"])))
    result = invoke(path)
    assert (result.exit_code, result.stdout) == (0, "")


def test_a_notebook_of_another_language_is_left(tmp_path: Path) -> None:
    path = tmp_path / "nb.ipynb"
    content = notebook(["import ray.air <- 1"])
    content["metadata"] = {"kernelspec": {"language": "R"}}
    path.write_bytes(indented(content))
    assert invoke(path).exit_code == 0


def test_a_notebook_among_scripts_is_found_and_its_checkpoints_are_not(tmp_path: Path) -> None:
    for name in ("a.ipynb", ".ipynb_checkpoints/a.ipynb"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(indented(notebook(SESSION)))
    assert "1 file would be converted" in invoke("--check", tmp_path).stderr


# -- bad input -----------------------------------------------------------------------------------------

GOOD = SERIALISATIONS["indent 1"](notebook(SESSION))
BAD = {
    "not JSON": (GOOD[:-40].encode(), "not JSON"),
    "a merge conflict": (b"<<<<<<< HEAD\n" + GOOD.encode(), ":1:1: RM902 error: is not a notebook: not JSON"),
    "JSON, but no notebook": (b'{"a": "from ray.air import session"}', "no nbformat and cells"),
    "a list": (b'["from ray.air import session"]', "no nbformat and cells"),
    "format 3": (b'{"nbformat": 3, "worksheets": [{"cells": [{"input": "from ray.air import session"}]}]}', "format 3"),
    "latin-1": (GOOD.replace("训练", "é").encode("latin-1", "ignore"), "is not UTF-8"),
    "UTF-16": (GOOD.encode("utf-16"), ""),
    "nested": (b'{"a": "from ray.air import session", "b": ' + b"[" * 100_000, "nested too deeply"),
}


@pytest.mark.parametrize("name", BAD)
def test_one_bad_notebook_costs_one_file(name: str, tmp_path: Path) -> None:
    data, message = BAD[name]
    (tmp_path / "bad.ipynb").write_bytes(data)
    (tmp_path / "zz_good.ipynb").write_text(GOOD)
    result = invoke(tmp_path)
    assert result.exit_code == (2 if message else 0)
    assert message in result.stderr
    assert not message or "bad.ipynb" in result.stderr
    assert (tmp_path / "bad.ipynb").read_bytes() == data
    assert b"ray.train.report" in (tmp_path / "zz_good.ipynb").read_bytes()


def test_a_cell_that_cannot_be_parsed_and_mentions_ray_is_refused_by_its_number(tmp_path: Path) -> None:
    path = tmp_path / "nb.ipynb"
    data = indented(notebook([*SESSION, "x = 1", "y = 2\nsession.report("]))
    path.write_bytes(data)
    result = invoke(path)
    assert result.exit_code == 2
    assert f"{path}:cell 5:2:15: RM901 error: cell 5 cannot be parsed" in result.stderr
    assert path.read_bytes() == data


def test_a_cell_that_cannot_be_parsed_and_does_not_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "nb.ipynb"
    cells = [*SESSION, "SELECT * FROM runs", "print 'x'", "lone = '\ud800'"]
    path.write_text(SERIALISATIONS["ASCII"](notebook(cells)))
    result = invoke(path)
    assert result.exit_code == 0
    assert f"{path}:cell 4:1:15: RM904 note" in result.stdout
    assert sources(path.read_bytes())[2] == ["def loop(config):\n", "    ray.train.report({})"]


def test_commands_without_their_percent_sign_are_magics() -> None:
    after, result = converted(NAME, Options(), indented(notebook([*SESSION, "pip install ray\nls -l"])))
    assert not [f for f in result.findings if f.code in ("RM901", "RM904")]
    assert sources(after)[3] == ["pip install ray\n", "ls -l"]


def test_legacy_code_below_a_cell_magic_is_told() -> None:
    _, result = converted(
        NAME, Options(), indented(notebook([*SESSION, "%%bash\ncat > x.py <<E\nfrom ray.air import session\nE"]))
    )
    assert [(f.cell, f.line) for f in result.findings if f.code == "RM905"] == [(4, 1)]


def test_an_old_version_that_a_magic_installs_is_told() -> None:
    cells = ["%pip install 'ray[air]==2.6.3' transformers==5.1", *SESSION]
    _, result = converted(NAME, Options(), indented(notebook(cells)))
    told = [(f.cell, f.line, f.column, f.kind) for f in result.findings if f.code == "RM731"]
    assert told == [(2, 1, 15, Kind.UNSAFE)]


@pytest.mark.parametrize("form", SERIALISATIONS)
def test_unsafe_raises_the_versions_that_a_magic_installs(form: str) -> None:
    cells = ["%pip install 'ray[air]==2.6.3' transformers==4.30.2", '!pip install -q "datasets<2.15"', *SESSION]
    for code in (cells, [*cells[:2], "from ray import train"]):
        data = SERIALISATIONS[form](notebook(code)).encode()
        after, result = converted(NAME, Options(unsafe=True), data)
        assert ["".join(source) for source in sources(after)][1:3] == [
            "%pip install 'ray[air]>=2.51' 'transformers>=5.0'",
            '!pip install -q "datasets>=2.16"',
        ]
        told = [(f.cell, f.line, f.column, f.kind) for f in result.findings if f.code == "RM731"]
        assert told == [(2, 1, n, Kind.CONVERTED) for n in (15, 32)] + [(3, 1, 18, Kind.CONVERTED)]
        assert_only_sources_changed(data, after)
        assert converted(NAME, Options(unsafe=True), after)[1].after is None


@pytest.mark.parametrize("form", SERIALISATIONS)
@pytest.mark.parametrize("word", ['ray=="2.5.0"', "ray=='2.5.0'", '"ray"==2.5.0', '"ray"=="2.5.0"'])
def test_unsafe_raises_a_version_that_is_quoted_in_part(form: str, word: str) -> None:
    data = SERIALISATIONS[form](notebook([f"!pip install -U {word} peft", *SESSION])).encode()
    after, result = converted(NAME, Options(unsafe=True), data)
    assert "".join(sources(after)[1]) == "!pip install -U 'ray>=2.51' peft"
    assert [f.kind for f in result.findings if f.code == "RM731"] == [Kind.CONVERTED]


def test_raised_versions_are_written_and_in_the_diff(tmp_path: Path) -> None:
    path = tmp_path / "nb.ipynb"
    path.write_bytes(indented(notebook(["%pip install ray==2.6.3", "from ray import train"])))
    before = path.read_bytes()
    checked = invoke("--check", "--unsafe", path)
    assert (checked.exit_code, "1 file would be converted" in checked.stderr) == (1, True)
    assert "+    \"%pip install 'ray>=2.51'\"" in invoke("--diff", "--unsafe", path).stdout
    assert path.read_bytes() == before
    assert invoke("--unsafe", path).exit_code == 0
    assert "%pip install 'ray>=2.51'" in path.read_text()
    assert invoke("--check", "--unsafe", path).exit_code == 0


# -- the contract of a document ------------------------------------------------------------------------

DOCUMENT = open_document(indented(notebook(["%pip install x\nimport a", "a.b()"])), "nb.ipynb")


def test_a_text_that_lost_the_edge_of_a_cell_is_refused() -> None:
    lines = DOCUMENT.text.splitlines()
    with pytest.raises(NotSplit):
        DOCUMENT.encode("\n".join(line for line in lines if line != "_cell_2__"))


def test_a_text_that_lost_a_magic_is_refused() -> None:
    with pytest.raises(NotSplit):
        DOCUMENT.encode("\n".join(line for line in DOCUMENT.text.splitlines() if "mask" not in line))


def test_a_magic_that_moved_into_an_expression_is_refused() -> None:
    document = open_document(indented(notebook(["x = !ls\nimport a"])), "nb.ipynb")
    with pytest.raises(NotSplit):
        reopened(document, document.text.replace("x = ", "x = f(").replace("__\n", "__)\n", 1), "nb.ipynb")


def test_names_that_stand_for_magics_are_free() -> None:
    document = open_document(indented(notebook(["_cell_2__ = 1", "!ls", "x = !ls"])), "nb.ipynb")
    assert document.text == "_cell_2__ = 1\n__cell_2__\n__cell_mask_1__\n__cell_3__\nx = __cell_mask_2__\n"


@given(st.text(max_size=200))
@settings(max_examples=50, deadline=None)
def test_any_source_is_given_back(text: str) -> None:
    for write in SERIALISATIONS.values():
        data = write(notebook([text, "x = 1"])).encode("utf-8", "surrogatepass")
        document = open_document(data, "nb.ipynb")
        assert document.encode(document.text) == data


def test_cutting_a_script_loses_nothing() -> None:
    for script in PLAIN:
        cells = cells_of(script.read_text(), random.randrange(9))
        assert "".join("\n".join(cells).split()) == "".join(script.read_text().split())


@pytest.mark.parametrize("head", ["#@title Train { run: true }", "#| export", "%%time\n", "%%capture --no-stderr"])
def test_what_has_to_stand_at_the_head_of_a_cell_stays_there(head: str) -> None:
    script = FIXTURES / "transformers_trainer/gpt2_wikitext_own_data/before.py"
    after, result = converted(NAME, Options(), indented(notebook([f"{head}\n{script.read_text()}"])))
    assert result.after is not None
    assert "".join(sources(after)[1]).startswith(f"{head}\n")
