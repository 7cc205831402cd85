"""Optimizers of Keras 3's files as those of this version, and back: their arguments and their state."""

from __future__ import annotations

from typing import Any

_SLOTS: dict[str, tuple[str, ...]] = {
    "Adadelta": ("accum", "accum_update"),
    "Adagrad": ("accumulator",),
    "Adam": ("m", "v"),
    "Adamax": ("m", "v"),
    "RMSprop": ("accumulator",),
    "SGD": ("moment",),
}
"""Optimizers that are the same in both, and what they keep for each weight, in the order of Keras 3's files."""
_ONE_BY_ONE = ("velocity", "mean", "vhat")
"""What those keep that have more, for all weights together after that."""
_NEUTRAL: dict[str, tuple[Any, ...]] = {
    "global_clipnorm": (None,),
    "gradient_accumulation_steps": (None,),
    "loss_scale_factor": (None,),
    "use_ema": (False,),
    "weight_decay": (None,),
}
"""Arguments that Keras 3 has besides, and their values that mean what is here."""
_WITHOUT_EFFECT = ("ema_momentum", "ema_overwrite_frequency")
"""Those that mean nothing without others."""


def of_later(description: Any) -> Any:
    """The description of an optimizer of Keras 3 as one of this version, with arguments that are not known here."""
    if not isinstance(description, dict) or description.get("class_name") not in _SLOTS:
        return description
    config = {
        name: value
        for name, value in description["config"].items()
        if name not in _WITHOUT_EFFECT and value not in _NEUTRAL.get(name, ())
    }
    return {"class_name": description["class_name"], "config": config}


def as_later(optimizer: Any) -> dict[str, Any]:
    """The description of an optimizer for Keras 3. Raises NotImplementedError if Keras 3 has none that is the same."""
    name = type(optimizer).__name__
    config = optimizer.get_config()
    if name not in _SLOTS or config.pop("decay", 0):
        raise NotImplementedError(f"Keras 3 has no {name} as this one is: the model is saved without its optimizer.")
    config["learning_rate"] = config.pop("lr", config.get("learning_rate"))
    return {"module": "keras.optimizers", "class_name": name, "config": config, "registered_name": None}


def state_of(optimizer: Any) -> list[Any]:
    """Its variables in the order of Keras 3's files: step and rate only, if it has not been used; none, if Keras
    3 has no such optimizer."""
    name, slots = type(optimizer).__name__, getattr(optimizer, "_of", {})
    if name not in _SLOTS:
        return []
    kept = [] if name == "SGD" and not optimizer.get_config()["momentum"] else _SLOTS[name]
    found = [optimizer.iterations, optimizer.lr]
    if slots:
        found += [variable for of_weight in zip(*(slots[key] for key in kept), strict=True) for variable in of_weight]
        found += [variable for key in _ONE_BY_ONE if key in optimizer._kept_slots() for variable in slots[key]]
    return found
