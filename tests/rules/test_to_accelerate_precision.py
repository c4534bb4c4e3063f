"""RM852: whether, and with what, half precision is used; nothing that autocast() or a GradScaler is given gets lost."""

from textwrap import indent

import pytest

from tests.rules.scripts import Outcome
from tests.rules.test_to_accelerate import HEAD, LOOP, accelerated

SCALED = """
    with {autocast}:
        loss = nn.functional.cross_entropy(model(x.to(device)), y.to(device))
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
"""
IMPORTS = (
    "from contextlib import nullcontext\nfrom functools import partial\n"
    "from torch.cuda.amp import GradScaler, autocast\n"
    "USE, OTHER = config.half, config.other\nuse = USE\nKEYWORDS = dict(enabled=False)\nSCALE = 64\n"
)


def trained(autocast: str, scaler: str) -> list[str]:
    """The line that makes the Accelerator, or what is told where there is none."""
    head = HEAD.replace("import torch\n", f"import torch\nimport config\n{IMPORTS}", 1) + f"scaler = {scaler}\n"
    outcome = accelerated("for x, y in loader:" + SCALED.format(autocast=autocast), head=head)
    made = outcome.text.replace("\n    ", " ").replace("( ", "(").split("accelerator = ")[1:]
    return [made[0].split("\n")[0].replace(",)", ")")] if made else outcome.messages


ON = 'Accelerator(mixed_precision="fp16" if USE else "no")'
FLAGS = {
    "by name": ("autocast(enabled=USE)", "GradScaler(enabled=USE)", ON),
    "by position": ("autocast(USE)", "GradScaler(enabled=USE)", ON),
    "behind the device": ("torch.autocast('cuda', torch.float16, USE)", "torch.amp.GradScaler(enabled=USE)", ON),
    "always": ("autocast(True)", "GradScaler(enabled=True)", 'Accelerator(mixed_precision="fp16")'),
    "not": ("autocast(not USE)", "GradScaler(enabled=not USE)", 'Accelerator(mixed_precision="no" if USE else "fp16")'),
    "or nothing": ("autocast() if USE else nullcontext()", "GradScaler(enabled=USE)", ON),
    "nothing, or it by name": (
        "half",
        "GradScaler(enabled=not USE)\nhalf = nullcontext() if USE else autocast()",
        'Accelerator(mixed_precision="no" if USE else "fp16")',
    ),
    "whether there is a scaler": ("autocast(scaler is not None)", "GradScaler() if USE else None", ON),
    "another name": ("autocast(USE)", "GradScaler(enabled=use)", ON),
    "what is on a CPU": ("torch.autocast('cpu')", "torch.amp.GradScaler('cpu')", 'Accelerator(mixed_precision="bf16")'),
    "never": ("autocast(False)", "GradScaler(enabled=False)", 'Accelerator(mixed_precision="no")'),
}


@pytest.mark.parametrize(("autocast", "scaler", "made"), FLAGS.values(), ids=FLAGS)
def test_the_condition_of_half_precision_is_that_of_the_accelerator(autocast: str, scaler: str, made: str) -> None:
    assert trained(autocast, scaler) == [made]


SCALING = {
    "GradScaler(init_scale=1024.0)": "init_scale=1024.0",
    "GradScaler(SCALE, 1.5)": "init_scale=SCALE, growth_factor=1.5",
    "torch.amp.GradScaler('cuda', 1024.0)": "init_scale=1024.0",
    "GradScaler(growth_interval=100, init_scale=2.0**10)": "init_scale=2.0**10, growth_interval=100",
}


@pytest.mark.parametrize(("scaler", "given"), SCALING.items())
def test_what_a_scaler_is_given_goes_to_the_accelerator(scaler: str, given: str) -> None:
    (made,) = trained("autocast()", scaler)
    assert f"kwargs_handlers=[GradScalerKwargs({given})]" in made


