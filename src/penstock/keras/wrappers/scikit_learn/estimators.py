"""Models as estimators of scikit-learn (TF: tf.keras.wrappers.scikit_learn), which need not be installed."""

from __future__ import annotations

import copy
import inspect
from typing import Any

import numpy as np

from penstock.export import export
from penstock.keras.engine.arguments import parameters_of
from penstock.keras.engine.sequential import Sequential
from penstock.keras.losses import functions as losses
from penstock.keras.nested import flat
from penstock.keras.utils.arrays import to_categorical


class BaseWrapper:
    """A function that builds a compiled model, as an estimator.

    build_fn: the function, an object with `__call__`, or None if a subclass has `__call__`. sk_params: arguments of it,
    of `fit`, `predict` and `evaluate`.
    """

    model: Any
    _estimator_type: str

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn from 1.6 on asks an estimator."""
        from sklearn.utils import ClassifierTags, RegressorTags, Tags, TargetTags

        kind = self._estimator_type
        return Tags(
            estimator_type=kind,
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags() if kind == "classifier" else None,
            regressor_tags=RegressorTags() if kind == "regressor" else None,
        )

    def __sklearn_is_fitted__(self) -> bool:
        """What scikit-learn from 1.0 on asks an estimator that a pipeline ends with (it has no names like `coef_`)."""
        return hasattr(self, "model")

    def __init__(self, build_fn: Any = None, **sk_params: Any) -> None:
        self.build_fn, self.sk_params = build_fn, sk_params
        self.check_params(sk_params)

    def check_params(self, params: dict[str, Any]) -> None:
        """Raise ValueError if a parameter is one of no function."""
        known = (Sequential.fit, Sequential.predict, Sequential.predict_classes, Sequential.evaluate, self._builder())
        for name in params:
            if name != "nb_epoch" and not any(name in parameters_of(function) for function in known):
                raise ValueError(f"{name} is not a legal parameter")

    def __call__(self, **kwargs: Any) -> Any:
        raise ValueError("Give `build_fn`, or define `__call__` in a subclass: what builds and compiles the model.")

    def _builder(self) -> Any:
        if self.build_fn is None:
            return type(self).__call__
        plain = inspect.isfunction(self.build_fn) or inspect.ismethod(self.build_fn)
        return self.build_fn if plain else type(self.build_fn).__call__

    def get_params(self, deep: bool = True, **params: Any) -> dict[str, Any]:
        return {**copy.deepcopy(self.sk_params), "build_fn": self.build_fn}

    def set_params(self, **params: Any) -> Any:
        self.check_params(params)
        self.sk_params.update(params)
        return self

    def filter_sk_params(self, fn: Any, override: Any = None) -> dict[str, Any]:
        """The parameters that `fn` takes, those in `override` first."""
        return {name: v for name, v in self.sk_params.items() if name in parameters_of(fn)} | (override or {})

    def fit(self, x: Any, y: Any, **kwargs: Any) -> Any:
        """Build a model and train it; returns the History."""
        build = self if self.build_fn is None else self.build_fn
        self.model = build(**self.filter_sk_params(self._builder()))
        y = np.asarray(y)
        loss = self.model.loss
        if losses.get(loss) is losses.categorical_crossentropy and y.ndim != 2:
            y = to_categorical(y)
        return self.model.fit(x, y, **self.filter_sk_params(Sequential.fit, kwargs))

    def _evaluated(self, x: Any, y: Any, kwargs: dict[str, Any]) -> list[float]:
        found: list[float] = flat(self.model.evaluate(x, y, **self.filter_sk_params(Sequential.evaluate, kwargs)))
        return found


@export("keras.wrappers.scikit_learn.KerasClassifier")
class KerasClassifier(BaseWrapper):
    """A classifier; labels may be anything that can be sorted."""

    _estimator_type = "classifier"

    def fit(self, x: Any, y: Any, **kwargs: Any) -> Any:
        """Train on labels [n], or on probabilities [n, classes]."""
        y = np.asarray(y)
        if y.ndim == 2 and y.shape[1] > 1:
            self.classes_ = np.arange(y.shape[1])
        elif y.ndim == 1 or (y.ndim == 2 and y.shape[1] == 1):
            self.classes_ = np.unique(y)
            y = np.searchsorted(self.classes_, y)
        else:
            raise ValueError(f"Invalid shape for y: {y.shape}")
        self.n_classes_ = len(self.classes_)
        return super().fit(x, y, **kwargs)

    def predict(self, x: Any, **kwargs: Any) -> Any:
        """The likeliest label of each sample."""
        kwargs = self.filter_sk_params(Sequential.predict_classes, kwargs)
        return self.classes_[self.model.predict_classes(x, **kwargs)]

    def predict_proba(self, x: Any, **kwargs: Any) -> Any:
        """The probability of each label."""
        found = self.model.predict(x, **self.filter_sk_params(Sequential.predict_proba, kwargs))
        return np.hstack([1 - found, found]) if found.shape[1] == 1 else found

    def score(self, x: Any, y: Any, **kwargs: Any) -> float:
        """The accuracy, which must be one of the model's metrics."""
        y = np.searchsorted(self.classes_, np.asarray(y))
        if losses.get(self.model.loss) is losses.categorical_crossentropy and y.ndim != 2:
            y = to_categorical(y, self.n_classes_)
        for name, value in zip(self.model.reported_names(), self._evaluated(x, y, kwargs), strict=True):
            if name in ("acc", "accuracy"):
                return value
        raise ValueError(
            "The model is not configured to compute accuracy. You should pass `metrics=['accuracy']` to the "
            "`model.compile()` method."
        )


@export("keras.wrappers.scikit_learn.KerasRegressor")
class KerasRegressor(BaseWrapper):
    """A regressor."""

    _estimator_type = "regressor"

    def predict(self, x: Any, **kwargs: Any) -> Any:
        """The prediction for each sample."""
        return np.squeeze(self.model.predict(x, **self.filter_sk_params(Sequential.predict, kwargs)))

    def score(self, x: Any, y: Any, **kwargs: Any) -> float:
        """Minus the loss."""
        return -self._evaluated(x, y, kwargs)[0]
