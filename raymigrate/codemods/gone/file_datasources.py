"""RM692 for classes made from FileBasedDatasource, which take their paths elsewhere and read by another method.

Ray 2.6.3, data/datasource/file_based_datasource.py: no constructor; `read_datasource(Own(), paths=)` hands the paths
on, and `_read_file(f, path, **reader_args)` returns a block. Ray 2.60: the constructor takes `paths`, and
`_read_stream(f, path)` yields blocks.
"""

import ast

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.gone.gone_names import RM692
from raymigrate.facts.ray_train.trainers import library_bases
from raymigrate.facts.values import has_unpacking, keyword_argument

DATASOURCES = frozenset(f"ray.data.datasource.{place}FileBasedDatasource" for place in ("", "file_based_datasource."))
NO_METHOD = "FileBasedDatasource no longer calls _read_file(): reading raises a NotImplementedError."
STREAM = (
    "Write def _read_stream(self, f, path), which yields what this returned; further arguments of read_datasource() go"
    " to the constructor."
)
NO_PATHS = "{name}() raises a TypeError: a FileBasedDatasource takes its paths when it is made."
WITH_PATHS = "Write ray.data.read_datasource({name}({paths})), without paths=."


@codemod("FileBasedDatasource")
def file_datasources(context: Context) -> None:
    """Reports the method that nobody calls any more, and what is made without paths."""
    module = context.module
    for home in module.of_type(ast.ClassDef):
        if DATASOURCES.isdisjoint(library_bases(module, home)):
            continue
        own = {part.name: part for part in home.body if isinstance(part, ast.FunctionDef)}
        if "_read_file" in own and "_read_stream" not in own:
            context.manual(RM692, own["_read_file"], NO_METHOD, STREAM)
        if "__init__" not in own:
            for call in module.calls_of(home):
                if not call.args and not (has_unpacking(call) or keyword_argument(call, "paths") is not None):
                    _without_paths(context, call, home.name)


def _without_paths(context: Context, call: ast.Call, name: str) -> None:
    """Reports an object that is made without paths, with those that read_datasource() is given beside it."""
    reader = context.module.taking(call)
    given = keyword_argument(reader, "paths") if reader is not None else None
    paths = context.module.source(given) if given is not None else "paths"
    context.manual(RM692, call, NO_PATHS.format(name=name), WITH_PATHS.format(name=name, paths=paths))
