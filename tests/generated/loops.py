"""The grammar of programs with a loop of their own: an AccelerateTrainer, reports, and checkpoints that are dicts."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from tests.generated.programs import RATES, TUNERS


@dataclass(frozen=True)
class LoopMeaning:
    """What a program with its own loop does, however it is spelled.

    Args:
        workers: Number of them.
        gpu: Whether each has a GPU.
        learning_rate: A number that the metrics hold.
        epochs: How often the loop reports.
        precision: Mixed precision, or None.
        accumulated: Batches to a step of the optimizer, or None.
        saves: Whether reports carry a checkpoint.
        resumes: Whether the loop goes on from one.
        reads: Whether the driver reads the last one.
        tuned: Whether a Tuner tries several learning rates.
    """

    workers: int
    gpu: bool
    learning_rate: float
    epochs: int
    precision: str | None
    accumulated: int | None
    saves: bool
    resumes: bool
    reads: bool
    tuned: bool


@dataclass(frozen=True)
class LoopSpelling:
    """How it is written. Each field is the name of one of the ways that are known below."""

    trainer: str
    session: str
    checkpoint: str
    precision: str
    report: str
    content: str
    resumed: str
    loop: str
    given: str
    place: str
    read: str
    parameter: str
    tuner: str


TRAINERS = {
    "usual": ("from ray.train.huggingface import AccelerateTrainer", "AccelerateTrainer"),
    "below": ("from ray.train.huggingface.accelerate import AccelerateTrainer", "AccelerateTrainer"),
    "alias": ("from ray.train.huggingface import AccelerateTrainer as Trainer", "Trainer"),
    "module": ("import ray.train.huggingface", "ray.train.huggingface.AccelerateTrainer"),
    "module alias": ("from ray.train.huggingface import accelerate as hf", "hf.AccelerateTrainer"),
}
SESSIONS = {
    "session": ("from ray.air import session", "session."),
    "air": ("from ray import air", "air.session."),
    "functions": ("from ray.air.session import get_checkpoint, get_world_rank, report", ""),
    "module": ("import ray.air.session", "ray.air.session."),
    "alias": ("from ray.air import session as reporting", "reporting."),
}
CHECKPOINTS = {
    "air": ("from ray.air import Checkpoint", "Checkpoint"),
    "checkpoint": ("from ray.air.checkpoint import Checkpoint", "Checkpoint"),
    "attribute": ("import ray.air", "ray.air.Checkpoint"),
    "alias": ("from ray.air import Checkpoint as State", "State"),
}
WAYS = {
    "trainer": list(TRAINERS),
    "session": list(SESSIONS),
    "checkpoint": list(CHECKPOINTS),
    "precision": ["accelerate_config", "Accelerator", "variable", "file"],
    "report": ["positional", "keyword", "variables", "helper"],
    "content": ["literal", "call", "variable"],
    "resumed": ["if", "is not None", "in one line", "dict first"],
    "loop": ["module", "nested", "method", "elsewhere"],
    "given": ["positional", "keyword"],
    "place": ["module", "main"],
    "read": ["result", "variable"],
    "parameter": ["config", "train_config"],
    "tuner": list(TUNERS),
}


def loop_meaning(random: Random) -> LoopMeaning:
    """What a program is to do."""
    saves = random.random() < 0.8
    tuned = random.random() < 0.2
    return LoopMeaning(
        workers=random.randint(1, 4),
        gpu=random.random() < 0.4,
        learning_rate=random.choice([0.5, 0.25]),
        epochs=random.randint(1, 3),
        precision=random.choice([None, "bf16", "fp16"]),
        accumulated=random.choice([None, 2]),
        saves=saves,
        resumes=saves and random.random() < 0.6,
        reads=saves and not tuned and random.random() < 0.6,
        tuned=tuned,
    )


def loop_spelling(random: Random) -> LoopSpelling:
    """How it is to be written."""
    return LoopSpelling(**{name: random.choice(ways) for name, ways in WAYS.items()})


def render_loop(means: LoopMeaning, spelled: LoopSpelling) -> dict[str, str]:
    """The texts of a program by the names of its files; `train.py` is the one to start."""
    files = _scripts(means, spelled)
    if means.precision and spelled.precision == "file":
        files["accelerate.yaml"] = f"distributed_type: 'NO'\nmixed_precision: {means.precision}\nnum_processes: 1\n"
    return files


def _scripts(means: LoopMeaning, spelled: LoopSpelling) -> dict[str, str]:
    trainer_import, _ = TRAINERS[spelled.trainer]
    session_import, session = SESSIONS[spelled.session]
    checkpoint_import, checkpoint = CHECKPOINTS[spelled.checkpoint]
    of_loop = ["from accelerate import Accelerator", session_import, *([checkpoint_import] if means.saves else [])]
    of_driver = ["from ray.air import ScalingConfig", trainer_import]
    if means.tuned:
        of_driver += TUNERS[spelled.tuner][0].split("\n")
    loop = _loop(means, spelled, session, checkpoint)
    driver = _driver(means, spelled)
    if spelled.loop == "elsewhere":
        files = {"loop.py": _text([*of_loop, "", "", *loop])}
        return files | {"train.py": _text([*of_driver, "from loop import loop", "", *_placed(spelled, [], driver)])}
    if spelled.loop == "nested" and spelled.place == "main":
        return {"train.py": _text([*of_loop, *of_driver, "", "", *_placed(spelled, loop, driver)])}
    if spelled.loop == "method":
        loop = ["class Job:", *_indented(["@staticmethod", *loop])]
    return {"train.py": _text([*of_loop, *of_driver, "", "", *loop, "", "", *_placed(spelled, [], driver)])}


def _loop(means: LoopMeaning, spelled: LoopSpelling, session: str, checkpoint: str) -> list[str]:
    settings = [f"gradient_accumulation_steps={means.accumulated}"] if means.accumulated else []
    if means.precision and spelled.precision == "Accelerator":
        settings.append(f'mixed_precision="{means.precision}"')
    lines = [f"accelerator = Accelerator({', '.join(settings)})", "start = 0"]
    lines += _resumed(means, spelled, session)
    config = spelled.parameter
    lines += [f'for epoch in range(start, {config}["epochs"]):', f'    loss = {config}["lr"] * epoch']
    content = {
        "literal": '{"epoch": epoch, "weights": [loss]}',
        "call": "dict(epoch=epoch, weights=[loss])",
        "variable": "state",
    }[spelled.content]
    if means.saves and spelled.content == "variable":
        lines.append('    state = {"epoch": epoch, "weights": [loss]}')
    saved = f"{checkpoint}.from_dict({content})" if means.saves else ""
    metrics = '{"loss": loss, "epoch": epoch}'
    if spelled.report == "variables":
        lines.append(f"    metrics = {metrics}")
        lines += [f"    checkpoint = {saved}"] if saved else []
        saved, metrics = saved and "checkpoint", "metrics"
    given = f"metrics={metrics}" if spelled.report == "keyword" else metrics
    report = f"{session}report({given}{f', checkpoint={saved}' if saved else ''})"
    if spelled.report == "helper":
        lines += [f"    save(epoch, loss{', ' + saved if saved else ''})"]
        head = f"def save(epoch, loss{', checkpoint' if saved else ''}):"
        report = f"{session}report({metrics}{', checkpoint=checkpoint' if saved else ''})"
        return (
            [head, f"    {report}", "", "", f"def loop({config}):", *_indented(lines)]
            if spelled.loop != "method"
            else [f"def loop({config}):", *_indented([head, f"    {report}", "", *lines])]
        )
    return [f"def loop({config}):", *_indented([*lines, f"    {report}"])]


def _resumed(means: LoopMeaning, spelled: LoopSpelling, session: str) -> list[str]:
    if not means.resumes:
        return []
    lines = [f"found = {session}get_checkpoint()"]
    if spelled.resumed == "in one line":
        return [*lines, 'start = found.to_dict()["epoch"] + 1 if found else 0']
    if spelled.resumed == "dict first":
        return [*lines, "if found:", "    state = found.to_dict()", '    start = state["epoch"] + 1']
    condition = "if found:" if spelled.resumed == "if" else "if found is not None:"
    return [*lines, condition, '    start = found.to_dict()["epoch"] + 1']


def _driver(means: LoopMeaning, spelled: LoopSpelling) -> list[str]:
    loop = "Job.loop" if spelled.loop == "method" else "loop"
    settings = f'{{"lr": {means.learning_rate}, "epochs": {means.epochs}}}'
    precision = means.precision if spelled.precision != "Accelerator" else None
    accelerate = f'{{"mixed_precision": "{precision}"}}' if precision else "{}"
    lines = []
    if precision and spelled.precision == "file":
        accelerate = '"accelerate.yaml"'
    if spelled.precision == "variable":
        lines, accelerate = [f"accelerate_config = {accelerate}"], "accelerate_config"
    arguments = [
        loop if spelled.given == "positional" else f"train_loop_per_worker={loop}",
        f"train_loop_config={settings}",
        f"accelerate_config={accelerate}",
        f"scaling_config=ScalingConfig(num_workers={means.workers}, use_gpu={means.gpu})",
    ]
    lines.append(f"trainer = {TRAINERS[spelled.trainer][1]}({', '.join(arguments)})")
    if means.tuned:
        _, tuner, config, search = TUNERS[spelled.tuner]
        space = f'{{"train_loop_config": {{"lr": {search}({list(RATES)})}}}}'
        lines.append(f'tuner = {tuner}(trainer, param_space={space}, tune_config={config}(metric="loss", mode="min"))')
        return [*lines, "result = tuner.fit().get_best_result()", "print(result.metrics)"]
    lines.append("result = trainer.fit()")
    if means.reads and spelled.read == "variable":
        return [*lines, "last = result.checkpoint.to_dict()", 'print(last["epoch"], last["weights"])']
    if means.reads:
        return [*lines, 'print(result.checkpoint.to_dict()["epoch"], result.checkpoint.to_dict()["weights"])']
    return [*lines, "print(result.metrics)"]


def _placed(spelled: LoopSpelling, loop: list[str], driver: list[str]) -> list[str]:
    if spelled.place == "module":
        return driver
    inner = [*loop, "", *driver] if loop else driver
    return ["def main():", *_indented(inner), "", "", 'if __name__ == "__main__":', "    main()"]


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" if line else line for line in lines]


def _text(lines: list[str]) -> str:
    return "\n".join([*lines, ""])
