"""Relative paths of a plain script mean on the workers what they meant to the script."""

import pytest

from raymigrate.base.options import Options
from raymigrate.run.engine import convert
from tests.rules.scripts import converted

SCRIPT = """
import json
import os
import sys

from transformers import Trainer, TrainingArguments

NAME = sys.argv[1]


def train(path):
    trainer = Trainer(make(), TrainingArguments("runs"), train_dataset=rows())
    trainer.train()
    trainer.save_model({path})


train(NAME)
"""


@pytest.mark.parametrize("path", ['f"models/{NAME}"', "path", 'os.path.join(path, "best")', 'f"{path}/best"'])
def test_workers_go_to_the_folder_of_the_driver_where_a_path_is_not_a_constant(path: str) -> None:
    after = str(convert(SCRIPT.replace("{path}", path), options=Options(to_ray=True)).after)
    assert f"trainer.save_model({path})" in after
    assert "DIRECTORY = os.getcwd()" in after
    assert "    os.chdir(DIRECTORY)" in after


@pytest.mark.parametrize("path", ['f"/models/{NAME}"', '"/models/best"', '"models/best"'])
def test_they_stay_where_it_is_one(path: str) -> None:
    after = str(convert(SCRIPT.replace("{path}", path), options=Options(to_ray=True)).after)
    assert "os.chdir" not in after
    assert ("os.path.abspath" in after) == (path == '"models/best"')


@pytest.mark.parametrize(
    ("call", "goes"),
    [
        ("rows('train.csv')", True),
        ("rows(path='data/train.jsonl')", True),
        ("rows('/data/train.csv')", False),
        ("rows('train')", False),
        ("rows('bert-base-uncased')", False),
        ("plt.savefig('loss.png')", False),  # a constant stands for it
    ],
)
def test_a_file_that_a_function_of_the_project_is_given_is_found(call: str, goes: bool) -> None:
    text = SCRIPT.replace("{path}", '"/m"').replace("rows()", call, 1)
    text = text.replace("import json\n", "import matplotlib.pyplot as plt\nfrom data import make, rows\n")
    after = str(convert(text, options=Options(to_ray=True)).after)
    assert ("os.chdir" in after) == goes
    assert ("LOSS = os.path.abspath" in after) == ("loss.png" in call)


@pytest.mark.parametrize(
    "line",
    [
        'rows = load_dataset("json", data_files="rows.json")',
        'numpy.save("scores.npy", [1])',
        'matplotlib.pyplot.savefig("loss.png")',
        'frame = pandas.read_csv("rows.csv")',
    ],
)
def test_a_literal_path_that_a_library_takes_becomes_a_constant(line: str) -> None:
    imports = "import matplotlib.pyplot, numpy, pandas\nfrom datasets import load_dataset\n"
    trained = f"    trainer.train()\n    {line}\n"
    script = imports + SCRIPT.replace("{path}", '"/m"').replace("    trainer.train()\n", trained)
    after = str(convert(script, options=Options(to_ray=True)).after)
    assert "os.path.abspath" in after
    assert "os.chdir" not in after


MAPPING = """
import argparse
from accelerate.logging import get_logger
from huggingface_hub import HfApi
from transformers import MODEL_MAPPING, Trainer, TrainingArguments

logger = get_logger(__name__)
KINDS = tuple(config.model_type for config in MODEL_MAPPING.keys())


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kind", choices=KINDS)
    return parser.parse_args()


def main():
    args = parse_args()
    if args.kind:
        HfApi().create_repo(args.kind)
    Trainer(make(args), TrainingArguments("runs"), train_dataset=rows()).train()


main()
"""


def test_loggers_and_tables_of_a_library_stay_where_they_are() -> None:
    after = str(convert(MAPPING, options=Options(to_ray=True)).after)
    driver, worker = after.split("def train_func")
    assert "logger = get_logger" in driver and "KINDS = tuple(" in driver and "create_repo" in worker


def test_libraries_of_a_converted_script_are_brought_up_to_date_in_the_same_run() -> None:
    script = SCRIPT.replace("{path}", '"m"').replace("rows()", 'load_dataset("glue", "mrpc")')
    script = script.replace("import json\n", "from datasets import load_dataset\n")
    assert 'load_dataset("nyu-mll/glue", "mrpc")' in str(convert(script, options=Options(to_ray=True)).after)


