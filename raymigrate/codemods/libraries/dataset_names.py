"""RM714: datasets named without their namespace.

huggingface_hub 2 refuses such names before it asks the Hub ("Single-segment ids (e.g. 'gpt2') are no longer supported",
hf_file_system.py 2.4, resolve_path), and datasets 5 goes through it. The redirects below are the Hub's own.
"""

import ast
import itertools

from raymigrate.base.expressions import lazy_regex
from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.settled_names import LOADERS, is_settled, names_datasets_only
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.shared.import_cleanup import is_exported
from raymigrate.facts.folders.local_paths import is_on_disk
from raymigrate.facts.projects.project_uses import Uses, answer
from raymigrate.facts.syntax.attribute_chains import names_of_chain
from raymigrate.facts.syntax.definitions import Definition
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.named_lines import line_of_file
from raymigrate.facts.syntax.nodes import blocks, only_target
from raymigrate.facts.values import (
    Source,
    argument,
    constants,
    has_unpacking,
    is_call_by_name,
    keyword_argument,
    origins,
)
from raymigrate.knowledge.legacy import TORCH_TRAINERS, TRAINERS

# docs/semantics/libraries.md: where no README on that branch names configurations, the name of one is a ValueError, and
# splits are guessed from the names of folders; files that are named do in each case.
PARQUET_BRANCH = "refs/convert/parquet"
PARQUET_COPY = (
    f'revision="{PARQUET_BRANCH}" loads the Parquet copy that the Hub keeps, with'
    ' data_files={"train": "CONFIGURATION/train/*.parquet"} in place of the name of a configuration, and each split as'
    " the folders of that branch name it"
)
RM714 = Rule(
    "RM714",
    "a dataset named without its namespace",
    "With huggingface_hub >= 2 and datasets >= 5 load_dataset raises HfUriError: Repository id must be"
    " 'namespace/name'.",
    "Use the full name, as the dataset's page on the Hub shows it. Where that page has a Python script and no data,"
    f" which raises a RuntimeError since datasets 4, {PARQUET_COPY}.",
    "https://huggingface.co/docs/datasets/loading#hugging-face-hub",
    errors=("Repository id must be 'namespace/name'",),
)

