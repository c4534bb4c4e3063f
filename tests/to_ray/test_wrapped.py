"""What the wrapper around a prepared model does not have is asked of the model inside it, where that is sure."""

from pathlib import Path

import pytest

from raymigrate.base.findings import Kind
from raymigrate.base.options import Options
from raymigrate.run.engine import convert
from tests.test_cli import invoke

SCRIPT = """\
import torch
from accelerate import Accelerator{imports}

accelerator = Accelerator({plugin})
model, optimizer, loader = make()
{before}
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
{after}
for epoch in range(3):
    for batch in loader:
        accelerator.backward(model(batch).loss)
        optimizer.step()
        {inside}
    {end}
"""
UNWRAPPED = "accelerator.unwrap_model(model)"
FSDP = ", FullyShardedDataParallelPlugin"


def converted(script: str, **options: object) -> tuple[str, list[str]]:
    """What a script becomes, and what a person has to do for RM829."""
    result = convert(script, options=Options(to_ray=True, **options))  # type: ignore[arg-type]
    told = [f.message for f in result.findings if f.code == "RM829" and f.kind is Kind.MANUAL]
    return result.after or "", told


def moved(**given: str) -> tuple[str, list[str]]:
    parts = dict.fromkeys(("imports", "plugin", "before", "after"), "") | {"inside": "pass", "end": "pass"}
    return converted(SCRIPT.format(**{**parts, **given}))


@pytest.mark.parametrize(
    ("place", "line", "now"),
    [
        ("end", "model.save_pretrained('/m')", f"{UNWRAPPED}.save_pretrained('/m')"),
        ("end", "print(model.config)", f"print({UNWRAPPED}.config)"),
        ("after", "print(model.generate)", f"print({UNWRAPPED}.generate)"),
        ("after", "net = model\nprint(net.own)", "print(accelerator.unwrap_model(net).own)"),
        ("after", "model.base.freeze()", f"{UNWRAPPED}.base.freeze()"),
        ("after", "model.flag = True", f"{UNWRAPPED}.flag = True"),
        ("end", "torch.save(model.state_dict(), '/m')", f"torch.save({UNWRAPPED}.state_dict(), '/m')"),
        ("end", "print(hasattr(model, 'own'))", f"hasattr({UNWRAPPED}, 'own')"),
        ("end", "print(isinstance(model, Own))", f"isinstance({UNWRAPPED}, Own)"),
        ("inside", "print(list(model.base.parameters()))", f"list({UNWRAPPED}.base.parameters())"),
        ("end", "with model.disable_adapter(): pass", f"with {UNWRAPPED}.disable_adapter()"),
        ("inside", "model.base.update(epoch)", f"{UNWRAPPED}.base.update(epoch)"),
        ("inside", "print(tokenizer.decode(model.generate(batch)))", f"decode({UNWRAPPED}.generate(batch))"),
    ],
)
def test_what_the_wrapper_lacks_is_asked_of_the_model(place: str, line: str, now: str) -> None:
    after, told = moved(**{place: line})
    assert now in after
    assert told == []


@pytest.mark.parametrize(
    ("place", "line"),
    [
        ("end", "print(list(model.parameters()))"),
        ("end", "model.eval()"),
        ("end", "accelerator.unwrap_model(model).save_pretrained('/m')"),
        ("end", "print(loader.dataset, optimizer.param_groups)"),
        ("before", "print(model.config)"),
        ("after", "model = accelerator.unwrap_model(model)\nprint(model.config)"),
        ("after", "inner = model.module if hasattr(model, 'module') else model"),
        ("after", "net = model.module if hasattr(model, 'module') else model\nprint(net.config)"),
        ("end", "print(model.module.config if hasattr(model, 'module') else model.config)"),
        ("after", "if hasattr(model, 'module'):\n    net = model.module\nelse:\n    net = model\nprint(net.config)"),
        ("after", "print(isinstance(model, torch.nn.parallel.DistributedDataParallel))"),
    ],
)
def test_what_the_wrapper_has_and_what_is_no_model_stay(place: str, line: str) -> None:
    after, told = moved(**{place: line})
    assert after.count("unwrap_model") == line.count("unwrap_model")
    assert told == []


def test_each_change_is_said() -> None:
    parts = dict.fromkeys(("imports", "plugin", "before", "after"), "")
    script = SCRIPT.format(**parts, inside="pass", end="print(model.config)")
    found = [f.message for f in convert(script, options=Options(to_ray=True)).findings if f.code == "RM829"]
    assert any(message.endswith(f"this raises an AttributeError; now {UNWRAPPED}.") for message in found)


