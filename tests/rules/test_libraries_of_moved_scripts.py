"""Scripts that --to-accelerate or --to-ray moves get the libraries of today; those that it leaves are told of them."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted
from tests.rules.test_to_accelerate import HEAD, LOOP

OPTIMIZER = "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
OLD = "from transformers import AdamW\n" + HEAD.replace(OPTIMIZER, "optimizer = AdamW(model.parameters(), lr=0.1)\n")
METRIC = "from datasets import load_metric\nmetric = load_metric('accuracy')\n"
TRAINER = """from datasets import load_metric
from transformers import Trainer, TrainingArguments

from job import data, model

metric = load_metric("accuracy")
args = TrainingArguments("out", evaluation_strategy="no")
trainer = Trainer(model, args, train_dataset=data)
{train}
"""
LEFT = "trainer.hyperparameter_search()"


def test_a_loop_that_goes_to_accelerate_gets_the_libraries_of_today() -> None:
    outcome = converted(METRIC + OLD + LOOP, to_accelerate=True)
    assert "import evaluate\n" in outcome.text and "evaluate.load('accuracy')" in outcome.text
    assert "class AdamW(torch.optim.Optimizer):" in outcome.text and "from transformers" not in outcome.text
    assert "accelerator.backward(loss)" in outcome.text
    again = converted(outcome.text, to_accelerate=True)
    assert again.text == outcome.text


def test_a_loop_that_stays_is_told_what_they_changed() -> None:
    text = METRIC + OLD + "import lightning\n" + LOOP
    outcome = converted(text, to_accelerate=True)
    assert outcome.text == text
    found = {code: kind for code, kind, _ in outcome.findings}
    assert found == {"RM712": Kind.NOTE, "RM713": Kind.NOTE, "RM851": Kind.MANUAL}
    told = [message for message in outcome.messages if "not changed, since the script stays as it is." in message]
    assert len(told) == 2 and not any("; now" in message for message in told)


def test_a_script_that_does_not_go_to_ray_is_told_too() -> None:
    moved = converted(TRAINER.format(train="trainer.train()"), to_ray=True)
    assert {"RM701", "RM713"} <= {code for code, kind, _ in moved.findings if kind is Kind.CONVERTED}
    text = TRAINER.format(train=LEFT)
    outcome = converted(text, to_ray=True)
    assert outcome.text == text
    assert {code for code, kind, _ in outcome.findings if kind is Kind.NOTE} == {"RM701", "RM713"}
    assert [code for code, kind, _ in outcome.findings if kind is Kind.MANUAL] == ["RM802"]


def test_what_both_steps_would_tell_is_told_once() -> None:
    outcome = converted(METRIC + HEAD + "import lightning\n" + LOOP, to_accelerate=True, to_ray=True)
    assert sorted(code for code, _, _ in outcome.findings) == ["RM713", "RM851"]


@pytest.mark.parametrize("options", [{}, {"to_accelerate": True}, {"to_ray": True}])
def test_scripts_that_do_not_train_keep_their_libraries(options: dict[str, bool]) -> None:
    text = METRIC + "import torch\nprint(metric.compute(predictions=[1], references=[1]))\n"
    outcome = converted(text, **options)
    assert (outcome.text, outcome.findings) == (text, [])


def test_a_comment_keeps_a_place_of_a_script_that_stays() -> None:
    kept = METRIC.replace("('accuracy')", "('accuracy')  # raymigrate: skip[RM713] -- old datasets")
    outcome = converted(kept + HEAD + "import lightning\n" + LOOP, to_accelerate=True)
    assert [(code, kind) for code, kind, _ in outcome.findings] == [("RM713", Kind.SKIPPED), ("RM851", Kind.MANUAL)]


def test_a_family_that_the_user_leaves_out_is_left_out() -> None:
    outcome = converted(METRIC + OLD + LOOP, to_accelerate=True, ignore=("RM7",))
    assert "load_metric('accuracy')" in outcome.text and "from transformers import AdamW" in outcome.text
    assert "accelerator.backward(loss)" in outcome.text


STAYS = f"from job import data, model\n{HEAD}import lightning\n{LOOP}"
UNUSED = [
    "from datasets import load_metric",
    "from datasets import load_dataset, load_metric as metric",
    "from transformers.file_utils import is_tf_available",
    "import transformers.hf_api",
    "if True:\n    from datasets import load_metric",
]
READY = [
    "try:\n    from datasets import load_metric\nexcept ImportError:\n    load_metric = None",
    "from datasets import load_dataset",
    "from job import load_metric",
    "import datasets",
]


@pytest.mark.parametrize("option", ["to_ray", "to_accelerate"])
@pytest.mark.parametrize("line", UNUSED)
def test_an_unused_import_that_fails_is_told_where_a_script_stays(line: str, option: str) -> None:
    text = f"{line}\n{STAYS}"
    outcome = converted(text, **{option: True})
    assert outcome.text == text
    assert [kind for code, kind, _ in outcome.findings if code == "RM691"] == [Kind.NOTE]
    [message] = [message for message in outcome.messages if "nothing uses it here" in message]
    assert message.rstrip().endswith("nothing uses it here; not changed, since the script stays as it is.")


def test_a_name_that_is_gone_and_used_is_told_there_too() -> None:
    outcome = converted(f"from transformers import TFTrainer\nprint(TFTrainer)\n{STAYS}", to_accelerate=True)
    assert [(code, kind) for code, kind, _ in outcome.findings] == [("RM692", Kind.NOTE), ("RM851", Kind.MANUAL)]


@pytest.mark.parametrize("line", READY)
def test_other_imports_of_it_are_not(line: str) -> None:
    found = {code for code, _, _ in converted(f"{line}\n{STAYS}", to_accelerate=True).findings}
    assert found == {"RM851"}


@pytest.mark.parametrize("line", UNUSED)
def test_nor_are_those_of_scripts_that_do_not_train(line: str) -> None:
    assert converted(f"{line}\nimport torch\n", to_ray=True, to_accelerate=True).findings == []


@pytest.mark.parametrize("line", UNUSED)
def test_an_unused_import_that_fails_goes_where_a_loop_moves(line: str) -> None:
    outcome = converted(f"{line}\n{HEAD}{LOOP}", to_accelerate=True)
    assert [kind for code, kind, _ in outcome.findings if code == "RM691"] == [Kind.CONVERTED]
    assert not any(name in outcome.text for name in ("load_metric", "is_tf_available", "hf_api"))
    assert converted(outcome.text, to_accelerate=True).text == outcome.text


@pytest.mark.parametrize(
    ("line", "use"),
    [
        ("from transformers import TFTrainer", "TFTrainer"),
        ("from transformers import glue_processors as processors", "processors['mrpc']"),
        ("import transformers", "transformers.glue_processors"),
        ("from transformers import *", "glue_processors"),
        ("import transformers\nnames = {'f': transformers.glue_output_modes}", "names"),
    ],
)
def test_a_name_that_is_gone_and_used_is_told_where_a_loop_moves(line: str, use: str) -> None:
    outcome = converted(f"{line}\n{HEAD}{LOOP}print({use})\n", to_accelerate=True)
    assert [kind for code, kind, _ in outcome.findings if code == "RM692"] == [Kind.MANUAL]
    assert "accelerator.backward(loss)" in outcome.text


@pytest.mark.parametrize("line", READY)
def test_other_imports_of_it_are_not_where_a_loop_moves(line: str) -> None:
    outcome = converted(f"{line}\n{HEAD}{LOOP}", to_accelerate=True)
    assert line in outcome.text and not any(code.startswith("RM69") for code, _, _ in outcome.findings)


@pytest.mark.parametrize(
    ("change", "happens"),
    [
        ("logging_dir='logs'", "logging_dir= raises a TypeError today"),
        ("overwrite_output_dir=True", "overwrite_output_dir= raises a TypeError today"),
        ("no_cuda=True", "no_cuda= raises a TypeError today"),
    ],
)
def test_an_argument_that_is_deleted_elsewhere_is_not_said_to_be_deleted(change: str, happens: str) -> None:
    text = TRAINER.format(train=LEFT).replace('evaluation_strategy="no"', change)
    outcome = converted(text, to_ray=True)
    assert outcome.text == text
    message = f"{happens}; not changed, since the script stays as it is."
    assert any(said.rstrip() == message for said in outcome.messages)


SFT = """from transformers import TrainingArguments
from trl import SFTTrainer

