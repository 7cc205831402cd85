"""Regularizers of what layers give. Values are those of TensorFlow 1.15."""

import numpy as np

import penstock as tf

L = tf.keras.layers


def test_regularizers_of_activities_count_for_each_sample() -> None:
    """Their loss is divided by the number of samples, in layers of tf.keras and of tf.layers."""
    x = tf.keras.Input((2,))
    inside = L.Dense(2, kernel_initializer="ones", activity_regularizer=tf.keras.regularizers.l1(0.1))(x)
    model = tf.keras.Model(x, L.Dense(2)(inside))
    model.compile("sgd", lambda y_true, y_pred: 0 * y_pred)
    ones = np.ones((4, 2))
    np.testing.assert_allclose(model.test_on_batch(ones, ones), 0.4, rtol=1e-6)

    given = tf.placeholder(tf.float32, [None, 2])
    tf.layers.dense(given, 3, kernel_initializer=tf.ones_initializer(), activity_regularizer=tf.reduce_sum)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = session.run(tf.losses.get_regularization_loss(), {given: ones[:3]})
    np.testing.assert_allclose(found, 6.0, rtol=1e-6)
