"""What becomes of a plain Trainer script, piece by piece; the fixtures show it whole."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = """\
import os, sys
from transformers import AutoModel, Trainer, TrainingArguments
"""
MAKE = """\
trainer = Trainer(AutoModel.from_pretrained("bert"), TrainingArguments("out"))
"""
TRAIN = f"{MAKE}trainer.train()\n"


def after(text: str, **options: object) -> str:
    """The converted script behind its imports; it has to be converted."""
    outcome = converted(HEAD + text, to_ray=True, **options)
    assert "trainer = TorchTrainer(" in outcome.text, outcome.messages
    return outcome.text


def test_branches_that_train_share_what_comes_before() -> None:
    text = after(
        f"{MAKE}if os.path.isdir('out'):\n    trainer.train(resume_from_checkpoint=True)\nelse:\n    trainer.train()\n"
    )
    assert text.count("add_callback") == text.count("get_checkpoint()") == 1
    assert text.count("if checkpoint:") == 1
    assert "        trainer.train(resume_from_checkpoint=True)\n" in text


@pytest.mark.parametrize("name", ["trainer", "job.trainer"])
def test_branches_that_make_a_trainer_of_their_own_set_it_up_each(name: str) -> None:
    own = TRAIN.replace("trainer.train", f"{name}.train").replace("trainer =", f"{name} =")
    first, second = (text.replace("\n", "\n    ").strip() for text in (own, own.replace("out", "other")))
    text = after(f"job = object()\nif os.path.isdir('out'):\n    {first}\nelse:\n    {second}\n")
    assert text.count("add_callback") == text.count("get_checkpoint()") == text.count("if checkpoint:") == 2


@pytest.mark.parametrize(
    ("line", "resumed", "first"),
    [
        ("out = trainer.train()", "out = trainer.train(resume_from_checkpoint=os", "out = trainer.train()"),
        ("a = b = trainer.train()", "a = b = trainer.train(resume_from_checkpoint=os", "a = b = trainer.train()"),
        (
            "trainer.train(ignore_keys_for_eval=['x'])",
            "trainer.train(resume_from_checkpoint=os",
            "trainer.train(ignore_keys_for_eval=['x'])",
        ),
    ],
)
def test_the_first_run_trains_as_the_script_says(line: str, resumed: str, first: str) -> None:
    text = after(f"{MAKE}{line}\n")
    assert f"            {resumed}" in text
    assert f"    else:\n        {first}\n" in text


def test_a_trainer_without_a_name_gets_one() -> None:
    text = after('Trainer(AutoModel.from_pretrained("b"), None).train(ignore_keys_for_eval=[1])\n')
    assert '    trainer = Trainer(AutoModel.from_pretrained("b"), None)\n' in text
    assert "        trainer.train(ignore_keys_for_eval=[1])\n" in text


@pytest.mark.parametrize(
    ("behind", "returned", "shown"),
    [
        ("print(trainer.evaluate())", "metrics", "print(result.return_value)"),
        ("m = trainer.evaluate()\nprint(m)", "m", "m = result.return_value\nprint(m)"),
        ("m = trainer.evaluate()\nprint(m['eval_loss'], 3)", "m", "print(m['eval_loss'], 3)"),
        (
            "log = trainer.state.log_history\nm = trainer.evaluate()\nprint(log, m)",
            '{"log": log, "m": m}',
            'log = result.return_value["log"]\nm = result.return_value["m"]\nprint(log, m)',
        ),
    ],
)
def test_metrics_are_returned_and_shown_by_the_driver(behind: str, returned: str, shown: str) -> None:
    text = after(f"{TRAIN}{behind}\n")
    assert f"    return {returned}\n" in text
    assert text.endswith(f"result = trainer.fit()\n{shown}\n") or text.endswith(f"{shown}\n")


@pytest.mark.parametrize(
    "line",
    [
        'trainer.model.save_pretrained("m")',
        "print(trainer.state.best_metric)",
        'open("a", "w").write(trainer.model.name)',
        'trainer.state.save_to_json("/a/state.json")',
    ],
)
def test_other_output_is_that_of_the_first_worker(line: str) -> None:
    text = after(f"{TRAIN}{line}\n")
    assert "    if trainer.is_world_process_zero():\n" in text


@pytest.mark.parametrize(
    "line", ["trainer.save_model('m')", "trainer.push_to_hub()", "print(trainer.predict(rows), 1)"]
)
def test_methods_of_the_trainer_run_on_all_workers(line: str) -> None:
    assert "is_world_process_zero" not in after(f"{TRAIN}{line}\n")


INSIDE = {
    "function": "def work():\n    {MAKE}\n    {before}\n    trainer.train()\n    {behind}\n\nwork()\n",
    "branch": "{MAKE}\n{before}\nif 'x' in sys.argv:\n    trainer.train()\n    {behind}\n",
    "method": "class Job:\n    def run(self):\n        {MAKE}\n        {before}\n        trainer.train()\n"
    "        {behind}\n\nJob().run()\n",
}


def inside(place: str, before: str = "pass", behind: str = "pass") -> str:
    return INSIDE[place].format(MAKE=MAKE.strip(), before=before, behind=behind)


@pytest.mark.parametrize("place", INSIDE)
@pytest.mark.parametrize(
    "line",
    [
        'trainer.model.save_pretrained("m")',
        'trainer.model.config.to_json("c")',
        'json.dump(trainer.args.to_dict(), open("arguments.json", "w"))',
        'open("steps.txt", "w").write(str(trainer.state.global_step))',
        'open("steps.txt", mode="w").write(str(trainer.state.global_step))',
        "with open(path, 'w') as f: f.write(text)",
        "with open(path, 'w') as f: [f.write(line) for line, _ in pairs]",
    ],
)
def test_files_written_behind_the_training_in_a_function_are_those_of_the_first_worker(place: str, line: str) -> None:
    text = after(f"import json\n{inside(place, behind=line)}")
    [guard] = [number for number, code in enumerate(text.splitlines()) if "if trainer.is_world_process_zero():" in code]
    assert text.splitlines()[guard + 1].strip().startswith(line.partition("(")[0])


@pytest.mark.parametrize("place", INSIDE)
@pytest.mark.parametrize(
    ("before", "behind"),
    [
        ("frame.to_csv('a.csv')", "pass"),  # every worker may read it back
        ("pass", "trainer.save_model('m')"),
        ("pass", "print('done')"),
        ("pass", "trainer.push_to_hub()"),
        ("pass", "with open(path, 'w') as f: f.write(str(trainer.evaluate()))"),
        ("pass", "with open(path) as f: text = f.read()"),
        ("pass", "with open(path, 'w') as f: f.write(str(trainer.accelerator.gather(x)))"),
        ("pass", "with open(path, 'w') as f: torch.distributed.barrier(); f.write('x')"),
        ("pass", "with open(path, 'w') as f: f.write('x'); names.append(path)"),
        ("pass", "with open(path, 'w') as f: import csv; f.write('x')"),
        ("pass", "with open(path, 'w') as f: f.write('x'); raise SystemExit"),
        ("pass", "open(p := 'x', 'w').write('x'); print(p)"),
    ],
)
def test_what_all_workers_do_in_a_function_stays_so(place: str, before: str, behind: str) -> None:
    text = after(f"import torch\n{inside(place, before, behind)}")
    assert "is_world_process_zero" not in text
    assert "get_world_rank" not in text


@pytest.mark.parametrize("leaves", ["return 1", "yield 1"])
def test_a_block_that_is_left_early_is_that_of_all_workers(leaves: str) -> None:
    text = after(inside("function", behind=f"with open('a', 'w') as f: f.write('x'); {leaves}"))
    assert "is_world_process_zero" not in text
    assert "get_world_rank" not in text


@pytest.mark.parametrize(
    "script",
    [
        "def run(trainer):\n    trainer.train()\n    if 1:\n        trainer = None\n    {WRITE}\n{MAKE}run(trainer)\n",
        "def work(train):\n    if train:\n        {MAKE}        trainer.train()\n    {WRITE}\nwork(True)\n",
        "{MAKE}model = trainer.model\ntrainer.train()\ntrainer = None\nmodel.save_pretrained('x')\n",
    ],
)
def test_a_trainer_that_may_be_gone_is_not_asked_for_the_rank(script: str) -> None:
    text = after(script.format(MAKE=MAKE, WRITE="open('done', 'w').write('x')"))
    assert "is_world_process_zero" not in text
    assert "if ray.train.get_context().get_world_rank() == 0:" in text


@pytest.mark.parametrize("place", ["branch", "method"])
def test_what_every_worker_reads_back_it_writes_itself(place: str) -> None:
    assert "is_world_process_zero" not in after(inside(place, behind="open('a', 'w').write('x'); x = open('a').read()"))


JOB = """
class Job:
    def run(self):
        {MAKE}
        self.trainer = trainer
        self.trainer.train()
        return self

    def score(self):
        return self.trainer.evaluate()

    def name(self):
        return "job"


