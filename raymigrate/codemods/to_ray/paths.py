"""RM805: relative paths, which mean another folder on the workers.

Ray Train starts each worker in a folder of its own session, shared by the workers of a machine and not kept
(ray/train/v2/_internal/callbacks/working_dir_setup.py, 2.60). What the script names by a relative path, it finds there
no more, and what it writes there is lost. A literal path becomes a constant that the driver makes absolute, since what
the training function reads of its module goes along with it. Where they come from the command line, or cannot be seen,
the workers go to the driver's folder instead.
"""

import ast
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path, PurePosixPath
from posixpath import normpath

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.to_ray.cell_lines import run_by_workers
from raymigrate.codemods.to_ray.command_lines import CURRENT_FOLDER, folder_calls
from raymigrate.codemods.to_ray.kept_folders import is_read_again
from raymigrate.codemods.to_ray.other_paths import hands_over_relative
from raymigrate.codemods.to_ray.outline import Outline
from raymigrate.codemods.to_ray.roles import Role
from raymigrate.codemods.to_ray.trainer_calls import is_trainer, makes_arguments
from raymigrate.facts.syntax.nodes import Assignment, is_assignment
from raymigrate.facts.values import argument, called_name, is_call_by_name, is_none
from raymigrate.facts.values.carried import values_given

RM805 = Rule(
    "RM805",
    "relative paths of a plain script",
    "Workers of Ray Train run in a folder of the Ray session, which is not kept: a relative path leads there, a file of"
    " the script is not found, and what is saved is lost.",
    "With --to-ray paths are made absolute on the driver. On several machines they have to lie on storage that all"
    " workers see.",
    "https://docs.ray.io/en/latest/train/user-guides/persistent-storage.html",
    errors=("Unable to find */session_*/artifacts/*",),
)
WHY = "  # workers run in a folder of their own"
# Functions and methods (after a dot) whose argument is a path: its position, and its name.
PATHS: dict[str, tuple[int, str]] = {
    "open": (0, "file"),
    "torch.save": (1, "f"),
    "torch.load": (0, "f"),
    "datasets.load_from_disk": (0, "dataset_path"),
    "numpy.save": (0, "file"),
    "numpy.load": (0, "file"),
    "joblib.dump": (1, "filename"),
    "joblib.load": (0, "filename"),
    "matplotlib.pyplot.savefig": (0, "fname"),
    "os.makedirs": (0, "name"),
    "os.listdir": (0, "path"),
    "os.path.exists": (0, "path"),
    "os.path.isdir": (0, "path"),
    "os.path.isfile": (0, "path"),
    "transformers.trainer_utils.get_last_checkpoint": (0, "folder"),
    **{f"pandas.read_{kind}": (0, "filepath_or_buffer") for kind in ("csv", "table", "excel", "pickle", "feather")},
    **{f"pandas.read_{kind}": (0, "path_or_buf") for kind in ("json", "parquet")},
    **{f".to_{kind}": (0, "path_or_buf") for kind in ("csv", "json", "parquet")},
    **{f".{name}": (0, "output_dir") for name in ("save_model", "_save", "_save_optimizer_and_scheduler")},
    ".save_pretrained": (0, "save_directory"),
    ".save_to_disk": (0, "dataset_dict_path"),
    ".savefig": (0, "fname"),
    ".save_state": (0, "output_dir"),
    ".save_to_json": (0, "json_path"),
    ".to_json_file": (0, "json_file_path"),
    ".load_state": (0, "input_dir"),
    ".save": (1, "f"),
    "accelerate.Accelerator": (99, "project_dir"),
    "accelerate.utils.ProjectConfiguration": (0, "project_dir"),
    ".from_csv": (0, "path_or_paths"),
    ".from_json": (0, "path_or_paths"),
    "datasets.load_dataset": (99, "data_files"),
}
LOADERS = (".from_pretrained", "transformers.pipeline")
PATH_CLASSES = ("pathlib.Path", "pathlib.PosixPath")
JOINS = frozenset({"os.path.join", "pathlib.Path", "os.fspath", "os.path.normpath", "os.path.expanduser"})
ABSOLUTE = frozenset({"os.path.abspath", "os.path.realpath", "tempfile.mkdtemp", "os.getcwd"})
MOST_STEPS = 30
KEEPS = ("save_state", "save_metrics", "create_model_card")  # of a Trainer: they write to its folder, whatever they get
SAVES = ("save_model", "_save")  # so do these, where they are given no other folder


def make_paths_absolute(context: Context, outline: Outline) -> bool:
    """Lets the paths of a script mean on the workers what they meant to it.

    Returns:
        Whether the Trainer writes its checkpoints to a folder that stays after the run, and may hold older ones.
    """
    return _Paths(context, outline).change()


