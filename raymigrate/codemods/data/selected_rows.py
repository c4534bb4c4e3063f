"""RM520: rows that from_huggingface() took although the dataset had selected others."""

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.facts.hugging_face.selected_rows import only_selected
from raymigrate.facts.ray_data.datasets import FROM_HUGGINGFACE
from raymigrate.facts.values import argument

FOLLOWED_SINCE = (2, 6)
RM520 = Rule(
    "RM520",
    "rows that from_huggingface() took although others were selected",
    "Before Ray 2.6 from_huggingface() took the whole table of a dataset, in its first order: shuffle(), select(),"
    " filter(), sort(), shard() and train_test_split() had no effect unless map() came after them. Today they have:"
    " training gets other rows, often fewer, and takes another number of steps.",
    "The rows of today are those that the code names. To train on those of an earlier run, leave the calls out.",
    "https://docs.ray.io/en/latest/data/api/doc/ray.data.from_huggingface.html",
    unproven="It is about what Ray before 2.6 did; on current Ray both scripts take the same rows.",
)


@codemod("from_huggingface")
def selected_rows(context: Context) -> None:
    """Names the methods whose selection counts today."""
    if not context.of_legacy_job or context.from_ray.lowest >= FOLLOWED_SINCE:
        return
    told = set[tuple[int, str]]()
    for call in context.module.calls(FROM_HUGGINGFACE):
        given = argument(call, 0, "dataset")
        if given is not None and (methods := only_selected(context.module, given)):
            called = " and ".join(filter(None, (", ".join(f"{name}()" for name in methods[:-1]), f"{methods[-1]}()")))
            message = (
                f"Before Ray 2.6 from_huggingface() took all rows here, in their first order: {called} had no effect."
                " Today the selection counts: a run gets other rows than before, or another order."
            )
            line, _ = context.module.start(call)
            if (line, message) not in told:  # `{"train": from_huggingface(a), "test": from_huggingface(b)}`
                context.note(RM520, call, message)
            told.add((line, message))
