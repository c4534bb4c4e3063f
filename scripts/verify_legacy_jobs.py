"""Verifies the legacy scripts of the fixtures that can run, and writes what came of it to `docs/verification/legacy/`.

    python scripts/verify_legacy_jobs.py                      # those whose record is missing or no longer fits
    python scripts/verify_legacy_jobs.py tracking/mlflow_torch  # these
    python scripts/verify_legacy_jobs.py --check              # runs nothing; exit code 1 if a record does not fit

The original runs under the stand-in for the old trainers (arm B), the conversion as it is (arm C), both on today's
libraries with the models and datasets of the offline hub. A run takes about a minute on two cores. `results.jsonl`
holds what came of each, with a hash of what the original becomes; `README.md` is the table of it. A fixture takes part
if it has a `runs.json` whose converted script ends well, or stands in `MORE`.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import click

from raymigrate.runtime.verify.reporting.json import json_verification
from raymigrate.runtime.verify.results import Verification
from scripts.prove import CASES, FIXTURES, ROOT, case_name, expected, missing_libraries
from scripts.update_twins import converted, options_of
from scripts.verify_plain_jobs import GATES, entry, known, write

FOLDER = ROOT / "docs/verification/legacy"
RESULTS = FOLDER / "results.jsonl"  # other files of JSON below docs/verification are reports
PLAIN = ("to_ray", "to_accelerate")  # docs/verification/plain
MORE = (
    "accelerate_trainer/bert_mrpc",
    "transformers_trainer/bert_mrpc_preprocessor_and_collator",
    "transformers_trainer/gpt2_wikitext_own_data",
    "transformers_trainer/gpt2_wikitext_ray_data",
)
HEAD = """# Legacy scripts, before and after

Each original under the stand-in for the old trainers (B), against its conversion (C), on CPUs, with the libraries of
today and the models and datasets of the offline hub. "equal" means equal bits on every worker, of the rows, losses,
gradients and weights of every step. Where the two differ, the cause stands below the table: the conversion has left it
for a person, by the rules in the column "left", or nothing in the script reads what differs. Written by
`python scripts/verify_legacy_jobs.py`.
"""


def cases() -> list[Path]:
    """The fixtures that take part."""
    runnable = [case for case in CASES if expected(case)["after"]["exit"] == 0 and not missing_libraries(case)]
    named = {FIXTURES / name for name in MORE}
    return sorted({case for case in runnable if case.parent.name not in PLAIN} | named)


def made_from(case: Path) -> str:
    """A hash of the original and of what it becomes."""
    script = case / "before.py"
    after, _ = converted(script, options_of(script))
    return hashlib.sha256(script.read_bytes() + b"\0" + after).hexdigest()


def verify(case: Path) -> dict[str, Any]:
    """Verifies one script.

    Returns:
        Its entry in the results; of one whose arms did not both run, why.
    """
    script = case / "before.py"
    given = script.with_name("options.json")
    options = json.loads(given.read_text(encoding="utf-8")) if given.exists() else {}
    written = [
        f"--{name.replace('_', '-')}" + ("" if value is True else f"={value}") for name, value in options.items()
    ]
    command = ["raymigrate", "verify", *written, "--device", "cpu", "--offline", str(script.relative_to(ROOT))]
    print("$", *command, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        run = [sys.executable, "-m", *command, "--report", str(report)]
        process = subprocess.run(run, cwd=ROOT, check=False, capture_output=True, text=True)
        if not report.exists():
            raise SystemExit(f"{case_name(case)} could not be verified:\n{process.stderr}")
        found = json_verification(report.read_text(encoding="utf-8"))
    if found.comparisons:
        return entry(found, " ".join(command), made_from(case))
    return {"made_from": made_from(case), "day": found.started[:10], "not_run": reason(found)}


def reason(found: Verification) -> str:
    """Why an arm did not run, in one line."""
    headline, explained = found.not_covered
    return f"{headline} {next(iter(explained.strip().splitlines()), '')}".strip()


def rules(case: Path, kind: str) -> str:
    """The rules with findings of a kind in a fixture."""
    told = (case / "findings.txt").read_text(encoding="utf-8")
    return ", ".join(sorted(set(re.findall(rf"^\S+ (RM\d+) {kind}:", told, re.MULTILINE)))) or "-"


def causes(found: dict[str, Any]) -> list[str]:
    """Why two arms differ, by the named causes where there are some."""
    named = [text for text in found["told"] if text.startswith("cause: ")]
    return named or found["told"]


def table(results: dict[str, Any]) -> str:
    """The page."""
    compared = {name: found for name, found in results.items() if "gates" in found}
    lines = [HEAD, f"{len(compared)} jobs were compared.\n"]
    lines += [f"| fixture | converted | left | {' | '.join(GATES)} |", f"|---|---|---|{'---|' * len(GATES)}"]
    for name, found in sorted(compared.items()):
        cells = " | ".join(found["gates"].get(gate, "-") for gate in GATES)
        case = FIXTURES / name
        lines.append(f"| `{name}` | {rules(case, 'converted')} | {rules(case, 'manual')} | {cells} |")
    lines += ["", *(f"* `{name}`: {text}" for name, found in sorted(compared.items()) for text in causes(found))]
    lines += ["", "## Not compared", ""]
    lines += [f"* `{name}`: {found['not_run']}" for name, found in sorted(results.items()) if "not_run" in found]
    return "\n".join(lines) + "\n"


@click.command()
@click.argument("names", nargs=-1)
@click.option("--check", is_flag=True, help="Run nothing; name the records that are missing or do not fit.")
@click.option("--table", "only_table", is_flag=True, help="Run nothing; write the table anew.")
def main(names: tuple[str, ...], check: bool, only_table: bool) -> None:
    """Writes the records of legacy scripts."""
    results = known(RESULTS)
    chosen = [case for case in cases() if not names or case_name(case) in names]
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
