"""Of which class of the libraries an object is, where the file shows it."""

import ast
from collections.abc import Iterator, Sequence

from raymigrate.facts.hugging_face.callbacks import EVENTS, is_callback
from raymigrate.facts.ray_train.trainers import is_transformers_trainer, library_bases, trainer_base
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_assignment
from raymigrate.facts.values import Source, class_named, definition, origins, reaching
from raymigrate.facts.values.lineages import MOST_BASES
from raymigrate.facts.values.parsers import parsed_into
from raymigrate.knowledge.legacy import TRAINERS
from raymigrate.knowledge.legacy import TRAINING_ARGUMENTS as OLD_TRAINING_ARGUMENTS
from raymigrate.knowledge.libraries import class_of, derived, function_of, lineage, look_up, member, result

TORCH_TRAINER = "ray.train.torch.TorchTrainer"
TRAINER = "transformers.trainer.Trainer"
TRAINING_ARGUMENTS = "transformers.training_args.TrainingArguments"
ACCELERATOR = "accelerate.accelerator.Accelerator"
DEPLOYMENT = "ray.serve.deployment.Deployment"
APPLICATION = "ray.serve.deployment.Application"
TRIAL = "ray.tune.experiment.trial.Trial"
# Classes to whose methods Tune hands a `trial`, or more (2.60, tune/callback.py and tune/schedulers).
OF_TUNE = frozenset({"ray.tune.callback.Callback", "ray.tune.schedulers.trial_scheduler.TrialScheduler"})
# A class made from theirs is none of the libraries'.
UNRELATED = frozenset({"abc", "enum", "object", "torch", "typing"})
HOOKS = ("on_", "log_trial")  # how these methods begin: classes are not looked at for others
# What transformers hands to the methods of a callback, in their order (trainer_callback.py).
CALLBACK_PARAMETERS = (
    TRAINING_ARGUMENTS,
    "transformers.trainer_callback.TrainerState",
    "transformers.trainer_callback.TrainerControl",
)


def instance_of(module: Module, node: ast.expr, depth: int = 0) -> str:
    """The class of an object, by the place where the library defines it.

    A legacy trainer counts as the TorchTrainer that it becomes, an object of a class of the file as one of the class of
    the library that this is made from.

    Args:
        module: The module.
        node: An expression.
        depth: How many steps led here.

    Returns:
        The class; empty if unknown, or if there are several.
    """
    found = classes_of(module, node, depth)
    return next(iter(found)) if len(found) == 1 else ""


def classes_of(module: Module, node: ast.expr, depth: int = 0) -> frozenset[str]:
    """Every class that an object can be of, as for `instance_of`; "" among them where one is not known."""
    if depth > 20:
        return frozenset({""})
    bound = definition(module, node) if not depth else None
    if bound is None:  # or on the way to an answer, where what leads back to itself counts as unknown
        return _classes_of(module, node, depth)
    known = _known_by_binding(module)
    if bound not in known:  # one answer for all uses that see the same binding
        known[bound] = _classes_of(module, node, depth)
    return known[bound]


@kept
def _known_by_binding(module: Module) -> dict[ast.AST, frozenset[str]]:
    """The classes that were found so far, of names by what binds them."""
    return {}


def _classes_of(module: Module, node: ast.expr, depth: int) -> frozenset[str]:
    found = ((source, _class_of_value(source.module, source.node, depth)) for source in origins(module, node))
    return frozenset("" if _may_be_handle(module, node, source, kind) else kind for source, kind in found)


def _may_be_handle(module: Module, node: ast.expr, source: Source, kind: str) -> bool:
    """Whether Serve may have put a handle in the place of what `bind()` gave: a deployment gets one for each that it is
    bound with. Where a value is used in the function that made it, it has not been through Serve.

    What a handle has, its __getattr__ says at run time: it counts as unknown.
    """
    return kind == APPLICATION and (
        source.module is not module or module.function(source.node) is not module.function(node)
    )


def may_be_derived(module: Module, node: ast.expr) -> bool:
    """Whether an object may be of a class made from the one that `instance_of` names, with attributes of its own.

    So are parameters of which only an annotation speaks, `self` where the file mixes the class with others, and
    TrainingArguments that the file does not make itself.
    """
    return any(
        not isinstance(source.node, ast.Call)
        and (_is_open(source.module, source.node) or TRAINING_ARGUMENTS in lineage(instance_of(module, node)))
        for source in origins(module, node)
    )


