"""RM702, for `load_dataset(name, version=...)`: the script of a dataset had versions, and its data have none.

What load_dataset does not know goes to the builder's configuration. Measured on datasets 5.2 with a folder of files:
any version but "0.0.0" raises a ValueError ("Cannot name a custom BuilderConfig the same as an available
BuilderConfig"), and None is not heeded. Packaged modules, such as csv, load the same data, and keep them in a folder of
that name.
"""

import ast

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.argument_changes import ADVICE, LOAD_DATASET, REFUSED_BY_BUILDER, Change
from raymigrate.codemods.libraries.argument_rules import RM702
from raymigrate.codemods.libraries.dataset_names import PACKAGED
from raymigrate.codemods.libraries.unseen_keys import shown, tell_key
from raymigrate.codemods.phases import Phase
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import argument, constants
from raymigrate.facts.values.carried import carried

VERSION = "version"
LOADERS = (*LOAD_DATASET, *(name.replace("load_dataset", "load_dataset_builder") for name in LOAD_DATASET))
HEEDED_NOT = (None, "0.0.0")  # the version that every configuration has


@codemod("load_dataset", "load_dataset_builder", phase=Phase.LIBRARIES)
def dataset_versions(context: Context) -> None:
    """Tells of versions that are given to what loads a dataset of the Hub, or a folder."""
    module = context.module
    for call in module.calls(*LOADERS):
        path = argument(call, 0, "path")
        values = [value for _, value in constants(module, path)] if path is not None else [...]
        names = [value if isinstance(value, str) else ... for value in values]
        if all(name in PACKAGED for name in names):
            continue
        condition = (
            ", unless it loads files of a format, such as csv" if any(n in {*PACKAGED, ...} for n in names) else ""
        )
        for keyword in call.keywords:
            if keyword.arg == VERSION and _is_heeded(module, keyword.value):
                context.manual(RM702, keyword, f"{VERSION}= {REFUSED_BY_BUILDER}{condition}.", ADVICE[VERSION])
            elif keyword.arg is None:
                change = Change(outcome=f"{REFUSED_BY_BUILDER}{condition}")
                for entry in carried(module, keyword.value).entries:
                    if entry.name == VERSION and _is_heeded(entry.module, entry.value):
                        tell_key(context, entry, keyword.value, change, shown(module, call, keyword))


def _is_heeded(module: Module, value: ast.expr) -> bool:
    return any(found not in HEEDED_NOT for _, found in constants(module, value))
