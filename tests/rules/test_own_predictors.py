"""RM603: what a script's own predictor inherits from the class of Ray that is gone."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.base.findings import Kind
from raymigrate.cli import main
from tests.rules.scripts import converted

OWN = """
import pandas as pd
from ray import serve
from ray.air import Checkpoint
from ray.train.huggingface import TransformersPredictor
from ray.train.predictor import Predictor
from ray.train.torch import TorchPredictor
from transformers import AutoModel


class P(Predictor):
    def __init__(self, model, preprocessor=None):
        super().__init__(preprocessor)
        self.model = model

    @classmethod
    def from_checkpoint(cls, checkpoint: Checkpoint, **kwargs):
        return cls(AutoModel.from_pretrained(checkpoint.path))

    def _predict_pandas(self, data, **kwargs):
        return data


class Q(P):
    pass


class T(TorchPredictor):
    def call_model(self, inputs):
        return inputs


class Full(Predictor):
    def predict(self, data):
        return data

    def set_preprocessor(self, preprocessor):
        self._preprocessor = preprocessor

    def get_preprocessor(self):
        return self._preprocessor


c = Checkpoint.from_directory("/data/ckpt")
{use}
"""


def told(use: str) -> list[str]:
    """What is said of inherited methods."""
    messages = converted(OWN.format(use=use)).messages
    return [message for message in messages if " came from ray.train." in message]


@pytest.mark.parametrize(
    ("use", "names"),
    [
        ("p = P.from_checkpoint(c)\nprint(p.predict(df))", ["predict()"]),
        ("print(P.from_checkpoint(c).predict(df))", ["predict()"]),
        ("print(P(model).predict(df))", ["predict()"]),
        ("p = Q.from_checkpoint(c)\np.predict(df)", ["predict()"]),
        ("def serve(c, df):\n    return P.from_checkpoint(c).predict(df)", ["predict()"]),
        ("def load(c):\n    return P.from_checkpoint(c)\n\n\nload(c).predict(df)", ["predict()"]),
        (
            "p = P(model)\np.set_preprocessor(None)\nprint(p.get_preprocessor())",
            ["set_preprocessor()", "get_preprocessor()"],
        ),
        (
            "class Server:\n    def __init__(self, c):\n        self.predictor = P.from_checkpoint(c)\n\n"
            "    def __call__(self, df):\n        return self.predictor.predict(df)",
            ["predict()"],
        ),
        (
            "class R(P):\n    def show(self, df):\n        return self.predict(df), self._preprocessor",
            ["predict()", "_preproc"],
        ),
        ("class S(P):\n    def predict(self, df):\n        return super().predict(df.dropna())", ["predict()"]),
        ("T.from_checkpoint(c).predict(df)", ["predict()", "from_checkpoint()"]),
        (
            "class U(T):\n    def call_model(self, inputs):\n        return super().call_model(inputs)\n\n\n"
            "class V(TorchPredictor):\n    def call_model(self, inputs):\n        return super().call_model(inputs)",
            ["call_model()"],
        ),
        (
            "class H(TransformersPredictor):\n    def _predict_pandas(self, data, **kwargs):\n"
            "        return super()._predict_pandas(data, **kwargs)\n\n\nh = H.from_checkpoint(c, task='ner')",
            ["_predict_pandas()", "from_checkpoint()"],
        ),
        (
            "@serve.deployment\nclass Server:\n    def __init__(self, c):\n        self.p = P.from_checkpoint(c)\n\n"
            "    @app.post('/')\n    async def __call__(self, df):\n        return self.p.predict(df)",
            ["predict()"],
        ),
        ("for p in [P.from_checkpoint(c) for c in checkpoints]:\n    p.predict(df)", ["predict()"]),
        ("def serve(p: P, df):\n    return p.predict(df)", ["predict()"]),
        ('by_name = {"p": P(model)}\nby_name["p"].predict(df)', ["predict()"]),
        ("predictor = P.from_pandas_udf(lambda df: df)", ["from_pandas_udf()"]),
        ("predict = P(model).predict\npredict(df)", ["predict came"]),
    ],
)
def test_what_comes_from_the_base_class_is_told_where_it_is_asked_for(use: str, names: list[str]) -> None:
    messages = told(use)
    assert len(messages) == len(names)
    assert all(message.startswith(name) for message, name in zip(messages, names, strict=True))


def test_the_line_that_sets_no_preprocessor_goes() -> None:
    (message,) = told("P(model).set_preprocessor(None)")
    assert message.endswith("Delete the line.")
    (message,) = told("P(model).set_preprocessor(scaler)")
    assert "apply it to the data yourself" in message


@pytest.mark.parametrize(
    "use",
    [
        "Full(c).predict(df)\nFull(c).set_preprocessor(None)\nprint(Full(c).get_preprocessor())",
        "print(P(model)._predict_pandas(df))",
        "from sklearn.svm import SVC\nprint(SVC().predict(df))",
        "def serve(p, df):\n    return p.predict(df)",
        "if hasattr(P, 'predict'):\n    P(model).predict(df)",
    ],
)
def test_what_the_class_has_itself_and_what_others_predict_is_no_news(use: str) -> None:
    assert not told(use)


BATCHES = """
from job import c, rows
from ray.train.batch_predictor import BatchPredictor
from ray.train.torch import TorchPredictor


