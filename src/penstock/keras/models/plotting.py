"""Pictures of models (TF: tf.keras.utils.plot_model), drawn without Graphviz."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

from penstock.drawing.dot import to_dot
from penstock.drawing.layout import layout
from penstock.drawing.picture import Arrow, Box, Picture, groups, tree
from penstock.drawing.svg import to_svg
from penstock.export import export
from penstock.keras.engine.network import Network
from penstock.keras.engine.node import history_of

_MARGIN = 8


@export("keras.utils.model_to_dot")
def model_to_dot(
    model: Any, show_shapes: bool = False, show_layer_names: bool = True, rankdir: str = "TB",
    expand_nested: bool = False, dpi: int = 96, subgraph: bool = False,
) -> Any:  # fmt: skip
    """The layers of a model as a graph, with the methods of pydot that programs call: `create`, `write`, `write_png`.

    show_shapes: the shapes of inputs and outputs below the names. expand_nested: the layers of inner models, in groups.
    It is drawn from top to bottom whatever `rankdir` says.
    """
    boxes: list[Box] = []
    arrows: list[Arrow] = []
    _collect(model, show_shapes, show_layer_names, expand_nested, (), boxes, arrows)
    return ModelPicture(Picture(boxes, list(dict.fromkeys(arrows)), model.name), dpi)


@export("keras.utils.plot_model")
def plot_model(
    model: Any, to_file: Any = "model.png", show_shapes: bool = False, show_layer_names: bool = True,
    rankdir: str = "TB", expand_nested: bool = False, dpi: int = 96,
) -> None:  # fmt: skip
    """Write a picture of the layers to a file: PNG, SVG, DOT, or what else Pillow writes, as its name ends."""
    found = model_to_dot(model, show_shapes, show_layer_names, rankdir, expand_nested, dpi)
    found.write(to_file, format=Path(to_file).suffix[1:] or "png")


def _collect(
    model: Any, shapes: bool, names: bool, nested: bool, inside: tuple[str, ...], boxes: list[Box], arrows: list[Arrow]
) -> None:
    if getattr(model, "_nodes", None) is None:
        boxes.append(Box(str(id(model)), model.name, type(model).__name__))
        return
    kept = {id(node) for node in model._nodes}
    for layer in model._layers:
        if nested and isinstance(layer, Network) and layer._nodes is not None:
            _collect(layer, shapes, names, nested, (*inside, layer.name), boxes, arrows)
        else:
            kind = type(layer).__name__
            if hasattr(layer, "layer"):
                kind = f"{kind}({type(layer.layer).__name__})"
            label = f"{layer.name}: {kind}" if names else kind
            boxes.append(Box(str(id(layer)), label, kind, _shapes(layer) if shapes else "", inside=inside))
        for node in layer._inbound_nodes:
            if id(node) in kept:
                sources = [history_of(x).layer for x in node.tensors]  # type: ignore[union-attr]
                arrows += [Arrow(_end(source, nested, -1), _end(layer, nested, 0)) for source in sources]


def _end(layer: Any, nested: bool, which: int) -> str:
    """The box where arrows to (0) or from (-1) a layer end."""
    while nested and isinstance(layer, Network) and layer._nodes is not None:
        layer = layer._layers[which]
    return str(id(layer))


def _shapes(layer: Any) -> str:
    def shape(what: str) -> str:
        try:
            return str(getattr(layer, what)).replace("None", "?")
        except AttributeError:
            return "?"

    return f"{shape('input_shape')} -> {shape('output_shape')}"


class ModelPicture:
    """A model's layers, to be written to files or as bytes."""

    def __init__(self, picture: Picture, dpi: int) -> None:
        self.picture, self._scale = picture, max(1.0, dpi / 96)

    def to_string(self) -> str:
        """In the DOT language."""
        return to_dot(self.picture)

    def create(self, prog: Any = None, format: str = "png") -> bytes:
        """The file's contents."""
        if format in ("dot", "raw"):
            return self.to_string().encode()
        if format == "svg":
            return to_svg(self.picture).encode()
        data = io.BytesIO()
        self._image().save(data, {"jpg": "jpeg", "tif": "tiff"}.get(format.lower(), format))
        return data.getvalue()

    def write(self, path: Any, prog: Any = None, format: str = "raw") -> bool:
        Path(path).write_bytes(self.create(prog, format))
        return True

    def __getattr__(self, name: str) -> Any:
        """`create_svg()`, `write_png(path)`, …"""
        verb, _, format = name.partition("_")
        if verb not in ("create", "write") or not format:
            raise AttributeError(f"A model's picture has no {name!r}")
        return lambda *args, **kwargs: getattr(self, verb)(*args, format=format, **kwargs)

    def _image(self) -> Image.Image:
        found, scale = layout(self.picture), self._scale
        size = (int((found.width + 2 * _MARGIN) * scale) + 1, int((found.height + 2 * _MARGIN) * scale) + 1)
        image = Image.new("RGB", size, "white")
        draw = ImageDraw.Draw(image)

        def at(*numbers: float) -> list[float]:
            return [(number + _MARGIN) * scale for number in numbers]

        for group in groups(tree(self.picture.boxes)):
            p = found.groups[group.path]
            draw.rectangle(at(p.x, p.y, p.x + p.width, p.y + p.height), outline="gray")
            draw.text(at(p.x + 4, p.y + 2), group.path[-1], "gray")
        by_key = {box.key: box for box in self.picture.boxes}
        for arrow in self.picture.arrows:
            places = found.route(by_key[arrow.source], by_key[arrow.target])
            points = [at(x, y) for x, y in _through(places)]
            draw.line([tuple(point) for point in points], "black")
            x, y = points[-1]
            draw.polygon([(x, y), (x - 3 * scale, y - 6 * scale), (x + 3 * scale, y - 6 * scale)], "black")
        for box in self.picture.boxes:
            p = found.boxes[box.key]
            draw.rectangle(at(p.x, p.y, p.x + p.width, p.y + p.height), "white", "black")
            text = f"{box.label}\n{box.note}" if box.note else box.label
            draw.multiline_text(at(p.x + p.width / 2, p.y + p.height / 2), text, "black", anchor="mm", align="center")
        return image


def _through(places: list[Any]) -> Iterator[tuple[float, float]]:
    """From the lower edge of the first place to the upper edge of the last."""
    first, *between, last = places
    yield first.x + first.width / 2, first.y + first.height
    for place in between:
        yield place.x + place.width / 2, place.y + place.height / 2
    yield last.x + last.width / 2, last.y
