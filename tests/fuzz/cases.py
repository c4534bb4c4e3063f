"""Folders to convert, each made from a number."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from random import Random

from tests.conftest import FIXTURES
from tests.fuzz.python_code import mutated_tree
from tests.fuzz.text import encoded, mutated_text

SETTINGS = """[tool.raymigrate]
select = ["RM3", "RM1"]
ignore = ["RM406"]
exclude = ["old/", "*.bak.py"]
unsafe = true
jobs = 1
output-format = "text"
style = "adapter"
"""
REQUIREMENTS = {
    "requirements.txt": """ray[tune,data]==2.6.3  # pinned
transformers>=4.30,<4.40; python_version < '3.12'
-r other.txt
accelerate~=0.20 \\
    --hash=sha256:00
datasets
torch @ https://x/y.whl
""",
    "setup.cfg": """[options]
install_requires =
    ray==2.6
    transformers<5

[options.extras_require]
x = torch==2.0
""",
    "setup.py": """from setuptools import setup

setup(install_requires=['ray==2.6', f'torch=={version}'], name='x')
""",
    "environment.yml": """name: x
dependencies:
  - python=3.10
  - ray=2.6
  - pip:
    - transformers==4.30
""",
    "Dockerfile": """ARG RAY=2.6
FROM rayproject/ray-ml:2.6.0-py310 AS base
RUN pip install ray==${RAY} \\
  torch==2.0
""",
    "pyproject.toml": """[project]
name = "x"
dependencies = ["ray==2.6", "torch>=2,<2.2"]

