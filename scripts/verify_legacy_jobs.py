"""Verifies the legacy scripts of the fixtures that can run, and writes what came of it to `docs/verification/legacy/`.

    python scripts/verify_legacy_jobs.py                      # those whose record is missing or no longer fits
    python scripts/verify_legacy_jobs.py tracking/mlflow_torch  # these
    python scripts/verify_legacy_jobs.py --check              # runs nothing; exit code 1 if a record does not fit

The original runs under the stand-in for the old trainers (arm B), the conversion as it is (arm C), both on today's
libraries with the models and datasets of the offline hub. A run takes about a minute on two cores. `results.jsonl`
holds what came of each, with a hash of what the original becomes; `README.md` is the table of it. A fixture takes part
if it has a `runs.json` whose converted script ends well, or stands in `MORE`. An `inputs.py` beside it makes what its
script reads.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path
from typing import Any

import click

from raymigrate.runtime.verify.arms import WORK
from raymigrate.runtime.verify.reporting.json import json_verification
from raymigrate.runtime.verify.results import Verification
from scripts.prove import CASES, FIXTURES, ROOT, case_name, expected, missing_libraries
from scripts.update_twins import converted, options_of
from scripts.verify_plain_jobs import GATES, entry, known, proved, rules, write
from scripts.verify_plain_jobs import RESULTS as PLAIN_RESULTS

FOLDER = ROOT / "docs/verification/legacy"
RESULTS = FOLDER / "results.jsonl"  # other files of JSON below docs/verification are reports
PLAIN = ("to_ray", "to_accelerate")  # docs/verification/plain
INPUTS = "inputs.py"
WORK_FOLDER = re.compile(rf"{re.escape(tempfile.gettempdir())}/raymigrate-verify-[^/]+/runs/\w+/{WORK}/")
MORE = (
    "accelerate_trainer/bert_mrpc",
    "transformers_trainer/bert_mrpc_preprocessor_and_collator",
    "transformers_trainer/gpt2_wikitext_own_data",
    "transformers_trainer/gpt2_wikitext_ray_data",
)
# What a script is started with.
ARGUMENTS: dict[str, tuple[str, ...]] = {}
# Why two arms differ, or one does not run, where the figures alone do not say it.
WHY: dict[str, str] = {}
HEAD = """# Legacy scripts, before and after

