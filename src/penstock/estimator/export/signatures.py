"""The signatures of an exported model: of what it takes, with each of its outputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock import logging
from penstock.estimator.export.outputs import DEFAULT, ExportOutput
from penstock.saved_model.signature_def_utils import is_valid_signature

_SERVED_AS = {"Classify": "classify", "Regress": "regress", "Predict": "predict"}


def all_signatures(
    receiver_tensors: Mapping[str, Any], export_outputs: Mapping[str, ExportOutput], alternatives: Any = None
) -> dict[str, Any]:
    """SignatureDefs by name, "output" or "receiver:output"; those that cannot be served are only logged."""
    signatures: dict[str, Any] = {}
    excluded: dict[str, str] = {}
    for receiver, tensors in {None: receiver_tensors, **(alternatives or {})}.items():
        for name, output in export_outputs.items():
            full_name = str(name) if receiver is None else f"{receiver or None}:{name or None}"
            try:
                signature = output.as_signature_def(tensors)
            except ValueError as error:
                excluded[full_name] = str(error)
                continue
            if is_valid_signature(signature):
                signatures[full_name] = signature
    _report(signatures, excluded)
    return signatures


def _report(signatures: Mapping[str, Any], excluded: Mapping[str, str]) -> None:
    for title, method in _SERVED_AS.items():
        names = [name for name, signature in signatures.items() if signature.method_name.endswith(f"/{method}")]
        logging.info("Signatures INCLUDED in export for %s: %s", title, names or None)
    if excluded:
        logging.info("Signatures EXCLUDED from export because they cannot be be served via TensorFlow Serving APIs:")
        for name, reason in excluded.items():
            logging.info("'%s' : %s", name, reason)
    if not signatures:
        logging.warning("Export includes no signatures!")
    elif DEFAULT not in signatures:
        logging.warning("Export includes no default signature!")
