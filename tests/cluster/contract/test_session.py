"""The contract of sessions (tests/session/test_session.py), over several devices and tasks."""

from tests.session.test_session import *  # noqa: F403
