"""The table of names that are gone agrees with the installed libraries, and converted code uses none of them."""

from collections import defaultdict
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from raymigrate.documents import open_document
from raymigrate.engine import convert
from raymigrate.findings import Finding, Kind
from raymigrate.removed_names import load
from scripts.library_sources import Library
from tests.conftest import FIXTURES, ROOT
from tests.imported_names import LIBRARIES, Answers, Use, ask, uses

CONVERTED = sorted(
    [*FIXTURES.rglob("after.py"), *FIXTURES.rglob("after.ipynb"), *FIXTURES.glob("projects/*/after/**/*.py")]
)

GONE = {
    "ray.train.huggingface": """
        HuggingFaceTrainer HuggingFaceCheckpoint HuggingFacePredictor huggingface_predictor
        TransformersTrainer TransformersCheckpoint TransformersPredictor LegacyTransformersCheckpoint
        AccelerateTrainer""",
    "ray.train.huggingface.huggingface_trainer": "HuggingFaceTrainer",
    "ray.train.huggingface.huggingface_checkpoint": "HuggingFaceCheckpoint",
    "ray.train.huggingface.transformers": "TransformersTrainer TransformersCheckpoint TransformersPredictor",
    "ray.train.huggingface.transformers.transformers_trainer": "TransformersTrainer",
    "ray.train.huggingface.accelerate": "AccelerateTrainer",
    "ray.train.huggingface.accelerate.accelerate_trainer": "AccelerateTrainer",
    "ray.train.batch_predictor": "BatchPredictor",
    "ray.train.predictor": "Predictor",
    "ray.train.torch": "TorchPredictor",
    "ray.train": "Trainer load_checkpoint save_checkpoint world_rank",
    "ray.train.session": "report",
    "ray.air": "Checkpoint DatasetConfig",
    "ray.air.Checkpoint": "from_dict",
    "ray.air.checkpoint": "Checkpoint",
    "ray.air.config": "DatasetConfig",
    "ray.air.callbacks.wandb": "WandbLoggerCallback",
    "ray.air.callbacks.mlflow": "MLflowLoggerCallback",
    "ray.air.util": "check_ingest torch_dist",
    "ray.data": "DatasetPipeline",
    "ray.data.preprocessors": "BatchMapper",
    "ray.ml.preprocessors": "BatchMapper",
    "ray.tune.integration": "wandb",
    "transformers": """
        AdamW AutoModelWithLMHead AutoModelForVision2Seq ViTFeatureExtractor DataCollatorForWholeWordMask
        TextDataset LineByLineTextDataset glue_compute_metrics TFAutoModel FlaxAutoModel TFTrainer
        modeling_tf_utils onnx is_torch_tpu_available Conversation""",
    "transformers.optimization": "AdamW",
    "transformers.deepspeed": "HfDeepSpeedConfig",
    "transformers.trainer_utils": "EvaluationStrategy",
    "transformers.utils": "send_example_telemetry",
    "transformers.models.bert.tokenization_bert_fast": "BertTokenizerFast",
    "datasets": "load_metric list_metrics inspect_metric Metric list_datasets set_caching_enabled GenerateMode",
    "datasets.load": "load_metric init_dynamic_modules",
    "datasets.metric": "Metric",
    "datasets.tasks": "TextClassification",
}

STILL_THERE = {
    "ray": "init air",
    "ray.air": "session RunConfig",
    "ray.air.session": "report",
    "ray.air.config": "ScalingConfig",
    "ray.air.integrations.wandb": "WandbLoggerCallback",
    "ray.train": """
        report get_checkpoint get_context get_dataset_shard Checkpoint DataConfig Result RunConfig SyncConfig
        UserCallback huggingface""",
    "ray.train.constants": "TRAIN_DATASET_KEY",
    "ray.train.lightning": "RayTrainReportCallback",
    "ray.train.torch": "TorchTrainer TorchConfig prepare_model",
    "ray.train.huggingface": "transformers",
    "ray.train.huggingface.transformers": "prepare_trainer RayTrainReportCallback",
    "ray.train.xgboost": "XGBoostTrainer",
    "ray.data": "Dataset DatasetIterator",
    "ray.data.preprocessors": "Chain",
    "ray.tune": "Tuner",
    "transformers": """
        Trainer TrainingArguments Seq2SeqTrainer Adafactor BertTokenizerFast CLIPImageProcessor
        get_linear_schedule_with_warmup default_data_collator""",
    "transformers.trainer": "IterableDatasetShard",
    "transformers.trainer_utils": "IntervalStrategy",
    "transformers.integrations.deepspeed": "HfDeepSpeedConfig",
    "datasets": "load_dataset Dataset",
    "accelerate": "Accelerator",
    "accelerate.utils": "set_seed",
    "evaluate": "load",
    "somebody.elses": "AccelerateTrainer",
}

