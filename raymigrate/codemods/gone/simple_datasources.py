"""RM692, SimpleTorchDatasource, with which Ray 2.0 to 2.2 read a Dataset of torch.

`read_datasource(SimpleTorchDatasource(), dataset_factory=f)` called f in a task and made one block of the items of what
it gave (2.0 data/datasource/torch_datasource.py). `from_torch(f())` reads them in one task as well
(2.60 data/read_api.py:5339); f is called on the driver. Rows are dicts with "item" (RM511).
"""

import ast

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.gone.gone_names import RM692
from raymigrate.facts.ray_data.datasets import FROM_TORCH, torch_datasource
from raymigrate.facts.values import has_unpacking, keyword_argument

FACTORY = "dataset_factory"
KNOWN = {"datasource", FACTORY, "parallelism"}  # of the last one, SimpleTorchDatasource took no notice


@codemod("SimpleTorchDatasource")
def simple_datasources(context: Context) -> None:
    """Gives the dataset of torch itself to from_torch()."""
    module = context.module
    for call in module.calls("ray.data.read_datasource"):
        datasource = torch_datasource(module, call)
        reference = module.reference_at.get(datasource.func) if datasource is not None else None
        factory = keyword_argument(call, FACTORY)
        if reference is None or reference.root in context.handled or factory is None or not _is_plain(call):
            continue
        made = "$factory" if isinstance(factory, ast.Lambda) else "$factory()"
        value = factory.body if isinstance(factory, ast.Lambda) else factory
        if isinstance(factory, ast.Lambda) and ast.unparse(factory.args):
            continue
        message = (
            "ray.data.datasource.SimpleTorchDatasource is gone; now from_torch(), with a dataset that is made here and"
            " not in a task."
        )
        if context.converts(RM692, call, message):
            function, parts = _from_torch(context, call)
            context.plan.replace(call, f"{function}({made})", factory=value, **parts)
            context.handle(reference, gone=True)


def _is_plain(call: ast.Call) -> bool:
    """Whether all that a call is given is known, and its factory is an expression that can be called as it stands."""
    factory = keyword_argument(call, FACTORY)
    names = {keyword.arg for keyword in call.keywords}
    called = isinstance(factory, (ast.Name, ast.Attribute, ast.Call, ast.Lambda))
    return called and names <= KNOWN and len(call.args) <= 1 and not has_unpacking(call)


def _from_torch(context: Context, call: ast.Call) -> tuple[str, dict[str, ast.expr]]:
    """How from_torch() is called in place of read_datasource(): from the same module, or by its name."""
    if isinstance(call.func, ast.Attribute):
        return "$module.from_torch", {"module": call.func.value}
    reference = context.module.reference_at[call.func]
    context.handle(reference, gone=True)
    home, _, name = FROM_TORCH.rpartition(".")
    context.plan.need_import(home, name, near=reference.binding.statement)
    return name, {}
