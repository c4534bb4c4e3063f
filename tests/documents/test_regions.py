"""Databricks sources, percent scripts and pages: edited in place, and no line crosses the edge of a cell."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from raymigrate.base.findings import Finding, Kind
from raymigrate.base.options import Options
from raymigrate.cli import main
from raymigrate.documents import Plain, open_document
from scripts.update_twins import converted
from tests.conftest import DOCUMENTS, SCRIPTS
from tests.documents.notebooks import cells_of

LEGACY = "from ray.air import session\n"
USE = "session.report({})\n"
EDGES = {
    "databricks": ("# Databricks notebook source\n", "\n# COMMAND ----------\n\n"),
    "percent": ("# %%\n", "\n# %% a cell\n"),
    "exported": ("# In[1]:\n\n", "\n\n# In[ ]:\n\n\n"),
}


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def convert(text: str | bytes, name: str = "x.py") -> tuple[str, list[Finding]]:
    after, result = converted(Path(name), Options(), text.encode() if isinstance(text, str) else text)
    return after.decode("latin-1" if isinstance(text, bytes) else "utf-8"), result.findings


def pieces(text: str, edge: str) -> list[str]:
    return [piece.strip() for piece in text.split(edge.strip())]


@pytest.mark.parametrize("form", EDGES)
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_edges_and_magics_stay_where_they_are(form: str, end: str) -> None:
    head, edge = EDGES[form]
    cells = ["%pip install x\n", LEGACY, "def loop(config):\n    " + USE, "!ls\nx = 1\n", "x?\n"]
    text = (head + edge.join(cells)).replace("\n", end)
    after, findings = convert(text)
    assert {finding.kind for finding in findings} == {Kind.CONVERTED}
    assert after == text.replace("from ray.air import session", "import ray.train").replace("session.", "ray.train.")


@pytest.mark.parametrize("install", ["%pip install ray==2.6.3 -q\n", "# MAGIC %pip install ray==2.6.3 -q\n"])
def test_unsafe_raises_the_versions_that_a_cell_installs(install: str) -> None:
    head, edge = EDGES["databricks"]
    text = head + edge.join([install, LEGACY + USE])
    before = open_document(text.encode(), "x.py")
    assert [(f.code, f.kind, f.line) for f in before.remarks] == [("RM731", Kind.UNSAFE, 2)]
    after, result = converted(Path("x.py"), Options(unsafe=True), text.encode())
    assert install.replace("ray==2.6.3", "'ray>=2.51'") in after.decode()
    assert ("RM731", Kind.CONVERTED, 2, install.index("ray") + 1) in [
        (f.code, f.kind, f.line, f.column) for f in result.findings
    ]


@pytest.mark.parametrize("form", EDGES)
def test_every_fixture_in_cells(form: str) -> None:
    """Each cell of the result holds what it held: no statement moves to another one."""
    head, edge = EDGES[form]
    # Those of notebooks have cells already; of the others, a cell that holds only what goes would go.
    left_out = ("tuner_concurrency_limiter", "storage_paths", "local_dir_beside_storage_path")
    whole = [s for s in SCRIPTS if s.parent.parent.name != "notebooks" and s.parent.name not in left_out]
    for number, script in enumerate(whole[::7]):
        cells = cells_of(script.read_text().replace("\r\n", "\n"), number)
        text = head + edge.join(f"# cell {index}\n{cell}\n" for index, cell in enumerate(cells))
        after, result = converted(script, Options(), text.encode())
        assert not [f for f in result.findings if f.kind is Kind.ERROR], script
        new = pieces(after.decode().removeprefix(head), edge)
        assert len(new) == len(cells)
        for index, piece in enumerate(new):  # a comment goes with an import that goes
            marks = [line for line in piece.split("\n") if line.startswith("# cell ")]
            assert marks in ([], [f"# cell {index}"]), script


def test_cells_of_other_languages_and_titles_stay() -> None:
    text = (
        "# Databricks notebook source\n# MAGIC %md\n# MAGIC ray.train.huggingface\n\n# COMMAND ----------\n\n"
        f"# DBTITLE 1,Imports\n{LEGACY}\n# COMMAND ----------\n\n"
        f"# MAGIC %sh\n# MAGIC ls\n\n# COMMAND ----------\n\n{USE}"
    )
    after, _ = convert(text)
    assert after == text.replace(LEGACY, "import ray.train\n").replace("session.", "ray.train.")


@pytest.mark.parametrize(
    ("form", "cell"),
    [
        ("percent", f"%%writefile job.py\n{LEGACY}{USE}"),
        ("exported", f"%%bash\ncat > job.py <<E\n{LEGACY}{USE}E\n"),
        ("databricks", f"# MAGIC %sh\n# MAGIC cat > job.py <<E\n# MAGIC {LEGACY}# MAGIC {USE}# MAGIC E\n"),
        ("databricks", f"# DBTITLE 1,Old job\n# MAGIC %python\n# MAGIC {LEGACY}# MAGIC {USE}"),
    ],
)
def test_legacy_code_in_a_cell_of_another_language_is_told(form: str, cell: str) -> None:
    head, edge = EDGES[form]
    text = head + edge.join(["import ray\n", cell, "x = 1\n"])
    after, findings = convert(text)
    assert after == text
    assert [(f.code, f.kind) for f in findings] == [("RM905", Kind.MANUAL)]
    assert "%" in text.splitlines()[findings[0].line - 1]


@pytest.mark.parametrize("magic", ["%md", "%html"])
def test_prose_about_legacy_code_is_prose(magic: str) -> None:
    head, edge = EDGES["databricks"]
    assert convert(head + edge.join(["import ray\n", f"# MAGIC {magic}\n# MAGIC {LEGACY}"]))[1] == []


@pytest.mark.parametrize(("form", "marker"), [("databricks", "# COMMAND ----------"), ("exported", "# In[")])
def test_a_cell_that_loses_all_its_lines_goes(form: str, marker: str) -> None:
    head, edge = EDGES[form]
    unused = "from ray.train.huggingface import TransformersTrainer\n"
    text = head + edge.join(["x = 1\n", unused, LEGACY, USE])
    after, _ = convert(text)
    assert after.count(marker) == text.count(marker) - 1
    assert "TransformersTrainer" not in after


def test_a_cell_that_cannot_be_parsed_is_refused_by_its_line() -> None:
    head, edge = EDGES["databricks"]
    text = head + edge.join([LEGACY, "x = 1\n", "session.report(\n"])
    after, (finding,) = convert(text)
    assert after == text
    assert (finding.code, finding.kind, finding.line) == ("RM901", Kind.ERROR, 10)


@pytest.mark.parametrize(
    "text",
    [
        f'{LEGACY}s = """\n# %%\n"""\n{USE}',
        f"{LEGACY}def f():\n    x = 1\n# %%\n    session.report({{}})\n",
        f"{LEGACY}print('what?', 7 % 2)  # why?\n{USE}",
    ],
    ids=["in a string", "inside a block", "no magic"],
)
def test_what_only_looks_like_a_cell_is_an_ordinary_script(text: str) -> None:
    assert isinstance(open_document(text.encode(), "x.py"), Plain)
    assert "ray.train.report" in convert(text)[0]


