"""The interceptors of limitree.grpc on real servers of grpcio: with threads,
on an event loop, and on an event loop whose handlers are not async."""

import asyncio
import concurrent.futures
import contextlib
import os
import subprocess
import sys
import threading

import grpc
import grpc.aio
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.any_pb2 import Any
from google.protobuf.duration_pb2 import Duration

import limitree
from limitree.grpc import AsyncRateLimitInterceptor, RateLimitInterceptor
from limitree.rate_limit import RateLimit
from servers import until

SLOTS = {"schema": {"slot": {"children": {"*": {"limits": {
    "concurrent": 1, "hold": "10m"}}}}}}
NOWHERE = "redis+unix:///nowhere/redis.sock"


def user(call):
    return call.metadata["x-user"]


class Handlers:
    """Handlers of a service: `/Test/...`."""

    def __init__(self):
        self.go_on = threading.Event()
        self.inside = 0

    def echo(self, request, context):
        self.inside += 1
        if request == b"fail":
            raise KeyError("of the test")
        if request == b"abort":
            context.abort(grpc.StatusCode.NOT_FOUND, "no such thing")
        if request == b"code":
            context.set_code(grpc.StatusCode.NOT_FOUND)
        return request

    def count(self, request, context):
        for number in range(int(request)):
            yield b"%d" % number

    def forever(self, request, context):
        while context.time_remaining() is None or context.time_remaining() > 0:
            yield b"x"
            self.go_on.wait(0.01)

    def joined(self, requests, context):
        return b"".join(requests)

    def doubled(self, requests, context):
        for one in requests:
            if one == b"fail":
                raise KeyError("of the test")
            yield one * 2

    def late(self, request, context):
        """Fails after its client has gone away."""
        self.inside += 1
        while context.is_active():
            self.go_on.wait(0.01)
        self.inside += 1
        raise KeyError("of the test")


class AsyncHandlers(Handlers):
    async def echo(self, request, context):
        self.inside += 1
        if request == b"fail":
            raise KeyError("of the test")
        if request == b"abort":
            await context.abort(grpc.StatusCode.NOT_FOUND, "no such thing")
        if request == b"code":
            context.set_code(grpc.StatusCode.NOT_FOUND)
        return request

    async def count(self, request, context):
        for number in range(int(request)):
            yield b"%d" % number

    async def forever(self, request, context):
        while True:
            await context.write(b"x")
            await asyncio.sleep(0.01)

    async def joined(self, requests, context):
        return b"".join([one async for one in requests])

    async def doubled(self, requests, context):
        async for one in requests:
            if one == b"fail":
                raise KeyError("of the test")
            yield one * 2


def service(handlers):
    return grpc.method_handlers_generic_handler("Test", {
        "Echo": grpc.unary_unary_rpc_method_handler(handlers.echo),
        "Other": grpc.unary_unary_rpc_method_handler(handlers.echo),
        "Count": grpc.unary_stream_rpc_method_handler(handlers.count),
        "Forever": grpc.unary_stream_rpc_method_handler(handlers.forever),
        "Late": grpc.unary_unary_rpc_method_handler(handlers.late),
        "Joined": grpc.stream_unary_rpc_method_handler(handlers.joined),
        "Doubled": grpc.stream_stream_rpc_method_handler(handlers.doubled)})


class Threads:
    interceptor = RateLimitInterceptor
    limiter = limitree.Limiter
    handlers = Handlers

    @contextlib.contextmanager
    def server(self, handlers, **options):
        pool = concurrent.futures.ThreadPoolExecutor(8)
        server = grpc.server(pool, interceptors=[self.interceptor(**options)])
        server.add_generic_rpc_handlers([service(handlers)])
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        try:
            yield port
        finally:
            handlers.go_on.set()
            server.stop(0).wait(30)
            pool.shutdown()