RM715 = Rule(
    "RM715",
    "a dataset that is a Python script",
    "datasets >= 4 runs no dataset scripts: RuntimeError: Dataset scripts are no longer supported.",
    f"For datasets of the Hub, {PARQUET_COPY}. Else convert the data to"
    " Parquet once, with an older datasets, and load that; or build it with Dataset.from_generator.",
    "https://huggingface.co/docs/datasets/loading",
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
    "cifar100": "uoft-cs",
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
# loaded with this revision by unitxt 1.26.10; eriktks/conll2003: stanfordnlp/dspy, pull request 9889. Each has one
# configuration.
SCRIPTS = {
    name: f"{NAMESPACES[short]}/{short}"
    for short in ("conll2003", "tiny_shakespeare", "trec", "xsum")
    for name in (short, f"{NAMESPACES[short]}/{short}")
}
FEW = 2  # the dataset and its configuration: with more arguments by position the revision may be among them
# A name that the Hub would be asked for: no path, no "namespace/name".
SHORT = lazy_regex(r"[\w-]+")
RAISES = "raises an HfUriError today"
UNSEEN = (
    'A dataset is named in full, "nyu-mll/glue" and not "glue": as its page on the Hub shows it. Folders and packaged'
    f" modules, such as csv, keep their names. Where that page has a script and no data, {PARQUET_COPY}."
)


@codemod(
    "load_dataset", "load_dataset_builder", "get_dataset_config_names", "get_dataset_split_names", phase=Phase.LIBRARIES
)
def dataset_names(context: Context) -> None:
    """Gives datasets their namespace where their names are written, and tells of those that cannot be seen."""
    told = _Told(context)
    for call in context.module.calls(*LOADERS):
        given = argument(call, 0, "path")
        if given is None or is_on_disk(context.module, given):
            continue
        found = [*_constants(context.module, given), *_in_tables(context.module, given)]
        told.with_namespace |= _behind_namespace(context.module, given)
        local = any(keyword.arg in ("data_files", "data_dir") for keyword in call.keywords)
        if len(found) == 1 and isinstance(found[0][1], str):
            _one_name(context, told, given, *found[0])
        elif not (local and all(value is ... for _, value in found)):
            _several_names(context, told, given, found)
        scripts = [value for _, value in found if isinstance(value, str) and value in SCRIPTS]
        if scripts:
            sure = len(found) == 1 and is_settled(context.module, given, found[0][0])
            _parquet_copy(context, call, given, SCRIPTS[scripts[0]], sure=sure)
    told.report()


class _Told:
    """What is left for a person, once for each name: a file may load the same dataset in many places.

    Args:
        context: The module.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._found: dict[tuple[str, str | None, str, ast.expr | None], list[ast.expr]] = {}
        self._named: list[tuple[ast.expr, Source, str]] = []
        self.with_namespace: set[ast.AST] = set()  # names that other calls give their namespace

    def add_name(self, given: ast.expr, source: Source, name: str) -> None:
        """Notes a name that a call may get: told where it is written, or at the call if another file writes it."""
        self._named.append((given, source, name))

    def _tell_name(self, given: ast.expr, source: Source, name: str) -> None:
        advice = advice_of(name)
        if source.node in self.with_namespace:
            advice = f'Write "{NAMESPACES[name]}/" before it here, as other calls have it now; the name stays as it is.'
        module = self._context.module
        written, here = ast.unparse(given), source.module is module
        if here and (source.node is given or module.inside(source.node, given)):
            self.add(given, f'load_dataset {RAISES} if this is "{name}".', advice)
            return
        where = "" if here else f", which {line_of_file(source.module, source.node)} writes"
        message = f'load_dataset({written}) {RAISES} where it gets "{name}"{where}.'
        self.add(given, message, advice, source.node if here and source.node not in self.with_namespace else given)

    def add(self, given: ast.expr, message: str, advice: str | None = None, place: ast.expr | None = None) -> None:
        """Notes what to say of the argument of one call, and where if not there."""
        module = self._context.module
        line, _ = module.start(given)
        if self._context.skips.of(RM714.code, line) is not None:
            self._context.manual(RM714, given, message, advice)  # this one place is kept as it is
        else:
            # A name that is set in two places, a default and that of a parser, is told at both: each has to change.
            self._found.setdefault((message, advice, ast.unparse(given), place), []).append(place or given)

    def report(self) -> None:
        """Reports each at its first place, with the number of the others."""
        for named in self._named:
            self._tell_name(*named)
        for (message, advice, written, _), places in self._found.items():
            more = len(places) - 1
            others = (
                f" So do {more} more calls with {written}." if more > 1 else f" So does another call with {written}."
            )
            self._context.manual(RM714, places[0], message + (others if more else ""), advice)


def _one_name(context: Context, told: _Told, given: ast.expr, source: Source, name: object) -> None:
    """Gives one dataset its namespace: where the name is written if it means nothing else, else at the call."""
    if not is_short(name):
        return
    message = f'load_dataset("{name}") {RAISES}'
    if name not in NAMESPACES:
        is_here = source.module is context.module
        told.add(given, f"{message}, unless it is a local folder.", place=source.node if is_here else given)
        return
    namespace = NAMESPACES[str(name)]
    where_written = names_datasets_only(context.module, given, source)
    if not where_written and not is_settled(context.module, given, source):
        told.add_name(given, source, str(name))
        return
    if context.converts(RM714, given, f'{message}; now "{namespace}/{name}".'):
        if where_written:
            context.plan.replace(source.node, f'"{namespace}/{name}"')
            return
        told.with_namespace.add(source.node)
        if isinstance(given, ast.Name):
            context.plan.replace(given, f'f"{namespace}/{{{given.id}}}"')
        else:
            context.plan.replace(given, f'"{namespace}/" + $name', name=given)


def _several_names(context: Context, told: _Told, given: ast.expr, found: list[tuple[Source, object]]) -> None:
    """Names the datasets that a call may load, and says so where there are others."""
    short = [(str(value), source) for source, value in found if is_short(value)]
    others = dict.fromkeys(named for named in short if not _name_at_the_call(context, given, named[1], named[0]))
    for name, source in sorted(others, key=lambda named: (named[0], named[1].module.start(named[1].node))):
        told.add_name(given, source, name)
    unseen = any(value is ... for _, value in found) and context.of_legacy_job
    if not short and unseen and not _has_slash(given) and not _never_runs(context.module, given):
        told.add(given, f"load_dataset {RAISES} if this is a name without its namespace.", UNSEEN)


def _name_at_the_call(context: Context, given: ast.expr, source: Source, name: str) -> bool:
    """Gives its namespace to one of the names among which a call itself chooses: `"squad_v2" if v2 else "squad"`."""
    is_here = source.module is context.module and isinstance(source.node, ast.Constant)
    if not is_here or not context.module.inside(source.node, given) or name not in NAMESPACES or name in SCRIPTS:
        return False
    around = itertools.takewhile(lambda parent: parent is not given, context.module.ancestors(source.node))
    if any(isinstance(parent, ast.Call) for parent in (given, *around)):
        return False  # TABLE.get(key, "squad"): the table may hold the same name
    whole = f'"{NAMESPACES[name]}/{name}"'
    if context.converts(RM714, source.node, f'load_dataset("{name}") {RAISES}; now {whole}.'):
        context.plan.replace(source.node, whole)
    return True


def _has_slash(given: ast.expr) -> bool:
    """Whether a name is put together with a slash in it, which those without their namespace have not."""
    parts = [given]
    for part in parts:  # which grows meanwhile
        if isinstance(part, ast.BinOp):
            parts += [part.left, part.right]
        elif isinstance(part, ast.JoinedStr):
            parts += part.values
    return any(isinstance(part, ast.Constant) and "/" in str(part.value) for part in parts)


def _behind_namespace(module: Module, given: ast.expr) -> set[ast.AST]:
    """The names to which a call itself gives their namespace: `"nyu-mll/" + config.name`."""
    parts = [given.left, given.right] if isinstance(given, ast.BinOp) else getattr(given, "values", [])
    if len(parts) != 2 or not str(module.constant(parts[0])).endswith("/"):
        return set()
    name = parts[1].value if isinstance(parts[1], ast.FormattedValue) else parts[1]
    return {source.node for source, value in constants(module, name) if is_short(value)}


def advice_of(name: str) -> str | None:
    """What to do about a dataset that is named without its namespace; None where no more is known than of any."""
    return f'Use "{NAMESPACES[name]}/{name}" where the name is set.' if name in NAMESPACES else None


def _never_runs(module: Module, node: ast.expr) -> bool:
    """Whether code is in a function of a script that trains which neither that nor another file of its project uses."""
    top = list(module.ancestors(node))[-2:-1]
    function = top[0] if top and isinstance(top[0], ast.FunctionDef) else None
    if function is None or not any(module.calls(*TORCH_TRAINERS, *TRAINERS)) or is_exported(module, function.name):
        return False
    if module.project is None:
        return not module.uses(function.name, module.scope_of[module.tree])
    return answer(module.project, "never used", Definition(module, function, function.name), _is_unused)


def _is_unused(uses: Uses) -> bool:
    return not (uses.reads or uses.imports or uses.unclear)


def _constants(module: Module, given: ast.expr) -> list[tuple[Source, object]]:
    """What the name of a dataset may be; for an attribute of an unseen object, what was put into it before."""
    found: list[tuple[Source, object]] = []
    for source, value in constants(module, given):
        put = _put_before(source) if value is ... and isinstance(source.node, ast.Attribute) else None
        seen = constants(source.module, put) if put is not None else []
        found += seen if seen and all(text is not ... for _, text in seen) else [(source, value)]
    return found


def _put_before(source: Source) -> ast.expr | None:
    """What is put into an attribute before it is read, and seen to stay in it: `config.dataset = "a/b"`."""
    module, read = source.module, source.node
    chain: list[ast.expr] = [
        part for part in ast.walk(read) if isinstance(part, (ast.Attribute, ast.Name))
    ]  # the longest part first
    if not isinstance(read, ast.Attribute) or len(names_of_chain(read)) != len(chain):
        return None  # `load().name`
    owners = {ast.unparse(part) for part in chain}  # `config.data.name`, `config.data`, `config`
    stores = [store for part in chain for store in module.stores(getattr(part, "attr", ""))]
    places = [store for store in stores if ast.unparse(store) in owners]
    bound = [*places, *(binding.node for binding in module.bindings_of(chain[-1]))]
    last = max((node for node in bound if module.start(node) < module.start(read)), key=module.start, default=None)
    if not isinstance(last, ast.Attribute) or ast.unparse(last) != ast.unparse(read):
        return None
    statement, around = module.statement(last), {module.statement(read), *module.ancestors(read)}
    is_passed = any(statement in block and around.intersection(block) for block in blocks(module.parent_of[statement]))
    if not is_passed or only_target(statement) is not last or module.function(last) is not module.function(read):
        return None
    return None if _is_filled(module, chain[1:], last, read) else module.assigned(last)


def _is_filled(module: Module, owners: list[ast.expr], stored: ast.expr, read: ast.expr) -> bool:
    """Whether an object gets values by name between two places: `config.update(more)`, `setattr(config, ...)`."""
    uses = (use for use in module.uses_of(owners[-1]) if module.start(stored) < module.start(use) < module.start(read))
    written = {ast.unparse(owner) for owner in owners}
    for use in uses:
        owner: ast.expr = use
        while isinstance(outer := module.parent_of[owner], ast.Attribute) and ast.unparse(outer) in written:
            owner = outer
        call = module.taking(owner)
        if is_call_by_name(call, "setattr", "vars") or (
            isinstance(outer, ast.Attribute) and module.calling(outer) is not None
        ):
            return True
    return False


def _in_tables(module: Module, given: ast.expr) -> list[tuple[Source, object]]:
    """The constants that an unseen key may choose from a dict of the module: `CONFIGS[args.name]["train"]`."""
    ends = [source for source in origins(module, given, elsewhere=False) if isinstance(source.node, ast.Subscript)]
    values = [value for end in ends for value in _chosen(module, end.node)]
    return [found for value in values for found in constants(module, value)]


def _chosen(module: Module, node: ast.AST) -> list[ast.expr]:
    """What stands in a dict of the module where a subscript may lead; nothing where the dict is not seen."""
    if not isinstance(node, ast.Subscript):
        return []
    found = [value for source in origins(module, node.value, elsewhere=False) for value in _dicts(module, source.node)]
    tables = [table for value in found if (table := module.entries(value)) is not None]
    key = module.constant(node.slice)
    if isinstance(key, str):
        return [table[key] for table in tables if key in table]
    return [value for table in tables for value in table.values()]


def _dicts(module: Module, node: ast.AST) -> list[ast.expr]:
    return [node] if isinstance(node, ast.Dict) else _chosen(module, node)


def is_short(name: object) -> bool:
    """Whether a name is one without a namespace, for which the Hub would be asked."""
    return isinstance(name, str) and SHORT.fullmatch(name) is not None and name not in PACKAGED


def _parquet_copy(context: Context, call: ast.Call, given: ast.expr, name: str, *, sure: bool) -> None:
    """Loads the Hub's own Parquet copy of a dataset that is a script, which has no name for the one configuration."""
    message = f'"{name}" is a script, which datasets >= 4 refuses'
    if keyword_argument(call, "revision") is not None:
        return
    configuration = argument(call, 1, "name")
    seen = configuration is None or isinstance(context.module.constant(configuration), str | None)
    if has_unpacking(call) or len(call.args) > FEW or not sure or not seen:
        advice = f'revision="{PARQUET_BRANCH}" loads the Parquet copy of the Hub; leave the configuration out.'
        context.manual(RM715, given, f"{message}.", advice)
    elif context.converts(RM715, given, f"{message}; now the Parquet copy of the Hub."):
        edit = context.plan.call(call)
        edit.set("revision", f'"{PARQUET_BRANCH}"')
        if configuration is not None:
            edit.names = ["path", "name"] if len(call.args) == FEW else []
            edit.remove.add("name")
