"""RM856: `--local_rank`, which torch.distributed.launch gave to each process, and accelerate launch does not."""

import ast

from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.rules import RM856
from raymigrate.facts.projects.project import with_imported
from raymigrate.facts.projects.project_uses import importing_modules
from raymigrate.facts.syntax.module import Module

OPTIONS = frozenset({"--local_rank", "--local-rank"})
ATTRIBUTE = "local_rank"
VARIABLE = "LOCAL_RANK"


def local_rank_options(module: Module) -> list[ast.Call]:
    """The calls of `add_argument` that take the option."""
    calls = (call for call, _ in module.method_calls("add_argument"))
    return [call for call in calls if OPTIONS & {str(module.constant(value)) for value in call.args}]


def local_rank_reads(module: Module) -> list[ast.Attribute]:
    """Where what came of the option is read; none where the file gives it a value of its own."""
    found = [node for node in module.of_type(ast.Attribute) if node.attr == ATTRIBUTE]
    if any(isinstance(node.ctx, ast.Store) for node in found) and not local_rank_options(module):
        return []
    return [node for node in found if isinstance(node.ctx, ast.Load)]


def related(module: Module) -> list[Module]:
    """A file, those that it imports, and those that import it: one of them reads the command line for the others."""
    return [*with_imported(module), *importing_modules(module)]


def tell_of_local_ranks(changes: Changes, module: Module, place: ast.AST) -> None:
    """Tells where the option is read in vain: in other files, and where it is not seen who reads the command line.

    Args:
        changes: The edits.
        module: The module that trains.
        place: What trains there.
    """
    others = [other for other in related(module) if other is not module and other.text != module.text]
    is_option = any(map(local_rank_options, [module, *others]))
    for other in others if is_option else ():
        if local_rank_reads(other) and not other.texts(VARIABLE):
            changes.manual(
                RM856,
                place,
                f"accelerate launch gives no --local_rank, which {other.path} reads: it is the same in each process"
                " there, or missing.",
                'Read int(os.environ.get("LOCAL_RANK", -1)) there, or accelerator.local_process_index.',
            )
    reads = local_rank_reads(module)
    if not is_option and reads and any(module.references_within("torch.distributed")) and not _is_given(module):
        changes.manual(
            RM856,
            reads[0],
            f"accelerate launch gives no --local_rank: `{ast.unparse(reads[0])}` has the same value in each process,"
            " unless it comes from the environment.",
            "Read accelerator.local_process_index.",
        )


def _is_given(module: Module) -> bool:
    """Whether the file has the value from somewhere itself: the environment, or a class with such a field."""
    fields = {node.target.id for node in module.of_type(ast.AnnAssign) if isinstance(node.target, ast.Name)}
    return bool(module.texts(VARIABLE)) or ATTRIBUTE in fields
