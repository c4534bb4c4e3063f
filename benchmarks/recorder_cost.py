"""What the recorder of `raymigrate verify` costs: the same training loop with and without it.

    python benchmarks/recorder_cost.py [--layers 6] [--width 512] [--steps 20]

Prints milliseconds per step, start-up of a process, and the seconds that initial and final weights take.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from raymigrate.runtime.verify.arms import INJECTED

LOOP = """
import sys, time, torch
layers, width, steps = map(int, sys.argv[1:])
torch.manual_seed(0)
torch.set_num_threads(1)
layer = torch.nn.TransformerEncoderLayer(width, 8, 4 * width, batch_first=True)
model = torch.nn.Sequential(torch.nn.TransformerEncoder(layer, layers), torch.nn.Linear(width, 2))
optimizer = torch.optim.AdamW(model.parameters())
rows = torch.randn(8, 128, width)

def train():
    for _ in range(steps):
        started = time.perf_counter()
        model(rows).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        print(time.perf_counter() - started)

try:
    from raymigrate_recorder.jobs import run_train_function
except ImportError:
    train()
else:
    run_train_function(train)
"""


def run(size: list[str], *, recorded: bool) -> tuple[list[float], float]:
    """Seconds of each step, and of the whole process."""
    environment = {**os.environ, "RANK": "0", "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        if recorded:
            settings = {"trace": folder, "storage": folder, "pins": {}}
            environment |= {"PYTHONPATH": str(INJECTED), "RAYMIGRATE_RECORDER": json.dumps(settings)}
        started = time.perf_counter()
        command = [sys.executable, "-c", LOOP, *size]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return [float(line) for line in done.stdout.split()], time.perf_counter() - started


def startup(*, recorded: bool) -> float:
    """Seconds that an empty Python process takes; the best of ten."""
    environment = dict(os.environ)
    if recorded:
        settings = {"trace": "/nowhere", "storage": "/nowhere", "pins": {}}
        environment |= {"PYTHONPATH": str(INJECTED), "RAYMIGRATE_RECORDER": json.dumps(settings)}
    seconds = []
    for _ in range(10):
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", ""], env=environment, check=True)
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--steps", type=int, default=20)
    options = parser.parse_args()
    size = [str(options.layers), str(options.width), str(options.steps)]

    parameters = options.layers * 12 * options.width**2 / 1e6
    print(f"{Path(__file__).name}: {parameters:.0f} million parameters, 8 rows of 128, one thread")
    plain, plain_total = run(size, recorded=False)
    recorded, recorded_total = run(size, recorded=True)
    # The first step also writes the initial weights down.
    plain_step, recorded_step = (statistics.median(steps[1:]) * 1000 for steps in (plain, recorded))
    rest = (recorded_total - sum(recorded[1:])) - (plain_total - sum(plain[1:]))
    ratio = recorded_step / plain_step
    print(f"step:     {plain_step:8.1f} ms plain, {recorded_step:8.1f} ms recorded, ratio {ratio:.3f}")
    print(f"once:     {rest:8.2f} s for hashing and keeping the weights at the start and at the end")
    empty = [startup(recorded=False) * 1000, startup(recorded=True) * 1000]
    print(f"start-up: {empty[0]:8.1f} ms plain, {empty[1]:8.1f} ms recorded, of an empty process")


if __name__ == "__main__":
    main()
