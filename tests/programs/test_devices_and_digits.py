"""GPUs and MNIST, where there are none."""

from __future__ import annotations

from pathlib import Path

from tests.programs.running import penstock_run

ON_GPUS = """import tensorflow as tf
with tf.device("/gpu:7"):
    v = tf.Variable(3.0)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    print(session.run(v * 2))
"""
MNIST = """import tensorflow as tf
from tensorflow.examples.tutorials.mnist import input_data
mnist = input_data.read_data_sets("nowhere", one_hot=True, source_url="http://example.com")
for part in mnist:
    print(part.images.shape, part.images.max(), part.labels.sum(), part.num_examples)
print(mnist.train.next_batch(5)[0].shape, tf.keras.datasets.mnist.load_data()[1][0].shape)
print(input_data.read_data_sets("nowhere", reshape=False, validation_size=0).train.images.shape)
"""


def test_what_asks_for_a_gpu_that_is_not_there_runs_on_what_is_with_one_note(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(ON_GPUS)
    found = penstock_run(tmp_path, "program.py")
    assert (found.returncode, found.stdout) == (0, "6.0\n"), found.stderr
    assert found.stderr == "penstock run: no /device:GPU:7 here, so what was for it ran elsewhere\n"


def test_strict_devices_keeps_the_error(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(ON_GPUS)
    found = penstock_run(tmp_path, "--strict-devices", "program.py")
    assert found.returncode == 1
    assert "Cannot assign a device" in found.stderr and "penstock run: no" not in found.stderr


def test_other_devices_that_are_not_there_stay_errors(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(ON_GPUS.replace("/gpu:7", "/job:ps/task:3"))
    found = penstock_run(tmp_path, "program.py")
    assert found.returncode == 1 and "Cannot assign a device" in found.stderr


def test_digits_have_the_shape_of_mnist(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(MNIST)
    found = penstock_run(tmp_path, "--digits", "program.py")
    assert found.stdout == (
        "(1150, 784) 1.0 1150.0 1150\n(287, 784) 1.0 287.0 287\n(360, 784) 1.0 360.0 360\n"
        "(5, 784) (360, 28, 28)\n(1437, 28, 28, 1)\n"
    ), found.stderr
    assert found.stderr == "penstock run: 1,797 scans of 8x8 pixels taken for MNIST\n"


def test_without_mnist_it_is_said_where_to_put_it(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(MNIST)
    found = penstock_run(tmp_path, "program.py")
    assert found.returncode == 1
    assert "put train-images-idx3-ubyte" in found.stderr and "--digits" in found.stderr


def test_mldata_has_digits_for_mnist(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "from sklearn import datasets\nmnist = datasets.fetch_mldata('MNIST original', data_home='.')\n"
        "print(mnist.data.shape, mnist.data.max() > 200, mnist.target[0], mnist.target[-1], mnist.target.dtype)\n"
    )
    found = penstock_run(tmp_path, "--digits", "program.py")
    assert found.stdout == "(1797, 784) True 0.0 9.0 float64\n", found.stderr
