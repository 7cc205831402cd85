"""Event files: what is written is what TensorBoard's own reader finds."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import fsspec
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.compat.proto import event_pb2

import penstock as tf
from penstock import summary
from penstock.records.event_file import EventFile


def read(logdir: Path) -> EventAccumulator:
    accumulator = EventAccumulator(
        str(logdir), size_guidance={"tensors": 0, "scalars": 0, "images": 0, "histograms": 0}
    )
    accumulator.Reload()
    return accumulator


def events(logdir: Path) -> list[Any]:
    return [event for path in sorted(logdir.glob("events*")) for event in summary.summary_iterator(path)]


def test_tensorboard_reads_scalars_histograms_images_and_the_graph(tmp_path: Path, session: tf.Session) -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    with tf.name_scope("model"):
        summary.scalar("loss", x * x)
        summary.histogram("weights", tf.stack([x, x]))
    summary.image("picture", tf.zeros([1, 2, 2, 3]), max_outputs=1)
    merged = summary.merge_all()
    with summary.FileWriter(str(tmp_path), session.graph) as writer:
        for step in range(3):
            writer.add_summary(session.run(merged, {x: step}), step)
    found = read(tmp_path)
    assert [(e.step, e.value) for e in found.Scalars("model/loss")] == [(0, 0.0), (1, 1.0), (2, 4.0)]
    assert found.Histograms("model/weights")[2].histogram_value.num == 2
    assert found.Images("picture/image")[0].width == 2
    nodes = {node.name: node for node in found.Graph().node}
    assert nodes["model/mul"].op == "Mul"
    assert nodes["x"].attr["_output_shapes"].list.shape[0].dim == []
    assert {node.name for node in found.Graph().node} == {op.name for op in session.graph.get_operations()}


@pytest.mark.parametrize("named", [False, True])
def test_a_writer_may_be_given_a_graph_def(tmp_path: Path, named: bool) -> None:
    with tf.Graph().as_default() as graph:
        tf.constant([12], name="twelve")
    given = graph.as_graph_def()
    writer = summary.FileWriter(tmp_path, graph_def=given) if named else summary.FileWriter(tmp_path, given)
    writer.close()
    version, shown, meta = events(tmp_path)
    assert version.file_version == "brain.Event:2"
    assert tf.GraphDef.FromString(shown.graph_def) == given
    assert tf.MetaGraphDef.FromString(meta.meta_graph_def).graph_def == given


def test_summaries_may_be_messages_and_steps_arrays(tmp_path: Path) -> None:
    writer = summary.FileWriter(tmp_path)
    message = summary.Summary(value=[summary.Summary.Value(tag="mine", simple_value=2.5)])
    writer.add_summary(message, global_step=7)
    writer.add_event(summary.Event(wall_time=1.0, step=8, summary=message))
    writer.close()
    assert [(e.step, e.value) for e in read(tmp_path).Scalars("mine")] == [(7, 2.5), (8, 2.5)]
    assert writer.get_logdir() == str(tmp_path)


def test_a_trace_goes_under_its_tag_once(tmp_path: Path, session: tf.Session) -> None:
    metadata = tf.RunMetadata()
    session.run(
        tf.constant(1.0, name="c"), options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata
    )
    with summary.FileWriter(tmp_path) as writer:
        writer.add_run_metadata(metadata, "step 1", 1)
        with pytest.raises(ValueError, match="already used"):
            writer.add_run_metadata(metadata, "step 1", 2)
    found = read(tmp_path)
    assert found.Tags()["run_metadata"] == ["step 1"]
    assert found.RunMetadata("step 1").SerializeToString() == metadata.SerializeToString()


def test_session_logs_and_meta_graphs(tmp_path: Path) -> None:
    tf.Variable(1.0, name="w")
    with summary.FileWriter(tmp_path) as writer:
        writer.add_session_log(summary.SessionLog(status=summary.SessionLog.CHECKPOINT, checkpoint_path="/m-1"), 1)
        writer.add_meta_graph(tf.train.Saver().export_meta_graph(), 2)
    found = events(tmp_path)
    assert found[0].file_version == "brain.Event:2"
    assert found[1].session_log.checkpoint_path == "/m-1"
    assert tf.MetaGraphDef.FromString(found[2].meta_graph_def).graph_def.node[0].name.startswith("w")
    assert [e.step for e in found] == [0, 1, 2]


def test_what_describes_a_tag_is_written_once(tmp_path: Path, session: tf.Session) -> None:
    text = summary.text("t", tf.constant("hello"))
    with summary.FileWriter(tmp_path) as writer:
        for step in range(2):
            writer.add_summary(session.run(text), step)
    first, second = (e.summary.value[0] for e in events(tmp_path)[1:])
    assert first.HasField("metadata")
    assert not second.HasField("metadata")
    assert len(read(tmp_path).Tensors("t")) == 2


# --- when it is on disk ---------------------------------------------------------------------------------


def scalar(value: float) -> Any:
    return summary.Summary(value=[summary.Summary.Value(tag="x", simple_value=value)])


def test_flush_returns_when_all_is_in_the_file(tmp_path: Path) -> None:
    writer = summary.FileWriter(tmp_path, flush_secs=1000)
    for i in range(50):
        writer.add_summary(scalar(i), i)
    writer.flush()
    assert len(events(tmp_path)) == 51
    writer.close()


def test_large_events_take_little_time(tmp_path: Path) -> None:
    file = EventFile(str(tmp_path))
    event = event_pb2.Event(graph_def=bytes(8_000_000))
    before = time.process_time()
    file.add(event)
    file.flush()
    assert time.process_time() - before < 0.2  # a checksum computed in Python would take 0.6
    assert os.path.getsize(file.path) > 8_000_000


def test_events_are_in_the_file_after_flush_secs(tmp_path: Path) -> None:
    writer = summary.FileWriter(tmp_path, flush_secs=0.05)
    writer.add_summary(scalar(1), 1)
    deadline = time.monotonic() + 60
    while len(events(tmp_path)) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert len(events(tmp_path)) == 2
    writer.close()


def test_a_writer_that_nobody_closes_loses_nothing(tmp_path: Path) -> None:
    writer = summary.FileWriter(tmp_path / "dropped", flush_secs=1000)
    writer.add_summary(scalar(1), 1)
    del writer
    gc.collect()
    assert len(events(tmp_path / "dropped")) == 2
    program = (
        "from penstock import summary as s; w = s.FileWriter(r'{}', flush_secs=1000);"
        "w.add_summary(s.Summary(value=[s.Summary.Value(tag='x', simple_value=1)]), 1)"
    ).format(tmp_path / "exit")
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
    assert len(events(tmp_path / "exit")) == 2


def test_a_closed_writer_warns_and_reopens_into_a_new_file(tmp_path: Path) -> None:
    writer = summary.FileWriter(tmp_path)
    writer.close()
    writer.close()
    with pytest.warns(UserWarning, match="closed FileWriter"):
        writer.add_summary(scalar(1), 1)
    with pytest.raises(RuntimeError, match="reopen"), writer:
        pass
    writer.reopen()
    writer.add_summary(scalar(2), 2)
    writer.close()
    assert len(os.listdir(tmp_path)) == 2
    assert [e.value for e in read(tmp_path).Scalars("x")] == [2.0]


def test_several_threads_may_write(tmp_path: Path) -> None:
    with summary.FileWriter(tmp_path, max_queue=2) as writer:
        threads = [
            threading.Thread(target=lambda: [writer.add_summary(scalar(i), i) for i in range(40)]) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(events(tmp_path)) == 161


def test_a_failed_write_is_raised_by_the_next_call_and_nobody_hangs(tmp_path: Path) -> None:
    file = EventFile(str(tmp_path), max_queue=1, flush_secs=1000)

    class Full:
        def write(self, data: bytes) -> None:
            raise OSError("disk full")

        def flush(self) -> None:
            raise OSError("disk full")

        def close(self) -> None:
            pass

    file._worker._file.close()
    file._worker._file = Full()
    event = summary.Event(wall_time=1.0)
    with pytest.raises(OSError, match="disk full"):
        for _ in range(20):
            file.add(event)
            file.flush()
    with pytest.raises(OSError, match="disk full"):
        file.close()


def test_a_damaged_file_is_an_error(tmp_path: Path) -> None:
    with summary.FileWriter(tmp_path) as writer:
        writer.add_summary(scalar(1), 1)
    (path,) = tmp_path.glob("events*")
    contents = path.read_bytes()
    path.write_bytes(contents[:-1])
    with pytest.raises(tf.errors.DataLossError, match="truncated record"):
        list(summary.summary_iterator(path))
    path.write_bytes(contents[:-6] + bytes([contents[-6] ^ 1]) + contents[-5:])
    with pytest.raises(tf.errors.DataLossError, match="corrupted record"):
        list(summary.summary_iterator(path))


def test_tensorboard_passes_over_a_torn_last_record_until_it_is_whole(tmp_path: Path) -> None:
    with summary.FileWriter(tmp_path) as writer:
        for step in range(3):
            writer.add_summary(scalar(step), step)
    (path,) = tmp_path.glob("events*")
    contents = path.read_bytes()
    path.write_bytes(contents[:-5])
    reader = EventAccumulator(str(tmp_path))
    assert [e.step for e in reader.Reload().Scalars("x")] == [0, 1]
    path.write_bytes(contents)
    assert [e.step for e in reader.Reload().Scalars("x")] == [0, 1, 2]


def test_a_killed_program_leaves_what_was_flushed(tmp_path: Path) -> None:
    program = f"""
