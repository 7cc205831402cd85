"""Arguments of scikit-learn's estimators and functions as until 0.22: by position, and under the names of then."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from penstock.programs.removed.by_position import patch_public
from penstock.programs.report import REPORT

_RENAMED = {"n_iter": ("max_iter", "n_splits"), "affinity": ("metric",), "sparse": ("sparse_output",)}
"""Arguments, and what they are now: the first that there is."""
_LOST = {
    "iid",
    "presort",
    "precompute_distances",
    "n_jobs",
    "multi_class",
    "min_impurity_split",
    "reorder",
    "eps",
}
"""Arguments that changed how something was computed, not what."""
_VALUES = {
    ("loss", "log"): "log_loss",
    ("loss", "deviance"): "log_loss",
    ("loss", "ls"): "squared_error",
    ("loss", "squared_loss"): "squared_error",
    ("criterion", "mse"): "squared_error",
    ("criterion", "mae"): "absolute_error",
}
"""Values, and what they are now."""
_MODULES = (
    "cluster datasets decomposition ensemble feature_extraction feature_extraction.text feature_selection linear_model "
    "manifold metrics mixture model_selection naive_bayes neighbors neural_network preprocessing random_projection svm "
    "tree"
)
_BY_POSITION = (
    "calibration covariance cross_decomposition discriminant_analysis gaussian_process impute kernel_ridge multiclass "
    "multioutput pipeline utils utils.class_weight utils.multiclass"
)
"""Modules whose arguments have kept their names."""


def _fit(owner: Any, name: str, options: dict[str, Any], parameters: Mapping[str, Any]) -> None:
    for old in [key for key in options if key not in parameters]:
        new = next((each for each in _RENAMED.get(old, ()) if each in parameters), None)
        if new is None and old not in _LOST and not (old == "normalize" and name == "LinearRegression"):
            continue
        REPORT.use(f"{name}({old}=)", None)
        value = options.pop(old)
        if new is not None:
            options[new] = value
            if (old, name) in {("n_iter", "SGDClassifier"), ("n_iter", "SGDRegressor"), ("n_iter", "Perceptron")}:
                options["tol"] = None  # all of the epochs
    for key, value in list(options.items()):
        if isinstance(value, str) and (key, value) in _VALUES and key in parameters:
            options[key] = _VALUES[key, value]
    if options.get("max_features") == "auto" and hasattr(owner, "fit"):
        options["max_features"] = "sqrt" if "Classifier" in name else 1.0
    if options.get("algorithm") == "SAMME.R":
        del options["algorithm"]
    if name in ("KFold", "StratifiedKFold") and not options.get("shuffle"):
        options.pop("random_state", None)  # which did nothing


def _patch(module: Any) -> None:
    patch_public(module, _fit)
    for name in ("CountVectorizer", "TfidfVectorizer", "DictVectorizer"):
        cls = getattr(module, name, None)
        if cls is not None and not hasattr(cls, "get_feature_names"):
            cls.get_feature_names = lambda self: self.get_feature_names_out().tolist()


def _classes(owner: Any, name: str, options: dict[str, Any], parameters: Mapping[str, Any]) -> None:
    if name == "compute_class_weight" and isinstance(options.get("classes"), list | tuple):
        import numpy as np

        options["classes"] = np.asarray(options["classes"])


def _patch_positions(module: Any) -> None:
    patch_public(module, _classes)


PATCHES: dict[str, Callable[[Any], None]] = {
    **{f"sklearn.{name}": _patch_positions for name in _BY_POSITION.split()},
    **{f"sklearn.{name}": _patch for name in _MODULES.split()},
}
