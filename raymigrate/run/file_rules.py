"""RM90x: what is reported of files as such, whatever they hold."""

from raymigrate.base.findings import Rule
from raymigrate.comments.skips import RM906
from raymigrate.documents.remarks import RM901

RM902 = Rule(
    "RM902",
    "a file that cannot be read or written",
    "The file, or one named on the command line, cannot be read, decoded or written.",
    "See the message.",
    "https://docs.python.org/3/reference/lexical_analysis.html#encoding-declarations",
)
RM903 = Rule(
    "RM903",
    "a conversion that was not safe to write",
    "The result failed one of the checks made on every file, so the file is left as it was.",
    "Please report it with the file.",
    "https://docs.python.org/3/",
)
RM908 = Rule(
    "RM908",
    "a file of the job outside the paths that were given",
    "A script that is converted imports the file, or a link in a folder that was given leads to it. It has to change as"
    " well: until then the job fails on current libraries, or does not train as before.",
    "Name the folder of the project on the command line, or the file too.",
    "https://docs.ray.io/en/latest/train/user-guides.html",
)
RM909 = Rule(
    "RM909",
    "helpers of several scripts in one module",
    "Converted scripts share the classes and functions that `--helpers module` writes once beside them; a worker that"
    " cannot import the module fails.",
    "Nothing on one machine, or where the workers get the folder (`ray job submit --working-dir`): they look where the"
    " script does.",
    "https://docs.ray.io/en/latest/ray-core/handling-dependencies.html",
)
RM910 = Rule(
    "RM910",
    "a name that new code needs and the script uses for something else",
    "New code would call a library by a name that the script gives to something of its own, and where both meet,"
    " nothing tells which of them is meant. The file is left as it was, so it fails on current libraries as before.",
    "Give the script's own thing another name, and convert again.",
    "https://docs.python.org/3/reference/executionmodel.html#naming-and-binding",
)
RULES = (RM901, RM902, RM903, RM906, RM908, RM909, RM910)
