"""--to-accelerate: objects and exporters that get the model."""

from pathlib import Path

import pytest

from raymigrate.base.findings import Kind
from tests.rules.test_to_accelerate import HEAD, LOOP, accelerated
from tests.rules.test_to_accelerate_files import project

BARE = "accelerator.unwrap_model(model)"
SAVES = "        torch.save(model.state_dict(), 'a.pt')\n"


def kept(method: str, *calls: str, head: str = HEAD) -> str:
    """What becomes of a class with a method, and of what calls it behind a loop."""
    return accelerated(f"class Keeper:\n{method}\n\n", LOOP, *calls, head=head).text


@pytest.mark.parametrize(
    ("method", "call"),
    [
        (f"    def __call__(self, loss, model):\n{SAVES}", "keep = Keeper()\nkeep(1, {})\n"),
        (f"    def save(self, model):\n{SAVES}", "keep = Keeper()\nkeep.save({})\n"),
        (f"    def save(self, model):\n{SAVES}", "keep = Keeper()\nkeep.save(model={})\n"),
        (f"    def save(self, model):\n{SAVES}", "Keeper().save({})\n"),
        (f"    @staticmethod\n    def save(model):\n{SAVES}", "Keeper.save({})\n"),
        (
            f"    def __call__(self, model):\n        self.save(1, model)\n\n    def save(self, step, model):\n{SAVES}",
            "keep = Keeper()\nkeep({})\n",
        ),
        (
            "    def __init__(self, model):\n        self.net = model\n\n    def save(self):\n"
            "        torch.save(self.net.state_dict(), 'a.pt')\n",
            "keep = Keeper({})\nkeep.save()\n",
        ),
        (f"    def __init__(self, model):\n{SAVES}", "Keeper({})\n"),
        ("    def keep(self, model):\n        torch.save(model, 'a.pt')\n", "Keeper().keep({})\n"),
    ],
)
def test_an_object_that_saves_the_model_gets_it_without_its_wrapper(method: str, call: str) -> None:
    text = kept(method, call.format("model"))
    assert call.format(BARE) in text
    assert "        accelerate.utils.save(" in text
    assert "import accelerate\n" in text


@pytest.mark.parametrize("call", ["save(1, {})", "save(step=1, model={})"])
def test_a_function_that_another_one_made_saves_in_the_main_process_alone(call: str) -> None:
    made = f"def saver():\n    def save(step, model):\n{SAVES}\n    return save\n\n\nsave = saver()\n\n"
    text = accelerated(made, LOOP, call.format("model") + "\n").text
    assert call.format(BARE) in text
    assert "        accelerate.utils.save(model.state_dict(), 'a.pt')\n" in text


@pytest.mark.parametrize(
    ("made", "call"),
    [
        (f"    def save(model):\n{SAVES}\n    return save, None\n\n\nsave, _ = saver()\n", "save({})"),
        (f"    def save(model):\n{SAVES}\n    return dict(save=save)\n\n\nall = saver()\n", "all['save']({})"),
        (f"    def save(step, model):\n{SAVES}\n    return partial(save, 1)\n\n\nsave = saver()\n", "save({})"),
        ("    return lambda model: torch.save(model.state_dict(), 'a.pt')\n\n\nsave = saver()\n", "save({})"),
    ],
)
def test_however_a_function_gives_back_another_one_that_saves(made: str, call: str) -> None:
    text = accelerated(f"from functools import partial\ndef saver():\n{made}\n", LOOP, call.format("model") + "\n").text
    assert call.format(BARE) in text
    assert "accelerate.utils.save(model.state_dict(), 'a.pt')\n" in text


OLD_FORMAT = "torch.save(model.state_dict(), 'a.pt', _use_new_zipfile_serialization=False)"


def test_arguments_that_the_save_of_accelerate_does_not_take_stay_with_torch() -> None:
    assert f"        if accelerate.PartialState().is_main_process:\n            {OLD_FORMAT}\n" in kept(
        f"    def save(self, model):\n        {OLD_FORMAT}\n", "Keeper().save(model)\n"
    )
    text = accelerated(LOOP, f"{OLD_FORMAT}\n").text
    assert f"if accelerator.is_main_process:\n    {OLD_FORMAT.replace('model', BARE)}\n" in text
    assert accelerated(LOOP, f"done = {OLD_FORMAT}\n").lines("RM857", Kind.MANUAL)


def test_each_process_keeps_in_memory_what_it_saves_there() -> None:
    text = accelerated("import io\n", LOOP, "data = io.BytesIO()\ntorch.save(model.state_dict(), data)\n").text
    assert f"\ntorch.save({BARE}.state_dict(), data)\n" in text


def test_what_reaches_into_the_model_without_saving_gets_it_so_too() -> None:
    method = "    def best(self, model):\n        self.weights = model.state_dict()\n"
    text = kept(method, "Keeper().best(model)\n")
    assert f"Keeper().best({BARE})" in text
    assert "accelerate.utils" not in text


