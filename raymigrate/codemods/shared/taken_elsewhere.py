"""Names that other files of the project take from a module which has imported them itself."""

from raymigrate.facts.module import Module
from raymigrate.facts.named_lines import named_line
from raymigrate.facts.project_uses import takers

FEW = 3  # files that a sentence has room for


def taken_elsewhere(module: Module, name: str) -> str:
    """Which files take a name from a module, and in which line: a part of a sentence, empty if none does."""
    found = [(other.path, named_line(other, place)) for other, place in takers(module, name)]
    if len(found) < 2:
        return "".join(f"{path} takes {name} from here ({line})" for path, line in found)
    listed = [f"{path} ({line})" for path, line in found[:FEW]]
    if len(found) > FEW:
        listed.append(f"{len(found) - FEW} more")
    return f"{', '.join(listed[:-1])} and {listed[-1]} take {name} from here"