job = Job()
done = job.run()
"""


@pytest.mark.parametrize(
    ("line", "is_guarded"),
    [
        ("print(done)", True),
        ("print(job.name())", True),
        ('json.dump(vars(done), open("done.json", "w"))', True),
        ("print(job.score())", False),
        ('open("a", "w").write(str(done.score()))', False),
    ],
)
def test_what_stands_behind_the_call_of_a_method_that_trains(line: str, is_guarded: bool) -> None:
    text = after(f"import json\n{JOB.format(MAKE=MAKE.strip())}{line}\n")
    assert (
        "if ray.train.get_context().get_world_rank() == 0:\n        " + line.partition("(")[0] in text
    ) is is_guarded


@pytest.mark.parametrize("call", ["score(trainer)", "str(score(of=trainer))", "imported(trainer)", "outer()"])
def test_functions_that_evaluate_run_on_all_workers(call: str) -> None:
    functions = (
        "from own import imported\ndef score(of):\n    return of.evaluate()\ndef outer():\n    return score(trainer)\n"
    )
    for line in (f"print({call})", f"with open('a', 'w') as f:\n    f.write({call})"):
        assert "is_world_process_zero" not in after(f"{functions}{TRAIN}{line}\n")


CHAIN = "def e(): return trainer.evaluate()\n" + "".join(
    f"def {a}(): return {b}()\n" for a, b in ("de", "cd", "bc", "ab")
)
HOLDER = """\
class Holder:
    def __init__(self, trainer):
        self.trainer = trainer

    @property
    def score(self):
        return self.trainer.evaluate()


