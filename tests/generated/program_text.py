"""The text of a program with a TransformersTrainer, from what it means and how it is to be spelled."""

from __future__ import annotations

from tests.generated.programs import CONFIGS, RATES, TRAINERS, TUNERS, Meaning, Spelling


def render(means: Meaning, spelled: Spelling) -> dict[str, str]:
    """The texts of a program by the names of its files; `train.py` is the one to start."""
    return _Writer(means, spelled).files()


class _Writer:
    def __init__(self, means: Meaning, spelled: Spelling) -> None:
        self.means = means
        self.spelled = spelled
        self.trainer_import, self.trainer = TRAINERS[spelled.trainer]
        self.config_import, self.prefix = CONFIGS[spelled.configs]
        self.function = spelled.function

    def files(self) -> dict[str, str]:
        nested = self.spelled.order == "nested" and self.spelled.place != "module"
        init, driver = self._init(), self._driver()
        texts = {}
        if self.spelled.order == "elsewhere":
            texts["model.py"] = "\n".join([*self._model_imports(), "", "", *init, ""])
            body = self._placed([], driver)
            imports = [*self._driver_imports(), f"from model import {self.function}"]
        else:
            imports = [*self._driver_imports(), *self._model_imports()]
            if nested:
                body = self._placed(init, driver)
            elif self.spelled.order == "after" and self.spelled.place in ("main", "function"):
                body = self._placed([], driver, after=init)
            else:
                body = [*init, "", "", *self._placed([], driver)]
        texts["train.py"] = "\n".join([*imports, "", *self._constants(), "", *self._mapper(), *body, ""])
        return texts

    def _driver_imports(self) -> list[str]:
        lines = ["import ray", self.config_import]
        if self.spelled.place != "imported there":
            lines.append(self.trainer_import)
        if self.means.data != "own" or self.spelled.order != "elsewhere":
            lines.append("from datasets import load_dataset")
        if self.means.mapped:
            names = "BatchMapper, Chain" if self.spelled.preprocessor == "chain" else "BatchMapper"
            lines.append(f"from ray.data.preprocessors import {names}")
        if self.means.tuned:
            lines += TUNERS[self.spelled.tuner][0].split("\n")
        if self.spelled.gpu in ("switch", "argparse"):
            lines.append("import sys" if self.spelled.gpu == "switch" else "import argparse")
        if self.spelled.given == "partial":
            lines.append("import functools")
        if self.means.reads == "model":
            model = ["from transformers import AutoModelForSequenceClassification"]
            lines += model if self.spelled.order == "elsewhere" else []
            own = self.spelled.checkpoint != "bare"
            lines += ["from ray.train.huggingface import TransformersCheckpoint"] if own else []
        return lines

    def _model_imports(self) -> list[str]:
        names = "AutoModelForSequenceClassification, DataCollatorWithPadding, Trainer, TrainingArguments"
        lines = [f"from transformers import {names}"]
        if self.means.data == "own" and self.spelled.order == "elsewhere":
            lines.append("from datasets import load_dataset")
        return lines

    def _constants(self) -> list[str]:
        lines = ["EPOCHS = 99", f"LEARNING_RATE = {self.means.learning_rate}"] if self._uses_constants() else []
        if self.spelled.gpu == "constant":
            lines.append(f"use_gpu = {self.means.gpu}  # change it to use GPUs")
        if self.spelled.gpu == "switch":
            lines.append('use_gpu = "--gpu" in sys.argv')
        if self.spelled.gpu == "argparse":
            lines += ["parser = argparse.ArgumentParser()", 'parser.add_argument("--gpu", action="store_true")']
            lines.append("options = parser.parse_args()")
        if self.spelled.scaling == "helper":
            lines += ["", "", "def scaling(workers, gpu):"]
            lines += [f"    return {self.prefix}ScalingConfig(num_workers=workers, use_gpu=gpu)", ""]
        return lines

    def _uses_constants(self) -> bool:
        return self.spelled.settings == "constants"

    def _mapper(self) -> list[str]:
        if not self.means.mapped:
            return []
        return ["", "def tokenize(batch):", "    return {**batch, 'length': len(batch)}", "", ""]

    def _gpu(self) -> str:
        return {"literal": str(self.means.gpu), "argparse": "options.gpu"}.get(self.spelled.gpu, "use_gpu")

    # The function that makes the Trainer.

    def _init(self) -> list[str]:
        parameters = {
            "usual": "train_dataset, eval_dataset=None, **config",
            "no default": "train_dataset, eval_dataset, **config",
            "annotated": "train_dataset: object, eval_dataset: object = None, **config: object",
            "named": "train_dataset, eval_dataset=None, learning_rate=0.5, epochs=7",
        }[self.spelled.parameters]
        rate, epochs = (
            ("learning_rate", "epochs")
            if self.spelled.parameters == "named"
            else ('config["learning_rate"]', 'config.get("epochs", 7)')
        )
        lines = [f"def {self.function}({parameters}):"]
        train, evaluation = "train_dataset", "eval_dataset"
        if self.means.data == "own":
            lines += ['    own = load_dataset("imdb")']
            train, evaluation = 'own["train"]', 'own["test"]'
        lines += ['    model = AutoModelForSequenceClassification.from_pretrained("bert-base-cased")']
        lines += self._training_arguments(rate, epochs)
        call = self._trainer_call(train, evaluation)
        if self.spelled.returned == "call":
            return [*lines, f"    return {call}"]
        return [*lines, f"    trainer = {call}", "    return trainer"]

    def _training_arguments(self, rate: str, epochs: str) -> list[str]:
        keywords = [f"learning_rate={rate}", f"num_train_epochs={epochs}"]
        if self.means.data != "train":
            keywords.append('evaluation_strategy="epoch"')
        if self.means.save:
            keywords.append(f'save_strategy="{self.means.save}"')
        if self.means.says_cpu:
            elsewhere = self.spelled.order == "elsewhere"
            keywords.append(f"no_cuda={not self.means.gpu if elsewhere else 'not ' + self._gpu()}")
        first = '"out"' if self.spelled.arguments == "positional" else 'output_dir="out"'
        self.arguments = f"TrainingArguments({', '.join([first, *keywords])})"
        if self.spelled.arguments == "unpacked":
            pairs = [f'"{name}": {value}' for name, _, value in (keyword.partition("=") for keyword in keywords)]
            lines = [f"    chosen = {{{', '.join(pairs)}}}", '    args = TrainingArguments("out", **chosen)']
            self.arguments = "args"
            return lines
        if self.spelled.arguments == "inline":
            return []
        if self.spelled.arguments == "helper":
            lines = ["    def make_arguments():", f"        return {self.arguments}", "", "    args = make_arguments()"]
            self.arguments = "args"
            return lines
        lines = [f"    args = {self.arguments}"]
        self.arguments = "args"
        return lines

    def _trainer_call(self, train: str, evaluation: str) -> str:
        keywords = [f"train_dataset={train}"]
        if self.means.data != "train":
            keywords.append(f"eval_dataset={evaluation}")
        if self.means.collator:
            keywords.append('data_collator=DataCollatorWithPadding("tokenizer")')
        first = (
            ["model", self.arguments]
            if self.spelled.arguments == "positional"
            else ["model=model", f"args={self.arguments}"]
        )
        return f"Trainer({', '.join([*first, *keywords])})"

    # What makes and fits the trainer of Ray.

    def _driver(self) -> list[str]:
        lines = self._data()
        keywords = [f"trainer_init_per_worker={self._given()}"]
        lines += self._settings()
        keywords.append(f"trainer_init_config={self.settings}")
        lines += self._scaling()
        keywords.append(f"scaling_config={self.scaling}")
        if self.means.data != "own":
            keywords.append(f"datasets={self.datasets}")
        if self.means.mapped:
            mapper = 'BatchMapper(tokenize, batch_format="pandas")'
            if self.spelled.preprocessor == "chain":
                mapper = f"Chain({mapper})"
            if self.spelled.preprocessor == "variable":
                lines.append(f"preprocessor = {mapper}")
                mapper = "preprocessor"
            keywords.append(f"preprocessor={mapper}")
        lines += self._run_config()
        if self.run:
            keywords.append(f"run_config={self.run}")
        if self.spelled.given == "positional":
            keywords[0] = keywords[0].partition("=")[2]
        call = f"{self.trainer}({', '.join(keywords)})"
        if self.spelled.given == "unpacked":
            lines.append(f"given = dict({', '.join(keywords)})")
            call = f"{self.trainer}(**given)"
        if self.means.tuned:
            return [*lines, *self._tuner(call), *self._reads()]
        if self.spelled.result == "chained":
            return [*lines, f"result = {call}.fit()", *self._reads()]
        return [*lines, f"trainer = {call}", "result = trainer.fit()", *self._reads()]

    def _reads(self) -> list[str]:
        """Lines that print something of the result."""
        if self.means.reads != "model":
            return [f"print(result.{'metrics' if self.means.reads == 'metrics' else 'log_dir'})"]
        lines, checkpoint = [], "result.checkpoint"
        if self.spelled.checkpoint != "bare":
            checkpoint = f"TransformersCheckpoint.from_checkpoint({checkpoint})"
        if self.spelled.checkpoint == "variable":
            lines, checkpoint = [f"checkpoint = {checkpoint}"], "checkpoint"
        return [*lines, f"print({checkpoint}.get_model(AutoModelForSequenceClassification))"]

    def _tuner(self, trainer: str) -> list[str]:
        """Lines that try several learning rates; `result` is the best one."""
        _, tuner, config, search = TUNERS[self.spelled.tuner]
        lines = []
        space = f'{{"trainer_init_config": {{"learning_rate": {search}({list(RATES)})}}}}'
        chosen = f'{config}(metric="loss", mode="min")'
        if self.spelled.result == "named":
            lines, trainer = [f"trainer = {trainer}"], "trainer"
        if self.spelled.tuner_given == "variables":
            lines += [f"param_space = {space}", f"tune_config = {chosen}"]
            space, chosen = "param_space", "tune_config"
        first = trainer if self.spelled.tuner_given == "positional" else f"trainable={trainer}"
        lines.append(f"tuner = {tuner}({first}, param_space={space}, tune_config={chosen})")
        return [*lines, "result = tuner.fit().get_best_result()"]

    def _given(self) -> str:
        if self.spelled.given == "partial":
            return f"functools.partial({self.function})"
        if self.spelled.given == "lambda":
            return f"lambda train, evaluation=None, **config: {self.function}(train, evaluation, **config)"
        return self.function

    def _data(self) -> list[str]:
        if self.means.data == "own":
            return []
        names = {"train": "train", "evaluation": "test"} if self.means.data == "ray" else {"train": "train"}
        lines = ['raw = load_dataset("imdb")']
        lines += [f'{key}_set = ray.data.from_huggingface(raw["{split}"])' for key, split in names.items()]
        pairs = ", ".join(f'"{key}": {key}_set' for key in names)
        self.datasets = f"{{{pairs}}}"
        if self.spelled.datasets == "call":
            self.datasets = f"dict({', '.join(f'{key}={key}_set' for key in names)})"
        if self.spelled.datasets == "variable":
            lines.append(f"ray_datasets = {self.datasets}")
            self.datasets = "ray_datasets"
        if self.spelled.datasets == "pieces":
            lines += ["ray_datasets = {}", *(f'ray_datasets["{key}"] = {key}_set' for key in names)]
            self.datasets = "ray_datasets"
        return lines

    def _settings(self) -> list[str]:
        rate, epochs = self.means.learning_rate, self.means.epochs
        self.settings = "config"
        if self.spelled.settings == "literal":
            self.settings = f'{{"learning_rate": {rate}, "epochs": {epochs}}}'
            return []
        if self.spelled.settings == "call":
            self.settings = f"dict(learning_rate={rate}, epochs={epochs})"
            return []
        if self.spelled.settings == "constants":
            self.settings = f'{{"learning_rate": LEARNING_RATE, "epochs": {epochs}}}'
            return []
        if self.spelled.settings == "pieces":
            return [f'config = {{"learning_rate": {rate}}}', f'config["epochs"] = {epochs}']
        if self.spelled.settings == "copied":
            return [f'base = {{"learning_rate": {rate}, "epochs": 99}}', f'config = {{**base, "epochs": {epochs}}}']
        return [f'config = {{"learning_rate": {rate}, "epochs": {epochs}}}']

    def _scaling(self) -> list[str]:
        keywords = f"num_workers={self.means.workers}, use_gpu={self._gpu()}"
        self.scaling = f"{self.prefix}ScalingConfig({keywords})"
        if self.spelled.scaling == "variable":
            lines = [f"scaling_config = {self.scaling}"]
            self.scaling = "scaling_config"
            return lines
        if self.spelled.scaling == "positional":
            self.scaling = f"{self.prefix}ScalingConfig(None, {self.means.workers}, {self._gpu()})"
        if self.spelled.scaling == "unpacked":
            self.scaling = f"{self.prefix}ScalingConfig(**scaling)"
            return [f"scaling = dict({keywords})"]
        if self.spelled.scaling == "helper":
            self.scaling = f"scaling({self.means.workers}, {self._gpu()})"
        return []

    def _run_config(self) -> list[str]:
        means, prefix = self.means, self.prefix
        keywords = [f'name="{means.name}"'] if means.name else []
        if means.folder:
            keywords.append(f'local_dir="{means.folder}"')
        if means.kept:
            keywords.append(f"checkpoint_config={prefix}CheckpointConfig(num_to_keep={means.kept})")
        if means.resumes:
            keywords.append(f"failure_config={prefix}FailureConfig(max_failures={means.resumes})")
        self.run = f"{prefix}RunConfig({', '.join(keywords)})" if keywords else ""
        if not keywords or self.spelled.run_config == "inline":
            return []
        lines = [f"run_config = {self.run}"]
        self.run = "run_config"
        if self.spelled.run_config == "unpacked":
            lines = [f"run = dict({', '.join(keywords)})"]
            self.run = f"{prefix}RunConfig(**run)"
        if self.spelled.run_config == "pieces":
            pairs = (keyword.partition("=") for keyword in keywords)
            lines = [f"run_config = {prefix}RunConfig()", *(f"run_config.{name} = {value}" for name, _, value in pairs)]
        return lines

    # Where it stands.

    def _placed(self, init: list[str], driver: list[str], after: list[str] | None = None) -> list[str]:
        start = ["", "", 'if __name__ == "__main__":']
        inner = [*init, *([""] if init else []), *driver]
        place = self.spelled.place
        if place == "module":
            return driver
        if place == "imported there":
            place = "main"
            inner = [self.trainer_import, "", *inner]
        if place == "class":
            body = _indented(["def run(self):", *_indented(inner)])
            return ["class Job:", *body, *start, "    Job().run()"]
        if place == "factory" and self.spelled.result == "named" and not self.means.tuned:
            made, after = inner[: inner.index("result = trainer.fit()")], self._reads()
            head = ["def make():", *_indented([*made, "return trainer"])]
            return [*head, *start, *_indented(["result = make().fit()", *after])]
        head = ["def main():", *_indented(inner)]
        head += ["", "", *after] if after else []
        return [*head, *start, "    main()"] if place == "main" else [*head, "", "", "main()"]


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" if line else line for line in lines]
