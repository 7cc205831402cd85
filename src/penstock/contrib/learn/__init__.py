"""tf.contrib.learn: Estimators as they were before tf.estimator, on top of it; processing of texts, small data sets."""

from penstock.api.namespace import open_namespace
from penstock.api.old_paths import add_module
from penstock.contrib.learn import (
    datasets as _datasets,
    estimator as _estimator,
    experiment as _experiment,
    export_strategy as _export_strategy,
    graph_actions as _graph_actions,
    graph_io as _graph_io,
    inputs as _inputs,
    metric_spec as _metric_spec,
    mnist as _mnist,
    model_fn as _model_fn,
    models as models,
    monitors as monitors,
    network_ops as _network_ops,
    preprocessing as preprocessing,
    rnn_common as _rnn_common,
    run_config as _run_config,
    serving as _serving_inputs,
    tensor_signature as _tensor_signature,
)
from penstock.estimator.inputs.pandas_io import pandas_input_fn as _pandas_input_fn
from penstock.training_loop import monitored_session as _monitored_session

_learn = f"{__name__}.python.learn"
_run = {"run": _experiment.run}
_input_functions = {"numpy_input_fn": _inputs.numpy_input_fn, "pandas_input_fn": _pandas_input_fn}
_serving = {
    name: getattr(_serving_inputs, name)
    for name in ("InputFnOps", "build_parsing_serving_input_fn", "build_default_serving_input_fn")
}
_ops = {name: getattr(models, name) for name in ("mean_squared_error_regressor", "softmax_classifier")}
_parts = ("categorical_variable", "conv2d", "dnn", "dropout", "one_hot_matrix", "split_squeeze")
_ops |= {name: getattr(_network_ops, name) for name in _parts}
_export_utils = {
    name: getattr(_export_strategy, name) for name in ("make_export_strategy", "make_parsing_export_strategy")
}
_infer = {
    name: getattr(_inputs, name)
    for name in ("infer_real_valued_columns_from_input", "infer_real_valued_columns_from_input_fn")
}

add_module(_learn)
for _path in (__name__, _learn):
    for _name, _sources, _members in (
        ("datasets", (_datasets,), {}),
        ("datasets.base", (_datasets,), {}),
        ("datasets.mnist", (_mnist,), {}),
        ("learn_runner", (), _run),
        ("io", (_graph_io,), _input_functions),
        ("ops", (), _ops),
        ("utils", (), _serving | {"make_export_strategy": _export_strategy.make_export_strategy}),
        ("utils.input_fn_utils", (), _serving),
        ("utils.saved_model_export_utils", (), _export_utils),
        ("monitors", (monitors,), {}),
    ):
        add_module(f"{_path}.{_name}", *_sources, **_members)
for _name, _source in (
    ("models", models),
    ("preprocessing", preprocessing),
    ("preprocessing.text", preprocessing),
    ("preprocessing.categorical_vocabulary", preprocessing),
    ("estimators.run_config", _run_config),
    ("estimators.model_fn", _model_fn),
    ("estimators.estimator", _estimator),
    ("estimators.rnn_common", _rnn_common),
    ("estimators.tensor_signature", _tensor_signature),
    ("run_config", _run_config),
    ("metric_spec", _metric_spec),
    ("experiment", _experiment),
    ("export_strategy", _export_strategy),
    ("graph_actions", _graph_actions),
    ("learn_io.graph_io", _graph_io),
    ("monitored_session", _monitored_session),
):
    add_module(f"{_learn}.{_name}", _source)
    if _name.startswith("estimators."):
        add_module(f"{__name__}.estimators", _source)
        add_module(f"{__name__}.{_name}", _source)
add_module(f"{_learn}.estimators.estimator", **_infer)

open_namespace(__name__)
