"""Whether a script shows that it runs on GPUs."""

import ast
from collections.abc import Iterable

from raymigrate.facts.hugging_face.models import PIPELINES
from raymigrate.facts.projects.callees import calls_within, reached_elsewhere
from raymigrate.facts.projects.files import file_named
from raymigrate.facts.projects.settings import mappings
from raymigrate.facts.projects.yaml_files import settings_text
from raymigrate.facts.syntax.magics import asks_for_accelerator
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import argument, every_origin, is_method_call, keyword_argument, origins

GPU_ARGUMENTS = ("fp16", "device_map", "load_in_8bit", "load_in_4bit")
PARSES_FILES = ("parse_json_file", "parse_yaml_file")
GROUP = "torch.distributed.init_process_group"
MOVES = ("to", "to_empty")
# What works on GPUs alone, or picks one: a script that splits its batches over GPUs has some.
OF_GPUS = ("torch.cuda.set_device", "torch.nn.DataParallel", "torch.nn.parallel.DataParallel")


def asks_for_gpu(module: Module) -> bool:
    """Whether a script runs on GPUs: half precision of fp16, `.cuda()`, `device_map`, a named GPU, nccl, DataParallel,
    Colab's.

    What it calls in other files of its project counts too.
    """
    if _places_itself(module) or asks_for_accelerator(module) or _asks(module, module.of_type(ast.Call)):
        return True
    if _asks_in_file(module):
        return True
    return any(_asks(home, calls_within(code)) for home, code in reached_elsewhere(module, module.of_type(ast.Call)))


def _asks(module: Module, calls: Iterable[ast.Call]) -> bool:
    """Whether one of some calls asks for a GPU."""
    for call in calls:
        name = module.qualified(call.func)
        if name in OF_GPUS:
            return True
        if name == GROUP and "nccl" in str(module.constant(argument(call, 0, "backend"))):
            return True
        if is_method_call(call, "cuda"):
            return True
        is_move = is_method_call(call, *MOVES)
        device = argument(call, 0, "device") if is_move else keyword_argument(call, "device")
        if device is not None and (_is_gpu(module, device) or _is_numbered(module, call, device)):
            return True
        if any(keyword.arg in GPU_ARGUMENTS and _is_set(keyword.value) for keyword in call.keywords):
            return True
    return False


def _asks_in_file(module: Module) -> bool:
    """Whether a file with the TrainingArguments of a script asks for a GPU: `parser.parse_json_file("args.json")`."""
    for call, _ in module.method_calls(*PARSES_FILES) if module.path else ():
        named = argument(call, 0, "json_file", "yaml_file")
        path = file_named(module, named, module.path) if named is not None else None
        try:
            text = settings_text(path, None) if path is not None else ""
        except (OSError, ValueError):
            continue
        keys = next(mappings(text), [])
        if any(key.name in GPU_ARGUMENTS and (key.value or "").lower() == "true" for key in keys):
            return True
    return False


def _is_gpu(module: Module, device: ast.expr) -> bool:
    """Whether a device is a GPU by its name, whatever the machine has: `"cuda"`, `torch.device("cuda:0")`."""
    return every_origin(module, device, _names_gpu)


def _is_numbered(module: Module, call: ast.Call, device: ast.expr) -> bool:
    """Whether a pipeline is given a GPU by its number, whatever the machine has: `pipeline(task, device=0)`."""
    ends = [end.module.constant(end.node) for end in origins(module, device)]
    known = [type(end) is int and end >= 0 for end in ends]
    return module.qualified(call.func) in PIPELINES and bool(known) and all(known)


def _names_gpu(module: Module, node: ast.expr) -> bool:
    if isinstance(node, ast.Call) and module.qualified(node.func) == "torch.device":
        named = argument(node, 0, "type")
        return named is not None and _is_gpu(module, named)
    if isinstance(node, ast.JoinedStr) and node.values:
        node = node.values[0]
    name = module.constant(node)
    return isinstance(name, str) and name.startswith("cuda")


def _places_itself(module: Module) -> bool:
    """Whether each process takes the GPU of its local rank: a name of `cuda` that is made with `LOCAL_RANK`."""
    texts = [node.value for node in module.of_type(ast.Constant) if isinstance(node.value, str)]
    return "LOCAL_RANK" in texts and any(text == "cuda" or text.startswith("cuda:") for text in texts)


def _is_set(value: ast.expr) -> bool:
    return not (isinstance(value, ast.Constant) and value.value in (None, False, "cpu"))
