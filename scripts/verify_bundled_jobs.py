"""Verifies the bundled jobs with all arms, and writes the reports and their table to `docs/verification/`.

    python scripts/verify_bundled_jobs.py [--device gpu] [--output docs/verification] [JOB...]

It takes about ten minutes a job on two cores, because each arm runs twice: once more with a killed worker. Old
environments are made first where they are missing. `--render` runs nothing: it makes the reports below the folder anew
from the JSON of each, those of `gpu_verify.py` included, and the table. `--table` only writes the table anew.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from raymigrate.runtime.verify.reporting import write_report
from raymigrate.runtime.verify.reporting.json import json_verification
from raymigrate.runtime.verify.results import Comparison, Status, Verification

ROOT = Path(__file__).parent.parent
JOBS = {
    "bert": ("BERT on MRPC, AccelerateTrainer", "accelerate_trainer/bert_mrpc"),
    "gpt2_own_data": (
        "GPT-2 on wikitext, TransformersTrainer, own data",
        "transformers_trainer/gpt2_wikitext_own_data",
    ),
    "gpt2_ray_data": (
        "GPT-2 on wikitext, TransformersTrainer, Ray Data",
        "transformers_trainer/gpt2_wikitext_ray_data",
    ),
}
SIGNS = {Status.PASS: "equal", Status.EXPLAINED: "explained", Status.FAIL: "**differs**", Status.NOT_APPLICABLE: "-"}
HEAD = """# The bundled jobs, before and after

Two workers, models and datasets of the offline hub, one worker killed in a run of its own. "equal" means equal bits, on
every worker; "explained" names a cause below the table and stays within its bound. Written by
`python scripts/verify_bundled_jobs.py`; the reports beside this file hold all figures.
"""


def verify(job: str, output: Path, device: str) -> None:
    """Runs one job in all arms that can run: the old environments need a package index."""
    script = ROOT / "fixtures" / JOBS[job][1] / "before.py"
    place = output.resolve()
    reports = [part for suffix in (".json", ".md", ".html") for part in ("--report", str(place / f"{job}{suffix}"))]
    command = [sys.executable, "-m", "raymigrate", "verify", str(script.relative_to(ROOT)), "--offline"]
    options = ["--device", device, "--arms", "A,O,B,C" if device == "cpu" else "B,C", "--kill-worker", *reports]
    print("$", *command[1:], *options, flush=True)
    if subprocess.run([*command, *options], cwd=ROOT, check=False).returncode == 2:
        raise SystemExit(f"{job} could not be verified")


def render(output: Path) -> None:
    """Makes the reports that are there anew from their JSON, as the present version writes them."""
    for path in sorted(output.rglob("*.json")):
        found = json_verification(path.read_text(encoding="utf-8"))
        for report in (path, path.with_suffix(".md"), path.with_suffix(".html")):
            if report.exists():
                write_report(found, report)


def table(output: Path) -> str:
    """The table over the reports that are there."""
    parts = [HEAD]
    for job, (title, _) in JOBS.items():
        path = output / f"{job}.json"
        if path.exists():
            parts.append(section(job, title, json_verification(path.read_text(encoding="utf-8"))))
    return "\n".join(parts)


def section(job: str, title: str, found: Verification) -> str:
    """One job: a row for each pair of arms, a column for each gate."""
    gates = [gate.name for gate in found.comparisons[0].gates]
    lines = [f"## {title}", "", f"`{found.command}`", ""]
    lines += [f"| | {' | '.join(gates)} |", f"|---|{'---|' * len(gates)}"]
    for pair in found.comparisons:
        cells = [SIGNS[gate.status] for gate in pair.gates]
        lines.append(f"| {pair.left} and {pair.right}: {pair.claim} | {' | '.join(cells)} |")
    lines.append("")
    told: dict[str, list[str]] = {}  # the same is found in several pairs
    for pair in found.comparisons:
        for text in explanations(pair):
            told.setdefault(text, []).append(f"{pair.left} and {pair.right}")
    lines += [f"* {'; '.join(pairs)}: {text}" for text, pairs in told.items()]
    arms = [
        f"{arm.letter} {_versions(arm.versions)}, {arm.seconds:.0f} s" for arm in found.arms if len(arm.letter) == 1
    ]
    lines += ["", f"Arms: {'; '.join(arms)}. Machine: {', '.join(found.machine.values())}. Full reports:"]
    lines += [f"[Markdown]({job}.md), [JSON]({job}.json), [HTML]({job}.html).", ""]
    return "\n".join(lines)


def explanations(pair: Comparison) -> list[str]:
    """What did not simply come out equal, with its figures, and the causes."""
    checks = [(gate, check) for gate in pair.gates for check in gate.checks]
    unlike = [(gate, check) for gate, check in checks if check.status in (Status.EXPLAINED, Status.FAIL)]
    texts = [f"{gate.name}, {check.name}: {check.figures}" for gate, check in unlike]
    return texts + [f"cause: {cause.name} ({cause.evidence})" for cause in pair.causes]


def _versions(versions: dict[str, str]) -> str:
    return " ".join(f"{name} {versions[name]}" for name in ("ray", "transformers", "accelerate", "torch"))


def main() -> None:
    """Runs what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("jobs", nargs="*", metavar="JOB", help=f"of {', '.join(JOBS)}; default: all")
    parser.add_argument("--device", choices=["cpu", "gpu"], default="cpu")
    parser.add_argument("--output", type=Path, default=ROOT / "docs/verification")
    parser.add_argument("--render", action="store_true", help="only make the reports anew from their JSON")
    parser.add_argument("--table", action="store_true", help="only write the table")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    if options.render:
        render(options.output)
    for job in [] if options.table or options.render else options.jobs or JOBS:
        verify(job, options.output, options.device)
    (options.output / "README.md").write_text(table(options.output), encoding="utf-8")


if __name__ == "__main__":
    main()
