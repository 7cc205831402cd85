"""tf.feature_column: from raw features to what models take."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
