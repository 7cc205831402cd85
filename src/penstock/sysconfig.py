"""Information for C++ compilers: Penstock has no C++ to build against (TF: tf.sysconfig)."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
