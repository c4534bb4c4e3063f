"""Relative paths of a plain script that go to what nobody here knows: datasets, writers, functions of other files.

A literal path in a known place becomes a constant that the driver makes absolute. Any other one is only seen by what
it looks like, and by what it is given to: `"./data"`, `"faces.png"`, `root="data"`, `"runs/" + name`, `args.log_dir`.
Names of the Hub look like that too (`"facebook/opt-125m"`), and so do names of metrics; what takes these is known.
"""

import ast
import builtins
import itertools
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path

from raymigrate.base.expressions import lazy_regex
from raymigrate.facts.folders.shell_downloads import COMMAND, STARTERS
from raymigrate.facts.projects.callees import functions_elsewhere
from raymigrate.facts.projects.project import with_imported
from raymigrate.facts.ray_train.storage import begins_with, is_absolute
from raymigrate.facts.syntax.attribute_chains import root_of_chain
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import FunctionNode
from raymigrate.facts.values import Source, argument, called_name, free_name, is_call_by_name, is_method_call, is_none

ENDINGS = (
    *("csv", "tsv", "jsonl?", "txt", "parquet", "arrow", "pt", "pth", "ckpt", "bin", "pkl", "np[yz]", "ya?ml", "h5"),
    *("png", "jpe?g", "gif", "jinja2?", "safetensors", "log", "db", "zip", "gz", "wav", "mp[34]", "onnx", "mat"),
    "model",
)
ENDS = lazy_regex(rf".*\.(?:{'|'.join(ENDINGS)})")
FILE = lazy_regex(rf"[\w.%{{}}:-]+(?:/[\w.%{{}}:-]+)*\.(?:{'|'.join(ENDINGS)})")
FOLDER = lazy_regex(r"[\w.%{}:-]+(?:/[\w.%{}:-]*)+")  # "runs/one", "data/"
# Names of arguments, options and variables that hold paths.
NAMES_PATH = lazy_regex(r"(?:.*_)?(?:dir|directory|path|paths|file|files|filename|fname|folder|root)")
NAMES_OF_HUB = lazy_regex(
    r".*(?:model|token|repo|hub|name|_id|pretrained|dataset|project|task|config|base).*", re.IGNORECASE
)
NOT_LOCAL = ("subfolder", "path_in_repo", "filename_in_repo")
# What takes paths, so that any word is one: "data" of os.path.join("data", name).
TAKES_PATHS = (
    *("os.path.join", "os.path.abspath", "os.path.realpath", "os.path.exists", "os.path.is", "os.path.getsize"),
    *("os.makedirs", "os.mkdir", "os.listdir", "os.walk", "os.scandir", "os.remove", "os.rename", "os.replace"),
    *("shutil.", "glob.", "pathlib.Path", "PIL.Image.open", "cv2.im", "h5py.File", "torchaudio.load", "soundfile."),
    *("torchvision.datasets.", "torchvision.utils.save_image", "torch.utils.tensorboard.", "tensorboardX."),
    *("wandb.save", "wandb.log_artifact", "mlflow.log_artifact"),  # log_artifacts() too
)
WRITERS = (  # without an argument they write below "runs"
    *("torch.utils.tensorboard.SummaryWriter", "torch.utils.tensorboard.writer.SummaryWriter"),
    "tensorboardX.SummaryWriter",
)
FOLDER_NOW = ("os.getcwd", "pathlib.Path.cwd")
HUB = (
    *("transformers.", "datasets.", "evaluate.", "peft.", "trl.", "diffusers.", "sentence_transformers."),
    "tokenizers.",
)
LOADS = ("from_pretrained", "load_adapter")
OF_HUB = ("huggingface_hub.",)  # whose file names are those of a repository
MAY_TAKE_PATHS = (
    *("torch.hub.", "torch.jit.", "torch.load", "torch.save", "torch.distributed.checkpoint."),
    *("numpy.load", "numpy.save", "numpy.fromfile", "numpy.genfromtxt", "numpy.memmap"),
    *("wandb.Image", "wandb.Audio", "wandb.Video"),
)
TAKES_NONE = (
    *("re.", "time.", "datetime.", "logging.", "typing.", "argparse.", "dataclasses.", "random.", "warnings.", "json."),
    *("collections.", "functools.", "itertools.", "math.", "wandb.", "mlflow.", "numpy.", "torch.", "tqdm.", "os."),
    *("sys.", "string.", "importlib.", "matplotlib.", "seaborn.", "plotly.", "sklearn.", "pandas.", "subprocess."),
    *("requests.", "accelerate.", "torchmetrics.", "timm.", "copy.", "enum.", "textwrap.", "nltk.", "comet_ml."),
    "bitsandbytes.",
)
METHODS = lazy_regex(
    r"_?(?:save|load|read|write|open|export|dump|restore|imread|imwrite)(?:_\w+)?|add_(?:file|dir)|log_artifacts?"
)
ANY, MAYBE, OF_MODULE, NAMES = "any word is a path", "may take paths", "is seen itself", "takes names of the Hub"


