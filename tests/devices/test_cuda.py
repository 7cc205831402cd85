"""What needs a GPU: copies, clusters and CUDA graphs as they are there."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

import penstock as tf
from penstock.codegen.clusters.cluster_kernel import make_cluster_kernel
from penstock.codegen.python.cuda_graphs import RUNS_BEFORE, CapturedSegment
from penstock.devices.device import Device, device_name
from penstock.devices.registry import devices_for
from tests.codegen import steps
from tests.codegen.clusters.test_cuda import check_each_op, each_op_alone  # noqa: F401
from tests.codegen.clusters.test_expressions import KINDS
from tests.codegen.clusters.test_kernel import SHAPES
from tests.codegen.python.test_cuda_graphs import OPTIMIZERS, STEPS, losses, training

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")

GPU = torch.device("cuda", 0)
HOST = Device(device_name("CPU", 0), "CPU", torch.device("cpu"))


@pytest.fixture
def gpu() -> Any:
    return next(device for device in devices_for() if device.type == "GPU")


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What was recorded: an entry for each graph."""
    from penstock.devices.cuda import CudaRecorder

    found: list[Any] = []
    record = CudaRecorder.record

    def counted(self: Any, launch: Callable[[], Any]) -> Any:
        found.append(record(self, launch))
        return found[-1]

    monkeypatch.setattr(CudaRecorder, "record", counted)
    return found


@pytest.fixture(autouse=True)
def _graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


# --- copies ---------------------------------------------------------------------------------------------

VALUES = [
    torch.arange(6.0).reshape(2, 3), torch.arange(6).reshape(2, 3).t(), torch.tensor(True), torch.zeros(0, 4),
    torch.full((1 << 20,), 7, dtype=torch.int16), torch.complex(torch.ones(3), torch.zeros(3)),
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=lambda value: f"{value.dtype}{list(value.shape)}")
def test_what_is_copied_to_a_gpu_and_back_keeps_its_contents(value: torch.Tensor, gpu: Any) -> None:
    with gpu.running():
        there = gpu.arrived(gpu.receive(value, HOST))
        assert there.device == GPU and there.dtype == value.dtype
        back = HOST.receive(there, gpu)
    assert back.device.type == "cpu" and torch.equal(back, value)
    assert back.is_pinned() or not back.numel()


def test_what_is_no_tensor_is_the_same_everywhere(gpu: Any) -> None:
    text = np.array([b"a"], object)
    assert gpu.arrived(gpu.receive(text, HOST)) is text and gpu.to_host(text) is text


def test_a_copy_to_the_host_waits_for_what_is_computed(gpu: Any) -> None:
    with gpu.running():
        x = torch.full((2048, 2048), 1 / 2048, device=GPU)
        for _ in range(20):
            x = x @ x.t()
        found = gpu.to_host(x)
    np.testing.assert_allclose(found.numpy(), 1 / 2048, rtol=1e-3)


# --- clusters -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("each_op_alone")
def test_each_op_gives_what_its_kernel_gives(kind: str) -> None:
    check_each_op(kind, GPU, lambda node: make_cluster_kernel(node, GPU, steps.new_state(), "on"))


def test_inputs_are_broadcast_as_numpys() -> None:
    x, y = (tf.placeholder("float32") for _ in range(2))
    (node,) = steps.clusters(steps.clustered([x * x + y], [x, y]))
    kernel = make_cluster_kernel(node, GPU, steps.new_state(), "on")
    for x_shape, y_shape in SHAPES:
        a, b = (torch.rand(shape, device=GPU) for shape in (x_shape, y_shape))
        assert torch.equal(kernel(a, b), a * a + b), (x_shape, y_shape)
    strided = torch.rand(40, 60, device=GPU)[::2, 1::3]
    assert torch.equal(kernel(strided, strided), strided * strided + strided)


def test_a_large_tensor_is_computed_whole_and_what_is_given_is_written_over() -> None:
    x, y = (tf.placeholder("float32") for _ in range(2))
    (node,) = steps.clusters(steps.clustered([x * x + y], [x, y]))
    a, b = torch.rand(10_000_019, device=GPU), torch.rand(10_000_019, device=GPU)
    wanted, pointer = a * a + b, a.data_ptr()
    found = make_cluster_kernel(node, GPU, steps.new_state(), "on", given=(0,))(a, b)
    assert found.data_ptr() == pointer and torch.equal(found, wanted)


# --- steps ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("compiled", ["off", "on"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training_on_a_gpu_goes_as_on_a_cpu_captured_or_not(
    name: str, compiled: str, recorded: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_COMPILE", compiled)
    found = {}
    for device, mode in (("/cpu:0", "off"), ("/gpu:0", "off"), ("/gpu:0", "auto")):
        monkeypatch.setenv("PENSTOCK_CUDA_GRAPHS", mode)
        with tf.Graph().as_default(), tf.device(device):
            found[device, mode] = losses(*training(OPTIMIZERS[name]()))
        assert bool(recorded) == (mode == "auto")
    np.testing.assert_allclose(found["/gpu:0", "off"], found["/cpu:0", "off"], rtol=1e-4)
    np.testing.assert_allclose(found["/gpu:0", "auto"], found["/gpu:0", "off"], rtol=1e-5)


def test_convolutions_are_captured_and_train(recorded: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    images, labels = rng.normal(size=(8, 12, 12, 3)).astype(np.float32), rng.integers(0, 4, 8)
    found = []
    for device in ("/cpu:0", "/gpu:0"):
        with tf.Graph().as_default(), tf.device(device):
            w = tf.Variable(np.random.default_rng(1).normal(0, 0.2, (3, 3, 3, 6)).astype(np.float32))
            x = tf.nn.relu(tf.nn.conv2d(tf.constant(images), w, [1, 1, 1, 1], "SAME"))
            x = tf.reshape(tf.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME"), [8, -1])
            v = tf.Variable(np.full((216, 4), 0.01, np.float32))
            one_hot = tf.one_hot(labels, 4)
            loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=one_hot, logits=tf.matmul(x, v)))
            step = tf.train.MomentumOptimizer(0.05, 0.9).minimize(loss)
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                found.append([session.run([loss, step])[0] for _ in range(2 * STEPS)])
    assert recorded
    np.testing.assert_allclose(found[1], found[0], rtol=1e-3)
    assert found[1][-1] < found[1][0]


def test_what_was_fetched_of_a_captured_step_keeps_its_values(recorded: list[Any]) -> None:
    with tf.device("/gpu:0"):
        x = tf.placeholder(tf.float32, [64, 64])
        y = tf.matmul(tf.matmul(x, x), x)
    with tf.Session() as session:
        found = [session.run(y, {x: np.eye(64) * i}) for i in range(10)]
        assert "(CUDA graph)" in session.explain(y, [x])
    assert len(recorded) == 1
    for i, value in enumerate(found):
        np.testing.assert_array_equal(value, np.eye(64) * i**3)


def test_what_waits_for_the_gpu_cannot_be_recorded_and_runs_as_before(
    gpu: Any, caplog: pytest.LogCaptureFixture
) -> None:
    segment = CapturedSegment(lambda x: (x + x.sum().item(),), gpu.recorder, GPU, [], [], "s")
    with gpu.running(), caplog.at_level(logging.WARNING, "penstock"):
        for _ in range(RUNS_BEFORE + 3):
            (found,) = segment(torch.ones(4, device=GPU))
            assert torch.cuda.current_stream() == gpu.compute
            assert found.tolist() == [5.0] * 4
    assert len(caplog.records) == 1 and "without a CUDA graph" in caplog.text
