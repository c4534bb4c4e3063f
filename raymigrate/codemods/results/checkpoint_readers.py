"""RM602: code that looks for the files of Transformers in the checkpoint of a run."""

import ast
from collections.abc import Collection, Iterator

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.ray_air.ray_checkpoint import RM308
from raymigrate.codemods.results.checkpoint_names import is_asked_for_its_name
from raymigrate.codemods.results.handed_checkpoints import is_handed_a_model
from raymigrate.codemods.results.results import is_shown
from raymigrate.codemods.shared.checkpoint_files import (
    can_open,
    files_in,
    in_words,
    layout_after,
    leads_to_files,
    opened,
)
from raymigrate.edits.plan import Code, Part
from raymigrate.facts.hugging_face.model_folders import is_loaded, saves_state
from raymigrate.facts.hugging_face.new_weights import reads_new_weights_else
from raymigrate.facts.ray_train.framework_checkpoints import is_of_any_class, may_be_of_result
from raymigrate.facts.ray_train.results import Layout, layout
from raymigrate.facts.syntax.magics import magics_in
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_assignment, only_target, targets_of
from raymigrate.facts.values import all_arguments, is_method_call
from raymigrate.knowledge.legacy import HF_TRAINERS, TRANSFORMERS_TRAINERS

RM602 = Rule(
    "RM602",
    "files of a checkpoint that lie one folder deeper",
    'RayTrainReportCallback puts the files of Transformers into the folder "checkpoint" of a Ray checkpoint; the legacy'
    " trainer put them at its root.",
    'Look in os.path.join(folder, "checkpoint").',
    "https://docs.ray.io/en/latest/train/user-guides/checkpoints.html",
    errors=("Error no file named model.safetensors, or pytorch_model.bin, found in directory",),
)
DEEPER = 'The files of Transformers lie in the folder "checkpoint" of the checkpoint'
IN_NEW_RUNS = 'In a checkpoint of a new run the files of Transformers lie in its folder "checkpoint"'
EITHER = in_words("Look for them in files:")
OLD_WEIGHTS = ("pytorch_model.bin", "adapter_model.bin")
WITH_WEIGHTS = ("transformers.", "accelerate.", "peft.")  # whose WEIGHTS_NAME is one of them; that of diffusers is not
READS = frozenset(
    {"torch.load", "open", "io.open", "shutil.copy", "shutil.copyfile", "shutil.copy2", "shutil.move", "os.listdir"}
    | {f"os.path.{name}" for name in ("exists", "isfile", "lexists", "getsize", "getmtime")}
    | {"os.stat", "os.rename", "os.replace", "os.remove", "os.unlink", "os.access"}
)
TESTS = frozenset({"os.path.exists", "os.path.isfile", "os.path.lexists"})
DELETES = frozenset({"os.remove", "os.unlink"})
# The same, as methods of a path.
PATH_READS = frozenset({"exists", "is_file", "open", "read_bytes", "stat", "rename", "replace", "unlink"})
PATH_KEPT = ("joinpath", "expanduser", "resolve", "absolute", "as_posix")
JOINS = ("os.path.join", "os.fspath", "str", "pathlib.Path")
FEW = 2  # uses of a folder up to which each is edited


# What else a checkpoint could be turned into, with what to do instead; to_dict() has a rule of its own.
OTHER_FORMS = {
    "to_uri": "Let RunConfig(storage_path=) name the URI, or copy the folder that checkpoint.as_directory() gives. What"
    " took the URI that it returned needs the new one: checkpoint.path has no scheme, such as s3://, in front.",
    "to_bytes": "Read the files in the folder that checkpoint.as_directory() gives.",
    "to_object_ref": "Hand the checkpoint itself on: it holds only where its folder is.",
    "get_internal_representation": 'Use checkpoint.path: it gave ("local_path", path) for a folder.',
}


# What else a checkpoint had (Ray 2.4.0 air/checkpoint.py), with what to take in its place. The private ones were the
# only way to the folder before Ray 2.7.
OTHER_ATTRIBUTES = {
    "_data_dict": "Read the files in the folder that checkpoint.as_directory() gives.",
    "_local_path": "Use checkpoint.path where the storage is a folder, else what checkpoint.as_directory() gives.",
    "_uri": 'Use checkpoint.path. It has no scheme in front: where the storage is a bucket of S3, its URI is "s3://" +'
    " checkpoint.path.",
    "id": "Use checkpoint.path: no other checkpoint has the same.",
}


