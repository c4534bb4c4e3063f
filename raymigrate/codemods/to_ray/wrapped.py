"""RM829: what a script asks of a prepared model that the wrapper around it does not have.

accelerate 1.15 wraps a model in DistributedDataParallel where several processes have a GPU each (`multi_device`), and
in every process of MULTI_CPU, one alone too (accelerate/accelerator.py, `prepare_model`). The wrapper hands no
attribute of the model on, and its state_dict() has `module.` before each name. FSDP and DeepSpeed hand attributes on.
"""

import ast
from collections.abc import Iterator

from raymigrate.codemods.context import Context
from raymigrate.codemods.to_ray.launched import GPU_PLUGINS, LaunchedOutline
from raymigrate.codemods.to_ray.prepared import MODEL_ATTRIBUTES, RM829, Prepare, prepares
from raymigrate.facts.projects.handed_on import handed_on
from raymigrate.facts.ray_train.trainers import library_bases
from raymigrate.facts.syntax.functions import by_name
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_assignment, targets_of
from raymigrate.facts.syntax.runs_before import methods_run_before
from raymigrate.facts.syntax.scopes import FUNCTIONS
from raymigrate.facts.torch.gradients import switches_gradients_off
from raymigrate.facts.values import Source, called_name, class_named, free_name, is_none, origins, reaching
from raymigrate.facts.values.calls import given_to
from raymigrate.knowledge.legacy import ACCELERATORS

# Public attributes of torch.nn.Module 2.13 that mean the same on the wrapper.
OF_MODULE = (
    "T_destination add_module apply bfloat16 buffers call_super_init children compile cpu cuda double dump_patches "
    "eval extra_repr float forward get_buffer get_extra_state get_parameter get_submodule half ipu modules mtia "
    "named_buffers named_children named_modules named_parameters parameters register_backward_hook register_buffer "
    "register_forward_hook register_forward_pre_hook register_full_backward_hook register_full_backward_pre_hook "
    "register_load_state_dict_post_hook register_load_state_dict_pre_hook register_module register_parameter "
    "register_state_dict_post_hook register_state_dict_pre_hook requires_grad_ set_extra_state set_submodule "
    "share_memory to to_empty train training type xpu zero_grad"
)
# Those that DistributedDataParallel adds.
OF_WRAPPER = (
    "batched_grad_copy broadcast_bucket_size broadcast_buffers bucket_bytes_cap bucket_bytes_cap_default "
    "bucket_bytes_cap_list device device_ids device_type dim find_unused_parameters forward_sync_buffers gather "
    "gradient_as_bucket_view is_multi_device_module join join_device join_hook join_process_group logger "
    "mixed_precision module modules_buffers named_module_buffers no_sync output_device parameters_to_ignore "
    "process_group reducer register_comm_hook require_backward_grad_sync require_forward_param_sync scatter "
    "skip_all_reduce_unused_params static_graph to_kwargs use_side_stream_for_tensor_copies will_sync_module_buffers"
)
STATES = frozenset({"state_dict", "load_state_dict"})
SIGNS = ("parameters", "named_parameters", "requires_grad_")  # what only models are asked for
# Methods through whose value no gradient runs, besides those of which the value is not used.
WITHOUT_GRADIENTS = frozenset(
    {"generate", "save_pretrained", "push_to_hub", "get_base_model", "num_parameters", "get_nb_trainable_parameters"}
)
OUT_OF_REACH = "Use {inner}, with the Accelerator handed over to here; or hand over what it gives."
TRAINED_BY = (
    "Gradients are averaged over the workers for what the prepared model itself gives when it is called: let its"
    " forward() do this. Where no gradient runs through it, or one worker trains, use {inner}."
)
HOLDERS = (ast.Name, ast.Attribute, ast.Subscript)
ASKING = frozenset({"hasattr", "getattr", "isinstance"})


