"""RM802 for models of transformers that Keras trains, also as a part of another model."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """import tensorflow as tf
from transformers import TFAutoModel

base = TFAutoModel.from_pretrained("bert-base-cased")
inputs = tf.keras.Input((8,))
{made}
model.compile("adam")
model.fit(data)
"""


@pytest.mark.parametrize(
    "made",
    [
        "model = base",
        "model = tf.keras.Model(inputs=inputs, outputs=base(inputs)[0])",
        "model = tf.keras.Sequential([base])",
        "from tensorflow.keras.models import Model\nmodel = Model(inputs, base(inputs))",
        "import keras\nmodel = keras.Model(inputs, base(inputs))",
        "def build():\n    return tf.keras.models.Model(inputs, base(inputs))\nmodel = build()",
    ],
)
def test_a_model_of_keras_may_have_it_as_a_part(made: str) -> None:
    outcome = converted(SCRIPT.format(made=made), to_ray=True)
    assert len(outcome.lines("RM802", Kind.MANUAL)) == 1
    assert any("Keras trains this model" in message for message in outcome.messages)


@pytest.mark.parametrize(
    "made",
    [
        "model = Other()",
        "from sklearn.svm import Model\nmodel = Model()",
        "from mine.keras import Model\nmodel = Model()",
    ],
)
def test_another_model_is_none_of_keras(made: str) -> None:
    assert not converted(SCRIPT.format(made=made), to_ray=True).lines("RM802", Kind.MANUAL)


def test_a_model_of_keras_alone_is_not_told() -> None:
    script = SCRIPT.replace("from transformers import TFAutoModel\n", "").replace("base = TFAuto", "# ")
    made = "model = tf.keras.Model(inputs=inputs, outputs=inputs)"
    assert not converted(script.format(made=made), to_ray=True).lines("RM802", Kind.MANUAL)
