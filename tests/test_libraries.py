"""The tables of what the libraries offer agree with the installed ones, and converted code uses nothing else."""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from raymigrate.base.findings import Finding, Kind
from raymigrate.documents import open_document
from raymigrate.knowledge.libraries import ANY_KEYWORD, Answer, look_up, member, modules, parameters, takes, version
from raymigrate.knowledge.libraries import LIBRARIES as TABLES
from raymigrate.run.engine import convert
from scripts.installed_names import ask, uses
from scripts.names_in_use import untold
from tests.conftest import FIXTURES, ROOT
from tests.library_contents import contents

CONVERTED = sorted(
    [*FIXTURES.rglob("after.py"), *FIXTURES.rglob("after.ipynb"), *FIXTURES.glob("projects/*/after/**/*.py")]
)

GONE = {
    "ray": "get_webui_url jobs workflow",  # the module is there, and raises when it is imported
    "ray.workflow": "init step",
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
    "ray.train.CheckpointConfig": "checkpoint_frequency checkpoint_at_end _checkpoint_keep_all_ranks",
    "ray.train.FailureConfig": "fail_fast",
    "ray.train.RunConfig": "local_dir sync_config verbose stop progress_reporter log_to_file",
    "ray.train.ScalingConfig": "_max_cpu_fraction_per_node",
    "ray.train.torch.TorchTrainer": "preprocessor",
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


LIBRARIES = ("ray", "transformers", "accelerate", "datasets", "evaluate")
needs_libraries = pytest.mark.skipif(
    any(find_spec(library) is None for library in LIBRARIES), reason="needs the extra raymigrate[verify]"
)


def is_gone(name: str) -> bool:
    return look_up(name).gone is not None


def refused(function: str) -> set[str]:
    """The arguments of the table above that a function does not take."""
    given = parameters(look_up(function))
    assert given is not None
    return {argument for argument in ARGUMENTS_GONE[function].split() if not takes(given, argument)}


@pytest.mark.parametrize("name", qualified(GONE))
def test_what_the_specification_calls_gone_is_not_in_the_tables(name: str) -> None:
    assert is_gone(name)


@pytest.mark.parametrize("name", qualified(STILL_THERE))
def test_what_still_works_is_in_the_tables(name: str) -> None:
    assert not is_gone(name)


def test_what_is_there_only_with_an_optional_library_is_not_called_gone() -> None:
    assert not is_gone("accelerate.utils.DummyOptim")  # deepspeed


@pytest.mark.parametrize("function", ARGUMENTS_GONE)
def test_arguments_that_are_gone_are_not_in_the_tables(function: str) -> None:
    assert refused(function) == set(ARGUMENTS_GONE[function].split())


def test_of_a_library_without_a_table_nothing_is_known() -> None:
    assert look_up("torch.gone.entirely") == Answer()
    assert look_up("ray.dashboard.gone.entirely") == Answer()


def test_names_of_packages_with_a_table_of_their_own() -> None:
    assert look_up("ray.rllib.agents.ppo.PPOTrainer").gone == "ray.rllib.agents"
    assert look_up("ray.rllib.algorithms.ppo.PPOConfig").gone is None
    assert look_up("transformers.models.bert.BertModel").gone is None


def test_the_tables_were_made_from_the_pinned_versions() -> None:
    pins = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line)
    assert {library: version(library) for library in TABLES} == {library: pins[library] for library in TABLES}


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


# Modules that take long to import, or start something; scripts do not import them.
SLOW = re.compile(
    r"transformers\.models\.(?!auto)|ray\.(serve|autoscaler|experimental|_private|dag|job_submission|_common|widgets)"
    r"|.*(_internal|thirdparty|vendored|experimental|convert_|kernels|exporters)"
    # messages made of data, attributes that unittest adds, and what stands in for itself where gradio is missing
    r"|.*(_pb2|testing_utils|_webhooks_server)"
)


@needs_libraries
@pytest.mark.ray
@pytest.mark.parametrize("library", TABLES)
def test_the_tables_hold_all_that_the_installed_library_has(library: str) -> None:
    if find_spec(library) is None:
        pytest.skip(f"{library} is not part of the extra raymigrate[verify]")
    found = contents([module for module in modules(library) if not SLOW.match(module)])
    assert len(found) > 10
    missing, refused, unknown = [], [], []
    for module, what in found.items():
        missing += [f"{module}.{name}" for name in what["names"] if is_gone(f"{module}.{name}")]
        for name, given in what["parameters"].items():
            known = parameters(Answer(place=f"{module}.{name}"))
            if known is not None and ANY_KEYWORD not in known:
                refused += [
                    f"{module}.{name}({p}=)"
                    for p in (["**"] if given is None else given)
                    if not takes(known, p) and p[0] != "_"
                ]
        for kind, members in what["members"].items():
            unknown += [f"{module}.{kind}.{name}" for name in members if member(f"{module}.{kind}", name) is None]
    assert (missing, refused, unknown) == ([], [], [])


@needs_libraries
@pytest.mark.ray
@pytest.mark.parametrize("library", LIBRARIES)
def test_what_is_tested_as_gone_is_gone_from_the_installed_library(library: str) -> None:
    gone = sorted(name for name in qualified(GONE) if name.partition(".")[0] == library)
    still_there = sorted(name for name in qualified(STILL_THERE) if name.partition(".")[0] == library)
    answers = ask([*gone, *still_there], {})
    assert [name for name in gone if answers["names"][name] == "here"] == []
    assert [name for name in still_there if answers["names"][name] == "gone"] == []


def left_to_a_person(path: Path) -> list[Finding]:
    """What the tool says about a converted script: of what it could not convert it has to say so again."""
    return [f for f in convert(module_text(path), str(path)).findings if f.kind is not Kind.CONVERTED]


# Right as they stand: names that the script looks for first or whose error it expects, keywords that a decorator takes,
# an enum's member, configurations for trainers that are gone: the imports of these fail first, and are told.
RIGHT = re.compile(
    r"/(?:guarded_names|expected_errors)/|hf_hub_download\(force_filename=\)|BertConfig\(num_labels=\)|"
    r"IntervalStrategy\(\)\.value|/other_trainers/after\.py:\d+: "
    r"ray\.train\.(?:RunConfig\((?:stop|verbose)=|ScalingConfig\(trainer_resources=)"
)


@needs_libraries
def test_converted_code_uses_what_exists_or_the_tool_says_so() -> None:
    scripts = {path: (module_text(path), left_to_a_person(path)) for path in CONVERTED}
    could_run = {path: found for path, found in scripts.items() if not any(f.code.startswith("RM91") for f in found[1])}
    assert [found for found in untold(could_run) if not RIGHT.search(found)] == []


def test_members_of_an_enum_have_a_name_and_a_value() -> None:
    kind = look_up("transformers.trainer_utils.IntervalStrategy").place
    assert member(kind, "value") is not None
    assert member(kind, "values") is None


def test_a_class_made_from_a_named_tuple_may_have_any_attribute() -> None:
    text = "import ray\nfrom ray.tune.resources import Resources\n\nprint(Resources(cpu=1).extra_cpu)\n"
    assert [finding for finding in convert(text).findings if "extra_cpu" in finding.message] == []


def test_what_the_setter_of_a_property_stores_is_known() -> None:
    assert member(look_up("huggingface_hub.DatasetCard").place, "data") is not None


def test_messages_of_protocol_buffers_are_not_judged() -> None:
    assert look_up("ray.serve.generated.serve_pb2.ASGIRequest").gone is None