import os, signal
import penstock as tf
writer = tf.summary.FileWriter({str(tmp_path)!r}, flush_secs=1000)
for step in range(20):
    writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="x", simple_value=step)]), step)
    if step == 10:
        writer.flush()
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", program], timeout=60, check=False).returncode == -9
    steps = [e.step for e in read(tmp_path).Scalars("x")]
    assert steps == list(range(len(steps)))
    assert len(steps) >= 11


def test_what_is_flushed_can_be_read_while_the_writer_goes_on(tmp_path: Path) -> None:
    reader = EventAccumulator(str(tmp_path))
    with summary.FileWriter(tmp_path, flush_secs=1000) as writer:
        for step in range(3):
            writer.add_summary(scalar(step), step)
            writer.flush()
            assert [e.step for e in reader.Reload().Scalars("x")] == list(range(step + 1))


@pytest.mark.parametrize("appends", [True, False])
def test_event_files_may_be_behind_urls(appends: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = fsspec.filesystem("memory")
    if not appends:  # as in an object store
        opened = type(memory).open

        def open_(self: Any, path: str, mode: str = "rb", **options: Any) -> Any:
            if "a" in mode:
                raise NotImplementedError
            return opened(self, path, mode, **options)

        monkeypatch.setattr(type(memory), "open", open_)
    folder = f"memory://events-{appends}/deep/run"
    with summary.FileWriter(folder, flush_secs=1000, filename_suffix=".far") as writer:
        writer.add_summary(scalar(1), 1)
        writer.flush()
        (path,) = memory.ls(folder.removeprefix("memory:/"), detail=False)
        assert path.endswith(".far")
        assert [e.step for e in summary.summary_iterator(f"memory:/{path}")] == [0, 1]
        writer.add_summary(scalar(2), 2)
    assert [e.step for e in summary.summary_iterator(f"memory:/{path}")] == [0, 1, 2]
    memory.rm(path)


def test_file_urls_are_local_files(tmp_path: Path) -> None:
    with summary.FileWriter(f"file://{tmp_path}/new") as writer:
        writer.add_summary(scalar(3), 3)
    assert [e.value for e in read(tmp_path / "new").Scalars("x")] == [3.0]


def test_a_folder_without_a_file_system_is_an_error_at_once() -> None:
    with pytest.raises((OSError, tf.errors.OpError), match="nowhere"):
        summary.FileWriter("nowhere://folder")


# --- the rest -------------------------------------------------------------------------------------------


def test_a_directory_has_one_cached_writer(tmp_path: Path) -> None:
    first = summary.FileWriterCache.get(str(tmp_path))
    assert summary.FileWriterCache.get(tmp_path) is first
    summary.FileWriterCache.clear()
    assert summary.FileWriterCache.get(str(tmp_path)) is not first
    summary.FileWriterCache.clear()


def test_a_graph_is_a_graph_or_a_graph_def(tmp_path: Path, graph: tf.Graph) -> None:
    tf.constant(1.0, name="one")
    with summary.FileWriter(tmp_path, filename_suffix=".mine") as writer:
        writer.add_graph(graph_def=graph.as_graph_def())
        with pytest.raises(TypeError, match="instance of `Graph`"):
            writer.add_graph("graph")
        with pytest.raises(ValueError, match="not both"):
            writer.add_graph(graph, graph_def=graph.as_graph_def())
    assert read(tmp_path).Graph().node[0].name == "one"
    assert os.listdir(tmp_path)[0].endswith(".mine")
