"""Runs `raymigrate verify` on wrong conversions that are made by rule, and writes which it catches to
`docs/verification/mutants/`.

    python -m scripts.verify_mutants                         # a sample of each job; those that have no record yet
    python -m scripts.verify_mutants --job bert --sample 20  # more of one job
    python -m scripts.verify_mutants --job bert "73: statement dropped 3c959d"  # this one, again
    python -m scripts.verify_mutants --list --job bert       # runs nothing; names the mutants
    python -m scripts.verify_mutants --check                 # runs nothing; exit code 1 if a record does not fit

A mutant is a right conversion that differs in one place (`scripts/mutants.py`). It runs as arm C against one run of the
original as arm B, both with the models and datasets of the offline hub; where no gate fails, once more with a killed
worker. One that verify lets pass is equivalent if an oracle that knows no gates (`scripts/mutant_oracle.py`) sees no
difference to the right conversion, neither with the pins nor without those that may hide one. Else it has survived.

A mutant takes half a minute to three minutes on two cores, a job's first one four minutes more; all of a job are forks
of one process that has imported what they import (`scripts/mutant_host.py`). Each is written down when it is done, and
`--minutes` ends the work between two, so that it can be cut and go on. Two jobs can be run at once. Runs of the
originals are kept in `build/mutants`.
"""

from __future__ import annotations

import datetime
import fcntl
import hashlib
import os
import pickle
import random
import shutil
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import click

from raymigrate.runtime.hub import HubServer, cached_hub
from raymigrate.runtime.verify.arms import INJECTED, ArmFailure, Overrides, Run, run_arm
from raymigrate.runtime.verify.compare import compare, pair_of
from raymigrate.runtime.verify.pins import PINS
from raymigrate.runtime.verify.processes import run_logged
from raymigrate.runtime.verify.request import Request
from raymigrate.runtime.verify.results import Comparison, Status
from raymigrate.runtime.verify.scripts import Sources
from raymigrate.runtime.verify.trace import read_trace
from raymigrate.runtime.verify.verification import Preparation, where_to_kill
from scripts.mutant_host import Host
from scripts.mutant_oracle import Seen, seen, unlike
from scripts.mutants import OPERATORS, Mutant, mutants
from scripts.prove import FIXTURES, ROOT
from scripts.verify_plain_jobs import known, write

FOLDER = ROOT / "docs/verification/mutants"
RESULTS = FOLDER / "results.jsonl"
REASONS = FOLDER / "reasons.jsonl"  # of survivors, by a person
SCRATCH = ROOT / "build/mutants"
JOBS = {
    "bert": "accelerate_trainer/bert_mrpc",
    "gpt2_own_data": "transformers_trainer/gpt2_wikitext_own_data",
    "gpt2_ray_data": "transformers_trainer/gpt2_wikitext_ray_data",
    "preprocessor": "transformers_trainer/bert_mrpc_preprocessor_and_collator",
    "mlflow": "tracking/mlflow_transformers",
    "tuner": "tuner/tuner_bert_mrpc",
}
SAMPLE, SEED = 12, 16
TIMEOUT = 240  # seconds; a right conversion takes 20 to 40
OUTCOMES = ("caught", "died", "equivalent", "survived")
# Pins without which a right conversion is not equal to itself. The others are off where the oracle looks twice.
NEEDED = ("seed", "threads", "preserve-order", "deterministic")
HIDING = tuple(pin.name for pin in PINS if pin.name not in NEEDED)
HEAD = """# Mutation score

Right conversions, changed in one place each by general operators over their syntax: a keyword, an item or a statement
dropped, a number, a boolean or a string changed, a branch negated, a bound off by one, a line moved across `prepare`.
Each runs as the conversion (C) against one run of the original (B). **caught**: a gate fails. **died**: the script
itself fails, and verify ends with its error (exit code 2). **equivalent**: verify finds no difference, and an oracle
that knows no gates finds none to the right conversion either, in every recorded event, the bytes of every checkpoint
and the printed lines, with a killed worker too, and without the pins that may hide something. **survived**: verify
finds no difference, the oracle does. A race that these runs do not lose, as behind a barrier, counts as equivalent.
Written by `python -m scripts.verify_mutants`; `results.jsonl` holds every mutant.
"""


