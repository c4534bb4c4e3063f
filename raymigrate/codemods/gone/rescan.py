"""RM692 to RM694: what is gone, where no name in the file says so plainly.

Star imports, names looked up by string, imports of submodules, and keyword arguments that no other rule deals with.
"""

import ast
import builtins
import re
from collections.abc import Iterator, Mapping
from itertools import chain

from raymigrate.base.expressions import lazy_regex
from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.gone.gone_names import RM691, RM692, gone_part, passes_by, report_gone
from raymigrate.codemods.libraries.argument_changes import (
    ACCELERATOR_CHANGES,
    DATASET_CHANGES,
    LOAD_DATASET,
    TRAINER_CHANGES,
    TRAINING_ARGUMENTS_CHANGES,
    Change,
)
from raymigrate.codemods.libraries.argument_changes import ADVICE as GONE_ADVICE
from raymigrate.codemods.libraries.renamed_names import MOVED
from raymigrate.codemods.libraries.trl_trainers import of_configuration
from raymigrate.codemods.libraries.unseen_keys import shown, tell_key
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.ray_air.ray_air import MOVED as AIR_MOVED
from raymigrate.facts.hugging_face.instances import declared_others, instance_of
from raymigrate.facts.projects.passed_names import PassedName, passed_names
from raymigrate.facts.projects.unpacked_options import carried_from_callers
from raymigrate.facts.syntax.attribute_chains import root_of_chain
from raymigrate.facts.syntax.guards import is_guarded
from raymigrate.facts.syntax.magics import runs_other_files
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import is_call_by_name, methods_of_object
from raymigrate.facts.values.partials import function_of
from raymigrate.knowledge.libraries import LIBRARIES, is_made_on_request, look_up, member, names_of, parameters, takes
from raymigrate.knowledge.successors import successor

OF_SERVE = ("ray.serve.deployment", "Deployment.options")
ADVICE = {
    ("ray.train.torch.prepare_model", "ddp_kwargs"): "parallel_strategy_kwargs= took its place.",
    ("ray.train.torch.TorchTrainer", "accelerate_config"): (
        "What it holds goes to Accelerator(...) in the training function, or to the environment of the workers:"
        " `raymigrate config FILE` shows where each key of a file goes. Written AccelerateTrainer(...), with its"
        " arguments as keywords, raymigrate takes them there."
    ),
    ("ray.train.torch.prepare_model", "wrap_ddp"): "Give parallel_strategy=None where it was False.",
    **{
        (owner, name): advice
        for owner in OF_SERVE
        for name, advice in {
            "max_concurrent_queries": "max_ongoing_requests= took its place.",
            "route_prefix": "Give it to serve.run(), with what .bind() of the deployment makes: serve.run(X.bind(...),"
            " name=..., route_prefix=...). Where a command starts it, the same goes to serve run --route-prefix, or to"
            " the application in the file of serve deploy.",
            **dict.fromkeys(("init_args", "init_kwargs"), "Give them to .bind() of the deployment."),
            "prev_version": "Delete it.",
        }.items()
    },
    **{("ray.serve.start", f"http_{name}"): f'Give http_options={{"{name}": ...}}.' for name in ("host", "port")},
    ("ray.serve.start", "http_middlewares"): "Add them to the FastAPI application that @serve.ingress() is given.",
    ("ray.serve.run", "host"): 'Call serve.start(http_options={"host": ...}) before it.',
    ("ray.serve.run", "port"): 'Call serve.start(http_options={"port": ...}) before it.',
    ("ray.serve.run", "_blocking"): "blocking= took its place.",
    ("Trainer.train", "model_path"): (  # read in transformers 5.23, trainer.py:1565
        "resume_from_checkpoint= took its place: it loads the weights too, and needs the trainer_state.json of a"
        " checkpoint. Leave it out for a folder that holds a model alone."
    ),
    **{
        (owner, name): 'Give repo_id="organization/name", whole.'
        for owner in ("huggingface_hub.create_repo", "HfApi.create_repo")
        for name in ("name", "organization")
    },
    **{  # read in peft 0.3 and 0.18, utils/other.py
        ("peft.prepare_model_for_kbit_training", name): (
            "Leave it out: every parameter that is not quantized is cast to float32 today."
        )
        for name in ("output_embedding_layer_name", "layer_norm_names")
    },
}
# What to do about an argument that several classes of a library lost, where none of these says it.
LEFT = {name: GONE_ADVICE[name] for name in ("max_prompt_length",)}
SESSION = "ray.air.session"  # whose import is told too
OF_HUB = ("huggingface_hub.", "HfApi.")
MANY = 8  # parameters that a sentence has no room for
RM693 = Rule(
    "RM693",
    "an argument that is gone",
    "The current version of the library raises an error for it, usually a TypeError.",
    "Leave it out, or give what took its place: the library's documentation says what the function takes.",
    "https://huggingface.co/docs/datasets/package_reference/loading_methods",
)
RM694 = Rule(
    "RM694",
    "a star import of legacy Ray",
    "What a star import brings in cannot be seen in the file: the legacy classes are no longer part of it"
    " (NameError), and those of ray.air raise when they are constructed.",
    "Write out the names that the file uses, and run raymigrate again.",
    "https://docs.ray.io/en/latest/train/api/api.html",
)