SHARED = """
from peft import LoraConfig, PeftConfig, PeftModel, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

NAME = "facebook/opt-125m"


def train():
    config = LoraConfig()
    model = get_peft_model(AutoModelForCausalLM.from_pretrained(NAME), config)
    trainer = Trainer(model, TrainingArguments("runs"), train_dataset=rows())
    trainer.train()
    out = {path}
    model.save_pretrained(out)
    print(PeftConfig.from_pretrained(out), PeftModel.from_pretrained(model, out))


train()
"""


@pytest.mark.parametrize("path", ['f"{NAME}_{config.peft_type}"', 'NAME + "_" + config.peft_type', "NAME + suffix()"])
def test_a_folder_named_by_a_model_and_by_what_is_not_seen_is_the_same_wherever_it_is_used(path: str) -> None:
    after = str(convert(SHARED.replace("{path}", path), options=Options(to_ray=True)).after)
    assert "    os.chdir(DIRECTORY)" in after
    assert "os.path.join(DIRECTORY" not in after
    assert 'NAME = "facebook/opt-125m"' in after


@pytest.mark.parametrize("path", ['f"{NAME}_lora"', 'NAME + "_lora"'])
def test_a_folder_of_constants_is_made_absolute_in_every_use(path: str) -> None:
    result = convert(SHARED.replace("{path}", path), options=Options(to_ray=True))
    after = str(result.after)
    assert "os.chdir" not in after
    assert after.count("os.path.join(DIRECTORY, out)") == 3
    assert 'NAME = "facebook/opt-125m"' in after
    told = {finding.message for finding in result.findings if finding.code == "RM805"}
    assert told == {'"facebook/opt-125m_lora" is made absolute on the driver.'}


def test_a_folder_that_is_saved_to_is_absolute_as_a_second_argument_too() -> None:
    script = SHARED.replace("{path}", "NAME").replace("from_pretrained(model, out)", 'from_pretrained(model, "kept")')
    after = str(
        convert(script.replace("save_pretrained(out)", 'save_pretrained("kept")'), options=Options(to_ray=True)).after
    )
    assert 'KEPT = os.path.abspath("kept")' in after
    assert "PeftModel.from_pretrained(model, KEPT)" in after


EXPORTS = """\
import json
from transformers import AutoModel, Trainer, TrainingArguments
model = AutoModel.from_pretrained("bert-base-uncased")
{early}
trainer = Trainer(model, TrainingArguments("out"))
trainer.train()
{late}
trainer.save_model("final")
export()
print(trainer.evaluate())
"""
EXPORT = """
def export(folder="final"):
    AutoModel.from_pretrained("bert-base-uncased").save_pretrained(folder)
"""
CONSTANT = 'FINAL = os.path.abspath("final")'


@pytest.mark.parametrize(
    ("early", "late"),
    [
        (EXPORT, ""),
        ("", EXPORT),
        ("", EXPORT.replace("(folder=", "(*, folder=")),
        ("def export():\n    model.save_pretrained(Names.folder)", 'class Names:\n    folder = "final"'),
        ('FOLDER: str = "final"\ndef export():\n    AutoModel.from_pretrained("b").save_pretrained(FOLDER)', ""),
        ("def export(): pass", ""),
    ],
)
def test_a_constant_comes_before_the_definition_that_has_it_in_its_head(early: str, late: str) -> None:
    text = converted(EXPORTS.format(early=early, late=late), to_ray=True).text
    assert text.count(CONSTANT) == 1
    others = [text.index(line) for line in text.splitlines() if "FINAL" in line and CONSTANT not in line]
    assert text.index(CONSTANT) < min(*others, text.index("def train_func"))


def test_a_constant_comes_before_the_training_where_a_definition_below_has_it_in_its_head_too() -> None:
    script = EXPORTS.format(early="", late="").replace("print(trainer.evaluate())", "").replace("export()", "")
    text = converted(f"{script}{EXPORT}export()\n", to_ray=True).text
    assert text.index(CONSTANT) < text.index("def train_func") < text.index("def export(folder=FINAL)")


