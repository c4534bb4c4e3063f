"""RM758 and RM718 where a variable is given its value beside the Python of a job; RM768 in commands there."""

import json
from pathlib import Path

import pytest

from raymigrate.base.findings import Kind
from raymigrate.base.options import Options
from raymigrate.run.job import Job
from tests.documents.notebooks import notebook
from tests.projects.files import DRIVER, INIT, convert, write

JOB = INIT + DRIVER.format(imports="", init="init")


def told(folder: Path, name: str, code: str = "RM758") -> list[tuple[int, str]]:
    found = (f for f in convert(folder).findings if f.code == code and Path(f.path).name == name)
    return [(f.line, f"{f.message} {f.advice}") for f in found if f.kind is Kind.MANUAL]


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [
        ("job.yaml", 'runtime_env:\n  env_vars:\n    WANDB_LOG_MODEL: "TRUE"\n', [3]),
        ("job.yaml", "env_vars: {WANDB_LOG_MODEL: '1'}\n", [1]),
        ("job.json", '{"env_vars": {"WANDB_LOG_MODEL": "on"}}', [1]),
        ("run.sh", "export WANDB_LOG_MODEL=TRUE\n", [1]),
        ("run.sh", "set -e\nWANDB_LOG_MODEL='yes' python job.py\n", [2]),
        ("run.sh", "export WANDB_LOG_MODEL=END\n", [1]),
        ("job.yaml", "WANDB_LOG_MODEL: end\n", []),
        ("job.yaml", "# WANDB_LOG_MODEL: TRUE\nMY_WANDB_LOG_MODEL: TRUE\n", []),
        ("run.sh", "export WANDB_LOG_MODEL=checkpoint  # not WANDB_LOG_MODEL=TRUE\n", []),
        ("run.sh", "export WANDB_LOG_MODEL=$MODE\necho ${WANDB_LOG_MODEL:-TRUE}\n", []),
        ("pod.yaml", "env:\n- name: WANDB_LOG_MODEL\n  value: 'TRUE'\n", [3]),
        ("pod.yaml", 'env: [{value: "1", name: "WANDB_LOG_MODEL"}]\n', [1]),
        ("pod.json", '{"env": [{"name": "WANDB_LOG_MODEL",\n"value": "yes"}]}', [2]),
        ("compose.yaml", "environment:\n  - WANDB_LOG_MODEL=TRUE\n  - 'WANDB_LOG_MODEL=on'\n", [2, 3]),
        ("run.sh", 'ray job submit --runtime-env-json \'{"env_vars": {"WANDB_LOG_MODEL": "TRUE"}}\'\n', [1]),
        ("run.sh", "cat > env.yaml <<END\nenv_vars:\n  WANDB_LOG_MODEL: TRUE\nEND\n", [3]),
        ("job.yaml", "- WANDB_LOG_MODEL: TRUE\n", [1]),
        ("run.sh", "setenv WANDB_LOG_MODEL TRUE\n", [1]),
        ("run.sh", "set -gx WANDB_LOG_MODEL TRUE\n", [1]),
        ("pod.yaml", "env:\n- name: WANDB_LOG_MODEL\n  value: end\n- name: OTHER\n  value: 'TRUE'\n", []),
        ("pod.yaml", "env:\n- name: MY_WANDB_LOG_MODEL\n  value: 'TRUE'\n", []),
        ("pod.yaml", "env:\n- name: WANDB_LOG_MODEL\n  valueFrom: {configMapKeyRef: {key: 'TRUE'}}\n", []),
        ("pod.yaml", "env:\n- name: WANDB_LOG_MODEL\n  value: 'TRUE'  # raymigrate: skip\n", []),
        ("job.yaml", "help: |\n  set WANDB_LOG_MODEL on, or WANDB_LOG_MODEL yes\n", []),
        ("run.sh", "echo 'WANDB_LOG_MODEL on'\necho WANDB_LOG_MODEL: on\necho \"WANDB_LOG_MODEL: on\"\n", []),
        ("run.sh", "unset WANDB_LOG_MODEL\nset -e\nexport WANDB_LOG_MODEL\nyes | python job.py\n", []),
        ("run.sh", "export WANDB_LOG_MODEL=\nyes | python job.py\n", []),
        ("run.sh", "export WANDB_LOG_MODEL=false\nexport WANDB_LOG_MODEL=nothing\n", []),
    ],
)
def test_settings_files_and_shell_scripts_of_a_job_are_read(
    tmp_path: Path, name: str, text: str, lines: list[int]
) -> None:
    write(tmp_path, {"job.py": JOB, name: text})
    assert [line for line, _ in told(tmp_path, name)] == lines
    assert (tmp_path / name).read_text() == text