def test_a_scaler_of_bfloat16_needs_no_values() -> None:
    (made,) = trained("torch.autocast('cuda', torch.bfloat16)", "GradScaler(init_scale=64)")
    assert made == 'Accelerator(mixed_precision="bf16")'


REFUSED = {
    "unpacked": ("autocast(**KEYWORDS)", "GradScaler(**KEYWORDS)", "unpacked"),
    "the scaler alone has a condition": ("autocast()", "GradScaler(enabled=USE)", "different conditions"),
    "autocast alone has one": ("autocast(USE)", "GradScaler()", "different conditions"),
    "the name stands for another value by then": ("autocast(use)", "GradScaler(enabled=use)\nuse = False", "different"),
    "an attribute is another one by then": (
        "autocast(config.half)",
        "GradScaler(enabled=config.half)\nconfig.half = False",
        "`config.half` gets another",
    ),
    "an attribute is set by name": (
        "autocast(config.half)",
        "GradScaler(enabled=config.half)\nsetattr(config, 'half', 0)",
        "gets another value",
    ),
    "a function sets it": (
        "autocast(config.half)",
        "GradScaler(enabled=config.half)\ndef off(c):\n    c.half = False\noff(config)",
        "gets another value",
    ),
    "the name is handed on": ("half('cuda')", "GradScaler()\nhalf = partial(torch.autocast)", "cannot be followed"),
    "the name is chosen": ("half()", "GradScaler()\nhalf = autocast if USE else nullcontext", "cannot be followed"),
    "a name for it or nothing": (
        "half",
        "GradScaler()\nhalf = nullcontext()\nif USE:\n    half = autocast()",
        "is autocast() or something else",
    ),
    "scalers of other values": (
        "autocast()",
        "GradScaler(64.)\nother = GradScaler(growth_interval=64.)",
        "are given different values",
    ),
    "no autocast": ("torch.enable_grad()", "GradScaler()", "no autocast() can be seen"),
    "a scaler of a function": (
        "autocast()",
        "made()\ndef made():\n    return GradScaler() if USE else None",
        "cannot be seen",
    ),
}


@pytest.mark.parametrize(("autocast", "scaler", "reason"), REFUSED.values(), ids=REFUSED)
def test_a_condition_that_is_not_seen_is_never_taken_for_true(autocast: str, scaler: str, reason: str) -> None:
    (message,) = [said for said in trained(autocast, scaler) if "stays native" in said]
    assert reason in message


def test_an_autocast_that_is_off_stays_around_its_code() -> None:
    """A loss in full precision, say, inside of a step in half."""
    head = HEAD.replace("import torch\n", f"import torch\nimport config\n{IMPORTS}", 1) + "scaler = GradScaler()\n"
    step = SCALED.format(autocast="autocast()").replace(
        "    optimizer.zero", "    with autocast(enabled=False):\n        loss = loss + 0\n    optimizer.zero", 1
    )
    text = accelerated("for x, y in loader:" + step, head=head).text
    assert "with autocast(enabled=False):" in text and "with accelerator.autocast():" in text
    assert 'Accelerator(mixed_precision="fp16")' in text and "import autocast" in text


def test_what_autocast_is_given_besides_goes_to_the_accelerator() -> None:
    (made,) = trained("autocast(cache_enabled=False)", "GradScaler()")
    assert "kwargs_handlers=[AutocastKwargs(cache_enabled=False)]" in made


def test_a_type_that_depends_on_the_device_is_told() -> None:
    loop = "for x, y in loader:" + SCALED.format(autocast="torch.autocast(device.type)")
    head = HEAD + "scaler = torch.amp.GradScaler(device.type)\n"
    assert any(message.startswith("On a CPU this was bfloat16") for message in accelerated(loop, head=head).messages)


