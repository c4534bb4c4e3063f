"""--to-accelerate: other spellings of what native loops do, and what is refused with its reason."""

from pathlib import Path
from textwrap import dedent, indent

import pytest

from raymigrate.base.findings import Kind
from tests.conftest import FALSE_FRIENDS
from tests.rules.scripts import Outcome, converted

HEAD = """import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader

from job import data, test_data

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
loader = DataLoader(data, batch_size=8, shuffle=True)
test_loader = DataLoader(test_data, batch_size=8)
model = nn.Linear(4, 2).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""
STEP = "    loss = F.cross_entropy(model(x), y)\n    optimizer.zero_grad()\n    loss.backward()\n    optimizer.step()\n"
LOOP = f"for x, y in loader:\n    x, y = x.to(device), y.to(device)\n{STEP}"
OPTIM = "torch.optim.lr_scheduler"
ITEMS = "    x, y = batch['x'], batch['y']\n"


def indented(block: str) -> str:
    return indent(block, "        ")


def accelerated(*parts: str, head: str = HEAD) -> Outcome:
    return converted(head + "".join(parts), to_accelerate=True)


def refusal(*parts: str, head: str = HEAD) -> str:
    """Why a script is left as it is."""
    text = head + "".join(parts)
    outcome = converted(text, to_accelerate=True)
    assert outcome.text == text
    assert [(code, kind) for code, kind, _ in outcome.findings] == [("RM851", Kind.MANUAL)]
    return outcome.messages[0]


@pytest.mark.parametrize(
    "looking",
    [
        "    with torch.no_grad():\n        print(model.encode(x))\n",
        "    with torch.inference_mode():\n        print(model.encode(x))\n",
        "    with torch.autocast('cpu'), torch.no_grad():\n        print(model.encode(x))\n",
    ],
)
def test_another_method_than_forward_is_called_without_gradients_only(looking: str) -> None:
    assert "accelerator.unwrap_model(model).encode(x)" in accelerated(LOOP, looking).text
    assert "averages the gradients of forward() alone" in refusal(LOOP, "    print(model.encode(x))\n")


def test_a_part_of_an_object_that_trains_is_named_as_such() -> None:
    head = HEAD.replace("model = nn.Linear(4, 2).to(device)", "from job import pipe\n").replace("model.", "pipe.unet.")
    said = refusal(LOOP.replace("model(", "pipe.unet("), head=head)
    assert "`pipe.unet` is what trains, and is no name to which prepare() can give it back" in said


FREEZING = """
class Net(torch.nn.Module):
    def hold(self, flag):
        for weight in self.parameters():
            weight.requires_grad = not flag

    def hold_all(self):
        self.requires_grad_(False)

    def loss_of(self, x):
        return self(x)

