# Written by `python -m penstock.api.generate`.
from penstock.contrib.model_pruning.cells import MaskedBasicLSTMCell as MaskedBasicLSTMCell
from penstock.contrib.model_pruning.cells import MaskedLSTMCell as MaskedLSTMCell
from penstock.contrib.model_pruning.layers import masked_convolution as masked_conv2d
from penstock.contrib.model_pruning.layers import masked_convolution as masked_convolution
from penstock.contrib.model_pruning.layers import masked_fully_connected as masked_fully_connected
from penstock.contrib.model_pruning.learning import train as train
from penstock.contrib.model_pruning.masks import apply_mask as apply_mask
from penstock.contrib.model_pruning.masks import get_masked_weights as get_masked_weights
from penstock.contrib.model_pruning.masks import get_masks as get_masks
from penstock.contrib.model_pruning.masks import get_thresholds as get_thresholds
from penstock.contrib.model_pruning.masks import get_weight_sparsity as get_weight_sparsity
from penstock.contrib.model_pruning.masks import get_weights as get_weights
from penstock.contrib.model_pruning.pruning import Pruning as Pruning
from penstock.contrib.model_pruning.pruning import get_pruning_hparams as get_pruning_hparams
from penstock.contrib.model_pruning.stripping import graph_def_from_checkpoint as graph_def_from_checkpoint
from penstock.contrib.model_pruning.stripping import strip_pruning_vars_fn as strip_pruning_vars_fn

__all__ = [
    "MaskedBasicLSTMCell", "MaskedLSTMCell", "masked_conv2d", "masked_convolution", "masked_fully_connected", "train",
    "apply_mask", "get_masked_weights", "get_masks", "get_thresholds", "get_weight_sparsity", "get_weights", "Pruning",
    "get_pruning_hparams", "graph_def_from_checkpoint", "strip_pruning_vars_fn"
]
