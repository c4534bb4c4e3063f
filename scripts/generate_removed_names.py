"""Writes `raymigrate/data/removed_names.json`: what legacy scripts could import, and the target versions no longer have.

The old libraries cannot be installed beside the new ones, so their wheels are downloaded and only read (`ast`, nothing of
them is run). What is left of it today is asked of the installed libraries themselves, in a child process for each.

    python scripts/generate_removed_names.py [--cache FOLDER]
"""

import argparse
import ast
import importlib
import inspect
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

OUTPUT = Path(__file__).parent.parent / "raymigrate" / "data" / "removed_names.json"

# Legacy scripts name Ray 2.0 to 2.9. The Hugging Face versions go on to the last ones before today's major version, because
# a script that was half brought up to date names those.
OLD_VERSIONS = {
    "ray": ["2.0.1", "2.4.0", "2.6.3", "2.7.2", "2.9.3"],
    "transformers": ["4.19.4", "4.26.1", "4.30.2", "4.36.2", "4.46.3", "4.57.1"],
    "accelerate": ["0.12.0", "0.17.1", "0.20.3", "0.25.0", "0.34.2"],
    "datasets": ["2.11.0", "2.15.0", "2.21.0", "3.6.0"],
    "evaluate": ["0.4.0"],
}
DOWNLOAD = ["--no-deps", "--only-binary=:all:", "--python-version=3.10", "--platform=manylinux2014_x86_64"]

# Modules whose names are compared; every public module of the library is compared as a module.
COVERED = re.compile(
    r"""ray\.air(\..+)? | ray\.train(\..+)? | ray\.tune(\..+)? | ray\.util\.ml_utils(\..+)?
    | ray\.data(\.(preprocessors?|dataset|datasource|iterator|read_api|aggregate|block|context|row|group).*)?
    | transformers(\.(trainer|training_args|optimization|deepspeed|integrations|data|utils|file_utils|hf_argparser
        |modeling_utils|tokenization_utils|debug_utils|generation|onnx).*)?
    | (datasets|accelerate|evaluate)(\.(load|metric|utils|state|tasks|accelerator|module|inspect|info|features))?""",
    re.VERBOSE,
)
LIBRARY_MODULES = re.compile(
    r"(ray\.(air|train|tune|data|util\.ml_utils)|transformers|accelerate|datasets|evaluate)(\.|$)"
)
NOT_API = re.compile(
    r"(^|\.)(_.*|tests?|test_.*|examples?|benchmarks?|commands|convert_.*|.*_test|dummy_.*_objects)(\.|$)"
)
NOT_API_NAMES = {"logger", "logging"}
NOT_API_CALLS = {"getLogger", "get_logger", "TypeVar"}

# Callables whose parameters are compared: today's name, and the module and name in the old wheels.
CALLABLES = {
    "accelerate.Accelerator": "accelerate.accelerator.Accelerator",
    "datasets.load_dataset": "datasets.load.load_dataset",
    "ray.train.CheckpointConfig": "ray.air.config.CheckpointConfig",
    "ray.train.FailureConfig": "ray.air.config.FailureConfig",
    "ray.train.RunConfig": "ray.air.config.RunConfig",
    "ray.train.ScalingConfig": "ray.air.config.ScalingConfig",
    "ray.train.torch.TorchTrainer": "ray.train.torch.torch_trainer.TorchTrainer",
    "transformers.Seq2SeqTrainer": "transformers.trainer_seq2seq.Seq2SeqTrainer",
    "transformers.Seq2SeqTrainingArguments": "transformers.training_args_seq2seq.Seq2SeqTrainingArguments",
    "transformers.Trainer": "transformers.trainer.Trainer",
    "transformers.TrainingArguments": "transformers.training_args.TrainingArguments",
}


def module_statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run when the module is imported: what stands under `if TYPE_CHECKING` does not."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.unparse(statement.test):
            yield from module_statements(statement.orelse)
        elif isinstance(statement, ast.If | ast.Try | ast.With):
            for block in ("body", "orelse", "finalbody"):
                yield from module_statements(getattr(statement, block, []))
            for handler in getattr(statement, "handlers", []):
                yield from module_statements(handler.body)


def strings(node: ast.AST) -> set[str]:
    """Every string written inside an expression."""
    return {n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)}


