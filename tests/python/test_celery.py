"""Tasks under a limit in a Celery worker, with its default serialiser."""

import contextlib
import os
import pathlib
import pickle
import subprocess
import sys
import time

import pytest
from celery import Celery

import limitree
from servers import redis_server

HERE = pathlib.Path(__file__).parent
TREE = {"schema": {"mail": {"children": {"*": {
    "limits": "2/hour", "children": {"news": {"limits": "1/hour"}}}}}}}

app = Celery("test_celery")
folder = os.environ.get("LIMITREE_CELERY")
if folder:
    for name in ("in", "results", "control"):
        pathlib.Path(folder, name).mkdir(exist_ok=True)
    app.conf.update(
        broker_url="filesystem://",
        broker_transport_options={"data_folder_in": f"{folder}/in",
                                  "data_folder_out": f"{folder}/in",
                                  "control_folder": f"{folder}/control"},
        result_backend=f"file://{folder}/results")

limiter = limitree.Limiter(TREE, levels=True)


@app.task(name="mail")
@limiter.limit("mail", lambda user: user, "news")
def mail(user):
    return f"sent to {user}"


@app.task(name="later", bind=True, max_retries=1)
def later(self, user):
    try:
        return mail.run(user)
    except limitree.LimitExceeded as denied:
        raise self.retry(exc=denied, countdown=0.1)


@contextlib.contextmanager
def worker(folder, program="test_celery", *options, cwd=HERE, **environment):
    """A worker in a process of its own."""
    with open(folder / "log", "w+") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "celery", "-A", program, "worker",
             *(options or ("--pool", "solo")), "--without-gossip",
             "--without-mingle", "--without-heartbeat"],
            cwd=cwd, stdout=log, stderr=log,
            env={**os.environ, "LIMITREE_CELERY": str(folder),
                 "C_FORCE_ROOT": "1", "PYTHONPATH": os.pathsep.join(
                     [str(HERE), os.environ["PYTHONPATH"]]), **environment})
        try:
            yield
        except BaseException:
            log.seek(0)
            print(log.read())
            raise
        finally:
            process.terminate()
            process.wait(60)


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """Runs tasks in a worker from another process: this one has another
    limiter."""
    monkeypatch.setenv("LIMITREE_CELERY", str(tmp_path))
    program = """if True:
        import pickle, sys
        import limitree
        from test_celery import app
        found = []
        for name, user in TASKS:  # the broker does not keep their order
            result = app.send_task(name, [user])
            try:
                found.append(result.get(timeout=60, interval=0.05))
            except limitree.LimitExceeded as error:
                found.append(error)
        sys.stdout.buffer.write(pickle.dumps(found))
        """

    def ask(*tasks):
        done = subprocess.run(
            [sys.executable, "-c", program.replace("TASKS", repr(tasks))],
            cwd=HERE, check=True, stdout=subprocess.PIPE)
        return pickle.loads(done.stdout)

    with worker(tmp_path):
        yield ask


# ---- docs/celery.md ---------------------------------------------------------

# Not with files as the broker: it may read a message that is not written yet,
# and loses it.
RECIPE = """
import os
import tasks
from tasks import app, limiter

redis = os.environ["LIMITREE_BROKER"]
app.conf.update(broker_url=redis, result_backend=redis)
"""


@pytest.fixture
def broker(monkeypatch):
    with redis_server() as (url, _):
        monkeypatch.setenv("LIMITREE_BROKER",
                           url.replace("redis+unix", "redis+socket"))
        yield


@pytest.mark.skipif(sys.platform != "linux", reason="shm:// needs Linux")
@pytest.mark.usefixtures("broker")
def test_the_recipe_of_the_page(tmp_path):
    """A worker with four threads runs the program of the page as printed."""
    sys.path.insert(0, str(HERE.parent))
    import docs_blocks
    for block in docs_blocks.blocks_of(HERE.parents[1], "docs/celery.md"):
        if block.file:
            docs_blocks.save(block._replace(text=docs_blocks.in_folder(
                block.text, tmp_path)), tmp_path)
    (tmp_path / "worker.py").write_text(RECIPE)
    path = os.pathsep.join([str(tmp_path), os.environ["PYTHONPATH"]])
    with worker(tmp_path, "worker", "--pool", "threads", "--concurrency", "4",
                cwd=tmp_path, PYTHONPATH=path):
        program = """if True:
            import time
            from worker import app, limiter, tasks
            # As other workers do: all is used but one mail.
            start = time.monotonic()
            limiter.authorize("mail", "alex", cost=99)
            others = [limiter.reserve("report", "alex") for _ in range(2)]
            mails = [tasks.send_mail.delay("alex", n) for n in range(8)]
            report = tasks.report.delay("alex", "May")
            free = tasks.send_mail.delay("bob", "a mail")
            print(free.get(timeout=60))
            print(sorted(one.get(timeout=60, interval=0.05) for one in mails))
            # 7 mails had to wait for 0.6 s each in the queue, the last one more
            # often than Celery retries unless it is told to.
            assert time.monotonic() - start >= 4.2
            while report.state != "RETRY":
                assert time.monotonic() - start < 60, report.state
                time.sleep(0.05)
            for one in others:
                one.settle()
            print(report.get(timeout=60, interval=0.05))
            left = limiter.peek("report", "alex", cost=0, levels=True)
            print(left.levels[0].remaining)
            """
        done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path,
                              env={**os.environ, "PYTHONPATH": path},
                              check=True, text=True, stdout=subprocess.PIPE)
    assert done.stdout.splitlines() == [
        "sent a mail to bob",
        str([f"sent {n} to alex" for n in range(8)]),
        "report of May for alex", "2"]


def test_an_error_of_a_task_has_its_decision(asked):
    assert app.conf.result_serializer == "json"
    started = time.monotonic()
    sent, error, retried, other = asked(
        ("mail", "alex"), ("mail", "alex"), ("later", "alex"), ("mail", "bob"))
    assert (sent, other) == ("sent to alex", "sent to bob")
    for one in (error, retried):
        assert type(one) is limitree.LimitExceeded
        assert type(one.decision) is limitree.Decision
        assert one.decision.limited and one.decision.limit == 1
        waited = time.monotonic() - started
        assert 3600 - waited <= one.decision.retry_after <= 3600
        assert [level.policy for level in one.decision.levels] == [
            "mail:*", "mail:*/news"]
        assert "Retry-After" in dict(one.decision.headers())
        assert str(one).startswith("limit exceeded: try again in 3")