STEP = "        scaler.scale(loss).backward()\n        scaler.step(optimizer)\n        scaler.update()\n"
PLAIN = "        loss.backward()\n        optimizer.step()\n"
LOSS = "loss = F.cross_entropy(model(x), y)\n"
HALF_LOSS = f"        with autocast():\n            {LOSS}"
FORWARD = f"    if {{test}}:\n{HALF_LOSS}    else:\n        {LOSS}"
FIRST = "for x, y in loader:\n    x, y = x.to(device), y.to(device)\n    optimizer.zero_grad()\n"


def looped(*parts: str, scaler: str = "GradScaler()") -> Outcome:
    head = HEAD.replace("import torch\n", f"import torch\nimport config\n{IMPORTS}", 1) + f"scaler = {scaler}\n"
    return accelerated(FIRST, *parts, head=head)


def reason(outcome: Outcome) -> str:
    (message,) = [said for said in outcome.messages if "stays native" in said]
    return message


BRANCHES = {
    "one for all": (f"    if USE:\n{HALF_LOSS}{STEP}    else:\n        {LOSS}{PLAIN}", ON),
    "the plain one first": (f"    if not USE:\n        {LOSS}{PLAIN}    else:\n{HALF_LOSS}{STEP}", ON),
    "by another test": (
        f"    if OTHER == 32:\n        {LOSS}{PLAIN}    else:\n{HALF_LOSS}{STEP}",
        'Accelerator(mixed_precision="no" if OTHER == 32 else "fp16")',
    ),
    "one for each part": (f"{FORWARD.format(test='USE')}    if USE:\n{STEP}    else:\n{PLAIN}", ON),
}


@pytest.mark.parametrize(("loop", "made"), BRANCHES.values(), ids=BRANCHES)
def test_the_test_of_branches_is_the_condition_of_the_accelerator(loop: str, made: str) -> None:
    text = looped(loop).text
    assert f"accelerator = {made}\n" in text
    assert text.endswith(f"    {LOSS}    accelerator.backward(loss)\n    optimizer.step()\n")


def test_branches_of_the_forward_pass_alone_are_a_condition_too() -> None:
    loop = FORWARD.format(test="USE").replace("autocast()", "torch.autocast('cuda', torch.bfloat16)")
    text = accelerated("USE = data.half\n", FIRST, loop, "    loss.backward()\n    optimizer.step()\n").text
    assert 'Accelerator(mixed_precision="bf16" if USE else "no")' in text.replace("data.half", "USE")


def test_so_are_those_of_an_evaluation() -> None:
    evaluation = f"with torch.no_grad():\n  for x, y in test_loader:\n{FORWARD.format(test='USE')}    print(loss)\n"
    loop = f"    with autocast(USE):\n        {LOSS}{STEP.replace('        ', '    ')}"
    outcome = looped(loop, evaluation, scaler="GradScaler(enabled=USE)")
    assert ON in outcome.text and "if USE:" not in outcome.text


CLIP = "        nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n"
SPLIT = {
    "by two tests": (
        f"    if USE:\n{HALF_LOSS}{STEP}    else:\n        {LOSS}{PLAIN}"
        f"    if OTHER:\n{HALF_LOSS}{STEP}    else:\n        {LOSS}{PLAIN}",
        "different conditions",
    ),
    "in part": (f"{FORWARD.format(test='USE')}{STEP.replace('        ', '    ')}", "different conditions"),
    "that differ by more": (
        f"    if USE:\n{HALF_LOSS}{CLIP}{STEP}    else:\n        {LOSS}{PLAIN}",
        "differ by more than that, first in `nn.utils.clip_grad_norm_",
    ),
    "without else": (f"    if USE:\n{HALF_LOSS}{STEP}        continue\n    {LOSS}", "trains outside of autocast()"),
    "of which one sees its gradients": (
        "    if USE:\n{}{}    else:\n{}{}".format(
            HALF_LOSS,
            STEP.replace("        scaler.step", f"        scaler.unscale_(optimizer)\n{CLIP}{CLIP}        scaler.step"),
            f"        {LOSS}",
            PLAIN.replace("        optimizer", f"{CLIP}{CLIP}        optimizer"),
        ),
        "in one of its branches",
    ),
}