def declared_others(module: Module, node: ast.expr) -> tuple[str, ...]:
    """The classes that an object may be of besides the one of `instance_of`, where a library only declares that.

    `ray.init()` says that it gives a BaseContext: what comes is a RayContext, or a ClientContext.
    """
    kind = instance_of(module, node)
    is_declared = any(_is_declared(source.module, source.node) for source in origins(module, node))
    return derived(kind) if kind and is_declared else ()


def _is_declared(module: Module, value: ast.expr) -> bool:
    """Whether a value is what a function or method gives or an attribute holds, and no object that the file makes."""
    if not isinstance(value, ast.Call):
        return isinstance(value, ast.Attribute)
    name = module.qualified(value.func)
    if name is None:
        return isinstance(value.func, ast.Attribute)
    called = look_up(name)
    return called.method is not None or function_of(called.place) is not None


def _is_open(module: Module, node: ast.expr) -> bool:
    """Whether a name is a parameter with an annotation, or the `self` of a class that the file mixes with others."""
    parameter = definition(module, node) if isinstance(node, ast.Name) else None
    if not isinstance(parameter, ast.arg):
        return False
    owner = module.class_around(parameter)
    mixed = (made.bases for made in module.of_type(ast.ClassDef) if owner is not None and len(made.bases) > 1)
    return parameter.annotation is not None or any(definition(module, b) is owner for bases in mixed for b in bases)


def has_method(module: Module, node: ast.expr, name: str) -> bool:
    """Whether an object has a method for sure: its class is known, or it is what `cls` makes in a method of a class."""
    kind = instance_of(module, node) or _made_by_cls(module, module.value(node))
    found = member(kind, name) if kind else None
    return found is not None and found.parameters is not None


def _made_by_cls(module: Module, value: ast.expr) -> str:
    """The class of what `cls(...)` or `cls.from_something(...)` makes; empty if a value is neither."""
    maker = value.func if isinstance(value, ast.Call) else None
    maker = maker.value if isinstance(maker, ast.Attribute) else maker
    if not isinstance(maker, ast.Name) or maker.id != "cls":
        return ""
    return library_base(module, module.class_around(value))


def _class_of_value(module: Module, node: ast.expr, depth: int) -> str:
    """The class of one value; it is looked for once, since many values may come from the same ones."""
    known = _known(module)
    if node not in known:
        known[node] = ""  # meanwhile: what leads back to itself is unknown
        known[node] = _looked_for(module, node, depth)
    return known[node]


@kept
def _known(module: Module) -> dict[ast.AST, str]:
    """The class of each value, as far as it was looked for."""
    return {}


def _looked_for(module: Module, node: ast.expr, depth: int) -> str:
    if isinstance(node, ast.Call):
        return _class_of_call(module, node, depth)
    if isinstance(node, ast.Attribute) and module.qualified(node) is None:
        owner = instance_of(module, node.value, depth + 1)
        found = member(owner, node.attr) if owner else None
        return found.kind if found is not None and found.parameters is None else ""
    if isinstance(node, ast.Name):
        bound = definition(module, node)
        if isinstance(bound, ast.arg):
            return _class_of_parameter(module, bound)
        if is_deployment(module, bound) or (isinstance(bound, ast.alias) and is_imported_deployment(module, node)):
            return DEPLOYMENT
        parsed = isinstance(bound, ast.ClassDef) and TRAINING_ARGUMENTS in lineage(library_base(module, bound))
        return TRAINING_ARGUMENTS if parsed else _parsed_kind(module, node)
    return ""


def parsed_class(module: Module, node: ast.expr) -> Source | None:
    """What names the class of an object that an HfArgumentParser made and a name holds; None for all else.

    The parser may be called by a function of the project, which returns what it gives. Several calls may reach the
    name, one for a file and one for the command line, if they make it of one class.
    """
    targets = [bound.node for bound in reaching(module, node)] if isinstance(node, ast.Name) else []
    classes = [found for target in targets for found in _parsed_classes(module, target)]
    named = {found.module.qualified(found.node) or found.node for found in classes if found is not None}
    return classes[0] if len(named) == 1 and None not in classes else None