class Timed(BatchPredictor):
    def predict(self, data, **kwargs):
        return super().predict(data, batch_size=8, **kwargs)


class Plain(Timed):
    pass


class Mine(BatchPredictor):
    @classmethod
    def from_checkpoint(cls, checkpoint):
        return cls(checkpoint, TorchPredictor)


{use}
"""


@pytest.mark.parametrize(
    ("use", "names"),
    [
        ("b = Timed.from_checkpoint(c, TorchPredictor)\nb.predict(rows)", ["from_checkpoint()"]),
        ("b = Plain(c, TorchPredictor)\nb.set_preprocessor(None)\nb.predict(rows)", ["set_preprocessor()"]),
        ("Mine.from_checkpoint(c).predict(rows)", ["predict()"]),
        ("def score(b: Mine):\n    return b.predict_pipelined(rows), b.get_preprocessor()", ["predict_p", "get_pre"]),
        ("Timed.from_pandas_udf(lambda df: df)", ["from_pandas_udf()"]),
        ("Timed(c, TorchPredictor).predict(rows)", []),
    ],
)
def test_what_comes_from_a_batch_predictor_is_told_too(use: str, names: list[str]) -> None:
    found = [message for message in converted(BATCHES.format(use=use)).messages if " came from ray.train." in message]
    assert len(found) == len(names)
    assert all(message.startswith(name) for message, name in zip(found, names, strict=True))


MADE = """
from ray.train.huggingface import TransformersPredictor


class H(TransformersPredictor):
    @classmethod
    def from_checkpoint(cls, checkpoint, **given):
        {body}


def show(checkpoint, frame):
    made = H.from_checkpoint(checkpoint, task="text-classification")
    return made.predict(frame)
