"""tf.profiler on models and steps of Penstock itself."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tensorboard.compat.proto import tfprof_log_pb2

import penstock as tf
from penstock.profiler.float_operations import float_operations
from tests.profiler.recorded import RECORDED, made_up, model

OPTIONS = tf.profiler.ProfileOptionBuilder
QUIET = OPTIONS(OPTIONS.time_and_memory(min_micros=0, min_bytes=0)).with_empty_output().build()


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


def traced() -> Any:
    fetches, feeds = model(tf)
    metadata = tf.RunMetadata()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(fetches, feeds, tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), metadata)
    return metadata


def test_parameters_and_float_operations_of_the_same_model_are_those_of_tensorflow() -> None:
    with gzip.open(RECORDED) as file:
        recorded = json.load(file)
    model(tf)
    found = tf.profiler.profile(options=dict(OPTIONS.trainable_variables_parameter(), output="none"))
    assert found.total_parameters == 353
    for name, count in recorded["float operations"].items():
        if not name.startswith(("gradients", "images/depthwise")):  # there, other nodes do the same
            operation = tf.get_default_graph().get_operation_by_name(name)
            assert (float_operations(operation) or 0) == count, name


def test_a_step_has_times_and_memory() -> None:
    metadata = traced()
    found = tf.profiler.profile(run_meta=metadata, cmd="scope", options=QUIET)
    stats = [node for device in metadata.step_stats.dev_stats for node in device.node_stats]
    assert found.total_exec_micros == sum(node.op_end_rel_micros for node in stats if node.op_end_rel_nanos)
    scopes = {child.name: child for child in found.children}
    assert scopes["images"].total_exec_micros > 0
    assert scopes["images"].total_requested_bytes >= 4 * 4 * 4 * 8 * 4


def test_by_default_parameters_go_to_the_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    tf.get_variable("w", [3, 4])
    tf.profiler.profile()
    assert capsys.readouterr().out.endswith("_TFProfRoot (--/12 params)\n  w (3x4, 12/12 params)\n")


def test_compiled_nodes_count_for_the_line_of_their_last_member(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_COMPILE", "on")
    x = tf.placeholder(tf.float32, [8, 4])
    y = tf.tanh(tf.matmul(x, tf.ones([4, 4])))
    metadata = tf.RunMetadata()
    with tf.Session() as session:
        session.run(y, {x: np.ones([8, 4])}, tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), metadata)
    options = dict(OPTIONS.time_and_memory(), output="none")
    by_line, by_scope = (tf.profiler.profile(run_meta=metadata, cmd=cmd, options=options) for cmd in ("code", "scope"))
    assert by_line.total_exec_micros >= 0.9 * by_scope.total_exec_micros > 0


def test_time_that_is_known_of_members_counts_once() -> None:
    for name in ("a", "b", "c"):
        tf.constant(1.0, name=name)
    metadata = tf.RunMetadata()
    device = metadata.step_stats.dev_stats.add(device="/job:localhost/replica:0/task:0/device:CPU:0")
    for name, op, start, micros in (("b/region", "_Region", 0, 90), ("a", "Const", 10, 20), ("b", "Const", 30, 0),
                                    ("c", "Const", 90, 5)):  # fmt: skip
        nanos = {"all_start_nanos": 1000 * (7 + start), "all_end_rel_nanos": 1000 * micros}
        label = f"{name} = {op}(x)"
        device.node_stats.add(
            node_name=name, timeline_label=label, op_end_rel_micros=micros, op_end_rel_nanos=1000 * micros, **nanos
        )
    assert tf.profiler.profile(run_meta=metadata, cmd="scope", options=QUIET).total_exec_micros == 90 + 5
    ops = tf.profiler.profile(run_meta=metadata, cmd="op", options=QUIET)
    found = {}
    while ops.children:
        (ops,) = ops.children
        found[ops.name] = ops.exec_micros
    assert found == {"_Region": 70, "Const": 25}


def test_lines_that_built_nodes_count_for_what_they_built() -> None:
    x = tf.ones([2, 3])
    w = tf.get_variable("w", [3, 5])
    y = tf.matmul(x, w)  # counted
    tf.gradients(y, x)
    found = tf.profiler.profile(cmd="code", options=dict(OPTIONS.float_operation(), output="none", min_float_ops=50))
    line = next(number for number, text in enumerate(Path(__file__).read_text().splitlines(), 1) if "# counted" in text)
    name = f"test_profiler.py:{line}:test_lines_that_built_nodes_count_for_what_they_built"
    names: dict[str, int] = {}
    waiting = [found]
    while waiting:
        node = waiting.pop()
        waiting += node.children
        names[node.name] = node.total_float_ops
    assert names[name] == 2 * 2 * 3 * 5
    assert names[f"{name} (gradient)"] == 2 * names[name]  # by both factors


def test_steps_are_averaged_or_looked_at_one_by_one() -> None:
    tf.constant(1.0, name="a")
    profiler = tf.profiler.Profiler(tf.get_default_graph())
    for step, micros in ((3, 10), (7, 30)):
        metadata = tf.RunMetadata()
        device = metadata.step_stats.dev_stats.add(device="/job:localhost/replica:0/task:0/device:CPU:0")
        device.node_stats.add(node_name="a", all_start_micros=5, op_end_rel_micros=micros, all_end_rel_micros=micros)
        profiler.add_step(step, metadata)
    found = [profiler.profile_name_scope(dict(QUIET, step=step)).total_exec_micros for step in (3, 7, -1)]
    assert found == [10, 30, 20]
    assert profiler.profile_operations(QUIET).children[0].name == "Const"
    assert profiler.profile_graph(QUIET).children[0].name == "a"
    profile = tfprof_log_pb2.ProfileProto.FromString(profiler.serialize_to_string())
    assert list(profile.steps) == [3, 7]
    assert {node.name for node in profile.nodes.values()} == {"a"}


def test_a_timeline_of_the_step_can_be_written(tmp_path: Path) -> None:
    metadata = traced()
    options = OPTIONS(OPTIONS.time_and_memory()).with_timeline_output(f"{tmp_path}/timeline").build()
    tf.profiler.profile(run_meta=metadata, cmd="graph", options=options)
    names = {
        event.get("args", {}).get("name") for event in json.loads((tmp_path / "timeline").read_text())["traceEvents"]
    }
    assert "images/MaxPool" in names
    with pytest.raises(tf.errors.InvalidArgumentError, match="needs a step"):
        tf.profiler.profile(cmd="graph", options=options)


def test_advice_is_that_of_tensorflow(capsys: pytest.CaptureFixture[str]) -> None:
    with gzip.open(RECORDED) as file:
        recorded = json.load(file)["profiles"]["advice about made up"]
    model(tf)
    found = tf.profiler.advise(run_meta=made_up(tf.RunMetadata))
    assert set(found.checkers) == {"ExpensiveOperationChecker", "AcceleratorUtilizationChecker", "OperationChecker"}
    for name in ("AcceleratorUtilizationChecker", "OperationChecker"):
        assert list(found.checkers[name].reports) == recorded[name]
    for found_report, report in list(
        zip(found.checkers["ExpensiveOperationChecker"].reports, recorded["ExpensiveOperationChecker"], strict=True)
    )[:2]:
        assert found_report == report
    assert "low utilization" in capsys.readouterr().out


def test_an_op_log_gives_types_and_operations_and_can_be_written(tmp_path: Path) -> None:
    a = tf.constant(np.ones(4), name="a")
    tf.identity(a, name="b")
    log = tf.profiler.OpLogProto()
    log.log_entries.add(name="b", float_ops=77, types=["mine"])
    options = OPTIONS(OPTIONS.float_operation()).with_accounted_types(["mine"]).with_empty_output().build()
    assert tf.profiler.profile(op_log=log, options=options).total_float_ops == 77
    tf.profiler.write_op_log(tf.get_default_graph(), str(tmp_path), op_log=log)
    written = tf.profiler.OpLogProto.FromString((tmp_path / "tfprof_log").read_bytes())
    entries = {entry.name: entry for entry in written.log_entries}
    assert (entries["b"].float_ops, list(entries["b"].types)) == (77, ["mine"])
    frame = entries["a"].code_def.traces[-1]
    assert written.id_to_string[frame.file_id].endswith("test_profiler.py")


def test_unknown_commands_columns_and_outputs_are_errors() -> None:
    tf.constant(1.0)
    for options, message in (
        ({"select": ["speed"]}, "'speed' is not one of"),
        ({"order_by": "beauty"}, "'beauty' is not one of"),
        ({"output": "paper"}, "'paper' is not one of"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            tf.profiler.profile(options={**QUIET, **options})
    with pytest.raises(tf.errors.InvalidArgumentError, match="unknown cmd"):
        tf.profiler.profile(cmd="everything")


def test_contrib_tfprof_analyses_models_as_tensorflow_1_0_did(tmp_path: Path) -> None:
    from penstock.contrib.tfprof import model_analyzer, tfprof_logger

    tf.matmul(tf.ones([2, 3]), tf.get_variable("w", [3, 4]))
    options = dict(model_analyzer.TRAINABLE_VARS_PARAMS_STAT_OPTIONS, output="none")
    found = model_analyzer.print_model_analysis(tf.get_default_graph(), tfprof_options=options)
    assert found.total_parameters == 12
    options = dict(model_analyzer.TRAINABLE_VARS_PARAMS_STAT_OPTIONS, dump_to_file=str(tmp_path / "parameters"))
    model_analyzer.print_model_analysis(tf.get_default_graph(), tfprof_options=options)
    assert "w (3x4, 12/12 params)" in (tmp_path / "parameters").read_text()
    options = dict(tf.contrib.tfprof.model_analyzer.FLOAT_OPS_OPTIONS, output="none")
    found = tf.contrib.tfprof.model_analyzer.print_model_analysis(
        tf.get_default_graph(), tfprof_cmd="op", tfprof_options=options
    )
    assert found.children[0].float_ops == 48
    tfprof_logger.write_op_log(tf.get_default_graph(), str(tmp_path))
    assert (tmp_path / "tfprof_log").exists()


def test_a_profile_context_traces_the_steps_that_it_was_told(tmp_path: Path) -> None:
    x = tf.placeholder_with_default(np.ones(100), [100])
    total = tf.reduce_sum(x, name="total")
    builder = OPTIONS(OPTIONS.time_and_memory(min_micros=0, min_bytes=0)).with_file_output(f"{tmp_path}/text").build()
    with tf.contrib.tfprof.ProfileContext(str(tmp_path), trace_steps=[2], dump_steps=[2]) as context:
        context.add_auto_profiling("op", builder, [2])
        with tf.Session() as session:
            for _ in range(4):
                session.run(total)
        assert context.profiler.profile_operations(QUIET).total_exec_micros > 0
        assert context.profiler.profile_operations(dict(QUIET, step=3)).total_exec_micros == 0
    assert "Sum" in (tmp_path / "text").read_text()
    assert (tmp_path / "profile_2").exists()
