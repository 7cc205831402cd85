"""Trials as TensorBoard's HParams shows them: one run each, in the trial's folder, and the experiment above them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import optuna
from google.protobuf import struct_pb2
from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.trial import FrozenTrial, TrialState
from tensorboard.compat.proto import summary_pb2, tensor_pb2, tensor_shape_pb2, types_pb2
from tensorboard.plugins.hparams import api_pb2, metadata, plugin_data_pb2

from penstock.summary.writer import FileWriter

_SUFFIX = ".hparams"
_STATES = {TrialState.COMPLETE: api_pb2.STATUS_SUCCESS, TrialState.FAIL: api_pb2.STATUS_FAILURE}


def describe(study: optuna.Study, folder: Path, metric: str) -> None:
    """Write what the parameters and the metric are, in place of what was there (TensorBoard takes the first)."""
    for path in folder.glob(f"*tfevents*{_SUFFIX}"):
        path.unlink()
    distributions: dict[str, BaseDistribution] = {}
    for trial in study.get_trials(deepcopy=False):
        distributions.update(trial.distributions)
    experiment = api_pb2.Experiment(
        name=study.study_name,
        hparam_infos=[_info(name, distribution) for name, distribution in distributions.items()],
        metric_infos=[api_pb2.MetricInfo(name=api_pb2.MetricName(tag=metric), display_name=metric)],
    )
    with FileWriter(folder, filename_suffix=_SUFFIX) as writer:
        writer.add_summary(_summary(metadata.EXPERIMENT_TAG, plugin_data_pb2.HParamsPluginData(experiment=experiment)))


def add(trial: FrozenTrial, folder: Path, metric: str) -> None:
    """Write a trial that has ended: its values, what it reported, and how it ended."""
    start = plugin_data_pb2.SessionStartInfo(start_time_secs=_seconds(trial.datetime_start))
    for name, value in trial.params.items():
        start.hparams[name].CopyFrom(_value(value))
    end = plugin_data_pb2.SessionEndInfo(
        status=_STATES.get(trial.state, api_pb2.STATUS_UNKNOWN), end_time_secs=_seconds(trial.datetime_complete)
    )
    with FileWriter(folder, filename_suffix=_SUFFIX) as writer:
        data = plugin_data_pb2.HParamsPluginData(session_start_info=start)
        writer.add_summary(_summary(metadata.SESSION_START_INFO_TAG, data))
        values = dict(trial.intermediate_values)
        if trial.state == TrialState.COMPLETE and trial.value is not None:
            values[max(values, default=0)] = trial.value
        for step, value in sorted(values.items()):
            scalar = summary_pb2.Summary.Value(tag=metric, simple_value=value)
            writer.add_summary(summary_pb2.Summary(value=[scalar]), step)
        data = plugin_data_pb2.HParamsPluginData(session_end_info=end)
        writer.add_summary(_summary(metadata.SESSION_END_INFO_TAG, data))


def _info(name: str, distribution: BaseDistribution) -> Any:
    info = api_pb2.HParamInfo(name=name, type=api_pb2.DATA_TYPE_FLOAT64)
    if isinstance(distribution, CategoricalDistribution):
        kinds = {type(choice) for choice in distribution.choices}
        info.type = api_pb2.DATA_TYPE_BOOL if kinds == {bool} else api_pb2.DATA_TYPE_STRING
        if kinds <= {int, float}:
            info.type = api_pb2.DATA_TYPE_FLOAT64
        choices = distribution.choices if kinds <= {int, float, bool, str} else map(str, distribution.choices)
        info.domain_discrete.extend([choice if len(kinds) == 1 else str(choice) for choice in choices])
    else:
        info.domain_interval.min_value = float(distribution.low)  # type: ignore[attr-defined]
        info.domain_interval.max_value = float(distribution.high)  # type: ignore[attr-defined]
    return info


def _value(value: Any) -> Any:
    if isinstance(value, bool):
        return struct_pb2.Value(bool_value=value)
    if isinstance(value, int | float):
        return struct_pb2.Value(number_value=value)
    return struct_pb2.Value(string_value=str(value))


def _summary(tag: str, data: Any) -> Any:
    """In a summary of HParams everything is in the metadata; the tensor is there because readers drop empty ones."""
    found = summary_pb2.SummaryMetadata(plugin_data={"plugin_name": metadata.PLUGIN_NAME})
    data.version = metadata.PLUGIN_DATA_VERSION
    found.plugin_data.content = data.SerializeToString()
    nothing = tensor_pb2.TensorProto(
        dtype=types_pb2.DT_FLOAT, float_val=[0.0], tensor_shape=tensor_shape_pb2.TensorShapeProto()
    )
    return summary_pb2.Summary(value=[summary_pb2.Summary.Value(tag=tag, metadata=found, tensor=nothing)])


def _seconds(when: Any) -> float:
    return when.timestamp() if when is not None else 0.0