class Asyncio:
    interceptor = AsyncRateLimitInterceptor
    limiter = limitree.AsyncLimiter
    handlers = AsyncHandlers

    @contextlib.contextmanager
    def server(self, handlers, **options):
        started = concurrent.futures.Future()

        async def serve():
            ending = asyncio.Event()
            try:
                interceptor = self.interceptor(**options)
                server = grpc.aio.server(interceptors=[interceptor])
                server.add_generic_rpc_handlers([service(handlers)])
                port = server.add_insecure_port("127.0.0.1:0")
                await server.start()
            except BaseException as error:
                started.set_exception(error)
                raise
            started.set_result((port, asyncio.get_running_loop(), ending))
            await ending.wait()
            await server.stop(0)
            await interceptor.close()

        thread = threading.Thread(target=lambda: asyncio.run(serve()))
        thread.start()
        port, loop, ending = started.result(30)
        try:
            yield port
        finally:
            handlers.go_on.set()
            loop.call_soon_threadsafe(ending.set)
            thread.join(30)
            assert not thread.is_alive()


class AsyncioInThreads(Asyncio):
    handlers = Handlers


@pytest.fixture(params=[Threads, Asyncio, AsyncioInThreads])
def kind(request):
    return request.param()


class Client:
    def __init__(self, port, metadata=()):
        self.channel = grpc.insecure_channel(f"127.0.0.1:{port}")
        self.metadata = list(metadata)

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.channel.close()

    def echo(self, request=b"x", user="alex", method="Echo"):
        """The answer, or the error."""
        try:
            return self.channel.unary_unary(f"/Test/{method}")(
                request, timeout=30, metadata=[("x-user", user),
                                               *self.metadata])
        except grpc.RpcError as error:
            return error

    def codes(self, times, **options):
        return [code_of(self.echo(**options)) for _ in range(times)]

    def stream(self, method, request, user="alex"):
        return self.channel.unary_stream(f"/Test/{method}")(
            request, timeout=60, metadata=[("x-user", user)])


def code_of(answer):
    return "OK" if isinstance(answer, bytes) else answer.code().name


@pytest.fixture
def serving(kind, clock):
    """Starts a server; yields its client and handlers."""
    @contextlib.contextmanager
    def start(**options):
        handlers = kind.handlers()
        if "limits" not in options:
            options.setdefault("clock", clock)
        with kind.server(handlers, **options) as port, Client(port) as client:
            yield client, handlers
    return start


DENIED = "RESOURCE_EXHAUSTED"


def test_a_rate_by_metadata(serving, clock):
    with serving(rules=[RateLimit("2/minute", key=user)]) as (client, handlers):
        assert client.codes(3) == ["OK", "OK", DENIED]
        assert client.codes(1, user="bob") == ["OK"]
        assert client.codes(1, method="Other") == ["OK"]  # its own bucket
        assert handlers.inside == 4
        clock.advance(30)
        assert client.codes(2) == ["OK", DENIED]


@pytest.mark.parametrize("kind", (RateLimitInterceptor,
                                  AsyncRateLimitInterceptor))
def test_an_empty_store_is_a_mistake(kind):
    with pytest.raises(limitree.ConfigError, match="store: must be"):
        kind({"schema": {"a": {"limits": "1/hour"}}}, store="",
             path=lambda call: ("a",))


def test_a_rate_by_the_peer(serving):
    with serving(rules=[RateLimit("2/minute", by="app")]) as (client, _):
        assert client.codes(2) == ["OK", "OK"]
        assert client.codes(1, method="Other", user="bob") == [DENIED]


def test_an_address_that_a_proxy_tells(serving):
    key = limitree.client_ip(trusted_hops=1)
    with serving(rules=[RateLimit("1/minute")], key=key) as (client, _):
        client.metadata = [("x-forwarded-for", "192.0.2.1")]
        assert client.codes(2) == ["OK", DENIED]
        client.metadata = [("x-forwarded-for", "192.0.2.1"),
                           ("x-forwarded-for", "192.0.2.2")]
        assert client.codes(2) == ["OK", DENIED]


