"""Reservations by clients of gRPC and of HTTP, on every store."""

import grpc
import httpx
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from hyperframe.frame import RstStreamFrame
from raw import Client, framed
from servers import redis_server, suspended
from service import error_of, eventually, path, pb
from service import request as asked
from stopped_clock import StoppedClock

LIMITS = """\
schema:
  key:
    children:
      "*":
        limits:
          - {name: rpm, count: 60, period: 1h}
          - {name: tpm, count: 1000, period: 1h, unit: tokens, hold: 10m}
          - {name: slots, concurrent: 2, hold: 2m}
  plain: {children: {"*": {limits: 5/hour}}}
"""
CHANGED = "this is not a receipt of limitree, or it was changed"
SECOND = 10**9
START = 1_700_000_000


@pytest.fixture(name="limits")
def make_limits(tmp_path):
    limits = tmp_path / "limits.yaml"
    limits.write_text(LIMITS, encoding="utf-8")
    return limits


@pytest.fixture(name="service")
def make_service(serve, store):
    return serve("--http-listen", "127.0.0.1:0", "--store", store)


@pytest.fixture(name="limiter")
def make_limiter(service):
    return service.limiter()


@pytest.fixture(name="post")
def make_post(service):
    with httpx.Client(base_url=service.http[0]) as client:
        yield lambda call, **body: client.post(f"/v1/{call}", json=body)


def reserve(limiter, key="k1", tokens=400, **fields):
    return limiter.Reserve(pb.ReserveRequest(
        paths=[path("key", key)], costs={"tokens": tokens}, **fields))


def left(limiter, key="k1"):
    """What is left of each limit."""
    return [level.remaining
            for level in limiter.Peek(asked("key", key, cost=0)).levels]


def receipt(text, **fields):
    return pb.SettleRequest(receipt=text, **fields)


# ---- gRPC -------------------------------------------------------------------

def test_what_was_used_is_charged(limiter):
    held = reserve(limiter)
    assert not held.limited and held.held == 2
    assert [level.charged for level in held.levels] == [True] * 3
    assert left(limiter) == [59, 600, 1]
    answer = limiter.Settle(receipt(held.receipt, costs={"tokens": 90}))
    assert answer == pb.SettleResponse(settled=2)
    assert left(limiter) == [59, 910, 2]
    # Once only.
    for _ in range(2):
        assert limiter.Settle(receipt(held.receipt)) == pb.SettleResponse()
        cancelled = limiter.Cancel(pb.CancelRequest(receipt=held.receipt))
        assert cancelled == pb.SettleResponse()
        assert limiter.Extend(pb.ExtendRequest(
            receipt=held.receipt, hold_ns=SECOND)) == pb.ExtendResponse()
    assert left(limiter) == [59, 910, 2]


def test_what_is_not_named_was_used_as_held(limiter):
    limiter.Settle(receipt(reserve(limiter).receipt))
    assert left(limiter) == [59, 600, 2]
    # More than was held is charged, too.
    limiter.Settle(receipt(reserve(limiter).receipt, costs={"tokens": 500}))
    assert left(limiter) == [58, 100, 2]
    assert reserve(limiter, tokens=101).limited


def test_a_cancellation_charges_nothing(limiter):
    held = reserve(limiter)
    answer = limiter.Cancel(pb.CancelRequest(receipt=held.receipt))
    assert answer.settled == 2
    assert left(limiter) == [59, 1000, 2]


def test_slots(limiter):
    held = [reserve(limiter, tokens=0) for _ in range(3)]
    assert [one.limited for one in held] == [False, False, True]
    denied = held.pop()
    assert denied.held == 0 and denied.receipt == ""
    assert denied.levels[denied.level].policy == "key:*#slots"
    assert 0 < denied.retry_after_ns <= 120 * SECOND
    assert not reserve(limiter, "k2", tokens=0).limited
    assert limiter.Settle(receipt(held[0].receipt)).settled == 1
    assert not reserve(limiter, tokens=0).limited
    assert reserve(limiter, tokens=0).limited


def test_the_time_of_a_hold(limiter):
    held = reserve(limiter, tokens=0, hold_ns=5 * SECOND)
    assert held.levels[2].reset_after_ns <= 5 * SECOND
    answer = limiter.Extend(pb.ExtendRequest(receipt=held.receipt,
                                             hold_ns=3600 * SECOND))
    assert answer == pb.ExtendResponse(extended=1)
    slots = limiter.Peek(asked("key", "k1", cost=0)).levels[2]
    assert 3500 * SECOND < slots.reset_after_ns <= 3600 * SECOND
    for hold in (-1, 86400 * SECOND + 1):
        code, said = error_of(lambda: reserve(limiter, hold_ns=hold))
        assert code == grpc.StatusCode.INVALID_ARGUMENT
        assert said.startswith("hold must be more than 0 and at most 1d, is ")
        code, again = error_of(lambda: limiter.Extend(pb.ExtendRequest(
            receipt=held.receipt, hold_ns=hold)))
        assert (code, again) == (grpc.StatusCode.INVALID_ARGUMENT, said)


