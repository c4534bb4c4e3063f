"""RM430: methods that a class derived from a trainer overrides, and that Train V2 does not call.

The trainers of Ray 2.0 to 2.9 ran inside Tune: fit() made a trainable of them, which called setup(),
preprocess_datasets() and training_loop() (2.6.3 train/base_trainer.py). fit() of Train V2 starts the training function
on the workers itself (2.60 train/v2/api/data_parallel_trainer.py).
"""

import ast
from collections.abc import Mapping

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.torch_trainer.inner_modules import MOVES
from raymigrate.facts.hugging_face.instances import library_base
from raymigrate.facts.ray_train.trainers import OF_V2, trainer_base
from raymigrate.facts.syntax.module import Module

IN_FUNCTION = "Move what it does into the training function, or into a function that is called before fit()."
BEFORE = "Do it in a function that is called before the trainer is made, and give the trainer what comes of it."
TO_TUNE = "Give Tune a function that builds the trainer and calls its fit()."
RM430 = Rule(
    "RM430",
    "a method of a trainer that Train V2 does not call",
    "On Ray >= 2.51 fit() starts the training function on the workers: setup(), preprocess_datasets() and"
    " training_loop() of a class that is derived from a trainer are not called any more, without an error.",
    IN_FUNCTION,
    "https://docs.ray.io/en/latest/train/api/doc/ray.train.torch.TorchTrainer.html",
)
# What the classes before Train V2 called of themselves (base_trainer.py and data_parallel_trainer.py of 2.4 to 2.9).
UNCALLED: Mapping[str, str] = {
    "setup": IN_FUNCTION,
    "preprocess_datasets": BEFORE,
    "training_loop": IN_FUNCTION,
    "as_trainable": TO_TUNE,
    "get_dataset_config": "Give the trainer a ray.train.DataConfig as dataset_config=.",
    "_validate_attributes": "Do it in __init__.",
    "_validate_scaling_config": "Do it in __init__.",
    "_save": "Take it out: it wrote what restore() read.",
    "_report": IN_FUNCTION,
    "_run_training": IN_FUNCTION,
    "_propagate_results": IN_FUNCTION,
    "_generate_trainable_cls": TO_TUNE,
    "_extract_fields_for_tuner_param_space": TO_TUNE,
}


@codemod(*UNCALLED, phase=Phase.RESULTS)
def uncalled_methods(context: Context) -> None:
    """Names such methods where nothing in the file calls them."""
    for method in context.module.of_type(ast.FunctionDef):
        if method.name not in UNCALLED:
            continue
        base = library_base(context.module, context.module.parent_of[method])
        if (trainer_base(base) == OF_V2 or base in MOVES) and not _is_called(context.module, method.name):
            message = f"{base.rpartition('.')[2]} does not call {method.name}() on Ray >= 2.51."
            context.manual(RM430, method, message, UNCALLED[method.name])


def _is_called(module: Module, name: str) -> bool:
    """Whether the file calls a method itself; super() in one that is not called does not count."""
    return any(
        not (isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "super")
        for node in module.attributes(name)
    )