[tool.poetry.dependencies]
python = "^3.10"
ray = {version = "~2.6", extras = ["tune"]}
""",
}
OPTIONS = ("--unsafe", "--todo", "--freeze-numerics", "--guide", "--style=adapter", "--style=inline", "--from-ray=2.4")

TO_RAY = ["--to-ray", "--workers=2", "--cpu"]
OPTIONS_OF = {
    "pins": ["--unsafe"],
    "page": ["--docs"],
    "plain": TO_RAY,
    "plain notebook": TO_RAY,
    "native": ["--to-accelerate"],
    "both steps": ["--to-accelerate", *TO_RAY],
}


@dataclass
class Case:
    """What is converted, and how.

    Args:
        name: Tells how to make it again: the seed and its kind.
        files: Contents by relative path.
        options: Of the command.
    """

    name: str
    files: dict[str, bytes]
    options: list[str] = field(default_factory=list)


def made(seed: int, number: int, *, small: bool = False) -> Case:
    """A case out of the seed of a run and its number in that run.

    Args:
        seed: The seed.
        number: The number.
        small: Whether to take short fixtures only.
    """
    random = Random(f"{seed}:{number}")
    kind, make = random.choices(list(KINDS.items()), WEIGHTS)[0]
    case = Case(f"{seed}:{number} ({kind})", make(random, small))
    for option in OPTIONS:
        if random.random() < 0.15:
            case.options.append(option)
    case.options += OPTIONS_OF.get(kind, [])
    return case


@cache
def _texts(pattern: str, size: int) -> list[str]:
    paths = sorted(path for path in FIXTURES.glob(pattern) if path.stat().st_size < size)
    return [path.read_text() for path in paths]


def _fixture(random: Random, small: bool, family: str = "*") -> str:
    return random.choice(_texts(f"{family}/*/before.py", 2_500 if small else 8_000))


def _python(random: Random, small: bool, family: str = "*") -> str:
    """Mostly Python that parses, made of fixtures of a family."""
    text = _fixture(random, small, family)
    for _ in range(4):
        try:
            by_tree = random.random() < 0.6
            new = mutated_tree(random, text, _fixture(random, small, family)) if by_tree else mutated_text(random, text)
            ast.parse(new)
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            continue
        return mutated_text(random, new) if random.random() < 0.3 else new
    return mutated_text(random, text)


def _script(random: Random, small: bool) -> dict[str, bytes]:
    return {"train.py": encoded(random, _python(random, small))}


def _notebook(random: Random, small: bool) -> dict[str, bytes]:
    if random.random() < 0.5:
        content = json.loads(random.choice(_texts("notebooks/*/before.ipynb", 100_000)))
        cells = [cell for cell in content["cells"] if cell["cell_type"] == "code"]
        for cell in random.choices(cells, k=2):
            cell["source"] = mutated_text(random, "".join(cell["source"])).splitlines(keepends=random.random() < 0.9)
    else:
        pieces = re.split(r"\n(?=\w)", _python(random, small))
        pieces.insert(
            random.randint(0, len(pieces)),
            random.choice(["%pip install ray==2.6", "!ls", "%%bash\nls", "x?", "%time f()"]),
        )
        sources = [piece if random.random() < 0.5 else piece.splitlines(keepends=True) for piece in pieces]
        cells = [
            {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": s} for s in sources
        ]
        content = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": random.choice([0, 4, 5])}
    if random.random() < 0.3:
        cell = random.choice(content["cells"])
        cell[random.choice(list(cell))] = random.choice(
            [None, 5, "", [], {}, [[]], ["a", 1], {"a": "b"}, "\ud800", 1e400]
        )
    text = json.dumps(content, indent=random.choice([None, 1, "\t"]), ensure_ascii=random.random() < 0.5)
    return {"train.ipynb": encoded(random, mutated_text(random, text) if random.random() < 0.2 else text)}


def _plain(random: Random, small: bool) -> dict[str, bytes]:
    """A script for `--to-ray`, with the file that `accelerate config` wrote beside some of them."""
    files = {"train.py": encoded(random, _python(random, small, "to_ray"))}
    if random.random() < 0.3:
        config = random.choice(_texts("to_ray/*/*.yaml", 100_000))
        files["default_config.yaml"] = encoded(random, mutated_text(random, config))
    return files


def _native(random: Random, small: bool) -> dict[str, bytes]:
    return {"train.py": encoded(random, _python(random, small, "to_accelerate"))}


def _plain_notebook(random: Random, small: bool) -> dict[str, bytes]:
    content = json.loads(random.choice(_texts("to_*/*/before.ipynb", 100_000)))
    cells = [cell for cell in content["cells"] if cell["cell_type"] == "code"]
    for cell in random.choices(cells, k=2):
        cell["source"] = mutated_text(random, "".join(cell["source"])).splitlines(keepends=True)
    return {"train.ipynb": encoded(random, json.dumps(content, indent=1))}


def _page(random: Random, small: bool) -> dict[str, bytes]:
    suffix = random.choice(["md", "rst"])
    text = random.choice(_texts(f"notebooks/*/before.{suffix}", 100_000))
    return {f"page.{suffix}": encoded(random, mutated_text(random, text))}


def _configuration(random: Random, small: bool) -> dict[str, bytes]:
    folder = FIXTURES / "accelerate_trainer/config_path_yaml"
    [config] = folder.glob("*.yaml")
    script = (folder / "before.py").read_bytes()
    return {"train.py": script, config.name: encoded(random, mutated_text(random, config.read_text()))}


def _pins(random: Random, small: bool) -> dict[str, bytes]:
    name = random.choice(list(REQUIREMENTS))
    script = (FIXTURES / "transformers_trainer/readme_example/before.py").read_bytes()
    return {"train.py": script, name: encoded(random, mutated_text(random, REQUIREMENTS[name]))}


def _settings(random: Random, small: bool) -> dict[str, bytes]:
    text = mutated_text(random, SETTINGS)
    return {"pyproject.toml": encoded(random, text), "train.py": b"from ray.air import session\nsession.report({})\n"}


def _project(random: Random, small: bool) -> dict[str, bytes]:
    names = ["init_in_config"] if small else sorted(path.parent.name for path in FIXTURES.glob("projects/*/before"))
    folder = FIXTURES / "projects" / random.choice(names) / "before"
    files = {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
    scripts = [name for name in files if name.endswith(".py")]
    for name in random.choices(scripts, k=2):
        text = files[name].decode("utf-8", "replace")
        try:
            text = mutated_tree(random, text, text)
        except (SyntaxError, IndexError):  # nothing in it, or mutated into no Python before
            text = mutated_text(random, text)
        files[name] = encoded(random, text)
    return files


KINDS: dict[str, Callable[[Random, bool], dict[str, bytes]]] = {
    "script": _script,
    "notebook": _notebook,
    "page": _page,
    "configuration": _configuration,
    "pins": _pins,
    "settings": _settings,
    "project": _project,
    "plain": _plain,
    "plain notebook": _plain_notebook,
    "native": _native,
    "both steps": _native,
}
WEIGHTS = [10, 4, 2, 1, 2, 1, 2, 6, 2, 6, 2]
