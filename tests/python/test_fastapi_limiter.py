"""limitree.fastapi_limiter: programs that were written for fastapi-limiter."""

import asyncio
import contextlib
import functools

import httpx
import pytest
import redis.asyncio
from fastapi import (
    APIRouter,
    Depends,
    FastAPI,
    HTTPException,
    Request,
    WebSocket,
)
from starlette.testclient import TestClient

from limitree.fastapi_limiter import FastAPILimiter, skip_limiter
from limitree.fastapi_limiter.callback import default_callback
from limitree.fastapi_limiter.depends import RateLimiter, WebSocketRateLimiter
from limitree.fastapi_limiter.identifier import default_identifier
from limitree.fastapi_limiter.rates import Duration, Limiter, Rate
from limitree.testing import ManualClock
from servers import PATIENT, redis_server


class Site:
    """An application, and how it is asked."""

    def __init__(self, clock):
        self.app, self.clock = FastAPI(), clock
        self._client = TestClient(self.app)

    def route(self, *limits, url="/", methods=("GET",), function=None):
        self.app.add_api_route(url, function or (lambda: ""),
                               methods=list(methods),
                               dependencies=[Depends(one) for one in limits])

    def codes(self, count, url="/", method="GET", **options):
        return [self._client.request(method, url, **options).status_code
                for _ in range(count)]

    def get(self, url="/", **options):
        return self._client.get(url, **options)

    @property
    def client(self):
        return self._client


@pytest.fixture
def site():
    clock = ManualClock()
    FastAPILimiter._site, FastAPILimiter._is_set = FastAPILimiter._made(
        default_identifier, "memory://", clock=clock), True
    yield Site(clock)
    FastAPILimiter._site, FastAPILimiter._is_set = None, False


def in_a_loop(test):
    return functools.wraps(test)(lambda: asyncio.run(test()))


def test_a_window_begins_with_the_first_request(site):
    site.route(RateLimiter(times=2, seconds=5))
    assert site.codes(3) == [200, 200, 429]
    site.clock.advance(4.9)
    answer = site.get()
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "1")
    assert answer.json() == {"detail": "Too Many Requests"}
    site.clock.advance(0.1)
    assert site.codes(3) == [200, 200, 429]


def test_a_limiter_counts_in_any_interval(site):
    site.route(RateLimiter(Limiter(Rate(2, Duration.SECOND * 5))))
    assert site.codes(1) == [200]
    site.clock.advance(4)
    assert site.codes(2) == [200, 429]
    site.clock.advance(1)
    assert site.codes(2) == [200, 429]
    assert "Retry-After" not in site.get().headers


def test_several_rates_and_more_than_a_log_holds(site):
    site.route(RateLimiter(Limiter([Rate(1, Duration.SECOND),
                                    Rate(20000, Duration.DAY)])))
    assert site.codes(2) == [200, 429]


def test_the_limiter_of_another_library(site):
    class Bucket:
        rates = [Rate(1, Duration.MINUTE)]

    class Theirs:
        def buckets(self):
            return [Bucket()]

    site.route(RateLimiter(Theirs()))
    assert site.codes(2) == [200, 429]
    with pytest.raises(TypeError, match="with rates.*not object"):
        RateLimiter(object())


def test_each_url_of_each_route_counts_by_itself(site):
    limits = RateLimiter(times=1, hours=1)
    site.route(limits, url="/items/{name}", function=lambda name: name)
    site.route(limits, url="/items/{name}", methods=["POST"],
               function=lambda name: name)
    assert site.codes(2, "/items/a") == [200, 429]
    assert site.codes(2, "/items/b") == [200, 429]
    assert site.codes(2, "/items/a", "POST") == [200, 429]


def test_each_dependency_charges_what_it_allows(site):
    site.route(RateLimiter(times=2, minutes=1), RateLimiter(times=1, seconds=5))
    assert site.codes(2) == [200, 429]
    site.clock.advance(5)
    assert site.codes(1) == [429]  # the first has counted the denied request


def test_own_callers_and_answers(site):
    told = []

    async def who(request: Request):
        return request.headers["X-Who"]

    async def old(request, response, pexpire):
        told.append((request.method, pexpire))
        raise HTTPException(418)

    def new(request, response):
        told.append(request.method)
        response.headers["X-Late"] = "yes"

    site.route(RateLimiter(times=1, seconds=5, identifier=who, callback=old))
    site.route(RateLimiter(Limiter(Rate(1, 5000)), who, new), url="/new")
    assert site.codes(2, headers={"X-Who": "alex"}) == [200, 418]
    assert site.codes(1, headers={"X-Who": "bob"}) == [200]
    assert site.codes(1, "/new", headers={"X-Who": "bob"}) == [200]
    answer = site.get("/new", headers={"X-Who": "bob"})
    assert (answer.status_code, answer.headers["X-Late"]) == (200, "yes")
    assert told == [("GET", 5000), "GET"]


