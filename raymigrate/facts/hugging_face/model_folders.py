"""Which folders models of Transformers and adapters of peft are loaded from."""

import ast
from collections.abc import Iterator

from raymigrate.base.expressions import lazy_regex
from raymigrate.facts.hugging_face.models import PIPELINES
from raymigrate.facts.projects.callees import callees
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_assignment, only_target
from raymigrate.facts.syntax.scopes import FUNCTIONS
from raymigrate.facts.values import called_name, class_named, class_of_cls, is_method_call, lineage, method_of, methods
from raymigrate.facts.values.arguments import keyword_argument, last_name

LIBRARIES = ("transformers.", "peft.", "optimum.")
# Other classes that load a model of Transformers from a folder, with the name of that argument, the first one.
LOADERS = {"sentence_transformers.SentenceTransformer": "model_name_or_path", "vllm.LLM": "model"}
SAME_FOLDER = ("pathlib.Path", "os.fspath", "os.path.abspath", "os.path.realpath", "os.path.expanduser")
NAMES = ("pretrained_model_name_or_path", "model_id", "peft_model_id")
OF_DEEPSPEED = ("deepspeed", "zero_to_fp32")
OF_CLASS = lazy_regex(r"(model_|predictor_)?(cls|class_?|klass)")
DEEPEST = 3  # functions of the script that hand a folder on


def is_loaded(module: Module, folder: ast.AST) -> bool:
    """Whether an expression is what a call loads a model or an adapter from, with no function between."""
    call, name = _given_to(module, folder)
    if call is None:
        return False
    qualified = called_name(module, call)
    if is_method_call(call, "load_adapter"):
        return name in NAMES or folder in call.args[:1]
    if qualified in PIPELINES:
        return name == "model" or folder in call.args[1:2]
    if qualified in LOADERS:
        return name == LOADERS[qualified] or folder in call.args[:1]
    if is_method_call(call, "train"):
        return name == "resume_from_checkpoint"
    is_known = qualified.startswith(LIBRARIES) or not qualified
    place = call.args[:2] if "Peft" in ast.unparse(call.func) else call.args[:1]
    return is_method_call(call, "from_pretrained") and is_known and (folder in place or name in NAMES)


def saves_state(module: Module) -> bool:
    """Whether accelerate saves models as safetensors in a file, as `save_state()` does since 0.25 (accelerator.py).

    DeepSpeed saves its own files, of which its zero_to_fp32.py makes a pytorch_model.bin (RM768).
    """
    if any(word in module.text.lower() for word in OF_DEEPSPEED) or not module.references_within("accelerate"):
        return False
    asked = (keyword_argument(call, "safe_serialization") for call, _ in module.method_calls("save_state"))
    return any(given is None or module.constant(given) is True for given in asked)


def leads_to_model(module: Module, folder: ast.AST, depth: int = 0) -> bool:
    """Whether a model is loaded from a folder, by the call that it is given to or by a function that hands it on."""
    if is_loaded(module, folder):
        return True
    if depth == DEEPEST:
        return False
    if (kept := _kept_as(module, folder)) is not None:
        return any(leads_to_model(module, use, depth + 1) for use in kept)
    call, name = _given_to(module, folder)
    if call is None:
        return False
    if module.qualified(call.func) in SAME_FOLDER or last_name(call.func) in ("str", "enter_context"):
        return leads_to_model(module, call, depth + 1)
    ways = list(_called(module, call))
    if not ways and _is_model_class(module, call.func):
        return name is None and folder in call.args[:1]
    if any(function is None for _, function, _ in ways):
        return name is None and folder in call.args[:1]
    for home, function, filled in ways:
        if not isinstance(function, FUNCTIONS):
            continue
        parameters = [*function.args.posonlyargs, *function.args.args][filled:]
        place = call.args.index(folder) if name is None else None  # type: ignore[arg-type]
        taken = parameters[place : place + 1] if place is not None else []
        taken += [one for one in (*parameters, *function.args.kwonlyargs) if name is not None and one.arg == name]
        scope = home.scope(function)
        if any(leads_to_model(home, use, depth + 1) for one in taken for use in home.uses(one.arg, scope)):
            return True
    return False


def _kept_as(module: Module, folder: ast.AST) -> list[ast.Attribute] | None:
    """The reads of the attribute in which a method keeps a folder, `self.path = path`; None where it keeps none."""
    kept = module.parent_of[folder]
    target = only_target(kept)
    if not is_assignment(kept) or kept.value is not folder:
        return None
    home = module.class_around(kept)
    if home is None or not isinstance(target, ast.Attribute) or not isinstance(target.value, ast.Name):
        return None
    owner = target.value.id
    return [
        read
        for read in module.attributes(target.attr)
        if read is not target and module.inside(read, home) and ast.unparse(read.value) == owner
    ]


def _called(module: Module, call: ast.Call) -> Iterator[tuple[Module, ast.AST | None, int]]:
    """The functions that a call can run, `__init__` for a class; and how many parameters Python itself fills.

    None stands for a class of Transformers, or its from_pretrained(), that the call is handed: `load(c, AutoModel)`.

    Args:
        call: The call: of a function, a method, a class, of the `cls` of a classmethod, or of what a name stands for.
    """
    own = class_of_cls(module, call.func)
    if own is not None:
        kin = [child for child in module.of_type(ast.ClassDef) if own in lineage(module, child)]
        yield from ((module, first, 1) for child in kin for first in method_of(module, child, "__init__"))
        return
    if (made := class_named(module, call.func)) is not None:
        yield from ((made[0], first, 1) for first in method_of(*made, "__init__"))
        return
    found = methods(module, call.func) if isinstance(call.func, ast.Attribute) else []
    if found:
        static = any(ast.unparse(decorator) == "staticmethod" for decorator in found[0].decorator_list)
        yield module, found[0], 0 if static else 1
        return
    yield from _handed(module, call.func)


def _handed(module: Module, called: ast.expr) -> Iterator[tuple[Module, ast.AST | None, int]]:
    """The same, of what a function is handed, or looks up in a dict."""
    for callee in callees(module, called):
        home, node = callee.module, callee.node
        if callee.function is not None:
            yield home, callee.function, 0
        elif (made := class_named(home, node)) is not None:
            yield from ((made[0], first, 1) for first in method_of(*made, "__init__"))
        elif isinstance(node, ast.Attribute) and node.attr == "from_pretrained":
            if (home.qualified(node) or LIBRARIES[0]).startswith(LIBRARIES):
                yield home, None, 0


def _is_model_class(module: Module, called: ast.expr) -> bool:
    """Whether a parameter is called as a class, in a file that imports Transformers, and no call says which it is."""
    parameter = module.definition(called)
    is_class = isinstance(parameter, ast.arg) and OF_CLASS.fullmatch(parameter.arg) is not None
    if not is_class or class_of_cls(module, called) is not None or not module.references_within("transformers"):
        return False
    return all(source.node is called for source in module.origins(called))


def _given_to(module: Module, node: ast.AST) -> tuple[ast.Call | None, str | None]:
    """The call that an expression is an argument of, and its name there; None for one by position."""
    parent = module.parent_of[node]
    name = parent.arg if isinstance(parent, ast.keyword) else None
    call = module.parent_of[parent] if isinstance(parent, ast.keyword) else parent
    if not isinstance(call, ast.Call) or (name is None and node not in call.args):
        return None, None
    return call, name
