"""RM605, where nothing reports a checkpoint: the result of such a run holds none, and no metrics either.

A Trainer of transformers saves to its own folder; Ray learns of it by a callback alone, which the legacy trainer added.
"""

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.results.results import RM605, is_relied_on, results
from raymigrate.facts.ray_train.reports import with_all_imported
from raymigrate.facts.ray_train.results import results as reads_of_results
from raymigrate.facts.ray_train.runs_without_checkpoint import reports_no_checkpoint
from raymigrate.facts.ray_train.training_code import TrainingCode, TrainingCodes
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import Source
from raymigrate.knowledge.legacy import ACCELERATE_TRAINERS, HF_TRAINERS, TORCH_TRAINERS

NOTHING = "Nothing that runs here reports a checkpoint, so result.{name} is None."
BY_CALLBACK = (
    "Give the Trainer a ray.train.huggingface.transformers.RayTrainReportCallback() by its add_callback() before it"
    ' trains: that reports each time the Trainer saves. The files lie in the folder "checkpoint" of the checkpoint.'
)
BY_REPORT = "Report a checkpoint: ray.train.report(metrics, checkpoint=ray.train.Checkpoint.from_directory(folder))."


@codemod("checkpoint", "metrics", phase=Phase.RESULTS, after=(results,))
def unreported(context: Context) -> None:
    """Reports what asks the checkpoint or the metrics of a run for something, though there are none; once for each."""
    module = context.module
    homes = with_all_imported(module)
    codes, told = TrainingCodes(homes), set[tuple[int, str]]()
    for read, trainers in reads_of_results(module, "checkpoint", "metrics"):
        if not trainers <= ACCELERATE_TRAINERS | TORCH_TRAINERS or not is_relied_on(module, read):
            continue
        code = codes.of_results([Source(module, read.value)])
        if (id(code), read.attr) in told or not reports_no_checkpoint(homes, code):
            continue
        told.add((id(code), read.attr))
        if not any(found.code == RM605.code for found in context.findings_on(module.start(read)[0])):
            advice = BY_CALLBACK if _has_trainer(homes, code) else BY_REPORT
            context.manual(RM605, read, NOTHING.format(name=read.attr), advice)


def _has_trainer(homes: list[Module], code: TrainingCode | None) -> bool:
    """Whether a Trainer of transformers is made in code that a trainer of Ray runs."""
    return code is not None and any(code.runs(home, call) for home in homes for call in home.calls(*HF_TRAINERS))
