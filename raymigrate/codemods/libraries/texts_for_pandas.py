"""RM728: texts that pandas reads.

pandas 3.1.1, io/json/_json.py, io/html.py and io/xml.py: a str is a path or a URL. pandas 2.1 and 2.2 warned, and took
a str that is not a file for the text itself.
"""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import import_bindings
from raymigrate.facts.values import Source, argument, called_name, is_method_call, is_none, leading_text

RM728 = Rule(
    "RM728",
    "a text that is given to read_json, read_html or read_xml",
    "pandas >= 3 takes a str for a path: a text raises a FileNotFoundError.",
    "The text goes in as io.StringIO(text).",
    "https://pandas.pydata.org/docs/whatsnew/v3.0.0.html",
    errors=(
        "FileNotFoundError: [Errno 2] No such file or directory: '{",
        "FileNotFoundError: [Errno 2] No such file or directory: '[",
    ),
    unproven="The script ends where it reads the text, before a job begins.",
)
# The readers, each with its first parameter, how its texts begin, and the method of a DataFrame that gives such a text.
READERS = {
    "pandas.read_json": ("path_or_buf", ("{", "["), "to_json"),
    "pandas.read_html": ("io", ("<",), "to_html"),
    "pandas.read_xml": ("path_or_buffer", ("<",), "to_xml"),
}
TARGETS = ("path_or_buf", "buf", "path_or_buffer")  # of those methods: without one, they return the text
STRING_IO = "io.StringIO"


@codemod("read_json", "read_html", "read_xml", phase=Phase.LIBRARIES)
def texts_for_pandas(context: Context) -> None:
    """Puts io.StringIO() around what is known to be a text."""
    module = context.module
    for reader, (parameter, starts, writer) in READERS.items():
        for call in module.calls(reader):
            given = argument(call, 0, parameter)
            if given is None or not (found := module.origins(given)):
                continue
            if not all(_is_text(source, starts, writer) for source in found):
                continue
            name = reader.rpartition(".")[2]
            if context.converts(RM728, given, f"{name}() takes a text for a path since pandas 3; now {STRING_IO}()."):
                context.plan.replace(given, f"{_string_io(context, call)}($text)", text=given)


def _is_text(source: Source, starts: tuple[str, ...], writer: str) -> bool:
    """Whether a value is a text, and no path: it begins like one, or something made it as such."""
    module, node = source.module, source.node
    if called_name(module, node) == "json.dumps":
        return True
    if is_method_call(node, writer):
        return is_none(argument(node, 0, *TARGETS))
    return leading_text(module, node).lstrip().startswith(starts)


def _string_io(context: Context, call: ast.Call) -> str:
    """How StringIO is called where a text is read: by the name that the file imported it under, else from `io`."""
    module = context.module
    for name in _imported(module):
        bindings = module.scope_of[call].lookup(name)
        if bindings and all(binding.qualified == STRING_IO for binding in bindings):
            return name
    context.plan.need_import("io")
    return STRING_IO


def _imported(module: Module) -> list[str]:
    """The names of StringIO in a file, by the imports at its top."""
    statements = (statement for statement in module.tree.body if statement in module.imports)
    bound = (pair for statement in statements for pair in import_bindings(statement))
    return [name for name, binding in bound if binding.qualified == STRING_IO]