Each original under the stand-in for the old trainers (B), against its conversion (C), on CPUs, with the libraries of
today and the models and datasets of the offline hub. "equal" means equal bits on every worker, of the rows, losses,
gradients and weights of every step; "explained" names a cause below the table, within its bound. Where the two differ,
the conversion has told why, by the rules in the column "told". Written by `python scripts/verify_legacy_jobs.py`.
"""


def cases() -> list[Path]:
    """The fixtures that take part."""
    runnable = [case for case in CASES if expected(case)["after"]["exit"] == 0 and not missing_libraries(case)]
    named = {FIXTURES / name for name in MORE}
    return sorted({case for case in runnable if case.parent.name not in PLAIN} | named)


def script_of(case: Path) -> Path:
    """The original."""
    return next(case.glob("before.*"))


def made_from(case: Path) -> str:
    """A hash of the original, of what it becomes, and of what makes its inputs."""
    script = script_of(case)
    after, _ = converted(script, options_of(script))
    digest = hashlib.sha256(script.read_bytes() + b"\0" + after)
    if (case / INPUTS).exists():
        digest.update((case / INPUTS).read_bytes())
    digest.update(" ".join(ARGUMENTS.get(case_name(case), ())).encode())
    return digest.hexdigest()


def command_of(case: Path) -> list[str]:
    """What verifies a script."""
    given = case / "options.json"
    options = json.loads(given.read_text(encoding="utf-8")) if given.exists() else {}
    written = [
        f"--{name.replace('_', '-')}" + ("" if value is True else f"={value}") for name, value in options.items()
    ]
    arguments = ARGUMENTS.get(case_name(case), ())
    behind = ["--", *arguments] if arguments else []
    return ["raymigrate", "verify", *written, "--device", "cpu", "--offline", script_of(case).name, *behind]


def verify(case: Path) -> dict[str, Any]:
    """Verifies one script, in a copy of its folder.

    Returns:
        Its entry in the results; of one whose arms did not both run, why.
    """
    command = command_of(case)
    print(f"{case_name(case)} $", *command, flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / case.name
        shutil.copytree(case, folder, ignore=shutil.ignore_patterns("after.*", "*.txt", "proof.json", "__pycache__"))
        if (folder / INPUTS).exists():
            subprocess.run([sys.executable, INPUTS], cwd=folder, check=True)
        report = folder / "report.json"
        split = command.index("--") if "--" in command else len(command)
        run = [sys.executable, "-m", *command[:split], "--report", str(report), *command[split:]]
        process = subprocess.run(run, cwd=folder, check=False, capture_output=True, text=True)
        if not report.exists() and "has nothing to convert" in process.stderr:
            return {"made_from": made_from(case), "day": str(date.today()), "not_run": "Nothing in it is converted."}
        if not report.exists():
            raise SystemExit(f"{case_name(case)} could not be verified:\n{process.stderr}")
        found = json_verification(report.read_text(encoding="utf-8"))
    if found.comparisons:
        return entry(found, " ".join(command), made_from(case))
    return {"made_from": made_from(case), "day": found.started[:10], "not_run": reason(found)}


def reason(found: Verification) -> str:
    """Why nothing could be compared, in one sentence, which names no folder of the machine."""
    headline, explained = (WORK_FOLDER.sub("", text) for text in found.not_covered)
    lines = [line for line in explained.strip().splitlines() if line]
    if "made no optimizer step" in headline:
        return "It makes no optimizer step."
    if "ran no Ray train function" in headline:
        return "It trains on no worker of Ray."
    if lines and lines[0].startswith("The original would have stopped here"):
        return f"{lines[0].rstrip(':')}: `{lines[1]}`."
    return f"`{lines[0]}`." if lines else headline


def causes(found: dict[str, Any]) -> list[str]:
    """Why two arms differ, by the named causes where there are some."""
    named = [text for text in found["told"] if text.startswith("cause: ")]
    return named or found["told"]


def table(results: dict[str, Any]) -> str:
    """The page."""
    compared = {name: found for name, found in sorted(results.items()) if "gates" in found}
    equal = sum(map(proved, compared.values()))
    plain = {name.split()[0] for name, found in known(PLAIN_RESULTS).items() if proved(found)}
    lines = [HEAD, f"{len(compared)} jobs were compared; {equal} train as before, the others differ as was told."]
    lines += [f"With the [plain scripts](../plain/README.md), {equal + len(plain)} patterns are proved.\n"]
    lines += [f"| fixture | converted | told | arms | {' | '.join(GATES)} |", f"|---|---|---|---|{'---|' * len(GATES)}"]
    for name, found in compared.items():
        cells = " | ".join(found["gates"].get(gate, "-") for gate in GATES)
        told = rules(FIXTURES / name, "(?:manual|note)")
        lines.append(f"| `{name}` | {rules(FIXTURES / name, 'converted')} | {told} | B, C | {cells} |")
    lines.append("")
    for name, found in compared.items():
        lines += [f"* `{name}`: {text}" for text in ([WHY[name]] if name in WHY else causes(found))]
    lines += ["", "## Not compared", ""]
    left = {name: found["not_run"] for name, found in sorted(results.items()) if "not_run" in found}
    lines += [f"* `{name}`: {WHY.get(name, told)}" for name, told in left.items()]
    return "\n".join(lines) + "\n"


@click.command()
@click.argument("names", nargs=-1)
@click.option("--check", is_flag=True, help="Run nothing; name the records that are missing or do not fit.")
@click.option("--table", "only_table", is_flag=True, help="Run nothing; write the table anew.")
def main(names: tuple[str, ...], check: bool, only_table: bool) -> None:
    """Writes the records of legacy scripts."""
    taking_part = {case_name(case): case for case in cases()}
    results = {name: found for name, found in known(RESULTS).items() if name in taking_part}
    chosen = [case for name, case in taking_part.items() if not names or name in names]
    stale = [case for case in chosen if results.get(case_name(case), {}).get("made_from") != made_from(case)]
    if check:
        for case in stale:
            print(f"{case_name(case)}: missing, or made from something else")
        raise SystemExit(bool(stale))
    FOLDER.mkdir(parents=True, exist_ok=True)
    for case in [] if only_table else chosen if names else stale:
        results[case_name(case)] = verify(case)
        write(RESULTS, results)
    (FOLDER / "README.md").write_text(table(results), encoding="utf-8")


if __name__ == "__main__":
    main()
