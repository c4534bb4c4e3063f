"""How a script that trains may have been started, by what it asks for."""

import ast

from raymigrate.base.options import ACCELERATE_LAUNCH
from raymigrate.facts.hugging_face.argument_objects import parsed_for_trainers
from raymigrate.facts.projects.indirect import parsings
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import is_none
from raymigrate.knowledge.legacy import ACCELERATORS, PARTIAL_STATES, TRAINING_ARGUMENTS

MAKES_GROUP = ("torch.distributed.init_process_group", "deepspeed.init_distributed")
# What a script that is started in several processes asks for.
RANKS = ("local_rank", "local_process_index", "process_index", "world_size")
RANK_VARIABLES = ("LOCAL_RANK", "RANK", "WORLD_SIZE", "local_rank", "--local_rank", "--local-rank")
SHARDING = ("fsdp", "deepspeed", "ddp_find_unused_parameters", "ddp_backend", "ddp_timeout", "local_rank")


def launcher_of(module: Module) -> str:
    """What may have started a script in several processes; "" for nothing.

    `accelerate launch` starts no native loop as one of several processes, and torchrun only one that asks for its rank.
    """
    if any(module.calls(*ACCELERATORS)):
        return ACCELERATE_LAUNCH
    return "torchrun" if any(module.calls(*MAKES_GROUP)) or may_be_launched(module) else ""


def may_be_launched(module: Module) -> bool:
    """Whether a Trainer script shows that it may be started in several processes.

    It parses TrainingArguments, reads its rank, or says how its processes shard the model.
    """
    if any(module.calls(*PARTIAL_STATES)) or any(parsings(module, TRAINING_ARGUMENTS, parsed_for_trainers(module))):
        return True
    if any(module.attributes(*RANKS)) or any(node.value in RANK_VARIABLES for node in module.of_type(ast.Constant)):
        return True
    return any(not is_none(keyword.value) for _, keyword in module.keywords(*SHARDING))
