# Written by `python -m penstock.api.generate`.
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

__all__ = [
    "binary_classification_head", "multi_class_head", "multi_label_head", "DNNLinearCombinedEstimator", "DNNEstimator",
    "LinearEstimator", "multi_head", "logistic_regression_head", "poisson_regression_head", "regression_head"
]