def test_a_script_with_magics_is_converted() -> None:
    """As Colab saves notebooks: `!pip` lines amid Python."""
    after, findings = convert(f"!pip install ray[air]==2.6\n{LEGACY}{USE}")
    assert after == "!pip install ray[air]==2.6\nimport ray.train\nray.train.report({})\n"
    assert [f.code for f in findings] == ["RM731", "RM302"]


def test_encodings_and_mixed_line_ends_stay() -> None:
    text = (
        b"# coding: latin-1\n# %%\n# \xe9\r\nfrom ray.air import session\r\n# %%\r!ls\nx = '\xe9'; session.report({})"
    )
    after, _ = convert(text)
    expected = text.replace(b"from ray.air import session", b"import ray.train").replace(b"session.", b"ray.train.")
    assert after.encode("latin-1") == expected


@given(st.text(alphabet="a1 =(\n\r\"'#%!?\\", max_size=120), st.sampled_from([*EDGES]))
@settings(max_examples=80, deadline=None)
def test_any_text_is_given_back(text: str, form: str) -> None:
    data = (EDGES[form][0] + text + EDGES[form][1] + "!ls\n").encode()
    document = open_document(data, "x.py")
    assert document.encode(document.text) == data


def test_every_fixture_is_given_back() -> None:
    for path in DOCUMENTS:
        document = open_document(path.read_bytes(), str(path))
        assert document.encode(document.text) == path.read_bytes()


