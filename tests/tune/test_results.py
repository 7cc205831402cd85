"""What a search leaves in its folder, and what programs report while they are trained."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.trial import TrialState
from PIL import Image
from tensorboard.backend.event_processing.plugin_event_multiplexer import EventMultiplexer
from tensorboard.plugins.hparams import plugin_data_pb2

import penstock as tf
from penstock.tune.slices import slices_of

SPACE = {
    "rate": {"type": "float", "low": 1e-4, "high": 1, "log": True},
    "units": {"type": "int", "low": 1, "high": 9},
    "kind": ["a", "b"],
    "deep": {"choices": [True, False], "when": {"kind": "a"}},
}


def _objective(values: dict[str, Any]) -> float:
    if values["units"] == 9:
        raise ValueError("9 are too many")
    tf.tune.report(1.0, 0)
    return float(np.log10(values["rate"]) ** 2 + values["units"] + values.get("deep", 0.5))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[optuna.Study, Path]:
    folder = tmp_path_factory.mktemp("search")
    sampler = optuna.samplers.RandomSampler(seed=1)
    return tf.tune.run(_objective, SPACE, 16, sampler=sampler, folder=folder, progress=False), folder


def test_a_table_has_all_trials(found: tuple[optuna.Study, Path]) -> None:
    study, folder = found
    with (folder / "trials.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 16
    for row, trial in zip(rows, study.trials, strict=True):
        failed = trial.params["units"] == 9
        assert row["state"] == ("fail" if failed else "complete")
        assert row["error"] == ("ValueError: 9 are too many" if failed else "")
        assert row["value"] == ("" if failed else str(trial.value))
        assert float(row["rate"]) == trial.params["rate"]
        assert row["deep"] == str(trial.params.get("deep", ""))
    assert any(row["state"] == "fail" for row in rows)


def test_tensorboard_shows_parameters_and_values_of_all_trials(found: tuple[optuna.Study, Path]) -> None:
    """As TensorBoard's own backend reads them."""
    study, folder = found
    multiplexer = EventMultiplexer()
    multiplexer.AddRunsFromDirectory(str(folder))
    multiplexer.Reload()

    def data(run: str, tag: str) -> Any:
        metadata = multiplexer.SummaryMetadata(run, f"_hparams_/{tag}")
        return plugin_data_pb2.HParamsPluginData.FromString(metadata.plugin_data.content)

    experiment = data(".", "experiment").experiment
    assert {info.name for info in experiment.hparam_infos} == set(SPACE)
    assert [info.name.tag for info in experiment.metric_infos] == ["objective"]
    for trial in study.trials:
        run = f"trials/{trial.number:04}"
        start = data(run, "session_start_info").session_start_info
        shown = {name: getattr(value, value.WhichOneof("kind")) for name, value in start.hparams.items()}
        assert shown == trial.params
        failed = trial.state == TrialState.FAIL
        assert data(run, "session_end_info").session_end_info.status == (2 if failed else 1)
        if not failed:
            values = [event.tensor_proto for event in multiplexer.Tensors(run, "objective")]
            assert tf.make_ndarray(values[-1]) == pytest.approx(trial.value)


def test_a_picture_shows_the_search(found: tuple[optuna.Study, Path]) -> None:
    _, folder = found
    with Image.open(folder / "search.png") as picture:
        assert picture.size == (3 * 360, 2 * 260)
        assert len(picture.convert("RGB").getcolors(1 << 20) or ()) > 100


def test_the_band_of_a_slice_holds_what_the_objective_is_there() -> None:
    def objective(values: dict[str, Any]) -> float:
        return float((values["x"] - 0.3) ** 2 + np.sin(values["y"]))

    space = {"x": {"type": "float", "low": 0, "high": 1}, "y": {"type": "float", "low": 0, "high": 3}}
    study = tf.tune.run(objective, space, 25, sampler=optuna.samplers.RandomSampler(seed=0), progress=False)
    best = study.best_params
    for found in slices_of(study, ["x", "y"]):
        assert found.mean is not None and found.deviation is not None
        at = [{**best, found.name: found.dimension.decode(unit)} for unit in found.units]
        true = np.array([objective(values) for values in at])
        assert np.mean(np.abs(true - found.mean) <= 2 * found.deviation + 1e-3) > 0.85
        assert np.abs(true - found.mean).max() < 0.2 * np.ptp(true) + 0.05


def test_a_hook_reports_and_prunes_what_a_monitored_session_trains() -> None:
    def objective(values: dict[str, Any]) -> float:
        with tf.Graph().as_default():
            step = tf.train.get_or_create_global_step()
            loss = tf.constant(values["x"]) * tf.cast(step, tf.float32)
            with tf.control_dependencies([loss]):
                train = step.assign_add(1)
            hooks = [tf.tune.PruningHook(loss, every_n_steps=5), tf.train.StopAtStepHook(12)]
            with tf.train.MonitoredSession(hooks=hooks) as session:
                while not session.should_stop():
                    session.run(train)
        return float(values["x"])

    sampler = optuna.samplers.GridSampler({"x": [1.0, 9.0]}, seed=0)
    pruner = optuna.pruners.ThresholdPruner(upper=20.0)
    study = tf.tune.run(objective, {"x": [1.0, 9.0]}, 2, sampler=sampler, pruner=pruner, progress=False)
    found = {trial.params["x"]: trial for trial in study.trials}
    assert (found[1.0].state, list(found[1.0].intermediate_values)) == (TrialState.COMPLETE, [1, 6, 11, 12])
    assert (found[9.0].state, list(found[9.0].intermediate_values)) == (TrialState.PRUNED, [1, 6])


def test_a_callback_reports_and_prunes_what_fit_trains() -> None:
    def objective(values: dict[str, Any]) -> float:
        tf.keras.backend.clear_session()
        model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="ones", input_shape=(1,))])
        model.compile(tf.train.GradientDescentOptimizer(values["rate"]), "mse")
        x = np.ones([4, 1], np.float32)
        history = model.fit(x, 0 * x, epochs=4, verbose=0, callbacks=[tf.tune.PruningCallback("loss")])
        assert len(history.history["loss"]) == (4 if values["rate"] < 1 else 2)
        return float(history.history["loss"][-1])

    sampler = optuna.samplers.GridSampler({"rate": [0.1, 1.5]}, seed=0)
    pruner = optuna.pruners.ThresholdPruner(upper=2.0)
    study = tf.tune.run(objective, {"rate": [0.1, 1.5]}, 2, sampler=sampler, pruner=pruner, progress=False)
    assert {trial.params["rate"]: len(trial.intermediate_values) for trial in study.trials} == {0.1: 4, 1.5: 2}
