"""The callbacks that converted plain scripts carry. They depend on ray, torch and transformers only."""

from raymigrate.codemods.shared.already_there import definitions_of
from raymigrate.facts.projects.helpers import Helper
from raymigrate.facts.syntax.module import Module

NEEDED = (("torch", None), ("ray.train.huggingface.transformers", "RayTrainReportCallback"))

# The callback of Ray copies the checkpoint on every worker as soon as the worker comes there, while rank 0 may still be
# writing it (docs/semantics/traps.md#t25).
CALLBACK = Helper(
    "ReportCallback",
    """
class $name(RayTrainReportCallback):
    def on_save(self, args, state, control, **kwargs):
        torch.distributed.barrier()  # rank 0 may still be writing the checkpoint that every worker copies
        super().on_save(args, state, control, **kwargs)
""",
    NEEDED,
)

# For a folder that is there before the run: Ray's callback reports the highest number in it
# (ray/train/huggingface/transformers/_transformers_utils.py, 2.60), which may be one of an earlier run.
CALLBACK_FOR_KEPT_FOLDER = Helper(
    "ReportCallback",
    """
class $name(RayTrainReportCallback):
    def on_save(self, args, state, control, **kwargs):
        torch.distributed.barrier()  # rank 0 may still be writing the checkpoint that every worker copies
        metrics = {key: value for log in state.log_history for key, value in log.items()}
        with tempfile.TemporaryDirectory() as folder:
            saved = os.path.join(args.output_dir, f"checkpoint-{state.global_step}")
            shutil.copytree(saved, os.path.join(folder, self.CHECKPOINT_NAME))
            ray.train.report(metrics, checkpoint=ray.train.Checkpoint.from_directory(folder))
""",
    (*NEEDED, ("os", None), ("ray.train", None), ("shutil", None), ("tempfile", None)),
)


def is_converted_plain_script(module: Module) -> bool:
    """Whether `--to-ray` made this script of a plain one, as the callback in it shows."""
    return any(True for helper in (CALLBACK, CALLBACK_FOR_KEPT_FOLDER) for _ in definitions_of(module, helper))