def test_a_path_that_holds_nothing(limiter):
    decision = limiter.Reserve(pb.ReserveRequest(paths=[path("plain", "a")]))
    assert (decision.remaining, decision.held) == (4, 0)
    assert limiter.Settle(receipt(decision.receipt)).settled == 0
    assert limiter.Peek(asked("plain", "a", cost=0)).remaining == 4


def test_several_paths(limiter):
    held = limiter.Reserve(pb.ReserveRequest(
        paths=[path("key", "k1"), path("key", "k2", cost=2),
               path("plain", "a")],
        costs={"tokens": 10}))
    assert held.held == 4
    assert limiter.Settle(receipt(held.receipt, cost=1,
                                  costs={"tokens": 4})).settled == 4
    assert left(limiter) == [59, 996, 2]
    assert left(limiter, "k2") == [58, 996, 2]


@pytest.mark.parametrize("change", [
    lambda text: "", lambda text: "x", lambda text: text + "A",
    lambda text: text[:-1], lambda text: text.lower(),
    lambda text: text[:20] + ("A" if text[20] != "A" else "B") + text[21:],
    lambda text: "lr1." + "A" * 60000])
def test_what_is_not_a_receipt(limiter, change):
    bad = change(reserve(limiter).receipt)
    for call in (lambda: limiter.Settle(receipt(bad)),
                 lambda: limiter.Cancel(pb.CancelRequest(receipt=bad)),
                 lambda: limiter.Extend(pb.ExtendRequest(receipt=bad,
                                                         hold_ns=1))):
        assert error_of(call) == (grpc.StatusCode.INVALID_ARGUMENT, CHANGED)
    assert left(limiter) == [59, 600, 1]


def test_mistakes(limiter):
    held = reserve(limiter)
    long = "lr1." + "A" * 70000
    for call, said in (
            (lambda: limiter.Settle(receipt(long)),
             "a receipt has at most 65536 bytes"),
            (lambda: limiter.Settle(receipt(held.receipt, cost=-1)),
             "cost must not be negative"),
            (lambda: limiter.Settle(receipt(held.receipt,
                                            costs={"tokens": -1})),
             "cost in tokens must not be negative, is -1"),
            (lambda: limiter.Settle(receipt(held.receipt, costs={"euro": 1})),
             'no limit counts "euro", they count tokens'),
            (lambda: limiter.Settle(receipt(
                held.receipt, costs={f"u{i}": 1 for i in range(65)})),
             "the request has more than 64 costs"),
            (lambda: reserve(limiter, "x" * 70000),
             "a receipt has at most 65536 bytes"),
            (lambda: limiter.Reserve(pb.ReserveRequest(
                paths=[path("key", "k1")],
                costs={f"u{i}": 1 for i in range(65)})),
             "the request has more than 64 costs"),
            (lambda: limiter.Authorize(asked("key", "k1",
                                             costs={"tokens": 1})),
             "key:*#slots limits what is held at once: reserve its units, "
             "and settle them")):
        assert error_of(call) == (grpc.StatusCode.INVALID_ARGUMENT, said)
    assert left(limiter) == [59, 600, 1]


def test_a_receipt_of_another_tree(serve, limiter, tmp_path):
    other = tmp_path / "other.yaml"
    other.write_text("schema: {team: {limits: {concurrent: 2, hold: 1m}}}",
                     encoding="utf-8")
    there = serve(limits=other).limiter()
    text = there.Reserve(pb.ReserveRequest(paths=[path("team")])).receipt
    code, said = error_of(lambda: limiter.Settle(receipt(text)))
    assert code == grpc.StatusCode.INVALID_ARGUMENT
    assert "team" in said


# ---- HTTP -------------------------------------------------------------------

def test_http(post):
    body = {"paths": [["key", "k1"]], "cost": {"tokens": 400}}
    answer = post("reserve", **body, hold_ns=60 * SECOND)
    assert answer.status_code == 200
    held = answer.json()
    assert held["held"] == 2 and len(held["levels"]) == 3
    text = held["receipt"]
    assert post("extend", receipt=text, hold_ns=str(SECOND)).json() == {
        "extended": 2, "source": "store"}
    answer = post("settle", receipt=text, cost={"request": 1, "tokens": 90})
    assert (answer.status_code, answer.json()) == (
        200, {"settled": 2, "source": "store"})
    assert post("settle", receipt=text, cost=1).json()["settled"] == 0
    text = post("reserve", **body).json()["receipt"]
    assert post("cancel", receipt=text).json()["settled"] == 2
    denied = post("reserve", paths=[["key", "k1"]], cost={"tokens": 911})
    assert denied.status_code == 429
    assert "receipt" not in denied.json() and "held" not in denied.json()
    assert "ratelimit" in denied.headers


