"""What reads the command line: parsers and functions of libraries, and the code of a project that calls them."""

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from raymigrate.base.expressions import lazy_regex
from raymigrate.facts.ray_train.trainers import library_bases
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.own_modules import LIBRARIES
from raymigrate.facts.syntax.scopes import FUNCTIONS, Scope
from raymigrate.facts.values import called_name, class_named, is_method_call, keyword_named
from raymigrate.facts.values.members import PARSING

ARGPARSE = "argparse.ArgumentParser"
OF_DATACLASSES = ("transformers.HfArgumentParser", "transformers.hf_argparser.HfArgumentParser", "trl.TrlParser")
PARSERS = frozenset({ARGPARSE, *OF_DATACLASSES})
METHODS = (*PARSING, "parse_args_into_dataclasses", "parse_args_and_config")
# What else reads it, by the beginnings of names. Those that are given a function call it with what they read.
READERS = (
    *("sys.argv", "sys.orig_argv", "optparse.OptionParser", "omegaconf.OmegaConf.from_cli", "tap.Tap", "docopt"),
    *("tyro", "simple_parsing", "jsonargparse", "configargparse", "pyrallis", "draccus", "chz", "plac", "cyclopts"),
    *("pydantic_settings.CliApp", "datargs"),
)
FLAGS = "absl.flags"
# Functions and classes of unknown libraries that may: get_train_args, parse_cli, H4ArgumentParser.
PARSER_NAMES = lazy_regex(r"\w*(?:Arg|Args|Argument)Parser")
MAY_READ = lazy_regex(
    r"(?:\w+_)?(?:argparse|argv|cli)|(?:parse|get|load|init|setup|read|make|build)_(?:\w+_)?"
    r"(?:args|argv|arguments|flags|opts|options|cli|command_line)",
    re.IGNORECASE,
)
MAY_READ_WITHOUT_ARGUMENTS = lazy_regex(
    r"parse|parse_\w+|(?:parse|get|load|init|setup)_(?:\w+_)?(?:hparams|cfg|config)"
)
DEFINITIONS = (*FUNCTIONS, ast.ClassDef)
MOST = 400  # functions and classes that are looked through; more may read the command line


@dataclass(frozen=True)
class Code:
    """A piece of code that may run when some other does.

    Args:
        module: The file that it is in.
        node: The code.
        use: The name in the first file by which that gets to it; None where it is part of that.
    """

    module: Module
    node: ast.AST
    use: ast.expr | None = None


def parser_made(module: Module, call: ast.Call) -> str:
    """The parser of a library that a call makes, of its class or of one made from it in the project; else empty."""
    name = called_name(module, call)
    if name in PARSERS:
        return name
    found = class_named(module, call.func)
    return next((base for base in library_bases(*found) if base in PARSERS), "") if found is not None else ""


@kept
def parsers_of_dataclasses(module: Module) -> list[ast.Call]:
    """The calls that make parsers which read dataclasses; those too of a class that was not found, by its name."""
    return [call for call in module.of_type(ast.Call) if makes_parser_of_dataclasses(module, call)]


def makes_parser_of_dataclasses(module: Module, call: ast.Call) -> bool:
    """Whether a call makes a parser that reads dataclasses."""
    name = called_name(module, call).rpartition(".")[2]
    is_unknown = PARSER_NAMES.fullmatch(name) is not None and _is_of_unknown(module, call.func) and bool(call.args)
    return is_unknown or parser_made(module, call) in OF_DATACLASSES


def may_read(module: Module, nodes: Iterable[ast.AST]) -> bool:
    """Whether code may read the command line, itself or in what it calls, in other files of the project too."""
    known = set[ast.AST]()  # files and functions that do not parse while they are imported
    return any(number >= MOST or _reads(code, known) for number, code in enumerate(reached(module, nodes)))


def read_flags(module: Module, nodes: Iterable[ast.AST]) -> ast.AST | None:
    """Where code reads the flags of absl, or gets to code that does; None where it does not."""
    asked = set[tuple[Scope, str]]()
    for _, code in zip(range(MOST), reached(module, nodes), strict=False):
        for name in _new_names(code, asked):
            if any((code.module.qualified(node) or "").startswith(FLAGS) for node in _given(code.module, name)):
                return code.use or name
    return None


def reached(module: Module, nodes: Iterable[ast.AST], known: set[ast.AST] | None = None) -> Iterator[Code]:
    """Code, and the functions and classes that it names, and so on, in other files of the project too.

    Args:
        module: The module.
        nodes: The code.
        known: What was reached before, and is left out; grows.
    """
    seen = set[ast.AST]() if known is None else known
    waiting = [Code(module, node) for node in nodes if node not in seen]
    seen.update(code.node for code in waiting)
    asked = set[tuple[Scope, str]]()
    while waiting:
        code = waiting.pop()
        yield code
        for name in _new_names(code, asked):
            for found in _defined(code, name):
                if found.node not in seen:
                    seen.add(found.node)
                    waiting.append(found)


def names_read(code: Code) -> Iterator[ast.Name | ast.Attribute]:
    """The names that a piece of code reads, and the attributes of what imports bind."""
    for part in _parts(code):
        if isinstance(part, ast.Attribute) and code.module.qualified(part) is None:
            continue
        if isinstance(part, (ast.Name, ast.Attribute)) and isinstance(part.ctx, ast.Load):
            yield part


