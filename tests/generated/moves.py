"""Moves that spell a program in another way and leave what it means: of names, of definitions, between files and cells.

A program is its syntax trees by the names of its files. A move changes them and answers whether it found a place to.
"""

from __future__ import annotations

import ast
import copy
import json
import re
from collections.abc import Callable, Mapping, Sequence
from random import Random

from tests.generated.places import (
    DEFINITIONS,
    IMPORTS,
    Files,
    after_imports,
    assignment,
    at_once,
    blocks,
    bound_by,
    free_name,
    is_taken,
    loaded,
    names_read,
    outside_of_body,
    place_of_argument,
    replace_name,
    slots,
    times_bound,
    with_what_it_reads,
)

Move = Callable[[Random, Files], bool]
NOTED = "tokenize"  # the answers have it by its name
LIKED = (
    *("datasets", "train_func", "train_driver", "checkpoint", "checkpoint_dir", "config", "trainer", "num_rows"),
    *("scaling_config", "run_config", "train_dataset", "shard_dataloader", "preprocess", "storage_path", "state"),
)


def respelled(
    random: Random, texts: Mapping[str, str], moves: int, of: Sequence[Move] = ()
) -> tuple[dict[str, str], list[str]]:
    """The texts of a program after some moves, and the names of those that found a place.

    Args:
        random: Chooses.
        texts: By the names of their files.
        moves: How many are tried.
        of: What to choose from, by default all of this module.
    """
    if not moves:
        return dict(texts), []
    files = {name: ast.parse(text) for name, text in texts.items() if name.endswith(".py")}
    done = []
    for _ in range(moves):
        move = random.choice(of or MOVES)
        if move(random, files):
            done.append(move.__name__)
    respelled = {name: ast.unparse(ast.fix_missing_locations(tree)) + "\n" for name, tree in files.items()}
    return {**texts, **respelled}, done


def first_line(statement: ast.stmt) -> int:
    """Where a statement begins, with its decorators."""
    return min([statement.lineno, *(node.lineno for node in getattr(statement, "decorator_list", []))])


def cells(random: Random, text: str) -> str:
    """A script as a notebook: its statements in cells, cut anywhere."""
    lines, tree = text.splitlines(keepends=True), ast.parse(text)
    cuts = [first_line(statement) - 1 for statement in tree.body[1:] if random.random() < 0.4]
    pieces = [lines[start:end] for start, end in zip([0, *cuts], [*cuts, len(lines)], strict=True)]
    content: list[dict[str, object]] = [
        {
            "cell_type": "code",
            "execution_count": None,
            "metadata": {},
            "outputs": [],
            "source": "".join(piece).strip("\n"),
        }
        for piece in pieces
    ]
    return json.dumps({"cells": content, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


# Names.


def alias_an_import(random: Random, files: Files) -> bool:
    """`from x import y` becomes `from x import y as y_1`."""
    file = random.choice(list(files))
    tree = files[file]
    found = [
        alias
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname is None and times_bound(tree, alias.name) == 1 and not is_taken(files, file, alias.name)
    ]
    if not found:
        return False
    alias = random.choice(found)
    alias.asname = free_name(files, alias.name)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == alias.name:
            node.id = alias.asname
    return True


def name_a_constant(random: Random, files: Files) -> bool:
    """A number or a text among the arguments of a call, or in a dict, becomes a name of the module."""
    tree = random.choice(list(files.values()))
    found = [slot for slot in slots(tree) if isinstance(slot.value, ast.Constant)]
    if not found:
        return False
    slot = random.choice(found)
    name = free_name(files, slot.name.upper())
    tree.body.insert(after_imports(tree), assignment(name, slot.value))
    slot.put(loaded(name))
    return True


def name_an_argument(random: Random, files: Files) -> bool:
    """An argument of a call becomes a variable, set in front of the statement."""
    place = place_of_argument(random, files)
    if place is None:
        return False
    block, index, slot = place
    name = free_name(files, slot.name)
    block.insert(index, assignment(name, slot.value))
    slot.put(loaded(name))
    return True


def wrap_an_argument(random: Random, files: Files) -> bool:
    """An argument of a call becomes what a function returns, which stands in front of the statement."""
    place = place_of_argument(random, files)
    if place is None:
        return False
    block, index, slot = place
    name = free_name(files, f"make_{slot.name}")
    function = ast.parse(f"def {name}():\n    return 0").body[0]
    assert isinstance(function, ast.FunctionDef)
    function.body = [ast.Return(slot.value)]
    block.insert(index, function)
    slot.put(ast.Call(loaded(name), [], []))
    return True


def inline_a_variable(random: Random, files: Files) -> bool:
    """A variable that is read once, in the block that sets it, goes, unless another file imports it."""
    tree = random.choice(list(files.values()))
    others = (other for other in files.values() if other is not tree)
    imported = {node.name for other in others for node in ast.walk(other) if isinstance(node, ast.alias)}
    found = []
    for block in blocks(tree):
        for index, statement in enumerate(block):
            if not (isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)):
                continue
            name = statement.targets[0].id
            everywhere = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == name]
            here = [node for later in block[index + 1 :] for node in at_once(later) if node in everywhere]
            is_own = times_bound(tree, name) == 1 and name not in imported
            if len(everywhere) == 2 and len(here) == 1 and is_own:
                found.append((block, statement, here[0]))
    if not found:
        return False
    block, statement, use = random.choice(found)
    block.remove(statement)
    replace_name(tree, use, statement.value)
    return True