ARGUMENTS_GONE = {
    "accelerate.Accelerator": "fp16 logging_dir dispatch_batches even_batches use_seedable_sampler",
    "datasets.load_dataset": "use_auth_token ignore_verifications task trust_remote_code",
    "ray.train.CheckpointConfig": "checkpoint_frequency checkpoint_at_end _checkpoint_keep_all_ranks",
    "ray.train.FailureConfig": "fail_fast",
    "ray.train.RunConfig": "local_dir sync_config verbose stop progress_reporter log_to_file",
    "ray.train.ScalingConfig": "trainer_resources _max_cpu_fraction_per_node",
    "ray.train.torch.TorchTrainer": "preprocessor metadata resume_from_checkpoint",
    "transformers.Trainer": "tokenizer",
    "transformers.Seq2SeqTrainer": "tokenizer",
    "transformers.Seq2SeqTrainingArguments": "evaluation_strategy",
    "transformers.TrainingArguments": """
        evaluation_strategy no_cuda use_mps_device jit_mode_eval use_ipex tpu_num_cores tpu_metrics_debug mp_parameters
        past_index use_legacy_prediction_loop adafactor fp16_opt_level fp16_backend half_precision_backend sharded_ddp
        fsdp_min_num_params fsdp_transformer_layer_cls_to_wrap xpu_backend torchdynamo ray_scope group_by_length
        include_inputs_for_metrics include_tokens_per_second logging_dir overwrite_output_dir per_gpu_train_batch_size
        per_gpu_eval_batch_size push_to_hub_model_id push_to_hub_organization push_to_hub_token save_safetensors
        warmup_ratio dispatch_batches split_batches""",
}


def module_text(path: Path) -> str:
    """The Python of a script or notebook."""
    return open_document(path.read_bytes(), str(path)).text


def qualified(table: dict[str, str]) -> list[str]:
    """The names of one of the tables above."""
    return [f"{module}.{name}" for module, names in table.items() for name in names.split()]


needs_libraries = pytest.mark.skipif(
    any(find_spec(library) is None for library in LIBRARIES), reason="needs the extra raymigrate[verify]"
)


@pytest.mark.parametrize("name", qualified(GONE))
def test_what_the_specification_calls_gone_is_in_the_table(name: str) -> None:
    assert load().is_removed(name)


@pytest.mark.parametrize("name", qualified(STILL_THERE))
def test_what_still_works_is_not_in_the_table(name: str) -> None:
    assert not load().is_removed(name)


def test_what_is_there_only_with_an_optional_library_is_not_called_gone() -> None:
    assert not load().is_removed("accelerate.utils.DummyOptim")  # deepspeed


@pytest.mark.parametrize("function", ARGUMENTS_GONE)
def test_arguments_that_are_gone_are_in_the_table(function: str) -> None:
    assert set(ARGUMENTS_GONE[function].split()) <= load().removed_arguments(function)


def test_a_function_without_an_entry_has_lost_no_argument() -> None:
    assert load().removed_arguments("evaluate.load") == frozenset()


@cache
def sources(library: str) -> Library:
    spec = find_spec(library)
    assert spec is not None and spec.origin is not None
    return Library(Path(spec.origin).parent)


def is_optional(name: str) -> bool:
    """Whether the source of a library binds a name, though it may lack here what that needs."""
    module, _, leaf = name.rpartition(".")
    return leaf in sources(name.partition(".")[0]).may_offer(module)


def test_the_table_was_made_from_the_pinned_versions() -> None:
    pins = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line)
    assert {library: pins[library] for library in LIBRARIES} == load().versions


