"""tf.keras.applications.inception_resnet_v2."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