@dataclass(frozen=True)
class Judge:
    """Runs the mutants of one job against what was run once.

    Args:
        job: Of JOBS.
        hub: Where the offline hub answers.
    """

    job: str
    hub: str
    hosts: dict[str, Host] = field(default_factory=dict)

    @property
    def case(self) -> Path:
        """The fixture."""
        return FIXTURES / JOBS[self.job]

    @property
    def folder(self) -> Path:
        """Where runs of this job are kept, until its scripts or the recorder change."""
        digest = hashlib.sha256(made_from(self.job).encode())
        for path in sorted(INJECTED.rglob("*.py")):
            digest.update(path.read_bytes())
        return SCRATCH / f"{self.job}-{digest.hexdigest()[:8]}"

    def record(self, mutant: Mutant) -> dict[str, Any]:
        """Runs a mutant and says what came of it."""
        started = time.monotonic()
        folder = self.folder / f"m{hashlib.sha256(mutant.name.encode()).hexdigest()[:8]}"
        shutil.rmtree(folder, ignore_errors=True)
        script = self._copied(mutant.text, folder)
        found = self._outcome(script, folder)
        if found["outcome"] != "survived":
            shutil.rmtree(folder)
        return {
            "made_from": made_from(self.job),
            "operator": mutant.operator,
            "change": list(mutant.change),
            **found,
            "day": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
            "seconds": round(time.monotonic() - started),
        }

    def _outcome(self, script: Path, folder: Path) -> dict[str, Any]:
        original = self.known_run("B")
        try:
            plain = self._run("C", script, folder)
            judged = _judged(compare(pair_of("B", "C", [original, plain]), "the mutant"))
            if judged:
                return judged
            killed = self._run("C-killed", script, folder)
            runs = [original, plain, self.known_run("B-killed"), killed]
            judged = _judged(compare(pair_of("B", "C", runs), "the mutant"))
            if judged:
                return {**judged, "killed": True}
            apart = self._unlike(plain, "C") + self._unlike(killed, "C-killed")
            apart = apart or self._unlike(self._run("C-free", script, folder), "C-free")
        except ArmFailure as failure:
            reason = next((line.strip() for line in failure.reason.splitlines() if line.strip()), "")
            return {"outcome": "died", "error": _plain(f"{failure.headline} {reason}", self.folder)}
        return {"outcome": "survived", "differs": apart[:8]} if apart else {"outcome": "equivalent"}

    def _unlike(self, run: Run, name: str) -> list[str]:
        """In what a run is not that of the right conversion, but for what differs when that is run again."""
        right, again = (_seen(self.known_run(each)) for each in (name, f"{name}-again"))
        return sorted(set(unlike(_seen(run), right)) - set(unlike(again, right)))

    def known_run(self, name: str) -> Run:
        """A run of the original or of the right conversion, made once."""
        folder = self.folder / "right"
        path = folder / f"{name}.pickle"
        if not path.exists():
            shutil.rmtree(folder / name, ignore_errors=True)
            text = (self.case / "after.py").read_text(encoding="utf-8")
            run = self._run(name, self._copied(text, folder / f"of-{name}"), folder)
            path.write_bytes(pickle.dumps(run))
        run = pickle.loads(path.read_bytes())
        assert isinstance(run, Run)
        return run

    def close(self) -> None:
        """Ends the processes and removes what they wrote."""
        for host in self.hosts.values():
            host.close()
            shutil.rmtree(host.folder, ignore_errors=True)

    def _copied(self, text: str, folder: Path) -> Path:
        """A script among the files that lie beside the conversion."""
        beside = shutil.ignore_patterns("before.*", "findings.txt", "*.json")
        shutil.copytree(self.case, folder / "script", ignore=beside, dirs_exist_ok=True)
        script = folder / "script" / "after.py"
        script.write_text(text, encoding="utf-8")
        return script

    def _run(self, name: str, script: Path, folder: Path) -> Run:
        """One arm: "B" or "C", "killed" or "free" of the pins that may hide something."""
        letter, free = name[0], "free" in name
        request = Request(
            Sources(self.case / "before.py", script),
            letters=(letter,),
            dropped_pins=HIDING if free else (),
            overrides=Overrides() if free else Overrides(device="cpu"),
        )
        host = self._host(name)
        made_in = host.emptied()
        kill = where_to_kill(self.known_run("B")) if "killed" in name else None
        run = run_arm(
            Preparation(request, host.folder, self.hub, Silent()).arm(letter),
            name.removesuffix("-again").removesuffix("-free"),
            made_in,
            arguments=(),
            pins=request.pins,
            overrides=request.overrides,
            kill=kill,
            timeout=TIMEOUT,
            progress=lambda text: None,
            run_here=run_logged if letter == "B" else host.run_logged,
        )
        return _moved(run, made_in, folder / name)

    def _host(self, name: str) -> Host:
        """Where all runs of a kind are made: their settings are the same, so that they can share a process."""
        kind = name.removesuffix("-again")
        return self.hosts.setdefault(kind, Host(self.folder / f"host-{os.getpid()}-{kind}"))


