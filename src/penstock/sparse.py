"""Operations on sparse tensors (TF: tf.sparse)."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
