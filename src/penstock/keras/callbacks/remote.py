"""A callback that tells a server what is logged (TF: tf.keras.callbacks.RemoteMonitor)."""

from __future__ import annotations

import json
import urllib.parse
import urllib.request
from typing import Any

import numpy as np

from penstock.export import export
from penstock.keras.callbacks.base import Callback
from penstock.logging import get_logger

_SECONDS = 10.0


@export("keras.callbacks.RemoteMonitor")
class RemoteMonitor(Callback):
    """Posts {"epoch": …, what is logged} to `root` + `path` after each epoch.

    It is JSON in the form field `field`, or with `send_as_json` the request's body. A server that does not answer is a
    warning: training goes on.
    """

    def __init__(
        self,
        root: str = "http://localhost:9000",
        path: str = "/publish/epoch/end/",
        field: str = "data",
        headers: Any = None,
        send_as_json: bool = False,
    ) -> None:
        self.root, self.path, self.field, self.headers = root, path, field, dict(headers or {})
        self.send_as_json = send_as_json
        if not root.startswith(("http://", "https://")):
            raise ValueError(f"RemoteMonitor posts to http:// or https://, not to {root!r}")

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        values = {name: np.asarray(value).tolist() for name, value in (logs or {}).items()}
        body = json.dumps({"epoch": epoch, **values})
        if self.send_as_json:
            data, kind = body, "application/json"
        else:
            data, kind = urllib.parse.urlencode({self.field: body}), "application/x-www-form-urlencoded"
        headers = {"Content-Type": kind, **self.headers}
        request = urllib.request.Request(self.root + self.path, data.encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=_SECONDS):
                pass
        except OSError as error:
            get_logger().warning("Warning: could not reach RemoteMonitor root server at %s (%s)", self.root, error)
