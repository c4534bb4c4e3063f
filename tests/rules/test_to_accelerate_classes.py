"""--to-accelerate: classes that keep model, optimizer and data in attributes and train in their methods."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import Outcome, converted

HEAD = """import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader

from job import data, test_data

"""
INIT = """class Trainer:
    def __init__(self, lr=0.1):
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.model = nn.Linear(4, 2).to(self.device)
        self.loader = DataLoader(data, batch_size=4, shuffle=True)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=lr)

"""
FIT = """    def fit(self):
        for x, y in self.loader:
            x, y = x.to(self.device), y.to(self.device)
            loss = F.cross_entropy(self.model(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            print(loss.item())

"""
PREPARED = "self.model, self.optimizer, self.loader = self.accelerator.prepare("


def accelerated(*parts: str) -> Outcome:
    return converted(HEAD + "".join(parts), to_accelerate=True)


def refusal(*parts: str) -> str:
    outcome = accelerated(*parts)
    assert outcome.text == HEAD + "".join(parts)
    assert [(code, kind) for code, kind, _ in outcome.findings] == [("RM851", Kind.MANUAL)]
    return outcome.messages[0]


@pytest.mark.parametrize(
    "use",
    [
        "trainer = Trainer()\ntrainer.fit()\n",
        "Trainer(0.2).fit()\n",
        "def main():\n    t = Trainer(lr=0.2)\n    for epoch in range(3):\n        t.fit()\n\nmain()\n",
        "if __name__ == '__main__':\n    for lr in (0.1, 0.2):\n        trainer = Trainer(lr)\n        trainer.fit()\n",
        "",
    ],
)
def test_what_a_class_makes_is_prepared_at_the_end_of_its_init(use: str) -> None:
    text = accelerated(INIT, FIT, use).text
    assert "self.accelerator = Accelerator()" in text
    assert "self.model = nn.Linear(4, 2)\n" in text
    assert text.index(PREPARED) < text.index("def fit(self)")
    assert "self.accelerator.backward(loss)" in text and "self.accelerator.print(loss.item())" in text
    assert ".to(" not in text and "self.device" not in text


def test_methods_that_init_calls_make_what_is_prepared_there() -> None:
    init = INIT.replace(
        "        self.model =", "        self.build(lr)\n\n    def build(self, lr):\n        self.model ="
    )
    text = accelerated(init, FIT, "trainer = Trainer()\ntrainer.fit()\n").text
    assert text.index("self.build(lr)") < text.index(PREPARED) < text.index("def build")
    assert text.index("self.accelerator = Accelerator()") < text.index("self.build(lr)")


def test_a_model_that_another_method_makes_anew_is_named_with_its_line() -> None:
    line = "        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=lr)\n"
    init, fit = INIT.replace(line, ""), FIT.replace("    def fit(self):\n", "    def fit(self, lr):\n" + line)
    load = "    def load(self):\n        self.model = nn.Linear(4, 2)\n\n\n"
    told = refusal(init, fit, load, "trainer = Trainer()\ntrainer.fit(0.1)\n")
    number = (HEAD + init + fit).count("\n") + 2
    assert f"`self.model` becomes another model in line {number}, and what runs after it may mean either" in told


def test_an_optimizer_that_fit_makes_is_prepared_there() -> None:
    line = "        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=lr)\n"
    fit = FIT.replace("    def fit(self):\n", "    def fit(self, lr):\n" + line)
    text = accelerated(INIT.replace(line, ""), fit, "trainer = Trainer()\ntrainer.fit(0.1)\n").text
    assert text.index("def fit(self, lr)") < text.index(PREPARED) < text.index("for x, y in self.loader")


GIVEN = """class Trainer:
    def __init__(self, model, loader, optimizer, device{rest}):
        self.model = model.to(device)
        self.loader = loader
        self.optimizer = optimizer
        self.device = device

"""
MAIN = """def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = nn.Linear(4, 2)
    loader = DataLoader(data, batch_size=4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    trainer = Trainer(model, loader, optimizer, {device})
    trainer.fit()
    torch.save(trainer.model.state_dict(), "model.pt")


main()
"""


def test_what_a_class_is_given_is_prepared_before_it_gets_it() -> None:
    text = accelerated(GIVEN.format(rest=""), FIT, MAIN.format(device="device")).text
    assert (
        "def __init__(self, model, loader, optimizer, accelerator):\n        self.accelerator = accelerator\n" in text
    )
    assert "self.model = model\n" in text
    assert text.index("accelerator.prepare(model, optimizer, loader)") < text.index("Trainer(model, loader, optimizer,")
    assert "Trainer(model, loader, optimizer, accelerator)" in text
    assert 'accelerator.save(accelerator.unwrap_model(trainer.model).state_dict(), "model.pt")' in text


@pytest.mark.parametrize("unpacked", ["self.loader, self.test = loader", "[self.loader, self.test] = loader"])
@pytest.mark.parametrize("given", ["(loader, DataLoader(test_data))", "[loader, None]"])
def test_loaders_that_a_class_is_given_as_a_pair_are_prepared(unpacked: str, given: str) -> None:
    init = GIVEN.format(rest="").replace("self.loader = loader", unpacked)
    text = accelerated(
        init, FIT, MAIN.format(device="device").replace("Trainer(model, loader,", f"Trainer(model, {given},")
    ).text
    assert text.index("accelerator.prepare(model, optimizer, loader)") < text.index("= Trainer(")
    assert "x.to(" not in text


@pytest.mark.parametrize(
    ("pair", "given"),
    [("(loader, loader)", "pair"), ("0", "(loader, loader, pair)"), ("0", "pair"), ("(loader, 0)", "(*pair,)")],
)
def test_a_pair_that_may_hold_what_is_not_prepared_keeps_the_loop(pair: str, given: str) -> None:
    init = GIVEN.format(rest="").replace("self.loader = loader", "self.loader, self.test = loader")
    main = MAIN.format(device="device").replace("Trainer(model, loader,", f"Trainer(model, {given},")
    made = "    loader = DataLoader(data, batch_size=4)\n"
    assert "DataLoader that can be seen" in refusal(init, FIT, main.replace(made, f"{made}    pair = {pair}\n"))


def test_a_pair_of_which_a_call_makes_a_loader_is_prepared_where_it_is_taken_apart() -> None:
    function = "def fit(loaders):\n    loader, test = loaders\n    model = nn.Linear(4, 2)\n"
    function += "    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
    body = FIT.replace("    def fit(self):\n", "").replace("self.", "").replace("        for", "    for", 1)
    calls = "first = DataLoader(data)\nfit((first, None))\nfit((DataLoader(test_data), None))\n"
    script = function + body.replace("x.to(device), y.to(device)", "x.cuda(), y.cuda()").replace("    " * 3, "    " * 2)
    assert "model, optimizer, loader = accelerator.prepare(" in accelerated(script + calls).text


def test_a_class_without_a_parameter_for_the_device_gets_one_for_the_accelerator() -> None:
    given = GIVEN.replace("loader, optimizer, device{rest}", "loader, optimizer, log=None")
    given = given.replace(".to(device)", "").replace("        self.device = device\n", "")
    fit = FIT.replace("            x, y = x.to(self.device), y.to(self.device)\n", "")
    main = MAIN.replace(", {device})", ")").replace(
        '    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n', ""
    )
    text = accelerated(given, fit, main).text
    assert "def __init__(self, model, loader, optimizer, log=None, *, accelerator):" in text
    assert "Trainer(model, loader, optimizer, accelerator=accelerator)" in text


def test_parameters_on_lines_of_their_own_are_joined_by_one_more() -> None:
    given = GIVEN.format(rest="").replace(
        "(self, model, loader, optimizer, device)",
        "(\n        self,\n        model,\n        loader,\n        optimizer,\n    )",
    )
    given = given.replace(".to(device)", "").replace("        self.device = device\n", "")
    fit = FIT.replace("            x, y = x.to(self.device), y.to(self.device)\n", "")
    text = accelerated(given, fit, MAIN.replace(", {device})", ")")).text
    assert "        optimizer,\n        accelerator,\n    ):\n        self.accelerator = accelerator\n" in text


def test_the_number_of_a_device_is_one() -> None:
    given = GIVEN.format(rest="").replace("device", "gpu_id")
    main = MAIN.format(device="gpu").replace(
        'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")', "gpu = 0"
    )
    text = accelerated(given, FIT.replace("self.device", "self.gpu_id"), main).text
    assert ".to(" not in text and "Trainer(model, loader, optimizer, accelerator)" in text


def test_half_precision_that_a_parameter_switches_on_is_known_in_init() -> None:
    init = INIT.replace("lr=0.1", "lr=0.1, amp=False").replace(
        "        self.model", "        self.amp = amp\n        self.model", 1
    )
    fit = FIT.replace(
        "            loss =", "            with torch.autocast('cuda', enabled=self.amp):\n                loss ="
    )
    text = accelerated(init, fit, "trainer = Trainer()\ntrainer.fit()\n").text
    assert 'self.accelerator = Accelerator(mixed_precision="fp16" if amp else "no")' in text


def test_a_class_of_a_model_beside_the_one_that_trains_stays_as_it_is() -> None:
    net = "class Net(nn.Module):\n    def forward(self, x):\n        return self.layer(x)\n\n\n"
    text = accelerated(net, INIT, FIT, "trainer = Trainer()\ntrainer.fit()\n").text
    assert net in text and PREPARED in text


def test_a_method_may_return_its_object_where_nothing_is_done_with_it() -> None:
    fit = FIT.rstrip("\n") + "\n        return self\n\n"
    assert PREPARED in accelerated(INIT, fit, "trainer = Trainer()\ntrainer.fit()\n").text
    assert "returns the object" in refusal(INIT, fit, "other = Trainer().fit()\n")


def test_processes_wait_for_a_save_only_where_all_of_them_come_by() -> None:
    save = "    def save(self):\n        torch.save(self.model.state_dict(), 'a.pt')\n\n"
    use = "trainer = Trainer()\ntrainer.fit()\n"
    assert "wait_for_everyone" in accelerated(INIT, FIT, save, use, "trainer.save()\n").text
    assert "wait_for_everyone" not in accelerated(INIT, FIT, save, use, "if test_data:\n    trainer.save()\n").text


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ((INIT.replace("Trainer:", "Trainer(Base):"), FIT), "is made from another one"),
        (("@register\n" + INIT, FIT), "has a decorator"),
        ((INIT, FIT.replace("    def fit", "    @retry\n    def fit")), "has a decorator"),
        ((INIT, FIT, "    @property\n    def net(self):\n        return self.model\n"), "has a decorator"),
        ((INIT, FIT.replace("print(loss.item())", "log(self)")), "as a whole cannot be followed"),
        ((INIT, FIT.replace("print(loss.item())", "self.__dict__.clear()")), "as a whole cannot be followed"),
        ((INIT, FIT, "a = Trainer()\nb = Trainer()\na.fit()\n"), "more than one object"),
        ((INIT, FIT, "make = Trainer\nmake().fit()\n"), "more than one object"),
        ((INIT, FIT, "runs = [Trainer()]\nruns[0].fit()\n"), "not kept in a variable"),
        ((INIT, FIT, "trainer = Trainer()\nrun(trainer)\n"), "cannot be followed"),
        ((INIT, FIT.replace("self.loader", "self.batches")), "a DataLoader that can be seen"),
        ((INIT, FIT, INIT.replace("Trainer", "Other"), FIT), "several classes"),
        (
            (
                GIVEN.format(rest=""),
                FIT.replace("fit(self)", "fit(self, loader)").replace("in self.loader", "in loader"),
                "model = nn.Linear(4, 2)\noptimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
                "trainer = Trainer(model, None, optimizer, 'cuda')\nloader = DataLoader(data)\ntrainer.fit(loader)\n",
            ),
            "made before what it trains can be prepared",
        ),
    ],
)
def test_a_class_that_cannot_be_followed_is_left_with_its_reason(parts: tuple[str, ...], reason: str) -> None:
    assert reason in refusal(*parts)


MADE_ON_THE_SPOT = """class Trainer:
    def __init__(self, net, loader):
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.model = net.to(self.device)
        self.loader = loader
        self.optimizer = torch.optim.SGD({trained}.parameters(), lr=0.1)

"""
SAVING = """    def save(self):
        torch.save(self.model.state_dict(), "model.pt")

"""


@pytest.mark.parametrize("trained", ["self.model", "net"])
@pytest.mark.parametrize(
    "use",
    [
        "trainer = Trainer(nn.Linear(4, 2), DataLoader(data, batch_size=4))\n",
        "trainer = Trainer(loader=DataLoader(data, batch_size=4), net=nn.Linear(4, 2))\n",
        "net = nn.Linear(4, 2)\ntrainer = Trainer(net, DataLoader(data, batch_size=4))\n",
        "loader = DataLoader(data, batch_size=4)\ntrainer = Trainer(nn.Linear(4, 2), loader)\n",
    ],
)
def test_a_class_may_be_given_what_is_made_on_the_spot(use: str, trained: str) -> None:
    outcome = accelerated(
        MADE_ON_THE_SPOT.format(trained=trained), FIT, SAVING, f"{use}trainer.fit()\ntrainer.save()\n"
    )
    assert "accelerator.backward(loss)" in outcome.text
    assert "accelerator.unwrap_model(self.model).state_dict()" in outcome.text


def test_what_a_function_makes_on_the_spot_and_is_no_loader_is_refused() -> None:
    use = "trainer = Trainer(nn.Linear(4, 2), list(data))\ntrainer.fit()\n"
    assert "DataLoader" in refusal(MADE_ON_THE_SPOT.format(trained="self.model"), FIT, use)


RESUMED = """\
import torch
from torch import nn
from torch.utils.data import DataLoader
from job import rows, path


class Training:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer

    def resume(self, path):
        state = torch.load(path)
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])

    def fit(self, loader):
        for x, y in loader:
            loss = nn.functional.cross_entropy(self.model(x.cuda()), y.cuda())
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()


def main():
    loader = DataLoader(rows, batch_size=2)
    model = nn.Linear(3, 2).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    {before}
    training = Training(model, optimizer)
    {after}
    training.fit(loader)


main()
"""


@pytest.mark.parametrize(
    ("before", "after", "loaded"),
    [
        ("pass", "training.resume(path)", 0),
        ("pass", "if path:\n        training.resume(path)", 0),
        ("model.load_state_dict(torch.load(path))", "training.resume(path)", 1),
    ],
)
def test_an_object_that_is_given_what_is_prepared_loads_into_that(before: str, after: str, loaded: int) -> None:
    text = converted(RESUMED.format(before=before, after=after), to_accelerate=True).text
    assert 'self.accelerator.unwrap_model(self.model).load_state_dict(state["model"])' in text
    prepared = text.index("model, optimizer, loader = accelerator.prepare(model, optimizer, loader)")
    assert prepared < text.index("training = Training(model, optimizer, ")
    assert text[:prepared].count("    model.load_state_dict(") == loaded
    compile(text, "after", "exec")


def test_what_is_loaded_behind_the_object_that_trains_keeps_the_loop() -> None:
    script = RESUMED.format(before="pass", after="model.load_state_dict(torch.load(path))")
    outcome = converted(script, to_accelerate=True)
    assert outcome.text == script and "is made before what it trains can be prepared" in outcome.messages[0]


@pytest.mark.parametrize(
    ("use", "becomes"),
    [
        (
            "Trainer(0.2).fit()\nprint('done')\n",
            "trainer = Trainer(0.2)\ntrainer.fit()\ntrainer.accelerator.print('done')\n",
        ),
        (
            "def main():\n    best = Trainer().fit()\n    print(best)\n\nmain()\n",
            "    trainer = Trainer()\n    best = trainer.fit()\n    trainer.accelerator.print(best)\n",
        ),
        ("def main():\n    print('start')\n    return Trainer().fit()\n\nmain()\n", "    return Trainer().fit()\n"),
    ],
)
def test_an_object_without_a_name_gets_one_where_code_outside_needs_its_accelerator(use: str, becomes: str) -> None:
    text = accelerated(INIT, FIT, use).text
    assert becomes in text and "self.accelerator.backward(loss)" in text


def test_one_that_a_longer_expression_makes_gets_none() -> None:
    use = "found = [Trainer().fit()]\nprint(found)\n"
    assert "this needs the Accelerator of a `Trainer` that has no name here" in refusal(INIT, FIT, use)


def test_the_name_is_a_new_one() -> None:
    text = accelerated(INIT, FIT, "trainer = 3\nTrainer(trainer).fit()\nprint(trainer)\n").text
    assert "trainer_2 = Trainer(trainer)\ntrainer_2.fit()\ntrainer_2.accelerator.print(trainer)\n" in text


DISTRIBUTED = """import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


class Trainer:
    def __init__(self, model, rank):
        self.device = rank
        {given}
        self.loader = DataLoader(data, batch_size=4)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.load()
        {wrapped}

    def load(self):
        self.model.load_state_dict(torch.load("last.pt"))

"""
WRAPPED = "self.model = DDP(self.model, device_ids=[rank])"
MADE = "dist.init_process_group('nccl')\nmodel = nn.Linear(4, 2)\nTrainer(model, dist.get_rank()).fit()\n"


@pytest.mark.parametrize(
    "given", ["self.model = model", "self.model = model.to(rank)", "self.model = model.cuda(rank)"]
)
def test_a_given_model_may_be_wrapped_after_the_optimizer_is_made(given: str) -> None:
    text = accelerated(DISTRIBUTED.format(given=given, wrapped=WRAPPED), FIT, MADE).text
    assert PREPARED in text and "DDP" not in text
    assert text.index("self.load()") < text.index(PREPARED)


LOGS = """def is_main():
    return dist.get_rank() == 0

def log(text):
    if is_main():
        print(text)

"""
SAYS = '    def load(self):\n        log("loaded")\n'
IN_MAIN = """def main():
    {before}
    trainer = Trainer(nn.Linear(4, 2), 0)
    trainer.fit()
    log("done")
    {after}

{call}
"""


@pytest.mark.parametrize("function", ["main", ""])
def test_functions_that_the_object_calls_are_given_its_accelerator(function: str) -> None:
    given = DISTRIBUTED.format(given="self.model = model", wrapped=WRAPPED).replace("    def load(self):\n", SAYS)
    made = IN_MAIN.format(before="dist.init_process_group('nccl')", after="dist.destroy_process_group()", call="main()")
    if not function:
        made = "\n".join(line.strip() for line in made.splitlines() if "main" not in line) + "\n"
    text = accelerated(given.replace("class Trainer", LOGS + "class Trainer"), FIT, made).text
    assert "def is_main(accelerator):\n    return accelerator.is_main_process\n" in text
    assert "    if is_main(accelerator):\n" in text
    assert 'log("loaded", self.accelerator)' in text
    assert 'log("done", trainer.accelerator)' in text
    assert "trainer.accelerator.end_training()" in text
    assert ("\nmain()\n" in text) is bool(function)


def test_what_needs_the_accelerator_before_the_object_that_makes_it_is_refused() -> None:
    text = DISTRIBUTED.format(given="self.model = nn.Linear(model.in_features, 2)", wrapped="pass")
    reason = "this needs the Accelerator before `Trainer`, whose object makes it, is called"
    assert reason in refusal(text, FIT, MADE)


def test_another_model_in_the_place_of_the_one_that_is_prepared_is_refused() -> None:
    other = FIT.replace("        for x, y", "        self.model = nn.Sequential(self.model)\n        for x, y")
    assert "`self.model` becomes another model in line 16" in refusal(INIT, other)
