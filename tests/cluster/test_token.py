"""The secret of a cluster: made once for this user's clusters of one machine, given by the user for all others."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from penstock import errors
from penstock.cluster.token import is_loopback, new_token, token_file, token_for


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path))
    monkeypatch.delenv("PENSTOCK_CLUSTER_TOKEN", raising=False)


def test_clusters_of_one_machine_share_a_file_that_only_the_user_can_read() -> None:
    with ThreadPoolExecutor(8) as pool:
        tokens = set(pool.map(lambda _: token_for(["localhost:1", "127.0.0.1:2"]), range(32)))
    assert len(tokens) == 1 and len(tokens.pop()) == 64
    assert stat.S_IMODE(token_file().stat().st_mode) == 0o600
    assert list(token_file().parent.iterdir()) == [token_file()]


def test_a_file_that_others_can_read_is_refused() -> None:
    token_for([])
    token_file().chmod(0o640)
    with pytest.raises(errors.PermissionDeniedError, match="Others have access"):
        token_for([])


def test_an_empty_file_is_refused() -> None:
    token_file().touch(0o600)
    with pytest.raises(errors.DataLossError, match="holds no token"):
        token_for([])


def test_a_cluster_of_several_machines_needs_a_token_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(errors.FailedPreconditionError, match=r"10\.0\.0\.1:2222 is not on .* PENSTOCK_CLUSTER_TOKEN"):
        token_for(["localhost:1", "10.0.0.1:2222"])
    token = new_token()
    monkeypatch.setenv("PENSTOCK_CLUSTER_TOKEN", token)
    assert token_for(["10.0.0.1:2222"]) == token_for([]) == token.encode()
    monkeypatch.setenv("PENSTOCK_CLUSTER_TOKEN", "short")
    with pytest.raises(errors.InvalidArgumentError, match="at least 16"):
        token_for([])


def test_a_cache_that_cannot_be_written_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "file"))
    with pytest.raises(errors.FailedPreconditionError, match="Set PENSTOCK_CLUSTER_TOKEN instead"):
        token_for([])


def test_loopback_hosts_are_known_by_their_address() -> None:
    assert [is_loopback(host) for host in ("localhost", "127.1.2.3", "::1", "example.com", "0.0.0.0")] == [
        True,
        True,
        True,
        False,
        False,
    ]
