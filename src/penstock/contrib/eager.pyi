# Written by `python -m penstock.api.generate`.
from penstock.client.compatibility import enable_eager_execution as enable_eager_execution
from penstock.client.compatibility import executing_eagerly as executing_eagerly
from penstock.client.compatibility import executing_eagerly as in_eager_mode
from penstock.client.custom_gradient import custom_gradient as custom_gradient
from penstock.client.resource_variable import ResourceVariable as Variable
from penstock.client.template import make_template as make_template
from penstock.client.traced_calls import defun as defun
from penstock.ops.py_func import py_function as py_func
from penstock.tensor.specs import TensorSpec as TensorSpec
from penstock.train.object_checkpoint import Checkpoint as Checkpoint
from penstock.train.saver import Saver as Saver

__all__ = [
    "enable_eager_execution", "executing_eagerly", "in_eager_mode", "custom_gradient", "Variable", "make_template",
    "defun", "py_func", "TensorSpec", "Checkpoint", "Saver"
]
