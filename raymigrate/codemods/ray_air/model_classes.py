"""RM310: TorchCheckpoint.from_model() with a model that no other process can load as it is written today.

It writes model.pt with torch.save, which writes the name of the class (Ray 2.60 train/torch/torch_checkpoint.py:155),
and of DistributedDataParallel an object that looks for a process group where it is loaded. Legacy Ray pickled the model
with ray.cloudpickle, without the wrapper (Ray 2.6.3, the same file, `_encode_data_dict`). See also
facts/ray_train/own_objects.py.
"""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.ray_air.wrapped_models import take_off_wrapper
from raymigrate.codemods.shared.helpers import add_once
from raymigrate.facts.projects.helpers import Helper
from raymigrate.facts.projects.places import Place
from raymigrate.facts.ray_train.own_objects import may_hold_own
from raymigrate.facts.values import argument, has_starred

RM310 = Rule(
    "RM310",
    "a model that TorchCheckpoint.from_model() saves",
    "It saves the class of a model by its name today, and no worker finds a class of the script: a PicklingError there,"
    " or an AttributeError where another process loads the model. A model in DistributedDataParallel is saved with it,"
    " and cannot be loaded without a process group.",
    "The model is written to model.pt, where get_model() looks for it, and pickled by ray.cloudpickle, as before,"
    " without DistributedDataParallel.",
    "https://docs.ray.io/en/latest/train/user-guides/checkpoints.html",
    errors=("attribute lookup * on __main__ failed",),
)
NAMES = tuple(f"ray.train.torch{module}.TorchCheckpoint" for module in ("", ".torch_checkpoint"))
SAVED = Helper(
    "model_checkpoint",
    '''
def $name(model):
    """Saves a model with its class: by its name, as from_model() does, other processes do not find it."""
    model = getattr(model, "module", model)  # without DistributedDataParallel, as before
    checkpoint_dir = tempfile.mkdtemp()
    torch.save(model, os.path.join(checkpoint_dir, "model.pt"), pickle_module=ray.cloudpickle)
    return TorchCheckpoint.from_directory(checkpoint_dir)
''',
    (
        ("os", None),
        ("tempfile", None),
        ("torch", None),
        ("ray.cloudpickle", None),
        ("ray.train.torch", "TorchCheckpoint"),
    ),
)
MESSAGE = "TorchCheckpoint.from_model() saves a class of this script by its name, which other processes do not find"
BY_HAND = (
    'Write the model itself: torch.save(model, os.path.join(folder, "model.pt"), pickle_module=ray.cloudpickle), and'
    " take TorchCheckpoint.from_directory(folder), with folder = tempfile.mkdtemp(). A preprocessor is applied by hand."
)


@codemod("from_model", phase=Phase.TRIALS)
def model_classes(context: Context) -> None:
    """Writes such models as legacy Ray did."""
    for reference in context.references(*(f"{name}.from_model" for name in NAMES)):
        call = context.module.calling(reference.node)
        if call is None:
            continue
        model = argument(call, 0, "model")
        in_training = context.place_of(call) is not Place.UNKNOWN
        if model is None or not (in_training or context.of_legacy_job):
            continue
        if not may_hold_own(context.module, model):
            take_off_wrapper(context, RM310, model)
        elif not _is_plain(call) or context.nested(reference.binding.statement):
            context.manual(RM310, call, f"{MESSAGE}.", BY_HAND)
        elif context.converts(RM310, call, f"{MESSAGE}; now with what is in it."):
            name = add_once(context, SAVED, call, near=reference.binding.statement)
            context.plan.replace(call.func, name)  # and not the call: where every worker saves, RM309 changes that
            context.handle(reference, gone=True)


def _is_plain(call: ast.Call) -> bool:
    """Whether a call is given a model, and nothing else."""
    return len(call.args) + len(call.keywords) == 1 and not has_starred(call.args)