def read_while_imported(module: Module, known: set[ast.AST]) -> tuple[Module, ast.AST] | None:
    """What parses the command line when a file is imported, there or in one that it imports; None if nothing does.

    Args:
        module: The file.
        known: Files, functions and classes that were looked through before; grows.
    """
    waiting = [module] if module.tree not in known else []
    known.add(module.tree)
    while waiting:
        current = waiting.pop()
        places = (_parse_in(current, statement, known) for statement in current.tree.body)
        if (place := next(filter(None, places), None)) is not None:
            return current, place
        for statement in current.tree.body:
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                others = [other for other in files_of(current, statement) if other.tree not in known]
                known.update(other.tree for other in others)
                waiting += others
    return None


def _parse_in(module: Module, statement: ast.stmt, known: set[ast.AST]) -> ast.AST | None:
    """A call that parses the command line when a statement of the module is carried out."""
    if isinstance(statement, DEFINITIONS) or _asks_for_main(statement):
        return None
    for part in (statement, *module.below(statement)):
        if not isinstance(part, ast.Call) or any(isinstance(around, FUNCTIONS) for around in module.ancestors(part)):
            continue
        named = [node for node in ast.walk(part.func) if isinstance(node, (ast.Name, ast.Attribute))]
        called = [code for node in named for code in _defined(Code(module, statement), node)]
        if _is_parsing(part) or any(_parses(c) for code in called for c in reached(code.module, [code.node], known)):
            return part
    return None


def _parses(code: Code) -> bool:
    return any(isinstance(part, ast.Call) and _is_parsing(part) for part in _parts(code))


def _is_parsing(call: ast.Call) -> bool:
    """Whether a call parses the command line of the process: one that is given arguments parses these."""
    is_given = call.args or keyword_named(call, "args") is not None
    return is_method_call(call, *METHODS) and not is_given


def _asks_for_main(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and "__main__" in ast.unparse(statement.test)


def _parts(code: Code) -> Iterator[ast.AST]:
    yield code.node
    yield from code.module.below(code.node)


def _reads(code: Code, known: set[ast.AST]) -> bool:
    """Whether a piece of code reads the command line by itself, as far as names show it."""
    module = code.module
    for part in _parts(code):
        if isinstance(part, (ast.Import, ast.ImportFrom)):
            if any(read_while_imported(other, known) for other in files_of(module, part)):
                return True
        name = module.qualified(part) if isinstance(part, (ast.Name, ast.Attribute)) else None
        if name is not None and any(name == reader or name.startswith(f"{reader}.") for reader in READERS):
            return True
        if isinstance(part, ast.Call):
            if parser_made(module, part) or is_method_call(part, *METHODS):
                return True
            if _may_parse(module, part):
                return True
    return False


def _may_parse(module: Module, call: ast.Call) -> bool:
    """Whether a call of a library that nothing is known of may parse the command line, by its name."""
    name = called_name(module, call).rpartition(".")[2]
    words = [PARSER_NAMES, MAY_READ] if call.args else [PARSER_NAMES, MAY_READ, MAY_READ_WITHOUT_ARGUMENTS]
    return any(word.fullmatch(name) for word in words) and _is_of_unknown(module, call.func)


def files_of(module: Module, statement: ast.Import | ast.ImportFrom) -> Iterator[Module]:
    """The files of the project that an import leads to."""
    project = module.project
    found = [project.module(path) for path in project.files_of_import(module.path, statement)] if project else []
    yield from (other for other in found if other is not None)


def _is_of_unknown(module: Module, node: ast.expr) -> bool:
    """Whether something is of a library that nothing is known of, or of a file that was not found."""
    package = (module.qualified(node) or "").partition(".")[0]
    return package != "" and package not in LIBRARIES and module.elsewhere(node) is None


def _new_names(code: Code, asked: set[tuple[Scope, str]]) -> Iterator[ast.Name | ast.Attribute]:
    """The names in a piece of code that were not asked about yet."""
    module = code.module
    for name in names_read(code):
        scope = module.scope_of[name]
        home = scope.find(name.id) if isinstance(name, ast.Name) else scope.module
        key = home, name.id if isinstance(name, ast.Name) else f".{module.qualified(name)}"
        if home is not None and key not in asked:
            asked.add((home, key[1]))
            yield name


def _given(module: Module, name: ast.Name | ast.Attribute) -> Iterator[ast.expr]:
    """A name, and what a name of the module is given: the function, where that is a call."""
    yield name
    for binding in module.scope_of[name].lookup(name.id) if isinstance(name, ast.Name) else ():
        value = module.assigned(binding.node)
        yield from [value.func if isinstance(value, ast.Call) else value] if value is not None else []


def _defined(code: Code, name: ast.AST) -> Iterator[Code]:
    """The functions and classes that a name stands for, wherever they are."""
    module = code.module
    if isinstance(name, ast.Name):
        bindings = module.scope_of[name].lookup(name.id)
        yield from (Code(module, b.node, code.use) for b in bindings if isinstance(b.node, DEFINITIONS))
    if isinstance(name, (ast.Name, ast.Attribute)) and module.qualified(name) is not None:
        found = module.elsewhere(name)
        if found is not None and isinstance(found.node, DEFINITIONS):
            yield Code(found.module, found.node, code.use or name)
