"""Names that other files of the project take from a module which has imported them itself."""

from raymigrate.base.words import few
from raymigrate.facts.projects.takers import takers
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.named_lines import named_line


def taken_elsewhere(module: Module, name: str) -> str:
    """Which files take a name from a module, and in which line: a part of a sentence, empty if none does."""
    found = [(other.path, named_line(other, place)) for other, place in takers(module, name)]
    if len(found) < 2:
        return "".join(f"{path} takes {name} from here ({line})" for path, line in found)
    return f"{few(f'{path} ({line})' for path, line in found)} take {name} from here"