@pytest.mark.parametrize(("loop", "why"), SPLIT.values(), ids=SPLIT)
def test_branches_that_are_more_than_half_precision_stay(loop: str, why: str) -> None:
    assert why in reason(looped(loop))


def test_a_flag_of_a_function_is_another_one_than_that_outside() -> None:
    step = f"    with autocast(enabled=use):\n        {LOSS}{STEP.replace('        ', '    ')}"
    function = "def train(model, loader, optimizer, scaler, use):\n" + indent(FIRST + step, "    ")
    head = HEAD.replace("import torch\n", f"import torch\nimport config\n{IMPORTS}", 1)
    head += f"scaler = GradScaler(enabled=use)\n{function}"
    given = accelerated(head, "train(model, loader, optimizer, scaler, USE)\n", head="").text
    assert ON.replace("USE", "use") in given or ON in given
    outcome = accelerated(head, "train(model, loader, optimizer, scaler, False)\n", head="")
    assert "different conditions" in reason(outcome)


ALONE = {
    "a model in another place": (
        f"    with autocast():\n        {LOSS}    loss = loss + model(x).mean()\n",
        "outside of",
    ),
    "a model where it is off": (
        f"    with autocast():\n        {LOSS}    with torch.no_grad(), autocast(enabled=False):\n        model(x)\n",
        "runs in autocast(enabled=False)",
    ),
    "a loss in another place": (f"    with autocast():\n        {LOSS}    loss = loss.float() + 0\n", ""),
    "a loss where it is off": (
        f"    with autocast():\n        {LOSS}    with autocast(enabled=False):\n        loss = loss + 0\n",
        "",
    ),
}


@pytest.mark.parametrize(("loop", "why"), ALONE.values(), ids=ALONE)
def test_a_model_trains_in_half_precision_everywhere_or_stays(loop: str, why: str) -> None:
    """accelerate puts autocast around the forward of a prepared model, wherever that is called."""
    outcome = looped(loop, STEP.replace("        ", "    "))
    assert why in reason(outcome) if why else 'Accelerator(mixed_precision="fp16")' in outcome.text


def test_an_autocast_around_the_evaluation_alone_stays() -> None:
    evaluation = "with torch.no_grad(), torch.autocast('cuda', torch.bfloat16):\n  for x, y in loader:\n    model(x)\n"
    text = accelerated(FIRST, f"    {LOSS}", PLAIN.replace("        ", "    "), evaluation).text
    assert "accelerator = Accelerator()\n" in text and "torch.autocast('cuda', torch.bfloat16):" in text


STEP_ALONE = "    scaler.step(optimizer)\n    scaler.update()\n"
SEEN = [
    "for p in model.parameters():\n        p.grad.clamp_(-1, 1)",
    "print(sum(p.grad.norm() for p in model.parameters()))",
    "clip(model)",
    "clip = nn.utils.clip_grad_norm_\n    clip(model.parameters(), 1.0)",
    "nn.utils.clip_grad_value_(x, 1.0)\n    nn.utils.clip_grad_value_(y, 1.0)",
    "total = nn.utils.get_total_norm(parameters)\n    nn.utils.clip_grads_with_norm_(parameters, 1.0, total)",
    "nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n    log(parameters)",
]


@pytest.mark.parametrize("seen", SEEN)
def test_what_sees_gradients_sees_them_unscaled(seen: str) -> None:
    """The Accelerator's step unscales them, and its clipping; nothing else does."""
    loop = f"    with autocast():\n        {LOSS}    scaler.scale(loss).backward()\n    scaler.unscale_(optimizer)\n"
    text = looped("", loop, f"    {seen}\n", STEP_ALONE).text
    body = text.partition("accelerator.backward(loss)\n")[2]
    assert body.startswith("    accelerator.unscale_gradients(optimizer)\n") and "accelerator.clip" not in body
    plain = looped("", loop, STEP_ALONE).text  # the step itself unscales them
    assert "accelerator.backward(loss)\n    optimizer.step()\n" in plain


