"""What new code uses is what it means, whatever else the script calls so.

Every fixture is converted again with each name that its twin binds or reads beyond it, imports and builtins among them,
given another meaning by lines of its own: the new code has to mean the same as before, or something is left and told.
"""

import ast
import builtins
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import pytest

from raymigrate.base.findings import Finding, Kind
from raymigrate.documents import Plain, open_document
from raymigrate.edits.import_names import NotRenamedError
from raymigrate.edits.plan import Plan
from raymigrate.edits.rewriter import rewrite
from raymigrate.facts.syntax.module import Module
from raymigrate.run.engine import convert
from scripts.update_twins import options_of

BUILTINS = frozenset(dir(builtins))
MARK = "  # theirs"
MEANINGS = (
    "{name} = 'linux'",
    "import string as {name}",
    "def {name}(): pass",
    "for {name} in (): pass",
    "class {name}: pass",
    "def set_{name}():\n    global {name}\n    {name} = 'linux'",
    "with open('linux') as {name}: pass",
)
Clash = Callable[[str, Sequence[str]], str]


def meaning(text: str) -> Counter[str]:
    """How often code reads what: each import and builtin by its whole name, and what has a line that is marked."""
    module = Module(text)
    found = Counter(reference.qualified for reference in module.references)
    roots = {reference.root for reference in module.references}
    for node in module.of_type(ast.Name):
        if isinstance(node.ctx, ast.Load) and node not in roots:
            bindings = module.scope_of[node].lookup(node.id)
            if node.id in BUILTINS and not bindings:
                found[f"builtins.{node.id}"] += 1
            found[MARK] += any(is_theirs(module, binding.node, node) for binding in bindings)
    return +found


def is_theirs(module: Module, bound: ast.AST, read: ast.Name) -> bool:
    """Whether a read may see what a marked line binds; in the same function that has to stand above it."""
    first, scope = module.start(bound)[0], module.scope_of[read]
    later = scope.parent is not None and module.scope_of[bound] is scope and read.lineno < first
    return module.lines[first - 1].endswith(MARK) and not later


def new_names(before: str, after: str) -> list[str]:
    """The names of the script's new code: those that it binds, and the builtins that it reads."""
    old, new = Module(before), Module(after)
    bound = {name for scope in new.scopes for name in scope.bindings}
    read = {name for name in new.names & BUILTINS if len(new.reads(name)) > len(old.reads(name))}
    taken = {name for scope in old.scopes for name in scope.bindings} | {node.id for node in old.of_type(ast.Name)}
    return sorted((bound - taken) | {name for name in read if not old.reads(name)})


def in_module(text: str, names: Sequence[str]) -> str:
    """The script with lines below its imports that give names other meanings."""
    lines, body = text.splitlines(keepends=True), ast.parse(text).body
    first = next(
        (each for each in body if not isinstance(each, (ast.Import, ast.ImportFrom)) and not is_text(each)), body[-1]
    )
    new = "\n".join(MEANINGS[number % len(MEANINGS)].format(name=name) for number, name in enumerate(names))
    lines.insert(line_above(first), "".join(f"{line}{MARK}\n" for line in new.splitlines()))
    return "".join(lines)


def in_functions(text: str, names: Sequence[str]) -> str:
    """The script with variables of these names in every function."""
    lines = text.splitlines(keepends=True)
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    for function in sorted(functions, key=lambda node: -node.lineno):
        first = function.body[1] if is_text(function.body[0]) and function.body[1:] else function.body[0]
        if line_above(first) >= function.lineno:  # it does not stand on the line of the `def`
            lines.insert(line_above(first), f"{' ' * first.col_offset}{' = '.join(names)} = 'linux'{MARK}\n")
    return "".join(lines)


def line_above(statement: ast.stmt) -> int:
    return min([statement.lineno, *(each.lineno for each in getattr(statement, "decorator_list", ()))]) - 1


def is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def left(findings: list[Finding]) -> Counter[str]:
    return Counter(finding.code for finding in findings if finding.kind in (Kind.MANUAL, Kind.ERROR))


def twin(path: Path) -> str | None:
    """What a script becomes; None where nothing of it changes.

    `test_every_file_becomes_its_twin` converts each as it is: to do so here would take half of the time.
    """
    if isinstance(open_document(path.read_bytes(), str(path)), Plain):
        after = path.with_name("after.py").read_text()
        return after if after != path.read_text() else None
    return convert(path.read_text(), str(path), options_of(path)).after  # the cells of its twin come out otherwise


def wrong(path: Path, clash: Clash) -> list[str]:
    """The names that come out with another meaning, and without a word."""
    options, text, after = options_of(path), path.read_text(), twin(path)
    names = new_names(text, after) if after is not None else []
    wanted = meaning(after or "")

    @cache
    def plain() -> Counter[str]:
        return left(convert(text, str(path), options).findings)

    def wrong_of(names: Sequence[str]) -> list[str]:
        result = convert(clash(text, names), str(path), options)
        if result.after is not None and meaning(result.after) == wanted:
            return []
        if len(names) == 1:
            return [] if left(result.findings) - plain() else [*names]
        half = len(names) // 2
        return wrong_of(names[:half]) + wrong_of(names[half:])

    return wrong_of(names) if names else []


