"""Legacy trainers as types: `def build() -> TransformersTrainer`, `isinstance(x, TransformersTrainer)`.

What they speak of is a TorchTrainer now.
"""

import ast
import re
from collections.abc import Collection

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.shared.import_cleanup import is_passed_on
from raymigrate.facts.syntax.annotations import in_annotation, in_type_test, quoted_annotations
from raymigrate.facts.syntax.functions import default_of
from raymigrate.facts.syntax.quoted import WORD
from raymigrate.facts.syntax.scopes import Reference
from raymigrate.knowledge.legacy import TRAINERS

Import = ast.Import | ast.ImportFrom
GO_WITH_IT = "Write TorchTrainer once that call is one."


def name_as_type(context: Context, rule: Rule, reference: Reference, name: str) -> bool:
    """Names TorchTrainer in an annotation, or where `isinstance()` asks for the class.

    Args:
        context: The module.
        rule: The rule for uses of its class that construct nothing.
        reference: Such a use.
        name: The name of the class, as messages give it.

    Returns:
        Whether the class is named as a type only.
    """
    annotates = in_annotation(context.module, reference.node) and not _holds_class(context, reference.node)
    if not annotates and not in_type_test(context.module, reference.node):
        return False
    message = f"{name} is gone from Ray >= 2.9"
    if _is_constructed(context, reference.qualified):
        context.leave(rule, reference, f"{message}, and one is still constructed in this file.", GO_WITH_IT)
        return True
    made = context.converts(rule, reference.node, f"{message}; now TorchTrainer.")
    if made:
        context.plan.need_import("ray.train.torch", "TorchTrainer", near=reference.binding.statement)
        context.plan.replace(reference.node, "TorchTrainer")
    context.handle(reference, gone=made)
    return True


def name_quoted_types(context: Context, rule: Rule, names: Collection[str]) -> None:
    """Names TorchTrainer in annotations that are texts: `def show(trainer: "Optional[TransformersTrainer]")`.

    Args:
        context: The module.
        rule: The rule for uses of the class that construct nothing.
        names: The names of the legacy class.
    """
    module = context.module
    naming = dict[ast.alias, list[bool]]()
    for text in quoted_annotations(module):
        imports = _imports_named(context, text)
        legacy = [alias for alias, (_, qualified) in imports.items() if qualified in names]
        if not legacy:
            continue
        statement, qualified = imports[legacy[0]]
        message = f"{qualified.rpartition('.')[2]} is gone from Ray >= 2.9; now TorchTrainer."
        made = context.converts(rule, text, message)
        for alias in imports:
            naming.setdefault(alias, []).append(made)
        if made:
            words = "|".join(re.escape(alias.asname or alias.name) for alias in imports)
            source = re.sub(rf"(?<![\w.])(?:{words})\b", "TorchTrainer", module.source(text))
            context.plan.need_import("ray.train.torch", "TorchTrainer", near=statement)
            context.plan.replace(text, source)
    for statement in module.imports if naming else ():
        for alias in statement.names:
            is_used = module.references_by_binding.get(alias) or is_passed_on(module, alias.asname or alias.name)
            if all(naming.get(alias, [False])) and not is_used:  # as below `if TYPE_CHECKING:`
                context.plan.drop_import(alias, statement)


def _imports_named(context: Context, text: ast.Constant) -> dict[ast.alias, tuple[Import, str]]:
    """The imports of legacy trainers that an annotation in quotes names, each with its statement and what it asks for.

    A name that may stand for something else there is none of them, and neither is one of a class that stays.
    """
    module = context.module
    found = dict[ast.alias, tuple[Import, str]]()
    for word in dict.fromkeys(WORD.findall(str(text.value))):
        scope = module.scope_of[module.statement(text)].find(word)
        meanings = module.meanings(scope, word) if scope is not None else frozenset[str | None]()
        if scope is None or not meanings <= TRAINERS or any(_is_constructed(context, str(one)) for one in meanings):
            continue
        for binding in scope.bindings[word]:
            if isinstance(binding.node, ast.alias) and isinstance(binding.statement, Import):
                found[binding.node] = (binding.statement, module.imported(binding.statement, binding.node))
    return found


def _is_constructed(context: Context, qualified: str) -> bool:
    """Whether a legacy trainer stays: then what is annotated with its class stays one too."""
    module = context.module
    return any(
        call.func not in module.reference_at or module.reference_at[call.func].root not in context.rewritten
        for call in module.calls(qualified)
    )


def _holds_class(context: Context, annotation: ast.expr) -> bool:
    """Whether what is annotated holds a legacy class itself, which stays: `trainer_cls: Type[X] = X`."""
    module = context.module
    for outer in module.ancestors(annotation):
        value: ast.expr | None = None
        if isinstance(outer, ast.AnnAssign):
            value = outer.value
        elif isinstance(outer, ast.arg):
            arguments = module.parent_of[outer]
            value = default_of(outer, arguments) if isinstance(arguments, ast.arguments) else None
        elif not isinstance(outer, ast.stmt):
            continue
        return value is not None and module.qualified(value) in TRAINERS
    return False
