"""What the tests of the Python package share."""

import hypothesis
import pytest

import limitree
from limitree.testing import ManualClock

# No deadline: on a busy machine, the time of an example means nothing.
hypothesis.settings.register_profile("limitree", deadline=None)
hypothesis.settings.load_profile("limitree")

# Each user may trade six times at once, then once every 1.5 s; all requests of
# a user: sixteen at once, then one every 2 s.
USERS = """
schema:
  user:
    children:
      "*":
        limits: [15, 30, 60]
        children:
          trade: {limits: [5, 10, 15]}
  free: {}
  job: {limits: [0, 1, 60]}
"""


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def limiter(clock):
    with limitree.Limiter(USERS, clock=clock) as made:
        yield made
