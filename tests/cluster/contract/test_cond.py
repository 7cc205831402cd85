"""The contract of tests/control_flow/test_cond.py, over several devices and tasks."""

from tests.control_flow.test_cond import *  # noqa: F403
