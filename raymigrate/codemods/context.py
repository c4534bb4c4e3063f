"""What a codemod works with: the facts of one module, the plan to add to, and the findings to report."""

import ast
import os.path
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

from raymigrate.base.findings import Finding, Kind, Rule
from raymigrate.base.options import Options
from raymigrate.comments.skips import Skips
from raymigrate.edits.plan import Code, Part, Plan
from raymigrate.facts.projects.callers import place_by_callers
from raymigrate.facts.projects.helpers import Helper
from raymigrate.facts.projects.places import Place, Places
from raymigrate.facts.projects.requests import Request
from raymigrate.facts.syntax.annotations import names_in_texts
from raymigrate.facts.syntax.former_branches import is_for_former_ray
from raymigrate.facts.syntax.local_imports import is_imported_before
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.older_ray import is_for_older_ray
from raymigrate.facts.syntax.scopes import Reference
from raymigrate.facts.values import keyword_argument
from raymigrate.facts.values.keys import is_unpacked
from raymigrate.pins.written_for import written_for

if TYPE_CHECKING:
    from raymigrate.pins.written_for import WrittenFor

ARGUMENTS = "RM701"  # of transformers; its module imports this one
NOW = "; now "  # behind it a message says what came in the place of old code
DONE = (NOW, "; removed", "; deleted")
Prepared = tuple[ast.AST, str, tuple[ast.AST | None, ...]]


