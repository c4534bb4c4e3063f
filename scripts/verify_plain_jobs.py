"""Verifies the plain scripts of the fixtures, and writes down what came of it in `docs/verification/plain/`.

    python scripts/verify_plain_jobs.py                  # those whose record is missing or no longer fits
    python scripts/verify_plain_jobs.py to_ray/notebook  # these
    python scripts/verify_plain_jobs.py --check          # runs nothing; exit code 1 if a record does not fit

The original runs under torchrun in as many processes as the converted script has workers, on CPUs, with the models and
datasets of the offline hub: `raymigrate verify --to-ray`, and `--to-accelerate` for native loops. A run takes about a
minute on two cores. `results.jsonl` holds what came of each, with a hash of what the original becomes; `README.md` is
the table of it.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from raymigrate.base.options import Options
from raymigrate.documents import open_document
from raymigrate.run.conversion import convert_document
from raymigrate.runtime.verify.reporting.json import json_verification
from raymigrate.runtime.verify.results import Status, Verification
from scripts.verify_bundled_jobs import SIGNS, explanations

ROOT = Path(__file__).parent.parent
FIXTURES = ROOT / "fixtures"
FOLDER = ROOT / "docs/verification/plain"
RESULTS = FOLDER / "results.jsonl"  # other files of JSON below docs/verification are reports
GATES = ("contract", "start", "course", "end", "evaluation", "outcome", "failure", "alive")
HEAD = """# Plain scripts, before and after

Each script as it is, under torchrun, against what `--to-ray` or `--to-accelerate` makes of it, with as many workers, on
CPUs and with models and datasets of the offline hub. "equal" means equal bits on every worker, of the rows, losses,
gradients and weights of every step. In the column failure a worker of the converted script was killed: the script went
on after its last checkpoint, or from the beginning where it has none, and ended with the weights of the run in which
nobody died; "-" stands where nobody was killed. Native loops are compared in one process, because what a loop does in
several by itself is another training. Written by `python scripts/verify_plain_jobs.py`.
"""
NOT_RUN = """
`to_accelerate/half_precision_branches` shows a limit of verify: the losses of the original are those that its
GradScaler multiplied, while gradients and weights are equal. `to_accelerate/notebook` has other masks of dropout: its
`tqdm(train_loader)`, of `tqdm.auto`, asks the loader for an iterator once more, which draws a random number from a
DataLoader of torch, and none from a prepared one.

## Not run

* For lack of GPUs, DeepSpeed or several machines: the fixtures with a file of FSDP or DeepSpeed, and
  `to_ray/accelerate_multi_node`. The tests compare what becomes of every key of such a file with accelerate in process
  instead (`tests/test_accelerate_settings.py`).
* For lack of the model or dataset in the offline hub, or of a hub to push to: `to_ray/seq2seq_predictions`,
  `to_ray/causal_lm_pushed`.
