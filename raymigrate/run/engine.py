"""One file's way through the tool: gates, facts, codemods, rewriting, and the check of the result."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import PurePath

from raymigrate.base.expressions import lazy_regex
from raymigrate.base.findings import Finding, Kind, Rule
from raymigrate.base.options import ACCELERATE_LAUNCH, Options
from raymigrate.codemods import codemods_for
from raymigrate.codemods.context import Context
from raymigrate.codemods.shared.import_cleanup import drop_unused_imports
from raymigrate.comments.skips import RM906, skipped_whole
from raymigrate.documents.remarks import RM901
from raymigrate.edits.import_names import NotRenamedError
from raymigrate.edits.plan import RewriteError, SharedLineError
from raymigrate.edits.stand_ins import fits_libcst
from raymigrate.facts.projects.project import Project
from raymigrate.facts.syntax.compiling import compile_error, definitions
from raymigrate.facts.syntax.kept import forget
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nesting import nesting
from raymigrate.facts.syntax.newly_unbound import newly_unbound
from raymigrate.facts.torch.gpus import asks_for_gpu
from raymigrate.facts.torch.launchers import launcher_of
from raymigrate.files.discovery import PAGES, SUFFIXES
from raymigrate.pins.evidence import is_legacy
from raymigrate.run.file_rules import RM903, RM910
from raymigrate.run.outcome import FileResult, by_place, codes_of
from raymigrate.run.todos import convert_with_todos
from raymigrate.run.two_steps import convert_in_two_steps

# Beyond this depth of an expression LibCST needs minutes or overflows its stack.
MAX_DEPTH = 300
# The trees of the text and of the result take 1.7 kB of memory for each node: half a GB for these, 50,000 lines.
MAX_NODES = 300_000
OWN_LINES = "Put each statement on a line of its own, not after a magic, and run raymigrate again."
LONE_RETURN = lazy_regex(r"\r(?!\n)")
LONE_RETURNS = "ends lines with a carriage return alone, as old Macs did; save it with line feeds."


class Refused(Exception):
    """The text cannot be worked on; the message says why."""

    def __init__(self, rule: Rule, message: str, line: int = 1, column: int = 1, *, advice: str = "") -> None:
        super().__init__(message)
        self.finding = Finding(rule.code, Kind.ERROR, message, advice or rule.fix, line, column)


def convert(
    text: str,
    path: str = "",
    options: Options | None = None,
    *,
    rewrite: bool = True,
    project: Project | None = None,
    settle: Callable[[str], str] = str,
) -> FileResult:
    """Converts one module.

    Args:
        text: Source text.
        path: Its file; configuration files that the script names are looked up beside it.
        options: What the user asked for.
        rewrite: False to look only: `after` stays None where something would change. LibCST is not imported.
        project: The other files of the project; None: nothing is looked up in them.
        settle: Gives the form that a new text takes in its file. Raises Refused if the file cannot hold it.

    Returns:
        The findings and the new text. Text that cannot be parsed gives one finding of kind ERROR.
    """
    options = options or Options()

    def step(text: str, options: Options, rewrite: bool) -> FileResult:
        return convert(text, path, options, rewrite=rewrite, project=project, settle=settle)

    try:
        if options.todo and rewrite:
            result = convert_with_todos(text, options, step)
            if result.findings:
                _refuse_lone_returns(text)
            if result.after is not None:
                settle(result.after)
            return result
        if options.to_accelerate and options.to_ray:
            return convert_in_two_steps(text, options, step, rewrite=rewrite)
        return _converted(text, path, options, project, settle, rewrite=rewrite)
    except Refused as refused:
        finding = replace(refused.finding, path=path)
        if skip := skipped_whole(text, finding.code):
            finding = finding.skipped(skip.reason)
        return FileResult(path, [finding], text)


def _converted(
    text: str, path: str, options: Options, project: Project | None, settle: Callable[[str], str], *, rewrite: bool
) -> FileResult:
    """Converts a text in one step; for the arguments see `convert`."""
    context = plan(text, path, options, project)
    changes = bool(context.plan)
    after, left = _checked(context, options, settle) if changes and rewrite else (None, [])
    return FileResult(
        path,
        by_place(context.findings),
        text,
        changes,
        after,
        left,
        asked=context.asked,
        done=context.done,
        helpers=context.helpers,
        is_legacy=is_legacy(context.found),
        shows_gpu=context.joins_accelerate and asks_for_gpu(context.module),
        launcher=launcher_of(context.module) if context.joins_accelerate else ACCELERATE_LAUNCH,
    )


def plan(text: str, path: str, options: Options, project: Project | None = None, *, again: bool = False) -> Context:
    """Runs the codemods over a text: findings and planned edits.

    Args:
        text: The text.
        path: Its file.
        options: What the user asked for.
        project: The other files of the project.
        again: Whether the text is a result, and not what the file held.

    Raises:
        Refused: If the text is not Python, or nested too deeply for LibCST.
    """
    try:
        module = Module(text, path, project) if again or project is None else project.module_of(text, path)
    except SyntaxError as error:
        what = "cannot be parsed"
        if PurePath(path).suffix.lower() not in ("", ".py", ".pyw", ".pyi", *SUFFIXES, *PAGES):
            what = f"is not a file that raymigrate converts, and {what}"
        raise Refused(RM901, f"{what}: {error.msg}.", error.lineno or 1, error.offset or 1) from error
    except (RecursionError, MemoryError, ValueError) as error:
        raise Refused(RM901, f"cannot be parsed: {str(error) or 'it is nested too deeply'}.") from error
    context = Context(module, options, path)
    for item in codemods_for(options):
        item(context)
    if context.stays and not context.takes_current_libraries:
        context.tell_apart()
    if options.enabled(RM906.code):
        context.findings += context.skips.stale(path)
    if context.plan:
        _refuse_unfit(context)
        drop_unused_imports(context)
    return context


def _refuse_unfit(context: Context) -> None:
    """Refuses what Python reads and LibCST does not."""
    module = context.module
    if "\r" in module.text and "\n" not in module.text:
        raise Refused(RM901, LONE_RETURNS)
    if len(module.nodes) > MAX_NODES or not fits_libcst(module, context.plan):
        lines = module.text.count("\n")
        raise Refused(RM901, f"has too much code to be rewritten, {lines} lines: it would take gigabytes of memory.")
    if nesting(module, MAX_DEPTH) > MAX_DEPTH:
        raise Refused(RM901, f"nests more than {MAX_DEPTH} levels deep, too deep to be rewritten safely.")


def _refuse_lone_returns(text: str) -> None:
    """For Python they end lines; LibCST and what counts lines for comments see none there."""
    if LONE_RETURN.search(text):
        raise Refused(RM901, LONE_RETURNS)


def _checked(context: Context, options: Options, settle: Callable[[str], str]) -> tuple[str, list[Finding]]:
    """Rewrites, and proves of the result that it compiles, that every name is bound when it is read as far as it was
    before, and that a second run would not change it.

    Returns:
        The new text, and what a second run says of it.
    """
    from raymigrate.edits.rewriter import rewrite  # noqa: PLC0415 - imports LibCST

    try:
        after = settle(rewrite(context.module, context.plan))
    except NotRenamedError as error:
        message = f"left as it was: new code needs the name `{error.name}`, and the script calls something so: {error}."
        raise Refused(RM910, message, error.line) from error
    except RewriteError as error:
        _refuse_lone_returns(context.module.text)
        advice = OWN_LINES if isinstance(error, SharedLineError) else ""
        raise Refused(RM903, f"left as it was: {error}.", error.line, advice=advice) from error
    forget(context.module)  # two large files with all that is found in them would be in memory at once
    try:
        again = plan(after, context.path, replace(options, later=True), context.module.project, again=True)
    except Refused as refused:
        raise Refused(RM903, f"left as it was: the result {refused}") from refused
    if again.plan:
        if problem := compile_error(context.module):
            raise Refused(RM901, f"cannot be compiled: {problem}.")
        codes = codes_of(finding for finding in again.findings if finding.kind is Kind.CONVERTED)
        raise Refused(RM903, f"left as it was: a second run would change it again ({codes}).")
    if (problem := compile_error(again.module, definitions(context.module))) and not compile_error(context.module):
        raise Refused(RM903, f"left as it was: the result does not compile: {problem}.")
    if names := newly_unbound(context.module, again.module):
        read_too_early = ", ".join(f"`{name}`" for name in sorted(names))
        raise Refused(RM903, f"left as it was: the result would read {read_too_early} before it is bound.")
    if options.part_of_job or options.part_of_loop or options.cell_scripts:
        again = plan(after, context.path, options.of_later_runs(), context.module.project, again=True)
    return after, again.findings
