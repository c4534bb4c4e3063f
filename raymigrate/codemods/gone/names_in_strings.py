"""RM695: legacy names in strings, and modules of legacy Ray that are looked into by name.

Nothing here is converted: what such a string is for is not seen. A string counts if the whole of it is the dotted name,
so prose and log messages do not; or if it is a program, such as one that a cell of a notebook writes to `train.py`.
"""

import ast
import re
import textwrap

from raymigrate.base.expressions import lazy_regex
from raymigrate.base.findings import Kind, Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.old_transformers import has_old_arguments, has_old_names
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.ray_air.ray_air import MOVED, SESSION, SESSION_FUNCTIONS
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import last_name
from raymigrate.knowledge.legacy import ACCELERATE_TRAINERS, TRANSFORMERS_TRAINERS

RM695 = Rule(
    "RM695",
    "a legacy name in a string, or looked up by one",
    "A name in a string is not converted: an import by it fails or gives a class for old code only, and a test that"
    " patches it does not reach converted code, which calls ray.train; the name that a module of the project had for it"
    " is gone from there (AttributeError). A key of results that RLlib has elsewhere today is not found in them.",
    "Change the string where the code that it names is converted.",
    "https://docs.ray.io/en/latest/train/api/api.html",
    unproven="What a string is for is seen only by the code that gets it.",
)
# Modules whose names are gone, or are kept for old code.
LEGACY = lazy_regex(
    r"ray\.(?:air\b(?!\.integrations)|ml\b|train\.huggingface\.(?!transformers\b)|train\.batch_predictor|train\.predictor)"
    r"\w*(?:\.\w+)*"
    r"|ray\.train\.huggingface\.(?:transformers\.)?\w*(?:Trainer|Predictor|Checkpoint)(?:\.\w+)*"
    r"|ray\.data\.preprocessors\.(?:batch_mapper\.)?BatchMapper"
)
MODULES = ("ray.air", "ray.ml", "ray.train.huggingface")
# Calls that import or replace what a string names.
LOADERS = ("import_module", "__import__", "patch", "setattr", "delattr", "get_class", "locate", "import_string")
# An import in a text of several lines.
IMPORTS = lazy_regex(r"^[ \t]*(?:from|import[ \t](?:.*,)?)[ \t]*(?:ray|transformers|trl)\b", re.MULTILINE)
OF_JOBS = ("ray.train.", "ray.air.", "ray.tune.", "ray.ml.")
INTO_A_FILE = "Put it into a file, or into a cell that begins with %%writefile, and run raymigrate on that."


@codemod(r"ray[.](?:air|ml|train|data)", phase=Phase.PINS)
def names_in_strings(context: Context) -> None:
    """Reports strings that are legacy names, and `getattr()` on modules of legacy Ray."""
    module = context.module
    for node in module.of_type(ast.Constant):
        if not isinstance(node.value, str):
            continue
        if LEGACY.fullmatch(node.value) and not _is_told(context, node):
            _string(context, node, node.value)
        elif IMPORTS.search(node.value):
            _program(context, node, node.value)
    for call in module.named_calls("getattr"):
        if call.args:
            owner = module.qualified(call.args[0])
            if owner is not None and owner.startswith(MODULES) and not _is_told(context, call):
                context.manual(RM695, call, f"What is looked up in {owner} here is not seen, and not converted.")


def _is_told(context: Context, node: ast.expr) -> bool:
    """Whether another finding refers to a place."""
    places = [context.module.start(node)]
    outer = context.module.parent_of.get(node)
    if isinstance(outer, ast.Call):
        places.append(context.module.start(outer))
    told = context.findings_on(*(line for line, _ in places))
    return any((f.line, f.column - 1) in places and f.kind is not Kind.NOTE for f in told)


def _string(context: Context, node: ast.Constant, name: str) -> None:
    """Reports one string: where something is loaded or patched by it it fails, elsewhere it may be a mere label."""
    call = context.module.parent_of.get(node)
    if isinstance(call, ast.Dict) and node in call.keys:
        return  # a name to look up something else by
    key = call.keys[call.values.index(node)] if isinstance(call, ast.Dict) and node in call.values else None
    is_target = isinstance(key, ast.Constant) and key.value == "_target_"
    last = last_name(call.func if isinstance(call, ast.Call) else None)
    if is_target or last in LOADERS:
        context.manual(RM695, node, message(name), advice(name))
    else:
        context.note(RM695, node, message(name))


def _program(context: Context, node: ast.Constant, text: str) -> None:
    """Reports a text that is a program which trains on Ray; one that nothing takes is a comment."""
    if isinstance(context.module.parent_of.get(node), (ast.Expr, ast.JoinedStr)):
        return
    try:
        program = Module(textwrap.dedent(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    if all(isinstance(statement, (ast.Import, ast.ImportFrom)) for statement in program.tree.body):
        return  # lines to look for or to write, as in `text.replace("from ray.air import session", ...)`
    names = [alias.name for part in program.of_type(ast.Import) for alias in part.names]
    taken = [part for part in program.of_type(ast.ImportFrom) if not part.level]
    names += [f"{part.module}.{alias.name}" for part in taken for alias in part.names]
    names += [program.qualified(node) or "" for node in program.of_type(ast.Attribute)]
    legacy = [name for name in names if LEGACY.match(name)]
    if legacy:
        told = "The program in this text uses {}, which is gone or is for legacy code: a text is not converted."
        context.manual(RM695, node, told.format(legacy[0]), INTO_A_FILE)
    elif has_old_names(program) or has_old_arguments(program):
        told = "The program in this text has names or arguments that transformers 5 lacks: a text is not converted."
        context.manual(RM695, node, told, INTO_A_FILE)
    elif any(f"{name}.".startswith(OF_JOBS) for name in names) and any(program.of_type(ast.Call)):
        context.note(RM695, node, f"This text is a program that runs on Ray: texts are not read. {INTO_A_FILE}")


def message(name: str) -> str:
    """What there is to say of a string."""
    return f'"{name}" is a name of legacy Ray, which is not converted in a string.'


def successor(name: str) -> str | None:
    """What took the place of a legacy name; None where nothing has the same form."""
    if name in TRANSFORMERS_TRAINERS | ACCELERATE_TRAINERS:
        return "ray.train.torch.TorchTrainer, with other arguments"
    owner, _, method = name.rpartition(".")
    if owner in TRANSFORMERS_TRAINERS | ACCELERATE_TRAINERS and method == "fit":
        return "ray.train.torch.TorchTrainer.fit"
    if name in MOVED:
        return f"{MOVED[name].module}.{MOVED[name].name}"
    function = name.removeprefix(f"{SESSION}.")
    target = SESSION_FUNCTIONS.get(function) if function != name else None
    if target is None:
        return None
    return f"ray.train.{target.replace('get_context().', 'get_context, whose result has ')}"


def advice(name: str) -> str:
    """What to do about a string."""
    new = successor(name)
    return f"Converted code uses {new}: name that here." if new else RM695.fix
