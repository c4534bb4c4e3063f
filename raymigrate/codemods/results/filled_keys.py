"""Keys that Ray Tune put into the metrics of every result until Train V2, and what to read in place of each."""

OWN_COUNT = 'report a number of your own; "step" and "epoch" are there where a Transformers Trainer reports'
OWN_CLOCK = "take time.monotonic() before and after fit()"
IN_THE_LOOP = "measure it in the training function, and report it"
OF_THE_RUN = "use the name that RunConfig(name=) was given, or os.path.basename(result.path)"

INSTEAD = {
    "training_iteration": OWN_COUNT,
    "iterations_since_restore": OWN_COUNT,
    "time_total_s": OWN_CLOCK,
    "time_since_restore": OWN_CLOCK,
    "time_this_iter_s": IN_THE_LOOP,
    "timestamp": "use time.time()",
    "date": "use datetime.datetime.now()",
    "done": "take it out: when fit() has returned, the run is over",
    "trial_id": OF_THE_RUN,
    "experiment_tag": OF_THE_RUN,
    "pid": "report os.getpid() from the training function",
    "hostname": "report socket.gethostname() from the training function",
    "node_ip": "report ray.util.get_node_ip_address() from the training function",
    "config": "read the dict that train_loop_config= was given",
    "should_checkpoint": "take it out",
    "checkpoint_dir_name": "use os.path.basename(result.checkpoint.path)",
}
# What Ray Train filled in itself up to 2.2, with more where an environment variable asked for it (2.2.0
# train/constants.py and train/_internal/session.py, `_auto_fill_metrics`).
OF_TRAIN = ("training_iteration", "time_this_iter_s", "timestamp", "date", "time_total_s", "hostname", "node_ip", "pid")
INSTEAD |= {f"_{key}": INSTEAD[key] for key in OF_TRAIN}


# The same for what was reported in the course of a run, where nothing outside it can tell.
INSTEAD_BY_REPORT = {
    **INSTEAD,
    "time_total_s": IN_THE_LOOP,
    "time_since_restore": IN_THE_LOOP,
    "timestamp": "report time.time() from the training function",
    "date": "report the date from the training function",
    "checkpoint_dir_name": "use os.path.basename(checkpoint.path)",
}
INSTEAD_BY_REPORT |= {f"_{key}": INSTEAD_BY_REPORT[key] for key in OF_TRAIN}


def advice(missing: list[str], *, by_report: bool = False) -> str:
    """What to write for keys that are not filled in any more: `"date": use datetime.datetime.now().`

    Args:
        missing: The keys.
        by_report: Whether they are looked up for each report, and not of the result.
    """
    instead = INSTEAD_BY_REPORT if by_report else INSTEAD
    return " ".join(f'"{key}": {instead[key]}.' for key in missing)