# -- pages ---------------------------------------------------------------------------------------------


def test_pages_are_looked_at_on_request_only(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"```python\n{LEGACY}{USE}```\n")
    assert invoke(tmp_path).exit_code == 0
    assert LEGACY in page.read_text()
    assert invoke("--docs", tmp_path).exit_code == 0
    assert page.read_text() == "```python\nimport ray.train\nray.train.report({})\n```\n"


@pytest.mark.parametrize(
    "fence",
    [
        "```python\n{}```\n",
        "````py title='x'\n```\n````\n```python\n{}```\n",
        "~~~ {{.python}}\n{}~~~\n",
        "```{{code-cell}} python\n:tags: [x]\n{}```\n",
    ],
)
def test_fences(fence: str) -> None:
    after, _ = convert(fence.format(LEGACY + USE), "page.md")
    assert "session" not in after


@pytest.mark.parametrize("fence", ["```\n{}```\n", "```bash\n{}```\n", "```diff\n{}```\n", "```pycon\n>>> {}```\n"])
def test_fences_of_other_languages_are_left(fence: str) -> None:
    text = fence.format(LEGACY)
    assert convert(text, "page.md") == (text, [])


INSTALLS = {
    "page.md": "```{language}\n$ pip install ray==2.3.0 \\\n   'torch<2'\n```\n\n```python\n{code}```\n",
    "other.md": "~~~ {{.{language}}}\nconda install ray-core=2.3.0 pytorch=1.13\n~~~\n\n```py\n{code}```\n",
    "page.rst": ".. code-block:: {language}\n\n   pip install ray==2.3.0 torch==1.13\n\n.. code:: python\n\n{indented}",
}


@pytest.mark.parametrize("name", INSTALLS)
@pytest.mark.parametrize(("language", "told"), [("bash", 2), ("console", 2), ("yaml", 0)])
def test_versions_that_a_page_installs(tmp_path: Path, name: str, language: str, told: int) -> None:
    code = LEGACY + USE
    indented = "".join(f"   {line}\n" for line in code.splitlines())
    page = tmp_path / name
    page.write_text(INSTALLS[name].format(language=language, code=code, indented=indented))
    assert invoke("--docs", "--check", tmp_path).stdout.count(": RM731 unsafe: ") == told
    invoke("--docs", "--unsafe", tmp_path)
    assert ("2.3.0" in page.read_text()) is not bool(told)
    assert invoke("--docs", "--check", tmp_path).exit_code == 0


@pytest.mark.parametrize("text", ["Old: `pip install ray==2.3.0`", "```bash\n# pip install ray==2.3.0\n```"])
def test_versions_in_the_text_of_a_page_are_not_read(text: str) -> None:
    _, findings = convert(f"{text}\n\n```python\n{LEGACY}{USE}```\n", "page.md")
    assert [f for f in findings if f.code == "RM731"] == []


def test_versions_that_a_page_about_something_else_installs() -> None:
    text = "```bash\npip install torch==1.13\n```\n\n```python\nimport ray\nray.init()\n```\n"
    assert convert(text, "page.md") == (text, [])


