"""Python out of Python: syntax trees of fixtures with parts deleted, doubled, swapped, wrapped and mixed."""

from __future__ import annotations

import ast
import copy
from contextlib import suppress
from random import Random

# Statements that people write around Ray code, and that bind, read or take away names in ways of their own.
STATEMENTS = """
from ray.air import *
from ray import air as air, train, tune
import ray.train.huggingface as hf, ray.air.session
session = None
del session
global_state = {**globals()}
report = session.report
report({"a": 1}, checkpoint=None)
trainer = TransformersTrainer = None
if (found := session.get_checkpoint()) is not None: found.to_dict()
with open("x") as file, session.get_checkpoint().as_directory() as folder: print(folder)
try: from ray.air import session
except ImportError: session = None
try: session.report({})
except* ValueError: pass
else: pass
finally: print()
for (a, *b), session in []: continue
while session: break
else: pass
match session:
    case {"a": [1, *_], **rest} | air.ScalingConfig(num_workers=int(x)) if x: session.report(rest)
    case _: pass
async def coroutine(): return [session.report(x) async for x in y if await z]
@(lambda f: f)
class session(air.Checkpoint, metaclass=type): report = staticmethod(print)
def generator(*args, lr: "float" = 1e-3, **config) -> "session": yield from (session.report(r) for r in args)
lambda session=session, /, *, report=session.report: session.report
f"{session.report({'a': 1})!r:>{10}} {session}"
assert session.get_world_rank() == 0 and not air.session, "session.report"
x = [session.report, session.get_trial_id()][0] if session else (yield_ := {**session, "a": session})
print(result.metrics["loss"], result.checkpoint.to_dict(), result.metrics_dataframe)
trainer = HuggingFaceTrainer(lambda *a, **k: None, scaling_config=air.ScalingConfig(2), **kwargs)
getattr(air, name)(**{"num_workers": 2})
exec("from ray.air import session"); session.report({})
if __name__ == "__main__": trainer.fit()
def outer():
    nonlocal_session = session
    def inner(session=nonlocal_session): nonlocal nonlocal_session; return session.report
    return inner
""".strip().split("\n")


def _parsed(lines: list[str]) -> list[ast.stmt]:
    """The statements that this version of Python knows."""
    found: list[ast.stmt] = []
    start = 0
    for end in range(1, len(lines) + 1):
        if end < len(lines) and lines[end].startswith((" ", "except", "else", "finally", "case", "class session")):
            continue
        with suppress(SyntaxError):
            found += ast.parse("\n".join(lines[start:end])).body
        start = end
    return found


POOL = _parsed(STATEMENTS)


def mutated_tree(random: Random, text: str, other: str) -> str:
    """A script, changed in a few places.

    Args:
        random: Where all choices come from.
        text: Python.
        other: More of it, parts of which come into the first.

    Raises:
        SyntaxError: If the text is none.
    """
    tree = ast.parse(text)
    try:
        donor = ast.parse(other)
    except SyntaxError:  # one with magics
        donor = tree
    for _ in range(random.randint(1, 6)):
        random.choice(MUTATIONS)(random, tree, donor)
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _bodies(tree: ast.AST) -> list[list[ast.stmt]]:
    lists = [value for node in ast.walk(tree) for value in vars(node).values() if isinstance(value, list)]
    return [value for value in lists if value and isinstance(value[0], ast.stmt)]


def _expressions(tree: ast.AST) -> list[tuple[ast.AST, str, int | None]]:
    """The places of expressions that are read."""
    places: list[tuple[ast.AST, str, int | None]] = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.FormattedValue, ast.JoinedStr, ast.pattern)):
            continue
        for name, value in ast.iter_fields(node):
            for index, item in enumerate(value) if isinstance(value, list) else [(None, value)]:
                if isinstance(item, ast.expr) and isinstance(getattr(item, "ctx", ast.Load()), ast.Load):
                    places.append((node, name, index))
    return places