* An original that trains under `python` alone, since torchrun has its model wrapped: `to_ray/trainer_reads_its_model`.
* Several GPUs in the original: `to_accelerate/ddp_by_hand`; what it becomes runs in the tests, in two processes.
"""


@dataclass(frozen=True)
class Job:
    """A fixture, and how it is verified.

    Args:
        shape: What kind of script it is.
        case: Its folder in the fixtures.
        workers: How many workers train, in each run.
        kill: The runs, by their workers, in which one of them is killed.
    """

    shape: str
    case: str
    workers: tuple[int, ...] = (1, 2)
    kill: tuple[int, ...] = ()

    @property
    def script(self) -> Path:
        """The original."""
        return next((FIXTURES / self.case).glob("before.*"))

    @property
    def options(self) -> tuple[str, ...]:
        """The conversions that are asked for."""
        written = self.script.with_name("options.json")
        given = json.loads(written.read_text(encoding="utf-8")) if written.exists() else {}
        return tuple(name for name in ("to_accelerate", "to_ray") if given.get(name))


TRAINER = {
    "to_ray/guide_trainer": "as in Ray's guide: reviews with BERT",
    "to_ray/module_level": "module level, metric over a closure, evaluate and save_model",
    "to_ray/hf_argument_parser": "main() with HfArgumentParser",
    "to_ray/argparse_main": "main() with argparse",
    "to_ray/class_around_the_trainer": "a class around the Trainer",
    "to_ray/best_model_early_stopping": "best model at the end, early stopping",
    "to_ray/subclass_own_loss": "a subclass with compute_loss",
    "to_ray/csv_by_relative_path": "CSV files by relative paths, a DataFrame",
    "to_ray/resumes_in_fixed_folder": "goes on in a fixed output_dir",
    "to_ray/notebook": "notebook with a pipeline behind the training",
}
ACCELERATE = {
    "to_ray/guide_accelerate": "as in the Hugging Face course: MRPC with BERT",
    "to_ray/accelerate_tutorial": "module level, evaluation and print for each epoch",
    "to_ray/accelerate_main_argparse": "main(args) with argparse, gather_for_metrics",
    "to_ray/accelerate_notebook_launcher": "notebook_launcher with settings",
    "to_ray/accelerate_no_trainer": "as the no_trainer scripts: trackers, save_state, resuming",
    "to_ray/accelerate_notebook_objects": "notebook_launcher with model and optimizer",
    "to_ray/accelerate_class": "a class with self.accelerator",
    "to_ray/accelerate_multi_gpu_file": "accumulation, with a MULTI_GPU file",
    "to_ray/accelerate_multi_cpu_file": "early stopping, with a MULTI_CPU file",
}
LOOPS = sorted(
    path.parent.name
    for path in FIXTURES.glob("to_accelerate/*/findings.txt")
    if "RM850 converted" in path.read_text(encoding="utf-8")
)
# Under torchrun one of two processes reads the model that the other one is still writing.
ALONE = {"to_ray/notebook"}
WITH_FAILURE = {"to_ray/best_model_early_stopping", "to_ray/resumes_in_fixed_folder", "to_ray/accelerate_no_trainer"}
JOBS = (
    *(
        Job(
            f"{kind}: {title}",
            case,
            workers=(1,) if case in ALONE else (1, 2),
            kill=(1, 2) if case in WITH_FAILURE else (),
        )
        for kind, cases in (("Trainer", TRAINER), ("Accelerate", ACCELERATE))
        for case, title in cases.items()
    ),
    Job("Native loop to Ray: as in the course, with get_scheduler and progress bar", "to_ray/guide_loop", (1,)),
    *(
        Job(f"Native loop: {name.replace('_', ' ')}", f"to_accelerate/{name}", (1,))
        for name in LOOPS
        if name != "ddp_by_hand"
    ),
)


def key(job: Job, workers: int) -> str:
    """The name of a run in the results."""
    return f"{job.case} {workers}"


def made_from(job: Job, workers: int) -> str:
    """A hash of the original and of what it becomes."""
    path = job.script
    options = Options(
        to_ray="to_ray" in job.options,
        to_accelerate="to_accelerate" in job.options,
        workers=workers if "to_ray" in job.options else None,
        gpu=False if "to_ray" in job.options else None,
    )
    document = open_document(path.read_bytes(), str(path))
    result = convert_document(document, str(path), options)
    converted = document.encode(result.before) if result.after is None else result.new_bytes
    return hashlib.sha256(path.read_bytes() + b"\0" + converted).hexdigest()


def verify(job: Job, workers: int) -> dict[str, Any]:
    """Verifies one script.

    Returns:
        Its entry in the results.
    """
    options = [f"--{name.replace('_', '-')}" for name in job.options]
    options += ["--workers", str(workers), "--device", "cpu"] if "to_ray" in job.options else ["--device", "cpu"]
    options += ["--kill-worker"] if workers in job.kill else []
    command = ["raymigrate", "verify", *options, "--offline", str(job.script.relative_to(ROOT))]
    print("$", *command, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        run = [sys.executable, "-m", *command, "--report", str(report)]
        process = subprocess.run(run, cwd=ROOT, check=False, capture_output=True, text=True)
        if process.returncode == 2:
            raise SystemExit(f"{job.case} could not be verified:\n{process.stderr}")
        return entry(json_verification(report.read_text(encoding="utf-8")), " ".join(command), made_from(job, workers))


def entry(found: Verification, command: str, inputs: str) -> dict[str, Any]:
    """What is kept of a verification."""
    [pair] = found.comparisons
    judged = next(arm for arm in found.arms if arm.letter == pair.right)
    names = ("ray", "transformers", "accelerate", "torch")
    return {
        "command": command,
        "made_from": inputs,
        "day": found.started[:10],
        "gates": {gate.name: SIGNS[gate.status] for gate in pair.gates},
        "told": explanations(pair),
        "versions": {name: judged.versions[name] for name in names if name in judged.versions},
    }


def proved(found: dict[str, Any]) -> bool:
    """Whether two arms were compared and nothing differs between them that is not explained."""
    return "gates" in found and SIGNS[Status.FAIL] not in found["gates"].values()


def rules(case: Path, kind: str) -> str:
    """The rules with findings of a kind in a fixture, as a regular expression."""
    told = (case / "findings.txt").read_text(encoding="utf-8")
    return ", ".join(sorted(set(re.findall(rf"^\S+ (RM\d+) {kind}:", told, re.MULTILINE)))) or "-"


def known(path: Path) -> dict[str, Any]:
    """What was written before, by the name of each run."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    entries = map(json.loads, text.splitlines())
    return {found.pop("run"): found for found in entries}