"""


@pytest.mark.parametrize(
    "body",
    [
        "return super().from_checkpoint(checkpoint, **given)",
        "made = super().from_checkpoint(checkpoint, **given)\n        made.cut = 1\n        return made",
        "made = super(H, cls).from_checkpoint(checkpoint, **given)\n        return made",
        "return cls(pipeline=load(checkpoint, given))",
    ],
)
def test_what_an_own_from_checkpoint_gives_is_one_of_the_class(body: str) -> None:
    messages = converted(MADE.format(body=body)).messages
    assert any(message.startswith("predict() came from ray.train.") for message in messages)


@pytest.mark.parametrize(
    "use",
    [
        "import ray\nfrom own import P as OwnPredictor\n\nprint(OwnPredictor.from_checkpoint(c).predict(1))\n",
        "import os\nfrom own import P as OwnPredictor\n\nprint(OwnPredictor.from_checkpoint(c).predict(1))\n",
        "\nimport own\n\nprint(own.Q(1).predict(1))\n",
        "\nfrom own import load\n\nprint(load().predict(1))\n",
        "\nimport sub\n\nprint(sub.S.from_checkpoint(c).predict(1))\n",
        "from own import P\nclass R(P):\n    def go(self):\n        return self.predict(1)\n",
    ],
)
def test_a_predictor_of_another_file_is_known_also_where_nothing_names_ray(tmp_path: Path, use: str) -> None:
    (tmp_path / "own.py").write_text(OWN.format(use="def load():\n    return P.from_checkpoint(c)\n"))
    (tmp_path / "sub.py").write_text("from own import P\n\n\nclass S(P):\n    pass\n")
    (tmp_path / "serve.py").write_text(use)
    shown = CliRunner().invoke(main, ["--check", str(tmp_path)]).stdout
    assert [line for line in shown.splitlines() if "serve.py:4" in line and "predict() came from" in line]


@pytest.mark.parametrize(
    "use",
    [
        "from own import other\nfrom sklearn.svm import SVC\n\nprint(other(SVC()).predict(1))\n",
        "from own import Full\n\n\nprint(Full.from_checkpoint(c).predict(1))\n",
        "class P:\n    def predict(self, data):\n        return data\n\n\nprint(P().predict(1))\n",
        "from transformers import AdamW\nfrom own import other\n\nprint(AdamW, other(1))\n",
    ],
)
def test_a_file_that_uses_something_else_of_that_file_is_left_alone(tmp_path: Path, use: str) -> None:
    (tmp_path / "own.py").write_text(OWN.format(use="def other(model):\n    return model\n"))
    (tmp_path / "serve.py").write_text(use)
    shown = CliRunner().invoke(main, ["--check", str(tmp_path)]).stdout
    assert "serve.py" not in shown and "own.py" in shown


def test_the_class_is_still_told() -> None:
    assert len(converted(OWN.format(use="")).lines("RM603", Kind.MANUAL)) == 3


SERVED = """
from ray import serve
from ray.serve import PredictorDeployment
from ray.train.huggingface import TransformersPredictor
from ray.train.predictor import Predictor
from ray.train.torch import TorchPredictor


class P(Predictor):
    pass


{use}
"""


@pytest.mark.parametrize(
    ("use", "served"),
    [
        ("serve.run(PredictorDeployment.options(name='a').bind(TransformersPredictor, c))", 1),
        ("serve.run(PredictorDeployment.bind(predictor_cls=TorchPredictor, checkpoint=c))", 1),
        ("predictor = TransformersPredictor(m, t)\nserve.create_deployment(name='a').set_predictor(predictor)", 1),
        ("d = serve.create_deployment(name='a')\nd.set_predictor(P.from_checkpoint(c))", 1),
        ("serve.run(PredictorDeployment.bind(P, c))", 1),
        (
            "@serve.deployment(num_replicas=2)\nclass D:\n    def __init__(self, c):\n"
            "        self.p = TorchPredictor.from_checkpoint(c)",
            1,
        ),
        ("p = TransformersPredictor(m, t)\nprint(p.predict(df))\nserve.run(D.bind())", 0),
        ("class D:\n    def __init__(self, c):\n        self.p = TorchPredictor.from_checkpoint(c)", 0),
        ("other = make()\nother.bind(P, c)", 0),
    ],
)
def test_a_predictor_that_is_handed_to_serve_becomes_a_deployment(use: str, served: int) -> None:
    outcome = converted(SERVED.format(use=use))
    told = [message for message in outcome.messages if "ImportError" in message and "Predictor is gone" in message]
    assert len([message for message in told if "@serve.deployment" in message]) == served
    assert len([message for message in told if "applied the preprocessor of the checkpoint first" in message]) >= served


def test_a_deployment_of_a_predictor_says_that_the_preprocessor_was_applied() -> None:
    outcome = converted(SERVED.format(use="serve.run(PredictorDeployment.bind(P, c))"))
    deployed = [message for message in outcome.messages if "PredictorDeployment is gone" in message]
    assert deployed and all("preprocessor of the checkpoint first" in message for message in deployed)


BATCHED = """
import ray
from ray.air import Checkpoint
from ray.train.batch_predictor import BatchPredictor
from ray.train.predictor import Predictor


class P(Predictor):
    def __init__(self, model, preprocessor=None):
        {init}
        self.model = model

    @classmethod
    def from_checkpoint(cls, checkpoint):
        return cls({model})

    def _predict_numpy(self, data):
        return data


