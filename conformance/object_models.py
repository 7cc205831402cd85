"""Objects whose checkpoints are exchanged with TensorFlow: functions that build them with `tf`, there or here."""

from __future__ import annotations

from typing import Any


def variables(tf: Any) -> dict[str, Any]:
    """As programs do that save all variables by their names."""
    plain = tf.get_variable("net/a", [2, 2])
    with tf.variable_scope("scope", use_resource=True):
        resource = tf.get_variable("b", [3], tf.int32)
    return {plain.name: plain, resource.name: resource, "step": tf.train.get_or_create_global_step()}


def optimizers(tf: Any) -> dict[str, Any]:
    x, y = tf.get_variable("x", [2]), tf.get_variable("y", [3])
    loss = tf.reduce_sum(x * x) + tf.reduce_sum(y * y)
    made = {
        "adam": tf.train.AdamOptimizer(0.1),
        "momentum": tf.train.MomentumOptimizer(0.1, 0.9),
        "rmsprop": tf.train.RMSPropOptimizer(0.1, momentum=0.5, centered=True),
        "adagrad": tf.train.AdagradOptimizer(0.1),
        "adadelta": tf.train.AdadeltaOptimizer(),
        "ftrl": tf.train.FtrlOptimizer(0.1),
    }
    for each in made.values():
        each.minimize(loss, var_list=[x] if each is made["momentum"] else [x, y])
    return {**made, "x": x, "y": y}


def keras_optimizers(tf: Any) -> dict[str, Any]:
    keras = tf.keras.optimizers
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])
    weights = model.trainable_variables
    grads = tf.gradients(tf.reduce_sum(model(tf.ones([1, 2]))), weights)
    kinds = [keras.Adam(), keras.SGD(momentum=0.9), keras.SGD(), keras.RMSprop(), keras.Adagrad(), keras.Adadelta()]
    kinds += [keras.Adamax(), keras.Nadam(), keras.Adam(amsgrad=True)]
    for each in kinds:
        each.apply_gradients(zip(grads, weights))  # noqa: B905, TensorFlow's Python has no strict
    return {"model": model, **{f"optimizer_{i}": each for i, each in enumerate(kinds)}}


def sequential(tf: Any) -> dict[str, Any]:
    layers = tf.keras.layers
    known = [layers.Dense(3, input_shape=(2,)), layers.Activation("relu"), layers.BatchNormalization()]
    late = tf.keras.Sequential([layers.Dense(3), layers.Dense(1)])
    late(tf.ones([1, 2]))
    return {"known": tf.keras.Sequential(known), "late": late}


def functional(tf: Any) -> dict[str, Any]:
    image = tf.keras.Input((4, 4, 1))
    features = tf.keras.layers.Flatten()(tf.keras.layers.Conv2D(2, 3)(image))
    model = tf.keras.Model(image, tf.keras.layers.Dense(1)(features))
    return {"model": model, "features": tf.keras.Model(image, features)}


def subclasses(tf: Any) -> dict[str, Any]:
    class Scale(tf.keras.layers.Layer):
        def build(self, input_shape: Any) -> None:
            self.factor = self.add_weight("of_another_name", shape=(2,))
            self.inner = tf.keras.layers.Dense(2)
            self.built = True

        def call(self, x: Any) -> Any:
            return self.inner(x * self.factor)

    class Net(tf.keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.blocks = [tf.keras.layers.Dense(2), Scale()]
            self.heads = {"first": tf.keras.layers.Dense(2)}
            self.width, self.free = 5, tf.Variable(3.0)

        def call(self, x: Any) -> Any:
            for layer in [*self.blocks, self.heads["first"]]:
                x = layer(x)
            return x

    net = Net()
    net(tf.ones([1, 2]))
    return {"net": net}


def recurrent(tf: Any) -> dict[str, Any]:
    layers, x = tf.keras.layers, tf.ones([1, 3, 2])
    made = {
        "lstm": layers.LSTM(2),
        "gru": layers.GRU(2),
        "both": layers.Bidirectional(layers.LSTM(2)),
        "each": layers.TimeDistributed(layers.Dense(1)),
    }
    for layer in made.values():
        layer(x)
    cells = tf.nn.rnn_cell
    inner = cells.DropoutWrapper(cells.BasicRNNCell(2))
    of_nn = {
        "basic": cells.BasicLSTMCell(2),
        "gates": cells.GRUCell(2),
        "stack": cells.MultiRNNCell([cells.LSTMCell(2, use_peepholes=True), inner]),
    }
    for name, cell in of_nn.items():
        tf.nn.dynamic_rnn(cell, x, dtype=tf.float32, scope=name)
    return {**made, **of_nn}


def further_layers(tf: Any) -> dict[str, Any]:
    layers, image = tf.keras.layers, tf.ones([1, 4, 4, 2])
    made = [layers.Conv2DTranspose(1, 3), layers.SeparableConv2D(1, 3), layers.DepthwiseConv2D(3), layers.PReLU()]
    made += [layers.LayerNormalization(), tf.layers.Conv2D(1, 2), tf.layers.BatchNormalization()]
    for layer in made:
        layer(image)
    return {f"layer_{i}": layer for i, layer in enumerate(made)}


def containers(tf: Any) -> dict[str, Any]:
    class Holder(tf.Module):
        def __init__(self) -> None:
            super().__init__(name="holder")
            self.weight, self.parts = tf.Variable([1.0]), [tf.Variable(2.0)]

    shared = tf.Variable(1.0)
    inner = tf.train.Checkpoint(x=shared)
    inner.parts = [shared, {"key": tf.Variable(2.0)}, 3]
    return {"module": Holder(), "inner": inner, "list": tf.contrib.checkpoint.List([tf.Variable([4.0])])}


MODELS = (
    variables,
    optimizers,
    keras_optimizers,
    sequential,
    functional,
    subclasses,
    recurrent,
    further_layers,
    containers,
)
