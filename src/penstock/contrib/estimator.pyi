# Written by `python -m penstock.api.generate`.
from penstock.estimator.canned.boosted_trees_in_memory import boosted_trees_classifier_train_in_memory as boosted_trees_classifier_train_in_memory
from penstock.estimator.canned.boosted_trees_in_memory import boosted_trees_regressor_train_in_memory as boosted_trees_regressor_train_in_memory
from penstock.estimator.canned.class_heads import binary_classification_head as binary_classification_head
from penstock.estimator.canned.class_heads import multi_class_head as multi_class_head
from penstock.estimator.canned.class_heads import multi_label_head as multi_label_head
from penstock.estimator.canned.combined import DNNLinearCombinedEstimator as DNNLinearCombinedEstimator
from penstock.estimator.canned.dnn import DNNEstimator as DNNEstimator
from penstock.estimator.canned.linear import LinearEstimator as LinearEstimator
from penstock.estimator.canned.multi_head import multi_head as multi_head
from penstock.estimator.canned.regression_heads import logistic_regression_head as logistic_regression_head
from penstock.estimator.canned.regression_heads import poisson_regression_head as poisson_regression_head
from penstock.estimator.canned.regression_heads import regression_head as regression_head
from penstock.estimator.early_stopping import make_early_stopping_hook as make_early_stopping_hook
from penstock.estimator.early_stopping import read_eval_metrics as read_eval_metrics
from penstock.estimator.early_stopping import stop_if_higher_hook as stop_if_higher_hook
from penstock.estimator.early_stopping import stop_if_lower_hook as stop_if_lower_hook
from penstock.estimator.early_stopping import stop_if_no_decrease_hook as stop_if_no_decrease_hook
from penstock.estimator.early_stopping import stop_if_no_increase_hook as stop_if_no_increase_hook
from penstock.estimator.extenders import add_metrics as add_metrics
from penstock.estimator.extenders import clip_gradients_by_norm as clip_gradients_by_norm
from penstock.estimator.extenders import forward_features as forward_features
from penstock.estimator.towers import TowerOptimizer as TowerOptimizer
from penstock.estimator.towers import replicate_model_fn as replicate_model_fn

__all__ = [
    "boosted_trees_classifier_train_in_memory", "boosted_trees_regressor_train_in_memory", "binary_classification_head",
    "multi_class_head", "multi_label_head", "DNNLinearCombinedEstimator", "DNNEstimator", "LinearEstimator",
    "multi_head", "logistic_regression_head", "poisson_regression_head", "regression_head", "make_early_stopping_hook",
    "read_eval_metrics", "stop_if_higher_hook", "stop_if_lower_hook", "stop_if_no_decrease_hook",
    "stop_if_no_increase_hook", "add_metrics", "clip_gradients_by_norm", "forward_features", "TowerOptimizer",
    "replicate_model_fn"
]