FORWARD_HALF = f"    with autocast():\n        {LOSS}    scaler.scale(loss).backward()\n"
CLIPPED = "    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n"
INNER = CLIPPED.replace("    ", "        ")
STEP_INSIDE = "".join(f"    {line}" for line in STEP_ALONE.splitlines(keepends=True))
AGAIN = "    if (step + 1) % 2 == 0:\n"


@pytest.mark.parametrize(
    ("loop", "stays"),
    [
        (f"{CLIPPED}{AGAIN}{STEP_INSIDE}", True),
        (f"{CLIPPED}    if (step + 1) % 2:\n        continue\n{STEP_ALONE}", True),
        (f"{CLIPPED}    if norm.isfinite():\n{STEP_INSIDE}", True),
        (f"    def act():\n{STEP_INSIDE}{CLIPPED}{AGAIN}        act()\n", True),
        (f"{AGAIN}{INNER}{STEP_INSIDE}", False),
        (f"{AGAIN}{INNER}{AGAIN}{STEP_INSIDE}", False),
        (f"    if config.limit:\n{INNER}{STEP_ALONE}", False),
        (f"{CLIPPED}    if scaler is not None:\n{STEP_INSIDE}    else:\n        optimizer.step()\n", False),
    ],
)
def test_scaled_gradients_are_unscaled_once_before_each_step(loop: str, stays: bool) -> None:
    """accelerator.clip_grad_norm_() unscales, and a second time before a step is a RuntimeError (grad_scaler.py)."""
    outcome = looped("", FORWARD_HALF, loop)
    assert ("nn.utils.clip_grad_norm_(" in outcome.text, "accelerator.clip_grad_norm_(" in outcome.text) == (
        stays,
        not stays,
    ), outcome.messages
    assert any("may be called only once before each step" in message for message in outcome.messages) == stays


def test_steps_of_other_optimizers_come_before_gradients_are_unscaled() -> None:
    """accelerate updates its scaler at each step: what was unscaled before would be unscaled again."""
    other = "other = nn.Linear(2, 2).to(device)\nlast = torch.optim.SGD(other.parameters(), lr=0.1)"
    loop = "    with autocast():\n        loss = F.cross_entropy(other(model(x)), y)\n{}    scaler.update()\n"
    one, both = "scaler.unscale_({0})", "    scaler.scale(loss).backward()\n"
    steps = [f"    {one.format(name)}\n" for name in ("optimizer", "last")]
    steps += [f"    scaler.step({name})\n" for name in ("optimizer", "last")]
    refused = looped(loop.format(both + "".join(steps)), scaler=f"GradScaler()\n{other}")
    assert "before the step of another" in reason(refused)
    in_turn = both + "".join(steps[place] for place in (0, 2, 1, 3))
    assert "mixed_precision" in looped(loop.format(in_turn), scaler=f"GradScaler()\n{other}").text


def test_a_new_scale_is_not_lost() -> None:
    loop = f"    with autocast():\n        {LOSS}{STEP.replace('        ', '    ').replace('update()', 'update(2.0)')}"
    assert "scaler.update() is used in a way" in reason(looped(loop))


def test_a_loss_that_is_not_scaled_beside_one_that_is() -> None:
    loop = f"    with autocast(USE):\n        {LOSS}    if USE:\n{STEP}    if not USE:\n{PLAIN}"
    assert "scales one loss and not this one" in reason(looped(loop, scaler="GradScaler(enabled=USE)"))