class Silent:
    """A progress that nobody looks at."""

    def start(self, letter: str, title: str) -> None:
        """Nothing is shown."""

    def update(self, text: str) -> None:
        """Nothing is shown."""

    def tell(self, text: str) -> None:
        """Nothing is shown."""

    def done(self, seconds: float) -> None:
        """Nothing is shown."""


def _moved(run: Run, made_in: Path, folder: Path) -> Run:
    """A run whose files are moved away, since the next run is made in the same folder."""
    folder.mkdir(parents=True)
    for name in ("trace", "storage", "log.txt"):
        if (made_in / name).exists():
            (made_in / name).rename(folder / name)
    return replace(run, trace=read_trace(folder / "trace"), log=folder / "log.txt")


def _seen(run: Run) -> Seen:
    return seen(run.log.parent, last="killed" in run.name)


def _judged(comparison: Comparison) -> dict[str, Any]:
    """What verify says of a difference; nothing where it finds none."""
    failed = [(gate, check) for gate in comparison.gates for check in gate.checks if check.status is Status.FAIL]
    if not failed:
        return {}
    gate, check = failed[0]
    causes = [cause.name for cause in comparison.causes]
    gates = list(dict.fromkeys(gate.name for gate, _ in failed))
    return {"outcome": "caught", "gate": gate.name, "check": check.name, "gates": gates, "causes": causes}


def _plain(text: str, folder: Path) -> str:
    return text.replace(str(folder), "...")[:300]


def made_from(job: str) -> str:
    """A hash of the original and of its conversion."""
    case = FIXTURES / JOBS[job]
    return hashlib.sha256((case / "before.py").read_bytes() + b"\0" + (case / "after.py").read_bytes()).hexdigest()


@cache
def all_mutants(job: str) -> dict[str, Mutant]:
    """The mutants of a job, by name."""
    made = mutants((FIXTURES / JOBS[job] / "after.py").read_text(encoding="utf-8"))
    return {mutant.name: mutant for mutant in made}


def sample(made: dict[str, Mutant], number: int, seed: int) -> list[str]:
    """Some of the mutants, as many of each operator as there are, while others have not run out."""
    chance = random.Random(seed)
    by_operator = {
        name: chance.sample(found, len(found))
        for name in OPERATORS
        if (found := [key for key, mutant in made.items() if mutant.operator == name])
    }
    chosen: list[str] = []
    while len(chosen) < min(number, len(made)):
        for found in by_operator.values():
            chosen += [found.pop()] if found else []
    return chosen[:number]