# load_dataset and load_dataset_builder hand what they do not know to the builder, which refuses these.
TO_BUILDER = frozenset(name.replace("load_dataset", "load_dataset_builder") for name in LOAD_DATASET)
REFUSED_BY_BUILDER = DATASET_CHANGES.keys() - {"trust_remote_code"}
# serve.start() takes any keyword, and raises a ValueError for these (Ray 2.51.0 to 2.60 serve/_private/api.py).
REFUSED_BY_SERVE = ("http_host", "http_port", "http_middlewares")
# Arguments that were renamed in many places at once, and take the same values.
RENAMED = {"use_auth_token": "token", "tokenizer": "processing_class", "torch_dtype": "dtype"}
OF_CELLS = lazy_regex(r"_+cell_(?:mask_)?\d+__")  # their edges and magics, see raymigrate.documents.cells
OF_NOTEBOOKS = ("display", "get_ipython", "spark", "dbutils", "sc", "__file__", "__name__", "__doc__")
# What took the place of arguments, by the class or function that had them.
CHANGES = {
    "TrainingArguments": TRAINING_ARGUMENTS_CHANGES,
    "Trainer": TRAINER_CHANGES,
    "Accelerator": ACCELERATOR_CHANGES,
    "load_dataset": DATASET_CHANGES,
}
LEGACY_MODULES = ("ray.air", "ray.train.huggingface", "ray.ml", "ray.data.preprocessors", "ray.train.batch_predictor")
# Modules of whose names a star import cannot show which need a rule: setup_ray_cluster() takes other arguments (RM425).
UNSEEN = (*LEGACY_MODULES, "ray.util.spark")
ENUM = "DistributedType"  # the one of accelerate that has lost members
# The legacy module of which current Ray has the classes where they were; of these, what a rule has to look at.
UNCHANGED = "ray.data.preprocessors"
CHANGED = (f"{UNCHANGED}.Concatenator",)


@codemod("ray", phase=Phase.REST)
def plain_imports(context: Context) -> None:
    """Drops `import ray.ml` where `ray` is used and nothing of `ray.ml`: it fails on import."""
    if not context.takes_current_libraries:
        return
    for statement in context.module.imports:
        for alias in statement.names if isinstance(statement, ast.Import) else ():
            if alias.asname or alias in context.plan.dropped_imports:
                continue
            origin = context.module.imported(statement, alias)
            if gone_part(origin) is None or passes_by(context.module, statement, alias, origin):
                continue
            if is_guarded(context.module, statement, alias.name):
                continue
            left = (r for r in context.module.references if r.root not in context.rewritten)
            root = alias.name.partition(".")[0]
            below = [reference for reference in left if reference.root.id == root and reference.is_within(alias.name)]
            if not below and context.converts(RM691, statement, f"{alias.name} is gone, and nothing uses it here."):
                context.plan.drop_import(alias, statement)
                if any(reference.root.id == root for reference in context.module.references):
                    context.plan.need_import(root, near=statement)


