"""RM692 to RM694: what is gone, where no name in the file says so plainly.

Star imports, names looked up by string, imports of submodules, and keyword arguments of the functions in
`raymigrate/data/removed_names.json` that no other rule deals with. What the table says is held against the installed
libraries by tests/test_removed_names.py.
"""

import ast
import builtins
from collections.abc import Iterator

from raymigrate.codemods import codemod
from raymigrate.codemods.argument_changes import LIBRARY_NAMES
from raymigrate.codemods.gone_names import LIBRARIES, RM691, RM692, gone_part
from raymigrate.context import Context
from raymigrate.facts.module import Module
from raymigrate.findings import Rule
from raymigrate.removed_names import load

RM693 = Rule(
    "RM693",
    "an argument that is gone",
    "Current transformers, datasets or accelerate raise an error for it.",
    "use_auth_token became token; take any other away, or see the migration guide of the library.",
    "https://huggingface.co/docs/datasets/package_reference/loading_methods",
)
RM694 = Rule(
    "RM694",
    "a star import of legacy Ray",
    "What a star import brings in cannot be told from the file: the legacy classes are not among it any more"
    " (NameError), and those of ray.air raise when they are constructed.",
    "Write out the names that the file uses, and run raymigrate again.",
    "https://docs.ray.io/en/latest/train/api/api.html",
)

IGNORED = {"trust_remote_code"}  # still taken, without effect (measured on load_dataset_builder of datasets 5.2)
# Their arguments are converted one by one by transformers_arguments; those of Ray's classes by train_v2_arguments.
DEALT_WITH = (*LIBRARY_NAMES.values(), "transformers.Seq2SeqTrainer", "transformers.Seq2SeqTrainingArguments")
LEGACY_MODULES = ("ray.air", "ray.train.huggingface", "ray.ml", "ray.data.preprocessors", "ray.train.batch_predictor")


@codemod("ray", order=94)
def plain_imports(context: Context) -> None:
    """Drops `import ray.ml` where `ray` is used and nothing of `ray.ml`: it fails on import."""
    if not context.is_ray_script:
        return
    for statement in context.module.imports:
        for alias in statement.names if isinstance(statement, ast.Import) else ():
            if alias.asname or gone_part(alias.name) is None or alias in context.plan.dropped_imports:
                continue
            below = [r for r in context.module.references if r.is_within(alias.name)]
            if not below and context.converts(RM691, statement, f"{alias.name} is gone, and nothing uses it here."):
                context.plan.drop_import(alias, statement)
                root = alias.name.partition(".")[0]
                if any(reference.root.id == root for reference in context.module.references):
                    context.plan.need_import(root, near=statement)


@codemod("ray", order=96)
def rescan(context: Context) -> None:
    """Reports what is gone behind star imports, strings and keyword arguments."""
    if not context.is_ray_script:
        return
    stars = _star_imports(context)
    unbound = dict(_names_of_stars(context.module, stars))
    for node, name in unbound.items():
        if load().is_removed(name):
            context.manual(RM692, node, f"{name} is gone: the star import does not bring it in (NameError).")
    for node in context.module.nodes:
        if isinstance(node, ast.Call):
            _looked_up_by_string(context, node)
            _arguments(context, node, unbound.get(node.func))


def _star_imports(context: Context) -> list[str]:
    """The modules of the libraries that are imported with a star; those of legacy Ray are reported."""
    found = []
    for statement in context.module.imports:
        if not isinstance(statement, ast.ImportFrom) or statement.level or statement.names[0].name != "*":
            continue
        module = statement.module or ""
        if module.partition(".")[0] in LIBRARIES:
            found.append(module)
        if f"{module}.".startswith(tuple(f"{name}." for name in LEGACY_MODULES)):
            context.manual(RM694, statement, f"The legacy names that {module} brings in here cannot be seen.")
    return found


def _names_of_stars(module: Module, stars: list[str]) -> Iterator[tuple[ast.AST, str]]:
    """Names that nothing in the file binds, with what they stood for when the script was written."""
    for node in module.nodes if stars else ():
        if not isinstance(node, ast.Name) or hasattr(builtins, node.id) or module.scope_of[node].find(node.id):
            continue
        table = load()
        for star in reversed(stars):
            name = f"{star}.{node.id}"
            if table.is_removed(name) or table.removed_arguments(name):
                yield node, name
                break


def _looked_up_by_string(context: Context, call: ast.Call) -> None:
    """`import_module("ray.ml")` and `getattr(huggingface, "TransformersTrainer")`."""
    module = context.module
    strings = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    name: str | None = None
    if module.qualified(call.func) == "importlib.import_module" and len(strings) == 1:
        name = strings[0]
    elif isinstance(call.func, ast.Name) and call.func.id == "getattr" and len(call.args) == 2 and len(strings) == 1:
        owner = module.qualified(call.args[0])
        name = f"{owner}.{strings[0]}" if owner else None
    gone = gone_part(name) if name else None
    if gone is not None:
        context.manual(RM692, call, f"{gone} is gone: the installed version has no such name.")


def _arguments(context: Context, call: ast.Call, of_star: str | None) -> None:
    name = of_star or context.module.qualified(call.func)
    library, _, rest = (name or "").partition(".")
    name = f"{library}.{rest.rpartition('.')[2]}" if library in LIBRARIES and library != "ray" else name
    if name is None or library == "ray" or (of_star is None and name in DEALT_WITH):
        return
    for keyword in call.keywords:
        if keyword.arg not in load().removed_arguments(name) - IGNORED:
            continue
        message = f"{name}({keyword.arg}=) is refused today"
        others = {other.arg for other in call.keywords}
        if keyword.arg == "use_auth_token" and not {"token", None} & others:
            if context.converts(RM693, keyword, f"{message}; now token=."):
                context.plan.call(call).rename["use_auth_token"] = "token"
        else:
            context.manual(RM693, keyword, f"{message}.")
