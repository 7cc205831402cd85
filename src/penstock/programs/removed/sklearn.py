"""What scikit-learn has removed since 0.18."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from penstock.programs.removed.giving import ModuleOf, Source, give, rename_keywords
from penstock.programs.report import REPORT

MSG_NO_MLDATA = (
    "mldata.org is no more, and {file} is not there. sklearn.datasets.fetch_openml(name, as_frame=False) downloads the "
    "same data sets: 'MNIST original' is 'mnist_784' there."
)


mnist: Callable[[], tuple[Any, Any]] | None = None
"""What stands in for MNIST [n, 784] and its labels as floats, if anything does (programs/digits.py)."""


class OldKFold:
    """Folds of `n` examples (or of labels), as cross_validation had them: an iterable of train and test indices."""

    kind = "KFold"

    def __init__(self, n: Any, n_folds: int = 3, shuffle: bool = False, random_state: Any = None) -> None:
        from sklearn import model_selection

        self._examples = n
        self.n_folds = n_folds
        made = getattr(model_selection, self.kind)
        self._folds = made(n_folds, shuffle=shuffle, random_state=random_state if shuffle else None)

    def __iter__(self) -> Iterator[Any]:
        labels = None if isinstance(self._examples, int) else self._examples
        count = self._examples if labels is None else len(self._examples)
        return self._folds.split([[0]] * count, labels)

    def __len__(self) -> int:
        return self.n_folds


class OldStratifiedKFold(OldKFold):
    kind = "StratifiedKFold"


def linear_assignment(costs: Any) -> Any:
    import numpy as np
    from scipy.optimize import linear_sum_assignment

    return np.stack(linear_sum_assignment(costs), axis=1)


def imputer(
    missing_values: Any = "NaN", strategy: str = "mean", axis: int = 0, verbose: int = 0, copy: bool = True
) -> Any:
    from sklearn.impute import SimpleImputer

    if axis:
        raise ValueError("Imputer(axis=1) is no more: transpose the examples")
    return SimpleImputer(
        missing_values=float("nan") if missing_values == "NaN" else missing_values, strategy=strategy, copy=copy
    )


def load_boston(return_X_y: bool = False) -> Any:
    """The prices of houses that came with scikit-learn until 1.1: data [506, 13], target [506], feature_names."""
    import numpy as np
    from sklearn.utils import Bunch

    from penstock.keras.datasets import houses

    data, target = houses.houses()
    if return_X_y:
        return data, target
    return Bunch(data=data, target=target, feature_names=np.array(houses.columns()), DESCR=houses.__doc__)


def fetch_mldata(
    dataname: str,
    target_name: Any = "label",
    data_name: Any = "data",
    transpose_data: bool = True,
    data_home: Any = None,
) -> Any:
    """A data set in the files that scikit-learn kept of mldata.org: data [n, k] and target [n] if it has both, or its
    columns by their names. target_name, data_name: names or numbers of columns. Raises FileNotFoundError."""
    from scipy.io import loadmat
    from sklearn.datasets import get_data_home
    from sklearn.utils import Bunch

    name = re.sub(r"[().]", "", dataname.lower().replace(" ", "-"))
    if name == "mnist-original" and mnist is not None:
        images, labels = mnist()
        return Bunch(DESCR=f"mldata.org dataset: {name}", COL_NAMES=["label", "data"], data=images, target=labels)
    file = Path(get_data_home(data_home)) / "mldata" / f"{name}.mat"
    if not file.is_file():
        raise FileNotFoundError(MSG_NO_MLDATA.format(file=file))
    columns = loadmat(file)
    names = [str(column[0]) for column in columns["mldata_descr_ordering"][0]]
    target, data = (
        names[given] if isinstance(given, int) and given < len(names) else given for given in (target_name, data_name)
    )
    found = Bunch(DESCR=f"mldata.org dataset: {name}", COL_NAMES=names)
    for column in names:
        found[{target: "target", data: "data"}.get(column, column)] = columns[column]
    if transpose_data and "data" in found:
        found.data = found.data.T
    if "target" in found:
        found.target = found.target.squeeze()
    return found


def _pca() -> Any:
    from sklearn.decomposition import PCA

    return PCA


NAMES: dict[str, dict[str, Source]] = {
    "sklearn.datasets": {
        "fetch_mldata": f"{__name__}:fetch_mldata",
        "load_boston": f"{__name__}:load_boston",
    },
    "sklearn.mixture": {"GMM": "sklearn.mixture:GaussianMixture"},
    "sklearn.decomposition": {"RandomizedPCA": lambda: functools.partial(_pca(), svd_solver="randomized")},
    "sklearn.metrics": {
        "calinski_harabaz_score": "sklearn.metrics:calinski_harabasz_score",
        "jaccard_similarity_score": "sklearn.metrics:accuracy_score",  # of one label each it was the same
    },
    "sklearn.preprocessing": {"Imputer": f"{__name__}:imputer"},
}
KEYWORDS: dict[str, dict[str, dict[str, str | None]]] = {
    "sklearn.preprocessing": {"OneHotEncoder": {"n_values": None}},
}
"""By module and class: keywords of what makes it."""


def _patch(name: str) -> Callable[[Any], None]:
    def patch(module: Any) -> None:
        for cls, keywords in KEYWORDS.get(name, {}).items():
            rename_keywords(getattr(module, cls), "__init__", keywords, cls)
        if name in NAMES:
            give(module, NAMES[name])

    return patch


def _patch_base(base: Any) -> None:
    """Parameters that an estimator has not kept as attributes are None."""
    get_params = base.BaseEstimator.get_params

    def found(self: Any, deep: bool = True) -> dict[str, Any]:
        names = self._get_param_names()
        if all(hasattr(self, name) for name in names):
            return dict(get_params(self, deep))
        REPORT.use("BaseEstimator.get_params without attributes", None)
        params: dict[str, Any] = {name: getattr(self, name, None) for name in names}
        inner = {name: value.get_params() for name, value in params.items() if deep and hasattr(value, "get_params")}
        return params | {f"{name}__{key}": each for name, found in inner.items() for key, each in found.items()}

    base.BaseEstimator.get_params = found


PATCHES: dict[str, Callable[[Any], None]] = {
    "sklearn.base": _patch_base,
    **{name: _patch(name) for name in NAMES.keys() | KEYWORDS.keys()},
}
_SELECTION = "sklearn.model_selection"
INNER = {
    "cluster": "affinity_propagation_ bicluster birch dbscan_ mean_shift_ optics_ spectral",
    "covariance": "elliptic_envelope empirical_covariance_ graph_lasso_ robust_covariance shrunk_covariance_",
    "cross_decomposition": "pls_",
    "datasets": "california_housing covtype kddcup99 lfw olivetti_faces openml rcv1 species_distributions "
    "twenty_newsgroups",
    "decomposition": "base dict_learning factor_analysis fastica_ incremental_pca kernel_pca nmf pca sparse_pca "
    "truncated_svd",
    "ensemble": "bagging base forest gradient_boosting iforest voting weight_boosting",
    "feature_extraction": "dict_vectorizer stop_words",
    "feature_selection": "base from_model mutual_info_ rfe univariate_selection variance_threshold",
    "gaussian_process": "gpc gpr",
    "linear_model": "base bayes coordinate_descent huber least_angle logistic omp passive_aggressive perceptron ransac "
    "ridge sag stochastic_gradient theil_sen",
    "manifold": "isomap locally_linear mds spectral_embedding_ t_sne",
    "metrics": "base classification ranking regression",
    "metrics.cluster": "bicluster supervised unsupervised",
    "mixture": "base bayesian_mixture gaussian_mixture",
    "neighbors": "base classification graph kde lof nearest_centroid regression unsupervised",
    "neural_network": "multilayer_perceptron rbm",
    "preprocessing": "data label",
    "semi_supervised": "label_propagation",
    "svm": "base bounds classes",
    "tree": "export tree",
}
"""By package: modules that are private since scikit-learn 0.22, with a _ before their names instead of one behind."""
MODULES = {
    **{
        f"sklearn.{package}.{name}": ModuleOf(f"sklearn.{package}._{name.rstrip('_')}")
        for package, names in INNER.items()
        for name in names.split()
    },
    "sklearn.cluster.hierarchical": ModuleOf("sklearn.cluster._agglomerative"),
    "sklearn.cluster.k_means_": ModuleOf("sklearn.cluster._kmeans"),
    "sklearn.cross_validation": ModuleOf(
        _SELECTION, {f"{name}KFold": f"{__name__}:Old{name}KFold" for name in ("", "Stratified")}
    ),
    "sklearn.datasets.base": ModuleOf("sklearn.datasets", {"Bunch": "sklearn.utils:Bunch"}),
    "sklearn.datasets.samples_generator": ModuleOf("sklearn.datasets"),
    "sklearn.externals.joblib": ModuleOf("joblib"),
    "sklearn.externals.six": ModuleOf("six"),
    "sklearn.grid_search": ModuleOf(_SELECTION),
    "sklearn.learning_curve": ModuleOf(_SELECTION),
    "sklearn.lda": ModuleOf(
        "sklearn.discriminant_analysis", {"LDA": "sklearn.discriminant_analysis:LinearDiscriminantAnalysis"}
    ),
    "sklearn.qda": ModuleOf(
        "sklearn.discriminant_analysis", {"QDA": "sklearn.discriminant_analysis:QuadraticDiscriminantAnalysis"}
    ),
    "sklearn.metrics.scorer": ModuleOf("sklearn.metrics"),
    "sklearn.preprocessing.imputation": ModuleOf(None, {"Imputer": f"{__name__}:imputer"}),
    "sklearn.utils.linear_assignment_": ModuleOf(None, {"linear_assignment": f"{__name__}:linear_assignment"}),
    "sklearn.utils.testing": ModuleOf("sklearn.utils._testing"),
}