class Library:
    """The sources of one version of a library, read from its wheel or from where it is installed."""

    def __init__(self, place: Path) -> None:
        self.sources: dict[str, Path | zipfile.Path] = {}
        if place.is_dir():
            files = {str(path.relative_to(place.parent)): path for path in place.rglob("*.py")}
        else:
            archive = zipfile.ZipFile(place)
            files = {member: zipfile.Path(archive, member) for member in archive.namelist() if member.endswith(".py")}
        for name, path in files.items():
            dotted = re.sub(r"^[^/]+\.data/(purelib|platlib)/", "", name)[: -len(".py")].replace("/", ".")
            self.sources[dotted.removesuffix(".__init__")] = path
        self.packages = {module.rpartition(".")[0] for module in self.sources}

    def public_modules(self) -> set[str]:
        """Every module that a script may have imported."""
        return {module for module in self.sources if LIBRARY_MODULES.match(module) and not NOT_API.search(module)}

    @cache
    def tree(self, module: str) -> list[ast.stmt]:
        """The statements that run when the module is imported."""
        return list(module_statements(ast.parse(self.sources[module].read_text(encoding="utf-8")).body))

    def imported_from(self, module: str, statement: ast.ImportFrom) -> str:
        """The absolute name of the module that a `from ... import` names."""
        if not statement.level:
            return statement.module or ""
        parts = module.split(".")
        parts = parts[: len(parts) - statement.level + (self.sources[module].name == "__init__.py")]
        return ".".join([*parts, *([statement.module] if statement.module else [])])

    @cache
    def bindings(self, module: str) -> dict[str, str]:
        """The public names of a module of this library, each with the qualified name of where it was imported from."""
        found: dict[str, str] = {}
        for statement in self.tree(module):
            match statement:
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                    found[name] = f"{module}.{name}"
                case ast.ImportFrom(names=aliases):
                    origin = self.imported_from(module, statement)
                    if origin.partition(".")[0] == module.partition(".")[0]:
                        found |= self.imported(origin, aliases)
                case ast.Assign() | ast.AugAssign() | ast.AnnAssign():
                    found |= dict.fromkeys(assigned(statement), "")
                case ast.Expr(value=ast.Call(func=ast.Attribute(value=target), args=arguments)):
                    if is_list_of_names(target):
                        found |= dict.fromkeys(set().union(*map(strings, arguments)), "")
                case ast.Delete(targets=targets):
                    for target in targets:
                        found.pop(ast.unparse(target), None)
        if module == "transformers" and "define_import_structure" in self.sources[module].read_text(encoding="utf-8"):
            for model in self.sources:  # since 4.49 the models' names stand in their own `__all__`
                if model.startswith("transformers.models."):
                    found |= dict.fromkeys(self.declared(model), "")
        return {
            name: origin
            for name, origin in found.items()
            if name.isidentifier() and name[0] != "_" and name not in NOT_API_NAMES
        }

    def imported(self, origin: str, aliases: list[ast.alias]) -> dict[str, str]:
        """The names that `from origin import ...` binds, those of a star import included."""
        if [alias.name for alias in aliases] != ["*"]:
            return {alias.asname or alias.name: f"{origin}.{alias.name}" for alias in aliases}
        names = (self.declared(origin) or self.bindings(origin)) if origin in self.sources else ()
        return {name: f"{origin}.{name}" for name in names}

    def declared(self, module: str) -> set[str]:
        """The names in a module's `__all__`."""
        lists = [s for s in self.tree(module) if isinstance(s, ast.Assign | ast.AugAssign)]
        return set().union(*(strings(s.value) for s in lists if "__all__" in ast.unparse(s).partition("=")[0]))

    def parameters(self, qualified: str) -> set[str]:
        """The names that a function or a class takes as arguments; for a dataclass, its fields and its bases'."""
        module, _, name = qualified.rpartition(".")
        if module not in self.sources:
            return set()
        origin = self.bindings(module).get(name, qualified)
        if origin != qualified:
            return self.parameters(origin)
        for node in self.tree(module):
            if isinstance(node, ast.FunctionDef) and node.name == name:
                return argument_names(node)
            if isinstance(node, ast.ClassDef) and node.name == name:
                found = {s.target.id for s in node.body if isinstance(s, ast.AnnAssign) and is_init_field(s)}
                for statement in node.body:
                    if isinstance(statement, ast.FunctionDef) and statement.name == "__init__":
                        return argument_names(statement)
                return found.union(*(self.parameters(f"{module}.{ast.unparse(base)}") for base in node.bases))
        return set()


def is_list_of_names(target: ast.expr) -> bool:
    """Whether a list names what a module offers: `__all__`, or the table of a lazy module of transformers."""
    return bool(re.match(r"__all__|_?import_structure\b", ast.unparse(target)))


def assigned(statement: ast.Assign | ast.AugAssign | ast.AnnAssign) -> set[str]:
    """The names that an assignment makes importable: its targets, or the names listed by `__all__` and its like."""
    value = statement.value
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    if value is None:
        return set()
    if any(is_list_of_names(target) for target in targets):
        # Of a whole import structure the values count: its keys are modules.
        return set().union(*map(strings, value.values)) if isinstance(value, ast.Dict) else strings(value)
    if isinstance(value, ast.Call) and ast.unparse(value.func).rpartition(".")[2] in NOT_API_CALLS:
        return set()
    return {target.id for target in targets if isinstance(target, ast.Name)}


def is_init_field(statement: ast.AnnAssign) -> bool:
    """Whether a line of a dataclass makes a parameter of its constructor."""
    return "ClassVar" not in ast.unparse(statement.annotation) and "init=False" not in ast.unparse(statement)


def argument_names(function: ast.FunctionDef) -> set[str]:
    """The arguments that can be given by name."""
    return {a.arg for a in [*function.args.args, *function.args.kwonlyargs]} - {"self"}


