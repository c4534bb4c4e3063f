"""The same scripts give the same text in each process, whatever the order of its sets: of texts, and of nodes."""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.conftest import FIXTURES

# Hashes of nodes go by their addresses, which differ from process to process as those of texts do.
PROGRAM = """
import ast, json, sys
from pathlib import Path

SEED = int(sys.argv[1])
ast.AST.__hash__ = lambda node: ((id(node) >> 4) ^ SEED * 0x9E3779B97F4A7C15) * 0xBF58476D1CE4E5B9 % (1 << 61)

from raymigrate.run.engine import convert
from scripts.update_twins import options_of

told = {}
for path in sys.argv[2:]:
    script = Path(path)
    result = convert(script.read_text(encoding="utf-8"), options=options_of(script))
    told[path] = [result.after, [f"{f.line} {f.column} {f.code} {f.message} {f.advice}" for f in result.findings]]
print(json.dumps(told))
"""
REPOSITORIES = """
from ray.air import session
from transformers import AutoModelForCausalLM

name = "bigscience/bloom" if session.get_world_size() else "microsoft/phi-2"
model = AutoModelForCausalLM.from_pretrained(name, trust_remote_code=True)
"""
FAMILIES = ("accelerate_trainer", "ray_air", "to_accelerate", "to_ray", "transformers_trainer", "tuner")


def told(seed: int, scripts: list[Path]) -> dict[str, object]:
    command = [sys.executable, "-c", PROGRAM, str(seed), *map(str, scripts)]
    environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
    return json.loads(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)


def test_a_message_names_the_same_of_two_repositories_in_each_process(tmp_path: Path) -> None:
    script = tmp_path / "repositories.py"
    script.write_text(REPOSITORIES)
    first, *others = (told(seed, [script]) for seed in (1, 2, 3, 4))
    assert "transformers has" in json.dumps(first)
    assert all(other == first for other in others)


def test_fixtures_become_the_same_in_each_process() -> None:
    scripts = [sorted((FIXTURES / family).glob("*/before.py"))[0] for family in FAMILIES]
    assert told(1, scripts) == told(2, scripts)
