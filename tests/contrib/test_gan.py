"""tf.contrib.gan: losses with the formulas of the papers, models, training and scores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.special

import penstock as tf

tfgan = tf.contrib.gan
RANDOM = np.random.default_rng(11)
REAL, MADE = RANDOM.normal(size=(2, 6)).astype("f")
REAL_WEIGHTS, MADE_WEIGHTS = RANDOM.uniform(0.5, 2.0, (2, 6)).astype("f")
LABELS = np.eye(3, dtype="f")[[0, 2, 1, 1]]
REAL_LOGITS, MADE_LOGITS = RANDOM.normal(size=(2, 4, 3)).astype("f")


@pytest.fixture(autouse=True)
def _graph() -> Any:
    with tf.Graph().as_default():
        tf.set_random_seed(3)
        yield


def value(tensor: Any) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(tensor)


def log_sigmoid(x: np.ndarray) -> np.ndarray:
    return np.log(scipy.special.expit(x))


def entropy(labels: np.ndarray, logits: np.ndarray) -> np.ndarray:
    return -(labels * scipy.special.log_softmax(logits, 1)).sum(1)


PAIRS = [
    ("wasserstein_discriminator_loss", {}, -REAL, MADE),
    ("minimax_discriminator_loss", {"label_smoothing": 0.0}, -log_sigmoid(REAL), -log_sigmoid(-MADE)),
    (
        "modified_discriminator_loss",
        {"label_smoothing": 0.25},
        -0.875 * log_sigmoid(REAL) - 0.125 * log_sigmoid(-REAL),
        -log_sigmoid(-MADE),
    ),
    (
        "least_squares_discriminator_loss",
        {"real_label": 2, "fake_label": -1},
        (REAL - 2) ** 2 / 2,
        (MADE + 1) ** 2 / 2,
    ),
]


@pytest.mark.parametrize(("name", "options", "of_real", "of_made"), PAIRS, ids=[pair[0] for pair in PAIRS])
def test_a_discriminator_loses_on_real_and_on_generated_data(
    name: str, options: dict[str, Any], of_real: np.ndarray, of_made: np.ndarray
) -> None:
    weights = {"real_weights": REAL_WEIGHTS, "generated_weights": MADE_WEIGHTS}
    loss = getattr(tfgan.losses.wargs, name)(tf.constant(REAL), tf.constant(MADE), **weights, **options)
    wanted = np.mean(of_real * REAL_WEIGHTS) + np.mean(of_made * MADE_WEIGHTS)
    np.testing.assert_allclose(value(loss), wanted, rtol=1e-5)
    assert tf.losses.get_losses() == [loss]


@pytest.mark.parametrize(
    ("name", "options", "wanted"),
    [
        ("wasserstein_generator_loss", {}, -MADE),
        ("minimax_generator_loss", {}, log_sigmoid(-MADE) + log_sigmoid(np.float32(1))),
        ("modified_generator_loss", {}, -log_sigmoid(MADE)),
        ("least_squares_generator_loss", {"real_label": 3}, (MADE - 3) ** 2 / 2),
    ],
)
def test_a_generator_loses_on_what_it_made(name: str, options: dict[str, Any], wanted: np.ndarray) -> None:
    loss = getattr(tfgan.losses.wargs, name)(tf.constant(MADE), weights=MADE_WEIGHTS, add_summaries=True, **options)
    np.testing.assert_allclose(value(loss), np.mean(wanted * MADE_WEIGHTS), rtol=1e-5)
    assert len(tf.get_collection(tf.GraphKeys.SUMMARIES)) == 1


def test_classifiers_lose_on_classes() -> None:
    wargs = tfgan.losses.wargs
    judged = wargs.acgan_discriminator_loss(tf.constant(REAL_LOGITS), tf.constant(MADE_LOGITS), LABELS, 0.3)
    made = wargs.acgan_generator_loss(tf.constant(MADE_LOGITS), LABELS)
    smooth = LABELS * 0.7 + 0.1
    of_made = entropy(LABELS, MADE_LOGITS).mean()
    np.testing.assert_allclose(
        value([judged, made]), [of_made + entropy(smooth, REAL_LOGITS).mean(), of_made], rtol=1e-5
    )


def test_gradients_of_other_lengths_than_the_target_cost() -> None:
    """D(x) = 3 x₀ + 4 x₁ has a gradient of length 5 everywhere."""

    def judge(data: Any, inputs: Any) -> Any:
        return tf.reduce_sum(data * tf.get_variable("w", initializer=tf.constant([3.0, 4.0])), 1)

    def penalty(**options: Any) -> Any:
        return tfgan.losses.wargs.wasserstein_gradient_penalty(
            tf.constant(REAL.reshape(3, 2)), tf.constant(MADE.reshape(3, 2)), None, judge, "D", **options
        )

    found = value([penalty(), penalty(target=10.0), penalty(target=10.0, one_sided=True)])
    np.testing.assert_allclose(found, [16.0, 0.25, 0.0], rtol=1e-5)
    (weights,) = tf.trainable_variables()
    assert value(tf.gradients(penalty(), weights)[0]) == pytest.approx(2 * 4 * np.array([0.6, 0.8]), rel=1e-4)


def test_losses_are_combined_by_a_factor_or_by_the_lengths_of_gradients() -> None:
    w = tf.get_variable("w", initializer=tf.constant([1.0, 2.0]))
    main, other = tf.reduce_sum(w * w), 10.0 * tf.reduce_sum(w)
    combine = tfgan.losses.wargs.combine_adversarial_loss
    lengths = np.linalg.norm([2.0, 4.0]) / np.linalg.norm([10.0, 10.0])
    found = value([combine(main, other, weight_factor=0.5), combine(main, other, gradient_ratio=4.0)])
    np.testing.assert_allclose(found, [5.0 + 15.0, 5.0 + 30.0 * lengths / 4.0], rtol=1e-5)
    assert combine(main, other, weight_factor=0) is main
    with pytest.raises(ValueError, match="Exactly one"):
        combine(main, other)


# --- models ---------------------------------------------------------------------------------------------


def generate(inputs: Any) -> Any:
    inputs = inputs[0] if isinstance(inputs, list) else inputs
    return tf.layers.dense(inputs, 2, kernel_regularizer=tf.contrib.layers.l2_regularizer(0.1))


def judge(data: Any, inputs: Any) -> Any:
    return tf.layers.dense(tf.layers.batch_normalization(data, training=True), 1)


def model(**options: Any) -> Any:
    real = tf.random_normal([8, 2]) + 3.0
    return tfgan.gan_model(generate, judge, real, tf.random_normal([8, 4]), **options)


def test_a_model_has_both_networks_with_their_variables() -> None:
    found = model()
    assert {v.op.name for v in found.generator_variables} == {"Generator/dense/kernel", "Generator/dense/bias"}
    assert all(v.op.name.startswith("Discriminator/") for v in found.discriminator_variables)
    assert len(found.discriminator_variables) == 4 and found.discriminator_gen_outputs.shape.as_list() == [8, 1]
    with pytest.raises(ValueError, match="same shape as real data"):
        tfgan.gan_model(generate, lambda data, _: data, tf.zeros([8, 3]), tf.zeros([8, 4]), "G", "D")


def test_losses_of_a_model_are_those_of_its_parts_and_of_regularizers() -> None:
    found = model()
    loss = tfgan.gan_loss(found, gradient_penalty_weight=2.0)
    made, judged, regular, outputs = value(
        [loss.generator_loss, loss.discriminator_loss, tf.losses.get_regularization_loss("Generator"), found[6:8]]
    )
    assert regular > 0
    np.testing.assert_allclose(made, -outputs[1].mean() + regular, rtol=1e-4)
    assert judged >= outputs[1].mean() - outputs[0].mean() - 1e-5  # penalties are not negative
    with pytest.raises(ValueError, match=r"take.*discriminator_gen_outputs"):
        tfgan.losses.wasserstein_generator_loss(found, discriminator_gen_outputs=REAL)
    with pytest.raises(ValueError, match="InfoGANModel"):
        tfgan.gan_loss(found, mutual_information_penalty_weight=1.0)
    with pytest.raises(ValueError, match="must be greater than 0"):
        tfgan.gan_loss(found, gradient_penalty_weight=-1.0)


def test_structured_inputs_and_classes_are_predicted() -> None:
    noise, code = tf.random_normal([8, 4]), tf.random_normal([8, 1])

    def judge_code(data: Any, inputs: Any) -> Any:
        mean = tf.layers.dense(data, 1, name="code")
        return judge(data, inputs), [tf.distributions.Normal(mean, 1.0)]

    info = tfgan.infogan_model(generate, judge_code, tf.zeros([8, 2]), [noise], [code])
    lost = tfgan.losses.mutual_information_penalty(info)
    code_value, mean, found = value([code, info.predicted_distributions[0].mean(), lost])
    np.testing.assert_allclose(found, np.mean((code_value - mean) ** 2 + np.log(2 * np.pi)) / 2, rtol=1e-4)
    both = tfgan.gan_loss(info, mutual_information_penalty_weight=1.0)
    assert both.generator_loss.shape.ndims == 0

    def judge_class(data: Any, inputs: Any) -> Any:
        return judge(data, inputs), tf.layers.dense(data, 3, name="classes")

    labels = tf.one_hot([0, 1, 2, 0, 1, 2, 0, 1], 3)
    found_classes = tfgan.acgan_model(generate, judge_class, tf.zeros([8, 2]), noise, labels, "G", "D")
    loss = tfgan.gan_loss(found_classes, aux_cond_generator_weight=1.0, aux_cond_discriminator_weight=1.0)
    assert all(np.isfinite(value(list(loss))))
    with pytest.raises(TypeError, match="classification logits"):
        tfgan.acgan_model(generate, judge, tf.zeros([8, 2]), noise, labels, "G2", "D2")


def test_a_cycle_is_back_where_it_began() -> None:
    def scale(data: Any) -> Any:
        return data * tf.get_variable("scale", initializer=3.0)

    x, y = REAL.reshape(3, 2), MADE.reshape(3, 2)
    found = tfgan.cyclegan_model(scale, lambda data, _: tf.reduce_sum(data, 1), tf.constant(x), tf.constant(y))
    np.testing.assert_allclose(value(found.reconstructed_x), 9.0 * x, rtol=1e-5)
    lost = tfgan.losses.cycle_consistency_loss(found)
    np.testing.assert_allclose(value(lost), 4.0 * (np.abs(x).mean() + np.abs(y).mean()), rtol=1e-5)
    loss = tfgan.cyclegan_loss(found, cycle_consistency_loss_weight=2.0, add_summaries=False)
    made = ((3.0 * x).sum(1) - 1.0) ** 2 / 2
    np.testing.assert_allclose(value(loss.loss_x2y.generator_loss), made.mean() + 2.0 * value(lost), rtol=1e-5)


# --- training -------------------------------------------------------------------------------------------


def train_ops(found: Any, **options: Any) -> Any:
    loss = tfgan.gan_loss(found, gradient_penalty_weight=1.0, add_summaries=False)
    return tfgan.gan_train_ops(found, loss, tf.train.AdamOptimizer(0.02), tf.train.AdamOptimizer(0.02), **options)


def test_a_generator_learns_where_real_data_are(tmp_path: Path) -> None:
    def judge_distance(data: Any, inputs: Any) -> Any:
        return tf.layers.dense(tf.layers.dense(data, 16, tf.nn.relu), 1)

    real = tf.random_normal([32, 2], [3.0, -2.0], 0.1)
    found = tfgan.gan_model(lambda z: tf.layers.dense(z, 2), judge_distance, real, tf.random_normal([32, 4]))
    mean = tf.reduce_mean(found.generated_data, 0)
    last = []

    class Keep(tf.train.SessionRunHook):
        def before_run(self, context: Any) -> Any:
            return tf.train.SessionRunArgs(mean)

        def after_run(self, context: Any, values: Any) -> None:
            last.append(values.results)

    hooks = [tf.train.StopAtStepHook(num_steps=400), Keep()]
    steps = tfgan.get_sequential_train_hooks(tfgan.GANTrainSteps(1, 2))
    tfgan.gan_train(train_ops(found), str(tmp_path), steps, hooks=hooks, save_checkpoint_secs=None)
    np.testing.assert_allclose(np.mean(last[-100:], 0), [3.0, -2.0], atol=0.7)


def test_hooks_train_one_after_the_other_or_both_at_once() -> None:
    runs: list[Any] = []

    class Context:
        class session:
            run = staticmethod(runs.append)

    ops = tfgan.GANTrainOps("g", "d", "step")
    for make in (tfgan.get_sequential_train_hooks, tfgan.get_joint_train_hooks):
        for hook in make(tfgan.GANTrainSteps(1, 3))(ops):
            hook.before_run(Context)
        runs.append(make)
    assert runs == [
        ["g"], ["d"], ["d"], ["d"], tfgan.get_sequential_train_hooks,
        ["g", "d"], ["d"], ["d"], tfgan.get_joint_train_hooks,
    ]  # fmt: skip


def test_slim_trains_both_in_a_step(tmp_path: Path) -> None:
    found = model()
    ops = train_ops(found)
    step = tfgan.get_sequential_train_steps(tfgan.GANTrainSteps(2, 1))
    final = tf.contrib.slim.learning.train(
        ops, str(tmp_path), train_step_fn=step, number_of_steps=3, save_summaries_secs=0, log_every_n_steps=1
    )
    assert np.isfinite(final)


def test_update_ops_of_neither_network_are_refused() -> None:
    found = model()
    tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, tf.no_op("stray"))
    with pytest.raises(ValueError, match=r"unused update ops.*stray"):
        train_ops(found)
    assert train_ops(found, check_for_unused_update_ops=False).global_step_inc_op is not None


# --- features and scores --------------------------------------------------------------------------------


def test_a_tensor_is_conditioned_by_a_linear_function() -> None:
    tensor, condition = tf.zeros([2, 3, 4]), tf.constant([[1.0, 2.0], [0.0, 1.0]])
    found = tfgan.features.condition_tensor(tensor, condition)
    weights = next(v for v in tf.trainable_variables() if v.op.name.endswith("weights"))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        result, matrix = session.run([found, weights])
    np.testing.assert_allclose(result, (np.array([[1, 2], [0, 1]]) @ matrix).reshape(2, 3, 4), rtol=1e-5, atol=1e-6)
    labels = tf.one_hot([1, 1], 5)
    by_class = value(tfgan.features.condition_tensor_from_onehot(tensor, labels, embedding_size=3))
    np.testing.assert_array_equal(by_class[0], by_class[1])
    assert np.abs(by_class).max() > 0


def test_a_pool_returns_earlier_inputs_with_a_probability() -> None:
    number = tf.placeholder(tf.int32, [])
    same, pooled = (tfgan.features.tensor_pool((number, [number * 2]), 3, p) for p in (0.0, 1.0))
    assert tfgan.features.tensor_pool(number, 0) is number
    with tf.Session() as session:
        found = [session.run([same, pooled], {number: i}) for i in range(12)]
    assert [first for (first, _), _ in found] == list(range(12))
    taken = [first for _, (first, _) in found]
    assert taken[:3] == [0, 1, 2] and all(t < i for i, t in enumerate(taken[3:], 3))
    assert len(set(taken[3:])) == 9  # each of them once
    assert all(second == [2 * first] for _, (first, second) in found)


def test_images_are_shown_as_a_grid() -> None:
    images = np.arange(5 * 2 * 3 * 1, dtype="f").reshape(5, 2, 3, 1)
    (found,) = value(tfgan.eval.image_reshaper(tf.constant(images), num_cols=2))
    rows = [np.concatenate([*images[i : i + 2], np.zeros((2, 3, 1))][:2], 1) for i in (0, 2, 4)]
    np.testing.assert_array_equal(found, np.concatenate(rows, 0))
    with pytest.raises(ValueError, match="minibatch size 5"):
        tfgan.eval.image_grid(tf.constant(images), (2, 2), (2, 3), 1)


def test_summaries_show_images_variables_and_outputs() -> None:
    def generate_image(z: Any) -> Any:
        return tf.reshape(tf.layers.dense(z, 12), [-1, 2, 2, 3])

    found = tfgan.gan_model(
        generate_image, lambda x, _: tf.layers.dense(tf.layers.flatten(x), 1), tf.zeros([4, 2, 2, 3]), tf.zeros([4, 12])
    )
    tfgan.eval.add_gan_model_image_summaries(found, grid_size=2)
    summary = tf.Summary.FromString(value(tf.summary.merge_all()))
    tags = {each.tag for each in summary.value}
    assert {"real_data/image", "generated_data/image", "generator_outputs/generator_output"} <= tags
    with pytest.raises(ValueError, match="images of known size"):
        tfgan.eval.add_gan_model_image_summaries(model(generator_scope="G", discriminator_scope="D"))


def test_scores_are_those_of_the_papers() -> None:
    logits = RANDOM.normal(size=(20, 5)).astype("f") * 2
    p = scipy.special.softmax(logits.astype("d"), 1)
    wanted = np.exp(np.mean((p * np.log(p / p.mean(0))).sum(1)))
    a, b = RANDOM.normal(size=(2, 40, 3)) @ RANDOM.normal(size=(3, 3)) + [[[0.0]], [[0.5]]]
    c, d = np.cov(a.T), np.cov(b.T)
    distance = ((a.mean(0) - b.mean(0)) ** 2).sum() + np.trace(c + d - 2 * scipy.linalg.sqrtm(c @ d).real)
    score = tfgan.eval.classifier_score(tf.constant(logits), lambda x: x * 1.0, num_batches=4)
    found = tfgan.eval.frechet_classifier_distance(tf.constant(a), tf.constant(b), tf.identity, num_batches=2)
    np.testing.assert_allclose(value(score), wanted, rtol=1e-5)
    np.testing.assert_allclose(value(found), distance, rtol=1e-6)


def test_scores_take_classifiers_from_frozen_graphs(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 4, 4, 3], name="Mul")
        tf.reduce_mean(x, [1, 2], name="logits")
        tf.identity(x[:, :2, :1], name="pool_3")
    (tmp_path / "net.pb").write_bytes(graph.as_graph_def().SerializeToString())
    read = tfgan.eval.get_graph_def_from_disk(str(tmp_path / "net.pb"))
    images = RANDOM.normal(size=(6, 4, 4, 3)).astype("f")
    both = tfgan.eval.run_inception(tf.constant(images), read, image_size=4, output_tensor=["logits:0", "pool_3:0"])
    means, pooled = value(both)
    np.testing.assert_allclose(means, images.mean((1, 2)), rtol=1e-5)
    np.testing.assert_array_equal(pooled, images[:, :2, :1].reshape(6, 6))
    logits = tfgan.eval.run_image_classifier(tf.constant(images), read, "Mul:0", "logits:0")
    np.testing.assert_allclose(value(logits), means, rtol=1e-6)
    with pytest.raises(ValueError, match="compatible"):
        tfgan.eval.run_inception(tf.constant(images), read)
    with pytest.raises(NotImplementedError, match="get_graph_def_from_disk"):
        tfgan.eval.inception_score(tf.zeros([2, 299, 299, 3]))


def test_images_are_prepared_for_inception() -> None:
    pixels = RANDOM.integers(0, 256, (4, 2, 3)).astype(np.uint8)
    wanted = (pixels.astype("f") - 128) / 128
    np.testing.assert_allclose(value(tfgan.eval.preprocess_image(tf.constant(pixels), 4, 2)), wanted)
    taller = value(tfgan.eval.preprocess_image(tf.constant(pixels[None].astype("f")), 8, 2))
    np.testing.assert_allclose(taller[0, ::2], wanted)  # and rows halfway between
    np.testing.assert_allclose(taller[0, 1:-1:2], (wanted[1:] + wanted[:-1]) / 2)
    assert tfgan.eval.preprocess_image(tf.zeros([1, 8, 8, 3])).shape == [1, 299, 299, 3]