def test_a_router_and_what_skips_it(site):
    router = APIRouter(dependencies=[Depends(RateLimiter(times=1, hours=1))])

    @router.get("/skip")
    @skip_limiter
    async def skip():
        return ""

    router.get("/")(lambda: "")
    site.app.include_router(router)
    assert site.codes(3, "/skip") == [200] * 3
    assert site.codes(2) == [200, 429]


async def half_of_a_character(request):
    return "\ud83d"


def test_a_request_that_waits_for_its_turn(site):
    site.route(RateLimiter(Limiter([Rate(1, Duration.SECOND * 5),
                                    Rate(2, Duration.SECOND * 60)]),
                           identifier=half_of_a_character, blocking=True))
    begin = site.clock.now_ns
    assert site.codes(3) == [200] * 3
    assert 60 <= (site.clock.now_ns - begin) / 1e9 < 61


@in_a_loop
async def test_a_line_that_is_full():
    site = Site(None)
    site.route(RateLimiter(Limiter(Rate(1, Duration.WEEK)), blocking=True,
                           max_queue=1))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(site.app),
                                 base_url="http://test") as client:
        assert (await client.get("/")).status_code == 200
        asking = {asyncio.create_task(client.get("/")) for _ in range(3)}
        codes = []
        while len(codes) < 2:
            done, asking = await asyncio.wait(
                asking, timeout=30, return_when=asyncio.FIRST_COMPLETED)
            codes += [one.result().status_code for one in done] or ["late"]
        assert codes == [429, 429]
        (waits,) = asking
        waits.cancel()
    await FastAPILimiter.close()


@in_a_loop
async def test_all_lines_together_are_bounded():
    """A client that has gone waits in the line of each URL it has asked."""
    site = Site(None)
    site.route(RateLimiter(Limiter(Rate(1, Duration.WEEK)), blocking=True,
                           max_queue=2),
               url="/items/{name}", function=lambda name: name)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(site.app),
                                 base_url="http://test") as client:
        urls = [f"/items/{name}" for name in "abc"]
        for url in urls:
            assert (await client.get(url)).status_code == 200
        for name in "de":  # those who go leave their places
            asking = {asyncio.create_task(client.get(url)) for url in urls}
            done, waiting = await asyncio.wait(
                asking, timeout=30, return_when=asyncio.FIRST_COMPLETED)
            assert [one.result().status_code for one in done] == [429]
            # Who need not wait is let in as ever.
            answer = await client.get(f"/items/{name}")
            assert answer.status_code == 200
            for one in waiting:
                one.cancel()
            await asyncio.wait(waiting)
    await FastAPILimiter.close()


def test_messages_of_a_websocket(site):
    @site.app.websocket("/ws")
    async def chat(websocket: WebSocket):
        await websocket.accept()
        limits = WebSocketRateLimiter(times=1, seconds=5)
        async for text in websocket.iter_text():
            key = text.replace("half", "\ud83d")
            try:
                await limits(websocket, context_key=key)
                await websocket.send_text("Hello")
            except HTTPException as error:
                await websocket.send_text(error.headers["Retry-After"])

    with site.client.websocket_connect("/ws") as chat_client:
        def answer(text):
            chat_client.send_text(text)
            return chat_client.receive_text()

        assert [answer("a"), answer("a"), answer("b")] == ["Hello", "5",
                                                           "Hello"]
        assert [answer("half"), answer("half")] == ["Hello", "5"]
        site.clock.advance(5)
        assert answer("a") == "Hello"


@in_a_loop
async def test_init_and_close():
    clock = ManualClock()
    with pytest.raises(RuntimeError, match=r"await FastAPILimiter.init"):
        FastAPILimiter.site(must_be_set=True)
    await FastAPILimiter.init(clock=clock, http_callback=default_callback)
    first = FastAPILimiter.site(must_be_set=True)
    await FastAPILimiter.init("memory://", prefix="mine", clock=clock)
    assert FastAPILimiter.site(must_be_set=True) is not first
    await FastAPILimiter.close()
    with pytest.raises(RuntimeError):
        FastAPILimiter.site(must_be_set=True)
    assert FastAPILimiter.site(must_be_set=False)  # in memory
    await FastAPILimiter.close()


def test_a_client_of_redis():
    with redis_server() as (url, _):
        path = url.removeprefix("redis+unix://")

        @contextlib.asynccontextmanager
        async def lifespan(app):
            client = redis.asyncio.Redis(unix_socket_path=path)
            await FastAPILimiter.init(client, timeout=PATIENT)
            yield
            await FastAPILimiter.close()
            await client.aclose()

        app = FastAPI(lifespan=lifespan)
        app.get("/", dependencies=[Depends(RateLimiter(times=1, hours=1))])(
            lambda: "")
        codes = []
        for _ in range(2):  # the second finds what the first has counted
            with TestClient(app) as client:
                codes += [client.get("/").status_code for _ in range(2)]
        assert codes == [200, 429, 429, 429]


def test_times_without_a_store_are_an_error():
    site = Site(None)
    site.route(RateLimiter(times=1, seconds=5))
    with pytest.raises(RuntimeError, match="FastAPILimiter.init"):
        site.get()
