"""TensorFlow's version and Penstock's (TF: tf.version).

Programs compare `tf.__version__` with TensorFlow's, so it is the version of the API that Penstock implements.
Penstock's own is `penstock.version.PENSTOCK_VERSION`.
"""

from __future__ import annotations

from penstock import absent as _absent

PENSTOCK_VERSION = "0.1.0"

VERSION = "1.15.0"
GIT_VERSION = f"penstock-{PENSTOCK_VERSION}"
COMPILER_VERSION = ""  # no C++ of its own

GRAPH_DEF_VERSION = 134
"""The producer that graphs name: TensorFlow 1.15's, whose OpDefs, old ones included, graphs here may use."""

GRAPH_DEF_VERSION_MIN_CONSUMER = 0
GRAPH_DEF_VERSION_MIN_PRODUCER = 0

_absent.tell_in(__name__)
