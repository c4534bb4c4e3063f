"""Every format gives the same places, and at each place stands what the finding speaks of."""

import ast
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from click.testing import CliRunner

from raymigrate.cli import candidates, main
from raymigrate.codemods.gone.names_in_comments import NAMES
from raymigrate.documents import open_document
from raymigrate.facts.syntax.module import Module
from raymigrate.files.discovery import Discovery
from raymigrate.run.job import Job
from raymigrate.run.outcome import Summary
from scripts.update_twins import options_of
from tests.conftest import DOCUMENTS, case_name

Place = tuple[str, int, int, str]  # file, line, column, code
TEXT = re.compile(r"^(.+?):(\d+):(\d+): (RM\d{3}) (?:would convert|\w+): ", re.MULTILINE)
GITHUB = re.compile(r"^::\w+ file=(.+?),line=(\d+),col=(\d+),title=raymigrate (RM\d{3}) ", re.MULTILINE)
REQUIREMENT = re.compile(r"[\w-]+(?:\[[\w,]+\])?[=<>~!]=[\w.]+")
INSTALLED = re.compile(r"[\w-]+(?:\[[\w,]+\])?(?:[=<>~!]=[\w.]+)?")  # in a %pip or a !pip
NAMED = re.compile(rf"\b(?:{'|'.join(sorted(NAMES))}|ray\.air\.[\w.]*\w)\b")
NOTEBOOKS = [path for path in DOCUMENTS if path.suffix == ".ipynb"]
# Rules whose message speaks of what happens, not of the name that makes it happen: what stands there.
SPEAKS_OF = {
    "RM103": "Trainer",
    "RM104": "Arguments|Accelerator|Trainer",
    "RM105": r"^\*\*",  # among which report_to may be
    "RM107": r"[Dd]ataset|_ds\b|\"train\"|^settings$|^ExecutionOptions\b|^\{\}$",
    "RM108": "_ds",
    "RM109": r"\"train\"",
    "RM110": r"Arguments|Trainer|\bcls\(\*\*",  # TrainingArguments by the name of a parameter
    "RM202": r"ACCELERATE_CONFIG|_type\"|_environment\"|_precision\"|_config\"|\.ya?ml|\.json",
    "RM203": "Accelerator",
    "RM205": "train|datasets",
    "RM206": "Trainer",
    "RM208": "train",
    "RM207": "^config$",
    "RM210": r"torch\.optim\.|Plugin|Trainer|Accelerator",
    "RM211": "Plugin|Trainer|Accelerator",
    "RM401": r"^(?:None|True|False|\{\"CPU\": 0\})$|^\*\*",  # given by position, or unpacked
    "RM417": "Trainer|RunConfig",
    "RM418": "torch|cudnn|dist",
    "RM419": "stop|scheduler|time_budget_s|include_dashboard",
    "RM606": "str|repr",
    "RM690": "version",
    "RM753": "Arguments|Config|Trainer",
    "RM402": "sync_config",
    "RM309": "Checkpoint|^save",
    "RM305": "get_trial",
    "RM307": "^make_local_dataset_iterator",  # used by the name that it was imported under
    "RM308": "previous|first_checkpoint",  # a checkpoint that goes to other processes
    "RM406": r"name|^\"\w+\"$",
    "RM407": "report",
    "RM409": "setup_wandb",
    "RM413": "report",
    "RM428": "raises",
    "RM481": "evaluate|load_metric",
    "RM501": "BatchMapper|preprocessor|^mapper$",
    "RM502": "Scaler",
    "RM504": "dataset_config",
    "RM423": r"loss|torch|^F\.",
    "RM507": '^"',  # the column to drop
    "RM508": "^lambda",
    "RM509": "train",
    "RM511": r"^lambda|_(?:batch|row)$|^row\b|^self\.model\(",  # the function, or what it returns
    "RM512": "ray://|RAY_ADDRESS",
    "RM429": "^\\w+$",  # a name of the model, or what holds it
    "RM513": "image",
    "RM514": "shard",
    "RM515": "pandas",
    "RM517": "batches",
    "RM523": "split",
    "RM602": "_directory",
    "RM706": r"\*\*",
    "RM714": r"dataset|^[A-Z]+$|^sys\.argv",
    "RM731": r"^\"[<>=!~]*[\d.]+\"$",  # the version, where a decorator gives it by package
    "RM716": "rows",
    "RM728": r"^rows$|json|html|xml",
    "RM759": "model|bert",
    "RM751": "from_pretrained|FeatureExtractor",
    "RM752": "predict|[Pp]ipeline|generate",
    "RM755": "config",
    "RM760": r"mlruns|file:|config",
    "RM762": r"Attention|LlamaModel|setattr",
    "RM763": r"peft_config|ADAPTER|\[|GRPOConfig",
    "RM764": "tokenizer",
    "RM765": r"\.size|random_padding",
    "RM766": "Config",
    "RM767": "rope_",
    "RM770": "class |init_weights",
    "RM771": "output_attentions",
    "RM772": "apply_chat_template",
    "RM769": r"^\d+$|LENGTH",
    "RM768": "zero_to_fp32|sys.executable",
    "RM914": "train",
}
CHANGES = r"\w"  # rules of plain scripts stand at a statement that moves or changes, and say what becomes of it