def annotate_a_variable(random: Random, files: Files) -> bool:
    """`x = T()` becomes `x: T = T()`."""
    found = [
        (block, statement)
        for tree in files.values()
        for block in blocks(tree)
        for statement in block
        if isinstance(statement, ast.Assign)
        and isinstance(statement.targets[0], ast.Name)
        and isinstance(statement.value, ast.Call)
        and re.fullmatch(r"([a-z]+\.)*[A-Z]\w+", ast.unparse(statement.value.func))
    ]
    if not found:
        return False
    block, statement = random.choice(found)
    [target], call = statement.targets, statement.value
    assert isinstance(call, ast.Call)
    assert isinstance(target, ast.Name)
    block[block.index(statement)] = ast.AnnAssign(target, copy.deepcopy(call.func), call, simple=1)
    return True


def keep_in_self(random: Random, files: Files) -> bool:
    """A variable of a method becomes an attribute; what reads nothing of the method is set in __init__."""
    found = [
        (tree, owner, method, statement)
        for tree in files.values()
        for owner in tree.body
        for method in (owner.body if isinstance(owner, ast.ClassDef) else [])
        if isinstance(method, ast.FunctionDef)
        and method.name != "__init__"
        and [each.arg for each in method.args.args] == ["self"]
        for statement in method.body
        if isinstance(statement, ast.Assign)
        and isinstance(statement.targets[0], ast.Name)
        and times_bound(tree, statement.targets[0].id) == 1
    ]
    if not found:
        return False
    tree, owner, method, statement = random.choice(found)
    [name] = bound_by(statement)
    own = set[str]().union(*map(bound_by, method.body)) | {"self"}
    if not own & names_read(statement.value):
        method.body.remove(statement)
        method.body = method.body or [ast.Pass()]
        start = ast.parse("def __init__(self):\n    pass").body[0]
        assert isinstance(start, ast.FunctionDef) and isinstance(owner, ast.ClassDef)
        made = [each for each in owner.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"]
        owner.body[:0] = [] if made else [start]
        (made or [start])[0].body.append(statement)
    for node in [each for each in ast.walk(owner) if isinstance(each, ast.Name) and each.id == name]:
        replace_name(tree, node, ast.Attribute(loaded("self"), name, node.ctx))
    return True


def rename(random: Random, files: Files) -> bool:
    """A variable or a function gets a name that the tool likes to give as well."""
    file = random.choice(list(files))
    return _rename_in(random, files, file, random.choice(LIKED))


def rename_to(random: Random, files: Files, new: str) -> bool:
    """A variable or a function gets a name."""
    return _rename_in(random, files, random.choice(list(files)), new)


def _rename_in(random: Random, files: Files, file: str, new: str) -> bool:
    tree = files[file]
    found = [
        (statement, name)
        for block in blocks(tree)
        for statement in block
        if isinstance(statement, (ast.Assign, ast.FunctionDef))
        for name in bound_by(statement)
        if times_bound(tree, name) == 1 and not is_taken(files, file, name) and name != NOTED
    ]
    if not found or times_bound(tree, new) or new in names_read(tree):
        return False
    statement, old = random.choice(found)
    if isinstance(statement, ast.FunctionDef) and statement.name == old:
        statement.name = new
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == old:
            node.id = new
    return True


# Definitions and imports.


def reorder_definitions(random: Random, files: Files) -> bool:
    """A function or class of the module moves up, to below the imports and what it reads at once."""
    tree = random.choice(list(files.values()))
    start = after_imports(tree)
    found = [node for node in tree.body[start + 1 :] if isinstance(node, DEFINITIONS)]
    if not found:
        return False
    node = random.choice(found)
    if isinstance(node, ast.FunctionDef) and node.decorator_list:
        return False
    tree.body.remove(node)
    tree.body.insert(start, node)
    return True


def reorder_imports(random: Random, files: Files) -> bool:
    """The imports at the top come in another order."""
    tree = random.choice(list(files.values()))
    end = after_imports(tree)
    head = tree.body[:end]
    random.shuffle(head)
    tree.body[:end] = head
    return end > 1


def split_an_import(random: Random, files: Files) -> bool:
    """`from x import a, b` becomes two statements."""
    found = [
        (block, node)
        for tree in files.values()
        for block in blocks(tree)
        for node in block
        if isinstance(node, ast.ImportFrom) and len(node.names) > 1
    ]
    if not found:
        return False
    block, node = random.choice(found)
    cut = random.randrange(1, len(node.names))
    block.insert(block.index(node), ast.ImportFrom(node.module, node.names[:cut], node.level))
    node.names = node.names[cut:]
    return True


def import_where_it_is_used(random: Random, files: Files) -> bool:
    """An import whose names one function reads moves into it."""
    tree = random.choice(list(files.values()))
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    found = []
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom):
            names = {alias.asname or alias.name for alias in statement.names}
            users = [node for node in tree.body if node is not statement and names & names_read(node)]
            if len(users) == 1 and users[0] in functions and not names & outside_of_body(users[0]):
                found.append((statement, users[0]))
    if not found:
        return False
    statement, user = random.choice(found)
    assert isinstance(user, ast.FunctionDef)
    tree.body.remove(statement)
    user.body.insert(0, statement)
    return True