def _parsed_classes(module: Module, target: ast.AST) -> list[Source | None]:
    """What names the classes that a parser made what a name is bound to of; None for another value."""
    place = module.parent_of.get(target)
    assigned = module.parent_of.get(place) if isinstance(place, (ast.Tuple, ast.List)) else place
    call = assigned.value if is_assignment(assigned) else None
    if not isinstance(call, ast.Call):
        return [None]
    position = place.elts.index(target) if isinstance(place, (ast.Tuple, ast.List)) else 0  # type: ignore[arg-type]
    return [_parsed_into(source, position) for source in origins(module, call)] or [None]


def _parsed_into(source: Source, position: int) -> Source | None:
    call = source.node
    found = parsed_into(source.module, call, position) if isinstance(call, ast.Call) else None
    return Source(source.module, found) if found is not None else None


def _parsed_kind(module: Module, node: ast.Name) -> str:
    """The class of a library of which an HfArgumentParser made what a name holds; empty if there is none."""
    made = parsed_class(module, node)
    name = made.module.qualified(made.node) if made is not None else None
    place = TRAINING_ARGUMENTS if name in OLD_TRAINING_ARGUMENTS else look_up(name or "").place
    return place if class_of(place) is not None else ""


def is_deployment(module: Module, bound: ast.AST | None) -> bool:
    """Whether a class or function is one that `@serve.deployment` makes a deployment of."""
    if not isinstance(bound, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) or not bound.decorator_list:
        return False
    outermost = bound.decorator_list[0]
    made = outermost.func if isinstance(outermost, ast.Call) else outermost
    return module.qualified(made) == "ray.serve.deployment"


def is_imported_deployment(module: Module, node: ast.expr) -> bool:
    """Whether a name is that of a deployment that another file of the project makes by a decorator."""
    found = module.project.definition(module, node) if module.project is not None else None
    return found is not None and is_deployment(found.module, found.node)


def _is_other_deployment(module: Module, function: ast.expr) -> bool:
    """Whether what is called is `.options` of a deployment of another file."""
    if not isinstance(function, ast.Attribute) or function.attr != "options":
        return False
    return is_imported_deployment(module, function.value)


def _makes_deployment(module: Module, call: ast.Call) -> bool:
    """Whether a call is `serve.deployment(X)` or `serve.deployment(...)(X)`."""
    if isinstance(call.func, ast.Call):
        return module.qualified(call.func.func) == "ray.serve.deployment" and not call.func.args
    return bool(call.args) and module.qualified(call.func) == "ray.serve.deployment"


def _class_of_call(module: Module, call: ast.Call, depth: int) -> str:
    restored = _restored(module, call.func)
    if restored:
        return restored
    if _makes_deployment(module, call) or _is_other_deployment(module, call.func):
        return DEPLOYMENT
    name = module.qualified(call.func)
    if name is None and isinstance(call.func, ast.Attribute):
        owner = instance_of(module, call.func.value, depth + 1)
        found = member(owner, call.func.attr) if owner else None
        return found.kind if found is not None and found.parameters is not None else ""
    own = class_named(module, call.func)
    if own is not None:
        return library_base(*own)
    return result(look_up(TORCH_TRAINER if name in TRAINERS else name)) if name is not None else ""


def _restored(module: Module, function: ast.expr) -> str:
    """The class of trainers whose restore() is called, which Ray does not declare to give one; else empty."""
    if not isinstance(function, ast.Attribute) or function.attr != "restore":
        return ""
    kinds = {_trainer_named(source.module, source.node) for source in origins(module, function.value)}
    return kinds.pop() if len(kinds) == 1 else ""


def _trainer_named(module: Module, node: ast.expr) -> str:
    """The class of trainers that an expression names, or that a class of the file is made from; else empty."""
    name = module.qualified(node)
    if name is None:
        kind = library_base(module, definition(module, node))
    else:
        kind = look_up(TORCH_TRAINER if name in TRAINERS else name).place
    return kind if trainer_base(kind) else ""


def _class_of_parameter(module: Module, parameter: ast.arg) -> str:
    """`self` of a class made from the library's, what a callback is given, or what the annotation says."""
    function = module.function(parameter)
    owner = module.parent_of.get(function) if function is not None else None
    if isinstance(function, ast.FunctionDef) and isinstance(owner, ast.ClassDef) and not function.decorator_list:
        position = function.args.args.index(parameter) if parameter in function.args.args else -1
        base = library_base(module, owner)
        if position == 0:
            return base
        if 0 < position <= len(CALLBACK_PARAMETERS) and function.name in EVENTS and is_callback(module, owner):
            return CALLBACK_PARAMETERS[position - 1]
        if position > 0 and handed_by_tune(module, parameter) == "trial":
            return TRIAL
    return _class_of_annotation(module, parameter.annotation)


