"""Other names for new imports where the script calls something else so.

A script may have a variable, a parameter, a function or an import of its own that is called as what new code uses:
`os = platform.system()`. There `import os` becomes `import os as os_module`, and the new code says `os_module.path`.
A builtin that the script has another meaning for is `builtins.list`. Whatever name new code uses is looked at.
"""

import ast
import builtins
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from itertools import accumulate, chain, count

from raymigrate.base.expressions import lazy_regex
from raymigrate.edits.import_runs import module_of, root_of
from raymigrate.edits.plan import Code, Needed, Part, Plan
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import Nodes
from raymigrate.facts.syntax.scopes import Binding, Scope, ScopeBuilder
from raymigrate.files.script import lines_of, lines_with_ends

TOKEN = lazy_regex(r"(?<![\w.])[A-Za-z_]\w*")
PLACEHOLDER = lazy_regex(r"\$(?=[a-z_])")
BUILTINS = frozenset(dir(builtins))
BRANCHES = (ast.Try, ast.If)


class NotRenamedError(Exception):
    """New code uses a name that is something else in the script, and cannot use another.

    Args:
        name: The name.
        message: Where both meet.
        line: The line on which the script binds it first.
    """

    def __init__(self, name: str, message: str, line: int = 1) -> None:
        super().__init__(message)
        self.name = name
        self.line = line


def local_name(source: str, name: str | None) -> str:
    """The name that an import binds; for the arguments see `Plan.need_import`."""
    return root_of(source) if name is None else name.rpartition(" as ")[2]


def as_name(name: str | None, alias: str) -> str:
    """What `Plan.need_import` takes for an import under another name."""
    return f"{name or ''} as {alias}"


def rename_imports(module: Module, plan: Plan) -> None:
    """Gives the imports of a plan, and its code that uses them, names that are nothing else where they are used.

    Raises:
        NotRenamedError: If it is not sure whether code means the import or what the script calls so.
    """
    renaming = _Renaming(module, plan)
    try:
        renaming.rename()
    except NotRenamedError as error:
        error.line = renaming.first_line(error.name)
        raise


@dataclass(frozen=True)
class Use:
    """A use of a name in code: `os.path.join(a, b)`.

    Args:
        spans: Where the name is, alone and with each attribute on it.
        said: The name with all of them.
        text: The same with its arguments, where it is called: how often code of the script itself is in new code.
        is_called: Whether it is.
    """

    spans: Sequence[tuple[int, int]]
    said: str
    text: str
    is_called: bool