"""
REDUCES = "import torch\ndef total(model):\n    torch.distributed.all_reduce(model)\n"


@pytest.mark.parametrize(
    ("functions", "before", "shown"),
    [
        (CHAIN, "", "a()"),
        ("", "score = trainer.evaluate\n", "score()"),
        ("import functools\n", "score = functools.partial(trainer.predict, rows)\n", "score()"),
        ("", "", "list(map(trainer.predict, rows))"),
        ("", "", "trainer.accelerator.gather(rows)"),
        (HOLDER, "holder = Holder(trainer)\n", "holder.score"),
        (REDUCES, "", "total(trainer.model)"),
        (REDUCES, "", "list(map(total, rows))"),
    ],
)
def test_what_leads_to_all_workers_in_any_way_is_below_no_condition(functions: str, before: str, shown: str) -> None:
    text = after(f"{functions}{TRAIN}{before}print({shown}, 1)\n")
    assert "is_world_process_zero" not in text
    assert "get_world_rank" not in text


def test_functions_that_only_look_at_a_trainer_are_those_of_the_first_worker() -> None:
    function = "def steps(of):\n    return of.state.global_step\n"
    assert "is_world_process_zero" in after(f"{function}{TRAIN}print(steps(trainer))\n")


@pytest.mark.parametrize("place", ["function", "method"])
def test_a_guard_of_the_script_is_enough(place: str) -> None:
    text = after(inside(place, behind="if trainer.is_world_process_zero(): trainer.model.save_pretrained('m')"))
    assert text.count("is_world_process_zero") == 1


def test_variables_of_the_script_become_those_of_the_workers_and_the_launchers_go() -> None:
    text = after(f'os.environ["WANDB_PROJECT"] = "x"\nos.environ["CUDA_VISIBLE_DEVICES"] = "0"\n{TRAIN}')
    assert 'worker_runtime_env={"env_vars": {"WANDB_PROJECT": "x"}}' in text
    assert 'os.environ["WANDB_PROJECT"] = "x"\n' in text
    assert "CUDA_VISIBLE_DEVICES" not in text


@pytest.mark.parametrize(
    ("arguments", "gpu", "written"),
    [
        ('TrainingArguments("out")', False, 'TrainingArguments("out", use_cpu=True)'),
        ('TrainingArguments("out", use_cpu=True)', False, 'TrainingArguments("out", use_cpu=True)'),
        ('TrainingArguments("out", use_cpu=False)', False, 'TrainingArguments("out", use_cpu=True)'),
        ('TrainingArguments("out")', True, 'TrainingArguments("out")'),
        ('TrainingArguments("out", **more)', False, '"env_vars": {"ACCELERATE_USE_CPU": "true"}'),
        ("None", False, '"env_vars": {"ACCELERATE_USE_CPU": "true"}'),
    ],
)
def test_workers_without_a_gpu_are_told(arguments: str, gpu: bool, written: str) -> None:
    text = after("more = {}\n" + TRAIN.replace('TrainingArguments("out")', arguments), gpu=gpu)
    assert written in text
    assert f"use_gpu={gpu}" in text


@pytest.mark.parametrize("line", ["model.cuda()", "model.to('cuda:0')", "TrainingArguments('o', fp16=True)"])
def test_a_script_that_needs_gpus_gets_some(line: str) -> None:
    assert "use_gpu=True" in after(f'model = AutoModel.from_pretrained("b")\n{line}\n{TRAIN}')


def test_nothing_of_a_plain_script_is_changed_as_in_a_legacy_one() -> None:
    text = after(TRAIN)
    assert "average_tokens_across_devices" not in text
    assert "report_to" not in text


def test_a_second_run_changes_nothing_and_says_nothing() -> None:
    text = after(TRAIN)
    again = converted(text, to_ray=True)
    assert again.text == text
    assert again.findings == []


def test_a_function_that_nothing_uses_may_call_main_too() -> None:
    body = "".join(f"    {line}\n" for line in TRAIN.splitlines())
    text = after(f"def main():\n{body}\n\ndef _mp_fn(index):\n    main()\n\n\nmain()\n")
    assert "def main():\n    trainer = TorchTrainer(train_func" in text


def test_what_several_workers_change_is_told() -> None:
    text = TRAIN.replace('"bert"', '"bert", device_map="auto"')
    text = text.replace('"out"', '"out", dataloader_num_workers=4, save_strategy="no"')
    said = " ".join(converted(HEAD + text, to_ray=True, gpu=True).messages)
    for words in ("ray.train.torch.get_device()", "resources_per_worker", "result.checkpoint are None"):
        assert words in said


def test_fp16_on_workers_without_a_gpu_is_told() -> None:
    text = HEAD + TRAIN.replace('"out"', '"out", fp16=True')
    assert not any("fp16=True does nothing" in message for message in converted(text, to_ray=True).messages)
    assert any("fp16=True does nothing" in message for message in converted(text, to_ray=True, gpu=False).messages)


@pytest.mark.parametrize(
    ("arguments", "config"),
    [
        ("ddp_timeout=7200", "timeout_s=7200"),
        ("ddp_timeout=2 * 60 * 60", "timeout_s=7200"),
        ('ddp_backend="gloo", ddp_timeout=60', 'backend="gloo", timeout_s=60'),
    ],
)
def test_what_the_arguments_ask_of_the_process_group_is_asked_of_ray(arguments: str, config: str) -> None:
    text = after(TRAIN.replace('"out"', f'"out", {arguments}'), gpu=True)
    assert f"torch_config=TorchConfig({config})" in text
    assert "ddp_" not in text


def test_a_timeout_of_the_command_line_is_told() -> None:
    outcome = converted(HEAD + TRAIN.replace('"out"', '"out", ddp_timeout=int(sys.argv[1])'), to_ray=True, gpu=True)
    assert any("ddp_timeout= has no effect" in message for message in outcome.messages)
    assert "ddp_timeout=int(sys.argv[1])" in outcome.text


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("import swanlab\nrun = swanlab.init(project='x')\n", True),
        ("import swanlab\nswanlab.init(project='x')\n", False),  # below an `if` for the first worker now
        ("import wandb\nrun = wandb.init(project='x')\n", False),  # disabled on the others now: see test_trackers
        ("from mlflow import start_run\nwith start_run():\n    trainer.evaluate()\n", True),
        ("import wandb\nif trainer.is_world_process_zero():\n    wandb.init(project='x')\n", False),
        ("import wandb\nif os.environ['RANK'] == '0':\n    run = wandb.init(project='x')\n", False),
        ("import wandb\nwandb.login()\n", False),
        ("class wandb:\n    init = print\nwandb.init()\n", False),
    ],
)
def test_a_tracker_that_each_worker_starts_is_told(line: str, told: bool) -> None:
    outcome = converted(HEAD + TRAIN.replace("trainer.train", f"{line}trainer.train"), to_ray=True)
    assert any("each starts a run of its own" in message for message in outcome.messages) is told


@pytest.mark.parametrize(
    "definition",
    [
        "def score(output):\n        return {'rows': len(output.label_ids)}",
        "class score:\n        def __new__(cls, output):\n            return {'rows': len(output.label_ids)}",
    ],
)
def test_a_definition_in_main_goes_along_with_what_reads_it(definition: str) -> None:
    text = after(
        f"def main():\n    model = AutoModel.from_pretrained('bert')\n    {definition}\n"
        "    trainer = Trainer(model, TrainingArguments('out'), compute_metrics=score)\n    trainer.train()\n\n\n"
        "if __name__ == '__main__':\n    main()\n"
    )
    function, _, main = text.partition("def main():")
    assert definition.partition("\n")[0] in function
    assert "score" not in main


def test_a_definition_in_main_that_the_training_does_not_read_stays_there() -> None:
    text = after(
        "def main():\n    def greet():\n        print('hello')\n    greet()\n"
        "    trainer = Trainer(AutoModel.from_pretrained('bert'), TrainingArguments('out'))\n    trainer.train()\n\n\n"
        "if __name__ == '__main__':\n    main()\n"
    )
    assert text.count("def greet") == 1


OWN_TRAIN = """
from transformers import AutoModel, Trainer, TrainingArguments