def hands_over_relative(
    module: Module, calls: Iterable[ast.Call], is_done: Callable[[ast.expr], bool], folder: str, made: Collection[str]
) -> bool:
    """Whether code of the workers may use a relative path that does not become absolute.

    Args:
        module: The module.
        calls: The calls that workers carry out.
        is_done: Whether a path, or what it begins with, is made absolute, or need not be.
        folder: The folder of the script; empty if it is not known.
        made: The paths that become absolute: the same word is one for a function of a library too.
    """
    finder = _Finder(module, is_done, folder, made)
    return any(finder.is_given_one(call) for call in calls) or any(map(_reads_relative, with_imported(module)[1:]))


class _Finder:
    def __init__(
        self, module: Module, is_done: Callable[[ast.expr], bool], folder: str, made: Collection[str] = ()
    ) -> None:
        self.module = module
        self.made = made
        self.is_done = is_done
        self.folder = folder
        self.options = _options(module)

    def is_given_one(self, call: ast.Call) -> bool:
        """Whether a call is given what may be a relative path, or uses the folder of the process."""
        name = self.module.qualified(call.func) or name_by_star(self.module, call.func)
        if name in FOLDER_NOW:
            return True
        if name in STARTERS:  # commands run in the folder of the process, and name files as they like
            return self._may_name_files(argument(call, 0, *COMMAND))
        if name in WRITERS and not call.args and not any(k.arg in (None, "log_dir", "logdir") for k in call.keywords):
            return True
        if self._goes_to_other_file(call):
            return True
        taker = self._taker(call, name)
        is_of_hub = name.startswith(OF_HUB)
        positional = call.args[:1] if taker == ANY and not name.startswith("shutil.") else call.args
        if any(taker and not is_of_hub and self._may_be(value, taker, name) for value in positional):
            return True
        return any(
            keyword.arg is not None and not is_of_hub and self._keyword(keyword.arg, keyword.value, taker, name)
            for keyword in call.keywords
        )

    def _goes_to_other_file(self, call: ast.Call) -> bool:
        """Whether any word goes to a function of another file, which takes it for a path: `save_all(model, "out")`."""
        return any(
            self._is_relative_word(value) and _takes_for_path(module, function, parameter)
            for module, function in functions_elsewhere(self.module, call)
            for parameter, value in _given(function, call)
        )

    def _is_relative_word(self, value: ast.expr) -> bool:
        text = self.module.constant(value)
        is_word = isinstance(text, str) and re.fullmatch(r"[\w.-][\w./-]*", text) is not None
        return is_word and not self.is_done(value)

    def takes_for_path(self, function: FunctionNode, parameter: str) -> bool:
        """Whether a function opens, writes or joins to a path what a parameter of it is given."""
        for name in self.module.below(function):
            if isinstance(name, ast.Name) and name.id == parameter and isinstance(name.ctx, ast.Load):
                value: ast.AST = name
                while isinstance(self.module.parent_of[value], (ast.JoinedStr, ast.FormattedValue, ast.BinOp)):
                    value = self.module.parent_of[value]
                call = self.module.parent_of[value]
                if isinstance(call, ast.Call) and value in call.args[:1] and self._takes_path(call):
                    return True
        return False

    def _takes_path(self, call: ast.Call) -> bool:
        if free_name(self.module, call.func) == "open":
            return True
        name = called_name(self.module, call)
        is_method = isinstance(call.func, ast.Attribute) and not name
        return self._taker(call, name) == ANY or (is_method and self._taker(call, name) == MAYBE)

    def _may_name_files(self, command: ast.expr | None) -> bool:
        """Whether a command has a word behind its name that may be a relative path, or is what nobody knows here."""
        if command is None:
            return False
        for source in self.module.origins(command):
            words = list(_words(source.module, source.node))
            if words[:1] == [...] or any(map(_may_be_relative, words[1:])):
                return True
        return False

    def _taker(self, call: ast.Call, name: str) -> str:
        """What a function may do with a text that it is given; empty if it takes no path."""
        last = call.func.attr if isinstance(call.func, ast.Attribute) else name.rpartition(".")[2]
        if last in LOADS or name.startswith(HUB):
            return NAMES
        if not name:
            if isinstance(call.func, ast.Name):
                definition = self.module.definition(call.func)
                return OF_MODULE if isinstance(definition, (ast.FunctionDef, ast.ClassDef)) else ""
            return MAYBE if METHODS.fullmatch(last) else ""
        if name.startswith(TAKES_PATHS):
            return ANY
        return "" if name.startswith(TAKES_NONE) and not name.startswith(MAY_TAKE_PATHS) else MAYBE

    def _keyword(self, key: str, value: ast.expr, taker: str, name: str) -> bool:
        if key in NOT_LOCAL or (key == "file" and not taker):  # print(text, file=log)
            return False
        names_model = taker == NAMES and (key == "path" or "name" in key)
        if NAMES_PATH.fullmatch(key) and not names_model:
            return self._may_be(value, ANY, name)
        taker = NAMES if taker in (MAYBE, OF_MODULE) and NAMES_OF_HUB.fullmatch(key) else taker
        return bool(taker) and self._may_be(value, MAYBE if taker == ANY else taker, name)

    def _may_be(self, value: ast.expr, taker: str, name: str) -> bool:
        """Whether a value may be a relative path, for what it is given to."""
        if self.is_done(value) or is_none(value) or is_absolute(self.module, value):
            return False
        firsts = [begins_with(source.module, source.node) for source in self.module.origins(value)]
        firsts = [first for first in firsts if not self.is_done(first.node)]
        if any(self._looks_relative(first, taker, name) for first in firsts):
            return True
        if not firsts or taker == NAMES or not (name == "os.path.join" or _is_put_together(value)):
            return False
        return any(map(self._is_open, firsts)) and (taker == ANY or _ends_as_file(value))

    def _looks_relative(self, first: Source, taker: str, name: str) -> bool:
        text = first.module.constant(first.node)
        if text is ...:
            return taker != OF_MODULE and self._holds_path(first)
        if not isinstance(text, str) or not text or text.startswith(("/", "~")) or "://" in text:
            return False
        if text.startswith(("./", "../")) or FILE.fullmatch(text) or (taker == ANY and not re.search(r"\s", text)):
            return True
        if (text in self.made and taker == MAYBE) or (self._is_beside(text) and taker != OF_MODULE):
            return True
        is_hub = taker == NAMES or NAMES_OF_HUB.fullmatch(name.rpartition(".")[2]) is not None
        return FOLDER.fullmatch(text) is not None and not is_hub

    def _holds_path(self, first: Source) -> bool:
        """Whether what is not known has the name of a path, or is an option whose default is one."""
        node = first.node
        bound = first.module.definition(node)
        if bound is not None and isinstance(first.module.parent_of.get(bound), ast.withitem):
            return False  # an open file
        if first.module.qualified(node.value if isinstance(node, ast.Subscript) else node) == "sys.argv":
            return True
        match node:
            case ast.Attribute(attr=name) | ast.Name(id=name) | ast.Subscript(slice=ast.Constant(value=str(name))):
                default = self.options.get(name, "")
                is_given = default.startswith(("./", "../")) or FILE.fullmatch(default) is not None
                return is_given or NAMES_PATH.fullmatch(name) is not None
        return False

    def _is_open(self, first: Source) -> bool:
        """Whether nothing is known of what a path begins with, and it is none of the script's own place."""
        parts = [part.id for part in ast.walk(first.node) if isinstance(part, ast.Name)]
        return first.module.constant(first.node) in (..., "") and "__file__" not in parts

    def _is_beside(self, text: str) -> bool:
        """Whether a text names a file or a folder beside the script."""
        named = bool(self.folder) and re.fullmatch(r"\w[\w./-]*", text) is not None
        return named and (Path(self.folder) / text).exists()


