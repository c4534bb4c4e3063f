"""RM714: datasets named without their namespace.

huggingface_hub 2 refuses such names before it asks the Hub ("Single-segment ids (e.g. 'gpt2') are no longer supported",
hf_file_system.py 2.4, resolve_path), and datasets 5 goes through it. The redirects below are the Hub's own.
"""

import ast

from raymigrate.codemods import codemod
from raymigrate.context import Context
from raymigrate.findings import Rule

RM714 = Rule(
    "RM714",
    "a dataset named without its namespace",
    "With huggingface_hub >= 2 and datasets >= 5 load_dataset raises HfUriError: Repository id must be"
    " 'namespace/name'.",
    "Use the full name, as the dataset's page on the Hub shows it.",
    "https://huggingface.co/docs/datasets/loading#hugging-face-hub",
    errors=("Repository id must be 'namespace/name'",),
)

RM715 = Rule(
    "RM715",
    "a dataset that is a Python script",
    "datasets >= 4 runs no dataset scripts: RuntimeError: Dataset scripts are no longer supported.",
    'For datasets of the Hub, revision="refs/convert/parquet" loads its own Parquet copy. Else convert the data to'
    " Parquet once, with an older datasets, and load that; or build it with Dataset.from_generator.",
    "https://huggingface.co/docs/datasets/loading",
)

LOADERS = tuple(
    f"datasets{module}.{name}"
    for module in ("", ".load")
    for name in ("load_dataset", "load_dataset_builder", "get_dataset_config_names", "get_dataset_split_names")
)
# Names that datasets resolves itself, without the Hub (datasets.packaged_modules).
PACKAGED = frozenset(
    [
        "csv",
        "json",
        "pandas",
        "parquet",
        "arrow",
        "text",
        "xml",
        "imagefolder",
        "audiofolder",
        "videofolder",
        "pdffolder",
        "webdataset",
        "generator",
        "sql",
        "hdf5",
        "spark",
        "cache",
    ]
)
NAMESPACES = {
    "ag_news": "fancyzhx",
    "amazon_polarity": "fancyzhx",
    "beans": "AI-Lab-Makerere",
    "billsum": "FiscalNote",
    "cifar10": "uoft-cs",
    "cnn_dailymail": "abisee",
    "conll2003": "eriktks",
    "dbpedia_14": "fancyzhx",
    "emotion": "dair-ai",
    "food101": "ethz",
    "glue": "nyu-mll",
    "imdb": "stanfordnlp",
    "mnist": "ylecun",
    "multi_nli": "nyu-mll",
    "opus_books": "Helsinki-NLP",
    "rotten_tomatoes": "cornell-movie-review-data",
    "sms_spam": "ucirvine",
    "snli": "stanfordnlp",
    "squad": "rajpurkar",
    "squad_v2": "rajpurkar",
    "super_glue": "aps",
    "swag": "allenai",
    "tiny_shakespeare": "karpathy",
    "trec": "CogComp",
    "tweet_eval": "cardiffnlp",
    "wikitext": "Salesforce",
    "wmt16": "wmt",
    "xsum": "EdinburghNLP",
    "yelp_review_full": "Yelp",
}
# Those of them whose repository holds a script and no data, under both names. CogComp/trec and EdinburghNLP/xsum are
# loaded with this revision by unitxt 1.26.10; eriktks/conll2003: stanfordnlp/dspy, pull request 9889.
SCRIPTS = {
    name: f"{NAMESPACES[short]}/{short}"
    for short in ("conll2003", "tiny_shakespeare", "trec", "xsum")
    for name in (short, f"{NAMESPACES[short]}/{short}")
}
FEW = 2  # the dataset and its configuration: with more arguments by position the revision may be among them
PARQUET_BRANCH = "refs/convert/parquet"


@codemod("load_dataset", "load_dataset_builder", "get_dataset_config_names", "get_dataset_split_names", order=60)
def dataset_names(context: Context) -> None:
    """Gives the datasets that scripts name literally their namespace."""
    if not context.is_ray_script:
        return
    for call in context.module.calls(*LOADERS):
        given = call.args[0] if call.args else next((k.value for k in call.keywords if k.arg == "path"), None)
        if given is None:
            continue
        name = given.value if isinstance(given, ast.Constant) else None
        if name is None:
            _name_from_elsewhere(context, given)
        if isinstance(name, str) and name in SCRIPTS:
            _parquet_copy(context, call, given, SCRIPTS[name])
        if not isinstance(name, str) or not name.isidentifier() or name in PACKAGED:
            continue
        if name not in NAMESPACES:
            context.manual(
                RM714, given, f'load_dataset("{name}") raises an HfUriError today, unless it is a local folder.'
            )
        elif context.converts(RM714, given, f'load_dataset("{name}") raises an HfUriError today.'):
            context.plan.replace(given, f'"{NAMESPACES[name]}/{name}"')


def _name_from_elsewhere(context: Context, given: ast.expr) -> None:
    """Reports a name that comes at run time, where the file holds a short name that may be it."""
    constants = (node.value for node in context.module.nodes if isinstance(node, ast.Constant))
    short = sorted({value for value in constants if isinstance(value, str) and value in NAMESPACES})
    for name in short:
        message = f'load_dataset raises an HfUriError today if this is "{name}".'
        context.manual(RM714, given, message, f'Use "{NAMESPACES[name]}/{name}" where the name is set.')


def _parquet_copy(context: Context, call: ast.Call, given: ast.expr, name: str) -> None:
    """Loads the Hub's own Parquet copy of a dataset that is a script."""
    message = f'"{name}" is a script, which datasets >= 4 refuses'
    arguments = {keyword.arg for keyword in call.keywords}
    if "revision" in arguments:
        return
    if None in arguments or len(call.args) > FEW:
        context.manual(RM715, given, f"{message}.", f'revision="{PARQUET_BRANCH}" loads the Parquet copy of the Hub.')
    elif context.converts(RM715, given, f"{message}; now the Parquet copy of the Hub."):
        context.plan.call(call).set("revision", f'"{PARQUET_BRANCH}"')