@codemod("as_directory", "to_directory", "path", *OTHER_FORMS, *OTHER_ATTRIBUTES, phase=Phase.RESULTS)
def readers(context: Context) -> None:
    """Inserts the folder where a checkpoint of a Transformers run is read."""
    for node in context.module.attributes("as_directory", "to_directory", "path", *OTHER_FORMS, *OTHER_ATTRIBUTES):
        if node.attr in OTHER_FORMS or node.attr in OTHER_ATTRIBUTES:
            _other_form(context, node)
        elif node.attr in ("as_directory", "to_directory", "path"):
            place = layout_after(context, node.value)
            if place is None and is_handed_a_model(context.module, node):
                place = Layout.UNKNOWN
            if place not in (None, Layout.ROOT):
                _reader(context, node, place)


def _other_form(context: Context, node: ast.Attribute) -> None:
    """Reports what no checkpoint has any more."""
    place = layout_after(context, node.value)
    known = place is not None or is_of_any_class(context.module, node.value)
    if known or may_be_of_result(context.module, node.value):
        name = f"{node.attr}()" if node.attr in OTHER_FORMS else node.attr
        advice = OTHER_FORMS.get(node.attr) or OTHER_ATTRIBUTES[node.attr]
        if node.attr == "_local_path" and place in (Layout.NESTED, Layout.UNKNOWN):
            advice += f" {DEEPER if place is Layout.NESTED else IN_NEW_RUNS}."
        message = f"Checkpoint.{name} raises an AttributeError on Ray >= 2.7."
        context.manual(RM308, node, message if known else f"If this is a checkpoint of Ray: {message}", advice)


def _reader(context: Context, node: ast.Attribute, place: Layout) -> None:
    call = context.module.parent_of[node]
    if node.attr == "path":
        understood = reads_deeper(context, node, place)
    elif not isinstance(call, ast.Call) or call.func is not node:
        understood = False
    elif node.attr == "as_directory":
        understood = _as_directory(context, call, place)
    else:
        understood = _to_directory(context, call, node, place)
    if not understood and place is Layout.UNKNOWN:
        context.manual(RM602, node, f"{IN_NEW_RUNS}.", EITHER)
    elif not understood:
        context.manual(RM602, node, f"{DEEPER}.")


def _as_directory(context: Context, call: ast.Call, place: Layout) -> bool:
    """`with checkpoint.as_directory() as folder:`: every use of the folder, or the folder itself, goes deeper."""
    module = context.module
    item = module.parent_of[call]
    block = module.parent_of[item]
    if not isinstance(item, ast.withitem) or not isinstance(block, ast.With):
        return False
    if not isinstance(item.optional_vars, ast.Name) or item.context_expr is not call:
        return False
    name = item.optional_vars.id
    scope = module.scope_of[item.optional_vars].find(name)
    if scope is not None and any(leads_to_files(context, use) for use in module.uses(name, scope)):
        return True
    if scope is None or any(
        module.inside(binding.node, block) and binding.node is not item.optional_vars
        for binding in scope.bindings[name]
    ):
        return False
    uses = [use for use in module.uses(name, scope) if module.inside(use, block)]
    later = [use for use in module.uses(name, scope) if not module.inside(use, block)]
    if later and len(scope.bindings[name]) == 1:
        return False
    reading = [use for use in uses if not _gives_text(module, use)]
    unseen = bool(magics_in(module, block))
    if not (reading or unseen) or not context.converts(RM602, call, f"{DEEPER}; the folder is added."):
        return True
    _report_weights(context, block)
    in_text = [use for use in reading if isinstance(module.parent_of[use], ast.FormattedValue)]
    if unseen or len(reading) > FEW or any(_deeper_text(context, use, place) is None for use in in_text):
        context.plan.statement(block.body[0]).before.append(Code(f"{name} = {files_in(context, call, place, name)}"))
        return True
    for use in reading:
        _go_deeper(context, use, place)
    return True


def _go_deeper(context: Context, folder: ast.expr, place: Layout) -> None:
    """Puts the folder "checkpoint" behind an expression; into the os.path.join() that it is the head of, if it is one.

    Args:
        folder: What stands for the folder of the checkpoint; other code may take its place meanwhile.
        place: Where the files lie.
    """
    module, plan = context.module, context.plan
    join = module.parent_of[folder]
    if (text := _deeper_text(context, folder, place)) is not None:
        plan.replace(module.parent_of[join], text)  # type: ignore[arg-type]
        return
    joins = isinstance(join, ast.Call) and module.qualified(join.func) == "os.path.join" and not join.keywords
    if joins and isinstance(join, ast.Call) and place is Layout.NESTED and join.args[0] is folder:
        names, rest = "", dict[str, Part]()
        for number, part in enumerate(join.args[1:]):
            star, value = ("*", part.value) if isinstance(part, ast.Starred) else ("", part)
            names += f", {star}$part_{number}"
            rest[f"part_{number}"] = value
        plan.replace(join, f'$join($folder, "checkpoint"{names})', join=join.func, folder=folder, **rest)
        return
    known = plan.expressions.get(folder)
    if known is None:
        plan.replace(folder, files_in(context, folder, place, "$folder"), folder=folder)
    else:
        plan.replace(folder, files_in(context, folder, place, known.template), **known.parts)


