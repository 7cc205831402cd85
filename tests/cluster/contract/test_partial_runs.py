"""The contract of tests/session/test_partial_runs.py, over several devices and tasks."""

from tests.session.test_partial_runs import *  # noqa: F403