def test_files_beside_other_scripts_are_not(tmp_path: Path) -> None:
    write(tmp_path, {"job.py": "from transformers import Trainer\n", "run.sh": "export WANDB_LOG_MODEL=TRUE\n"})
    assert not told(tmp_path, "run.sh")


@pytest.mark.parametrize(
    ("cell", "lines"),
    [
        ("%env WANDB_LOG_MODEL=TRUE", [1]),
        ("%set_env WANDB_LOG_MODEL 1\nprint(1)", [1]),
        ("print(1)\n!WANDB_LOG_MODEL=yes python job.py", [2]),
        ("%%bash\nexport WANDB_LOG_MODEL='ON'", [2]),
        ("%env WANDB_LOG_MODEL 'on'", [1]),
        ("print(1)\n!setenv WANDB_LOG_MODEL on; python job.py", [2]),
        ('!echo "WANDB_LOG_MODEL on"', []),
        ("%%bash\necho WANDB_LOG_MODEL on\nprintenv WANDB_LOG_MODEL yes", []),
        ("%env WANDB_LOG_MODEL", []),
        ("%env WANDB_LOG_MODEL=end", []),
        ("WANDB_LOG_MODEL = 'TRUE'", []),
        ("# %env WANDB_LOG_MODEL=TRUE", []),
    ],
)
def test_shell_lines_and_magics_are_read(tmp_path: Path, cell: str, lines: list[int]) -> None:
    (tmp_path / "job.ipynb").write_text(json.dumps(notebook([JOB.strip(), cell])))
    found = told(tmp_path, "job.ipynb")
    assert [line for line, _ in found] == lines
    assert all('Give it "end".' in message for _, message in found)


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [
        ("job.yaml", "runtime_env:\n  env_vars:\n    TRANSFORMERS_CACHE: /mnt/hf\n", [3]),
        ("job.yaml", 'env:\n- name: TRANSFORMERS_CACHE\n  value: "/mnt/hf"\n', [2]),
        ("job.json", '{"env_vars": {"PYTORCH_TRANSFORMERS_CACHE":"/mnt/hf"}}', [1]),
        ("run.sh", "export TRANSFORMERS_CACHE=$SCRATCH/hf\n", [1]),
        ("run.sh", "PYTORCH_PRETRAINED_BERT_CACHE='/mnt/hf' python job.py\n", [1]),
        ("run.sh", "# export TRANSFORMERS_CACHE=/a\nexport MY_TRANSFORMERS_CACHE=/a HF_HUB_CACHE=/b\n", []),
        (
            "run.sh",
            'echo "TRANSFORMERS_CACHE=$TRANSFORMERS_CACHE ${TRANSFORMERS_CACHE:-/a}"\nunset TRANSFORMERS_CACHE\n',
            [],
        ),
    ],
)
def test_variables_for_the_cache_of_models_are_told(tmp_path: Path, name: str, text: str, lines: list[int]) -> None:
    write(tmp_path, {"job.py": JOB, name: text})
    found = told(tmp_path, name, "RM718")
    assert [line for line, _ in found] == lines
    assert all("Name it HF_HUB_CACHE" in message for _, message in found)