def handed_by_tune(module: Module, node: ast.AST | None) -> str:
    """What Tune hands to a method of its callbacks or schedulers: "trial", "checkpoint"; empty of anything else.

    Args:
        module: The module.
        node: A parameter, or a name of one.
    """
    parameter = definition(module, node) if isinstance(node, ast.Name) else node
    function = module.function(parameter) if isinstance(parameter, ast.arg) else None
    owner = module.parent_of.get(function) if function is not None else None
    if not isinstance(parameter, ast.arg) or not isinstance(function, ast.FunctionDef) or function.decorator_list:
        return ""
    position = function.args.args.index(parameter) if parameter in function.args.args else 0
    if not position or not isinstance(owner, ast.ClassDef) or not function.name.startswith(HOOKS):
        return ""
    for place in (look_up(name).place for name in library_bases(module, owner)):
        if not OF_TUNE.isdisjoint(lineage(place)):
            found = member(place, function.name)
            return "".join(((found.parameters if found is not None else None) or ())[position - 1 : position])
    return ""


def _class_of_annotation(module: Module, annotation: ast.expr | None) -> str:
    if not isinstance(annotation, ast.Name | ast.Attribute):
        return ""
    name = module.qualified(annotation)
    place = look_up(name).place if name else ""
    return place if class_of(place) is not None else library_base(module, definition(module, annotation))


@kept
def may_be_made_from(module: Module, made: ast.ClassDef, kind: str) -> bool:
    """Whether a class may be made from one of a library, or a class that is made from both: a mixin is a base of it.

    Args:
        module: The module.
        made: A class of the module.
        kind: The class of the library.
    """
    waiting, seen = [made], set[ast.ClassDef]()
    for one in waiting:  # which grows meanwhile
        if one in seen:
            continue
        seen.add(one)
        base = library_base(module, one)
        names = (module.naming(given).partition(".")[0] for given in _outer_bases(module, one))
        if kind in lineage(base) if base else any(name not in UNRELATED for name in names):
            return True
        outer = (module.parent_of[use] for use in module.uses_of(one))
        waiting += [derived for derived in outer if isinstance(derived, ast.ClassDef)]
    return False


def _outer_bases(module: Module, made: ast.ClassDef) -> Iterator[ast.expr]:
    """What a class is made from that is no class of the file, itself or through those of the file."""
    waiting, seen = [made], set[ast.AST]()
    for one in waiting:  # which grows meanwhile
        for base in one.bases if one not in seen else ():
            definition = module.definition(base)
            if isinstance(definition, ast.ClassDef):
                waiting.append(definition)
            else:
                yield base
        seen.add(one)


def library_base(module: Module, node: ast.AST | None, depth: int = 0) -> str:
    """The class of a library that a class of the project is made from; empty if there is none, or other bases too.

    Args:
        module: The module of the class.
        node: The class, or something else.
        depth: How many classes of the project are made from it.
    """
    if isinstance(node, ast.ClassDef) and is_transformers_trainer(module, node):
        places = {look_up(name).place for name in library_bases(module, node)}
        trainers = {place for place in places if TRAINER in lineage(place)}  # not what is mixed in beside it
        return trainers.pop() if len(trainers) == 1 else TRAINER
    if not isinstance(node, ast.ClassDef) or len(node.bases) != 1 or node.keywords or depth > MOST_BASES:
        return ""
    if _is_replaced(module, node.decorator_list):
        return ""
    base = node.bases[0]
    name = module.qualified(base)
    place = look_up(name).place if name else ""
    if class_of(place) is not None:
        return place
    parent = class_named(module, base)
    return library_base(*parent, depth + 1) if parent is not None else ""


def _is_replaced(module: Module, decorators: Sequence[ast.expr]) -> bool:
    """Whether a decorator may make something else of a class. Ray's own, such as PublicAPI, only mark it."""
    called = [node.func if isinstance(node, ast.Call) else node for node in decorators]
    others = [node for node in called if not (module.qualified(node) or "").startswith("ray.util.annotations.")]
    return any("dataclass" not in ast.unparse(node) for node in others)
