# Written by `python -m penstock.api.generate`.
from penstock.metrics.counts import false_negatives as false_negatives
from penstock.metrics.counts import false_positives as false_positives
from penstock.metrics.counts import precision as precision
from penstock.metrics.counts import recall as recall
from penstock.metrics.counts import true_negatives as true_negatives
from penstock.metrics.counts import true_positives as true_positives
from penstock.metrics.means import accuracy as accuracy
from penstock.metrics.means import mean as mean
from penstock.metrics.means import mean_absolute_error as mean_absolute_error
from penstock.metrics.means import mean_cosine_distance as mean_cosine_distance
from penstock.metrics.means import mean_iou as mean_iou
from penstock.metrics.means import mean_per_class_accuracy as mean_per_class_accuracy
from penstock.metrics.means import mean_relative_error as mean_relative_error
from penstock.metrics.means import mean_squared_error as mean_squared_error
from penstock.metrics.means import mean_tensor as mean_tensor
from penstock.metrics.means import percentage_below as percentage_below
from penstock.metrics.means import root_mean_squared_error as root_mean_squared_error
from penstock.metrics.ranking import average_precision_at_k as average_precision_at_k
from penstock.metrics.ranking import precision_at_k as precision_at_k
from penstock.metrics.ranking import precision_at_top_k as precision_at_top_k
from penstock.metrics.ranking import recall_at_k as recall_at_k
from penstock.metrics.ranking import recall_at_top_k as recall_at_top_k
from penstock.metrics.ranking import sparse_average_precision_at_k as sparse_average_precision_at_k
from penstock.metrics.ranking import sparse_precision_at_k as sparse_precision_at_k
from penstock.metrics.thresholds import auc as auc
from penstock.metrics.thresholds import false_negatives_at_thresholds as false_negatives_at_thresholds
from penstock.metrics.thresholds import false_positives_at_thresholds as false_positives_at_thresholds
from penstock.metrics.thresholds import precision_at_thresholds as precision_at_thresholds
from penstock.metrics.thresholds import recall_at_thresholds as recall_at_thresholds
from penstock.metrics.thresholds import sensitivity_at_specificity as sensitivity_at_specificity
from penstock.metrics.thresholds import specificity_at_sensitivity as specificity_at_sensitivity
from penstock.metrics.thresholds import true_negatives_at_thresholds as true_negatives_at_thresholds
from penstock.metrics.thresholds import true_positives_at_thresholds as true_positives_at_thresholds

__all__ = [
    "false_negatives", "false_positives", "precision", "recall", "true_negatives", "true_positives", "accuracy", "mean",
    "mean_absolute_error", "mean_cosine_distance", "mean_iou", "mean_per_class_accuracy", "mean_relative_error",
    "mean_squared_error", "mean_tensor", "percentage_below", "root_mean_squared_error", "average_precision_at_k",
    "precision_at_k", "precision_at_top_k", "recall_at_k", "recall_at_top_k", "sparse_average_precision_at_k",
    "sparse_precision_at_k", "auc", "false_negatives_at_thresholds", "false_positives_at_thresholds",
    "precision_at_thresholds", "recall_at_thresholds", "sensitivity_at_specificity", "specificity_at_sensitivity",
    "true_negatives_at_thresholds", "true_positives_at_thresholds"
]
