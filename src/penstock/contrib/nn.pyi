# Written by `python -m penstock.api.generate`.
from penstock.ops.nn.dropout import alpha_dropout as alpha_dropout
from penstock.ops.nn.logits_first_functions import flipped_sigmoid as deprecated_flipped_sigmoid_cross_entropy_with_logits
from penstock.ops.nn.logits_first_functions import flipped_softmax as deprecated_flipped_softmax_cross_entropy_with_logits
from penstock.ops.nn.logits_first_functions import flipped_sparse_softmax as deprecated_flipped_sparse_softmax_cross_entropy_with_logits
from penstock.ops.nn.nth_element import nth_element as nth_element

__all__ = [
    "alpha_dropout", "deprecated_flipped_sigmoid_cross_entropy_with_logits",
    "deprecated_flipped_softmax_cross_entropy_with_logits",
    "deprecated_flipped_sparse_softmax_cross_entropy_with_logits", "nth_element"
]
