"""shm://: one memory for all processes of a machine.

test_shared_servers.py has web servers with several workers, test_outage.py a
process that is stopped in the middle, test_processes.py forks.
"""

import os
import pathlib
import subprocess
import sys

import flask
import pytest

import limitree
import limitree.flask
from conftest import USERS
from shared_files import path_of

TREE = "schema: {job: {limits: 100/h}}"


def test_limiters_of_a_file_share_it(shared):
    one, other = (limitree.Limiter(USERS, shared) for _ in range(2))
    assert one.is_shared and not one.is_remote
    assert one.authorize("user", "alex", "trade", cost=4).remaining == 2
    assert other.authorize("user", "alex", "trade", cost=2).allowed
    assert one.authorize("user", "alex", "trade").limited
    one.refund("user", "alex", "trade", cost=3)
    assert other.peek("user", "alex", "trade", cost=0).remaining == 3
    other.reset("user", "alex", "trade")
    assert one.peek("user", "alex", "trade", cost=0).remaining == 6


def test_a_folder_with_an_at_sign(shared):
    folder = path_of(shared).with_name("app@1")
    folder.mkdir()
    url = f"shm://{folder}/limits"
    assert repr(limitree.Limiter(USERS, url)) == f"<limitree.Limiter {url}>"


@pytest.mark.skipif(sys.platform != "linux", reason="shm:// needs Linux")
def test_processes_share_a_name():
    name = f"limitree-test-{os.getpid()}"
    file = pathlib.Path("/dev/shm", name)
    program = """
import limitree, sys
limiter = limitree.Limiter(sys.argv[1], "shm://" + sys.argv[2])
print(sum(limiter.authorize("user", "alex").allowed for _ in range(5)))
"""
    try:
        counts = [subprocess.run([sys.executable, "-c", program, USERS, name],
                                 check=True, capture_output=True, text=True)
                  .stdout for _ in range(4)]
        assert counts == ["5\n", "5\n", "5\n", "1\n"]
        assert file.stat().st_mode & 0o777 == 0o600
    finally:
        file.unlink()


def test_an_async_limiter_answers_at_once(shared):
    """Without an event loop."""
    limiter = limitree.AsyncLimiter(USERS, shared)
    for ask in (limiter.authorize("user", "alex"),
                limiter.authorize_all([("user", "alex"), ("job",)])):
        with pytest.raises(StopIteration) as answer:
            ask.send(None)
        assert answer.value.value.allowed


def test_statistics(shared):
    """The buckets are those of all processes, the requests are one's own."""
    one, other = (limitree.Limiter(USERS, shared) for _ in range(2))
    for _ in range(3):
        one.authorize("user", "alex", "trade")
    mine, theirs = one.stats(), other.stats()
    assert (mine.allowed, theirs.allowed) == (3, 0)
    assert (mine.buckets, theirs.buckets) == (2, 2)
    assert (mine.max_buckets, theirs.max_buckets) == (1000, 1000)
    assert mine.store_bytes == theirs.store_bytes > 0
    lines = other.prometheus().splitlines()
    assert {"limitree_buckets 2", "limitree_max_buckets 1000"} <= set(lines)


@pytest.mark.parametrize("url, text", [
    ("shm://", "needs a name"), ("shm://folder/file", "an absolute path"),
    ("shm://name?size=1", "no parameter"),
    ("shm://name?mode=0066", "\"mode\" must be")])
def test_urls_that_cannot_be(url, text):
    with pytest.raises(limitree.ConfigError, match=text):
        limitree.Limiter(USERS, url)


def test_files_that_cannot_be_used(shared):
    file = path_of(shared)
    file.symlink_to(file.with_name("other"))
    with pytest.raises(limitree.StoreError, match="symbolic link") as error:
        limitree.Limiter(USERS, shared)
    assert error.value.reason == "shm_open"
    file.unlink()
    file.write_text("of another program\n" * 100)
    with pytest.raises(limitree.StoreError, match="not a file of limitree"):
        limitree.Limiter(USERS, shared)
    assert limitree.Limiter(USERS, shared + "&reset=1").authorize("job").allowed


@pytest.mark.parametrize("kind", [limitree.Limiter, limitree.AsyncLimiter])
def test_a_file_that_is_cut_off(kind, shared, caplog):
    """The process lives, and the log says it once."""
    def ask(limiter):
        answer = limiter.authorize("job")
        if isinstance(limiter, limitree.Limiter):
            return answer
        with pytest.raises(StopIteration) as done:
            answer.send(None)
        return done.value.value

    raising = kind(TREE, shared)
    local = kind(TREE, shared, on_store_error="local")
    assert ask(raising).remaining == 99 and ask(local).remaining == 98
    os.truncate(path_of(shared), 0)
    for _ in range(3):
        with pytest.raises(limitree.StoreError) as error:
            raising.authorize("job") if kind is limitree.Limiter else (
                raising.authorize("job").send(None))
        assert error.value.reason == "shm_lost"
        assert ask(local).source == "local"
    assert [record.getMessage().partition(", ")[0]
            for record in caplog.records] == [
        f"the store {shared} fails in process {os.getpid()} (shm_lost)"] * 2


# ---- Flask ------------------------------------------------------------------


def shop(store):
    """A worker's application, or that of a command."""
    app = flask.Flask("shop")
    limiter = limitree.flask.Limiter(lambda: "alex", app=app, storage_uri=store,
                                     default_limits=["2/hour"])
    app.get("/")(lambda: "")
    return app, limiter


def test_commands_of_flask(shared):
    app, limiter = shop(shared)
    client = app.test_client()
    assert [client.get("/").status_code for _ in range(3)] == [200, 200, 429]
    run = shop(shared)[0].test_cli_runner().invoke
    assert "view:static" not in run(args=["limitree", "limits"]).output
    assert " 0     2" in run(args=["limitree", "show", "alex"]).output
    done = run(args=["limitree", "reset", "alex"])
    assert (done.exit_code, done.output) == (0, "reset alex\n")
    assert client.get("/").status_code == 200
    with app.app_context():
        with pytest.raises(RuntimeError, match="not forgotten all at once"):
            limiter.reset()