"""


@pytest.mark.parametrize("method", ["hold(True)", "hold_all()", "freeze_feature_encoder()", "requires_grad_(False)"])
def test_weights_that_are_frozen_between_the_steps_keep_the_loop(method: str) -> None:
    head = HEAD.replace("\n\ndevice", f"\n{FREEZING}device").replace("nn.Linear(4, 2)", "Net()")
    said = refusal(LOOP, f"    model.{method}\n", head=head if method.startswith("hold") else HEAD)
    assert "changes requires_grad: in several processes" in said
    assert "forward() alone" not in said
    loss = LOOP.replace("F.cross_entropy(model(x), y)", "model.loss_of(x)")
    assert "averages the gradients of forward() alone" in refusal(loss, head=head)


def test_without_the_option_a_native_loop_stays_as_it_is() -> None:
    text = HEAD + LOOP
    outcome = converted(text)
    assert (outcome.text, outcome.findings) == (text, [])


@pytest.mark.parametrize("friend", [f for f in FALSE_FRIENDS if f.stem != "native_loop"], ids=lambda path: path.stem)
def test_false_friends_are_left_alone_with_the_option_too(friend: Path) -> None:
    text = friend.read_text(encoding="utf-8")
    trains_on_ray = friend.stem == "torch_trainer_function_name"  # which is told
    told = {code for code, _, _ in converted(text, to_accelerate=True).findings if code.startswith("RM85")}
    assert told == ({"RM851"} if trains_on_ray else set())


@pytest.mark.parametrize(
    "moves",
    [
        "for x, y in loader:\n    x, y = x.to(device), y.to(device)\n",
        "for x, y in loader:\n    x = x.cuda()\n    y = y.cuda(non_blocking=True)\n",
        "for x, y in loader:\n    if torch.cuda.is_available():\n        x, y = x.cuda(), y.cuda()\n",
        "for i, (x, y) in enumerate(loader):\n    x, y = x.to(device=device), y.to('cuda')\n",
        "for batch in loader:\n    batch = tuple(t.to(device) for t in batch)\n    x, y = batch\n",
        "for batch in loader:\n    x, y = [t.to(device) for t in batch]\n",
        "for batch in loader:\n    x, y = (t.to(device) for t in batch)\n",
        "for batch in loader:\n    for key in batch:\n        batch[key] = batch[key].to(device)\n" + ITEMS,
        "for batch in loader:\n    batch = {k: v.to(device) for k, v in batch.items()}\n" + ITEMS,
    ],
)
def test_batches_of_a_prepared_loader_are_not_moved(moves: str) -> None:
    text = accelerated(moves, STEP).text
    body = text[text.index(" in loader") if " in loader" in text else text.index("enumerate(loader") :]
    assert ".to(" not in body and ".cuda(" not in body and "accelerator.backward(loss)" in body
    assert "for t in" not in body
    assert "model, optimizer, loader = accelerator.prepare(model, optimizer, loader)" in text
    assert "model = nn.Linear(4, 2)\n" in text


@pytest.mark.parametrize(
    "move",
    [
        "model.cuda() if torch.cuda.is_available() else model.cpu()",
        "model = model.cuda() if torch.cuda.is_available() else model.cpu()",
        "model = model.cpu() if not torch.cuda.is_available() else model.cuda()",
        "model = model.cuda() if torch.cuda.is_available() else model",
    ],
)
def test_a_model_that_is_moved_on_a_condition_leaves_nothing_behind(move: str) -> None:
    script = accelerated("for x, y in loader:\n    pass\n", STEP).text  # as it is without the move
    moved = accelerated(f"{move}\nfor x, y in loader:\n    pass\n", STEP).text
    assert moved == script


def test_a_move_that_changes_the_type_keeps_that() -> None:
    text = accelerated(
        "for x, y in loader:\n    x = x.to(device, torch.float32)\n    y = y.to(device, dtype=torch.long)\n", STEP
    ).text
    assert "x = x.to(torch.float32)" in text
    assert "y = y.to(dtype=torch.long)" in text


@pytest.mark.parametrize(
    "made", ["torch.randn(4).to(device)", "torch.zeros(4, device=device)", "torch.randn(4).cuda()"]
)
def test_tensors_made_in_the_loop_go_to_the_device_of_the_accelerator(made: str) -> None:
    text = accelerated(f"for x, y in loader:\n    x = x.to(device) + {made}\n    y = y.to(device)\n", STEP).text
    assert "device = accelerator.device" in text or "accelerator.device)" in text
    assert "torch.randn(4)\n" not in text


def test_what_goes_to_the_cpu_goes_there() -> None:
    text = accelerated(LOOP, "    print(y.to('cpu').numpy(), y.to(torch.device('cpu')), y.cpu())\n").text
    assert "accelerator.print(y.to('cpu').numpy(), y.to(torch.device('cpu')), y.cpu())" in text


@pytest.mark.parametrize(
    ("counted", "expected"),
    [
        (
            "        out = model(x.to(device))\n        hits += (out.argmax(1) == y.to(device)).sum().item()\n",
            "hits += (out == y).sum().item()",
        ),
        (
            "        hits += (model(x.to(device)).argmax(1) == y.to(device)).sum().item()\n",
            "predictions, y = accelerator.gather_for_metrics((model(x).argmax(1), y))",
        ),
        (
            "        scores = model(x.to(device))\n        _, best = scores.max(1)\n"
            "        hits += best.eq(y.to(device)).sum().item()\n",
            "best, y = accelerator.gather_for_metrics((best, y))",
        ),
        (
            "        best = model(x.to(device)).argmax(1).cpu()\n        hits += (best == y).sum().item()\n",
            "best = model(x).argmax(1)\n        best, y = accelerator.gather_for_metrics((best, y))",
        ),
        (
            "        out = model(x.to(device))\n        hits += F.cross_entropy(out, y.to(device)).item() * len(x)\n",
            "hits += F.cross_entropy(out, y).item() * y.size(0)",
        ),
    ],
)
def test_what_is_counted_is_gathered_first(counted: str, expected: str) -> None:
    text = accelerated(LOOP, "hits = 0\nwith torch.no_grad():\n    for x, y in test_loader:\n", counted).text
    if expected == "hits += (out == y).sum().item()":
        assert (
            "out, y = accelerator.gather_for_metrics((out, y))\n        hits += (out.argmax(1) == y).sum().item()"
            in text
        )
    else:
        assert expected in text
    assert "model, optimizer, loader, test_loader = accelerator.prepare" in text


@pytest.mark.parametrize(
    "counted",
    [
        "        hits += metric(model, x, y)\n",
        "        first = model(x)\n        hits += (first + model(x * 2)).sum().item()\n",
    ],
)
def test_an_evaluation_that_is_not_understood_sees_all_rows_in_every_process(counted: str) -> None:
    outcome = accelerated(
        "def metric(model, x, y):\n    return model(x.to(device)).sum().item()\n",
        LOOP,
        "hits = 0\nfor x, y in test_loader:\n    if True:\n",
        counted,
    )
    assert "gather_for_metrics" not in outcome.text
    assert "test_loader = accelerator" not in outcome.text and ", test_loader" not in outcome.text


def test_rows_are_not_gathered_where_the_main_process_evaluates_alone() -> None:
    script = """
    import os
    import torch
    import torch.distributed as dist
    import torch.nn as nn
    import torch.nn.functional as F
    from torch.nn.parallel import DistributedDataParallel as DDP
    from torch.utils.data import DataLoader, DistributedSampler
    from job import data, test_data

    dist.init_process_group("nccl")
    rank = int(os.environ["RANK"])
    device = torch.device("cuda", rank)
    loader = DataLoader(data, sampler=DistributedSampler(data))
    test_loader = DataLoader(test_data)
    model = DDP(nn.Linear(4, 2).to(device), device_ids=[rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        loss = F.cross_entropy(model(x.to(device)), y.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    is_main = rank == 0
    if is_main:
        for x, y in test_loader:
            out = model(x.to(device))
            print((out.argmax(1) == y.to(device)).sum())
    """
    text = accelerated(head=dedent(script)).text
    assert "gather" not in text and "x.to(device)" in text
    assert "model, optimizer, loader = accelerator.prepare" in text
    assert "init_process_group" not in text and "DDP" not in text and "Sampler" not in text


@pytest.mark.parametrize("last", ["i == len(loader) - 1", "i + 1 == len(loader)", "len(loader) == i + 1"])
@pytest.mark.parametrize("every", ["(i + 1) % 4 == 0", "not (i + 1) % 4"])
@pytest.mark.parametrize(
    "divided",
    [
        "    (loss / 4).backward()\n",
        "    loss = loss / 4\n    loss.backward()\n",
        "    loss /= 4\n    loss.backward()\n",
    ],
)
def test_a_loop_that_steps_at_the_end_of_an_epoch_accumulates(last: str, every: str, divided: str) -> None:
    loop = f"for i, (x, y) in enumerate(loader):\n    loss = F.cross_entropy(model(x), y)\n{divided}"
    text = accelerated(
        loop, f"    if {every} or {last}:\n        optimizer.step()\n        optimizer.zero_grad()\n"
    ).text
    assert "Accelerator(gradient_accumulation_steps=4)" in text
    assert "with accelerator.accumulate(model):" in text
    assert "/ 4" not in text and "/= 4" not in text and "if " not in text.partition("in enumerate")[2]


@pytest.mark.parametrize(
    ("divided", "condition"),
    [
        ("    (loss / 4).backward()\n", "(i + 1) % 4 == 0"),
        ("    (loss / 4).backward()\n", "i % 4 == 0"),
        ("    (loss / 4).backward()\n", "i % 4 == 0 or i == len(loader) - 1"),
        ("    (loss / 4).backward()\n", "(i + 1) % 4 == 0 or i == len(test_loader) - 1"),
        ("    loss.backward()\n", "(i + 1) % 4 == 0 or i == len(loader) - 1"),
        (
            "    loss = loss / 4\n    loss.backward()\n    print(loss.item())\n",
            "(i + 1) % 4 == 0 or i == len(loader) - 1",
        ),
    ],
)
def test_another_accumulation_keeps_its_condition(divided: str, condition: str) -> None:
    loop = f"for i, (x, y) in enumerate(loader):\n    loss = F.cross_entropy(model(x), y)\n{divided}"
    outcome = accelerated(loop, f"    if {condition}:\n        optimizer.step()\n        optimizer.zero_grad()\n")
    assert f"if {condition}:" in outcome.text and "accumulat" not in outcome.text
    assert [code for code, kind, _ in outcome.findings if kind is Kind.NOTE].count("RM853") == 1


def test_what_else_an_accumulating_loop_does_for_each_step_it_does_so_still() -> None:
    loop = "for i, (x, y) in enumerate(loader):\n    loss = F.cross_entropy(model(x), y)\n    (loss / 4).backward()\n"
    text = accelerated(
        "steps = 0\n",
        loop,
        "    if (i + 1) % 4 == 0 or i + 1 == len(loader):\n        optimizer.step()\n        steps += 1\n",
    ).text
    assert "        if accelerator.sync_gradients:\n            optimizer.step()\n            steps += 1\n" in text


@pytest.mark.parametrize(
    ("made", "stepped", "is_prepared"),
    [
        ("get_linear_schedule_with_warmup(optimizer, 0, len(loader) * 3)", "    scheduler.step()\n", True),
        (f"{OPTIM}.OneCycleLR(optimizer, 0.1, epochs=3, steps_per_epoch=len(loader))", "    scheduler.step()\n", True),
        ("get_linear_schedule_with_warmup(optimizer, 10, 1000)", "    scheduler.step()\n", False),
        (f"{OPTIM}.CosineAnnealingLR(optimizer, T_max=500)", "    scheduler.step()\n", False),
        (f"{OPTIM}.StepLR(optimizer, 2)", "scheduler.step()\n", False),
        (f"{OPTIM}.ReduceLROnPlateau(optimizer)", "scheduler.step(loss)\n", False),
        (f"{OPTIM}.CosineAnnealingLR(optimizer, T_max=len(loader))", "scheduler.step()\n", False),
    ],
)  # fmt: skip
def test_a_scheduler_is_prepared_where_its_length_counts_batches(made: str, stepped: str, is_prepared: bool) -> None:
    text = accelerated(
        f"from transformers import get_linear_schedule_with_warmup\nscheduler = {made}\n", LOOP, stepped
    ).text
    assert ("loader, scheduler = accelerator.prepare" in text) is is_prepared
    assert text.index("scheduler = ") < text.index("accelerator.prepare")


@pytest.mark.parametrize(
    ("context", "precision"),
    [
        ("torch.autocast('cuda', dtype=torch.bfloat16)", '"bf16"'),
        ("torch.autocast(device_type='cuda', dtype=torch.float16)", '"fp16"'),
        ("torch.cuda.amp.autocast()", '"fp16"'),
        ("torch.amp.autocast('cuda')", '"fp16"'),
        ("torch.cuda.amp.autocast(enabled=True, dtype=torch.bfloat16)", '"bf16"'),
        ("torch.autocast('cpu')", '"bf16"'),
    ],
)
def test_autocast_says_which_half_precision(context: str, precision: str) -> None:
    loop = f"for x, y in loader:\n    with {context}:\n        loss = F.cross_entropy(model(x), y)\n"
    text = accelerated(loop, "    optimizer.zero_grad()\n    loss.backward()\n    optimizer.step()\n").text
    assert f"Accelerator(mixed_precision={precision})" in text
    assert "with accelerator.autocast():" in text


HALF = """
for x, y in loader:
    with torch.autocast("cuda"):
        loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
ADDS_UP = "    right = 0\n    for x, y in test_loader:\n        right += (model(x).argmax(1) == y).sum().item()\n"


@pytest.mark.parametrize(
    ("evaluation", "is_told"),
    [
        (f"with torch.no_grad():\n{ADDS_UP}", True),
        (f"@torch.inference_mode()\ndef evaluate(model):\n{ADDS_UP}    return right\nevaluate(model)\n", True),
        (f"def evaluate(net):\n  with torch.no_grad():\n{ADDS_UP.replace('model', 'net')}evaluate(model)\n", True),
        (f"with torch.no_grad(), torch.autocast('cuda'):\n{ADDS_UP}", False),
        (f"half = torch.autocast('cuda')\nwith torch.no_grad():\n  with half:\n{ADDS_UP}", False),
        (f"def evaluate(net):\n{ADDS_UP}\nwith torch.no_grad(), torch.autocast('cuda'):\n    evaluate(model)\n", False),
        ("other = nn.Linear(4, 2)\nwith torch.no_grad():\n    print(other(torch.zeros(4)))\n", False),
    ],
)  # fmt: skip
def test_an_evaluation_that_ran_in_full_precision_is_told(evaluation: str, is_told: bool) -> None:
    """accelerate puts autocast around the forward of a prepared model, wherever that is called."""
    outcome = accelerated(HALF, evaluation)
    assert "accelerator.prepare(" in outcome.text
    assert any(message.startswith("This ran in full precision") for message in outcome.messages) == is_told


EPOCHS = """
best, patience = 9.0, 0
for epoch in range(9):
    total = 0.0
    for x, y in loader:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
"""


@pytest.mark.parametrize(
    ("end", "is_told"),
    [
        ("    if total > best:\n        break\n", True),
        ("    mean = total / len(loader)\n    if mean > best:\n        if epoch > 2:\n            break\n", True),
        ("    if loss.item() < 0.1:\n        break\n", True),
        ("    if epoch > 5:\n        break\n", False),
    ],
)  # fmt: skip
def test_an_end_that_each_process_would_choose_by_itself_is_told(end: str, is_told: bool) -> None:
    outcome = accelerated(EPOCHS, end)
    assert bool(outcome.lines("RM858", Kind.MANUAL)) is is_told
    assert "accelerator.backward(loss)" in outcome.text


@pytest.mark.parametrize(
    ("begin", "each", "is_told"),
    [
        ("step = 0", "step += 1", False),
        ("step = int(NAME.split('-')[-1]) if NAME else 0", "step += 1", False),
        ("step = 0\nif NAME:\n    step = int(NAME)", "step = step + 1", False),
        ("step = resumed(NAME)", "step = 1 + step", False),
        ("step = resumed(NAME)", "step += loss.item()", True),
        ("step = resumed(NAME)", "step = step + loss.item()", True),
        ("step = resumed(NAME)", "step = best + 1\n        best = loss.item()", True),
    ],
)
def test_steps_that_a_checkpoint_began_are_those_of_all(begin: str, each: str, is_told: bool) -> None:
    outcome = accelerated(
        f"NAME = 'step-3'\n{begin}\n", EPOCHS, f"        {each}\n", "    if step > 9:\n        break\n"
    )
    assert bool(outcome.lines("RM858", Kind.MANUAL)) is is_told
    assert "accelerator.backward(loss)" in outcome.text


@pytest.mark.parametrize(
    "written",
    [
        "with open('losses.txt', 'w') as file:\n    print(loss.item(), file=file)\n",
        "with open('losses.txt', mode='a') as file:\n    print(loss.item(), file=file)\n",
        "import matplotlib.pyplot as plt\nplt.savefig('losses.png')\n",
        "import numpy as np\nnp.save('losses.npy', loss.item())\n",
        "losses.to_csv('losses.csv')\n",
    ],
)
def test_files_that_every_process_would_write_are_those_of_the_main_one(written: str) -> None:
    outcome = accelerated(LOOP, written)
    assert not outcome.lines("RM857", Kind.MANUAL)
    assert "\nif accelerator.is_main_process:\n    " in outcome.text


def test_optimizers_may_stand_between_the_functions_that_use_them() -> None:
    step = "def step(x, y):\n    F.cross_entropy(model(x), y).backward()\n    optimizer.step()\n"
    made = "other = torch.optim.Adam(model.parameters())\n"
    text = accelerated(step, made, "for x, y in loader:\n    step(x, y)\n    other.step()\n").text
    assert "model, optimizer, other, loader = accelerator.prepare(model, optimizer, other, loader)" in text


@pytest.mark.parametrize(("value", "is_told"), [("total / len(loader)", True), ("epoch", False)])
def test_a_plateau_that_each_process_would_see_for_itself_is_told(value: str, is_told: bool) -> None:
    plateau = "scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)\n"
    outcome = accelerated(plateau, EPOCHS, f"    scheduler.step({value})\n")
    assert bool(outcome.lines("RM858", Kind.MANUAL)) is is_told


def test_a_data_set_is_still_told_its_epoch() -> None:
    assert "data.set_epoch(0)" in accelerated("data.set_epoch(0)\n", LOOP).text


def test_batches_of_unequal_sizes_are_told() -> None:
    head = HEAD.replace("batch_size=8, shuffle=True", "batch_sampler=data.batches")
    assert any("even_batches=False" in message for message in accelerated(LOOP, head=head).messages)


def test_a_function_may_make_the_model_and_its_optimizer() -> None:
    head = HEAD.partition("model = ")[0]
    build = """
def build():
    model = nn.Linear(4, 2).to(device)
    return model, torch.optim.SGD(model.parameters(), lr=0.1)


net, opt = build()
"""
    text = accelerated(build, LOOP.replace("model", "net").replace("optimizer", "opt"), head=head).text
    assert "net, opt, loader = accelerator.prepare(net, opt, loader)" in text
    assert "device = accelerator.device" in text and "x.to(device)" not in text


def test_a_saved_model_is_unwrapped_and_saved_once() -> None:
    saves = (
        "torch.save(model.state_dict(), 'a.pt')\nif loss < 1:\n    torch.save({'model': model.state_dict()}, 'b.pt')\n"
    )
    text = accelerated(LOOP, saves).text
    assert (
        "accelerator.wait_for_everyone()\naccelerator.save(accelerator.unwrap_model(model).state_dict(), 'a.pt')"
        in text
    )
    assert "if loss < 1:\n    accelerator.save({'model': accelerator.unwrap_model(model).state_dict()}, 'b.pt')" in text


@pytest.mark.parametrize(
    ("loop", "reason"),
    [
        ("for x, y in loader:\n    optimizer.step(lambda: 1)\n    model(x).sum().backward()\n", "step(closure)"),
        (f"{LOOP}    torch.autograd.grad(loss, x)\n", "autograd.grad"),
        ("for x, y in loader:\n    model.loss(x, y).backward()\n    optimizer.step()\n", "model.loss()"),
        (f"import apex\n{LOOP}", "apex"),
        (f"import pytorch_lightning\n{LOOP}", "Lightning"),
        (f"import ray\n{LOOP}", "Ray already"),
        (f"for x, y in zip(data, test_data):\n{STEP}", "DataLoader"),
        (f"accelerator = 1\n{LOOP}", "the name `accelerator`"),
        (f"class Own:\n    def fit(self):\n        for x, y in loader:\n{indented(STEP)}", "in another place than"),
        (f"{LOOP}optimizer = torch.optim.Adam(model.parameters())\n{LOOP}", "two trainings"),
        (f"def other():\n    for x, y in loader:\n        model(x).sum().backward()\n{LOOP}", "two trainings"),
        (f"import torch.distributed as dist\ndist.broadcast(torch.zeros(1), 0)\n{LOOP}", "torch.distributed.broadcast"),
    ],
)  # fmt: skip
def test_a_loop_that_cannot_be_expressed_is_left_with_its_reason(loop: str, reason: str) -> None:
    assert reason in refusal(loop)


def test_a_legacy_import_that_nothing_uses_goes_and_does_not_keep_the_loop() -> None:
    """It was refused, as a second run would have converted it."""
    outcome = converted(f"{HEAD}from ray.air import session\n{LOOP}", to_accelerate=True)
    assert "ray" not in outcome.text
    assert "accelerator.backward(loss)" in outcome.text


def test_a_loop_is_converted_whole_or_not_at_all() -> None:
    text = HEAD + LOOP + "torch.save(model.state_dict(), 'a.pt')  # raymigrate: skip[RM857]\n"
    outcome = converted(text, to_accelerate=True)
    assert outcome.text == text
    assert "RM857 is left out" in outcome.messages[0]
    assert converted(HEAD + LOOP, to_accelerate=True, ignore=("RM850",)).text == HEAD + LOOP


TRAINER = """\
import torch
from transformers import Trainer

class Own(Trainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        loss = self.compute_loss(model, inputs)
        {back}
        self.optimizer.zero_grad()
        return loss.detach()
"""


@pytest.mark.parametrize("back", ["self.accelerator.backward(loss)", "loss.backward()"])
def test_the_training_step_of_a_trainer_is_no_native_loop(back: str) -> None:
    assert converted(TRAINER.format(back=back), to_accelerate=True).findings == []
    assert converted(TRAINER.format(back=back).replace("(Trainer)", ""), to_accelerate=True).findings != []


GENERATING = """\
import torch
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM

{made}
loader = DataLoader(rows, batch_size=8)
optimizer = torch.optim.AdamW(model.parameters())
for batch in loader:
    loss = model(**batch).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(model.generate(batch["input_ids"]))
"""
OWN_GENERATE = "class Net(torch.nn.Module):\n{}    def generate(self, ids):\n        return self(ids)\n\nmodel = Net()"


@pytest.mark.parametrize(
    ("made", "is_sure"),
    [
        ("model = AutoModelForCausalLM.from_pretrained('m')", True),
        ("model = AutoModelForCausalLM.from_pretrained('m').to('cuda')", True),
        (OWN_GENERATE.format("    @torch.no_grad()\n"), True),
        (OWN_GENERATE.format(""), False),
        ("model = make()", False),
    ],
)
def test_generate_without_gradients_is_asked_of_the_model_inside(made: str, is_sure: bool) -> None:
    found = converted(GENERATING.format(made=made), to_accelerate=True)
    assert ("accelerator.unwrap_model(model).generate(" in found.text) == is_sure
    assert any(code == "RM851" for code, _, _ in found.findings) != is_sure


SCALED = """\
    with torch.autocast("cuda", enabled=CFG.apex):
        loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
"""


SETTINGS = "\nclass CFG:\n    apex = True\n\n\n"
BELOW = f"for x, y in loader:\n    x, y = x.to(device), y.to(device)\n{SCALED}"
MADE = 'accelerator = Accelerator(mixed_precision="fp16" if CFG.apex else "no")\n'


def test_a_setting_below_what_is_moved_is_told_with_the_place_of_the_accelerator() -> None:
    scaled, settings = BELOW, f"{SETTINGS}scaler = torch.cuda.amp.GradScaler(enabled=CFG.apex)\n"
    said = refusal(settings, scaled)
    assert "`CFG` has no value yet where the Accelerator is made, at `device = torch.device('cuda'" in said
    between = HEAD.replace("\nloader", f"\n{settings.partition('scaler')[0]}\nloader", 1)
    text = accelerated("scaler = torch.cuda.amp.GradScaler(enabled=CFG.apex)\n", scaled, head=between).text
    assert 'apex = True\n\n\naccelerator = Accelerator(mixed_precision="fp16" if CFG.apex else "no")\n' in text
    above = HEAD.replace("\ndevice", f"{settings.partition('scaler')[0]}\ndevice")
    text = accelerated("scaler = torch.cuda.amp.GradScaler(enabled=CFG.apex)\n", scaled, head=above).text
    assert 'mixed_precision="fp16" if CFG.apex else "no"' in text


def below_device(*, between: str = "", after: str = "print(device)\n") -> Outcome:
    """A script whose settings stand below the line of the device, which is read at its end too."""
    head = HEAD.replace("\nloader", f"\n{between}{SETTINGS}loader", 1)
    return accelerated("scaler = torch.cuda.amp.GradScaler(enabled=CFG.apex)\n", BELOW, after, head=head)


@pytest.mark.parametrize("after", ["print(device)\n", "def show():\n    print(device)\n\n\nshow()\n"])
def test_the_line_of_a_device_goes_below_the_settings_of_the_accelerator(after: str) -> None:
    text = below_device(after=after).text
    assert f"\n\n{MADE}device = accelerator.device\nloader" in text
    assert text.count("device = ") == 1


@pytest.mark.parametrize(
    "between",
    [
        "print(device)\n",
        "def show():\n    print(device)\n\n\nshow()\n",
        "class Batch:\n    def to(self):\n        return device\n\n\nfirst = Batch()\n",
        "def show(place=device):\n    print(place)\n\n\n",
        "if test_data:\n    device = torch.device('cpu')\n",
    ],
)
def test_that_of_a_device_which_is_read_above_them_stays(between: str) -> None:
    assert "Accelerator(" not in below_device(between=between).text


def test_the_accelerator_waits_for_the_last_value_of_its_setting() -> None:
    head = HEAD.replace("\nloader", f"\n{SETTINGS}CFG.apex = False\nloader", 1)
    scaler = "scaler = torch.cuda.amp.GradScaler(enabled=CFG.apex)\n"
    assert f"CFG.apex = False\n{MADE}device = " in accelerated(scaler, BELOW, "print(device)\n", head=head).text


@pytest.mark.parametrize(
    ("loss", "given"),
    [
        ("(loss / 3).backward()", "loss / 3"),
        ("(loss).backward()", "loss"),
        ("(-loss if x.any() else loss).backward()", "-loss if x.any() else loss"),
        ("((loss + 1) / 3).backward(retain_graph=True)", "(loss + 1) / 3, retain_graph=True"),
        ("(total := loss).backward()", "(total := loss)"),
        ("(\n        loss\n        / 3\n    ).backward()", "(\n        loss\n        / 3\n    )"),
    ],
)
def test_a_loss_keeps_no_parentheses_that_it_does_not_need(loss: str, given: str) -> None:
    text = accelerated(LOOP.replace("loss.backward()", loss)).text
    assert f"    accelerator.backward({given})\n" in text


@pytest.mark.parametrize("head", ["for step in range(9):\n", "while steps_left():\n"])
def test_batches_that_a_loop_draws_itself_are_named(head: str) -> None:
    endless = "def endless():\n    while True:\n        yield from loader\n"
    start = f"{endless}from job import steps_left\nbatches = endless()\n{head}"
    told = refusal(start, "    x, y = next(batches)\n", STEP)
    assert f"draws its batches by next() in line {(HEAD + start).count(chr(10)) + 1}, and goes over no loader" in told


def test_what_else_a_loop_draws_is_no_batch() -> None:
    start = "from job import rows_of\nrates = iter([0.1] * 9)\nfor step in range(9):\n"
    rate = "    optimizer.param_groups[0]['lr'] = next(rates)\n"
    assert "its batches do not come from a DataLoader" in refusal(start, rate, "    x, y = rows_of(step)\n", STEP)


@pytest.mark.parametrize(
    ("imported", "bar"),
    [
        ("from fastprogress.fastprogress import progress_bar", "progress_bar(loader, parent=None)"),
        ("from fastprogress import progress_bar", "progress_bar(loader)"),
        ("from rich.progress import track", "track(loader, description='training')"),
        ("import alive_progress as alive", "alive.alive_it(loader)"),
    ],
)
def test_a_loader_behind_a_bar_of_another_library_is_seen(imported: str, bar: str) -> None:
    text = accelerated(f"{imported}\n{LOOP.replace('in loader', f'in {bar}')}").text
    assert "accelerator.prepare(model, optimizer, loader)" in text and f"in {bar}" in text
    assert ".to(device)" not in text


@pytest.mark.parametrize(
    ("head", "bar"),
    [
        ("from rich.progress import Progress\nwith Progress() as bar:\n", "bar.track(loader, description='x')"),
        ("import rich.progress\nif True:\n    shown = rich.progress.Progress()\n", "shown.track(loader)"),
        ("import progressbar\nif True:\n    bar = progressbar.ProgressBar()\n", "bar(loader)"),
    ],
)
def test_one_behind_the_method_of_a_bar_is_seen_too(head: str, bar: str) -> None:
    text = accelerated(head + indent(LOOP.replace("in loader", f"in {bar}"), "    ")).text
    assert "accelerator.prepare(model, optimizer, loader)" in text and f"in {bar}" in text
    assert ".to(device)" not in text


@pytest.mark.parametrize("made", ["helpers.Progress()", "rich.progress.Progress().console"])
def test_a_method_of_that_name_of_something_else_is_none(made: str) -> None:
    head = f"import helpers, rich.progress\nbar = {made}\n"
    outcome = accelerated(head + LOOP.replace("in loader", "in bar.track(loader)"))
    assert "accelerator" not in outcome.text and outcome.lines("RM851", Kind.MANUAL)


def test_one_behind_what_is_not_known_is_not() -> None:
    outcome = accelerated(f"from helpers import progress_bar\n{LOOP.replace('in loader', 'in progress_bar(loader)')}")
    assert "accelerator" not in outcome.text and outcome.lines("RM851", Kind.MANUAL)
