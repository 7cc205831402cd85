"""The contract of tests/data_flow/test_queues.py, over several devices and tasks."""

from tests.data_flow.test_queues import *  # noqa: F403
