"""Buckets in a file that processes share, with a lock that is held."""

import contextlib
import mmap
import struct
import time

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from service import error_of, eventually, pb, request

TRADE = ("user", "alex", "trade")

# See core/store/shared/layout.hpp.
SLOTS, SHARDS, SLOT_COUNT = 4096, 12288, 1024


@pytest.fixture(name="path")
def make_path(tmp_path):
    return tmp_path / "limits"


@contextlib.contextmanager
def locked(path, process):
    """Holds the lock of the only shard, as a thread of `process` would that
    does not run."""
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        words = [word for word, (_, owner) in enumerate(struct.iter_unpack(
            "=II", memory[SLOTS:SLOTS + 8 * SLOT_COUNT])) if owner == process]
        generation, = struct.unpack_from("=I", memory, SLOTS + 8 * words[0])
        assert memory[SHARDS:SHARDS + 8] == bytes(8)
        struct.pack_into("=II", memory, SHARDS, words[0] + 1, generation)
        yield
        memory[SHARDS:SHARDS + 8] = bytes(8)


def start(serve, path, *options):
    words = [word for option in options for word in ("--set", option)]
    service = serve("--store", f"shm://{path}?max_buckets=4096", "--workers", 1,
                    *words)
    service.limiter().Authorize(request(*TRADE))
    return service


def test_a_worker_serves_others_while_a_lock_is_held(serve, path):
    service = start(serve, path, "timeout=60s", "on_store_error=raise")
    limiter = service.limiter()
    health = health_pb2_grpc.HealthStub(service.channel())
    with locked(path, service.process.pid):
        waiting = [limiter.Authorize.future(request(*TRADE))
                   for _ in range(20)]
        reset = limiter.Reset.future(pb.ResetRequest(
            segments=["user", "ann"]))
        for _ in range(10):
            health.Check(health_pb2.HealthCheckRequest(service=""), timeout=30)
            assert limiter.Authorize(request("free"), timeout=30).unlimited
        code, _ = error_of(
            lambda: limiter.Authorize(request(*TRADE), timeout=0.3))
        # The service answers 10 ms before the deadline; its answer may be late.
        assert code in (grpc.StatusCode.UNAVAILABLE,
                        grpc.StatusCode.DEADLINE_EXCEEDED)
        assert not any(call.done() for call in [*waiting, reset])
        time.sleep(0.2)
        before = service.cpu()
        time.sleep(0.5)
        assert service.cpu() - before < 0.3, "it does not spin"
    reset.result(30)
    assert sum(not call.result(30).limited for call in waiting) == 2


def test_the_policy_answers_when_a_lock_is_held_too_long(serve, path):
    service = start(serve, path, "timeout=300ms", "on_store_error=allow")
    limiter = service.limiter()
    with locked(path, service.process.pid):
        for _ in range(2):
            decision = limiter.Authorize(request(*TRADE))
            assert decision.source == pb.SOURCE_ALLOW
    service.wait_for("(shm_busy)")
    assert limiter.Authorize(request(*TRADE)).source == pb.SOURCE_STORE


def test_the_end_while_a_lock_is_held(serve, path):
    service = start(serve, path, "timeout=60s")
    limiter = service.limiter()
    with locked(path, service.process.pid):
        waiting = [limiter.Authorize.future(request(*TRADE))
                   for _ in range(10)]
        time.sleep(0.2)
        service.terminate()
        assert all(call.exception(60) is not None for call in waiting)
    assert service.wait() == 0
