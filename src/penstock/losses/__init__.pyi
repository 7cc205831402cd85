# Written by `python -m penstock.api.generate`.
from penstock.losses.collected import Reduction as Reduction
from penstock.losses.collected import add_loss as add_loss
from penstock.losses.collected import compute_weighted_loss as compute_weighted_loss
from penstock.losses.collected import get_losses as get_losses
from penstock.losses.collected import get_regularization_loss as get_regularization_loss
from penstock.losses.collected import get_regularization_losses as get_regularization_losses
from penstock.losses.collected import get_total_loss as get_total_loss
from penstock.losses.of_predictions import absolute_difference as absolute_difference
from penstock.losses.of_predictions import cosine_distance as cosine_distance
from penstock.losses.of_predictions import hinge_loss as hinge_loss
from penstock.losses.of_predictions import huber_loss as huber_loss
from penstock.losses.of_predictions import log_loss as log_loss
from penstock.losses.of_predictions import mean_pairwise_squared_error as mean_pairwise_squared_error
from penstock.losses.of_predictions import mean_squared_error as mean_squared_error
from penstock.losses.of_predictions import sigmoid_cross_entropy as sigmoid_cross_entropy
from penstock.losses.of_predictions import softmax_cross_entropy as softmax_cross_entropy
from penstock.losses.of_predictions import sparse_softmax_cross_entropy as sparse_softmax_cross_entropy

__all__ = [
    "Reduction", "add_loss", "compute_weighted_loss", "get_losses", "get_regularization_loss",
    "get_regularization_losses", "get_total_loss", "absolute_difference", "cosine_distance", "hinge_loss", "huber_loss",
    "log_loss", "mean_pairwise_squared_error", "mean_squared_error", "sigmoid_cross_entropy", "softmax_cross_entropy",
    "sparse_softmax_cross_entropy"
]
