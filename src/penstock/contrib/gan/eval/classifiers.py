"""Classifiers from frozen graphs, on which scores are based (TF: tf.contrib.gan.eval.run_inception, …)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from tensorboard.compat.proto import graph_pb2

from penstock import gfile
from penstock.contrib.gan.eval.scores import classifier_score, frechet_classifier_distance
from penstock.contrib.layers.plain import flatten
from penstock.export import export
from penstock.graph.importer import import_graph_def
from penstock.graph.operation import Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.array import expand_dims, squeeze
from penstock.ops.cast import cast
from penstock.ops.image_resize import resize_bilinear
from penstock.tensor.dtypes import float32

INCEPTION_DEFAULT_IMAGE_SIZE = 299


def _no_graph() -> Any:
    raise NotImplementedError(
        "Inception's frozen graph is not downloaded: read the file inceptionv1_for_inception_score.pb with "
        "tf.contrib.gan.eval.get_graph_def_from_disk and give it as graph_def="
    )


@export("contrib.gan.eval.get_graph_def_from_disk")
def get_graph_def_from_disk(filename: str) -> Any:
    """The GraphDef in a file."""
    with gfile.GFile(filename, "rb") as file:
        return graph_pb2.GraphDef.FromString(file.read())


@export("contrib.gan.eval.preprocess_image")
def preprocess_image(
    images: Any,
    height: int = INCEPTION_DEFAULT_IMAGE_SIZE,
    width: int = INCEPTION_DEFAULT_IMAGE_SIZE,
    scope: str | None = None,
) -> Tensor:
    """images [n, h, w, c] or [h, w, c] with values in [0, 255], resized, in [-1, 1): what `run_inception` takes."""
    with name_scope(scope, "preprocess", [images, height, width]):
        single = images.shape.ndims == 3
        floats = images if images.dtype.is_floating else cast(images, float32)
        resized = resize_bilinear(expand_dims(floats, 0) if single else floats, [height, width])
        scaled = (resized - 128.0) / 128.0
        return squeeze(scaled, [0]) if single else scaled


@export("contrib.gan.eval.run_image_classifier")
def run_image_classifier(
    tensor: Any, graph_def: Any, input_tensor: str, output_tensor: Any, scope: str = "RunClassifier"
) -> Any:
    """What a frozen graph makes of `tensor`: the tensor that is called `output_tensor` there, or a list of those of a
    list. `input_tensor`: the name of what `tensor` stands for."""
    single = isinstance(output_tensor, str)
    names: Sequence[str] = [output_tensor] if single else output_tensor
    found: Any = import_graph_def(graph_def, {input_tensor: tensor}, list(names), name=scope)
    return found[0] if single else found


@export("contrib.gan.eval.run_inception")
def run_inception(
    images: Any,
    graph_def: Any = None,
    default_graph_def_fn: Callable[[], Any] = _no_graph,
    image_size: int = INCEPTION_DEFAULT_IMAGE_SIZE,
    input_tensor: str = "Mul:0",
    output_tensor: Any = "logits:0",
) -> Any:
    """`run_image_classifier` with Inception's names of tensors, each output as a matrix [n, …].

    images float32 [n, image_size, image_size, 3] in [-1, 1]. Raises ValueError for another shape, NotImplementedError
    without a graph: nothing is downloaded.
    """
    images.shape.with_rank(4)
    images.shape.assert_is_compatible_with([None, image_size, image_size, None])
    given = default_graph_def_fn() if graph_def is None else graph_def
    found = run_image_classifier(images, given, input_tensor, output_tensor)
    several = isinstance(found, list)
    matrices = [each if each.shape.ndims == 2 else flatten(each) for each in (found if several else [found])]
    return matrices if several else matrices[0]


inception_score = export("contrib.gan.eval.inception_score")(
    partial(classifier_score, classifier_fn=partial(run_inception, output_tensor="logits:0"))
)
frechet_inception_distance = export("contrib.gan.eval.frechet_inception_distance")(
    partial(frechet_classifier_distance, classifier_fn=partial(run_inception, output_tensor="pool_3:0"))
)
