"""RM506 for a shard that is held by an object, or comes from a function, a loop, a parameter or another file."""

import ast

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.data.ray_datasets import NO_DATASET, RM506, ROWS
from raymigrate.facts.ray_data.datasets import attributes_of_shards, comes_from_shards
from raymigrate.facts.syntax.guards import is_guarded

# What a Dataset had, a DataIterator has not, and few other objects have: to follow every `x.sum()` would cost too much.
OF_DATASETS = frozenset(
    [
        *("count", "repeat", "window", "to_pandas", "take", "take_all", "take_batch", "show", "limit", "map_batches"),
        *("flat_map", "random_shuffle", "num_blocks", "size_bytes", "repartition", "get_internal_block_refs"),
    ]
)


@codemod("ray", in_ray_scripts=True)
def shards_handed_on(context: Context) -> None:
    """Reports what scripts do with a shard that is handed on as if it were a Dataset."""
    module = context.module
    told = set(attributes_of_shards(module))  # by the rule itself
    for node in module.of_type(ast.Attribute):
        if node.attr in OF_DATASETS and node not in told and module.qualified(node) is None:
            is_guess = not isinstance(module.parent_of[node], ast.Call) or is_guarded(module, node, node.attr)
            is_text = isinstance(node.value, (ast.Constant, ast.JoinedStr))  # as most are
            if not is_guess and not is_text and comes_from_shards(module, node.value):
                context.manual(RM506, node, NO_DATASET.format(node.attr), ROWS.format(node.attr))
