"""How Ray is reached, or a new one started, so that others have no way in."""

from __future__ import annotations

import os
import secrets
import sys
from pathlib import Path
from typing import Any

from penstock import errors
from penstock.cluster.launch.ray.folders import Folder
from penstock.cluster.spec import LOOPBACK, host_and_port
from penstock.cluster.token import is_loopback

_OBJECT_STORE = 80 << 20
"""Nothing goes through it. Ray's smallest is 75 MiB."""

_KEEPALIVE = {
    "RAY_grpc_client_keepalive_time_ms": "10000",
    "RAY_grpc_client_keepalive_timeout_ms": "5000",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_gcs_rpc_server_reconnect_timeout_s": "1000000",  # then it ends the keeper, which must say what happened
}
_OWN = {"RAY_memory_monitor_refresh_ms": "0"}
"""Of a Ray that shares the machine with the program: it must not end tasks because others take memory."""
_TOKEN = "RAY_AUTH_TOKEN"
_MODE = "RAY_AUTH_MODE"
_NO_TOKEN = (
    "The Ray at {address} is not on loopback, so it is used with Ray's token authentication, but there is no token: "
    f"set {_TOKEN} to that Ray's, or {_MODE}=disabled if it has none and nobody else can reach it."
)
_TOO_LATE = (
    "Ray reads whether it uses tokens when it is imported, and this program has imported it already: set "
    f"{_MODE}=token (or disabled, if nobody else can reach this machine) in the environment."
)


def connect(on: str, cpus: float, folder: Folder | None) -> Any:
    """Ray itself, connected to the one at `on`, or to a new one with so many processors, if `on` is "ray".

    Raises UnavailableError if there is no such Ray, or none installed, and FailedPreconditionError without a token.
    """
    try:
        own = on == "ray"
        settings = {**_KEEPALIVE, **(_OWN if own else {})}
        os.environ.update({name: value for name, value in settings.items() if name not in os.environ})
        beyond = not own and on != "auto" and not is_loopback(host_and_port(on.removeprefix("ray://"))[0])
        if beyond and _MODE not in os.environ and not _has_token():
            raise errors.FailedPreconditionError(None, None, _NO_TOKEN.format(address=on))
        if (own or beyond) and _MODE not in os.environ and "ray" in sys.modules:
            raise errors.FailedPreconditionError(None, None, _TOO_LATE)
        if own or beyond:  # Ray listens on all interfaces, and runs what anyone sends it
            os.environ.setdefault(_MODE, "token")
        if own and os.environ[_MODE] == "token":
            os.environ.setdefault(_TOKEN, secrets.token_hex(32))
        import ray
    except ImportError:
        raise errors.UnavailableError(None, None, f"on={on!r} needs Ray: pip install 'penstock[cluster]'.") from None
    common = {"namespace": "penstock", "log_to_driver": False}
    try:
        if own:
            ray.init(
                **common,
                num_cpus=max(1, round(cpus + 0.5)),
                object_store_memory=_OBJECT_STORE,
                include_dashboard=False,
                _node_ip_address=LOOPBACK,
                _temp_dir=None if folder is None else str(folder.path),
            )
        else:
            ray.init(on, **common)
    except (ConnectionError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        raise errors.UnavailableError(None, None, f"There is no Ray at {on!r}: {error}") from None
    return ray


def _has_token() -> bool:
    """Where Ray looks for one."""
    named = os.environ.get(_TOKEN) or os.environ.get(f"{_TOKEN}_PATH")
    return bool(named) or (Path.home() / ".ray" / "auth_token").exists()