def is_wrapped(context: Context, outline: LaunchedOutline) -> bool:
    """Whether accelerate may wrap prepared models in DistributedDataParallel, and not in FSDP or DeepSpeed."""
    if not outline.use_gpu:
        return True
    form = outline.launched.form
    if form is not None and form.plugins.keys() & set(GPU_PLUGINS):
        return False
    made = list(context.module.calls(*ACCELERATORS))
    return not made or not all(_has_plugin(call) for call in made)


def _has_plugin(call: ast.Call) -> bool:
    return any(keyword.arg in GPU_PLUGINS and not is_none(keyword.value) for keyword in call.keywords)


def of_wrapper(outline: LaunchedOutline) -> frozenset[str]:
    """The attributes that a wrapped model has as well; those of its state, where it was wrapped before."""
    names = frozenset(f"{OF_MODULE} {OF_WRAPPER}".split())
    return names if outline.wraps_anew else names | STATES


def where_wrapped(outline: LaunchedOutline) -> str:
    """Which workers have their model wrapped."""
    return "where several workers train" if outline.use_gpu else "on workers without a GPU, a single one too"


def unwrap_prepared(context: Context, outline: LaunchedOutline) -> None:
    """Reaches through the wrapper of prepared models, where it is sure that nothing is lost by it."""
    module = context.module
    found = list(prepares(module))
    if not found or not is_wrapped(context, outline):
        return
    for model, name in asked(module, of_wrapper(outline)):
        ends = origins(module, model)
        used = _used(ends, found, model)
        is_handed = not used and isinstance(module.definition(model), ast.arg)
        if is_handed and isinstance(model, ast.Name):  # by a call of a method, whose parameters are not followed
            ends = [end for given in handed_on(module, model) for end in origins(given.module, given.node)]
            used = _used(ends, found, model)
        if not used or not (name in MODEL_ATTRIBUTES or is_model(module, [model, *(e.node for e in ends)], used[0])):
            continue
        accelerator = "" if is_handed else accelerator_at(module, model, used)
        advice = "" if accelerator else OUT_OF_REACH
        advice = TRAINED_BY if is_trained_by(module, model) else advice
        unwrap(context, outline, model, name, accelerator or "accelerator", advice)


def _used(ends: list[Source], found: list[Prepare], model: ast.expr) -> list[Prepare]:
    """The calls of `prepare` that gave some values."""
    return [prepare for end in ends if (prepare := prepared_by(end, found, model)) is not None]


def unwrap(
    context: Context, outline: LaunchedOutline, model: ast.expr, name: str, accelerator: str, advice: str
) -> None:
    """Asks the model inside the wrapper for an attribute, or tells to do so.

    Args:
        context: The module.
        outline: What is planned for it.
        model: The wrapped model.
        name: The attribute that it is asked for; empty if it is asked for its class.
        accelerator: The Accelerator, as source.
        advice: What a person has to do; empty where it is sure and done.
    """
    module = context.module
    inner = f"{accelerator}.unwrap_model({module.source(model)})"
    is_asked = isinstance(module.parent_of[model], ast.Call)
    lack = lack_of(name) or f"has no .{name}"
    what = f"The model is wrapped in DistributedDataParallel {where_wrapped(outline)}, and the wrapper {lack}"
    end = ": this raises an AttributeError" if name not in {"", *STATES} and not is_asked else ""
    if advice:
        context.manual(RM829, model, f"{what}{end}.", advice.format(inner=inner))
    elif context.converts(RM829, model, f"{what}{end}; now {inner}."):
        context.plan.replace(model, inner)


def lack_of(name: str) -> str:
    """How the wrapper differs from the model, where it is asked for its state or for its class; empty for others."""
    if name in STATES:
        return 'has "module." before each name of its state'
    return "" if name else "is of another class"


def asked(module: Module, wrapper: frozenset[str]) -> Iterator[tuple[ast.expr, str]]:
    """Objects that are asked for an attribute, or for their class, with the name of the attribute.

    Those are left out whose wrapper the script looks for itself.

    Args:
        module: The module.
        wrapper: The attributes that are left out.
    """
    for model, name in _asked(module, wrapper):
        if not _is_unwrapped_by_hand(module, model):
            yield model, name