@codemod("ray", phase=Phase.GONE)
def rescan(context: Context) -> None:
    """Reports what is gone behind star imports, strings and keyword arguments; where a script stays, of these alone."""
    if not context.takes_current_libraries:
        if context.stays:
            _all_arguments(context.apart, {})
        return
    stars = _star_imports(context)
    unbound = dict(_names_of_stars(context.module, stars))
    for node, name in unbound.items():
        module, _, short = name.rpartition(".")
        if is_made_on_request(name):
            _made_on_request(context, node, short)
        elif context.module.qualified(node) is None and gone_part(name) is not None and not _hides(stars):
            which = f"star import of {module} does" if len(set(stars)) == 1 else "star imports do"
            had = module if len(set(stars)) == 1 else "one of them"
            message = f"Nothing here defines {short}, and the {which} not bring it in (NameError)."
            advice = f"If {had} had it, look up its successor in the library's migration guide; else define it."
            context.manual(RM692, node, message, advice)
    passed = {found.node: found for found in passed_names(context.module)}
    for found in passed.values():
        _passed_on(context, found)
    unbound |= {found.node: found.qualified for found in passed.values()}
    for call in (*context.module.calls("importlib.import_module"), *context.module.named_calls("getattr")):
        _looked_up_by_string(context, call)
    for subscript in context.module.of_type(ast.Subscript):
        _member_by_string(context, subscript, subscript.value, subscript.slice)
    for call in context.module.of_type(ast.Call):
        if len(call.args) == 1:
            _member_by_string(context, call, call.func, call.args[0])
    _all_arguments(context, unbound)


def _hides(stars: list[str]) -> bool:
    """Whether one of the modules that are imported with a star had names that no table has: RM694 tells of it."""
    return any(star.startswith(UNSEEN) for star in stars)


def _made_on_request(context: Context, node: ast.AST, name: str) -> None:
    """Imports a name of transformers that its star import leaves out; tells of it where another may bring it in."""
    message = f"The star import of transformers no longer brings in {name} (NameError)"
    if not _are_known(context.module):
        context.manual(RM692, node, f"{message}, unless another one does.", f"from transformers import {name} does.")
    elif context.converts(RM692, node, f"{message}; now imported by name."):
        context.plan.need_import("transformers", name)


def _passed_on(context: Context, found: PassedName) -> None:
    """Tells of what is gone below a name that another file imports: where the name itself is, its import is told."""
    today = where_today(found.imported) or found.imported
    name = gone_part(today + found.qualified.removeprefix(found.imported))
    if name is None or found.imported.startswith(SESSION) or gone_part(today) is not None:
        return
    if not is_guarded(context.module, found.node, name.rpartition(".")[2]):
        report_gone(context, found.node, name, found.qualified)


def _star_imports(context: Context) -> list[str]:
    """The modules of the libraries that are imported with a star; those that hide what rules look at are told."""
    found = []
    for statement in context.module.imports:
        if not isinstance(statement, ast.ImportFrom) or statement.level or statement.names[0].name != "*":
            continue
        module = context.module.imported(statement, statement.names[0]).removesuffix(".*")
        if module.partition(".")[0] in LIBRARIES:
            found.append(module)
        if f"{module}.".startswith(tuple(f"{name}." for name in UNSEEN)):
            if not _all_are_there(context.module, module):
                kind = "legacy " if module.startswith(LEGACY_MODULES) else ""
                context.manual(RM694, statement, f"The {kind}names that {module} brings in here cannot be seen.")
    return found


