"""What models tell of the calls that they are made of; Keras 2.2.5 and TensorFlow 1.15 print the same."""

from __future__ import annotations

from typing import Any

import penstock as tf

L = tf.keras.layers


def names(layers: list[Any]) -> list[str]:
    return [layer.name for layer in layers]


def model_of_two_inputs() -> Any:
    a, b, shared = L.Input((4,), name="a"), L.Input((4,), name="b"), L.Dense(3, name="shared")
    x, y = shared(a), shared(b)
    both = L.Activation("relu", name="relu")(L.concatenate([x, y], name="both"))
    return tf.keras.Model([a, b], [L.Dense(2, name="far")(both), L.Dense(1, name="near")(x)])


def test_a_model_tells_its_nodes_by_key_and_by_depth() -> None:
    model = model_of_two_inputs()
    assert sorted(model._network_nodes) == [
        "a_ib-0", "b_ib-0", "both_ib-0", "far_ib-0", "near_ib-0", "relu_ib-0", "shared_ib-0", "shared_ib-1",
    ]  # fmt: skip
    by_depth = {depth: sorted(node.outbound_layer.name for node in n) for depth, n in model._nodes_by_depth.items()}
    assert by_depth == {0: ["far", "near"], 1: ["relu"], 2: ["both"], 3: ["shared", "shared"], 4: ["a", "b"]}
    layers = {depth: sorted(names(each)) for depth, each in model._layers_by_depth.items()}
    assert layers == {0: ["far", "near"], 1: ["relu"], 2: ["both"], 3: ["shared"], 4: ["a", "b"]}


def test_a_model_tells_the_layers_that_its_inputs_and_outputs_are_of() -> None:
    model = model_of_two_inputs()
    assert (names(model._input_layers), names(model._output_layers)) == (["a", "b"], ["far", "near"])
    assert [(layer.name, *rest) for layer, *rest in model._output_coordinates] == [("far", 0, 0), ("near", 0, 0)]
    sequential = tf.keras.Sequential([L.Dense(3, input_dim=2, name="one")])
    assert names(sequential._input_layers) == ["one_input"]


def test_nodes_are_told_apart_by_what_they_are_and_found_from_their_layers() -> None:
    model = model_of_two_inputs()
    shared, near = model.get_layer("shared"), model.get_layer("near")
    assert len({*shared.inbound_nodes}) == 2
    assert shared.inbound_nodes[0] in model._nodes_by_depth[3]
    assert near.inbound_nodes[0] in shared.outbound_nodes
    assert near.inbound_nodes[0] not in model._nodes_by_depth[3]


def test_a_program_may_set_the_names_of_attributes_that_models_and_layers_have() -> None:
    """`model.layers[-1].outbound_nodes = []` is in programs that take a layer off; own models keep lists of layers."""

    class Own(tf.keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self._input_layers = [L.Dense(2)]

    assert names(Own()._input_layers)
    layer = L.Dense(2)
    layer.outbound_nodes = []
    assert layer.outbound_nodes == []