@pytest.mark.parametrize("use", ["session.report({})", "session.get_world_rank()"])
def test_each_block_of_a_page_that_had_the_import_has_the_new_one(use: str) -> None:
    """So that a reader can copy any of them."""
    block = f"```python\nfrom ray.air import session\n{use}\n```\n"
    after, _ = convert(f"{block}\nText.\n\n> {block.replace(chr(10), chr(10) + '> ', 3)}\n{block}", "page.md")
    assert after.count("import ray.train\n") == 3
    assert "session" not in after
    assert convert(after, "page.md")[0] == after


def test_a_script_that_repeats_an_import_has_the_new_one_once() -> None:
    assert convert(2 * (LEGACY + USE))[0].count("import ray.train") == 1


def test_a_block_that_cannot_be_parsed_is_told_and_the_others_convert() -> None:
    text = f"```python\n{LEGACY}{USE}```\n\n```python\nsession.report(\n```\n"
    after, findings = convert(text, "page.md")
    assert after == text.replace(LEGACY, "import ray.train\n").replace("session.report({})", "ray.train.report({})")
    assert [(f.code, f.kind, f.line) for f in findings if f.code != "RM302"] == [("RM907", Kind.MANUAL, 7)]


@pytest.mark.parametrize(
    "shortened",
    [
        "trainer = TorchTrainer(train_func, scaling_config=ScalingConfig(...), ...)\n",
        "def train_func(config):\n    # Your training code here.\n\ntrainer = TorchTrainer(train_func)\n",
    ],
)
def test_a_shortened_block_of_current_code_is_no_work_for_a_person(shortened: str) -> None:
    current = "from ray.train import ScalingConfig\nfrom ray.train.torch import TorchTrainer\n"
    text = f"```python\n{LEGACY}{USE}```\n\n```python\n{current}{shortened}```\n"
    _, findings = convert(text, "page.md")
    assert [f for f in findings if f.code.startswith("RM9")] == []
    legacy = shortened.replace("TorchTrainer(", "AccelerateTrainer(")
    _, findings = convert(text.replace(shortened, legacy), "page.md")
    assert [f.kind for f in findings if f.code == "RM907"] == [Kind.MANUAL]


def test_a_block_that_shows_the_old_form_on_purpose_is_left() -> None:
    block = "```python\nfrom ray.train.huggingface import TransformersTrainer\n\nTransformersTrainer(f)\n```\n"
    for prose in ("## Before\n\n", "In Ray 2.6 and older:\n\n", "This is deprecated:\n"):
        after, findings = convert(prose + block, "page.md")
        assert after == prose + block
        assert [(f.code, f.kind) for f in findings] == [("RM907", Kind.NOTE)]


@pytest.mark.parametrize(
    ("block", "told"),
    [
        ("def train_func(config):\n    # your code\n\ntrainer = make(train_func)\n", ""),
        ("rows = session.query(...\n", ""),
        ("args = TrainingArguments(evaluation_strategy='epoch', ...)\n", "evaluation_strategy"),
        ("trainer = AccelerateTrainer(loop, accelerate_config={}, ...)\n", "AccelerateTrainer"),
        ("from ray.air import session\nsession.report(\n", "ray.air"),
    ],
)
@pytest.mark.parametrize("page", ["page.md", "page.rst"])
def test_a_block_that_cannot_be_parsed_is_told_where_it_shows_a_legacy_name(block: str, told: str, page: str) -> None:
    """And never called a cell: a page has none."""
    current = "import ray.train\n\nray.train.report({})\n"
    form = "```python\n{}```\n" if page.endswith("md") else ".. code-block:: python\n\n    {}\n"
    parts = [text if page.endswith("md") else text.strip().replace("\n", "\n    ") for text in (current, block)]
    _, findings = convert("\n".join(map(form.format, parts)), page)
    message = f"This code block cannot be parsed, and it mentions {told}: it was left."
    assert [(f.code, f.kind, f.message) for f in findings] == ([("RM907", Kind.MANUAL, message)] if told else [])