def test_a_function_that_runs_the_model_may_be_called_under_autocast() -> None:
    """In a branch of its own, and for the evaluation without it."""
    helper = "def forward(x):\n    return model(x)\n"
    loop = f"    if USE:\n{HALF_LOSS}{STEP}    else:\n        {LOSS}{PLAIN}".replace("model(x)", "forward(x)")
    evaluation = "with torch.no_grad():\n  for x, y in test_loader:\n    print(forward(x))\n"
    head = HEAD.replace("import torch\n", f"import torch\nimport config\n{IMPORTS}", 1) + "scaler = GradScaler()\n"
    outcome = accelerated(helper, FIRST, loop, evaluation, head=head)
    assert ON in outcome.text and any(said.startswith("This ran in full") for said in outcome.messages)
    half = f"    with autocast():\n        {LOSS}".replace("model(x)", "forward(x)")
    more = "    print(forward(x))\n"
    steps = STEP.replace("        ", "    ")
    assert "mixed_precision" in accelerated(helper, FIRST, half, steps, evaluation, head=head).text
    assert "outside of autocast()" in reason(accelerated(helper, FIRST, half, more, steps, evaluation, head=head))


MAIN = """from torch.cuda.amp import GradScaler, autocast
def train(opt, model, loader, optimizer, scaler):
    for x, y in loader:
        with autocast(opt.amp):
            loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
def main(args):
    args.amp = args.amp and args.cuda
    loader = DataLoader(data, batch_size=8, shuffle=True)
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = GradScaler(enabled=args.amp)
    train(args, model, loader, optimizer, scaler)
"""


def test_a_flag_that_a_function_is_given_under_another_name() -> None:
    head = HEAD.partition("device =")[0]
    assert '"fp16" if args.amp else "no"' in accelerated(MAIN, head=head).text
    late = MAIN.replace("    train(args", "    args.amp = False\n    train(args")
    assert "`args.amp` gets another value here" in reason(accelerated(late, head=head))
    inside = MAIN.replace("    for x", "    opt.amp = False\n    for x")
    assert "`args.amp` gets another value here" in reason(accelerated(inside, head=head))


@pytest.mark.parametrize(
    ("value", "enabled", "made"),
    [
        ("True", "use", 'Accelerator(mixed_precision="fp16")'),
        ("False", "use", 'Accelerator(mixed_precision="no")'),
        ("True", "not use", 'Accelerator(mixed_precision="no")'),
    ],
)
def test_a_switch_that_is_set_behind_the_accelerator_is_told(value: str, enabled: str, made: str) -> None:
    loop = SCALED.format(autocast=f"autocast(enabled={enabled})")
    scaler = f"    scaler = GradScaler(enabled={enabled})\n"
    loop = f"\n\ndef train():\n{scaler}    for x, y in loader:{indent(loop, '    ')}\n\nuse = {value}\ntrain()\n"
    head = HEAD.replace("import torch\n", "import torch\nfrom torch.cuda.amp import GradScaler, autocast\n", 1)
    outcome = accelerated(loop, head=head)
    assert f"accelerator = {made}\n" in outcome.text
    assert any(message.startswith("`use` no longer switches half precision") for message in outcome.messages)


ONE_EPOCH = "    for x, y in loader:" + indent(SCALED.format(autocast="autocast()"), "    ")
BFLOAT16 = "torch.autocast('cuda', torch.bfloat16)"
ROUNDS = {
    "in each epoch": ("for epoch in range(3):\n    scaler = GradScaler()\n" + ONE_EPOCH, True),
    "in each epoch by a function": (
        "def epoch():\n    scaler = GradScaler()\n" + ONE_EPOCH + "\nfor _ in range(3):\n    epoch()\n",
        True,
    ),
    "in a while": ("n = 0\nwhile n < 3:\n    n += 1\n    scaler = GradScaler()\n" + ONE_EPOCH, True),
    "once": ("scaler = GradScaler()\nfor epoch in range(3):\n" + ONE_EPOCH, False),
    "once by a function": ("def fit():\n    scaler = GradScaler()\n" + ONE_EPOCH + "\nfit()\n", False),
    "in bfloat16": (
        "for epoch in range(3):\n    scaler = GradScaler()\n" + ONE_EPOCH.replace("autocast()", BFLOAT16),
        False,
    ),
}


