"""Legacy code, by the rule that `raymigrate explain` has to name for what the current libraries say of it.

Run as a script it makes the libraries say it, all in one process and without a cluster, and prints the texts as JSON.
"""

import contextlib
import io
import json
import linecache
import os
import sys
import tempfile
import traceback
import warnings
from pathlib import Path

PRELUDE = """
import os
import sys

import accelerate
import datasets
import ray.air
import ray.data
import ray.train
import ray.train.huggingface
import ray.tune
import torch
import transformers
from ray.train.torch import TorchTrainer

HERE = os.getcwd()


def loop(config):
    pass


def run(function, **arguments):
    '''Runs a training function in this process.'''
    TorchTrainer(function, scaling_config=ray.train.ScalingConfig(num_workers=0), **arguments).fit()


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)

    def forward(self, x, labels=None):
        return {"loss": ((self.layer(x) - labels) ** 2).mean()}


class Endless(torch.utils.data.IterableDataset):
    def __iter__(self):
        yield from ROWS


def arguments(**given):
    return transformers.TrainingArguments(HERE, use_cpu=True, report_to="none", max_steps=1, **given)


ROWS = [{"x": torch.ones(1), "labels": torch.ones(1)}] * 2
"""

READ_FILE = """
import json
from accelerate.commands.config.config_args import load_config_from_file
with open("config.json", "w") as file:
    json.dump({config}, file)
load_config_from_file("config.json")
"""
LAUNCH = """
import json
from accelerate.commands.launch import launch_command, launch_command_parser
with open("config.json", "w") as file:
    json.dump({config}, file)
launch_command(launch_command_parser().parse_args(["--config_file", "config.json", "train.py"]))
"""
IN_GROUP = """
import torch.distributed
join = lambda: torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
join()
try:
    {}
finally:
    torch.distributed.destroy_process_group()
"""
TWO_LAYERS = """
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.ModuleDict({'a': Model(), 'b': Model()}))
    model.module.forward = lambda rows: model.module['a'](**rows)['loss']
    for _ in range(2):
        model(ROWS[0]).backward()
"""
BERT = """
import io
sizes = dict(hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8, vocab_size=8)
model = transformers.BertModel(transformers.BertConfig(**sizes))
model(torch.tensor([[1]]), output_hidden_states=True)
"""
ARROW_FRAME = """
import pyarrow
from ray.data.block import BlockAccessor
frame = BlockAccessor.for_block(pyarrow.table({"n": [1, 2], "x": [0.5, 1.0], "t": ["a", "b"]})).to_pandas()
"""
SNIPPETS = {
    "RM101": [
        "from ray.train.huggingface import TransformersTrainer",
        "from ray.train.huggingface import HuggingFaceTrainer",
        "from ray.train.huggingface.transformers import TransformersTrainer",
        "from ray.train.huggingface.huggingface_trainer import HuggingFaceTrainer",
        "from ray.train.huggingface.transformers.transformers_trainer import TransformersTrainer",
        "from ray.ml.train.integrations.huggingface import HuggingFaceTrainer",
        "ray.train.huggingface.TransformersTrainer(trainer_init_per_worker=loop)",
        "TorchTrainer(trainer_init_per_worker=loop)",
        "TorchTrainer(loop, trainer_init_config={})",
    ],
    "RM103": ["TorchTrainer.restore(HERE)", "TorchTrainer.can_restore(HERE)", "TorchTrainer(loop).as_trainable()"],
    "RM107": [
        "given = transformers.TrainingArguments(HERE, use_cpu=True)\n"
        "transformers.Trainer(Model(), given, train_dataset=Endless()).train()"
    ],
    "RM108": [
        "def loop():\n    ray.train.get_dataset_shard('evaluation')\nrun(loop)",
        """
from ray.train.v2._internal.callbacks.datasets import DatasetShardMetadata, RayDatasetShardProvider
provider = RayDatasetShardProvider.__new__(RayDatasetShardProvider)
provider._dataset_names = {"train", "validation"}
provider.get_dataset_shard(DatasetShardMetadata("evaluation", 0))
""",
    ],
    "RM201": [
        "from ray.train.huggingface import AccelerateTrainer",
        "from ray.train.huggingface.accelerate import AccelerateTrainer",
    ],
    "RM202": ["TorchTrainer(loop, accelerate_config={})"],
    "RM204": [
        "def loop(config=None):\n    lr = config['lr']\nrun(loop, train_loop_config={'lr': 1})",
        "def loop(config=None):\n    lr = config.get('lr')\nrun(loop, train_loop_config={'lr': 1})",
    ],
    "RM301": [
        "TorchTrainer(loop, run_config=ray.air.RunConfig())",
        "TorchTrainer(loop, scaling_config=ray.air.ScalingConfig(num_workers=1))",
        "ray.train.RunConfig(checkpoint_config=ray.air.CheckpointConfig())",
        "ray.train.RunConfig(failure_config=ray.air.config.FailureConfig())",
        "TorchTrainer(loop, run_config=ray.tune.RunConfig())",
        "from ray.air import Checkpoint",
        "from ray.air.config import Checkpoint",
        "from ray.air.checkpoint import Checkpoint",
        "ray.air.Checkpoint('folder')",
    ],
    "RM302": [
        "from ray.air import session\ndef loop():\n    session.report({})\nrun(loop)",
        "from ray.air import session\ndef loop():\n    session.get_world_rank()\nrun(loop)",
        "from ray.air import session\ndef loop():\n    session.get_dataset_shard('train')\nrun(loop)",
        # In a process that is no worker, which an earlier snippet may have made of this one.
        "from ray.train.v2._internal.execution.train_fn_utils import set_train_fn_utils\n"
        "set_train_fn_utils(None)\nray.train.torch.get_device()",
    ],
    "RM303": ["ray.train.Checkpoint.from_dict({})"],
    "RM304": ["ray.train.Checkpoint(HERE).to_dict()"],
    "RM305": [
        "from ray.air import session\ndef loop():\n    session.get_trial_id()\nrun(loop)",
        "def loop():\n    ray.train.get_context().get_trial_name()\nrun(loop)",
        "def loop():\n    ray.train.get_context().get_trial_dir()\nrun(loop)",
        "def loop():\n    ray.train.get_context().get_trial_resources()\nrun(loop)",
    ],
    "RM306": [
        "from ray.air import session\ndef loop():\n"
        "    os.environ['OMP_NUM_THREADS'] = str(session.get_trial_resources().bundles[-1].get('CPU', 1))\nrun(loop)"
    ],
    "RM307": [
        "from ray.air import DatasetConfig",
        "from ray.air.config import DatasetConfig",
        "from ray.air.callbacks.wandb import WandbLoggerCallback",
        "from ray.air.util.check_ingest import make_local_dataset_iterator",
    ],
    "RM308": [
        "ray.train.Checkpoint.from_uri('s3://bucket/run')",
        "ray.train.Checkpoint.from_bytes(b'')",
        "ray.train.Checkpoint.from_object_ref(None)",
        "ray.train.Checkpoint(HERE).get_preprocessor()",
    ],
    "RM310": [
        "class Net(torch.nn.Module):\n    pass\nNet.__module__ = '__main__'\n"  # as a worker has it
        "ray.train.torch.TorchCheckpoint.from_model(Net())",
    ],
    "RM401": [
        "ray.train.RunConfig(verbose=1)",
        "ray.train.RunConfig(log_to_file=True)",
        "ray.train.RunConfig(progress_reporter=None)",
        "ray.train.ScalingConfig(trainer_resources={'CPU': 0})",
        "ray.train.ScalingConfig(_max_cpu_fraction_per_node=0.8)",
        "ray.train.CheckpointConfig(checkpoint_frequency=0)",
        "ray.train.CheckpointConfig(checkpoint_at_end=False)",
        "ray.train.CheckpointConfig(_checkpoint_keep_all_ranks=True)",
        "ray.train.CheckpointConfig(_checkpoint_upload_from_workers=True)",
        "ray.train.FailureConfig(fail_fast=True)",
    ],
    "RM402": [
        "ray.train.RunConfig(local_dir='results')",
        "ray.train.RunConfig(sync_config=ray.tune.SyncConfig())",
        "ray.tune.SyncConfig(syncer=None)",
        "ray.tune.SyncConfig(upload_dir='s3://bucket')",
        "ray.tune.SyncConfig(sync_on_checkpoint=False)",
        *(
            "from unittest import mock\n"
            f"with mock.patch.dict(os.environ, {name}=HERE, TUNE_DISABLE_AUTO_INIT='1'):\n    ray.tune.run(loop)"
            for name in ("TUNE_RESULT_DIR", "RAY_AIR_LOCAL_CACHE_DIR")
        ),
        "import pyarrow.fs\npyarrow.fs.FileSystem.from_uri('results')",
    ],
    "RM403": ["TorchTrainer(loop, metadata={'a': 1})", "TorchTrainer(loop, resume_from_checkpoint=object())"],
    "RM404": ["ray.train.RunConfig(stop={'training_iteration': 1})"],
    "RM408": ["ray.train.RunConfig(callbacks=[ray.tune.Callback()])"],
    "RM607": ["ray.train.Checkpoint(HERE).uri"],
    "RM405": ["ray.tune.Tuner(TorchTrainer(loop)).fit()"],
    "RM417": [
        "from ray.train.v2._internal.execution import storage\n"
        "seen = storage.StorageContext(os.path.join(HERE, 'of_the_head_node'), 'run')\n"
        "seen.storage_filesystem.delete_dir(seen.experiment_fs_path)\n"
        "seen._check_validation_file()",
    ],
    "RM418": [
        "from ray import cloudpickle; cloudpickle.dumps(torch.backends)",
        "from ray import cloudpickle; cloudpickle.dumps(torch.backends.cudnn)",
        "from ray import cloudpickle; import torch.distributed.config as module; cloudpickle.dumps(module)",
        "from ray import cloudpickle; cloudpickle.dumps(open('lines.log', 'a'))  # what loguru's logger holds",
    ],
    "RM429": [
        f"{BERT}\nfrom ray import cloudpickle; cloudpickle.dumps(model)",
        f"{BERT}\ntorch.save(model, io.BytesIO())",
        "linear = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 2))\ntorch.save(linear, 'x')",
    ],
    "RM423": [
        "from ray.train.v2._internal.execution.context import TrainContext\n"
        "TrainContext.report(None, {'loss': torch.ones(1)})",
    ],
    "RM425": ["from ray.util.spark import setup_ray_cluster; setup_ray_cluster(num_worker_nodes=1)"],
    "RM697": ["ray.train.torch.accelerate()", "ray.init(local_mode=True)"],
    "RM426": ["from ray.train.torch.torch_trainer import TorchTrainer as Inner; Inner(loop)"],
    "RM501": ["from ray.data.preprocessors import BatchMapper"],
    "RM422": ["TorchTrainer(loop, scaling_config={'num_workers': 2})", "TorchTrainer(loop, run_config={'name': 'x'})"],
    "RM502": ["TorchTrainer(loop, preprocessor=object())"],
    "RM511": [
        "from ray.data._internal.planner.plan_udf_map_op import _validate_row_output as v; v(3)",
        "from ray.data._internal.planner.plan_udf_map_op import _validate_batch_output as v; v([3])",
    ],
    "RM512": [
        # In a process that no core worker serves, as in a client.
        "from ray.data._internal.execution.block_ref_counter import BlockRefCounter\nBlockRefCounter()",
    ],
    "RM514": [
        "from ray.train.v2._internal.callbacks.datasets import RayDatasetShardProvider\n"
        "provider = RayDatasetShardProvider.__new__(RayDatasetShardProvider)\nprovider._dataset_names = set()\n"
        "asked = type('Asked', (), {'dataset_name': 'dev'})\nprovider.get_dataset_shard(asked)",
    ],
    "RM515": [
        f"{ARROW_FRAME}\nframe['n'] % 2",
        f"{ARROW_FRAME}\ntorch.tensor(frame.to_numpy())",
        f"{ARROW_FRAME}\ntorch.from_numpy(frame['n'].values)",
        f"{ARROW_FRAME}\nframe['t'].str.contains('(?=a)')",
    ],
    "RM516": [
        "ray.data.read_parquet(HERE, filter=1)",
        "ray.data.read_parquet(HERE, dataset_kwargs={'filters': []})",
        "import pyarrow.compute as pc, ray.data.expressions as e; e._PyArrowExpressionVisitor().visit(pc.field(0))",
    ],
    "RM517": ["from ray.data.iterator import _IterableFromIterator as made; next(made(lambda: iter([])))"],
    "RM519": [
        "from ray.data.preprocessor import Preprocessor\ntype('Own', (Preprocessor,), {'_fit': print})().fit(0)",
        "from ray.data.preprocessor import Preprocessor\ntype('Own', (Preprocessor,), {'__init__': print})().fit(0)",
    ],
    "RM601": [
        "from ray.train.huggingface import TransformersCheckpoint",
        "from ray.train.huggingface import HuggingFaceCheckpoint",
        "from ray.train.huggingface.transformers.transformers_checkpoint import TransformersCheckpoint",
        "ray.train.Checkpoint(HERE).get_model(None)",
        "ray.train.Checkpoint(HERE).get_tokenizer(None)",
    ],
    "RM481": ["import evaluate_modules"],
    "RM756": [
        "import argparse, io, torch\nfile = io.BytesIO()\ntorch.save(argparse.Namespace(a=1), file)\nfile.seek(0)\n"
        "torch.load(file)",
    ],
    "RM524": [
        "import pandas as pd; pd.Series(['a']).str.replace('a', lambda found: 'b')",
        "import pandas as pd, re; pd.Series(['a']).str.replace(re.compile('a'), 'b')",
    ],
    "RM602": ["transformers.BertModel.from_pretrained(HERE, config=transformers.BertConfig())"],
    "RM603": [
        "from ray.train.huggingface import TransformersPredictor",
        "from ray.train.huggingface import HuggingFacePredictor",
        "from ray.train.huggingface.transformers import TransformersPredictor",
        "from ray.train.batch_predictor import BatchPredictor",
        "from ray.train.predictor import Predictor",
        "from ray.train.torch import TorchPredictor",
    ],
    "RM604": [
        "metrics = {}\nmetrics['training_iteration']",
        "metrics = {}\nmetrics['time_total_s']",
        "ray.train.Result(None, None, None, HERE).log_dir",
        "ray.train.Result(None, None, None, HERE).config",
        "ray.train.Result.from_path(HERE)",
    ],
    "RM605": [
        "result = ray.train.Result(None, None, None, HERE)\nprint('loss', result.metrics['eval_loss'])",
        "result = ray.train.Result(None, None, None, HERE)\nresult.metrics.get('eval_loss')",
    ],
    "RM608": ["ray.tune.Result({}, None, None, HERE).get_best_checkpoint('loss', 'min')"],
    "RM692": [
        "from ray.data import DatasetPipeline",
        "from transformers import TextDataset",
        "from ray.train import Trainer",
        "import ray.workflow",
        "ray.train.load_checkpoint()",
        "ray.train.world_rank()",
    ],
    "RM701": [
        *(
            f"transformers.TrainingArguments(HERE, {argument})"
            for argument in (
                "evaluation_strategy='epoch'",
                "no_cuda=True",
                "per_gpu_train_batch_size=1",
                "per_gpu_eval_batch_size=1",
                "push_to_hub_token=''",
                "push_to_hub_model_id=''",
                "xpu_backend='ccl'",
                "torchdynamo='inductor'",
                "warmup_ratio=0.1",
                "group_by_length=True",
                "include_inputs_for_metrics=True",
                "include_tokens_per_second=True",
                "adafactor=True",
                "dispatch_batches=True",
                "split_batches=True",
            )
        ),
        "transformers.Seq2SeqTrainingArguments(HERE, evaluation_strategy='epoch')",
        "arguments().evaluation_strategy",
        "transformers.Trainer(Model(), arguments(), tokenizer=object())",
        "transformers.Seq2SeqTrainer(Model(), arguments(), tokenizer=object())",
        "transformers.Trainer(Model(), arguments(), train_dataset=ROWS).tokenizer",
        "accelerate.Accelerator(fp16=True)",
        "accelerate.Accelerator(logging_dir=HERE)",
        "accelerate.Accelerator(dispatch_batches=True)",
        "accelerate.Accelerator(even_batches=True)",
        "accelerate.Accelerator(use_seedable_sampler=True)",
        "datasets.load_dataset('json', data_files='rows.json', use_auth_token=True)",
        "datasets.load_dataset('json', data_files='rows.json', ignore_verifications=True)",
    ],
    "RM702": [
        *(
            f"transformers.TrainingArguments(HERE, {argument})"
            for argument in (
                "overwrite_output_dir=True",
                "logging_dir=HERE",
                "ray_scope='last'",
                "save_safetensors=False",
                "fp16_opt_level='O1'",
                "fp16_backend='auto'",
                "half_precision_backend='auto'",
                "use_mps_device=True",
                "jit_mode_eval=True",
                "use_ipex=True",
                "tpu_num_cores=8",
                "tpu_metrics_debug=True",
                "mp_parameters=''",
                "past_index=0",
                "use_legacy_prediction_loop=True",
                "sharded_ddp='simple'",
                "fsdp_min_num_params=1",
                "fsdp_transformer_layer_cls_to_wrap='Layer'",
                "push_to_hub_organization=''",
            )
        ),
        "arguments().overwrite_output_dir",
        "datasets.load_dataset('json', data_files='rows.json', task='text-classification')",
    ],
    "RM703": ["transformers.TrainingArguments(HERE, True, True, True, False, 'epoch')"],
    "RM704": [
        f"class Own(transformers.Trainer):\n    def {method}: return super().{method.partition('(')[0]}()\n"
        f"Own(Model(), arguments(logging_steps=1), train_dataset=ROWS).{call}"
        for method, call in (
            ("compute_loss(self, model, inputs, return_outputs=False)", "train()"),
            ("training_step(self, model, inputs)", "train()"),
            ("log(self, logs)", "train()"),
            ("_get_train_sampler(self)", "train()"),
            ("create_optimizer(self)", "create_optimizer(model=None)"),
        )
    ],
    "RM705": [
        "transformers.TrainingArguments(HERE, optim='adamw_hf')",
        "transformers.TrainingArguments(HERE, fsdp='hybrid_shard')",
        "transformers.TrainingArguments(HERE, optim='adamw_apex_fused')",
        "transformers.Trainer(Model(), transformers.TrainingArguments(HERE, use_cpu=True, report_to=None))",
        "transformers.BertModel.from_pretrained(HERE, state_dict={})",
        "transformers.BatchEncoding({'ids': [[1]]}, tensor_type='tf')",
        "transformers.BatchEncoding({'ids': [[1]]}, tensor_type='jax')",
    ],
    "RM706": [
        "transformers.HfArgumentParser(transformers.TrainingArguments).parse_dict({'no_cuda': True})",
        "transformers.HfArgumentParser(transformers.TrainingArguments).parse_args_into_dataclasses(['--no_cuda'])",
    ],
    "RM711": [
        "from transformers import AutoModelForVision2Seq",
        "from transformers import is_torch_tpu_available",
        "from transformers.trainer_utils import EvaluationStrategy",
        "from transformers.deepspeed import HfDeepSpeedConfig",
        "from datasets import GenerateMode",
        "from transformers import TRANSFORMERS_CACHE",
        "from transformers.utils import TRANSFORMERS_CACHE",
        "from transformers.utils.hub import TRANSFORMERS_CACHE",
    ],
    "RM712": [
        "from transformers import AdamW",
        "from transformers.optimization import AdamW",
        "transformers.AdamW([])",
    ],
    "RM713": ["from datasets import load_metric", "datasets.load_metric('glue', 'mrpc')"],
    "RM714": ["import huggingface_hub\nhuggingface_hub.HfFileSystem().resolve_path('datasets/imdb')"],
    "RM725": [
        "class Own(transformers.TrainerCallback):\n"
        f"    def on_train_begin(self, args, state, control, {parameters}): {body}\n"
        "transformers.Trainer(Model(), arguments(), train_dataset=ROWS, callbacks=[Own()]).train()"
        for parameters, body in (("tokenizer, **kwargs", "pass"), ("**kwargs", "kwargs['tokenizer']"))
    ],
    "RM727": [
        "transformers.ViTConfig().save_pretrained('vit')\n"
        "open('vit/preprocessor_config.json', 'w').write('{}')\n"
        "transformers.AutoFeatureExtractor.from_pretrained('vit')"
    ],
    "RM523": ["import numpy, pandas\nnumpy.array_split(pandas.DataFrame({'a': [1]}), 1)[0].columns"],
    "RM728": ["import pandas\npandas.read_json('{\"a\": 1}')", "import pandas\npandas.read_json('[1]')"],
    "RM698": [
        'import os\nos.environ[\'RAY_JOB_CONFIG_JSON_ENV_VAR\'] = \'{"runtime_env": {"pip": ["a"]}}\'\n'
        "ray.init(runtime_env={'pip': ['b']})"
    ],
    "RM754": ["transformers.BertModel(transformers.BertConfig(num_hidden_layers=1)).get_head_mask(None, 1)"],
    "RM755": [
        "m = transformers.BertModel(transformers.BertConfig(num_hidden_layers=1))\nm.config.max_length = 9\n"
        "m.save_pretrained(HERE)"
    ],
    "RM774": [
        "c = transformers.GPT2Config(n_layer=1, n_head=1, n_embd=8, vocab_size=9)\n"
        "m = transformers.GPT2LMHeadModel(c)\nm.generate(torch.ones(1, 3).long(), penalty_alpha=0.6)"
    ],
    "RM767": [
        "c = transformers.LlamaConfig(num_hidden_layers=1, hidden_size=32, intermediate_size=32, vocab_size=64)\n"
        "c.rope_scaling = {'type': 'linear', 'factor': 2.0}\n"
        "transformers.LlamaModel(c)",
        "transformers.LlamaConfig().rope_theta",
    ],
    "RM770": [
        "class M(transformers.BertPreTrainedModel):\n    def __init__(self, config):\n"
        "        super().__init__(config)\n        self.init_weights()\nM(transformers.BertConfig())",
    ],
    "RM771": [
        "m = transformers.BertModel(transformers.BertConfig(num_hidden_layers=1))\nm.config.output_attentions = True"
    ],
    "RM731": [
        "import importlib\nimport pydantic\nfrom unittest import mock\nfrom ray._common import pydantic_compat\n"
        "with mock.patch.object(pydantic, '__version__', '1.10.12'):\n"
        "    importlib.reload(pydantic_compat)",
        "from unittest import mock\nfrom packaging.version import Version\n"
        "from ray.data._internal.utils import arrow_utils\n"
        "with mock.patch.multiple(arrow_utils, _PYARROW_VERSION_VALIDATED=False,\n"
        "                         get_pyarrow_version=lambda: Version('12.0.1')):\n"
        "    arrow_utils._check_pyarrow_version()",
        "from torch.distributed.elastic.agent.server.api import log, _get_socket_with_port",
        "from torch.distributed.elastic.agent.server.api import _get_socket_with_port",
        "from huggingface_hub import hf_api\nhf_api.HfFolder.get_token()",  # evaluate 0.4.3
        "from evaluate.utils.file_utils import DownloadConfig\nDownloadConfig().use_auth_token",  # 0.4.1
    ],
    "RM732": [
        "from unittest import mock\n"
        "with mock.patch('transformers.training_args.is_accelerate_available', lambda *_: False):\n"
        "    transformers.TrainingArguments('out').device"
    ],
    # What argparse says in a worker, whose command line is that of Ray (ray/_private/services.py, start_raylet).
    "RM760": ["import mlflow\nmlflow.set_tracking_uri('file:' + HERE)\nmlflow.search_experiments()"],
    "RM766": [
        "from accelerate.commands.config.config_args import ClusterConfig\n"
        "ClusterConfig('LOCAL_MACHINE', 'NO', 'no', False)",
    ],
    "RM769": [
        "from tokenizers import Tokenizer, models\n"
        "words = Tokenizer(models.WordLevel({'a': 0}, unk_token='a'))\n"
        "words = transformers.PreTrainedTokenizerFast(tokenizer_object=words, pad_token='a', unk_token='a')\n"
        "blip = transformers.Blip2Processor(transformers.BlipImageProcessor(), words, num_query_tokens=2)\n"
        "blip(text='a', max_length=1)",
        "import numpy\nfrom tokenizers import Tokenizer, models\n"
        "words = Tokenizer(models.WordLevel({'a': 0}, unk_token='a'))\n"
        "words = transformers.PreTrainedTokenizerFast(tokenizer_object=words, pad_token='a', unk_token='a')\n"
        "words.add_tokens(['<image>'], special_tokens=True)\n"
        "llava = transformers.LlavaProcessor(transformers.CLIPImageProcessor(), words, patch_size=14,\n"
        "    vision_feature_select_strategy='default', image_token='<image>', num_additional_image_tokens=1)\n"
        "llava(images=numpy.zeros((224, 224, 3)), text='<image>', truncation=True, max_length=9)",
    ],
    "RM801": [
        "import argparse\nsys.argv = ['default_worker.py', '--node-ip-address=127.0.0.1', '--node-manager-port=1']\n"
        "argparse.ArgumentParser().parse_args()",
    ],
    "RM805": [
        "os.makedirs('ray/session_1/artifacts')\nos.chdir('ray/session_1/artifacts')\n"
        "try:\n    datasets.load_dataset('csv', data_files='rows.csv')\nfinally:\n    os.chdir(HERE)",
    ],
    "RM806": [
        "model = Model()\nmodel.hf_device_map = {'layer': 0, 'head': 1}\n"
        "accelerator = accelerate.Accelerator(cpu=True)\n"
        "accelerator.state._shared_state['distributed_type'] = accelerate.DistributedType.MULTI_GPU\n"
        "try:\n    accelerator.prepare_model(model)\n"
        "finally:\n    accelerate.state.AcceleratorState._reset_state(True)",
    ],
    # A class as it comes to another process, which has not sent it.
    "RM808": [
        "import dataclasses\nfrom ray.cloudpickle import cloudpickle\n"
        "class Ours(transformers.TrainingArguments):\n    pass\n"
        "Ours.__module__ = '__main__'\nsent = cloudpickle.dumps(dataclasses.dataclass(Ours))\n"
        "cloudpickle._DYNAMIC_CLASS_TRACKER_BY_ID.clear()\ncloudpickle._DYNAMIC_CLASS_TRACKER_BY_CLASS.clear()\n"
        "transformers.HfArgumentParser(cloudpickle.loads(sent))",
    ],
    "RM822": [
        READ_FILE.format(config={"num_processes": 2}),
        READ_FILE.format(config={"distributed_type": "NO", "gradient_accumulation_steps": 2}),
        "os.environ['ACCELERATE_CONFIG_DS_FIELDS'] = 'zero_stage'\n"
        "accelerate.DeepSpeedPlugin(hf_ds_config={'zero_optimization': {'stage': 2}})",
        "from torch.distributed.fsdp._init_utils import SHARDING_STRATEGY_MAP\n"
        "plugin = accelerate.FullyShardedDataParallelPlugin(fsdp_version=1, sharding_strategy=1)\n"
        "SHARDING_STRATEGY_MAP[plugin.sharding_strategy]",
        "accelerate.FullyShardedDataParallelPlugin(fsdp_version=2, reshard_after_forward='FULL_SHARD')",
        LAUNCH.format(config={"distributed_type": "MULTI_GPU"}),
        LAUNCH.format(config={"distributed_type": "MULTI_GPU", "num_processes": 2, "gpu_ids": "0"}),
        LAUNCH.format(config={"distributed_type": "NO", "num_processes": 1, "mixed_precision": False}),
    ],
    "RM827": [IN_GROUP.format("join()")],
    "RM828": [
        "from accelerate import PartialState\nfrom accelerate.data_loader import DataLoaderDispatcher\n"
        "loader = DataLoaderDispatcher([torch.zeros(1), torch.zeros(2)], batch_size=1)\n"
        "loader.state._shared_state['num_processes'] = 2\n"
        "try:\n    next(iter(loader))\nfinally:\n    PartialState._reset_state()",
        "import torch.distributed\ntorch.distributed.barrier()",
    ],
    "RM829": [
        IN_GROUP.format(TWO_LAYERS.strip()),
        "model = object.__new__(torch.nn.parallel.DistributedDataParallel)\n"
        "torch.nn.Module.__init__(model)\nmodel.generate()",
    ],
    "RM852": [
        "scaler, loss = torch.amp.GradScaler('cpu'), torch.nn.Parameter(torch.ones(1))\n"
        "optimizer = torch.optim.SGD([loss])\nscaler.scale(loss).sum().backward()\n"
        "scaler.unscale_(optimizer)\nscaler.unscale_(optimizer)",
        "scaler, loss = torch.amp.GradScaler('cpu'), torch.nn.Parameter(torch.ones(1))\n"
        "scaler.scale(loss)\nscaler.step(torch.optim.SGD([loss]))",
    ],
    "RM857": [
        "torch.nn.Linear(1, 1).load_state_dict({'module.weight': torch.ones(1, 1), 'module.bias': torch.ones(1)})",
    ],
}


def what_is_said(snippet: str, number: int) -> str:
    """The warnings and the traceback that a snippet leads to, with its lines in it, as a user sees them."""
    name = f"train_{number}.py"
    linecache.cache[name] = (len(snippet), None, snippet.splitlines(keepends=True), name)
    said = io.StringIO()
    namespace = {"__name__": "train"}
    exec(PRELUDE, namespace)
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said), warnings.catch_warnings():
        warnings.simplefilter("default")
        try:
            exec(compile(snippet, name, "exec"), namespace)
        except BaseException:
            traceback.print_exc()
    return said.getvalue()


def main() -> None:
    """Prints what is said of every snippet."""
    os.chdir(tempfile.mkdtemp())
    Path("rows.json").write_text('{"a": 1}\n')
    texts = [
        [code, snippet, what_is_said(snippet, number)]
        for code, snippets in SNIPPETS.items()
        for number, snippet in enumerate(snippets)
    ]
    json.dump(texts, sys.stdout)


if __name__ == "__main__":
    main()