predictor = BatchPredictor.from_checkpoint(Checkpoint.from_directory("/m"), P)
predictor.set_preprocessor(None)
print(predictor.predict(ray.data.range(3), ray_remote_args=None))
"""


@pytest.mark.parametrize(
    "init",
    [
        "super().__init__(preprocessor)",
        "super(P, self).__init__(preprocessor)",
        "Predictor.__init__(self, preprocessor)",
        "ray.train.predictor.Predictor.__init__(self, preprocessor=preprocessor)",
    ],
)
def test_the_call_of_the_base_class_goes_with_it(init: str) -> None:
    outcome = converted(BATCHED.format(init=init, model="1"))
    assert "class BatchP:" in outcome.text and "class P:" in outcome.text
    assert "Predictor.__init__" not in outcome.text and "super(" not in outcome.text
    assert not outcome.lines("RM603", Kind.MANUAL)


@pytest.mark.parametrize("model", ["Predictor", "Predictor.preferred_batch_format()", "isinstance(1, Predictor)"])
def test_a_class_that_names_its_base_class_stays(model: str) -> None:
    outcome = converted(BATCHED.format(init="super().__init__(preprocessor)", model=model))
    assert "class BatchP" not in outcome.text
    assert outcome.lines("RM603", Kind.MANUAL)


@pytest.mark.parametrize(
    "use",
    [
        "BatchPredictor.from_checkpoint(c, P).predict(rows)",
        "@serve.deployment\nclass M:\n    def __init__(self, c):\n        self.p = P.from_checkpoint(c)",
        "print(P(model)._predict_pandas(df))",
        "def score(predictor_cls=P):\n    return predictor_cls",
    ],
)
def test_a_predictor_that_is_served_and_used_besides_stays_a_class(use: str) -> None:
    served = f"from ray.train.batch_predictor import BatchPredictor\nserve.run(PredictorDeployment.bind(P, c))\n{use}"
    (said,) = [text for text in converted(SERVED.format(use=served)).messages if text.startswith("ray.train.predictor")]
    assert "over the class" not in said
    assert "Remove the base class" in said and "makes one of this class in __init__" in said


@pytest.mark.parametrize("use", ["", "def show(p: P):\n    print(p)", "serve.run(PredictorDeployment.bind(P, d))"])
def test_a_predictor_that_only_serve_gets_becomes_a_deployment(use: str) -> None:
    served = f"serve.run(PredictorDeployment.bind(P, c))\n{use}"
    (said,) = [text for text in converted(SERVED.format(use=served)).messages if text.startswith("ray.train.predictor")]
    assert "write @serve.deployment over the class" in said


def test_a_predictor_that_another_file_uses_stays_a_class(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(SERVED.format(use="app = PredictorDeployment.bind(P, c)"))
    (tmp_path / "score.py").write_text("import ray\nfrom own import P\n\nprint(P(1)._predict_pandas(2))\n")
    shown = CliRunner().invoke(main, ["--check", str(tmp_path)]).stdout
    assert "makes one of this class in __init__" in shown and "over the class" not in shown


def test_a_class_of_another_file_is_given_to_map_batches(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN.format(use=""))
    use = (
        "from ray.train.batch_predictor import BatchPredictor\nfrom own import P\n\nBatchPredictor(c, P).predict(ds)\n"
    )
    (tmp_path / "score.py").write_text(use)
    shown = CliRunner().invoke(main, ["--check", str(tmp_path)]).stdout
    assert "Give the class of its predictors to ds.map_batches" in shown


def test_what_is_left_beside_an_own_predictor_changes_nothing_of_it_in_a_later_run() -> None:
    script = """
    import pandas as pd
    import ray
    from ray.air import session
    from ray.train.batch_predictor import BatchPredictor
    from ray.train.predictor import Predictor


    class Lengths(Predictor):
        @classmethod
        def from_checkpoint(cls, checkpoint):
            return cls()

        def _predict_pandas(self, data):
            return pd.DataFrame({"length": data["text"].str.len()})


    texts = ray.data.from_items([{"text": "a"}])
    BatchPredictor.from_checkpoint(checkpoint, Lengths).predict(texts, keep_columns=["text"]).show()
    print(session)
    """
    outcome = converted(script, unsafe=True)
    assert outcome.lines("RM603", Kind.CONVERTED)
    assert "class BatchLengths:" in outcome.text and "DataContext" not in outcome.text
    assert converted(outcome.text, unsafe=True).text == outcome.text
