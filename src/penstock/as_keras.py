"""Makes `import keras` import Penstock's Keras, as it was for TensorFlow 1.x: that of today needs TensorFlow 2.

`import penstock.as_keras` before the first `import keras` does what `penstock run` does. It affects the whole process.
"""

from __future__ import annotations

import sys

from penstock import as_tensorflow
from penstock.programs import hooks
from penstock.programs.removed import keras


def install() -> None:
    """What importing this module does, unless it is so already. Raises ImportError if another Keras is imported."""
    if keras.PACKAGE in as_tensorflow.PACKAGES:
        return
    if keras.PACKAGE in sys.modules:
        raise ImportError("Another Keras is already imported: import penstock.as_keras before it.")
    keras.install()
    hooks.install([keras.PATCHES], {})


install()