def _all_are_there(module: Module, star: str) -> bool:
    """Whether all names that a star import may bring in are those of classes that it still has, and that are as before.

    Args:
        star: What it imports with a star.
    """
    if star != UNCHANGED or not all(_is_known(module, statement) for statement in module.imports):
        return False
    stars = [module.imported(s, s.names[0]).removesuffix(".*") for s in module.star_imports]
    used = {name for _, name in _names_of_stars(module, stars)}
    return all(look_up(name).gone is None and name not in CHANGED for name in used)


def _names_of_stars(module: Module, stars: list[str]) -> Iterator[tuple[ast.AST, str]]:
    """Names that nothing in the file binds, with what they stand for, or stood for when the script was written.

    Where another star import may bring in anything, or exec(), or a file that a notebook runs, these are only the names
    that the libraries have today.
    """
    is_whole = _are_known(module)
    if not stars:
        return
    for node in module.of_type(ast.Name):
        if hasattr(builtins, node.id) or node.id in OF_NOTEBOOKS or module.bound_in(node):
            continue
        if OF_CELLS.fullmatch(node.id):
            continue
        star = next((star for star in reversed(stars) if node.id in names_of(star)), stars[-1] if is_whole else None)
        if star is not None:
            yield node, f"{star}.{node.id}"


def _are_known(module: Module) -> bool:
    """Whether the libraries' star imports are all that may bring in a name that nothing in the file binds."""
    if any(module.named_calls("exec")) or runs_other_files(module):
        return False
    return all(_is_known(module, statement) for statement in module.imports)


def _is_known(module: Module, statement: ast.Import | ast.ImportFrom) -> bool:
    """Whether an import is not a star import, or is one of a module whose names are known."""
    if not isinstance(statement, ast.ImportFrom) or statement.names[0].name != "*":
        return True
    return module.imported(statement, statement.names[0]).partition(".")[0] in LIBRARIES


def _looked_up_by_string(context: Context, call: ast.Call) -> None:
    """`import_module("ray.ml")` and `getattr(huggingface, "TransformersTrainer")`."""
    module = context.module
    strings = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    name: str | None = None
    if module.qualified(call.func) == "importlib.import_module" and len(strings) == 1:
        name = strings[0]
    elif is_call_by_name(call, "getattr") and len(call.args) == 2 and len(strings) == 1:
        owner = module.qualified(call.args[0])
        name = f"{owner}.{strings[0]}" if owner else None
    gone = gone_part(name) if name else None
    if gone is not None and not is_guarded(module, call, gone.rpartition(".")[2]):
        report_gone(context, call, gone)


def _member_by_string(context: Context, node: ast.expr, enum: ast.expr, given: ast.expr) -> None:
    """`DistributedType["TPU"]` and `DistributedType("TPU")`, whose members are called as their values are."""
    owner = context.module.qualified(enum) or ""
    if owner.startswith("accelerate.") and owner.rpartition(".")[2] == ENUM:
        member = context.module.constant(given)
        if isinstance(member, str) and gone_part(f"{owner}.{member}") and not is_guarded(context.module, node, member):
            report_gone(context, node, f"{owner}.{member}")


def _all_arguments(context: Context, of_stars: Mapping[ast.AST, str]) -> None:
    for call in context.module.of_type(ast.Call):
        if call.keywords and call not in context.plan.expressions:
            _arguments(context, call, of_stars)


