"""RM103 and RM209 where hydra makes a legacy trainer, which a settings file names."""

from raymigrate.codemods import codemod
from raymigrate.codemods.accelerate_trainer.accelerate_trainer import RM209
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.transformers_trainer.transformers_trainer import RM103
from raymigrate.facts.ray_train.hydra_trainers import made_by_hydra
from raymigrate.knowledge.legacy import ACCELERATE_TRAINERS

ADVICE = (
    "Name ray.train.torch.TorchTrainer there, with its arguments; or make the trainer in this script, and run"
    " raymigrate again: then it converts the call, its function, and what reads the result."
)


@codemod("instantiate", r"utils\.call", phase=Phase.TRAINERS)
def hydra_trainers(context: Context) -> None:
    """Tells of each call that makes such a trainer."""
    for call, trainers, is_sure in made_by_hydra(context.module):
        for trainer in trainers:
            name = trainer.qualified.rpartition(".")[2]
            makes = "makes" if is_sure else "may make"
            message = f"hydra {makes} {name} here (named on {trainer.place}), which Ray >= 2.9 does not have."
            context.manual(RM209 if trainer.qualified in ACCELERATE_TRAINERS else RM103, call, message, ADVICE)