trainer = SFTTrainer("m", TrainingArguments("out"), dataset_text_field="text", tokenizer=None{more})
print(trainer.train())
"""


def test_arguments_that_are_gone_are_told_where_a_script_stays() -> None:
    outcome = converted(SFT.format(more=""), to_ray=True)
    assert outcome.text == SFT.format(more="")
    found = [(code, kind) for code, kind, _ in outcome.findings if code == "RM693"]
    assert found == [("RM693", Kind.NOTE)] * 2
    assert any(said.startswith("trl.SFTTrainer(dataset_text_field=) is refused today. ") for said in outcome.messages)
    assert converted(SFT.format(more="").replace("print(trainer.train())", "print(trainer)")).findings == []


KERAS = """from transformers import TFAutoModel

model = TFAutoModel.from_pretrained("bert-base-uncased")
model.compile(optimizer="adam")
model.{train}
"""


def test_what_keras_trains_is_told_with_the_classes_that_are_gone() -> None:
    text = KERAS.format(train="fit([[1]], [1])")
    outcome = converted(text, to_ray=True)
    assert outcome.text == text
    assert [(code, kind) for code, kind, _ in outcome.findings] == [("RM692", Kind.NOTE), ("RM802", Kind.MANUAL)]
    assert converted(text).findings == []


@pytest.mark.parametrize(
    "text",
    [
        KERAS.format(train="predict([[1]])"),
        KERAS.format(train="fit([[1]], [1])").replace("TFAutoModel", "AutoModel"),
        KERAS.format(train="predict([[1]])") + "from sklearn.svm import SVC\nSVC().fit([[1]], [1])\n",
        KERAS.format(train="predict([[1]])") + 'import job\njob.Model.from_pretrained("a").fit([[1]], [1])\n',
    ],
)
def test_other_scripts_with_such_models_or_a_fit_are_not(text: str) -> None:
    assert converted(text, to_ray=True).findings == []


def test_a_model_that_may_be_one_of_tensorflow_is_told() -> None:
    text = KERAS.format(train="fit([[1]], [1])").replace("import TFAutoModel", "import AutoModel, TFAutoModel")
    text = text.replace("model = TFAutoModel", "chosen = TFAutoModel if __debug__ else AutoModel\nmodel = chosen")
    assert len(converted(text, to_ray=True).lines("RM802", Kind.MANUAL)) == 1


def test_a_script_that_is_on_ray_already_is_not_said_to_stay() -> None:
    text = "import ray\n" + KERAS.format(train="fit([[1]], [1])")
    assert not converted(text, to_ray=True).lines("RM802", Kind.MANUAL)


def test_a_configuration_makes_such_a_model_too() -> None:
    text = KERAS.format(train="fit([[1]], [1])").replace('.from_pretrained("bert-base-uncased")', "(object())")
    assert len(converted(text, to_ray=True).lines("RM802", Kind.MANUAL)) == 1


def test_a_script_that_moves_for_its_trainer_is_not_said_to_stay() -> None:
    text = KERAS.format(train="fit([[1]], [1])") + 'from transformers import Trainer\n\nTrainer("bert").train()\n'
    outcome = converted(text, to_ray=True)
    assert not any("Keras" in message for message in outcome.messages)