@pytest.mark.parametrize(
    ("cell", "lines"),
    [
        ("%env TRANSFORMERS_CACHE=/mnt/hf", [1]),
        ("import os\n%set_env TRANSFORMERS_CACHE /mnt/hf", [2]),
        ("!export TRANSFORMERS_CACHE=/mnt/hf; python job.py", [1]),
        ("%%bash\nset -e\nexport TRANSFORMERS_CACHE=/mnt/hf", [3]),
        ("%env TRANSFORMERS_CACHE", []),
        ("%env HF_HUB_CACHE=/mnt/hf", []),
        ("TRANSFORMERS_CACHE = '/mnt/hf'", []),
    ],
)
def test_cells_that_set_the_cache_of_models_are_told(tmp_path: Path, cell: str, lines: list[int]) -> None:
    (tmp_path / "job.ipynb").write_text(json.dumps(notebook([JOB.strip(), cell])))
    assert [line for line, _ in told(tmp_path, "job.ipynb", "RM718")] == lines


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("cd $CKPT\npython zero_to_fp32.py . pytorch_model.bin\n", [2]),
        ("python3 ckpt/zero_to_fp32.py ckpt/ $OUT/model.bin -t global_step1 && ls\n", [1]),
        ("./zero_to_fp32.py \\\n  . \\\n  'model.pt' > log\n", [1]),
        ("set -e; (cd a; python zero_to_fp32.py . $OUT)\n", [1]),
        ('bash -c "python zero_to_fp32.py . model.bin"\n', [1]),
        ("python zero_to_fp32.py . weights/\n", []),
        ("python zero_to_fp32.py . $OUTPUT_DIR\n", []),
        ("# python zero_to_fp32.py . pytorch_model.bin\npython zero_to_fp32.py --help\n", []),
        ("python zero_to_fp32.py . model.bin --max_shard_size 100GB\n", []),
        ("cp zero_to_fp32.py backup.pt\n", []),
        ("python zero_to_fp32.py . 2>&1\n", []),
    ],
)
def test_commands_that_put_weights_together_are_told(tmp_path: Path, text: str, lines: list[int]) -> None:
    write(tmp_path, {"job.py": JOB, "weights.sh": text})
    assert [line for line, _ in told(tmp_path, "weights.sh", "RM768")] == lines


def test_cells_that_put_weights_together_are_told(tmp_path: Path) -> None:
    cells = [JOB.strip(), "!python zero_to_fp32.py . pytorch_model.bin"]
    (tmp_path / "job.ipynb").write_text(json.dumps(notebook(cells)))
    assert [line for line, _ in told(tmp_path, "job.ipynb", "RM768")] == [1]


PAGE = """# Weights

```python
{job}
```

Run `python zero_to_fp32.py . model.bin`, which is told in blocks only:

```bash
cd checkpoint
python zero_to_fp32.py . {path}
```

```text
python zero_to_fp32.py . pytorch_model.bin
```
"""
LOOK = Job(Options(), for_ray=True, write=False)


@pytest.mark.parametrize(("path", "is_told"), [("pytorch_model.bin", True), ("weights/", False)])
def test_blocks_of_shell_commands_in_pages_are_read(tmp_path: Path, path: str, *, is_told: bool) -> None:
    page = tmp_path / "README.md"
    page.write_text(PAGE.format(job=JOB.strip(), path=path))
    line = page.read_text().split("\n").index(f"python zero_to_fp32.py . {path}") + 1
    found = [f.line for f in LOOK(str(page)).findings if f.code == "RM768"]
    assert found == ([line] if is_told else [])


@pytest.mark.parametrize(
    ("cell", "lines"),
    [
        ("# MAGIC %sh\n# MAGIC python zero_to_fp32.py . pytorch_model.bin", [2]),
        ("# MAGIC %sh python zero_to_fp32.py . pytorch_model.bin", [1]),
        ("# MAGIC !python zero_to_fp32.py . pytorch_model.bin", [1]),
        ("# MAGIC %md\n# MAGIC python zero_to_fp32.py . pytorch_model.bin", []),
        ("# python zero_to_fp32.py . pytorch_model.bin", []),
    ],
)
def test_cells_of_databricks_are_read(tmp_path: Path, cell: str, lines: list[int]) -> None:
    head = f"# Databricks notebook source\n{JOB.strip()}\n\n# COMMAND ----------\n\n"
    (tmp_path / "job.py").write_text(head + cell + "\n")
    first = head.count("\n")
    found = LOOK(str(tmp_path / "job.py")).findings
    assert [f.line - first for f in found if f.code == "RM768"] == lines
