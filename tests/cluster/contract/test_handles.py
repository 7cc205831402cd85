"""The contract of tests/session/test_handles.py, over several devices and tasks."""

from tests.session.test_handles import *  # noqa: F403