def _arguments(context: Context, call: ast.Call, of_stars: Mapping[ast.AST, str]) -> None:
    function = function_of(context.module, call)
    name, given = _called(context.module, function, of_stars.get(function))
    is_moved = where_today(context.module.qualified(function) or "") is not None  # not gone
    if given is None or call in context.tuned or (is_dealt_with(context, function) and not is_moved):
        return
    for keyword in call.keywords:
        if keyword.arg is None and name.startswith((*OF_HUB, *OF_SERVE)):
            _unpacked(context, name, call, keyword, given)
        if keyword.arg is None or _is_taken(name, given, keyword.arg) or is_spoken_of(context, call, keyword):
            continue
        if is_guarded(context.module, keyword, keyword.arg) or _is_of_own_method(context.module, function):
            continue
        message = f"{name}({keyword.arg}=) is refused today"
        others = {other.arg for other in call.keywords}
        new = RENAMED.get(keyword.arg)
        if new is not None and not {new, None} & others and takes(given, new):
            if context.converts(RM693, keyword, f"{message}; now {new}=."):
                context.plan.call(call).rename[keyword.arg] = new
        else:
            change = CHANGES.get(name.rpartition(".")[2], {}).get(keyword.arg)
            new = change.name if change is not None else None
            took = f"{new}= took its place." if new else ADVICE.get((name, keyword.arg))
            took = took or of_configuration(context.module, call, name, keyword.arg)
            took = took or _takes(given) or LEFT.get(keyword.arg)
            context.manual(RM693, keyword, f"{message}.", took)


def _unpacked(context: Context, name: str, call: ast.Call, keyword: ast.keyword, given: tuple[str, ...]) -> None:
    """Tells of what a function of the hub, or a deployment of Ray Serve, gets out of a dict and refuses."""
    for entry in carried_from_callers(context.module, keyword.value).entries:
        new = RENAMED.get(entry.name)
        if new is not None and takes(given, new) and not takes(given, entry.name):
            tell_key(context, entry, keyword.value, Change(new), shown(context.module, call, keyword))
        elif (name, entry.name) in ADVICE and not takes(given, entry.name):
            message = f"{name}({entry.name}=) is refused today: it is in what is unpacked here."
            context.manual(RM693, keyword, message, ADVICE[name, entry.name])


def _is_of_own_method(module: Module, function: ast.expr) -> bool:
    """Whether a class of the project, made from that of a library, defines the method that is called."""
    return isinstance(function, ast.Attribute) and bool(methods_of_object(module, function.value, function.attr))


def _takes(given: tuple[str, ...]) -> str | None:
    """What to give instead of an argument that is refused, where that is a short list."""
    return f"It takes {', '.join(given)}." if 0 < len(given) <= MANY else None


def _called(module: Module, function: ast.expr, of_star: str | None) -> tuple[str, tuple[str, ...] | None]:
    """The name of what a call calls, and its parameters; None if they are unknown."""
    name = of_star or module.qualified(function)
    if name is not None:
        name = where_today(name) or name
        return name, parameters(look_up(name))
    if isinstance(function, ast.Attribute) and (kind := instance_of(module, function.value)):
        methods = [member(each, function.attr) for each in (kind, *declared_others(module, function.value))]
        known = [method.parameters for method in methods if method is not None and method.parameters is not None]
        given = tuple(dict.fromkeys(chain(*known))) if len(known) == len(methods) else None
        return f"{kind.rpartition('.')[2]}.{function.attr}", given
    return "", None


def where_today(name: str) -> str | None:
    """The name under which a rule takes what moved; None for one that did not."""
    move = AIR_MOVED.get(name) or MOVED.get(name)
    if move is not None:
        return f"{move.module}.{move.name}"
    found = successor(name)
    return name.replace(*found, 1) if found is not None else None


def _is_taken(name: str, given: tuple[str, ...], keyword: str) -> bool:
    refused = REFUSED_BY_BUILDER if name in TO_BUILDER else REFUSED_BY_SERVE if name == "ray.serve.start" else ()
    return takes(given, keyword) and keyword not in refused


def is_dealt_with(context: Context, function: ast.expr) -> bool:
    """Whether another rule replaces what is called, or says that it is gone."""
    return root_of_chain(function) in context.handled


def is_spoken_of(context: Context, call: ast.Call, keyword: ast.keyword) -> bool:
    """Whether another rule changes a keyword, or reports it."""
    edit = context.plan.calls.get(call)
    if edit is not None and keyword.arg in edit.remove | edit.rename.keys():
        return True
    word = re.compile(rf"\b{re.escape(str(keyword.arg))}\b")
    return any(word.search(finding.message) for finding in context.findings_on(call.lineno, keyword.lineno))