@pytest.mark.rotating(3)
def test_new_code_means_the_same_whatever_else_has_its_names(script: Path) -> None:
    clash = in_functions if len(script.parent.name) % 2 else in_module  # each would do for all, and take twice the time
    assert wrong(script, clash) == []


SCRIPT = """\
import ray
{above}
from ray.air.config import ScalingConfig
from ray.train.huggingface import TransformersTrainer
from transformers import AutoModel, Trainer, TrainingArguments

{below}


def build(train_dataset, eval_dataset=None, **config):
    {inside}
    return Trainer(AutoModel.from_pretrained({used}), TrainingArguments("out"), train_dataset=load())


trainer = TransformersTrainer(build, scaling_config=ScalingConfig(num_workers=2))
trainer.fit()
"""


def converted(above: str = "", below: str = "", inside: str = "", used: str = "'x'") -> str:
    result = convert(SCRIPT.format(above=above, below=below, inside=inside or "pass", used=used), "train.py")
    assert not [finding for finding in result.findings if finding.kind is Kind.ERROR]
    assert result.after is not None
    return result.after


@pytest.mark.parametrize(
    "lines",
    [
        {"above": "import numpy as os"},
        {"above": "from models import os"},
        {"below": "os = 'linux'", "used": "os"},
        {"below": "def os(): pass"},
        {"below": "def choose():\n    global os\n    os = 'linux'"},
        {"inside": "for os in ['linux']: pass", "used": "os"},
        {"inside": "os = config['os']", "used": "os"},
    ],
)
def test_the_module_has_another_name_where_the_script_calls_something_else_so(lines: dict[str, str]) -> None:
    after = converted(**lines)
    assert "import os as os_module\n" in after
    assert "os_module.path.join(checkpoint_dir" in after
    assert " os.path" not in after


def test_what_another_function_calls_so_is_no_matter() -> None:
    after = converted(below="def name(os):\n    return os")
    assert "import os\n" in after
    assert "os_module" not in after


def test_an_import_that_may_fail_is_still_the_library() -> None:
    after = converted(above="try:\n    import os\nexcept ImportError:\n    os = None")
    assert "os_module" not in after


def test_names_from_a_module_and_builtins_have_others_too() -> None:
    after = converted(below="def prepare_trainer(x): return x\n\n\nclass TorchTrainer: pass\n\n\nsuper = list = 1")
    assert "from ray.train.torch import TorchTrainer as RayTorchTrainer\n" in after
    assert "trainer = ray_prepare_trainer(trainer)" in after
    assert "builtins.super().on_save(" in after


def test_what_a_call_calls_now_is_no_code_of_the_script() -> None:
    after = converted(below="TorchTrainer = load()\nprint(TorchTrainer)")
    assert "trainer = RayTorchTrainer(train_func, " in after


@pytest.mark.parametrize("name", ["os", "prepare_trainer"])
def test_an_attribute_of_what_the_script_calls_so_stays(name: str) -> None:
    """New code has `$data.items()` of the script's own expression: that is nothing of the library, or it is refused."""
    before = Module(f"{name} = make()\nshow({name})\n")
    plan = Plan()
    if name == "os":
        plan.need_import("os")
    else:
        plan.need_import("ray.train.huggingface.transformers", name)
    call = before.of_type(ast.Call)[1]
    plan.replace(call.args[0], f"dict({name}.items())")
    if name == "os":
        assert "show(dict(os.items()))" in rewrite(before, plan)
    else:
        with pytest.raises(NotRenamedError, match="could mean either"):
            rewrite(before, plan)


def test_new_code_that_may_be_the_scripts_own_is_refused() -> None:
    before = Module("os = make()\nprint(os.path.join(a, b))\n")
    plan = Plan()
    plan.need_import("os")
    call = before.of_type(ast.Call)[1]
    plan.replace(call.args[0], "os.path.join(a, b)")
    with pytest.raises(NotRenamedError, match="could mean either"):
        rewrite(before, plan)


CLASH = """
import ray
from ray.air.config import ScalingConfig
from ray.train.huggingface import HuggingFaceTrainer
from transformers import Trainer, TrainingArguments
def make(train_dataset, eval_dataset=None, **config):
    return Trainer(model=model, args=TrainingArguments("out"), train_dataset=train_dataset)
{bound}
print({name})
HuggingFaceTrainer(make, scaling_config=ScalingConfig(num_workers=2), datasets={datasets}).fit()
"""


@pytest.mark.parametrize("name", ["DataLoader", "TorchTrainer", "prepare_trainer", "IterableDatasetShard"])
@pytest.mark.parametrize("bound", ["{} = dict(train=load())", "{} = load()", "from mine import {}"])
def test_a_name_that_both_use_is_told_with_its_line_rm910(name: str, bound: str) -> None:
    result = convert(CLASH.format(bound=bound.format(name), name=name, datasets=name))
    (finding,) = result.findings
    assert result.after is None
    assert (finding.code, finding.kind, finding.line) == ("RM910", Kind.ERROR, 8)
    assert f"`{name}`" in finding.message and "another name" in finding.advice


def test_a_name_that_only_the_script_uses_there_is_no_finding_rm910() -> None:
    for name, datasets in (("rows", "rows"), ("DataLoader", '{"train": DataLoader.train}')):
        result = convert(CLASH.format(bound=f"{name} = load()", name=name, datasets=datasets))
        assert result.after is not None and not [f for f in result.findings if f.code in ("RM903", "RM910")]
