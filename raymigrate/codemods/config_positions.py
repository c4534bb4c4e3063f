"""RM421: positional arguments of the configuration classes, whose order is another one today.

RunConfig had three orders between Ray 2.0 and 2.9 (SEMANTICS.md 1.2); only `name` is its first field in all of them.
"""

from raymigrate.codemods import codemod
from raymigrate.codemods.train_v2_arguments import ISSUE
from raymigrate.context import Context
from raymigrate.facts.legacy import CONFIG_CLASSES
from raymigrate.findings import Rule

RM421 = Rule(
    "RM421",
    "positional arguments of a configuration class",
    "The fields of Ray's configuration classes have changed places: a value given by position reaches another field"
    " than it did, or one that Ray >= 2.51 refuses.",
    "Give all arguments but the first by name.",
    ISSUE,
)
# How many arguments mean the same by position in every version. The first of a ScalingConfig is trainer_resources.
SAFE = {"RunConfig": 1, "FailureConfig": 1, "CheckpointConfig": 3, "ScalingConfig": 5}


@codemod(*CONFIG_CLASSES, order=40)
def positions(context: Context) -> None:
    """Names configurations whose arguments cannot be told apart without the version that they were written for."""
    for name in CONFIG_CLASSES:
        for call in context.module.calls(*(f"{m}.{name}" for m in ("ray.air", "ray.air.config", "ray.train"))):
            first = context.module.constant(call.args[0]) if call.args else None
            if len(call.args) > SAFE[name] or (name == "ScalingConfig" and first is not None):
                what = "trainer_resources" if name == "ScalingConfig" else "these positions"
                context.manual(RM421, call, f"{name} does not take {what} on Ray >= 2.51 as it did.")
