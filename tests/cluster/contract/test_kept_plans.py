"""The contract of tests/session/test_kept_plans.py, over several devices and tasks."""

from tests.session.test_kept_plans import *  # noqa: F403