@pytest.mark.parametrize(("loop", "told"), ROUNDS.values(), ids=ROUNDS)
def test_a_scaler_that_was_made_anew_goes_on(loop: str, told: bool) -> None:
    head = HEAD.replace("import torch\n", f"import torch\nimport config\n{IMPORTS}", 1)
    outcome = accelerated(loop, head=head)
    assert "accelerator.backward(" in outcome.text
    assert any("was made anew in each round" in message for message in outcome.messages) == told


CTX = "from contextlib import ExitStack, nullcontext\nfrom torch.cuda.amp import autocast\n"
WITH = LOOP.replace("    loss = ", "    with {ctx}:\n        loss = ")


@pytest.mark.parametrize(
    ("made", "loop"),
    [
        ("ctx = autocast()\n", WITH.format(ctx="ctx")),
        ("ctx = autocast() if torch.cuda.is_available() else nullcontext()\n", WITH.format(ctx="ctx")),
        ("ctx = autocast()\n", WITH.format(ctx="torch.enable_grad(), ctx")),
    ],
)
def test_an_autocast_with_a_name_is_made_anew_each_time_it_is_entered(made: str, loop: str) -> None:
    """accelerator.autocast() is made by @contextmanager: entered a second time it raises an AttributeError."""
    text = accelerated(made, loop, head=f"{CTX}{HEAD}").text
    assert "accelerator.autocast():\n        loss = " in text
    assert "with ctx" not in text and "mixed_precision=" in text


def test_an_autocast_with_a_name_is_entered_anew_in_a_function_that_gets_it() -> None:
    train = f"def train(loader, model, ctx):\n{indent(WITH.format(ctx='ctx'), '    ')}\n"
    text = accelerated(f"{train}half = autocast()\ntrain(loader, model, half)\n", head=f"{CTX}{HEAD}").text
    assert "        with accelerator.autocast():\n            loss = " in text


@pytest.mark.parametrize("use", ["stack.enter_context(ctx)\n", "ctx.__enter__()\n", "job.run(ctx)\n", "half = ctx\n"])
def test_an_autocast_with_a_name_that_is_used_otherwise_is_left(use: str) -> None:
    outcome = accelerated("stack = ExitStack()\nctx = autocast()\n", WITH.format(ctx="ctx"), use, head=f"{CTX}{HEAD}")
    assert any("is autocast() by a name; write `with autocast(...):`" in message for message in outcome.messages)


TYPES = 'TYPES, KIND = {"half": torch.half, "bf": torch.bfloat16}, "bf"\n'
UNSEEN = "the type of half precision of autocast() cannot be seen"


@pytest.mark.parametrize(
    ("dtype", "kind"),
    [
        ('getattr(torch, "bfloat16")', "bf16"),
        ('TYPES["half"]', "fp16"),
        ("TYPES[KIND]", "bf16"),
        ("TYPES.get(KIND, torch.half)", "bf16"),
        ('{"a": torch.float16}["a"]', "fp16"),
        ('chosen\nchosen = TYPES["bf"]', "bf16"),
        ("TYPES[OTHER]", None),
        ("getattr(torch, OTHER)", None),
        ('TYPES["full"]', None),
    ],
)
def test_a_type_that_is_looked_up_by_its_name(dtype: str, kind: str | None) -> None:
    name, _, before = dtype.partition("\n")
    head = HEAD.replace("import torch\n", f"import torch\nimport config\nOTHER = config.type\n{TYPES}{before}\n", 1)
    loop = f"for x, y in loader:\n    with torch.autocast('cuda', dtype={name}):\n"
    step = "        loss = F.cross_entropy(model(x), y)\n    loss.backward()\n    optimizer.step()\n"
    outcome = accelerated(loop + step, head=head)
    if kind is None:
        assert UNSEEN in outcome.messages[0]
    else:
        assert f'Accelerator(mixed_precision="{kind}")' in outcome.text
