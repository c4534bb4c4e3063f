"""--to-accelerate: code that runs before the Accelerator is made, or where its name is not seen, stays as it is."""

from textwrap import indent

import pytest

from tests.rules.test_to_accelerate import HEAD, LOOP, accelerated, refusal

IMPORTS, _, MADE = HEAD.partition("\n\ndevice = ")
MAIN = f"\n\ndef main():\n    device = {indent(MADE + LOOP, '    ').lstrip()}    print(loss)\n    return loss\n\n\n"
GUARD = 'if __name__ == "__main__":\n    '
EXTRACT = (
    "def extract(a, t):\n    return a.gather(-1, t.cpu()).to({place})\n\n\nextract(torch.ones(4), torch.tensor([1]))\n"
)


@pytest.mark.parametrize(
    "end",
    [
        f"{GUARD}print('final loss', main())\n",
        f"{GUARD}loss = main()\n    print(loss)\n",
        "main()\nprint('done')\n",
        "main()\nfor line in lines:\n    print(line)\n",
        "try:\n    main()\nexcept ValueError:\n    print('bad')\n",
        "class Report:\n    print('made')\n\n\nmain()\n",
        "report = lambda: print('made')\nmain()\n",
        "def start():\n    main()\n    print('started')\n\n\nstart()\n",
        "import tqdm\nmain()\nfor row in tqdm.tqdm(rows):\n    pass\n",
    ],
)
def test_what_a_module_prints_stays_where_a_function_makes_the_accelerator(end: str) -> None:
    text = accelerated(MAIN, end, head=IMPORTS).text
    assert "    accelerator = Accelerator()\n" in text and "    accelerator.print(loss)\n    return" in text
    assert text.endswith(end)


def test_the_place_of_a_tensor_is_no_choice_of_the_script() -> None:
    early = EXTRACT.format(place="t.device")
    outcome = accelerated(f"\n\n{early}", f"device = {MADE}", LOOP, "    print(extract(x, y))\n", head=IMPORTS)
    assert early in outcome.text and "accelerator.print(extract(x, y))" in outcome.text
    assert not any("has no effect" in message for message in outcome.messages)
    chosen = EXTRACT.format(place="args.device")
    outcome = accelerated("\n\nfrom job import args\n", f"device = {MADE}", LOOP, chosen, head=IMPORTS)
    assert "args.device)" not in outcome.text
    assert any("`args.device` has no effect" in message for message in outcome.messages)


def test_a_function_that_is_called_early_has_its_accelerator_then() -> None:
    early = EXTRACT.format(place='"cuda"')
    text = accelerated(f"\n\n{early}", f"device = {MADE}", LOOP, "    print(extract(x, y))\n", head=IMPORTS).text
    call = "extract(torch.ones(4), torch.tensor([1]))\n"
    assert f"accelerator = Accelerator()\n{call}" in text and ".to(accelerator.device)" in text


def test_so_has_one_that_is_called_through_others() -> None:
    functions = (
        "def put(x):\n    return x.to('cuda')\n\n\ndef twice(x):\n    return put(put(x))\n\n\nones = twice(rows)\n"
    )
    text = accelerated(f"\n\n{functions}", f"device = {MADE}", LOOP, "    print(twice(x))\n", head=IMPORTS).text
    assert "accelerator = Accelerator()\nones = twice(rows)\n" in text


@pytest.mark.parametrize(
    "place",
    ["device = x.device", "device = self.fc.weight.device", "device = next(self.parameters()).device"],
)
@pytest.mark.parametrize("use", ["device", "inline"])
def test_a_model_that_asks_its_tensors_where_they_are_is_no_part_of_the_choice(place: str, use: str) -> None:
    first = f"        {place}\n" if use == "device" else ""
    there = "device" if use == "device" else place.partition(" = ")[2]
    model = (
        "\n\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        f"        self.fc = nn.Linear(4, 2)\n\n    def forward(self, x, scale):\n{first}"
        f"        return self.fc(x) * scale.to({there})\n\n\n"
    )
    text = accelerated(model, f"device = {MADE.replace('nn.Linear(4, 2)', 'Net()')}", LOOP, head=IMPORTS).text
    assert model in text and "accelerator = Accelerator()\n" in text


TWO = "\n\ndef {name}({model}):\n    optimizer = torch.optim.SGD({model}.parameters(), lr=0.1)\n{loop}\n\n"


@pytest.mark.parametrize(("models", "shares"), [(("first", "second"), ""), (("model", "model"), " share `model`")])
def test_two_trainings_share_what_both_train(models: tuple[str, str], shares: str) -> None:
    loop = indent(LOOP.replace("model(", "{model}("), "    ")
    trainings = [
        TWO.format(name=f"train_{number}", model=model, loop=loop.format(model=model))
        for number, model in enumerate(models)
    ]
    if shares:
        trainings = [training.replace("(model):", "():", 1) for training in trainings]
    head = f"{IMPORTS}\n\ndevice = {MADE.rpartition('optimizer = ')[0]}"
    reason = refusal(*trainings, head=head)
    assert f"){shares}; convert them one at a time" in reason
