"""RM604: log_dir of what is called a result, where it is not seen what gave it.

`job = TRAINERS[name](config); result = job.train(); print(result.log_dir)`: a class out of a registry.
"""

import ast

from raymigrate.base.expressions import lazy_regex
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.results.results import IN_PLACE_OF_LOG_DIR, LOG_DIR_IS_GONE, RM604
from raymigrate.codemods.results.unknown_results import is_unseen_call
from raymigrate.facts.projects.declared import declared_class
from raymigrate.facts.ray_train.results import trainers_of
from raymigrate.facts.ray_tune.trials import is_of_rl_trainer, may_be_trial
from raymigrate.facts.syntax.guards import is_guarded
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import every_origin, last_name

CALLED_SO = lazy_regex(r"_?(?:\w+_)?results?")


@codemod("log_dir", phase=Phase.RESULTS)
def results_of_unseen(context: Context) -> None:
    """Reports the attribute of results that methods of unknown objects gave, in what was written for old Ray."""
    module = context.module
    for read in module.attributes("log_dir") if context.of_legacy_job else ():
        owner = read.value
        name = last_name(owner)
        if CALLED_SO.fullmatch(name.lower()) and isinstance(read.ctx, ast.Load) and _is_unseen(module, owner):
            if not is_guarded(module, read, read.attr):
                context.manual(RM604, read, f"If this is a result of Ray: {LOG_DIR_IS_GONE}.", IN_PLACE_OF_LOG_DIR)


def _is_unseen(module: Module, result: ast.expr) -> bool:
    """Whether a call of a method gives a value of which nothing is known, neither by whom nor of which class."""
    if trainers_of(module, result) != {None} or may_be_trial(module, result) or is_of_rl_trainer(module, result):
        return False
    if declared_class(module, result) is not None:
        return False
    return every_origin(module, result, is_unseen_call)