@pytest.fixture(autouse=True)
def each_conversion_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of one test that are to convert the same files in the same way do so once: formats differ in writing only.

    SARIF shows new texts, which the others leave out: so its run is not theirs.
    """
    known: list[tuple[tuple[list[str], Job], Summary]] = []
    convert = candidates.run

    def run(found: Discovery, job: Job, **how: Any) -> Summary:
        asked = sorted(found.candidates), replace(job, run=0)  # `Job.run` tells one run from another, and no more
        for earlier, summary in known:
            if earlier == asked:
                return summary
        known.append((asked, convert(found, job, **how)))
        return known[-1][1]

    monkeypatch.setattr(candidates, "run", run)


def output(script: Path, output_format: str, *options: object) -> str:
    choices = options_of(script)
    chosen = [f"--{name.replace('_', '-')}" for name in ("to_ray", "to_accelerate") if getattr(choices, name)]
    arguments = ["--check", "--output-format", output_format, *chosen, *map(str, options), str(script)]
    return CliRunner().invoke(main, arguments).stdout


def places_in_lines(text: str, pattern: re.Pattern[str]) -> list[Place]:
    return sorted((Path(file).name, int(line), int(column), code) for file, line, column, code in pattern.findall(text))


def places_in_json(text: str) -> list[Place]:
    return sorted((Path(f["path"]).name, f["line"], f["column"], f["code"]) for f in json.loads(text)["findings"])


def places_in_sarif(text: str) -> list[Place]:
    places = []
    for result in json.loads(text)["runs"][0]["results"]:
        location = result["locations"][0]["physicalLocation"]
        region = location["region"]
        name = Path(unquote(location["artifactLocation"]["uri"])).name
        places.append((name, region["startLine"], region["startColumn"], result["ruleId"]))
    return sorted(places)


def starts(script: Path) -> dict[tuple[int, int], list[str]]:
    """The source of every node and every requirement, by the place in the file where it starts."""
    document = open_document(script.read_bytes(), script.name)
    text = document.text.replace("\r\n", "\n")
    module = Module(text)
    found: dict[tuple[int, int], list[str]] = {}
    for node in ast.walk(module.tree):
        if hasattr(node, "lineno"):
            line, column = module.start(node)
            _, line, column = document.place(line, column + 1)
            found.setdefault((line, column), []).append(module.source(node))
    for number, line in enumerate(script.read_text().split("\n"), 1):
        for match in NAMED.finditer(line):  # also in comments and docstrings
            found.setdefault((number, match.start() + 1), []).append(match[0])
        for match in (INSTALLED if " install " in line else REQUIREMENT).finditer(line):
            found.setdefault((number, match.start() + 1), []).append(match[0])
    return found


def names(message: str) -> set[str]:
    """The last parts of the names that a message gives: `ray.air.config.RunConfig` is imported as `RunConfig`."""
    return {name.rpartition(".")[2] for name in re.findall(r"[A-Za-z_][\w.]*\w", message)}


def test_all_formats_agree_and_point_at_what_they_speak_of(tmp_path: Path, copied_script: Path) -> None:
    report = tmp_path / "report.md"
    as_json = output(copied_script, "json", "--report", report)
    found = json.loads(as_json)["findings"]
    places = places_in_json(as_json)
    assert places
    assert places_in_lines(output(copied_script, "text"), TEXT) == places
    assert places_in_lines(output(copied_script, "github"), GITHUB) == places
    assert places_in_sarif(output(copied_script, "sarif")) == places
    nodes, markdown = starts(copied_script), report.read_text()
    for finding in found:
        sources = nodes.get((finding["line"], finding["column"]))
        assert sources, finding
        source = " ".join(sources)
        other = CHANGES if finding["code"].startswith("RM8") else "(?!)"
        wanted = rf"\b({'|'.join(names(finding['message']))})\b|{SPEAKS_OF.get(finding['code'], other)}"
        missing = "the message names nothing that stands at its place: say in SPEAKS_OF what does"
        assert re.search(wanted, source), (missing, finding, sources)
        if finding["kind"] == "converted":
            assert re.search(rf"^- line {finding['line']}, \[{finding['code']}\]", markdown, re.MULTILINE)
        else:
            assert re.search(rf"^\| `[^`]+`:{finding['line']} \| \[{finding['code']}\]", markdown, re.MULTILINE)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=case_name)
def test_people_are_told_the_cell_and_programs_the_line_of_the_file(tmp_path: Path, notebook: Path) -> None:
    report = tmp_path / "report.md"
    notebook = Path(shutil.copytree(notebook.parent, tmp_path / "project")) / notebook.name
    found = json.loads(output(notebook, "json", "--report", report))["findings"]
    assert found
    in_sarif = places_in_sarif(output(notebook, "sarif"))
    annotations = output(notebook, "github")
    assert places_in_lines(annotations, GITHUB) == in_sarif
    sources = ["".join(cell["source"]).split("\n") for cell in json.loads(notebook.read_text())["cells"]]
    starts_in_cells = {sources[f["cell"] - 1][f["line"] - 1][f["column"] - 1 :][:5] for f in found}
    lines = notebook.read_text().split("\n")
    unescaped = {lines[line - 1][column - 1 :].replace('\\"', '"')[:5] for _, line, column, _ in in_sarif}
    assert unescaped == starts_in_cells
    for finding in found:
        place = f"cell {finding['cell']}, line {finding['line']}"
        assert f"title=raymigrate {finding['code']} ({finding['kind']}), {place}::".replace(",", "%2C") in annotations
        told = rf"^(- {place}, |\| `[^`]+` {place} \| )\[{finding['code']}\]"
        assert re.search(told, report.read_text(), re.MULTILINE)