def _is_unwrapped_by_hand(module: Module, model: ast.expr) -> bool:
    """Whether an object comes through, or stands in, `model.module if hasattr(model, "module") else model`."""
    given = [binding.node for binding in reaching(module, model)] if isinstance(model, ast.Name) else []
    assigned = [statement for node in given if is_assignment(statement := module.statement(node))]
    around = [parent for node in (model, *given) for parent in module.ancestors(node)]
    parts = [part for statement in assigned for part in ast.walk(statement.value)]
    tests = [node.test for node in (*around, *parts) if isinstance(node, (ast.If, ast.IfExp))]
    return any("DistributedDataParallel" in text or "'module')" in text for text in map(ast.unparse, tests))


def _asked(module: Module, wrapper: frozenset[str]) -> Iterator[tuple[ast.expr, str]]:
    for node in module.of_type(ast.Attribute):
        is_public = not node.attr.startswith("_") and node.attr not in wrapper
        if is_public and isinstance(node.value, HOLDERS) and module.qualified(node) is None:
            yield node.value, node.attr
    for call in module.of_type(ast.Call):
        asking = free_name(module, call.func)
        if asking not in ASKING or len(call.args) < 2 or not isinstance(call.args[0], HOLDERS):
            continue
        name = module.constant(call.args[1]) if asking != "isinstance" else ""
        is_of_wrapper = "DataParallel" in ast.unparse(call.args[1])
        if isinstance(name, str) and name not in wrapper and not name.startswith("_") and not is_of_wrapper:
            yield call.args[0], name


def prepared_by(source: Source, found: list[Prepare], read: ast.expr) -> Prepare | None:
    """The call of `prepare` that gave a value.

    Args:
        source: The value.
        found: The calls of `prepare` in the file that reads it.
        read: Where that is read.
    """
    module, node = source.module, source.node
    found = [prepare for prepare in found if prepare.call in module.parent_of]  # the value may be of another file
    if isinstance(node, ast.Attribute):  # self.model, self.optimizer = self.accelerator.prepare(...)
        statements = [module.statement(store) for store in module.stores(node.attr)]
        stored = [p for p in found if module.statement(p.call) in statements]
        return next((p for p in stored if not methods_run_before(module, read, p.call)), None)
    if isinstance(node, ast.Name):
        statements = [module.statement(binding.node) for binding in reaching(module, node)]
        return next((p for p in found if module.statement(p.call) in statements), None)
    return next((p for p in found if p.call is node), None)


def is_model(module: Module, spelled: list[ast.AST], prepare: Prepare) -> bool:
    """Whether a prepared object is a model: made of such a class, called, or asked for its parameters."""
    statement = module.statement(prepare.call)
    targets = targets_of(statement) if is_assignment(statement) else []
    if any(is_called(module, node) for node in (*spelled, *targets) if isinstance(node, (ast.Name, ast.Attribute))):
        return True
    names = {ast.unparse(node) for node in spelled}
    parts = [part for target in targets for part in getattr(target, "elts", [target])]
    given = [value for part, value in zip(parts, prepare.call.args, strict=False) if ast.unparse(part) in names]
    return any(_is_of_model_class(source) for value in given for source in module.origins(value))


def _is_of_model_class(made: Source) -> bool:
    """Whether an object is one of a class that the project derives from torch.nn.Module."""
    own = class_named(made.module, made.node.func) if isinstance(made.node, ast.Call) else None
    return own is not None and "torch.nn.Module" in library_bases(*own)


def is_called(module: Module, model: ast.expr) -> bool:
    """Whether an object is used as a model somewhere: called, or asked for its parameters."""
    return ast.unparse(model) in _used_as_models(module)