def status_type():
    """google.rpc.Status, for which grpcio has no package of its own."""
    file = descriptor_pb2.FileDescriptorProto(
        name="status.proto", package="t", syntax="proto3",
        dependency=["google/protobuf/any.proto",
                    "google/protobuf/duration.proto"])
    field = descriptor_pb2.FieldDescriptorProto
    status = file.message_type.add(name="Status")
    for number, name, kind, many, of in [
            (1, "code", field.TYPE_INT32, False, None),
            (2, "message", field.TYPE_STRING, False, None),
            (3, "details", field.TYPE_MESSAGE, True, ".google.protobuf.Any")]:
        status.field.add(name=name, number=number, type=kind, type_name=of,
                         label=field.LABEL_REPEATED if many
                         else field.LABEL_OPTIONAL)
    retry = file.message_type.add(name="RetryInfo")
    retry.field.add(name="retry_delay", number=1, type=field.TYPE_MESSAGE,
                    label=field.LABEL_OPTIONAL,
                    type_name=".google.protobuf.Duration")
    pool = descriptor_pool.DescriptorPool()
    for known in Any, Duration:
        pool.AddSerializedFile(known.DESCRIPTOR.file.serialized_pb)
    pool.AddSerializedFile(file.SerializeToString())
    return [message_factory.GetMessageClass(pool.FindMessageTypeByName(name))
            for name in ("t.Status", "t.RetryInfo")]


def test_what_a_denial_tells(serving):
    rules = [RateLimit("2/hour", key=user)]
    with serving(rules=rules) as (client, _):
        client.codes(2)
        denied = client.echo()
    assert denied.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    told = dict(denied.trailing_metadata())
    assert told["retry-after"] == "1800"
    assert told["grpc-retry-pushback-ms"] == "1800000"
    assert told["ratelimit"].startswith('"rpc:Test/Echo/*/2/1h";r=0;t=1800')
    Status, RetryInfo = status_type()
    status = Status.FromString(told["grpc-status-details-bin"])
    assert status.code == 8 and status.message == denied.details()
    (detail,) = status.details
    assert detail.type_url == "type.googleapis.com/google.rpc.RetryInfo"
    delay = RetryInfo.FromString(detail.value).retry_delay
    assert (delay.seconds, delay.nanos) == (1800, 0)


@pytest.mark.parametrize("wait, pushback", [
    (0.0000015, "1"), (59.9999, "60000"), (7200.25, "7200250"),
    (float("inf"), "-1"), (10**9 + 0.5, "1000000000500")])
def test_waits_in_trailers(wait, pushback):
    from limitree.grpc.trailers import trailers_of

    class Denial:
        retry_after = wait

        def headers(self, style):
            return []

    told = dict(trailers_of(Denial(), "why", "ietf"))
    assert told["grpc-retry-pushback-ms"] == pushback
    Status, RetryInfo = status_type()
    status = Status.FromString(told["grpc-status-details-bin"])
    assert status.message == "why"
    if wait == float("inf"):
        assert not status.details
        return
    delay = RetryInfo.FromString(status.details[0].value).retry_delay
    assert delay.seconds + delay.nanos / 1e9 == pytest.approx(wait)


def test_streams(serving):
    with serving(rules=[RateLimit("1/hour", key=user)]) as (client, _):
        assert list(client.stream("Count", b"3")) == [b"0", b"1", b"2"]
        with pytest.raises(grpc.RpcError) as denied:
            list(client.stream("Count", b"3"))
        assert denied.value.code().name == DENIED
        metadata = [("x-user", "alex")]
        joined = client.channel.stream_unary("/Test/Joined")
        assert joined(iter([b"a", b"b"]), timeout=30,
                      metadata=metadata) == b"ab"
        with pytest.raises(grpc.RpcError):
            joined(iter([b"a", b"b"]), timeout=30, metadata=metadata)
        doubled = client.channel.stream_stream("/Test/Doubled")
        assert list(doubled(iter([b"a", b"b"]), timeout=30,
                            metadata=metadata)) == [b"aa", b"bb"]
        with pytest.raises(grpc.RpcError):
            list(doubled(iter([b"a"]), timeout=30, metadata=metadata))


