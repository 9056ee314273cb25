"""What the tests of the Python package share."""

import sys

import pytest

import limitree
from holding import STORES
from limitree.testing import ManualClock
from servers import memcached, redis_server

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
def shared(tmp_path):
    """The URL of a file that processes share, which nobody has made yet."""
    if sys.platform != "linux":
        pytest.skip("shm:// needs Linux")
    return f"shm://{tmp_path}/shared?max_buckets=1000"


@pytest.fixture(params=["memory", "shared"])
def store(request):
    """The URL of each store that answers at once."""
    return ("memory://" if request.param == "memory"
            else request.getfixturevalue("shared"))


@pytest.fixture(params=STORES)
def holding(request):
    """The URL of each store that can hold."""
    if request.param == "redis":
        with redis_server() as (url, _):
            yield url
    elif request.param == "memcached":
        with memcached() as (url, _):
            yield url
    elif request.param == "shared":
        yield request.getfixturevalue("shared")
    else:
        yield "memory://"


@pytest.fixture
def limiter(clock):
    with limitree.Limiter(USERS, clock=clock) as made:
        yield made
