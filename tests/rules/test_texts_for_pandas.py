"""RM728: texts that pandas reads."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = """
import json
import os

import pandas as pd
import ray
"""


@pytest.mark.parametrize(
    ("read", "now"),
    [
        ('pd.read_json(\'{"a": {"0": 1}}\')', 'pd.read_json(io.StringIO(\'{"a": {"0": 1}}\'))'),
        ("pd.read_json(' [1, 2]', orient='values')", "pd.read_json(io.StringIO(' [1, 2]'), orient='values')"),
        ("data = '[1]'\npd.read_json(data)", "pd.read_json(io.StringIO(data))"),
        ("def read(data='[1]'):\n    return pd.read_json(data)\n\n\nread('[2]')", "pd.read_json(io.StringIO(data))"),
        ("pd.read_json(path_or_buf=json.dumps(rows))", "path_or_buf=io.StringIO(json.dumps(rows))"),
        ("pd.read_json(frame.to_json(orient='split'))", "io.StringIO(frame.to_json(orient='split'))"),
        ("pd.read_json(f'[{rows}]')", "io.StringIO(f'[{rows}]')"),
        ("pd.read_html('<table></table>')", "io.StringIO('<table></table>')"),
        ("pd.read_html(frame.to_html())", "io.StringIO(frame.to_html())"),
        ("pd.read_xml('<a/>')", "io.StringIO('<a/>')"),
        ("from pandas import read_json as read\nread('[1]')", "read(io.StringIO('[1]'))"),
    ],
)
def test_a_text_is_no_path(read: str, now: str) -> None:
    outcome = converted(f"{HEAD}\n{read}\n")
    assert outcome.lines("RM728", Kind.CONVERTED)
    assert now in outcome.text
    assert outcome.text.startswith("import io\nimport json\nimport os\n\n")
    assert converted(outcome.text).text == outcome.text


@pytest.mark.parametrize(
    ("imported", "called"),
    [
        ("from io import StringIO", "StringIO('[1]')"),
        ("from io import StringIO as Text", "Text('[1]')"),
        ("import io", "io.StringIO('[1]')"),
    ],
)
def test_string_io_has_the_name_that_the_file_knows(imported: str, called: str) -> None:
    outcome = converted(f"{imported}\n{HEAD}\npd.read_json('[1]')\n")
    assert f"pd.read_json({called})" in outcome.text
    assert outcome.text.count("import io") + outcome.text.count("from io") == 1


def test_something_else_may_be_called_io() -> None:
    outcome = converted(f"{HEAD}\nio = ray.data.range(3)\npd.read_json('[1]')\nio.show()\n")
    assert outcome.lines("RM728", Kind.CONVERTED)
    assert "read_json(io.StringIO" not in outcome.text


@pytest.mark.parametrize(
    "read",
    [
        "pd.read_json('rows.json')",
        "pd.read_json(rows)",
        "pd.read_json(path if rows else '[1]')",
        "pd.read_json(frame.to_json('rows.json'))",
        "pd.read_json(os.path.join(folder, 'rows.json'), lines=True)",
        "pd.read_json(f'{folder}/rows.json')",
        "pd.read_csv('{a}')",
        "ray.data.read_json('[1]')",
        "import io\npd.read_json(io.StringIO('[1]'))",
        "def read_json(text):\n    return json.loads(text)\n\n\nread_json('[1]')",
    ],
)
def test_paths_and_unknown_values_stay(read: str) -> None:
    assert "RM728" not in [code for code, _, _ in converted(f"{HEAD}\n{read}\n").findings]


def test_scripts_without_ray_stay() -> None:
    assert not converted("import pandas as pd\n\npd.read_json('[1]')\n").findings