class _Renaming:
    def __init__(self, module: Module, plan: Plan) -> None:
        self.module = module
        self.plan = plan
        self.places: dict[str, list[tuple[Scope | None, Code]]] = {}  # of new code, by the names in it
        for place, code in plan.places():
            for name in _names(code):
                self.places.setdefault(name, []).append((self._scope(place, code), code))

    def rename(self) -> None:
        """Renames what has to be."""
        meant: dict[str, set[str]] = {}  # what each new name stands for
        for source, name, _ in self.plan.needed_imports:
            local = local_name(source, name)
            imported = (name or "").partition(" as ")[0]
            origin = f"{source}.{imported}" if imported else source
            meant.setdefault(local, set()).add(local if name is None else origin)
        for name, origins in meant.items():
            if name in self.places and name in self._bound and self._is_hidden(name, origins):
                self._rename_import(name, origins)
        for name in sorted(BUILTINS.intersection(self.places, self._bound) - meant.keys()):
            self._rename_builtin(name)

    # -- what else has a name ------------------------------------------------------------------

    @cached_property
    def _bound(self) -> set[str]:
        return {name for scope in self.module.scopes for name in scope.bindings}

    def first_line(self, name: str) -> int:
        """The line on which the script first binds a name."""
        bindings = (binding for scope in self.module.scopes for binding in scope.bindings.get(name, ()))
        return min((self.module.start(binding.node)[0] for binding in bindings if self._stays(binding)), default=1)

    def _is_hidden(self, name: str, meant: set[str]) -> bool:
        """Whether a name is something else too where an import of the plan, or new code, stands."""
        needed = [entry for entry in self.plan.needed_imports if local_name(*entry[:2]) == name]
        homes = [self.module.scope_of[near or self.module.tree] for _, _, near in needed]
        return any(self._has_others(scope, name, meant) for scope in {*homes, *self._scopes_of_uses(name)})

    def _scopes_of_uses(self, name: str) -> Iterator[Scope]:
        """The scopes that new code with a name sees; all of them where code moves."""
        scopes = {scope for scope, _ in self.places[name]}
        if None in scopes or any(code.blocks for code in self.plan.codes()):
            yield from self.module.scopes
        for found in scopes:
            while found is not None:
                yield found
                found = found.parent

    def _has_others(self, scope: Scope, name: str, meant: set[str]) -> bool:
        """Whether a scope goes on to bind a name to something else than is meant."""
        bindings = [binding for binding in scope.bindings.get(name, ()) if self._stays(binding)]
        others = [binding for binding in bindings if self._qualified(binding) not in meant]
        if not others:
            return False
        # What takes over where one of the same fails: `try: import torch`, `except ImportError: torch = None`.
        same = (binding.node for binding in bindings if self._qualified(binding) in meant)
        ways = {outer for node in same for outer in self.module.ancestors(node) if isinstance(outer, BRANCHES)}
        return any(ways.isdisjoint(self.module.ancestors(binding.node)) for binding in others)

    def _stays(self, binding: Binding) -> bool:
        around = [binding.node, *self.module.ancestors(binding.node)]
        return binding.node not in self.plan.dropped_imports and self.plan.dissolved.keys().isdisjoint(around)

    def _qualified(self, binding: Binding) -> str | None:
        """What an import binds once the plan is carried out."""
        if isinstance(binding.statement, ast.ImportFrom) and binding.statement in self.plan.import_modules:
            assert isinstance(binding.node, ast.alias)
            return f"{module_of(binding.statement, self.plan)}.{binding.node.name}"
        return binding.qualified

    def _scope(self, place: ast.AST, code: Code) -> Scope | None:
        """The scope that the code of a place is in; None where a rule made the place, as it sees it in another."""
        edit = self.plan.functions.get(place)
        starts_body = edit is not None and any(code is start for start in edit.body_start)
        node = place.body[0] if starts_body else place  # type: ignore[attr-defined]
        return self.module.scope_of.get(node)

    def _is_called(self, place: ast.AST, code: Code) -> bool:
        """Whether code is what a call of the script calls now."""
        edit = self.plan.calls.get(place)  # type: ignore[call-overload]
        return edit is not None and edit.function in (code, code.template)

    # -- other names ---------------------------------------------------------------------------

    def _rename_import(self, name: str, meant: set[str]) -> None:
        entries = [entry for entry in self.plan.needed_imports if local_name(*entry[:2]) == name]
        aliases = {imported or source: self._free(_alias(source, imported)) for source, imported, _ in entries}
        is_module = any(imported is None for _, imported, _ in entries)
        if is_module:  # `import ray.train` gives `ray` too
            aliases.setdefault(name, self._free(_alias(name, None)))
        used = self._replace(name, aliases, self._of_script(name, meant), is_module=is_module)
        if used:
            self._import_as(entries, {said: alias for said, alias in aliases.items() if said in used}, name)

    def _import_as(self, entries: Sequence[Needed], aliases: dict[str, str], name: str) -> None:
        """Asks for imports under other names; under its own name only what takes the place of an import goes on."""
        plan = self.plan
        takes_place = any(name == (alias.asname or root_of(alias.name)) for alias in plan.dropped_imports)
        needed = [entry for entry in plan.needed_imports if takes_place or entry not in entries]
        wanted = [entry for entry in entries if (entry[1] or entry[0]) in aliases]
        if name in aliases and all((imported or source) != name for source, imported, _ in wanted):
            wanted.append((name, None, entries[0][2]))
        renamed = [(source, as_name(name, aliases[name or source]), near) for source, name, near in wanted]
        plan.needed_imports = dict.fromkeys([*needed, *renamed])

    def _rename_builtin(self, name: str) -> None:
        """Calls a builtin by its whole name where the script has another meaning for it."""
        if self._replace(name, {name: f"builtins.{name}"}, self._of_script(name, set()), is_builtin=True):
            self.plan.need_import("builtins")

    def _of_script(self, name: str, meant: set[str]) -> set[str]:
        """The code of the script that uses a name for something else than is meant."""
        reads = [(node, self.module.scope_of[node].find(name)) for node in self.module.reads(name)]
        homes = {home for _, home in reads if home is not None and self._has_others(home, name, meant)}
        chains = [_chain(self.module, node)[-1] for node, home in reads if home in homes]
        return {self.module.source(self.module.calling(function) or function) for function in chains}

    def _free(self, name: str) -> str:
        numbered = (f"{name}_{number}" for number in count(2))
        taken = self.module.names | self.places.keys()
        free = next(candidate for candidate in chain([name], numbered) if candidate not in taken)
        self.places[free] = []
        return free

    def _replace(
        self, name: str, aliases: dict[str, str], theirs: set[str], *, is_module: bool = False, is_builtin: bool = False
    ) -> set[str]:
        """Replaces a name in new code where it is not the script's own.

        Args:
            aliases: What takes its place; of a module and of those below it by what new code says.
            theirs: The code of the script that uses the name.
            is_module: Whether it is that of a module, of which new code uses attributes only.
            is_builtin: Whether it is a builtin, which changes where the script hides it.

        Returns:
            What was replaced.
        """
        used: set[str] = set()

        def changed(text: str, theirs: set[str]) -> str:
            edits = []
            for use in uses_in(text, name):
                if is_module and not _is_of_module(use.said):
                    continue  # new code does not say so: it is the script's
                if is_builtin and ("." in use.said or (not use.is_called and use.text in theirs)):
                    continue  # nor does it use attributes of builtins: `list.count()`
                is_from = not is_module and not is_builtin
                on_theirs = is_from and use.said != name and name in theirs  # `data.items()`
                if use.text in theirs or on_theirs:
                    raise NotRenamedError(name, f"`{use.text}` could mean either")
                parts = use.said.split(".")
                chosen = next(n for n in range(len(parts), 0, -1) if ".".join(parts[:n]) in aliases)
                used.add(".".join(parts[:chosen]))
                edits.append((use.spans[chosen - 1], aliases[".".join(parts[:chosen])]))
            for (start, end), alias in reversed(edits):
                text = text[:start] + alias + text[end:]
            return text

        def changed_code(place: ast.AST, code: Code) -> Code:
            scope = self._scope(place, code)
            hides = scope is None or scope.find(name) is not None
            if name not in _names(code) or (is_builtin and not hides):
                return code
            own = set[str]() if self._is_called(place, code) else theirs
            parts: dict[str, Part] = {
                key: changed(part, own) if isinstance(part, str) else part for key, part in code.parts.items()
            }
            return replace(code, template=changed(code.template, own), parts=parts)

        self.plan.change_codes(changed_code)
        return used