def write(path: Path, results: dict[str, Any]) -> None:
    """Writes what came of the runs, a line each."""
    lines = [json.dumps({"run": name, **found}) for name, found in sorted(results.items())]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def table(results: dict[str, Any]) -> str:
    """The page."""
    equal = {name.split()[0] for name, found in results.items() if proved(found)}
    lines = [HEAD, f"{len(equal)} scripts train as before.\n"]
    lines += [f"| script | fixture | converted | arms | workers | {' | '.join(GATES)} |"]
    lines += [f"|---|---|---|---|---|{'---|' * len(GATES)}"]
    told: list[str] = []
    for job in JOBS:
        for workers in job.workers:
            found = results.get(key(job, workers))
            if found is None:
                continue
            cells = " | ".join(found["gates"].get(gate, "-") for gate in GATES)
            converted = rules(FIXTURES / job.case, "converted")
            lines.append(f"| {job.shape} | `{job.case}` | {converted} | P, C | {workers} | {cells} |")
            told += [f"* `{job.case}`, {workers} workers: {text}" for text in found["told"]]
    versions: dict[str, set[str]] = {}
    for found in results.values():
        for name, version in found["versions"].items():
            versions.setdefault(name, set()).add(version)
    libraries = ", ".join(f"{name} {' and '.join(sorted(each))}" for name, each in sorted(versions.items()))
    return "\n".join([*lines, "", *told, *([""] if told else []), f"Libraries: {libraries}."]) + "\n" + NOT_RUN


@click.command()
@click.argument("cases", nargs=-1)
@click.option("--check", is_flag=True, help="Run nothing; name the records that are missing or do not fit.")
@click.option("--table", "only_table", is_flag=True, help="Run nothing; write the table anew.")
def main(cases: tuple[str, ...], check: bool, only_table: bool) -> None:
    """Writes the records of plain scripts."""
    results = known(RESULTS)
    runs = [(job, workers) for job in JOBS for workers in job.workers if not cases or job.case in cases]
    stale = [
        (job, workers)
        for job, workers in runs
        if results.get(key(job, workers), {}).get("made_from") != made_from(job, workers)
    ]
    if check:
        for job, workers in stale:
            print(f"{key(job, workers)}: missing, or made from something else")
        raise SystemExit(bool(stale))
    FOLDER.mkdir(parents=True, exist_ok=True)
    for job, workers in [] if only_table else runs if cases else stale:
        results[key(job, workers)] = verify(job, workers)
        write(RESULTS, results)
    (FOLDER / "README.md").write_text(table(results), encoding="utf-8")


if __name__ == "__main__":
    main()