HELD = {"limits": SLOTS, "path": lambda call: ("slot", user(call)),
        "reserve": True}


@pytest.fixture
def slots(serving):
    with serving(**HELD) as found:
        yield found


def test_a_slot_until_the_call_ends(slots):
    client, _ = slots
    for request in (b"x", b"fail", b"abort", b"code", b"x"):
        assert code_of(client.echo(request)) != DENIED
    assert client.codes(3) == ["OK"] * 3
    assert len(list(client.stream("Count", b"5"))) == 5
    assert client.codes(1) == ["OK"]


def test_a_slot_if_another_limit_fails(serving):
    """A client without credentials must not keep the slots of others."""
    rules = [RateLimit("9/hour", key=lambda call: call.metadata["x-key"])]
    with serving(**HELD, rules=rules) as (client, handlers):
        assert client.codes(3) == ["UNKNOWN"] * 3
        assert handlers.inside == 0
        client.metadata = [("x-key", "1")]
        assert client.codes(2) == ["OK"] * 2


BUDGETS = {"schema": {"budget": {"children": {"*": {"limits": {
    "count": 2, "period": "1h", "hold": "1h"}}}}}}


def test_a_budget_comes_back_only_if_nothing_was_used(serving, clock):
    with serving(limits=BUDGETS, clock=clock, reserve=True, path=lambda call: (
            "budget", user(call))) as (client, _):
        assert client.codes(4, request=b"fail", user="fails") == ["UNKNOWN"] * 4
        for request in b"abort", b"code":  # an answer, too
            assert client.codes(4, request=request, user=request.decode()) == [
                "NOT_FOUND"] * 2 + [DENIED] * 2
        doubled = client.channel.stream_stream("/Test/Doubled")

        def talk(*messages):
            answers, metadata = [], [("x-user", messages[0].decode())]
            try:
                for one in doubled(iter(messages), timeout=30,
                                   metadata=metadata):
                    answers.append(one)
            except grpc.RpcError as error:
                return len(answers), error.code().name

        assert [talk(b"fail") for _ in range(3)] == [(0, "UNKNOWN")] * 3
        assert [talk(b"a", b"fail") for _ in range(3)] == [
            (1, "UNKNOWN")] * 2 + [(0, DENIED)]


def test_a_budget_of_a_client_that_goes_away(clock):
    limiter = limitree.Limiter(BUDGETS, clock=clock)
    handlers = Handlers()
    with Threads().server(handlers, limits=limiter, reserve=True,
                          path=lambda call: ("budget", user(call))
                          ) as port, Client(port) as client:
        call = client.channel.unary_unary("/Test/Late").future(
            b"", metadata=[("x-user", "alex")])
        until(lambda: handlers.inside == 1)
        call.cancel()
        until(lambda: handlers.inside == 2)
    # All threads of the server have ended.
    assert limiter.peek("budget", "alex", cost=0).remaining == 1


def test_a_slot_until_the_client_goes_away(request, kind):
    if isinstance(kind, AsyncioInThreads):
        # grpc.aio never ends the thread of such a generator, so the process of
        # the server would not end either.
        subprocess.run([sys.executable, "-B", __file__], check=True,
                       timeout=120)
        return
    client, _ = request.getfixturevalue("slots")
    go_away(client)


def go_away(client):
    stream = client.stream("Forever", b"")
    assert next(stream) == b"x"
    assert client.codes(2) == [DENIED] * 2
    assert client.codes(1, user="bob") == ["OK"]
    stream.cancel()
    until(lambda: client.codes(1) == ["OK"])
    assert client.codes(2) == ["OK"] * 2


