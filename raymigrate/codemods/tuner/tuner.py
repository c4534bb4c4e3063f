"""RM405: a Tuner over a trainer becomes a Tuner over a function that builds the trainer and fits it.

https://docs.ray.io/en/latest/train/user-guides/hyperparameter-optimization.html has the form; what legacy Ray did with
the arguments of Tuner and trainer is in its base_trainer.py and tuner_internal.py (read in Ray 2.6.3).
"""

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.tuner.train_driver import TrainDriver
from raymigrate.codemods.tuner.train_driver_beside import TrainDriverBeside
from raymigrate.codemods.tuner.tuner_obstacles import obstacle
from raymigrate.facts.tuners import TUNERS, TunerCall, is_other_trainer, may_be_trainer

RM405 = Rule(
    "RM405",
    "a Tuner over a trainer",
    "On Ray >= 2.51 a trainer is not a Tune trainable: Tuner(trainer) raises a TuneError.",
    "Write a function that builds the trainer from its config and calls fit(), and give that function to the Tuner. The"
    " checkpoint_config and failure_config of the Tuner go to the RunConfig of that trainer.",
    "https://docs.ray.io/en/latest/train/user-guides/hyperparameter-optimization.html",
    errors=("Improper 'run' - not string nor trainable",),
)
MESSAGE = "Tuner(trainer) raises a TuneError on Ray >= 2.51"
AT_RUN_TIME = "which trainer it gets is decided at run time"
OTHER = "only those of TorchTrainer and of the Hugging Face trainers are"


@codemod("Tuner", phase=Phase.TUNERS)
def tuners(context: Context) -> None:
    """Converts every Tuner over a trainer that it understands, and reports the others."""
    for call in list(context.module.calls(*TUNERS)):
        tuner = TunerCall(context.module, call)
        if tuner.trainer is None:  # the RunConfig of any other Tuner: see tuner_config
            trainable = tuner.arguments.get("trainable")
            if may_be_trainer(context.module, trainable):
                why = OTHER if is_other_trainer(context.module, trainable) else AT_RUN_TIME
                context.manual(RM405, call, f"{MESSAGE}; not converted: {why}.")
            continue
        reason = obstacle(context, tuner)
        if reason is not None:
            context.manual(RM405, call, f"{MESSAGE}; not converted: {reason}.")
        elif context.converts(RM405, call, f"{MESSAGE}; now a function that fits the trainer."):
            (TrainDriverBeside if tuner.trainer_stays else TrainDriver)(context, tuner).emit()
