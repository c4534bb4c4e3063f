"""RM301 and RM302 where a name of ray.air is imported in one of several ways: `try: ... except ImportError: ...`.

Such names are converted nowhere, for the code may run on several versions of Ray. But ray.air can still be imported, so
a name from there that is tried first, or that has no other place than legacy ones, is the one that current Ray gets.
"""

import ast

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.gone.gone_names import gone_part
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.ray_air.ray_air import MOVED, RM301, RM302, SESSION
from raymigrate.codemods.shared.moves import goes_one_way
from raymigrate.facts.syntax.guards import takes_over
from raymigrate.facts.syntax.import_places import is_bound_again

OF_TODAY = "ray.train"
ONE_WAY = "Import it from ray.train first, or in one way only, and run raymigrate again."


@codemod("air", phase=Phase.SESSION)
def guarded_imports(context: Context) -> None:
    """Reports names of ray.air that current Ray gets in spite of the other ways."""
    for statement in context.module.imports:
        if not isinstance(statement, ast.ImportFrom) or statement.level:
            continue
        for alias in statement.names:
            origin = context.module.imported(statement, alias)
            of_session = f"{origin}.".startswith(f"{SESSION}.")
            if (origin in MOVED or of_session) and _is_chosen(context, statement, alias, origin):
                rule, does = (RM302, "does nothing") if of_session else (RM301, "is refused by trainers")
                context.manual(rule, statement, f"{origin} can still be imported, but {does} on Ray >= 2.51.", ONE_WAY)


def _is_chosen(context: Context, statement: ast.ImportFrom, alias: ast.alias, origin: str) -> bool:
    """Whether a name has several places, of which current Ray takes this one."""
    module = context.module
    places = module.meanings(module.scope_of[statement], alias.asname or alias.name)
    if len(places) < 2 or is_bound_again(module, statement, alias) or gone_part(origin) is not None:
        return False
    if takes_over(module, statement):
        return False
    if origin in MOVED and goes_one_way(module, statement, alias, MOVED):
        return False
    outer = module.parent_of[statement]
    tried_first = isinstance(outer, ast.Try) and statement in outer.body
    return tried_first or not any(f"{place}.".startswith(f"{OF_TODAY}.") for place in places)
