"""The rules of the conversion of native training loops, and the refusal that leaves a file as it is."""

import ast

from raymigrate.base.findings import Rule
from raymigrate.facts.values import has_unpacking

MIGRATION = "https://huggingface.co/docs/accelerate/basic_tutorials/migration"

RM850 = Rule(
    "RM850",
    "a native PyTorch training loop",
    "The loop trains on one device, or is started and split over processes by hand.",
    "An Accelerator prepares model, optimizer and loaders and carries out backward(): the same script trains on one"
    " device or on many.",
    MIGRATION,
)
RM851 = Rule(
    "RM851",
    "a native training loop that is left as it is",
    "A part of the loop has no equal in accelerate, or cannot be followed; a loop that is half converted would train"
    " wrongly.",
    "Change what the message names, and run raymigrate again; or move the loop by hand.",
    MIGRATION,
)
RM852 = Rule(
    "RM852",
    "autocast and GradScaler",
    "accelerator.backward() and accelerator.clip_grad_norm_() scale and unscale gradients themselves: a GradScaler of"
    " one's own beside them would do so twice. A prepared model returns float32, so that a loss which the loop"
    " computes is more exact on a GPU than it was under autocast; and it computes in half precision wherever it is"
    " called, outside autocast too.",
    "Accelerator(mixed_precision=...) and accelerator.autocast() take their place.",
    "https://huggingface.co/docs/accelerate/usage_guides/mixed_precision",
    errors=(
        "unscale_() has already been called on this optimizer since the last update()",
        "No inf checks were recorded for this optimizer",
    ),
)
RM853 = Rule(
    "RM853",
    "gradient accumulation",
    "accelerator.accumulate() also steps at the end of each epoch and divides the loss itself: it trains as before only"
    " where the loop did so too.",
    "A loop that steps at the end of an epoch uses accelerator.accumulate(), and no longer divides; any other keeps its"
    " own condition.",
    "https://huggingface.co/docs/accelerate/usage_guides/gradient_accumulation",
)
RM854 = Rule(
    "RM854",
    "a learning rate schedule under several processes",
    "A prepared scheduler takes as many steps at a time as there are processes; one that is not takes one.",
    "The scheduler is prepared where its length counts batches of the loader, and not where it counts epochs or a fixed"
    " number of steps.",
    "https://huggingface.co/docs/accelerate/concept_guides/performance#learning-rates",
)
RM855 = Rule(
    "RM855",
    "an evaluation loop under several processes",
    "Each process sees a part of the rows, and the last batch is filled up with rows that were seen already: counts of"
    " one process are wrong.",
    "accelerator.gather_for_metrics() collects the rows of all processes, each of them once.",
    "https://huggingface.co/docs/accelerate/quicktour#distributed-evaluation",
)
RM856 = Rule(
    "RM856",
    "processes that a script starts and synchronizes itself",
    "accelerate starts the processes, splits the data and wraps the model: done twice, rows are lost, or the process"
    " group cannot be made.",
    "What the script does of it is removed, or becomes a method of the Accelerator. Start it with `accelerate launch`.",
    MIGRATION,
)
RM857 = Rule(
    "RM857",
    "what every process would print, log or write",
    "Under several processes each of them prints, logs and writes the same files.",
    "The main process alone does so, and saves the model without the wrapper that accelerate put around it.",
    "https://huggingface.co/docs/accelerate/basic_tutorials/migration#save-and-load-model",
    errors=("Unexpected key(s) in state_dict: 'module.*", "Missing key(s) in state_dict: 'module.*"),
)
RM858 = Rule(
    "RM858",
    "what changes with the number of processes",
    "With one process the converted loop trains as before, unless the message says so; random numbers that a dataset"
    " draws in the main process come one batch earlier. With several, what the message names is different.",
    "See the message.",
    "https://huggingface.co/docs/accelerate/concept_guides/performance",
    errors=("Duplicate GPU detected",),
)


class Refusal(Exception):
    """A loop that cannot be converted; nothing of its file is.

    Args:
        node: Where the reason is.
        reason: A sentence that says what stands in the way.
    """

    def __init__(self, node: ast.AST, reason: str) -> None:
        super().__init__(reason)
        self.node = node
        self.reason = reason


def check_nothing_is_unpacked(call: ast.Call, example: str) -> None:
    """Checks that all arguments of a call are seen.

    Raises:
        Refusal: If some are not; `example` is one that may be among them.
    """
    if has_unpacking(call):
        raise Refusal(call, f"what is unpacked here cannot be seen, such as {example}=; write it out")