@pytest.mark.parametrize(
    "body", ["return list(model.parameters())", "model.eval()", "return model(torch.ones(4))", "return model.training"]
)
def test_what_the_wrapper_has_too_is_used_of_it(body: str) -> None:
    assert "Keeper().look(model)\n" in kept(f"    def look(self, model):\n        {body}\n", "Keeper().look(model)\n")


def test_an_object_that_runs_the_model_with_gradients_is_told() -> None:
    method = "    def look(self, model):\n        return model(model.fc.weight)\n"
    outcome = accelerated(f"class Keeper:\n{method}\n\n", LOOP, "Keeper().look(model)\n")
    assert "Keeper().look(model)\n" in outcome.text
    assert any("Keeper().look() runs the model, and uses attributes" in message for message in outcome.messages)


def test_what_saves_a_state_writes_once() -> None:
    method = "    def save(self, state):\n        torch.save(state, 'tmp')\n        os.rename('tmp', 'a.pt')\n"
    text = kept(method, "Keeper().save(model.state_dict())\n", head=f"import os\n{HEAD}")
    assert "        accelerate.utils.save(state, 'tmp')\n" in text
    assert "        if accelerate.PartialState().is_main_process:\n            os.rename('tmp', 'a.pt')\n" in text
    assert f"Keeper().save({BARE}.state_dict())" in text


def test_a_file_is_moved_by_the_process_that_saved_it() -> None:
    end = "torch.save(model.state_dict(), 'tmp')\nos.replace('tmp', 'a.pt')\n"
    text = accelerated(LOOP, end, head=f"import os\n{HEAD}").text
    assert "if accelerator.is_main_process:\n    os.replace('tmp', 'a.pt')\n" in text
    alone = accelerated(LOOP, "os.replace('tmp', 'a.pt')\n", head=f"import os\n{HEAD}").text
    assert "\nos.replace('tmp', 'a.pt')\n" in alone


@pytest.mark.parametrize(
    ("export", "exported"),
    [
        ("torch.onnx.export(model, x, 'a')", f"torch.onnx.export({BARE}, x, 'a')"),
        ("torch.jit.script(model).save('a')", f"torch.jit.script({BARE}).save('a')"),
        ("torch.jit.save(torch.jit.trace(model, x), 'a')", f"torch.jit.save(torch.jit.trace({BARE}, x), 'a')"),
    ],
)
def test_the_main_process_exports_the_model_without_its_wrapper(export: str, exported: str) -> None:
    assert f"if accelerator.is_main_process:\n    {exported}\n" in accelerated(LOOP, f"{export}\n").text


def test_a_scripted_model_with_a_name_is_saved_once() -> None:
    text = accelerated(LOOP, "scripted = torch.jit.script(model)\nscripted.save('a')\n").text
    assert f"scripted = torch.jit.script({BARE})\nif accelerator.is_main_process:\n    scripted.save('a')\n" in text


def test_an_export_that_takes_a_batch_is_told() -> None:
    outcome = accelerated(LOOP, "torch.onnx.export(model, next(iter(loader))[0], 'a')\n")
    assert f"\ntorch.onnx.export({BARE}, next(iter(loader))[0], 'a')\n" in outcome.text
    assert any("Every process of a distributed run writes this file" in message for message in outcome.messages)


@pytest.mark.parametrize("saved", ["model", "{'a': model, 'b': 1}"])
def test_a_whole_model_is_saved_without_its_wrapper(saved: str) -> None:
    text = accelerated(LOOP, f"torch.save({saved}, 'a')\n").text
    assert f"accelerator.save({saved.replace('model', BARE)}, 'a')" in text


@pytest.mark.parametrize(
    ("use", "converted"),
    [
        ("torch.save({}, 'a.pt')", "accelerator.save({}, 'a.pt')"),
        ("torch.save({{'net': {}}}, 'a.pt')", "accelerator.save({{'net': {}}}, 'a.pt')"),
        ("torch.save({}.state_dict(), 'a.pt')", "accelerator.save({}.state_dict(), 'a.pt')"),
        ("{}.save('a.pt')", "{}.save('a.pt')"),
    ],
)
def test_another_name_of_the_model_that_only_its_bare_form_needs_stays(use: str, converted: str) -> None:
    outcome = accelerated(LOOP, "kept = model\n", use.format("kept") + "\n")
    assert "kept = model\n" in outcome.text
    assert converted.format("accelerator.unwrap_model(kept)") in outcome.text


@pytest.mark.parametrize(
    ("module", "call", "given"),
    [
        (f"class Keeper:\n    def __call__(self, model):\n{SAVES}", "keep = Keeper()\nkeep({})\n", BARE),
        ("def save(model):\n    torch.save(model, 'a.pt')\n", "save({})\n", "model"),
    ],
)
def test_what_saves_in_another_file_is_told(tmp_path: Path, module: str, call: str, given: str) -> None:
    name = "Keeper" if "Keeper" in module else "save"
    script = f"from keeping import {name}\n{HEAD}{LOOP}{call.format('model')}"
    after, messages = project(tmp_path, main=script, keeping=f"import torch\n\n\n{module}")
    assert call.format(given) in after["main"]
    assert any(f"{name}, in " in message and "saves with torch.save()" in message for message in messages)