@kept
def _takes_for_path(module: Module, function: FunctionNode, parameter: str) -> bool:
    """See `_Finder.takes_for_path`: many calls of one function ask for it."""
    return _Finder(module, lambda _: False, "").takes_for_path(function, parameter)


def _given(function: FunctionNode, call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """What a call gives to parameters of a function, as far as both are written out."""
    names = [parameter.arg for parameter in (*function.args.posonlyargs, *function.args.args)]
    names = names[1:] if names[:1] in (["self"], ["cls"]) else names
    values = itertools.takewhile(lambda value: not isinstance(value, ast.Starred), call.args)
    yield from zip(names, values, strict=False)
    yield from ((keyword.arg, keyword.value) for keyword in call.keywords if keyword.arg is not None)


def name_by_star(module: Module, node: ast.expr) -> str:
    """The name of what only a star import of others can give, as it is written; empty for anything else."""
    root = root_of_chain(node)
    if not module.star_imports or root is None or hasattr(builtins, root.id):
        return ""
    return "" if module.bound_in(root) is not None else ast.unparse(node)


def _words(module: Module, command: ast.expr) -> Iterator[object]:
    """The words of a command, `...` for each that is not known: those of a text, or the items of a list."""
    if isinstance(command, (ast.List, ast.Tuple)):
        for item in command.elts:
            yield from [...] if isinstance(item, ast.Starred) else [module.constant(item)]
        return
    text = module.constant(command)
    if isinstance(command, ast.JoinedStr) and not isinstance(text, str):
        filled = "".join(str(part.value) if isinstance(part, ast.Constant) else "\0" for part in command.values)
        yield from (... if "\0" in word and not word.startswith("/") else word for word in filled.split())
    elif isinstance(text, str):
        yield from text.split()
    else:
        yield ...


def _may_be_relative(word: object) -> bool:
    """Whether a word of a command may be a relative path: options, signs of the shell and numbers are none."""
    if not isinstance(word, str):
        return word is ...
    return not word.startswith(("/", "~", "-", "$", "&", "|", ">", "<", ";")) and "://" not in word


@kept
def _options(module: Module) -> dict[str, str]:
    """The options of the command line that have a text as default, with that."""
    found = dict[str, str]()
    for call, _ in module.method_calls("add_argument"):
        default = module.constant(argument(call, len(call.args), "default"))
        for given in call.args:
            option = module.constant(given)
            if isinstance(option, str) and isinstance(default, str):
                found[option.lstrip("-").replace("-", "_")] = default
    return found


def _is_put_together(value: ast.expr) -> bool:
    return isinstance(value, (ast.JoinedStr, ast.BinOp)) or _template(value) is not None


def _template(value: ast.expr) -> ast.expr | None:
    """What `.format` fills; None for any other value."""
    return value.func.value if is_method_call(value, "format") else None


def _ends_as_file(value: ast.expr) -> bool:
    """Whether a text that is put together ends as the name of a file: `f"{epoch}.png"`, `"%d.png" % epoch`."""
    if (template := _template(value)) is not None:
        return _ends_as_file(template)
    if isinstance(value, ast.BinOp):
        return _ends_as_file(value.left if isinstance(value.op, ast.Mod) else value.right)
    if isinstance(value, ast.JoinedStr) and value.values:
        return _ends_as_file(value.values[-1])
    return isinstance(value, ast.Constant) and isinstance(value.value, str) and ENDS.fullmatch(value.value) is not None


def _reads_relative(module: Module) -> bool:
    """Whether a file that the script imports names a relative path itself: `open("data/words.txt")`."""
    finder = _Finder(module, lambda _: False, "")
    for call in module.of_type(ast.Call):
        given = [value for value in (*call.args[:1], *(k.value for k in call.keywords)) if _is_literal_path(value)]
        if given and finder.is_given_one(call):
            return True
        if is_call_by_name(call, "open") and given:
            return True
    return False


def _is_literal_path(value: ast.expr) -> bool:
    text = value.value if isinstance(value, ast.Constant) else None
    return isinstance(text, str) and (text.startswith(("./", "../")) or FILE.fullmatch(text) is not None)
