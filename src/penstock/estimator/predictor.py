"""Exported models and Estimators as functions of arrays (TF: tf.contrib.predictor)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from penstock.estimator.estimator import Estimator
from penstock.estimator.export.outputs import DEFAULT, with_default_output
from penstock.estimator.mode_keys import ModeKeys
from penstock.export import export
from penstock.graph.graph import Graph
from penstock.saved_model import tag_constants
from penstock.saved_model.loader import chosen_meta_graph, load
from penstock.session.session import Session
from penstock.training_loop.monitored_session import MonitoredSession
from penstock.training_loop.session_creators import ChiefSessionCreator


class Predictor:
    """A function from a dict of arrays to one of arrays, over a session that it keeps open."""

    def __init__(self, session: Any, graph: Graph, feeds: Mapping[str, Any], fetches: Mapping[str, Any]) -> None:
        self._session, self._graph = session, graph
        self._feed_tensors, self._fetch_tensors = dict(feeds), dict(fetches)

    @property
    def session(self) -> Any:
        return self._session

    @property
    def graph(self) -> Graph:
        return self._graph

    @property
    def feed_tensors(self) -> dict[str, Any]:
        return self._feed_tensors

    @property
    def fetch_tensors(self) -> dict[str, Any]:
        return self._fetch_tensors

    def __call__(self, input_dict: Mapping[str, Any]) -> dict[str, Any]:
        """Raises ValueError for names that the model does not take."""
        unexpected = set(input_dict) - set(self._feed_tensors)
        if unexpected:
            raise ValueError(f"Got unexpected keys in input_dict: {unexpected}\nexpected: {set(self._feed_tensors)}")
        feeds = {self._feed_tensors[name]: value for name, value in input_dict.items()}
        values: dict[str, Any] = self._session.run(self._fetch_tensors, feed_dict=feeds)
        return values

    def close(self) -> None:
        self._session.close()

    def __repr__(self) -> str:
        return f"Predictor with feed tensors {self._feed_tensors} and fetch_tensors {self._fetch_tensors}"


@export("contrib.predictor.from_saved_model")
def from_saved_model(
    export_dir: Any,
    signature_def_key: str | None = None,
    signature_def: Any = None,
    input_names: Mapping[str, str] | None = None,
    output_names: Mapping[str, str] | None = None,
    tags: str | Iterable[str] | None = None,
    graph: Graph | None = None,
    config: Any = None,
) -> Predictor:
    """The model in `export_dir`, by one of its signatures ("serving_default"), by `signature_def`, or by the names of
    its tensors: `input_names` and `output_names`."""
    if sum(given is not None for given in (signature_def_key, signature_def, output_names)) > 1:
        raise ValueError("You must specify at most one of signature_def_key OR signature_def OR output_names.")
    if (input_names is None) != (output_names is None):
        raise ValueError("input_names and output_names must both be specified or both be unspecified.")
    chosen = tags.split(",") if isinstance(tags, str) else tags or [tag_constants.SERVING]
    if output_names is None and signature_def is None:
        signatures = chosen_meta_graph(os.fsdecode(export_dir), chosen).signature_def
        key = signature_def_key or DEFAULT
        if key not in signatures:
            raise ValueError(f'Got signature_def_key "{key}". Available signatures are {sorted(signatures)}.')
        signature_def = signatures[key]
    session = Session(graph=graph or Graph(), config=config)
    load(session, chosen, export_dir)
    feeds = input_names or {name: info.name for name, info in signature_def.inputs.items()}
    fetches = output_names or {name: info.name for name, info in signature_def.outputs.items()}
    tensors = session.graph.get_tensor_by_name
    return Predictor(
        session,
        session.graph,
        {name: tensors(tensor) for name, tensor in feeds.items()},
        {name: tensors(tensor) for name, tensor in fetches.items()},
    )


@export("contrib.predictor.from_estimator")
def from_estimator(
    estimator: Estimator,
    serving_input_receiver_fn: Callable[[], Any],
    output_key: str | None = None,
    graph: Graph | None = None,
    config: Any = None,
) -> Predictor:
    """The model of the latest checkpoint, by one of its `export_outputs`, fed as `serving_input_receiver_fn` says."""
    graph = graph or Graph()
    with graph.as_default():
        receiver = serving_input_receiver_fn()
        spec = estimator.model_fn(receiver.features, None, ModeKeys.PREDICT, estimator.config)
        outputs = with_default_output(spec.export_outputs, spec.predictions)
        key = output_key or DEFAULT
        if key not in outputs:
            raise ValueError(f'Got output_key "{key}". Available output_keys are {sorted(outputs)}.')
        signature = outputs[key].as_signature_def(receiver.receiver_tensors)
        checkpoint = estimator.latest_checkpoint()
        creator = ChiefSessionCreator(spec.scaffold, config=config, checkpoint_filename_with_path=checkpoint)
        session = MonitoredSession(creator)
        fetches = {name: graph.get_tensor_by_name(info.name) for name, info in signature.outputs.items()}
    return Predictor(session, graph, receiver.receiver_tensors, fetches)
