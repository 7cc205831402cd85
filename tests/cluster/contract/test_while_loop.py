"""The contract of tests/control_flow/test_while_loop.py, over several devices and tasks."""

from tests.control_flow.test_while_loop import *  # noqa: F403