def test_a_method_that_trains_is_told_and_stays() -> None:
    after, told = moved(inside="accelerator.backward(model.own_loss(batch))")
    assert "unwrap_model" not in after
    assert len(told) == 1
    assert ".own_loss" in told[0]


@pytest.mark.parametrize(
    ("imports", "plugin", "count"),
    [
        (FSDP, "fsdp_plugin=FullyShardedDataParallelPlugin()", 0),
        (", DeepSpeedPlugin", "deepspeed_plugin=DeepSpeedPlugin()", 0),
        (FSDP, "fsdp_plugin=None", 1),
    ],
)
def test_fsdp_and_deepspeed_hand_attributes_on(imports: str, plugin: str, count: int) -> None:
    after, told = moved(imports=imports, plugin=plugin, end="print(model.config)")
    assert after.count("unwrap_model") == count
    assert told == []
    found = convert(
        SCRIPT.format(imports=imports, plugin=plugin, before="", after="", inside="pass", end="pass"),
        options=Options(to_ray=True),
    ).findings
    assert any("without a gradient" in f.message for f in found) == bool(count)


FUNCTIONS = """\
from accelerate import Accelerator

def show({parameters}):
    print(net.config)

def main():
    accelerator = Accelerator()
    model, optimizer, loader = make()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for epoch in range(3):
        for batch in loader:
            accelerator.backward(model(batch).loss)
            optimizer.step()
        show({given})

if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(
    ("parameters", "given", "now"),
    [
        ("net, accelerator", "model, accelerator", "print(accelerator.unwrap_model(net).config)"),
        ("net, *, acc=None", "model, acc=accelerator", "print(acc.unwrap_model(net).config)"),
        ("net", "model", ""),
        ("net", "accelerator.unwrap_model(model)", "print(net.config)"),
    ],
)
def test_functions_that_are_given_the_model(parameters: str, given: str, now: str) -> None:
    after, told = converted(FUNCTIONS.format(parameters=parameters, given=given))
    assert now in after
    assert bool(told) == (not now)


CLASS = """\
from accelerate import Accelerator

class Loop:
    def __init__(self):
        self.accelerator = Accelerator()
        self.model, self.optimizer, self.loader = self.accelerator.prepare(*make())

    def train(self):
        for epoch in range(3):
            for batch in self.loader:
                self.accelerator.backward(self.model(batch).loss)
                self.optimizer.step()
        self.model.save_pretrained("/m")

Loop().train()
"""


def test_a_model_that_an_object_keeps() -> None:
    assert "self.accelerator.unwrap_model(self.model).save_pretrained" in converted(CLASS)[0]


MADE = """\
        self.model = load()
        self.average = Average(self.model)
"""


@pytest.mark.parametrize(
    ("before", "after", "methods", "now"),
    [
        ("groups(self.model.head)", "", "", "groups(self.model.head)"),
        ("self.setup()", "", "    def setup(self):\n        groups(self.model.head)\n", "groups(self.model.head)"),
        ("", "groups(self.model.head)", "", "groups(self.accelerator.unwrap_model(self.model).head)"),
        (
            "self.setup()",
            "self.setup()",
            "    def setup(self):\n        groups(self.model.head)\n",
            "groups(self.accelerator.unwrap_model(self.model).head)",
        ),
        ("for _ in range(2):\n            groups(self.model.head)", "", "", "groups(self.model.head)"),
    ],
)
def test_a_model_that_its_object_has_not_prepared_yet_is_asked_itself(
    before: str, after: str, methods: str, now: str
) -> None:
    prepared = CLASS.partition("        self.model, ")[2].partition("\n")[0]
    prepared = f"        self.model, {prepared}".replace("*make()", "self.model, *rest(self.average)")
    script = CLASS.replace(
        CLASS[CLASS.index("        self.model, ") : CLASS.index("\n    def train")],
        f"{MADE}        {before or 'pass'}\n{prepared}\n        {after or 'pass'}\n\n{methods}",
    )
    script = script.replace("class Loop", "class Average:\n    def __init__(self, net):\n        pass\n\nclass Loop")
    text, told = converted(script)
    assert now in text
    assert not told


def test_one_worker_is_told_of_unused_parameters_where_it_has_no_gpu() -> None:
    script = SCRIPT.format(imports="", plugin="", before="", after="", inside="pass", end="pass")
    for gpu in (False, True):
        found = convert(script, options=Options(to_ray=True, workers=1, gpu=gpu)).findings
        said = [f.message for f in found if f.code == "RM829"]
        assert len(said) == (not gpu)
        assert all("on workers without a GPU, a single one too" in message for message in said)


TRAINER = """\
from transformers import Trainer, TrainingArguments

