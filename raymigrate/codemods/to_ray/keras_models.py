"""RM802 for models of transformers that Keras trains: transformers 5 has no classes for TensorFlow."""

import ast

from raymigrate.base.expressions import lazy_regex
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.to_ray.refusals import leave
from raymigrate.codemods.to_ray.trainer_calls import training_of
from raymigrate.facts.hugging_face.models import classes_called
from raymigrate.facts.values import Source, called_name
from raymigrate.knowledge.legacy import ACCELERATORS

CLASS = lazy_regex(r"transformers(?:\.\w+)*\.TF[A-Z]\w*")
# What has other models as a part of it: `tf.keras.Model(inputs=inputs, outputs=bert(inputs)[0])`.
OF_KERAS = lazy_regex(r"(?:tensorflow(?:\.\w+)*\.|tf_)?keras(?:\.\w+)*\.(?:Model|Functional|Sequential)")
MAKERS = ("from_pretrained", "from_config")
MESSAGE = "Keras trains this model, and transformers 5 has no classes for TensorFlow: there is none to move to Ray."
ADVICE = (
    "Load it with the class of PyTorch, whose name has no TF, train it with a Trainer, and run raymigrate --to-ray"
    " again. Ray trains models of Keras itself with ray.train.tensorflow.TensorflowTrainer."
)


@codemod(r"TF[A-Z]\w*", phase=Phase.POSITIONS, option="to_ray")
def keras_models(context: Context) -> None:
    """Says of a script whose model of transformers Keras trains why it stays; what is gone is told of it too."""
    module = context.module
    training = training_of(module)
    if context.imports_ray or context.stays or training.trains or training.searches or any(module.calls(*ACCELERATORS)):
        return
    made = {
        call
        for call, method in module.method_calls(*MAKERS)
        if any(CLASS.fullmatch(name) for name in classes_called(module, method.value))
    }
    made |= {call for call in module.of_type(ast.Call) if CLASS.fullmatch(called_name(module, call))}
    for fit, method in module.method_calls("fit") if made else ():
        if any(source.node in made or _is_of_keras(source) for source in module.origins(method.value)):
            leave(context, fit, MESSAGE, ADVICE)
            return


def _is_of_keras(source: Source) -> bool:
    """Whether a model of Keras is made, in a file with such a model of transformers: it is a part of it."""
    return OF_KERAS.fullmatch(called_name(source.module, source.node)) is not None
