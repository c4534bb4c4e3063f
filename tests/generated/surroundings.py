"""Moves of what stands around a job: names of libraries, objects that keep settings, remote drivers, own classes."""

from __future__ import annotations

import ast
from dataclasses import replace
from random import Random

from tests.generated.moves import Move, rename_to
from tests.generated.places import Files, after_imports, blocks, free_name, loaded, place_of_argument, times_bound
from tests.generated.trials import Program

# That converted code imports, or has of Python.
OF_LIBRARIES = (
    *("os", "torch", "tempfile", "math", "json", "pickle", "shutil", "Path", "builtins", "list", "dict", "super"),
    *(
        "TorchTrainer",
        "TorchConfig",
        "DataConfig",
        "RunConfig",
        "DataLoader",
        "IterableDatasetShard",
        "prepare_trainer",
    ),
    *("RayTrainReportCallback", "TuneReportCallback", "ExecutionOptions", "Accelerator", "tune", "train", "air"),
)
TUNED = {
    "scheduler": ("ray.tune.schedulers", "ASHAScheduler", "max_t=3"),
    "search_alg": ("ray.tune.search.optuna", "OptunaSearch", ""),
}


def take_the_name_of_a_library(random: Random, files: Files) -> bool:
    """A variable or a function is called as something that converted code imports."""
    return rename_to(random, files, random.choice(OF_LIBRARIES))


def hide_a_library_in_a_function(random: Random, files: Files) -> bool:
    """A function has a variable of its own that is called so."""
    tree = random.choice(list(files.values()))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    name = random.choice(OF_LIBRARIES)
    if not functions or times_bound(tree, name):
        return False
    function = random.choice(functions)
    if any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(tree)):
        return False
    function.body[:0] = ast.parse(f"{name} = 'theirs'\nassert {name} == 'theirs'").body
    return True


def keep_in_an_object(random: Random, files: Files) -> bool:
    """An argument of a call becomes an attribute of a Namespace, or of an OmegaConf, made in front of the statement."""
    place = place_of_argument(random, files)
    if place is None or not isinstance(place[2].value, ast.Constant):
        return False
    block, index, slot = place
    name, key = free_name(files, "settings"), slot.name
    made = random.choice(
        [
            f"import argparse\n{name} = argparse.Namespace({key}=0)",
            f"from omegaconf import OmegaConf\n{name} = OmegaConf.create({{'{key}': 0}})",
            f"from omegaconf import OmegaConf\n{name} = OmegaConf.create(dict({key}=0))",
        ]
    )
    lines = ast.parse(made).body
    zero = next(node for node in ast.walk(lines[1]) if isinstance(node, ast.Constant) and node.value == 0)
    zero.value = slot.value.value
    block[index:index] = lines
    slot.put(ast.Attribute(loaded(name), key, ast.Load()))
    return True


def drive_remotely(random: Random, files: Files) -> bool:
    """A function that the module calls by itself runs on the cluster."""
    tree = files["train.py"]
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    found = [
        (statement, statement.value.func.id)
        for block in blocks(tree)
        for statement in block
        if isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Call)
        and isinstance(statement.value.func, ast.Name)
        and statement.value.func.id in functions
        and not statement.value.args
    ]
    if not found or times_bound(tree, "ray") > 1:
        return False
    statement, name = random.choice(found)
    uses = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == name]
    if len(uses) > 1 or functions[name].decorator_list:
        return False
    functions[name].decorator_list = [ast.parse("ray.remote", mode="eval").body]
    statement.value = ast.parse(f"ray.get({name}.remote())", mode="eval").body
    if not times_bound(tree, "ray"):
        tree.body.insert(0, ast.parse("import ray").body[0])
    return True


def subclass_the_trainer(random: Random, files: Files) -> bool:
    """The trainer is one of a class of the script's own."""
    tree = files["train.py"]
    names = {
        alias.asname or alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ray.train.huggingface")
        for alias in node.names
        if alias.name.endswith("Trainer")
    }
    uses = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id in names]
    if len(uses) != 1:
        return False
    name = free_name(files, "OwnTrainer")
    tree.body.insert(after_imports(tree), ast.parse(f"class {name}({uses[0].id}):\n    pass").body[0])
    uses[0].id = name
    return True


def with_search(random: Random, program: Program) -> Program:
    """A program with a Tuner that has a scheduler or a search algorithm too."""
    keyword = random.choice(list(TUNED))
    module, name, given = TUNED[keyword]
    old, new = (
        'TuneConfig(metric="loss", mode="min")',
        f'TuneConfig(metric="loss", mode="min", {keyword}={name}({given}))',
    )
    if old not in program.files["train.py"]:
        return program
    text = f"from {module} import {name}\n{program.files['train.py'].replace(old, new)}"
    tuner = dict(program.wanted.tuners[0])
    tuner["config"] = str(tuner["config"]).replace(")", f", {keyword}={name}({given}))")
    return replace(program, files={**program.files, "train.py": text}, wanted=replace(program.wanted, tuners=[tuner]))


SURROUNDINGS: list[Move] = [
    take_the_name_of_a_library,
    take_the_name_of_a_library,
    hide_a_library_in_a_function,
    keep_in_an_object,
    drive_remotely,
    subclass_the_trainer,
]