class Mine(Trainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        {training}
        return super().training_step(model, inputs, num_items_in_batch)

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        loss = self.own(inputs, model)
        {loss}
        return loss

    def own(self, inputs, net):
        {own}
        return net(**inputs).loss

    def prediction_step(self, model, inputs, prediction_loss_only, ignore_keys=None):
        {evaluation}
        return super().prediction_step(model, inputs, prediction_loss_only, ignore_keys)

trainer = Mine(model=load(), args=TrainingArguments("out"{given}), train_dataset=rows())
trainer.train()
"""


def of_trainer(**given: str) -> tuple[str, list[str]]:
    parts = dict.fromkeys(("training", "loss", "own", "evaluation"), "pass") | {"given": ""}
    return converted(TRAINER.format(**{**parts, **given}))


@pytest.mark.parametrize(
    ("place", "line", "now"),
    [
        ("training", "assert hasattr(model, 'config')", "hasattr(self.accelerator.unwrap_model(model), 'config')"),
        ("training", "model.base_model.update(1)", "self.accelerator.unwrap_model(model).base_model.update(1)"),
        ("loss", "n = model.config.num_labels", "n = self.accelerator.unwrap_model(model).config.num_labels"),
        (
            "loss",
            "def extra():\n            return model.head.weight\n        loss = loss + extra().sum()",
            "return self.accelerator.unwrap_model(model).head.weight",
        ),
        ("own", "n = net.config.num_labels", "n = self.accelerator.unwrap_model(net).config.num_labels"),
    ],
)
def test_methods_of_a_trainer_reach_through_the_wrapper(place: str, line: str, now: str) -> None:
    after, told = of_trainer(**{place: line})
    assert now in after
    assert told == []


@pytest.mark.parametrize(
    ("place", "line"),
    [
        ("evaluation", "print(model.config)"),
        ("training", "print(self.model.config, self.args.output_dir)"),
        ("loss", "print(self.accelerator.unwrap_model(model).config)"),
        ("loss", "model.eval()"),
        ("loss", "print(isinstance(model, torch.nn.DataParallel))"),
    ],
)
def test_methods_of_a_trainer_stay_where_nothing_is_wrapped(place: str, line: str) -> None:
    after, told = of_trainer(**{place: line})
    assert after.count("unwrap_model") == line.count("unwrap_model")
    assert told == []


def test_methods_of_a_trainer_may_have_positional_only_parameters() -> None:
    parts = dict.fromkeys(("training", "loss", "own", "evaluation"), "pass") | {"given": ""}
    script = TRAINER.format(**{**parts, "loss": "n = model.config.num_labels"})
    after, told = converted(
        script.replace("self, model, inputs, return_outputs", "self, model, inputs, /, return_outputs")
    )
    assert "n = self.accelerator.unwrap_model(model).config.num_labels" in after
    assert told == []


def test_a_static_method_has_its_parameters_at_other_places() -> None:
    parts = dict.fromkeys(("training", "loss", "evaluation"), "pass") | {"own": "n = inputs.config", "given": ""}
    script = TRAINER.format(**parts).replace("self.own(inputs, model)", "self.own(model, inputs)")
    script = script.replace("    def own(self, inputs, net):", "    @staticmethod\n    def own(net, inputs):")
    after, told = converted(script)
    assert "def train_func" in after and "unwrap_model" not in after
    assert told == []


def test_a_loss_that_another_method_of_the_model_works_out_is_told() -> None:
    after, told = of_trainer(loss="loss = model.own_loss(inputs)")
    assert "unwrap_model" not in after
    assert len(told) == 1


def test_a_trainer_with_fsdp_hands_attributes_on() -> None:
    after, told = of_trainer(loss="n = model.config", given=", fsdp='full_shard', fp16=True")
    assert "unwrap_model" not in after
    assert told == []


@pytest.mark.parametrize(("line", "count"), [("n = model.config.num_labels", 1), ("model.eval()", 0)])
def test_a_trainer_of_another_file_is_told(line: str, count: int, tmp_path: Path) -> None:
    script = TRAINER.format(training="pass", loss=line, own="pass", evaluation="print(model.config)", given="")
    head, _, tail = script.partition("trainer = Mine")
    (tmp_path / "own.py").write_text(head)
    (tmp_path / "train.py").write_text(
        f"from own import Mine\nfrom transformers import TrainingArguments\n\ntrainer = Mine{tail}"
    )
    told = invoke("--to-ray", "--check", tmp_path).output
    assert told.count("own.py asks its model for .config") == count
    assert told.count("RM829") == count


def test_a_value_of_another_file_is_none_that_was_prepared(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("def inner(model):\n    return model.inner\n")
    parts = {"plugin": "", "before": "", "inside": "pass", "end": "pass"}
    after = "part = inner(load())\nprint(part.own)"
    script = SCRIPT.format(imports="\nfrom helper import inner", after=after, **parts)
    (tmp_path / "train.py").write_text(script)
    assert invoke("--to-ray", tmp_path).exit_code != 2
    assert "print(part.own)" in (tmp_path / "train.py").read_text()


@pytest.mark.parametrize(
    ("put", "owner"),
    [
        ("state = {'net': model, 'steps': 3}", "state['net']"),
        ("state = {}\nstate['net'] = model", "state['net']"),
        ("import types\nstate = types.SimpleNamespace(net=model)", "state.net"),
        ("import types\nstate = types.SimpleNamespace()\nstate.net = model", "state.net"),
    ],
)
def test_a_model_that_is_kept_in_something_else_is_asked_too(put: str, owner: str) -> None:
    after, told = moved(after=put, end=f"{owner}.save_pretrained('/m')")
    assert f"accelerator.unwrap_model({owner}).save_pretrained('/m')" in after
    assert told == []


@pytest.mark.parametrize(
    "line", ["state['net'].eval()", "print(state['steps'].real)", "print(state['loader'].dataset)"]
)
def test_other_things_that_are_kept_there_are_not(line: str) -> None:
    after, told = moved(after="state = {'net': model, 'steps': 3, 'loader': loader}", end=line)
    assert line in after and "unwrap_model" not in after
    assert told == []


METHODS = """\
from accelerate import Accelerator

class Job:
    {decorator}
    def show({parameters}):
        {show}

    def run(self):
        accelerator = Accelerator()
        model, optimizer, loader = make()
        model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
        for epoch in range(3):
            for batch in loader:
                accelerator.backward(model(batch).loss)
                optimizer.step()
            {call}

if __name__ == "__main__":
    Job().run()
"""
STATIC, CLASSMETHOD = ("@staticmethod", "net"), ("@classmethod", "cls, net")


@pytest.mark.parametrize(
    ("method", "call"),
    [
        (STATIC, "self.show(model)"),
        (STATIC, "Job.show(net=model)"),
        (CLASSMETHOD, "Job.show(model)"),
        (("", "self, net"), "self.show(model)"),
    ],
)
def test_a_method_that_is_given_the_model_is_told(method: tuple[str, str], call: str) -> None:
    decorator, parameters = method
    _, told = converted(METHODS.format(decorator=decorator, parameters=parameters, show="print(net.fc)", call=call))
    assert len(told) == 1 and "the wrapper has no .fc: this raises an AttributeError" in told[0]


@pytest.mark.parametrize(
    ("show", "call"),
    [
        ("print(net.fc)", "self.show(accelerator.unwrap_model(model))"),
        ("print(net.training)", "self.show(model)"),
        ("print(net.fc)", "self.show(make())"),
    ],
)
def test_so_is_none_that_is_given_another_or_asks_for_what_the_wrapper_has(show: str, call: str) -> None:
    assert converted(METHODS.format(decorator="@staticmethod", parameters="net", show=show, call=call))[1] == []


def test_a_method_that_trains_may_be_looked_up_by_its_name() -> None:
    after, told = moved(inside="accelerator.backward(getattr(model, 'own_loss')(batch))")
    assert "unwrap_model" not in after and len(told) == 1 and ".own_loss" in told[0]
    after, told = moved(inside="print(getattr(model, 'named_modules')(), getattr(model, 'width', 1))")
    assert after.count("unwrap_model") == 1 and told == []


@pytest.mark.parametrize(("base", "count"), [("torch.nn.Module", 1), ("object", 0)])
def test_a_model_that_only_methods_of_its_own_train_is_told(base: str, count: int) -> None:
    script = (
        "import torch\nfrom accelerate import Accelerator\n\n\n"
        f"class Net({base}):\n    def own_loss(self, rows):\n        return self.layer(rows)\n\n\n"
        "accelerator = Accelerator()\nnet = Net()\nmodel, loader = accelerator.prepare(net, rows())\n"
        "for epoch in range(3):\n    for batch in loader:\n        accelerator.backward(model.own_loss(batch))\n"
        "    print(epoch)\n"
    )
    _, told = converted(script)
    assert len(told) == count and all(".own_loss" in message for message in told)
