"""The contract of tests/session/test_feed_keys.py, over several devices and tasks."""

from tests.session.test_feed_keys import *  # noqa: F403