def test_only_failures_are_charged(serving):
    def failed(ended):
        return ended.code is not grpc.StatusCode.OK

    rules = [RateLimit("3/hour", key=user, deduct_when=failed)]
    with serving(rules=rules) as (client, _):
        assert client.codes(5) == ["OK"] * 5
        assert code_of(client.echo(b"fail")) == "UNKNOWN"
        assert code_of(client.echo(b"abort")) == "NOT_FOUND"
        assert code_of(client.echo(b"code")) == "NOT_FOUND"
        assert client.codes(1) == [DENIED]


def test_paths_rules_and_costs_in_one_step(serving, kind, clock):
    tree = {"schema": {"user": {"children": {"*": {"limits": "10/hour"}}}}}
    limiter = kind.limiter(tree, clock=clock)
    with serving(limits=limiter, path=lambda call: (
            None if user(call) == "root" else ("user", user(call))),
            cost=lambda call: int(call.metadata.get("x-cost", "1")),
            rules=[RateLimit("3/hour", key=user, at="/Test/Echo")],
            exclude=["/Test/Other"]) as (client, _):
        assert client.codes(4) == ["OK"] * 3 + [DENIED]
        client.metadata = [("x-cost", "8")]
        assert len(list(client.stream("Count", b"1", "alex"))) == 1
        assert client.codes(9, method="Other") == ["OK"] * 9
        assert code_of(client.echo(user="bob")) == "OK"  # 8 of 10
        client.metadata = [("x-cost", "3")]
        assert code_of(client.echo(user="bob")) == DENIED
        client.metadata = []
        assert client.codes(2, user="bob") == ["OK", "OK"]  # none was charged
        assert client.codes(3, user="root") == ["OK"] * 3


def test_messages_and_on_breach(serving):
    seen = []
    rules = [RateLimit("1/hour", key=user, error_message="slower, please")]
    with serving(rules=rules, on_breach=lambda call, decision: seen.append(
            (call.method, decision.limited))) as (client, _):
        client.codes(1)
        assert client.echo().details() == "slower, please"
    assert seen == [("/Test/Echo", True)]


@pytest.mark.parametrize("policy, code", [
    ("raise", "UNAVAILABLE"), ("local", "OK"), ("allow", "OK"),
    ("deny", DENIED)])
def test_a_store_that_fails(serving, policy, code):
    with serving(rules=[RateLimit("1/hour", key=user)], store=NOWHERE,
                 on_store_error=policy) as (client, handlers):
        answer = client.echo()
        assert code_of(answer) == code
        assert handlers.inside == (code == "OK")
        if policy == "raise":
            assert dict(answer.trailing_metadata())["retry-after"] == "1"
            assert "redis" not in answer.details()


def test_a_key_that_is_missing_is_never_no_limit(serving):
    rules = [RateLimit("1/hour", key=lambda call: call.metadata.get("x-none"))]
    with serving(rules=rules) as (client, handlers):
        assert client.codes(1) == ["UNKNOWN"]
        assert handlers.inside == 0
        assert code_of(client.echo(method="Nothing")) == "UNIMPLEMENTED"


def test_wrong_options(kind):
    for options, message in [
            ({}, "needs a path, rules, or both"),
            ({"path": user, "limits": {"schema": {}}, "headers": "x"}, "x"),
            ({"rules": [RateLimit(("nobody", user))]}, "nobody"),
            ({"path": user, "reserve": []}, "reserve")]:
        with pytest.raises((TypeError, ValueError), match=message):
            kind.interceptor(**options)
    limiter = kind.limiter({"schema": {"job": {}}})
    with pytest.raises(TypeError):
        kind.interceptor(limiter, path=lambda call: ("job",), prefix="x")


if __name__ == "__main__":
    with AsyncioInThreads().server(Handlers(), **HELD) as PORT:
        go_away(Client(PORT))
        os._exit(0)
