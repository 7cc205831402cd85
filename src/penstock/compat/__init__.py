"""tf.compat: Python types and strings, and `penstock.compat.v1`, which is Penstock itself (TF: tf.compat).

`import penstock.compat.v1 as tf; tf.disable_v2_behavior()` works: Penstock only has the behaviour of TensorFlow 1.
"""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