def _statement(random: Random, tree: ast.AST, donor: ast.AST) -> None:
    body = random.choice(_bodies(tree))
    source = POOL if random.random() < 0.5 else random.choice(_bodies(donor))
    body.insert(random.randint(0, len(body)), copy.deepcopy(random.choice(source)))


def _delete(random: Random, tree: ast.AST, donor: ast.AST) -> None:
    body = random.choice(_bodies(tree))
    if len(body) > 1:
        del body[random.randrange(len(body))]


def _double(random: Random, tree: ast.AST, donor: ast.AST) -> None:
    body = random.choice(_bodies(tree))
    body.insert(random.randint(0, len(body)), copy.deepcopy(random.choice(body)))


def _swap(random: Random, tree: ast.AST, donor: ast.AST) -> None:
    one, two = random.choice(_bodies(tree)), random.choice(_bodies(tree))
    i, j = random.randrange(len(one)), random.randrange(len(two))
    one[i], two[j] = copy.deepcopy(two[j]), copy.deepcopy(one[i])


def _wrap(random: Random, tree: ast.AST, donor: ast.AST) -> None:
    body = random.choice(_bodies(tree))
    index = random.randrange(len(body))
    around = ["if x:", "try:", "with a as b:", "def wrapped(self):", "class Wrapped:", "for _ in range(2):", "while x:"]
    end = "\nfinally:\n    pass" if (head := random.choice(around)) == "try:" else ""
    [outer] = ast.parse(f"{head}\n    pass{end}").body
    outer.body = [body[index]]  # type: ignore[attr-defined]
    body[index] = outer


def _expression(random: Random, tree: ast.AST, donor: ast.AST) -> None:
    places, sources = _expressions(tree), _expressions(random.choice([tree, donor]))
    if not places or not sources:
        return
    node, name, index = random.choice(sources)
    value = getattr(node, name)
    _put(random.choice(places), copy.deepcopy(value if index is None else value[index]))


def _nest(random: Random, tree: ast.AST, donor: ast.AST) -> None:
    if not (places := _expressions(tree)):
        return
    node, name, index = place = random.choice(places)
    value = getattr(node, name)
    forms = [
        "({})",
        "[{}]",
        "f({})",
        "{}.x",
        "{}[0]",
        "({} if x else y)",
        "(lambda: {})",
        "(a := {})",
        "[*{}]",
        "not {}",
    ]
    text = ast.unparse(value if index is None else value[index])
    for form in random.choices(forms, k=random.choice([1, 2, 30])):
        text = form.format(text)
    try:
        _put(place, ast.parse(f"({text})", mode="eval").body)
    except (SyntaxError, MemoryError, RecursionError):
        return


def _rename(random: Random, tree: ast.AST, donor: ast.AST) -> None:
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    if names:
        random.choice(names).id = random.choice(names).id


def _argument(random: Random, tree: ast.AST, donor: ast.AST) -> None:
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    if not calls:
        return
    call, other = random.choice(calls), random.choice(calls)
    what = random.randrange(4)
    if what == 0 and call.keywords:
        del call.keywords[random.randrange(len(call.keywords))]
    elif what == 1 and call.keywords:
        call.keywords[0].arg = None  # **
    elif what == 2:
        call.args = [
            ast.Starred(copy.deepcopy(arg), ast.Load()) for arg in call.args if not isinstance(arg, ast.Starred)
        ]
    else:
        known = {keyword.arg for keyword in call.keywords}
        call.keywords += [copy.deepcopy(keyword) for keyword in other.keywords if keyword.arg not in known]


def _put(place: tuple[ast.AST, str, int | None], value: ast.expr) -> None:
    node, name, index = place
    if index is None:
        setattr(node, name, value)
    else:
        getattr(node, name)[index] = value


MUTATIONS = [
    _statement,
    _statement,
    _delete,
    _double,
    _swap,
    _wrap,
    _expression,
    _expression,
    _nest,
    _rename,
    _argument,
]