@pytest.mark.parametrize("name", ["page.rst", "page.md"])
def test_of_pages_it_is_said_that_only_their_blocks_are_read(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(":class:`HuggingFaceTrainer <ray.train.huggingface.HuggingFaceTrainer>`\n")
    (tmp_path / "train.py").write_text("import ray\n")
    said = "nothing legacy found (2 files scanned, of 1 page only the code blocks outside of HTML)"
    assert said in invoke("--docs", tmp_path).stderr
    assert "nothing legacy found (1 file scanned)" in invoke(tmp_path).stderr


IN_HTML = {
    "escaped": '<pre><code class="language-python">from ray.air import session\nprint(1 &lt; 2)\n</code></pre>',
    "in a raw block": "```{raw} html\n<pre>\n<code class='plain language-py'>\nimport ray.air\n</code></pre>\n```",
    "coloured": '<pre class="python"><span class="k">from</span> <span>ray.air</span> import session</pre>',
    "of Sphinx": '<div class="highlight-python"><pre><span class="kn">from</span> ray.air import session\n</pre></div>',
    "a doctest": "<pre>\n&gt;&gt;&gt; from ray.air import session\n</pre>",
    "without a language": "<pre>\nimport ray\n\n    from ray import air, train\n\nray.air.session.report({})\n</pre>",
    "two": '<pre lang="python">a = ray.air.session</pre>\n<PRE lang=python>b = ray.air.session</PRE>',
}


@pytest.mark.parametrize("html", IN_HTML.values(), ids=IN_HTML)
@pytest.mark.parametrize("page", ["page.md", "page.rst"])
def test_each_block_of_python_in_html_that_shows_a_legacy_name_is_told(html: str, page: str) -> None:
    """Once a block, whatever else is in it: who changed the first one is not done with the page."""
    text = f"See from ray\n\n{html}\n"
    after, findings = convert(text, page)
    message = "Code in HTML is not read and stays as it is; this block mentions ray.air."
    blocks = text.lower().count("<pre")
    assert [(f.code, f.kind, f.message) for f in findings] == [("RM907", Kind.MANUAL, message)] * blocks
    assert len({f.line for f in findings}) == blocks
    assert all(f.advice.startswith("Copy the code into a file, run raymigrate on that") for f in findings)
    assert after == text


def test_blocks_of_html_without_legacy_names_stay_silent_beside_one_that_has_some() -> None:
    legacy = '<pre lang="python">import ray.air, ray.ml</pre>'
    friend = '<pre lang="python">\nclass HuggingFacePredictor:\n    pass\n\nHuggingFacePredictor()\n</pre>'
    prose = "<p>ray.air is gone</p>\n<code>ray.air</code>\n<pre>No module named ray.air</pre>"
    prose += "\n<pre>\nTraceback (most recent call last):\n    from ray.air import session\nImportError\n</pre>"
    text = "\n\n".join(["See ray", friend, prose, legacy, friend, legacy, '<pre lang="python">x</pre>', ""])
    lines = [number for number, line in enumerate(text.split("\n"), 1) if line == legacy]
    assert [f.line for f in convert(text, "page.md")[1]] == lines


@pytest.mark.parametrize(
    "html",
    [
        '<pre><code class="language-python">import ray.train</code></pre>',
        '<pre><code class="language-yaml">ray.air: 1</code></pre>',
        "<p>It was <code>ray.air.session</code> once.</p>",
        '<a class="python">ray.air</a>',
        '<pre class="python">class HuggingFacePredictor:\n    pass\nds.map_batches(HuggingFacePredictor)</pre>',
    ],
)
def test_other_html_is_no_concern(html: str) -> None:
    assert convert(f"See from ray\n\n{html}\n", "page.md")[1] == []
