"""RM605, where the metrics of a report go: Ray 2.60 gives them to after_report() of UserCallbacks, and keeps those that
carry a checkpoint. Ray 2.6.3 wrote each to result.json, progress.csv and TensorBoard, and printed it.
"""

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.old_transformers import is_for_old_transformers
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.results.results import RM605, results
from raymigrate.facts.projects.places import Place
from raymigrate.facts.projects.project import with_imported
from raymigrate.facts.ray_train.reports import REPORTS, without_checkpoint

CALLBACK = "UserCallback"
MESSAGE = (
    "On Ray >= 2.51 only after_report() of a ray.train.UserCallback sees the metrics of a report without a checkpoint;"
    " legacy Ray wrote them to result.json, progress.csv and TensorBoard, and printed them."
)


@codemod("report", phase=Phase.RESULTS, after=(results,))
def lost_reports(context: Context) -> None:
    """Notes the first report of a training function whose metrics are lost, where nothing else told of it."""
    module = context.module
    if not is_for_old_transformers(context) or _is_told(context):
        return
    today = module.with_former  # who names today's way first knows of it
    called = [call for call in module.calls(*REPORTS) if module.reference_at[call.func].binding.node not in today]
    reports = without_checkpoint(module, called)
    lost = (report for report in reports if context.place_of(report) is Place.WORKER)
    if (report := next(lost, None)) is not None:
        context.note(RM605, report, MESSAGE)


def _is_told(context: Context) -> bool:
    """Whether the metrics are told of already, or a callback gets them: one that is there, or made of a logger."""
    made = any(name == CALLBACK for helper in context.helpers for _, name in helper.imports)
    made = made or any(name == CALLBACK for _, name, _ in context.plan.needed_imports)
    told = any(finding.code == RM605.code for finding in context.findings)
    return told or made or any(CALLBACK in module.names for module in with_imported(context.module))
