"""Operations on strings (TF: tf.strings)."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
