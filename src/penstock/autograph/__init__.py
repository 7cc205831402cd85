"""tf.autograph: what asks for no conversion; functions are never converted here."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