@pytest.mark.parametrize("call, body, said", [
    ("settle", {}, "the request: has no receipt"),
    ("settle", {"receipt": 5}, "receipt: must be a text"),
    ("settle", {"receipt": "lr1."}, CHANGED),
    ("cancel", {"receipt": "x" * 70000}, "a receipt has at most 65536 bytes"),
    ("cancel", {"receipt": "x", "cost": 1}, "cost: there is no such field"),
    ("settle", {"receipt": "x", "hold_ns": 1},
     "hold_ns: there is no such field"),
    ("extend", {"receipt": "x", "hold_ns": -1},
     "hold_ns: must be a whole number from 0 to 9223372036854775807"),
    ("settle", {"receipt": "x", "cost": -1},
     "cost: must be a whole number from 0 to 9223372036854775807"),
    ("settle", {"receipt": "x", "cost": {f"u{i}": 1 for i in range(65)}},
     "cost: has more than 64 units"),
    ("reserve", {"paths": [["key", "k1"]]},
     "key:*#tpm counts tokens, and the request names none"),
    ("reserve", {"hold_ns": 1}, "the request: has no paths"),
    ("authorize", {"paths": [["key", "k1"]], "hold_ns": 1},
     "hold_ns: there is no such field"),
])
def test_http_mistakes(post, call, body, said):
    answer = post(call, **body)
    assert (answer.status_code, answer.json()["detail"]) == (400, said)


# ---- Times and trouble ------------------------------------------------------

@pytest.fixture(name="clock")
def make_clock(tmp_path):
    return StoppedClock(tmp_path / "second", START)


@pytest.fixture(name="stopped", params=["memory", "redis"])
def make_stopped(request, serve, clock):
    """A limiter whose store has that clock."""
    if request.param == "memory":
        yield serve(env={**clock.variables, "LIMITREE_STORE": "memory://"})
        return
    with redis_server(**clock.variables) as (url, _):
        yield serve(env={"LIMITREE_STORE": url})


def test_a_hold_ends_by_itself(stopped, clock):
    limiter = stopped.limiter()
    held = [reserve(limiter) for _ in range(2)]
    assert reserve(limiter, tokens=0).limited
    assert left(limiter) == [58, 200, 0]
    clock.set(START + 120)  # the slots are free, the tokens are not
    # Two requests have drained, one by one in a minute.
    eventually(lambda: left(limiter) == [60, 200, 2])
    assert limiter.Settle(receipt(held[0].receipt,
                                  costs={"tokens": 0})).settled == 1
    assert left(limiter)[1] == 600
    clock.set(START + 600)  # what nobody has settled is charged
    eventually(lambda: limiter.Settle(receipt(held[1].receipt)).settled == 0)
    assert left(limiter)[1] == 600


def test_two_services_share_a_store(serve):
    with redis_server() as (url, _):
        limiters = [serve("--store", url).limiter() for _ in range(2)]
        held = reserve(limiters[0])
        assert left(limiters[1]) == [59, 600, 1]
        assert limiters[1].Settle(receipt(held.receipt)).settled == 2
        assert limiters[0].Settle(receipt(held.receipt)).settled == 0


def test_a_client_that_has_gone_holds_nothing(serve):
    """Its call ends while the store is asked: what it held is given back."""
    with redis_server() as (url, process):
        service = serve("--store", url, "--workers", 1, "--set", "timeout=60s")
        channel = service.channel()
        limiter = service.limiter()
        stub = type(limiter)(channel)
        health = health_pb2_grpc.HealthStub(channel)
        assert left(limiter) == [60, 1000, 2]  # connected
        ask = pb.ReserveRequest(paths=[path("key", "k1")],
                                costs={"tokens": 400})
        with suspended(process):
            calls = [stub.Reserve.future(ask) for _ in range(2)]
            # Both have reached the service: the connection keeps the order.
            health.Check(health_pb2.HealthCheckRequest(), timeout=60)
            for call in calls:
                call.cancel()
            health.Check(health_pb2.HealthCheckRequest(), timeout=60)
        # Both were decided, and then cancelled.
        eventually(lambda: left(limiter) == [58, 1000, 2])


def test_an_answer_that_comes_too_late(service, limiter):
    """A client that has given its call up resets the stream, although the
    answer was sent before: it holds nothing."""
    client = Client(service)
    ask = pb.ReserveRequest(paths=[path("key", "k1")], costs={"tokens": 400})

    def reserved():
        stream = client.start("/limitree.v1.Limiter/Reserve")
        client.send(stream, framed(ask.SerializeToString()), end=True)
        answer = client.answer(stream)
        assert answer["trailers"]["grpc-status"] == "0"
        return stream, pb.Decision.FromString(answer["body"][5:]).receipt

    late, _ = reserved()
    _, text = reserved()
    assert left(limiter) == [58, 200, 0]
    for _ in range(2):  # the second changes nothing
        frame = RstStreamFrame(late, error_code=8)
        client.socket.sendall(frame.serialize())
    eventually(lambda: left(limiter) == [58, 600, 1])
    assert limiter.Settle(receipt(text)).settled == 2
    client.close()
    assert left(limiter) == [58, 600, 2]