INSIDE = """
def main():
    {imports}
    from transformers import Trainer, TrainingArguments

    trainer = Trainer(make(), TrainingArguments("runs"), train_dataset=rows())
    trainer.train()
    trainer.save_model({path})


if __name__ == "__main__":
    main()
"""
GOES = "    import os\n\n    os.chdir(DIRECTORY)  # workers run in a folder of their own\n"


@pytest.mark.parametrize(
    "imports", ["import os", "import json, os", "import sys\n    import os\n", "import os, os.path"]
)
@pytest.mark.parametrize("path", ["os.environ['OUT']", "os.path.join(os.environ['OUT'], 'best')"])
def test_a_function_that_imports_os_itself_goes_there_all_the_same(path: str, imports: str) -> None:
    script = INSIDE.replace("{imports}", imports).replace("{path}", path)
    assert GOES in str(convert(script, options=Options(to_ray=True)).after)


@pytest.mark.parametrize("imports", ["import os as system", "from os import environ"])
def test_another_name_for_it_needs_no_second_import(imports: str) -> None:
    script = INSIDE.replace("{imports}", imports).replace("{path}", "environ['OUT']")
    text = str(convert(script, options=Options(to_ray=True)).after)
    assert "    os.chdir(DIRECTORY)" in text and "    import os\n" not in text


MADE = {
    "a configuration": 'TrainingArguments(**json.load(open("/conf.json")))',
    "the default": "TrainingArguments(seed=3)",
    "another file": "make_arguments()",
    "nothing": "None",
}


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
@pytest.mark.parametrize("line", ["trainer.save_model()", "trainer.save_state()", "get_last_checkpoint(args.out)"])
def test_a_folder_that_is_not_written_here_is_found_where_the_script_goes_on_with_it(made: str, line: str) -> None:
    text = SCRIPT.replace('TrainingArguments("runs")', made).replace("trainer.save_model({path})", line)
    text = text.replace("import json\n", "import json\nfrom transformers.trainer_utils import get_last_checkpoint\n")
    assert "    os.chdir(DIRECTORY)" in str(convert(text, options=Options(to_ray=True)).after)


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
def test_it_may_be_anywhere_where_nothing_goes_on_with_it(made: str) -> None:
    text = SCRIPT.replace('TrainingArguments("runs")', made).replace("{path}", '"/models/best"')
    assert "os.chdir" not in str(convert(text, options=Options(to_ray=True)).after)


@pytest.mark.parametrize("given", ["resume_from_checkpoint=None", "resume_from_checkpoint=False", ""])
def test_a_model_is_saved_where_it_was_by_a_training_that_did_not_resume(given: str) -> None:
    text = SCRIPT.replace("trainer.train()", f"trainer.train({given})").replace("{path}", "")
    assert 'RUNS = os.path.abspath("runs")' in str(convert(text, options=Options(to_ray=True)).after)


OF_ACCELERATE = """
from accelerate import Accelerator
from own import batches, make

OPTIONS = {options}


def main():
    accelerator = Accelerator({given})
    model, optimizer = accelerator.prepare(*make())
    for epoch in range(3):
        for batch in batches():
            accelerator.backward(model(batch))
            optimizer.step()


main()
"""


@pytest.mark.parametrize(
    ("given", "options", "is_absolute"),
    [
        ("**OPTIONS", '{"project_dir": "logs", "log_with": "tensorboard"}', True),
        ('**{"project_dir": "logs"}', "{}", True),
        ("**dict(project_dir='logs', log_with='all')", "{}", True),
        ("**OPTIONS", '{"project_dir": "/logs"}', False),
        ("**OPTIONS", '{"log_with": "logs"}', False),
    ],
)
def test_a_path_may_stand_in_a_dict_that_is_unpacked(given: str, options: str, is_absolute: bool) -> None:
    script = OF_ACCELERATE.format(given=given, options=options)
    outcome = converted(script, to_ray=True)
    assert bool(outcome.lines("RM805")) is is_absolute
    assert ("os.getcwd()" in outcome.text or "os.path.abspath" in outcome.text) is is_absolute
