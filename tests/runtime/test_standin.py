"""The stand-in for the old trainers: old names at old paths, old arguments, old checkpoints, on current Ray.

It changes Ray's modules, so that everything runs in processes of its own.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.ray  # processes that import all of Ray and transformers

INJECT = Path(__file__).parents[2] / "raymigrate" / "runtime" / "inject"
SCRIPTS = Path(__file__).with_name("standin_scripts")  # their sitecustomize stands for that of verify


def run(script: str, folder: Path, **variables: str) -> dict[str, Any]:
    """Runs one of SCRIPTS under the stand-in.

    Returns:
        What it collected in its dict `results`.
    """
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join((str(SCRIPTS), str(INJECT))),
        "HOME": str(folder),
        "CUDA_VISIBLE_DEVICES": "",
        **variables,
    }
    command = [sys.executable, str(SCRIPTS / f"{script}.py")]
    done = subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-6000:]
    line = next(line for line in done.stdout.splitlines() if line.startswith("RESULTS "))
    loaded: dict[str, Any] = json.loads(line.removeprefix("RESULTS "))
    return loaded


def test_it_starts_without_anything_heavy(tmp_path: Path) -> None:
    assert run("start", tmp_path) == {"loaded": []}


def test_old_names_are_importable_and_others_are_refused(tmp_path: Path) -> None:
    results = run("imports", tmp_path)
    assert all(results["same"]), results["same"]
    assert results["rank"] == [0, 1, None]  # outside of a worker, as it was
    for refused in results["refused"]:
        assert "--arms A,O" in refused, refused
    assert results["unknown"].startswith("ImportError: cannot import name 'NoSuchTrainer'")
    assert results["unknown module"].startswith("ModuleNotFoundError: No module named")


def test_old_arguments_are_translated_or_refused(tmp_path: Path) -> None:
    results = run("configs", tmp_path)
    assert results["classes"] == [True, True]
    assert results["run"] == [True, str(tmp_path / "results" / "job"), [], 2]
    assert results["checkpoints"] == [1, "eval_loss", "min"]
    assert results["job"] == ["job", {"CPU": 0}, {"training_iteration": 3}]
    assert results["workers"] == 2
    assert results["current"] == [3, str(tmp_path / "here" / "job"), "job"]
    assert results["synced"] == "file:///bucket/experiment"
    assert results["evaluation is split"] is False
    assert results["called with"] == {"lr": 2}  # though the parameter has a default
    assert results["split"] == [["train"], ["evaluation"], ["train"], ["train"]]
    assert results["splits"] == [["train"], ["train"], "all", "all", ["train"]]  # the last has a preprocessor
    assert results["averaged"] is False
    assert results["searched"] == {"grid_search": [1, 2]}
    assert results["searched of ray.train"]

    refused = results["refused"]
    beginnings = {
        "arity": "ValueError: trainer_init_per_worker should take in at least 3 arguments, but it accepts 2",
        "reserved": "ValueError: '_trainer_init_per_worker' is a reserved key",
        "gpus": "ValueError: You have assigned 2 GPUs per worker.",
        "dataset": "ValueError: The Dataset under 'train' key is not a `ray.data.Dataset`.",
        "loop": "ValueError: train_loop_per_worker should take in 0 or 1 arguments",
        "accelerate": "TypeError: ClusterConfig.__init__() got an unexpected keyword argument 'split_batches'",
        "stream": "DeprecationWarning: DatasetConfig.use_stream_api and DatasetConfig.stream_window_size have",
        "stopper": "NotImplementedError: RunConfig(stop=) with a function",
        "restore": "NotImplementedError: TransformersTrainer.restore() is not known",
        "hook": "NotImplementedError: A subclass of the old trainers with its own training_loop() is not known",
    }
    assert refused.keys() == beginnings.keys()
    for name, beginning in beginnings.items():
        assert refused[name].startswith(beginning), refused[name]


@pytest.mark.minutes
def test_a_tuner_takes_a_trainer_and_returns_old_checkpoints(tmp_path: Path) -> None:
    results = run("tuner", tmp_path)
    of_trainer, of_function = results["trainer"], results["function"]
    assert of_trainer["trials"] == of_function["trials"] == 2
    assert of_trainer["config"] == {"train_loop_config": {"lr": 1}}
    assert (of_trainer["loss"], of_trainer["reports"]) == (8, 3)  # stop= ends it
    assert of_trainer["checkpoint"] == {"rate": 10}
    assert sorted(found["rate"] for found in of_trainer["others"]) == [10, 20]
    assert (of_function["loss"], of_function["checkpoint"]) == (3, {"lr": 3})
    for found in (of_trainer, of_function):
        assert found["logs"]
        assert not found["path in metrics"]
    assert results["of ray.train"] == [True, "train"]
    assert results["keywords"] == [0.5, 2, True]
    assert sorted(results["workers"]) == [1, 2]  # a ScalingConfig in the search space
    assert results["experiment"] == "functions"
    assert results["trial"]
    assert "Tuner.restore() with a trainer is not known" in results["restore"]


def test_predictors_predict_what_they_are_given(tmp_path: Path) -> None:
    results = run("predictors", tmp_path)
    assert results["frames"] == [9, 11]
    assert results["arrays"] == [60, 120]  # the preprocessor adds one to x
    assert results["arrays of a predictor of frames"] == [50, 70]
    assert results["function"] == [2, 4]
    assert results["pipeline"] == {"label": ["a", "b"], "top_k": [1, 1]}
    assert results["no task"].startswith("If `pipeline_cls` is not specified")
    assert results["batches"] == [{"sum": [40, 60], "y": [3, 4]}, "pandas", 4096, 1]


def test_a_checkpoint_gives_back_what_was_put_in(tmp_path: Path) -> None:
    results = run("checkpoints", tmp_path)
    assert results.pop("files") == ["dict_checkpoint.pkl"]
    assert "--arms A,O" in results.pop("folder")
    assert results.pop("arguments") is None
    assert results and all(results.values()), results


def test_classes_of_the_script_do_what_they_did(tmp_path: Path) -> None:
    results = run("own_classes", tmp_path)
    assert results["own"] == [None, {"0": "a", "1": "b"}, "FITTED"]
    assert results["stateless"] is True
    assert results["of Ray"] == [True, {"mean(x)": 2.0}]
    assert results["model"] == results["wrapped model"] == ["Net", True]


@pytest.fixture
def accelerate_environment(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(INJECT))
    import raymigrate_standin.accelerate_environment as module  # noqa: PLC0415 - found since the line above

    return module


def test_accelerate_config_becomes_environment_variables(accelerate_environment: Any, tmp_path: Path) -> None:
    read, environment = accelerate_environment.read_config, accelerate_environment.environment
    on_cpu = environment(read({"mixed_precision": "bf16", "distributed_type": "FSDP"}), use_gpu=False)
    assert on_cpu["ACCELERATE_USE_CPU"] == "true"
    assert on_cpu["ACCELERATE_MIXED_PRECISION"] == "bf16"
    assert on_cpu["ACCELERATE_DYNAMO_BACKEND"] == "NO"
    assert not any(name.startswith("FSDP") for name in on_cpu)

    section = {"sharding_strategy": 2, "fsdp_min_num_params": 1e8, "fsdp_backward_prefetch_policy": "NO_PREFETCH"}
    sharded = environment(read({"distributed_type": "FSDP", "fsdp_config": section}), use_gpu=True)
    assert sharded["ACCELERATE_USE_FSDP"] == "true"
    assert sharded["FSDP_SHARDING_STRATEGY"] == "2"
    assert sharded["FSDP_MIN_NUM_PARAMS"] == "100000000"
    assert sharded["FSDP_BACKWARD_PREFETCH"] == "NO_PREFETCH"

    path = tmp_path / "config.yaml"
    path.write_text(
        "distributed_type: DEEPSPEED\nmixed_precision: fp16\ngpu_ids: '0,1'\n"
        "deepspeed_config: {zero_stage: 3, gradient_accumulation_steps: 4, zero3_init_flag: true}\n",
        encoding="utf-8",
    )
    speedy = environment(read(path), use_gpu=True)
    assert speedy["ACCELERATE_DEEPSPEED_ZERO_STAGE"] == "3"
    assert speedy["ACCELERATE_GRADIENT_ACCUMULATION_STEPS"] == "4"
    assert speedy["ACCELERATE_DEEPSPEED_ZERO3_INIT"] == "true"
    assert "mixed_precision" in speedy["ACCELERATE_CONFIG_DS_FIELDS"]
    assert "CUDA_VISIBLE_DEVICES" not in speedy

    path.write_text("split_batches: true\n", encoding="utf-8")
    with pytest.raises(ValueError, match="unknown keys"):
        read(str(path))
    with pytest.raises(NotImplementedError):
        environment(read({"distributed_type": "TPU"}), use_gpu=True)


def test_datasets_are_prepared_as_they_were(tmp_path: Path) -> None:
    results = run("ingest", tmp_path)
    once = ["scaled", "materialize"]
    assert results["nothing"] == [{"train": [], "valid": [], "raw": []}, []]
    assert results["scaled"] == [dict.fromkeys(("train", "valid", "raw"), once), ["train"]]
    told, _ = results["told"]
    assert told["train"] == [*once, "cropped", "random_shuffle"]  # the last two in each pass
    assert told["valid"] == ["randomize_block_order", "materialize", *once]
    assert told["raw"] == []  # what is said of a dataset stands alone, without "*"
    assert results["fitted elsewhere"] == ["valid"]
    contradiction, two, missing = results["refused"]
    assert contradiction.startswith("ValueError: Error configuring dataset `train`")
    assert two.startswith("ValueError: More than one dataset was specified to be fit")
    assert missing.startswith("ValueError: The required dataset `test` was not found")
    assert results["streams"] == [
        "NotImplementedError: DatasetConfig(use_stream_api=True) is not known to raymigrate's stand-in for the old "
        "trainers (arm B); `raymigrate verify --arms A,O` runs the script on the old Ray itself.",
        None,
    ]


def test_ray_data_answers_as_it_did(tmp_path: Path) -> None:
    results = run("data", tmp_path, RAYMIGRATE_STANDIN="2.6")
    assert results["dict"] == {"train": [1, {"concurrency": 3}], "test": [2, {"concurrency": 3}]}
    assert results["split"] == [1, {}]
    assert results["gone"] == ["materialized", True]
    assert results["batches"] == {"zero_copy_batch": False, "batch_size": 1024}
    assert results["own"] == {"batch_format": "numpy", "batch_size": 2, "zero_copy_batch": True}
    assert results["iterated"] == [{"batch_size": 3}, {"label": "y"}]
    assert results["of Ray"] == {}


def test_batches_were_data_frames_until_ray_2_3(tmp_path: Path) -> None:
    results = run("data", tmp_path, RAYMIGRATE_STANDIN="2.3")
    assert (
        results["batches"]
        == results["default"]
        == {
            "zero_copy_batch": False,
            "batch_format": "pandas",
            "batch_size": 4096,
        }
    )
    assert results["own"]["batch_format"] == "numpy"
    assert results["of Ray"] == {}


def test_rows_are_batched_as_they_were(tmp_path: Path) -> None:
    results = run("rows", tmp_path)
    assert results["kinds"] == [True, True]
    assert results["row"] == ["torch.float32", "torch.int64", "0"]
    assert results["length"] == 5
    assert results["train"] == [[0, 1], [2, 3], [4]]
    assert results["evaluation"] == [[0, 1], [2, 3], [4]]
    assert results["two workers"] == [[0, 1], [2, 3], [4, 0]]  # completed with the first rows
    assert results["fine"] is None
    assert results["strategies"].startswith("When using Ray AIR")
    assert results["steps"].startswith("When using 'steps' `save_strategy`")
    assert results["eval"].startswith("`logging_steps` must be equal to `eval_steps`")


def test_a_job_runs_as_on_the_old_ray(tmp_path: Path) -> None:
    results = run("job", tmp_path, RAY_OVERRIDE_RESOURCES='{"CPU": 8}', OMP_NUM_THREADS="1")
    metrics = results["metrics"]
    assert len(metrics["rows"]) == 2  # its share; the odd row is left out
    assert set(metrics["rows"]) < {0, 10, 20, 30, 40}
    assert sorted(metrics["evaluation"]) == [0, 10, 20]  # all of them
    assert metrics["wrapped"] == "DistributedDataParallel"
    assert metrics["experiment"] == "job"
    assert metrics["bundles"][-1] == {"CPU": 1}
    assert metrics["training_iteration"] == results["reports"] == 4
    assert results["checkpoint"] == {"step": 1, "rank": 0}
    assert results["mapped"] == [10]
    assert results["folder"].startswith(str(tmp_path / "results" / "job" / "AccelerateTrainer_"))