class Context:
    """One module on its way through the codemods.

    Args:
        module: Facts about the module.
        options: What the user asked for.
        path: The file, for what is beside it; empty for text without a file.
    """

    def __init__(self, module: Module, options: Options, path: str = "") -> None:
        self.module = module
        self.options = options
        self.path = path
        self.plan = Plan()
        self.findings: list[Finding] = []
        self.unselected: list[Finding] = []  # of rules that the user left out: what the code is, they tell all the same
        self.skips = Skips(module.text)
        self.handled: set[ast.AST] = set()  # root names and calls that the plan replaces or that were reported
        self.rewritten: set[ast.AST] = set()  # root names of references that will be gone
        self.moved: dict[ast.AST, str] = {}  # what is read below names that the plan moves: its name below the new ones
        self.tuned: set[ast.Call] = set()  # configurations of Tune, or of no trainer of today: dealt with
        self.undecided: set[ast.Call] = set()  # RunConfigs among them that a person parts: a trainer may get one too
        self.repeated: dict[ast.Call, str] = {}  # trainers, and the new function that makes a second one of each
        self.emitted: dict[tuple[str, ast.AST | None], str] = {}  # names of generated classes, by kind and block
        # Helpers: the name here, the statement before which they stand, and their code there.
        self.placed: dict[Helper, tuple[str, ast.stmt, Code | None]] = {}
        # Names of datasets that were transformed for a trainer, by block, source, and what the names in it stand for.
        self.prepared: dict[Prepared, str] = {}
        self.helpers: list[Helper] = []  # those that new code uses
        self.asked: list[Request] = []  # of other files
        self.done: list[Request] = []  # what other files asked of this one
        self.joins_ray = False  # whether a plain script is converted to one that trains on Ray
        self.joins_accelerate = options.part_of_loop  # or to one that trains with accelerate
        self.stays = False  # whether one of those that train is left as it is
        self._told: dict[int, dict[Finding, Finding]] = {}  # by line, and by what makes two of them one
        self._fresh: set[str] = set()
        self._numbers: defaultdict[str, int] = defaultdict(lambda: 2)  # from which on numbered names may be free
        self._kept: dict[tuple[int, int], str] = {}  # place that the user wants kept as it is -> code of its finding

    @property
    def current_transformers(self) -> bool:
        """Whether arguments get the names of current transformers; with `--ignore RM7` they keep those of 4.30."""
        return self.options.enabled(ARGUMENTS)

    @property
    def keeps_transformers(self) -> bool:
        """Whether the user wants transformers to stay at 4.30: `--ignore RM7`."""
        return self.options.ignores(ARGUMENTS)

    @property
    def is_ray_script(self) -> bool:
        """Whether the module trains with Ray, or is part of a job that does: others may well use old libraries."""
        return self.options.part_of_job or self.joins_ray or self.imports_ray

    @property
    def takes_current_libraries(self) -> bool:
        """Whether the module is to run with the libraries of today."""
        return self.is_ray_script or self.joins_accelerate

    @cached_property
    def apart(self) -> "Context":
        """The context of rules that shall only look at the module: none of their edits is made."""
        apart = Context(self.module, replace(self.options, accepted=None, freeze_numerics=False), self.path)
        apart.skips = self.skips
        return apart

    @cached_property
    def imports_ray(self) -> bool:
        """Whether the module imports something of Ray."""
        return any(
            alias.name.partition(".")[0] == "ray"
            if isinstance(statement, ast.Import)
            else not statement.level and (statement.module or "").partition(".")[0] == "ray"
            for statement in self.module.imports
            for alias in statement.names
        )

    @cached_property
    def is_legacy_script(self) -> bool:
        """Whether the module was written for an older Ray: it names something of ray.air, or what is gone from Ray."""
        return is_for_older_ray(self.module)

    @property
    def found(self) -> list[Finding]:
        """What was found so far, also by rules that the user left out."""
        return [*self.findings, *self.unselected]

    @property
    def of_legacy_job(self) -> bool:
        """Whether the module was written for an older Ray, or is part of a job that was."""
        return self.options.part_of_job or self.is_legacy_script

    @cached_property
    def written_settings(self) -> dict[str, str | None]:
        """What cells of the notebook write to files with settings, by path; None where it is not known."""
        folder = Path(self.path).parent
        written = ((folder / Path(name).expanduser(), text) for name, text in self.options.cell_settings)
        return {os.path.normpath(path): text for path, text in written}

    # -- other files of the project -------------------------------------------------------------

    def may_ask(self, path: str) -> bool:
        """Whether another file may be asked to change."""
        return self.module.project is not None and self.module.project.may_ask(path)

    def ask(self, request: Request) -> None:
        """Asks another file to change: this one is written only if that one can be."""
        if request not in self.asked:
            self.asked.append(request)

    @property
    def requests(self) -> list[Request]:
        """What other files ask of this one."""
        return self.module.project.requests(self.path) if self.module.project is not None else []

    @cached_property
    def from_ray(self) -> "WrittenFor":
        """The Ray that the module was written for; files of its project are read for it."""

        return written_for(self.module, self.path, self.options.from_ray)

    @cached_property
    def places(self) -> Places:
        """Where the functions of the module run."""
        return Places(self.module)

    def place_of(self, node: ast.AST) -> Place:
        """Where the code runs that a node is part of, as the module shows it, else the files that call its function."""
        place = self.places.of(node)
        if place is Place.UNKNOWN and self.module.project is not None and self.path:
            place = place_by_callers(self.module.project, self.module, node)
        if place is Place.UNKNOWN and not self.places.only_tuned.isdisjoint(self.module.ancestors(node)):
            return Place.TRIAL if self.places.called_by_asking.isdisjoint(self.module.ancestors(node)) else Place.BOTH
        return place

    @cached_property
    def also_elsewhere(self) -> set[ast.AST]:
        """Functions that also run where, as far as can be seen, no trainer or Tuner runs them."""
        return self.places.also_elsewhere(self.place_of)

    # -- findings ------------------------------------------------------------------------------

    def converts(self, rule: Rule, node: ast.AST, message: str, *, safe: bool = True) -> bool:
        """Reports an edit and says whether to make it.

        Args:
            rule: The rule that is met.
            node: Where.
            message: One sentence on what happens at run time and what becomes of it.
            safe: False where the edit can change behaviour; it is then made with --unsafe only.
        """
        made = safe or self.options.unsafe
        kind = Kind.CONVERTED if made else Kind.UNSAFE
        return (
            self._report(
                rule,
                kind,
                node,
                message,
                "" if made else "Run with --unsafe to make this edit, which can change behaviour.",
            )
            and made
        )

    def manual(self, rule: Rule, node: ast.AST, message: str, advice: str | None = None) -> None:
        """Reports what a person has to do."""
        self._report(rule, Kind.MANUAL, node, message, rule.fix if advice is None else advice)

    def leave(self, rule: Rule, reference: Reference, message: str, advice: str | None = None) -> None:
        """Reports what a person has to do about a reference, which no other rule deals with then."""
        self.manual(rule, reference.node, message, advice)
        self.handle(reference, gone=False)

    def note(self, rule: Rule, node: ast.AST, message: str) -> None:
        """Reports what to know of an edit."""
        self._report(rule, Kind.NOTE, node, message, "")

    def _report(self, rule: Rule, kind: Kind, node: ast.AST, message: str, advice: str) -> bool:
        line, column = self.module.start(node)
        skip = self.skips.of(rule.code, line)  # asked first: a rule that the user leaves out makes no comment stale
        finding = Finding(rule.code, kind, message, advice, line, column + 1, self.path)
        if not self.options.enabled(rule.code):
            self.unselected.append(finding)
            return False
        if kind in (Kind.MANUAL, Kind.NOTE, Kind.UNSAFE) and is_for_former_ray(self.module, node):
            return False  # with current Ray nothing happens there
        if self._kept.get((line, column), rule.code) != rule.code:
            return False  # a rule that meets what another one was kept from converting
        if skip is not None:
            finding = finding.skipped(skip.reason)
            self._kept[line, column] = rule.code
        declined = kind is Kind.CONVERTED and not self._is_accepted(finding)
        if declined:
            finding = replace(finding, kind=Kind.MANUAL, advice="You left this edit out; a later run can make it.")
            self._kept[line, column] = rule.code
        told = self._told.setdefault(line, {})
        # Two reads of one line that are left to a person are one thing to do, and told once.
        key = replace(finding, column=0) if kind is Kind.MANUAL else finding
        if key not in told:
            told[key] = finding
            self.findings.append(finding)
        return skip is None and not declined

    def tell_apart(self) -> None:
        """Tells what rules found that only looked: what they would convert, or leave to a person, without its edits."""
        for finding in self.apart.findings:
            if finding.kind is Kind.NOTE:
                continue  # a word on an edit
            advice = finding.advice if finding.kind is Kind.MANUAL else ""
            if finding.kind in (Kind.CONVERTED, Kind.UNSAFE):
                what = finding.template.removesuffix(".")
                for done in DONE:
                    what = what.rpartition(done)[0] or what
                finding = replace(finding, message=f"{what}; not changed, since the script stays as it is.")
            if finding.kind is not Kind.SKIPPED:
                finding = replace(finding, kind=Kind.NOTE, advice=advice)
            self.findings.append(finding)

    def findings_on(self, *lines: int | None) -> Iterator[Finding]:
        """What was reported so far on some lines, in no order."""
        return chain.from_iterable(self._told[line].values() for line in set(lines) if line in self._told)

    def _is_accepted(self, finding: Finding) -> bool:
        accepted = self.options.accepted
        line = self.module.lines[finding.line - 1].strip()
        return accepted is None or (finding.code, finding.message, line) in accepted

    # -- names ---------------------------------------------------------------------------------

    def references(self, *prefixes: str) -> list[Reference]:
        """References to these qualified names, or to names below them, that no codemod has dealt with yet."""
        return [found for found in self.module.references_within(*prefixes) if found.root not in self.handled]

    def handle(self, reference: Reference, *, gone: bool) -> None:
        """Notes that a reference is dealt with: rewritten, or reported and left."""
        self.handled.add(reference.root)
        if gone:
            self.rewritten.add(reference.root)

    def take_out(self, node: ast.AST) -> None:
        """Notes that code goes, and with it what it refers to."""
        for part in ast.walk(node):
            if part in self.module.reference_at:
                self.handle(self.module.reference_at[part], gone=True)

    def replace_reference(self, reference: Reference, source: str) -> None:
        """Replaces a whole attribute chain."""
        self.plan.replace(reference.node, source)
        self.handle(reference, gone=True)

    def settle_removed_arguments(self) -> None:
        """Counts references as rewritten if the plan takes away the argument or annotation that holds them.

        What the plan puts somewhere else stays.
        """
        moved = {part for code in self.plan.codes() for part in code.parts.values()}
        gone: set[ast.AST] = {
            keyword.value
            for call, edit in self.plan.calls.items()
            for keyword in call.keywords
            if keyword.arg in edit.remove and keyword.value not in moved
        }
        annotations = set(self.plan.removed_annotations())
        kept = names_in_texts(self.module, annotations) if annotations else frozenset()
        gone |= annotations
        inside = {node for part in gone for node in (part, *self.module.below(part))}
        for reference in self.module.references if gone else ():
            if reference.node in inside and reference.root.id not in kept:
                if moved.isdisjoint([reference.node, *self.module.ancestors(reference.node)]):
                    self.handle(reference, gone=True)

    def give(self, call: ast.Call, name: str, template: str, **parts: Part) -> None:
        """Sets an argument of a call, in a form that gives way to what is unpacked there, where that may hold it."""
        edit = self.plan.call(call)
        held = is_unpacked(self.module, call, name)
        if held is False or keyword_argument(call, name) is not None:
            edit.set(name, template, **parts)
        elif held is None:
            edit.set_default(name, template, **parts)

    def fresh(self, *names: str) -> str:
        """A name for generated code that nothing in the module uses: the first that is free, else one with a number."""
        numbered = ((f"{names[0]}_{number}", number) for number in count(self._numbers[names[0]]))
        candidates = chain(((name, 2) for name in names), numbered)
        candidate, number = next(c for c in candidates if c[0] not in self.module.names and c[0] not in self._fresh)
        self._numbers[names[0]] = number
        self._fresh.add(candidate)
        return candidate

    def give_back(self, name: str) -> None:
        """Lets other code have a name of `fresh` that was not needed."""
        self._fresh.discard(name)
        self._numbers.clear()

    def nested(self, statement: ast.stmt | None) -> ast.stmt | None:
        """An import, if it is in a function: then what new code needs instead of it or beside it is imported there too.

        Such imports resolve on the machine that runs the function, which may be the only one to have the library.
        """
        if statement is None or isinstance(self.module.scope_of[statement].node, ast.Module):
            return None
        return statement

    def can_import(self, package: str, reference: Reference) -> bool:
        """Whether a package can be had under its own name where a reference stands: nothing else is called so there.

        An import beside that of the reference counts as there, as a new one takes its place.
        """
        scope = self.module.scope_of[reference.root].find(package)
        if scope is None:
            return True
        if self.module.meanings(scope, package) != {package}:
            return False
        imported = reference.binding.statement
        is_beside = imported is not None and self.module.scope_of[imported] is scope
        return is_beside or is_imported_before(self.module, reference.root, package)
