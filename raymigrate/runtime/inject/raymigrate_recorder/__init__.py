"""Records what a training job does, from inside its processes, without an edit to the script.

`raymigrate verify` puts the parent folder on PYTHONPATH and describes the job in the environment variable
RAYMIGRATE_RECORDER (see `settings`). This package runs in environments of any age, Ray 2.4 to current, so it imports
nothing of raymigrate and needs Python 3.9 and torch 2.1.

`training` records optimizer steps and forward passes through torch's global hooks, `jobs` Ray's train function and
reports, `results` what fit() returns, `plain` the begin and end of a script without Ray, `metrics` the rows of its
evaluation, `checkpoints` what a checkpoint holds; `pins` and `order` make a job deterministic, `overrides` make it
smaller, `asked` notes what the script says for itself, `node_start` gives Ray time; `trace` writes it all down.

What it costs: a hash of each batch and each final weight, one pass over the gradients per step, and torch's slower
path for calling modules. See docs/verify.md for measured figures.
"""

from raymigrate_recorder import asked, jobs, metrics, node_start, overrides, pins, plain, results, training
from raymigrate_recorder import order as _order  # noqa: F401 - names its pins to `pins`


def install() -> None:
    """Arranges for every hook to be set as soon as the library it hooks is imported."""
    node_start.install()
    overrides.install()
    pins.install()
    asked.install()  # behind them, so that it sees what the script says before they change it
    training.install()
    jobs.install()
    results.install()
    metrics.install()
    plain.install()