def _is_of_module(said: str) -> bool:
    """Whether new code can mean a module: it uses attributes only, and those that the standard library has."""
    module, _, attributes = said.partition(".")
    known = module not in sys.stdlib_module_names or hasattr(import_module(module), attributes.partition(".")[0])
    return bool(attributes) and known


def _alias(source: str, name: str | None) -> str:
    """Another name for an import: `os_module`, `ray_train`, `RayRunConfig`, `ray_prepare_trainer`."""
    if name is None:
        return source.replace(".", "_") if "." in source else f"{source}_module"
    root = root_of(source)
    return f"{root.capitalize()}{name}" if name[:1].isupper() else f"{root}_{name}"


def _names(code: Code) -> set[str]:
    """The words in code, names among them."""
    return {name for text in texts_of(code) for name in TOKEN.findall(text)}


def texts_of(code: Code) -> list[str]:
    """The source in code: its template, and what fills it as text."""
    return [code.template, *(part for part in code.parts.values() if isinstance(part, str))]


def _chain(nodes: Nodes, name: ast.Name) -> list[ast.expr]:
    """A name, and the attributes on it from the innermost."""
    found: list[ast.expr] = [name]
    while isinstance(parent := nodes.parent_of.get(found[-1]), ast.Attribute):
        found.append(parent)
    return found


def tree_of(text: str) -> tuple[ast.Module, int]:
    """The syntax tree of a template, and how many lines were put before it."""
    source = PLACEHOLDER.sub("_", text)
    try:
        return ast.parse(source), 0
    except SyntaxError:  # an expression over several lines
        return ast.parse(f"(\n{source}\n)"), 1


def uses_in(text: str, name: str) -> list[Use]:
    """The uses in a template of a name that it does not bind itself, in their order."""
    if name not in TOKEN.findall(text):
        return []
    source = PLACEHOLDER.sub("_", text)
    tree, before = tree_of(text)
    nodes = Nodes(ScopeBuilder(tree))
    starts = list(accumulate(map(len, lines_with_ends(source)), initial=0))
    lines = lines_of(source)

    def place(line: int, column: int) -> int:
        line -= 1 + before
        return starts[line] + len(lines[line].encode()[:column].decode())

    def span(node: ast.expr) -> tuple[int, int]:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return place(node.lineno, node.col_offset), place(node.end_lineno, node.end_col_offset)

    uses = []
    for node in nodes.reads(name):
        if nodes.scope_of[node].find(name) is None:
            chain_of_node = _chain(nodes, node)
            call = nodes.calling(chain_of_node[-1])
            spans = [span(part) for part in chain_of_node]
            start, end = spans[0]
            if source[start:end] != name:  # in an f-string before Python 3.12
                raise NotRenamedError(name, "a text of new code uses it")
            start, end = span(call) if call is not None else spans[-1]
            uses.append(Use(spans, ast.unparse(chain_of_node[-1]), source[start:end], call is not None))
    return sorted(uses, key=lambda use: use.spans[0])
