"""Horovod, where it is not installed, is there for a program that is one process."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from penstock.programs.check import check
from tests.programs.running import output_of, penstock_run

TRAINING = """
import numpy as np, tensorflow as tf
import horovod.tensorflow as hvd
try:
    hvd.rank()
except ValueError as error:
    print(error)
hvd.init()
print(hvd.size(), hvd.rank(), hvd.local_rank(), hvd.local_size())
x = tf.Variable(3.0)
step = tf.train.get_or_create_global_step()
optimizer = hvd.DistributedOptimizer(tf.train.GradientDescentOptimizer(0.25 * hvd.size()))
train = optimizer.minimize(x * x, global_step=step)
hooks = [hvd.BroadcastGlobalVariablesHook(0), tf.train.StopAtStepHook(last_step=2 // hvd.size())]
with tf.train.MonitoredTrainingSession(hooks=hooks) as session:
    while not session.should_stop():
        _, value = session.run([train, step])
        print(value)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    session.run(hvd.broadcast_global_variables(0))
    for _ in range(2):
        session.run(train)
    third = hvd.allreduce(tf.constant(1 / 3.0), compression=hvd.Compression.fp16)
    whole = hvd.allreduce(tf.constant([1, 2]), average=False)
    rows = tf.IndexedSlices(tf.constant([[2.0]]), tf.constant([1]))
    print(session.run([x, hvd.allreduce(x), third, whole, hvd.mpi_ops._allreduce(x), hvd.allreduce(rows).values]))
    print(session.run(tf.gradients(hvd.allreduce(x) ** 2, x)))
print(hvd.allreduce(tf.constant([1, 2])).dtype.name, hvd.nccl_built())
"""


def test_programs_of_one_process_train_by_horovod(tmp_path: Path):
    third = np.float32(np.float16(1 / 3))
    assert output_of(tmp_path, TRAINING).splitlines() == [
        "Horovod has not been initialized; use hvd.init().",
        "1 0 0 1",
        "1",
        "2",
        f"[0.75, 0.75, {third:.8f}, array([1, 2], dtype=int32), 0.75, array([[2.]], dtype=float32)]",
        "[1.5]",
        "float64 False",
    ]


KERAS = """
import keras, numpy as np
import horovod.keras as hvd
from horovod.tensorflow.keras.callbacks import LearningRateWarmupCallback
hvd.init()
model = keras.models.Sequential([keras.layers.Dense(1, input_shape=(2,))])
model.compile(hvd.DistributedOptimizer(keras.optimizers.SGD(0.1, momentum=0.9)), 'mse')
callbacks = [
    hvd.callbacks.BroadcastGlobalVariablesCallback(0),
    hvd.callbacks.MetricAverageCallback(),
    LearningRateWarmupCallback(warmup_epochs=1, verbose=1),
    hvd.callbacks.LearningRateScheduleCallback(multiplier=0.5, start_epoch=2),
]
history = model.fit(np.ones((8, 2)), np.ones(8), batch_size=4, epochs=3, verbose=0, callbacks=callbacks)
momentum = keras.backend.get_value(model.optimizer.momentum)
print(np.round(history.history['lr'], 3), hvd.allreduce(2.0), round(float(momentum), 3))
model.save('model.h5')
print(type(hvd.load_model('model.h5').optimizer).__name__, hvd.broadcast([1, 2], 0))
"""


def test_models_of_keras_train_by_horovod(tmp_path: Path):
    assert output_of(tmp_path, KERAS).splitlines() == [
        "",
        "Epoch 1: finished gradual learning rate warmup to 0.1.",
        "[0.1  0.1  0.05] 2.0 0.9",
        "SGD [1 2]",
    ]


def test_one_process_of_several_is_refused(tmp_path: Path):
    (tmp_path / "program.py").write_text("import horovod.tensorflow as hvd\nhvd.init()\n")
    found = penstock_run(tmp_path, "program.py", OMPI_COMM_WORLD_SIZE="2")
    assert found.returncode == 1
    assert "is for one process, not for 2 (OMPI_COMM_WORLD_SIZE)" in found.stderr


def test_a_folder_of_the_program_goes_before(tmp_path: Path):
    (tmp_path / "horovod").mkdir()
    (tmp_path / "horovod" / "__init__.py").write_text("mine = 7\n")
    assert output_of(tmp_path, "import tensorflow, horovod\nprint(horovod.mine)\n") == "7\n"


def test_check_finds_nothing_in_the_way(tmp_path: Path):
    (tmp_path / "program.py").write_text("import horovod.tensorflow as hvd\nhvd.init()\n")
    assert not check([tmp_path / "program.py"]).lacks
