"""RM303: models in DistributedDataParallel, whole or as a state_dict, in the dict of a checkpoint.

The TorchTrainer of legacy Ray took the wrapper off the models in a dict that rank 0 reported: without a process group
none can be loaded. Since Ray 2.3 it took `module.` off the names in a state_dict too, so that load_state_dict() of the
model itself takes them (Ray 2.0.1 train/torch/config.py:163, 2.2.0, 2.3.1 and 2.6.3 train/torch/torch_checkpoint.py,
`_encode_data_dict`).
"""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.torch.wrapped_models import is_wrapped, is_wrapped_by_accelerate
from raymigrate.facts.values import argument, is_method_call, last_name, reads, seen_entries

NAMES_SINCE = (2, 3)
ITSELF = 'getattr($model, "module", $model)'
OF_MODEL = "Legacy Ray took the wrapper off a model from prepare_model() or DistributedDataParallel, which no process"
MODEL = f"{OF_MODEL} can load without a process group; now this does."
OF_STATE = 'Legacy Ray took "module." off the names of a wrapped model\'s state_dict'
STATE = f"{OF_STATE}; now it is the state_dict of the model itself."
BY_HAND = 'Keep the state_dict of the model itself: getattr(model, "module", model).state_dict().'
OF_ACCELERATE = "Keep the state_dict of the model itself: accelerator.unwrap_model(model).state_dict()."
CONSUME = "consume_prefix_in_state_dict_if_present"  # of torch.nn.modules.utils
SIMPLE = (ast.Name, ast.Attribute)


def take_off_wrappers(context: Context, rule: Rule, data: ast.expr) -> None:
    """Lets a dict hold models, or their state, without the wrapper.

    Args:
        context: The module.
        rule: The rule of the dict.
        data: The dict.
    """
    module = context.module
    for entry in seen_entries(module, data).values():
        values = [source.node for source in module.origins(entry, elsewhere=False)]
        states = [owner for value in values if (owner := _owner_of_state(value)) is not None]
        if not states:
            take_off_wrapper(context, rule, entry)
        elif _takes_names_off(module, entry, values) or context.from_ray.version < NAMES_SINCE:
            continue
        elif any(is_wrapped(module, owner) for owner in states):
            _unwrap_state(context, rule, entry, values)
        elif any(is_wrapped_by_accelerate(module, owner) for owner in states):
            context.manual(rule, entry, f"{OF_STATE}, which several workers have.", OF_ACCELERATE)


def take_off_wrapper(context: Context, rule: Rule, model: ast.expr) -> None:
    """Lets a model that is kept as a whole be the one itself.

    Args:
        context: The module.
        rule: The rule of what keeps it.
        model: The model, or something else.
    """
    is_there = isinstance(model, SIMPLE) and is_wrapped(context.module, model)
    if is_there and context.converts(rule, model, MODEL):
        context.plan.replace(model, ITSELF, model=model)


def _unwrap_state(context: Context, rule: Rule, entry: ast.expr, values: list[ast.expr]) -> None:
    """Takes the state of the model itself, where nothing else uses that of the wrapped one."""
    owners = [_owner_of_state(value) for value in values]
    if any(isinstance(owner, ast.Attribute) and owner.attr == "module" for owner in owners):
        return  # the script does so itself: `m.module.state_dict() if hasattr(m, "module") else m.state_dict()`
    owner = owners[0]
    is_only = entry is values[0] or (isinstance(entry, ast.Name) and reads(context.module, entry) == [entry])
    if len(values) > 1 or not is_only or not isinstance(owner, SIMPLE):
        context.manual(rule, entry, f"{OF_STATE}, which several workers have.", BY_HAND)
    elif context.converts(rule, entry, STATE):
        context.plan.replace(owner, ITSELF, model=owner)


def _takes_names_off(module: Module, entry: ast.expr, values: list[ast.expr]) -> bool:
    """Whether the script itself takes "module." off the names before, by consume_prefix_in_state_dict_if_present()."""
    for call in module.of_type(ast.Call):
        name = last_name(call.func)
        given = argument(call, 0, "state_dict") if (module.qualified(call.func) or name).endswith(CONSUME) else None
        if given is None or module.start(call) > module.start(entry):
            continue
        taken = {source.node for source in module.origins(given, elsewhere=False)}
        if module.constant(argument(call, 1, "prefix")) == "module." and taken.issuperset(values):
            return True
    return False


def _owner_of_state(value: ast.expr) -> ast.expr | None:
    """The model whose state_dict() a value is; None where it is none."""
    return value.func.value if is_method_call(value, "state_dict") else None