@kept
def _used_as_models(module: Module) -> frozenset[str]:
    """What is called in a module, or asked for what models have."""
    called = (call.func for call in module.of_type(ast.Call))
    used = [node for node in called if isinstance(node, (ast.Name, ast.Attribute))]
    return frozenset(ast.unparse(node) for node in (*used, *(sign.value for sign in module.attributes(*SIGNS))))


def accelerator_at(module: Module, model: ast.expr, used: list[Prepare]) -> str:
    """The Accelerator as the code around a model can name it; empty if it is not sure that it can."""
    receiver = used[0].call.func.value  # type: ignore[attr-defined]
    root = receiver
    while isinstance(root, ast.Attribute):
        root = root.value
    if not isinstance(root, ast.Name):
        return ""
    own, there = module.scope_of[model].find(root.id), module.bound_in(root)
    if own is not None and own is there:
        is_later = module.scope_of[model] is module.scope_of[root] and module.start(model) > module.start(receiver)
        everywhere = len(used) == len(origins(module, model))
        return module.source(receiver) if is_later or everywhere else ""
    function = module.function(model)
    if isinstance(receiver, ast.Attribute):
        return module.source(receiver) if _is_same_class(module, model, receiver, root.id) else ""
    return next((p.arg for p in _parameters(function) if _is_accelerator(module, p)), "")


def _is_same_class(module: Module, one: ast.expr, other: ast.expr, owner: str) -> bool:
    """Whether two places are in methods of one class that call their object the same."""
    homes = []
    for node in (one, other):
        method = module.function(node)
        if not isinstance(method, ast.FunctionDef) or not method.args.args or method.args.args[0].arg != owner:
            return False
        homes.append(module.parent_of[method])
    return isinstance(homes[0], ast.ClassDef) and homes[0] is homes[1]


def _parameters(function: ast.AST | None) -> list[ast.arg]:
    return by_name(function) if isinstance(function, ast.FunctionDef) else []


def _is_accelerator(module: Module, parameter: ast.arg) -> bool:
    """Whether every caller gives an Accelerator to a parameter."""
    given = given_to(module, parameter)
    sources = [end for source in given.found for end in origins(source.module, source.node)]
    return bool(sources) and given.whole and all(called_name(*end) in ACCELERATORS for end in sources)


def is_trained_by(module: Module, model: ast.expr) -> bool:
    """Whether gradients may run through what a method of a model gives: only those of forward() are averaged."""
    if not calls_for_value(module, model):
        return False
    around = list(module.ancestors(model))
    if any(map(switches_gradients_off, around)):
        return False
    loops = [node for node in around if isinstance(node, (ast.For, ast.While))]
    functions = [node for node in around if isinstance(node, FUNCTIONS)]
    is_of_training = not functions or any(map(_goes_back, functions))  # else who calls it may train with its value
    return any(map(_goes_back, loops)) or not is_of_training


def _goes_back(code: ast.AST) -> bool:
    """Whether gradients are worked out in some code."""
    return any(isinstance(part, ast.Attribute) and part.attr == "backward" for part in ast.walk(code))


def calls_for_value(module: Module, model: ast.expr) -> bool:
    """Whether a method of a model, or of a part of it, is called for a value through which gradients may run."""
    node: ast.AST = module.parent_of[model]
    if isinstance(node, ast.Call) and free_name(module, node.func) == "getattr" and len(node.args) > 1:
        name = str(module.constant(node.args[1]))  # getattr(model, "loss")(batch)
    elif isinstance(node, ast.Attribute):
        name = node.attr
    else:
        return False
    while isinstance(module.parent_of[node], ast.Attribute):
        node = module.parent_of[node]
    call = module.calling(node)
    if call is None:
        return False
    last = node.attr if isinstance(node, ast.Attribute) else name
    is_known = {name, last} & (WITHOUT_GRADIENTS | STATES) or name.endswith("config")
    is_known = is_known or (last in OF_MODULE.split() and last != "forward")  # it computes nothing
    return not is_known and not isinstance(module.parent_of[call], (ast.Expr, ast.withitem))
