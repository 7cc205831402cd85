"""tf.losses: errors of a model as one number, added to the collection LOSSES.

Every function takes `weights` (a number, or a tensor that broadcasts against the losses: of their rank, each dim 1
or equal), `scope`, `loss_collection` and `reduction`. Raises ValueError if the shapes of labels and predictions differ.
"""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