def table(results: dict[str, dict[str, Any]], reasons: dict[str, dict[str, Any]]) -> str:
    """The page."""
    lines = [HEAD, f"| job | mutants | run | {' | '.join(OUTCOMES)} |", f"|---|---|---|{'---|' * len(OUTCOMES)}"]
    total: Counter[str] = Counter()
    for job, case in JOBS.items():
        found = Counter(each["outcome"] for name, each in results.items() if name.startswith(f"{job} "))
        if found:
            made = len(all_mutants(job))
            cells = " | ".join(str(found[outcome]) for outcome in OUTCOMES)
            lines.append(f"| `{case}` | {made} | {found.total()} | {cells} |")
            total += found
            total["made"] += made
    cells = " | ".join(str(total[outcome]) for outcome in OUTCOMES)
    lines.append(f"| all | {total['made']} | {len(results)} | {cells} |")
    lines += ["", "| operator | run | " + " | ".join(OUTCOMES) + " |", f"|---|---|{'---|' * len(OUTCOMES)}"]
    for operator in OPERATORS:
        found = Counter(each["outcome"] for each in results.values() if each["operator"] == operator)
        if found:
            lines.append(f"| {operator} | {found.total()} | {' | '.join(str(found[name]) for name in OUTCOMES)} |")
    caught = [each for each in results.values() if each["outcome"] == "caught"]
    gates = Counter(each["gate"] for each in caught)
    lines += ["", f"The first gate that failed: {_counted(gates)}."]
    causes = Counter(each["causes"][0] if each["causes"] else "no named cause" for each in caught)
    lines += ["", f"The first cause that was named: {_counted(causes)}.", "", "## Survivors", ""]
    for name, each in results.items():
        if each["outcome"] == "survived":
            reason = reasons.get(name, {}).get("reason", "not looked into yet.")
            job, _, rest = name.partition(" ")
            lines += [f"* `{JOBS[job]}`, line {rest.partition(':')[0]}, {each['operator']}: {reason}", ""]
            lines += ["    ```diff", *(f"    {line}" for line in each["change"]), "    ```", ""]
    return "\n".join(lines).rstrip() + "\n"


def _counted(found: Counter[str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in found.most_common()) or "none"


@click.command()
@click.argument("names", nargs=-1)
@click.option("--job", "jobs", multiple=True, type=click.Choice(list(JOBS)), help="These jobs; default: all.")
@click.option("--sample", "number", default=SAMPLE, show_default=True, help="How many mutants of each job.")
@click.option("--seed", default=SEED, show_default=True, help="Chooses them.")
@click.option("--minutes", default=1e9, help="Begin no mutant after so many minutes.")
@click.option("--list", "only_list", is_flag=True, help="Run nothing; name the mutants.")
@click.option("--check", is_flag=True, help="Run nothing; name the records that do not fit.")
@click.option("--table", "only_table", is_flag=True, help="Run nothing; write the page anew.")
def main(
    names: tuple[str, ...],
    jobs: tuple[str, ...],
    number: int,
    seed: int,
    minutes: float,
    *,
    only_list: bool,
    check: bool,
    only_table: bool,
) -> None:
    """Writes the records of mutants."""
    ends = time.monotonic() + 60 * minutes
    results = known(RESULTS)
    stale = [name for name, found in results.items() if found["made_from"] != made_from(name.partition(" ")[0])]
    if check:
        for name in stale:
            print(f"{name}: made from something else")
        raise SystemExit(bool(stale))
    results = {name: found for name, found in results.items() if name not in stale}
    if stale and not only_list:
        write(RESULTS, results)
    judges: dict[str, Judge] = {}
    os.environ["CUDA_VISIBLE_DEVICES"] = ""  # arms without overrides stay on the CPU too
    with HubServer(cached_hub()) as hub:
        for job in () if only_table else jobs or JOBS:
            made = all_mutants(job)
            for name in list(made) if only_list else names or sample(made, number, seed):
                if only_list:
                    print(f"{job} {name}", *made[name].change, sep="\n    ")
                elif (names or f"{job} {name}" not in known(RESULTS)) and time.monotonic() < ends:
                    judge = judges.setdefault(job, Judge(job, hub.url))
                    found = judge.record(made[name])
                    note(f"{job} {name}", found)
                    told = found.get("check") or found.get("error") or ", ".join(found.get("differs", ()))
                    print(f"{job} {name}: {found['outcome']} after {found['seconds']} s, {told}", flush=True)
            if job in judges:
                judges.pop(job).close()
    if not only_list:
        (FOLDER / "README.md").write_text(table(known(RESULTS), known(REASONS)), encoding="utf-8")


def note(name: str, found: dict[str, Any]) -> None:
    """Writes a record down, among those that another process may have written meanwhile."""
    with (SCRATCH / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        write(RESULTS, {**known(RESULTS), name: found})


if __name__ == "__main__":
    main()