def ask_installed(questions: dict) -> dict:
    """Runs in a child process: what of the modules, names and arguments asked for the installed libraries have."""
    answers: dict = {"modules": {}, "names": {}, "arguments": {}}
    for module in questions["modules"]:
        answers["modules"][module] = state_of_module(module)
    for module, names in questions["names"].items():
        if answers["modules"].get(module) == "here":
            answers["names"][module] = [name for name in names if has(sys.modules[module], name)]
    for qualified, names in questions["arguments"].items():
        answers["arguments"][qualified] = accepted(qualified, names)
    return answers


def state_of_module(module: str) -> str:
    """ "here", "gone", or "unknown" when it does not import for the lack of another library."""
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            return "unknown"
        parent, _, name = module.rpartition(".")
        return (
            "here as a name"
            if parent and state_of_module(parent) == "here" and has(sys.modules[parent], name)
            else "gone"
        )
    except Exception:
        return "unknown"
    return "here"


def has(owner: object, name: str) -> bool:
    """Whether a name is there: an error other than AttributeError says that it is, and that another library is missing."""
    try:
        return hasattr(owner, name)
    except Exception:
        return True


def accepted(qualified: str, names: list[str]) -> list[str]:
    """The arguments that the installed callable takes and does not refuse whatever their value."""
    module, _, name = qualified.rpartition(".")
    function = getattr(importlib.import_module(module), name)
    return [n for n in names if n in inspect.signature(function).parameters and not refused(qualified, function, n)]


def refused(qualified: str, function: Callable[..., object], argument: str) -> bool:
    """Whether Ray Train V2 raises for an argument: it keeps the old ones in its signatures only to say that they are gone."""
    if not qualified.startswith("ray.train."):
        return False
    required = [lambda: None] if qualified.endswith("Trainer") else []
    for value in (0, False, "text", {"CPU": 1}):
        try:
            function(*required, **{argument: value})
        except DeprecationWarning:  # raised, not warned
            return True
        except Exception:
            continue
    return False


def installed(library: str, questions: dict) -> dict:
    """The answers of a child process to `ask_installed`; one per library, so that none changes what another offers."""
    command = [sys.executable, __file__, "--answer"]
    done = subprocess.run(command, input=json.dumps(questions), capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{library}: {done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def download(cache_folder: Path, library: str, old: str) -> Library:
    """The sources of an old version, fetched once."""
    wheels = f"{library}-{old}-*.whl"
    if not list(cache_folder.glob(wheels)):
        command = [sys.executable, "-m", "pip", "download", "--quiet", *DOWNLOAD, f"--dest={cache_folder}"]
        subprocess.run([*command, f"{library}=={old}"], check=True)
    return Library(next(cache_folder.glob(wheels)))


def compare(library: str, old_versions: list[Library]) -> dict:
    """What of a library's old versions is gone."""
    modules = sorted(set().union(*(old.public_modules() for old in old_versions)))
    names: dict[str, set[str]] = {module: set() for module in modules if COVERED.fullmatch(module)}
    for old in old_versions:
        for module in names.keys() & old.sources.keys():
            names[module] |= old.bindings(module).keys()
    arguments = {
        qualified: sorted(set().union(*(old.parameters(place) for old in old_versions)))
        for qualified, place in CALLABLES.items()
        if qualified.partition(".")[0] == library
    }
    asked = {module: sorted(found) for module, found in names.items()}
    answers = installed(library, {"modules": modules, "names": asked, "arguments": arguments})

    location = find_spec(library)
    assert location is not None and location.origin is not None
    today = Library(Path(location.origin).parent)
    for module, state in answers["modules"].items():
        if state == "unknown":  # another library that it needs is not installed: read its source instead
            answers["names"][module] = (
                today.bindings(module).keys() if module in today.sources else names.get(module, ())
            )
            print(f"{module}: does not import here, read instead")
    gone = {module for module, state in answers["modules"].items() if state == "gone"}
    removed = {m: found - set(answers["names"][m]) for m, found in names.items() if m in answers["names"]}
    return {
        "removed": {module: sorted(found) for module, found in removed.items() if found},
        "removed_arguments": {q: sorted(set(old) - set(answers["arguments"][q])) for q, old in arguments.items()},
        "removed_modules": sorted(module for module in gone if module.rpartition(".")[0] not in gone),
    }


def main() -> None:
    """Writes the table anew."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "raymigrate" / "wheels")
    parser.add_argument("--answer", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.answer:
        print(json.dumps(ask_installed(json.load(sys.stdin))))
        return
    table: dict = {"versions": {}, "removed": {}, "removed_arguments": {}, "removed_modules": []}
    for library, old_versions in OLD_VERSIONS.items():
        found = compare(library, [download(arguments.cache, library, old) for old in old_versions])
        table["versions"][library] = version(library)
        table["removed"] |= found["removed"]
        table["removed_arguments"] |= found["removed_arguments"]
        table["removed_modules"] += found["removed_modules"]
        print(
            f"{library}: {sum(map(len, found['removed'].values()))} names, {len(found['removed_modules'])} modules gone"
        )
    OUTPUT.write_text(json.dumps(table, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