def _deeper_text(context: Context, folder: ast.expr, place: Layout) -> str | None:
    """Source of an f-string that begins with a folder, with the folder "checkpoint" after that: `f"{folder}/..."`.

    None where it is no such f-string; its parts cannot be replaced one by one, as Python 3.11 gives them no place.
    """
    part = context.module.parent_of[folder]
    text = context.module.parent_of.get(part)
    if not isinstance(text, ast.JoinedStr) or text.values[0] is not part or place is not Layout.NESTED:
        return None
    source, begin = context.module.source(text), next(iter(text.values[1:]), None)
    is_folder = isinstance(begin, ast.Constant) and str(begin.value).startswith("/")  # not f"{folder}_{name}/..."
    found = is_folder and source.count("}/") == 1 and text.end_lineno == text.lineno
    return source.replace("}/", "}/checkpoint/") if found else None


def _report_weights(context: Context, block: ast.AST) -> None:
    for node in ast.walk(block):
        if _names_weights(context.module, node):
            _report_weight(context, node)


def _report_weight(context: Context, node: ast.AST, names: Collection[str] = ()) -> None:
    adapter = _is_adapter(context.module, node)
    old, new = ("adapter_model.bin", "adapter_model") if adapter else ("pytorch_model.bin", "model")
    if reads_new_weights_else(context.module, node, f"{new}.safetensors"):
        return
    library = "transformers >= 5"
    if saves_state(context.module) and not context.module.references_within("transformers"):
        library = "accelerate >= 0.25"
    if not DELETES.isdisjoint(names) and DELETES.union(TESTS).issuperset(names):
        message = f"{'peft' if adapter else library} writes no {old}: there is no such file to delete."
        advice = f"Leave that out. Weights that are saved lie in {new}.safetensors."
        if TESTS.isdisjoint(names):  # it raises
            context.manual(RM602, node, message, advice)
        else:
            context.note(RM602, node, f"{message} {advice}")
        return
    context.manual(
        RM602,
        node,
        f"{'peft' if adapter else library} writes no {old}: this file is not found.",
        f"The weights are in {new}.safetensors: read them with from_pretrained() or safetensors.torch.",
    )


def _names_weights(module: Module, node: ast.AST) -> bool:
    """Whether an expression is, or ends in, the name of a file of weights that nothing writes any more."""
    name = (module.qualified(node) or "") if isinstance(node, ast.expr) else ""
    if name.endswith(".WEIGHTS_NAME") and name.startswith(WITH_WEIGHTS):
        return True
    text = node.value if isinstance(node, ast.Constant) else ""
    return isinstance(text, str) and text.endswith(OLD_WEIGHTS)


def _is_adapter(module: Module, node: ast.AST) -> bool:
    """Whether a name of weights is that of an adapter: peft has a WEIGHTS_NAME of its own."""
    of_peft = isinstance(node, ast.expr) and (module.qualified(node) or "").startswith("peft.")
    return of_peft or (isinstance(node, ast.Constant) and str(node.value).endswith("adapter_model.bin"))


def _has_models(module: Module) -> bool:
    """Whether a script saves models, or looks into the checkpoints of a run that did, which another file may start."""
    if any(module.attributes("save_pretrained", "save_model", "get_checkpoint")) or saves_state(module):
        return True
    folders = module.attributes("as_directory", "to_directory", "path")
    return any(module.calls(*HF_TRAINERS, *TRANSFORMERS_TRAINERS)) or any(
        layout(module, folder.value) is not None for folder in folders
    )


@codemod("pytorch_model", "adapter_model", "WEIGHTS_NAME", phase=Phase.RESULTS, after=[readers])
def old_weights(context: Context) -> None:
    """Reports reads of old files of weights in a script that saves models; not where it writes such files itself."""
    module = context.module
    stays = context.stays and not context.takes_current_libraries  # as it is, since --to-ray cannot move it
    if not (context.of_legacy_job or context.joins_ray or stays) or not _has_models(module):
        return
    may_name = (*module.of_type(ast.Constant), *(r.root for r in module.references), *module.attributes("WEIGHTS_NAME"))
    weights = sorted({node for node in may_name if _names_weights(module, node)}, key=module.start)
    found = [(node, set(_openers(module, node))) for node in weights]
    written = {_is_adapter(module, node) for node, names in found if "torch.save" in names}
    if any(module.constant(keyword.value) is False for _, keyword in module.keywords("safe_serialization")):
        written.add(True)  # so peft writes adapter_model.bin
    for node, names in found:
        if _is_adapter(module, node) in written:
            continue
        line: int = getattr(node, "lineno", 0)
        told = any("writes no " in said.message for said in context.findings_on(line, line))
        if not names.isdisjoint(READS) and not told:
            _report_weight(context.apart if stays else context, node, names)