def test_names_are_found_as_python_would_resolve_them() -> None:
    script = """
import ray.air as air, ray.tune
from ray.train import report as tell
from elsewhere import Trainer
try:
    from datasets import new
except ImportError:
    from datasets import old as new

def loop(tell, ray):
    tell(1)
    ray.tune.run()
    air.session.report({}, checkpoint=None)

lambda: tell(new=2)
Trainer(new)
"""
    assert {(use.name, use.keywords) for use in uses(script) if not use.is_import} == {
        ("ray.air", ()),
        ("ray.air.session", ()),
        ("ray.air.session.report", ()),
        ("ray.air.session.report", ("checkpoint",)),
        ("ray.train.report", ()),
        ("ray.train.report", ("new",)),
        ("datasets.new", ()),
    }
    assert {use.name for use in uses(script) if use.is_import} == {
        "ray.air",
        "ray.tune",
        "ray.train.report",
        "datasets.new",
    }


@needs_libraries
@pytest.mark.ray
@pytest.mark.parametrize("library", LIBRARIES)
def test_everything_in_the_table_is_gone_from_the_installed_library(library: str) -> None:
    table = load()
    names = sorted(name for name in table.names | table.modules if name.partition(".")[0] == library)
    lost = {name: sorted(found) for name, found in table.arguments.items() if name.partition(".")[0] == library}
    still_there = sorted(name for name in qualified(STILL_THERE) if name.partition(".")[0] == library)
    answers = ask([*names, *still_there], lost)

    assert [name for name in names if answers["names"][name] == "here"] == []
    assert [name for name in names if answers["names"][name] == "unknown" and is_optional(name)] == []
    for name, arguments in lost.items():
        told = answers["arguments"][name]
        assert [a for a in arguments if a in told["parameters"] and a not in told["raises"]] == [], name
    assert [name for name in still_there if answers["names"][name] == "gone"] == []


def case_name(path: Path) -> str:
    return str(path.relative_to(FIXTURES).with_suffix(""))


def left_to_a_person(path: Path) -> list[Finding]:
    """What the tool says about a converted script: of what it could not convert it has to say so again."""
    return [f for f in convert(module_text(path), str(path)).findings if f.kind is not Kind.CONVERTED]


def is_of_import(use: Use, other: Use) -> bool:
    """Whether a use is of what the other imports: it is enough that the tool says something about one of the two."""
    return other.is_import and f"{use.name}.".startswith(f"{other.name}.")


def wrong_names(found: list[Use], installed: Answers) -> set[Use]:
    """The uses of names that are gone."""
    return {use for use in found if installed["names"][use.name] == "gone" and not is_optional(use.name)}


def wrong_keywords(found: list[Use], installed: Answers) -> set[tuple[Use, str]]:
    """The keywords that a callable does not take, or takes only to raise."""
    wrong = set()
    for use in found:
        for keyword in use.keywords:
            told = installed["arguments"][use.name]
            lost = keyword in told["raises"] or keyword in load().removed_arguments(use.name)
            if lost or not (keyword in told["parameters"] or told["takes any"]):
                wrong.add((use, keyword))
    return wrong


@pytest.fixture(scope="module")
def installed() -> Answers:
    """What the installed libraries say about every name and keyword in the converted fixtures."""
    keywords: dict[str, set[str]] = defaultdict(set)
    for path in CONVERTED:
        for use in uses(module_text(path)):
            keywords[use.name].update(use.keywords)
    return ask(sorted(keywords), {name: sorted(given) for name, given in keywords.items() if given})


@needs_libraries
@pytest.mark.ray
@pytest.mark.xdist_group("removed names")  # they share what the installed libraries say
@pytest.mark.parametrize("path", CONVERTED, ids=case_name)
def test_converted_code_uses_what_exists_or_the_tool_says_so(path: Path, installed: Answers) -> None:
    findings = left_to_a_person(path)
    if any(finding.code.startswith("RM91") for finding in findings):
        pytest.skip("this script could never have run, and is left as it was")
    found = uses(module_text(path))
    flagged = {finding.line for finding in findings}
    said = [use for use in found if use.line in flagged]
    assert (
        sorted(
            f"{use.line}: {use.name}"
            for use in wrong_names(found, installed)
            if use not in said and not any(is_of_import(use, other) or is_of_import(other, use) for other in said)
        )
        == []
    )
    assert [
        f"{use.line}: {use.name}({keyword}=)"
        for use, keyword in wrong_keywords(found, installed)
        if not any(keyword in finding.message for finding in findings)
    ] == []
