"""RM775: the command huggingface-cli, which the huggingface_hub of transformers 5 does not have."""

import json
from pathlib import Path

import pytest

from tests.documents.notebooks import notebook
from tests.projects.files import DRIVER, INIT, convert, write
from tests.rules.scripts import converted

JOB = INIT + DRIVER.format(imports="", init="init")
SCRIPT = """
import os, shlex
import subprocess
from ray.air import session


def loop(config):
    token = config["token"]
    {call}
    session.report({{"loss": 1.0}})
"""


@pytest.mark.parametrize(
    "call",
    [
        'os.system("huggingface-cli login --token " + token)',
        'os.system(f"cd /models && huggingface-cli download {token}")',
        'subprocess.run(["huggingface-cli", "login", "--token", token], check=True)',
        'subprocess.check_call("HF_TOKEN=%s huggingface-cli whoami" % token, shell=True)',
        'os.system("huggingface-cli login --token {}".format(token))',
        'subprocess.run(args="huggingface-cli login".split())',
        'subprocess.run(["bash", "-c", "huggingface-cli login"])',
        'os.system(command=" ".join(["huggingface-cli", "login"]))',
        'subprocess.run(shlex.split("huggingface-cli login"))',
    ],
)
def test_a_script_that_starts_the_command(call: str) -> None:
    result = converted(SCRIPT.format(call=call))
    assert result.lines("RM775") == [8]
    assert "huggingface-cli" in result.text


@pytest.mark.parametrize(
    "call",
    [
        'print("run huggingface-cli login")',
        'os.system("echo run huggingface-cli login")',
        'subprocess.run(["hf", "auth", "login"])',
        'os.system("my-huggingface-cli login")',
        'os.system("cd bin; huggingface-client login")',
    ],
)
def test_what_only_speaks_of_it(call: str) -> None:
    assert not converted(SCRIPT.format(call=call)).lines("RM775")


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("set -e\nhuggingface-cli login --token $HF_TOKEN\npython job.py\n", [2]),
        ("if huggingface-cli whoami; then\n  python job.py\nfi\n", [1]),
        ("cd /models && HF_TOKEN=x huggingface-cli download a/b\n", [1]),
        ("# huggingface-cli login\necho 'run huggingface-cli login'\npip install huggingface-cli-tools\n", []),
    ],
)
def test_shell_scripts_of_a_job(tmp_path: Path, text: str, lines: list[int]) -> None:
    write(tmp_path, {"job.py": JOB, "run.sh": text})
    assert [finding.line for finding in convert(tmp_path).findings if finding.code == "RM775"] == lines


def test_cells_of_a_notebook(tmp_path: Path) -> None:
    cells = [
        "!huggingface-cli login",
        "# huggingface-cli login\nx = 1",
        "%%bash\nhuggingface-cli download a/b",
        JOB.strip(),
    ]
    (tmp_path / "job.ipynb").write_text(json.dumps(notebook(cells)))
    found = [(f.cell, f.line, f.advice) for f in convert(tmp_path).findings if f.code == "RM775"]
    assert found == [(2, 1, "Write hf auth login."), (4, 2, "Write hf download.")]