def _openers(module: Module, path: ast.AST, *, named: bool = False) -> Iterator[str]:
    """The functions that a path is given to, through what puts paths together, and by the names that it gets.

    Args:
        path: The path, or a part of it.
        named: Whether a name of it led here, and no further one is followed.
    """
    for outer in module.ancestors(path):
        if isinstance(outer, ast.Call):
            name = module.qualified(outer.func) or (outer.func.id if isinstance(outer.func, ast.Name) else "")
            joins = is_method_call(outer, "joinpath")
            if name not in JOINS and not joins:
                yield name
                return
        elif isinstance(outer, ast.Attribute) and isinstance(call := module.parent_of[outer], ast.Call):
            if outer.attr in PATH_READS and call.func is outer and not isinstance(outer.value, ast.Constant):
                yield "open"
                return
            if outer.attr not in PATH_KEPT:
                return
        elif isinstance(outer, ast.Compare):
            listed = [other.func for other in outer.comparators if isinstance(other, ast.Call)]
            yield from (module.qualified(function) or "" for function in listed if isinstance(outer.ops[0], ast.In))
            return
        elif is_assignment(outer) and not named:
            for target in (target for target in targets_of(outer) if isinstance(target, ast.Name)):
                for use in module.uses_of(target):
                    yield from _openers(module, use, named=True)
            return
        elif not isinstance(outer, (ast.JoinedStr, ast.FormattedValue, ast.BinOp)):
            return


def _uses_of_name(module: Module, value: ast.expr) -> list[ast.Name]:
    """Where a name is read that is given a value."""
    name = module.name_of(value)
    return module.uses_of(name) if name is not None else []


def _to_directory(context: Context, call: ast.Call, method: ast.Attribute, place: Layout) -> bool:
    """`to_directory()` gives the inner folder, and `to_directory(path)` copies that."""
    module = context.module
    given = all_arguments(call)
    if not given:
        if (
            not any(leads_to_files(context, use) for use in [call, *_uses_of_name(module, call)])
            and not module.is_statement(call)
            and context.converts(RM602, call, f"{DEEPER}; the folder is added.")
        ):
            _go_deeper(context, call, place)
        return True
    if not can_open(context, call, method.value):
        return False
    if context.converts(RM602, call, f"{DEEPER}; that folder is copied."):
        context.plan.need_import("shutil")
        source = files_in(context, call, place, opened(context, call, method.value))
        context.plan.replace(call, f"shutil.copytree({source}, $path, dirs_exist_ok=True)", path=given[0])
    return True


def reads_deeper(context: Context, node: ast.expr, place: Layout) -> bool:
    """A path of a checkpoint that is only shown, or of which the name is taken, stays; one that is read goes deeper."""
    module = context.module
    if _gives_text(module, node) or any(leads_to_files(context, use) for use in [node, *_uses_of_name(module, node)]):
        return True
    whole = _choice(module, node)
    read: list[ast.expr] = [*_uses_of_name(module, whole)]
    read = read or ([whole] if whole is not node else [])
    if read and all(_gives_text(module, use) for use in read):
        return True
    if whole is not node:
        return False
    parent = module.parent_of[node]
    target = only_target(parent)
    if isinstance(target, ast.Name):
        if not module.is_bound_once(target):
            return False
        named = module.uses_of(target)
        shown = [use for use in named if _gives_text(module, use)]
        uses: list[ast.expr] = [use for use in named if use not in shown]
    else:
        shown, uses = [], [node]
    if not uses:
        return bool(shown) or not magics_in(module, module.tree)
    if not all(_reads_files(context, use, place) for use in uses):
        return False
    if context.converts(RM602, node, f"{DEEPER}; the folder is added."):
        for use in uses:
            _go_deeper(context, use, place)
    return True


def _choice(module: Module, node: ast.expr) -> ast.expr:
    """The expression that has a value as one of several: `path if seen else other`, `uri or path`."""
    outer = module.parent_of[node]
    if isinstance(outer, ast.BoolOp) or (isinstance(outer, ast.IfExp) and node is not outer.test):
        return _choice(module, outer)
    return node


def _gives_text(module: Module, path: ast.expr) -> bool:
    return is_shown(module, path) or is_asked_for_its_name(module, path)


def _reads_files(context: Context, node: ast.expr, place: Layout) -> bool:
    """Whether a folder is given to something that looks for files of Transformers in it."""
    if _deeper_text(context, node, place) is not None:
        return True
    if is_loaded(context.module, node):
        return True
    call = context.module.parent_of[node]
    if not isinstance(call, ast.Call) or not call.args or call.args[0] is not node:
        return False
    return is_method_call(call, "from_pretrained") or context.module.qualified(call.func) == "os.path.join"
