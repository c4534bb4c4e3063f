"""RM402: a relative storage_path among what a RunConfig unpacks."""

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.torch_trainer.storage import ONLY_ABSOLUTE, RM402
from raymigrate.facts.projects.unpacked_options import carried_from_callers
from raymigrate.facts.ray_train.storage import filesystem_of, may_be_relative
from raymigrate.facts.ray_tune.tuners import RUN_CONFIGS
from raymigrate.facts.syntax.named_lines import line_of_file

RELATIVE = f"{ONLY_ABSOLUTE}; this one is relative"
ADVICE = "Write os.path.abspath(os.path.expanduser(path)) for it."


@codemod("RunConfig", phase=Phase.CONFIGURATION)
def unpacked_storage(context: Context) -> None:
    """Reports `RunConfig(**{"storage_path": "results"})`, of Train and of Tune, where the key is written."""
    module = context.module
    for call in module.calls(*RUN_CONFIGS):
        for unpacked in (keyword for keyword in call.keywords if keyword.arg is None):
            entries = {entry.name: entry for entry in carried_from_callers(module, unpacked.value).entries}
            path, system = entries.get("storage_path"), entries.get("storage_filesystem")
            is_of_entry = system is not None and system.module.constant(system.value) is not None
            is_elsewhere = is_of_entry or filesystem_of(module, call) is not None
            if path is None or is_elsewhere or not may_be_relative(path.module, path.value):
                continue
            is_here = path.module is module
            written = "" if is_here else f", in {line_of_file(path.module, path.key)}"
            context.manual(RM402, path.key if is_here else unpacked, f"{RELATIVE}{written}.", ADVICE)