class Own(Trainer):
    def train(self{parameters}):
        return super().train({handed})


class Derived(Own):
    pass


trainer = {made}(model=AutoModel.from_pretrained("a"), args=TrainingArguments("out"))
trainer.train()
"""


@pytest.mark.parametrize("made", ["Own", "Derived"])
@pytest.mark.parametrize(
    ("parameters", "handed", "resumed_by"),
    [
        (", model_path=None, trial=None", "resume_from_checkpoint=model_path", "model_path"),
        (", path=None", "path", "path"),
        (", **kwargs", "**kwargs", "resume_from_checkpoint"),
        (", resume_from_checkpoint=None", "resume_from_checkpoint", "resume_from_checkpoint"),
    ],
)
def test_a_trainer_with_a_train_of_its_own_resumes_as_that_takes_it(
    parameters: str, handed: str, resumed_by: str, made: str
) -> None:
    outcome = converted(OWN_TRAIN.format(parameters=parameters, handed=handed, made=made), to_ray=True)
    assert f"trainer.train({resumed_by}=os.path.join(checkpoint_dir" in outcome.text


@pytest.mark.parametrize("handed", ["", "resume_from_checkpoint='mine'"])
def test_a_trainer_whose_train_takes_no_checkpoint_does_not_resume(handed: str) -> None:
    outcome = converted(OWN_TRAIN.format(parameters="", handed=handed, made="Own"), to_ray=True)
    assert "get_checkpoint" not in outcome.text
    assert "    trainer = prepare_trainer(trainer)\n    trainer.train()\n" in outcome.text
    assert any("starts with the first step again" in message for message in outcome.messages)


@pytest.mark.parametrize(("ignored", "name"), [((), "HF_HUB_CACHE"), (("RM718",), "TRANSFORMERS_CACHE")])
def test_the_workers_get_a_renamed_variable_under_its_new_name(ignored: tuple[str, ...], name: str) -> None:
    script = """
    import os
    os.environ["TRANSFORMERS_CACHE"] = "/cache"
    from transformers import AutoModel, Trainer, TrainingArguments

    trainer = Trainer(AutoModel.from_pretrained("a"), TrainingArguments("/out"))
    trainer.train()
    """
    text = converted(script, to_ray=True, ignore=ignored).text
    assert f'os.environ["{name}"]' in text
    assert f'{{"env_vars": {{"{name}": "/cache"}}}}' in text


@pytest.mark.parametrize(("ignored", "value"), [((), "end"), (("RM758",), "TRUE")])
def test_the_workers_get_the_value_that_a_variable_has_today(ignored: tuple[str, ...], value: str) -> None:
    script = """
    import os
    from transformers import AutoModel, Trainer, TrainingArguments

    def main():
        os.environ["WANDB_LOG_MODEL"] = "TRUE"
        trainer = Trainer(AutoModel.from_pretrained("a"), TrainingArguments("/out"))
        trainer.train()

    os.environ["WANDB_LOG_MODEL"] = "TRUE"
    main()
    """
    text = converted(script, to_ray=True, ignore=ignored).text
    assert f'{{"env_vars": {{"WANDB_LOG_MODEL": "{value}"}}}}' in text


def test_new_code_does_not_count_on_an_import_that_moves_with_its_condition() -> None:
    script = """
    from transformers import Trainer, TrainingArguments, is_torch_available

    if is_torch_available():
        import torch

        class Head(torch.nn.Module):
            pass

    trainer = Trainer(Head(), TrainingArguments("/out"))
    trainer.train()
    """
    text = converted(script, to_ray=True).text
    above, _, moved = text.partition("def train_func")
    assert "        import torch\n" in moved
    assert "\nimport torch\n" in above


@pytest.mark.parametrize(
    ("arguments", "set_in", "lines"),
    [
        ('TrainingArguments("out")', 'TrainingArguments("out", use_cpu=True)', [3]),
        ('TrainingArguments("out", use_cpu=False)', 'TrainingArguments("out", use_cpu=True)', [3]),
        ('TrainingArguments("out", use_cpu=True)', 'TrainingArguments("out", use_cpu=True)', []),
        ("TrainingArguments(**given)", '"ACCELERATE_USE_CPU": "true"', [4]),
        ("made_elsewhere", '"ACCELERATE_USE_CPU": "true"', [4]),
    ],
)
def test_cpu_workers_are_told_to_train_one_model(arguments: str, set_in: str, lines: list[int]) -> None:
    """RM803."""
    script = HEAD + MAKE.replace('TrainingArguments("out")', arguments) + "trainer.train()\n"
    for number, options in ((len(lines), {"gpu": False}), (0, {"gpu": True})):
        outcome = converted(script, to_ray=True, **options)
        assert outcome.lines("RM803", Kind.CONVERTED) == lines[:number]
        assert (set_in in outcome.text) is (bool(number) or not lines)


@pytest.mark.parametrize(
    "line",
    ['os.environ.setdefault("CUDA_VISIBLE_DEVICES", "0")', 'os.environ.update({"CUDA_VISIBLE_DEVICES": "1"})'],
)
def test_the_gpus_that_a_script_chooses_for_itself_stay_chosen(line: str) -> None:
    text = after(f"{line}\n{TRAIN}")
    assert text.index(f"\n{line}\n") < text.index("def train_func")