def guard_an_import(random: Random, files: Files) -> bool:
    """An import stands in a `try` that ends the program with a hint."""
    tree = random.choice(list(files.values()))
    found = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    if not found:
        return False
    node = random.choice(found)
    guard = ast.parse("try:\n    pass\nexcept ImportError:\n    raise RuntimeError('pip install it')").body[0]
    assert isinstance(guard, ast.Try)
    guard.body = [node]
    tree.body[tree.body.index(node)] = guard
    return True


# Files.


def move_to_another_file(random: Random, files: Files) -> bool:
    """A definition goes to a file of its own, with the imports, definitions and constants that it reads."""
    origin = random.choice(list(files))
    tree = files[origin]
    found = [node for node in tree.body if isinstance(node, DEFINITIONS)]
    if not found:
        return False
    node = random.choice(found)
    moved = with_what_it_reads(tree, node)
    if moved is None:
        return False
    name = free_name(files, "pieces")
    gone = [each for each in moved if not isinstance(each, IMPORTS)]
    files[f"{name}.py"] = copy.deepcopy(ast.Module([each for each in tree.body if each in moved], []))
    kept = [each for each in tree.body if each not in gone]
    names = sorted(bound for each in gone for bound in bound_by(each))
    needed = [bound for bound in names if any(bound in names_read(each) for each in kept)] or [node.name]
    line = ast.ImportFrom(name, [ast.alias(bound) for bound in needed], 0)
    tree.body[:] = kept
    tree.body.insert(after_imports(tree), line)
    for other in files.values():  # that took something from the file
        for each in ast.walk(other):
            if isinstance(each, ast.ImportFrom) and f"{each.module}.py" == origin and other is not tree:
                needed_there = {alias.name for alias in each.names} & set(names)
                line.names += [ast.alias(bound) for bound in sorted(needed_there - {a.name for a in line.names})]
    return True


MOVES: list[Move] = [
    alias_an_import,
    name_a_constant,
    name_an_argument,
    wrap_an_argument,
    inline_a_variable,
    annotate_a_variable,
    keep_in_self,
    rename,
    reorder_definitions,
    reorder_imports,
    split_an_import,
    import_where_it_is_used,
    guard_an_import,
    move_to_another_file,
]
