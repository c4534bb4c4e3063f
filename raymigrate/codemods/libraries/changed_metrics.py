"""RM726: metrics of evaluate that are not those of datasets.

From comparing the scripts in metrics/ of datasets 2.4 to 2.19 with those of evaluate 0.4.6, and running the latter
(docs/semantics/libraries.md#metrics).
"""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.facts.hugging_face.metrics import LOAD, LOAD_METRIC, depth_in_result, loaded, metrics_of
from raymigrate.facts.syntax.module import Module

RM726 = Rule(
    "RM726",
    "a metric whose results or arguments changed",
    "The metrics of evaluate were those of datasets. Since then some take other arguments, or give other values: an"
    " error, or a number on another scale.",
    "What is read of rouge is read as it is today. Else see the message.",
    "https://huggingface.co/docs/evaluate/index",
    unproven="What these metrics need, such as rouge_score, is not installed with the tests.",
)
ROUGE = "rouge"
VALUE, SCORE = 1, 2  # how deep: a value of the dict that rouge gives, and a score in it with use_aggregator=False
BOUNDS = ("low", "mid", "high")
MIDDLE = "mid"
F_MEASURE = "fmeasure"
FIELDS = ("precision", "recall", F_MEASURE)
ONLY_F = "evaluate's rouge gives F-measures, plain numbers"
NUMBER = "Take the number itself, which is .mid.fmeasure."
BY_HAND = (
    "For precision and recall use the package rouge_score, as the metric did: RougeScorer(rouge_types).score(reference,"
    " prediction), and scoring.BootstrapAggregator for the mean of them."
)
# What datasets' metrics took or gave otherwise: what happens, and what to do.
OF_DATASETS = {
    **{
        name: (
            f"evaluate's {name} takes texts and splits them itself: lists of tokens raise a ValueError.",
            'Give " ".join(tokens) in place of each list, and compute(..., tokenizer=str.split), to count as before.',
        )
        for name in ("bleu", "google_bleu")
    },
    "exact_match": (
        "evaluate's exact_match is at most 1, that of datasets was at most 100.",
        'Multiply compute(...)["exact_match"] by 100 where the number is read or logged.',
    ),
    "perplexity": (
        "evaluate's perplexity takes predictions= for input_texts=, has e for its base and not 2, and truncates nothing"
        " unless max_length= is given.",
        "Give it predictions=; 2 ** math.log(value) of a value of today is on the scale of before.",
    ),
}
RENAMED = {"use_agregator": "use_aggregator"}  # until datasets 2.0


@codemod("load_metric", "evaluate", MIDDLE, F_MEASURE, phase=Phase.LIBRARIES)
def changed_metrics(context: Context) -> None:
    """Reads the results of rouge as they are today, and reports what else of a metric changed."""
    told = _rouge(context)
    for call in context.module.calls(*LOAD_METRIC):
        for name in sorted(loaded(context.module, call)):
            if name in OF_DATASETS:
                context.manual(RM726, call, *OF_DATASETS[name])
            elif name == ROUGE and not told:
                context.note(RM726, call, f"{ONLY_F}, where that of datasets gave objects with low, mid and high.")
    for call, keyword in context.module.keywords(*RENAMED, "input_texts"):
        _argument(context, call, keyword)


def _argument(context: Context, call: ast.Call, keyword: ast.keyword) -> None:
    """Renames an argument of `compute`; that of perplexity is reported, whose numbers changed too."""
    method, old = call.func, str(keyword.arg)
    if not isinstance(method, ast.Attribute) or method.attr not in ("compute", "add", "add_batch"):
        return
    if old in RENAMED:
        if context.converts(RM726, keyword, f"{old}= raises a TypeError today; now {RENAMED[old]}=."):
            context.plan.call(call).rename[old] = RENAMED[old]
    elif "perplexity" in metrics_of(context.module, method.value, LOAD):  # else it is reported where it is loaded
        context.manual(RM726, keyword, *OF_DATASETS["perplexity"])


def _rouge(context: Context) -> bool:
    """Deals with `result["rouge1"].mid.fmeasure`, and says whether there is something of the kind."""
    module = context.module
    parts = [(node, VALUE) for node in module.attributes(*BOUNDS)]
    parts += [(node, SCORE) for node in module.attributes(*FIELDS)]
    told = False
    for node, depth in parts:
        if module.qualified(node) is not None or not isinstance(node.ctx, ast.Load):
            continue
        found = depth_in_result(module, node.value, ROUGE)
        if found == depth:
            _part(context, node)
            told = True
        elif found is None and depth == VALUE and _may_be_rouge(module, node):
            message = f"If this is of evaluate's rouge: that gives F-measures, plain numbers, and .{node.attr} raises"
            context.manual(RM726, node, f"{message} an AttributeError.", f"{NUMBER} {BY_HAND}")
            told = True
    return told


def _part(context: Context, node: ast.Attribute) -> None:
    """Takes `.mid.fmeasure` away from a value of rouge, or `.fmeasure` from one of its scores."""
    module = context.module
    outer = module.parent_of[node]
    chain = outer if node.attr == MIDDLE and isinstance(outer, ast.Attribute) else node
    in_text = any(isinstance(above, ast.JoinedStr) for above in module.ancestors(node))  # no place before Python 3.12
    message = f"{ONLY_F}: .{node.attr} raises an AttributeError"
    if chain.attr != F_MEASURE or in_text:
        advice = BY_HAND if chain.attr in ("precision", "recall") else f"{NUMBER} {BY_HAND}"
        context.manual(RM726, node, f"{message}.", advice)
    elif context.converts(RM726, node, f"{message}; now the number itself."):
        context.plan.replace(chain, "$owner", owner=node.value)


def _may_be_rouge(module: Module, node: ast.Attribute) -> bool:
    """Whether a value of which nothing is known may be one of rouge: `score.mid.fmeasure`."""
    outer = module.parent_of[node]
    has_score = isinstance(outer, ast.Attribute) and outer.attr in FIELDS
    uses_scorer = any("rouge_score" in ast.unparse(statement) for statement in module.imports)
    return has_score and not uses_scorer
