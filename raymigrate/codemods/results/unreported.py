"""RM605, where nothing reports a checkpoint: the result of such a run holds none, and no metrics either.

A Trainer of transformers saves to its own folder; Ray learns of it by a callback alone, which the legacy trainer added.
"""

import ast

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.results.results import RM605, is_relied_on, results
from raymigrate.codemods.shared.missing_reports import how_to_report
from raymigrate.facts.ray_train.reports import MOST_IMPORTED, with_all_imported
from raymigrate.facts.ray_train.results import class_method, fitted_trainers
from raymigrate.facts.ray_train.results import results as reads_of_results
from raymigrate.facts.ray_train.runs_without_checkpoint import reports_no_checkpoint
from raymigrate.facts.ray_train.training_code import TrainingCodes
from raymigrate.facts.syntax.guards import is_guarded, tested
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import Source, argument, called_name
from raymigrate.knowledge.legacy import ACCELERATE_TRAINERS, TORCH_TRAINERS

NOTHING = "Nothing that runs here reports a checkpoint, so result.{name} is None."
NOTHING_OF_ONE = "result.{name} is None where the run is that of {trainer}: nothing that it runs reports a checkpoint."
WITH_LOOPS = ACCELERATE_TRAINERS | TORCH_TRAINERS
OPENED = ("as_directory", "to_directory", "path", "filesystem", "get_metadata", "to_dict")  # of a checkpoint


@codemod("checkpoint", "metrics", phase=Phase.RESULTS, after=(results,))
def unreported(context: Context) -> None:
    """Reports what asks the checkpoint or the metrics of a run for something, though there are none; once for each."""
    module = context.module
    reads = list(reads_of_results(module, "checkpoint", "metrics"))
    if not reads:
        return
    homes = with_all_imported(module)  # which reads many files
    codes, told = TrainingCodes(homes), set[tuple[int, str]]()
    for read, trainers in reads:
        own = trainers & WITH_LOOPS
        if not own or None in trainers:
            continue
        if not is_relied_on(module, read) and not (read.attr == "checkpoint" and _is_opened(module, read)):
            continue
        makers = fitted_trainers(module, read.value) or []
        if any(maker.module not in homes for maker in makers) or len(homes) > MOST_IMPORTED:
            continue  # of a file that is not looked through here
        made = makers if own == trainers else _of_loops(makers)
        code = codes.of_trainers(made) if made else None
        if (id(code), read.attr) in told or not reports_no_checkpoint(code):
            continue
        told.add((id(code), read.attr))
        if not any(found.code == RM605.code for found in context.findings_on(module.start(read)[0])):
            message = NOTHING if own == trainers else NOTHING_OF_ONE
            names = " or ".join(sorted({name.rpartition(".")[2] for name in own if name}))
            context.manual(RM605, read, message.format(name=read.attr, trainer=names), how_to_report(homes, code))


def _of_loops(trainers: list[Source]) -> list[Source]:
    """Those of the constructions that may have made a trainer that are given a training function."""
    made = [source for trainer in trainers for source in trainer.module.origins(trainer.node)]
    return [source for source in made if called_name(source.module, source.node) in WITH_LOOPS]


def _is_opened(module: Module, read: ast.Attribute) -> bool:
    """Whether the checkpoint of a result goes on to code that opens it, and nobody looks whether it is None."""
    if is_guarded(module, read, read.attr):
        return False
    found = [read, *_copied(module, read)]
    if module.taking(read) is not None and len(found) == 1:
        opened = [opened.value for opened in module.attributes(*OPENED)]
        found += [value for value in opened if any(source.node is read for source in module.origins(value))]
    names = {ast.unparse(value) for value in found}
    return len(found) > 1 and not any(ast.unparse(node) in names for node in tested(module))


def _copied(module: Module, read: ast.Attribute) -> list[ast.expr]:
    """What `TransformersCheckpoint.from_checkpoint()` is given where that is the checkpoint that is read."""
    return _all_copied(module).get(read, [])


@kept
def _all_copied(module: Module) -> dict[ast.expr, list[ast.expr]]:
    """What such calls are given, by what that stands for."""
    found: dict[ast.expr, list[ast.expr]] = {}
    for call, _ in module.method_calls("from_checkpoint"):
        given = argument(call, 0, "other") if class_method(module, call) is not None else None
        if given is not None:
            found.setdefault(module.value(given), []).append(given)
    return found