class _Paths:
    def __init__(self, context: Context, outline: Outline) -> None:
        self.context = context
        self.module = context.module
        self.outline = outline
        self.constants: dict[str, str] = {}  # by path
        self.changed: set[ast.expr] = set()
        self.joined = False  # whether a path is joined with the driver's folder where it is used
        self.steps = run_by_workers(outline)
        self.calls = [call for call in self.module.of_type(ast.Call) if outline.script.step_of(call) in self.steps]

    def change(self) -> bool:
        paths = [path for call in self.calls for path in self._paths(call)]
        arguments = [call for call in self.calls if makes_arguments(self.module, call)]
        folders = [path for call in arguments if (path := argument(call, 0, "output_dir")) is not None]
        every = [*paths, *folders]
        unseen = any(not self._is_literal(path) or self._is_half_known(path) for path in every)
        unseen = unseen or self._hands_over_others(paths, folders) or self._keeps_unseen_folder(arguments)
        if self.outline.needs_argv or unseen or self._asks_hydra():
            self._go_to_directory()
            return True
        for path in [*paths, *(path for path in folders if self._is_kept(path))]:
            self._make_absolute(path)
        lines = [f"{self.directory} = os.getcwd()"] if self.joined else []
        lines += [f'{name} = os.path.abspath("{path}")' for path, name in self.constants.items()]
        if lines:
            self.context.plan.need_import("os")
            self.outline.constants = "\n".join([lines[0] + WHY, *lines[1:]])
        return any(self._source(path) in self.changed or self._is_kept(path) for path in folders)

    def _hands_over_others(self, paths: list[ast.expr], folders: list[ast.expr]) -> bool:
        """Whether a relative path goes where nobody knows it here."""
        kept = {self._source(path) for path in (*paths, *(path for path in folders if self._is_kept(path)))}
        sources = {source for source in kept if not self._is_shared(source)}
        inside = {node for path in {*paths, *folders, *sources} for node in ast.walk(path)}
        folder = str(Path(self.context.path).parent) if self.context.path else ""
        made = {str(source.value) for source in sources if isinstance(source, ast.Constant)}
        calls = [*self.calls, *self._paths_of_driver()]
        return hands_over_relative(self.module, calls, inside.__contains__, folder, made)

    def _paths_of_driver(self) -> list[ast.Call]:
        """Where the driver makes a path that workers read: `IMAGES = Path("images")`, and there `IMAGES.glob("*")`."""
        script = self.outline.script
        waiting, makers = list(self.steps), set[ast.stmt]()
        while waiting:
            new = {step for entry in script.read(waiting.pop()) for step in script.binders(*entry)}
            new -= self.steps | makers
            makers |= new
            waiting += new
        calls = self.module.calls(*PATH_CLASSES) if makers else ()
        return [call for call in calls if script.step_of(call) in makers and not self._is_resolved(call)]

    def _is_resolved(self, path: ast.expr) -> bool:
        """Whether a path becomes absolute where it is made: `Path("images").resolve()`, `(ROOT / "x").absolute()`."""
        outer = self.module.parent_of[path]
        while isinstance(outer, ast.BinOp):
            outer = self.module.parent_of[outer]
        return isinstance(outer, ast.Attribute) and outer.attr in ("resolve", "absolute")

    # -- which -----------------------------------------------------------------------------------

    def _paths(self, call: ast.Call) -> Iterator[ast.expr]:
        """The paths among the arguments of a call."""
        name = called_name(self.module, call)
        if not name and isinstance(call.func, ast.Attribute):
            name = f".{call.func.attr}"
        if is_call_by_name(call, "open") and not name:
            name = "open"
        known = name if name in PATHS else f".{name.rpartition('.')[2]}"  # pyplot.savefig does what figure.savefig does
        if known in PATHS:
            place, keyword = PATHS[known]
            yield from self._given(call, keyword, place)
        if name == "datasets.load_dataset":
            yield from self._given(call, "data_dir")
        if name.endswith(LOADERS) or f".{name.rpartition('.')[2]}" in LOADERS:
            values = [*call.args, *(k.value for k in call.keywords if k.arg != "subfolder")]
            yield from (path for value in values for path in _written(value) if self._is_saved(path))
        if name == ".train" and isinstance(given := argument(call, 0, "resume_from_checkpoint"), ast.Constant):
            yield from _written(given)

    def _given(self, call: ast.Call, name: str, place: int | None = None) -> Iterator[ast.expr]:
        """The paths that an argument of a call gets, in a dict of this file that it unpacks too."""
        given = (source.node for source in values_given(self.module, call, name, place) if source.module is self.module)
        yield from (path for value in given for path in _written(value))

    def _is_saved(self, path: ast.expr) -> bool:
        """Whether a name to load from is a folder: it looks like one, or the script saves to it."""
        text = self.module.constant(path)
        if not isinstance(text, str):
            return False
        return text.startswith(("./", "../")) or text in self._saved or self._is_checkpoint(text)

    def _is_checkpoint(self, text: str) -> bool:
        """Whether it lies in the folder of the Trainer's checkpoints: "results/checkpoint-500"."""
        return text.startswith(self._folders)

    @cached_property
    def _folders(self) -> tuple[str, ...]:
        """How paths in the folders of checkpoints begin."""
        made = (call for call in self.calls if makes_arguments(self.module, call))
        named = (self.module.constant(folder) for call in made if (folder := argument(call, 0, "output_dir")))
        return tuple(f"{normpath(folder)}/" for folder in named if isinstance(folder, str))

    @cached_property
    def _saved(self) -> set[object]:
        saved = (call for call in self.calls if isinstance(call.func, ast.Attribute))
        return {
            self.module.constant(path)
            for call in saved
            if call.func.attr in ("save_model", "save_pretrained")  # type: ignore[attr-defined]
            for path in _written(argument(call, 0, "output_dir", "save_directory"))
        }

    def _is_kept(self, folder: ast.expr) -> bool:
        """Whether the script goes on to use the folder of its checkpoints."""
        text = self.module.constant(folder)
        if not isinstance(text, str) or text.startswith("/"):
            return True
        return self._resumes or is_read_again(self.module, text)

    def _keeps_unseen_folder(self, arguments: list[ast.Call]) -> bool:
        """Whether the script goes on to use a folder of checkpoints that is not written where it is made.

        It can come from a configuration or another file, and is the relative "trainer_output" where none is given
        (transformers 5.23, training_args.py `__post_init__`).
        """
        is_written = [argument(call, 0, "output_dir") is not None for call in arguments]
        return self._resumes and not (is_written and all(is_written))

    @cached_property
    def _resumes(self) -> bool:
        """Whether the script uses the folder of a Trainer's checkpoints without naming it."""
        return any(self._uses_folder(call) for call in self.calls)

    def _uses_folder(self, call: ast.Call) -> bool:
        name = call.func.attr if isinstance(call.func, ast.Attribute) else called_name(self.module, call)
        folder = argument(call, 0, "output_dir") if name in SAVES else None
        if name in (*KEEPS, *SAVES) and (folder is None or is_none(folder)):
            if is_trainer(self.module, call.func.value):  # type: ignore[attr-defined]
                return True
        given = argument(call, 0, "resume_from_checkpoint") if name == "train" else None
        resumes = given is not None and not (isinstance(given, ast.Constant) and given.value in (None, False))
        return resumes or name.endswith("get_last_checkpoint")

    def _is_literal(self, path: ast.expr) -> bool:
        """Whether a path begins with a literal, which shows whether it is relative."""
        source = self._source(path)
        return isinstance(source, ast.Constant) and isinstance(source.value, str)  # a name may stand for None

    def _is_half_known(self, path: ast.expr) -> bool:
        """Whether a path begins with a constant that is a name of something else too, and ends with what is not seen.

        Such a path cannot be told from a name of the Hub where the script reads it again.
        """
        source = self._source(path)
        is_relative = isinstance(source, ast.Constant) and _is_relative(str(source.value))
        return is_relative and self._is_shared(source) and not isinstance(self.module.constant(path), str)

    def _is_shared(self, source: ast.expr) -> bool:
        """Whether a path begins with a constant of the module that is not the beginning of paths alone."""
        step = self._constant_of(source)
        return step is not None and not self._names_a_path_only(step)

    def _constant_of(self, source: ast.expr) -> Assignment | None:
        """The assignment of the module that a literal stands in, if that stays where it is."""
        step = self.outline.script.step_of(source)
        is_definition = step is not None and self.outline.roles.of[step] is Role.DEFINITION
        return step if is_definition and is_assignment(step) else None

    # -- change ----------------------------------------------------------------------------------

    def _make_absolute(self, path: ast.expr) -> None:
        source = self._source(path)
        assert isinstance(source, ast.Constant)
        text = str(source.value)
        if source in self.changed or not _is_relative(text):
            return
        is_joined = self._is_shared(source)
        named = self.module.constant(path) if is_joined else text
        if self.context.converts(RM805, path if is_joined else source, f'"{named}" is made absolute on the driver.'):
            self._replace(path, source, text)

    def _source(self, path: ast.expr) -> ast.expr:
        """The expression that a path begins with: `OUT` of `f"{OUT}/model"`, and what is assigned to that."""
        return self._way_to_source(path)[-1]

    def _steps_to_source(self, path: ast.expr) -> set[ast.AST]:
        return {node for node in self._way_to_source(path) if isinstance(node, ast.Name)}

    def _way_to_source(self, path: ast.expr) -> list[ast.expr]:
        way = [path]
        for _ in range(MOST_STEPS):
            if isinstance(path, ast.JoinedStr) and path.values and _begins(path.values[0]):
                path = path.values[0]  # "/" and more, or what stands in braces
            elif isinstance(path, ast.FormattedValue):
                path = path.value
            elif isinstance(path, ast.BinOp):
                path = path.left
            elif isinstance(path, ast.Call) and path.args and self.module.qualified(path.func) in JOINS:
                path = path.args[0]
            elif isinstance(path, ast.Call) and self.module.qualified(path.func) in ABSOLUTE:
                return [*way, ast.Constant("/")]
            elif isinstance(path, (ast.Name, ast.Attribute)):
                found = self.module.origins(path, elsewhere=False)
                if len(found) != 1 or found[0].node is path:
                    break
                path = found[0].node
            else:
                break
            way.append(path)
        return way

    def _replace(self, path: ast.expr, source: ast.Constant, text: str) -> None:
        if self._is_shared(source):
            self.joined = True
            self.outline.uses.append(path)
            self.context.plan.replace(path, f"os.path.join({self.directory}, $path)", path=path)
            return
        if (step := self._constant_of(source)) is not None:
            self.changed.add(source)
            self._replace_value(step.value)
            return
        self.changed.add(source)
        self.outline.uses.append(source)
        if text not in self.constants:
            stem = re.sub(r"\W+", "_", PurePosixPath(text).stem).strip("_").upper() or "OUTPUT"
            stem = stem if not stem[0].isdigit() else f"PATH_{stem}"
            self.constants[text] = self.context.fresh(stem, f"{stem}_PATH")
        self.context.plan.replace(source, self.constants[text])

    @cached_property
    def directory(self) -> str:
        """The name of the constant that holds the driver's folder."""
        return self.context.fresh("DIRECTORY", "START_DIRECTORY")

    def _names_a_path_only(self, step: Assignment) -> bool:
        """Whether a constant is nothing but the beginning of paths, and not the name of a model as well."""
        return all(
            use in self._begins_paths
            for name in self.outline.script.bound(step)
            for use in self.module.uses(name, self.outline.script.scope(step))
        )

    @cached_property
    def _begins_paths(self) -> set[ast.AST]:
        """The names that paths begin with, in all calls of the module."""
        found = set[ast.AST]()
        for call in self.module.of_type(ast.Call):
            folder = argument(call, 0, "output_dir") if makes_arguments(self.module, call) else None
            for path in (*self._paths(call), *([folder] if folder is not None else [])):
                found |= self._steps_to_source(path)
        return found

    def _replace_value(self, value: ast.expr) -> None:
        if isinstance(value, ast.Call) and self.module.qualified(value.func) == "pathlib.Path":
            self.context.plan.replace(value, "$value.absolute()", value=value)
            return
        self.context.plan.need_import("os")
        self.context.plan.replace(value, "os.path.abspath($value)", value=value)

    def _go_to_directory(self) -> None:
        name = self.directory
        first = self.outline.roles.moved()[0]
        if self.context.converts(RM805, first, "The workers go to the folder of the driver, for relative paths."):
            self.context.plan.need_import("os")
            self.outline.support.insert(0, f"{name} = os.getcwd()")
            self.outline.start.append(f"os.chdir({name}){WHY}")
            for reference in self.module.references_within(CURRENT_FOLDER):
                call = self.module.parent_of[reference.node]
                if call in self.calls:
                    self.context.plan.replace(call, name)
                    self.context.rewritten.add(reference.root)

    def _asks_hydra(self) -> bool:
        """Whether workers ask hydra for the driver's folder, and get the one that they are in."""
        return not set(self.calls).isdisjoint(folder_calls(self.module))


def _begins(part: ast.expr) -> bool:
    """Whether what an f-string begins with says where it leads."""
    return isinstance(part, ast.FormattedValue) or str(getattr(part, "value", "")).startswith("/")


def _written(path: ast.expr | None) -> Iterator[ast.expr]:
    """The paths of an argument: one, or those in a list or a dict."""
    if isinstance(path, ast.Dict):
        for value in path.values:
            yield from _written(value)
    elif isinstance(path, (ast.List, ast.Tuple)):
        for item in path.elts:
            yield from _written(item)
    elif path is not None and not (isinstance(path, ast.Constant) and not isinstance(path.value, str)):
        yield path


def _is_relative(text: str) -> bool:
    return not text.startswith(("/", "~")) and "://" not in text
