"""Litestar, Quart, Sanic and aiohttp under real servers."""

import asyncio
import contextlib

import httpx
import litestar
import pytest
import quart
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

import limitree.litestar
import limitree.quart
from limitree.path_costs import PathCosts
from servers import until
from web_servers import hypercorn, python, uvicorn

SERVERS = {
    "litestar": lambda: uvicorn("homes_site:create_litestar", "--factory",
                                "--lifespan", "on"),
    "quart": lambda: hypercorn("homes_site:create_quart()"),
    "sanic": lambda: python("homes_site.py", "sanic"),
    "aiohttp": lambda: python("homes_site.py", "aiohttp"),
}


@pytest.fixture(scope="module")
def addresses():
    """The address of each server."""
    with contextlib.ExitStack() as stack:
        yield {name: stack.enter_context(start())
               for name, start in SERVERS.items()}


@pytest.fixture(params=SERVERS)
def client(request, addresses):
    with httpx.Client(base_url=addresses[request.param], timeout=30,
                      headers={"X-Caller": request.node.name}) as made:
        yield made


def is_free(client):
    return client.get("/slot").status_code == 200


def test_a_limit_in_words(client):
    answers = [client.get("/quote") for _ in range(3)]
    assert [one.status_code for one in answers] == [200, 200, 429]
    assert [one.headers["RateLimit"].split(";")[1] for one in answers] == [
        "r=1", "r=0", "r=0"]
    denied = answers[-1]
    assert denied.headers["Content-Type"].startswith("application/problem+json")
    assert denied.headers["Cache-Control"] == "no-store"
    assert 1700 <= int(denied.headers["Retry-After"]) <= 1800
    assert denied.json()["status"] == 429
    assert client.get("/quote", headers={"X-Caller": "other"}
                      ).status_code == 200
    assert client.get("/nowhere").status_code == 404


def test_a_caller_whose_name_is_not_utf_8(client):
    for name in (b"\xff", b"\xfe\xe9", "\u00e9".encode()):
        assert [client.get("/quote", headers={b"X-Caller": name}).status_code
                for _ in range(3)] == [200, 200, 429]


@pytest.mark.parametrize("home, app", [
    (limitree.litestar, litestar.Litestar), (limitree.quart, quart.Quart)])
def test_the_application_is_no_key_function(home, app):
    """It is callable; as a key function it would leave itself unlimited."""
    made = app("app") if app is quart.Quart else app()
    with pytest.raises(TypeError, match="the application goes into app="):
        home.Limiter(made)


def test_half_of_a_character():
    limiter = limitree.Limiter("schema: {a: {children: {'*': {limits: 1/d}}}}")
    for name in ("\ud83d", "\ud83e", "a\udcff", "\ufffd"):  # of JSON
        ask = [PathCosts.of([("a", name)], 1, False) for _ in range(2)]
        assert ask[0].authorize(limiter).allowed
        assert PathCosts.of([("a", name)], 1, False).peek(limiter).limited
        assert ask[1].authorize(limiter).limited


def test_a_slot_until_the_client_goes_away(client):
    with client.stream("GET", "/stream") as answer:
        assert answer.status_code == 200
        lines = answer.iter_lines()  # its end closes the connection
        assert next(lines) == "part"
        assert not is_free(client)
    until(lambda: is_free(client))
    for _ in range(2):  # each gives back what it held
        assert is_free(client)


def test_a_slot_until_a_handler_fails(client):
    for _ in range(2):
        assert client.get("/fails").status_code == 500
    assert is_free(client)


def test_a_slot_if_another_limit_fails(client):
    """A client without credentials must not keep the slots of others."""
    for _ in range(2):
        assert client.get("/nobody").status_code == 500
    assert is_free(client)


@pytest.mark.parametrize("client, method", [
    ("quart", "HEAD"), ("quart", "GET"), ("sanic", "GET")],
    indirect=["client"])
@pytest.mark.parametrize("url", ["/class/method", "/class/whole"])
def test_views_of_classes(client, method, url):
    """A client cannot get round the limits of `get` with HEAD."""
    answers = [client.request(method, url).status_code for _ in range(3)]
    assert answers == [200, 200, 429]
    assert client.get(url).status_code == 429


@pytest.mark.parametrize("client", ["sanic"], indirect=True)
def test_a_response_that_is_given_twice(client):
    for left in range(8, 4, -1):
        headers = client.get("/same").headers
        (told,) = headers.get_list("RateLimit")
        assert f";r={left};" in told


@pytest.mark.parametrize("client", ["litestar"], indirect=True)
def test_functions_that_litestar_wraps(client):
    answers = [client.get("/thread").status_code for _ in range(3)]
    assert answers == [200, 200, 429]
    url = str(client.base_url.join("/listener")).replace("http", "ws", 1)
    headers = {"X-Caller": client.headers["X-Caller"]}

    async def talk(url):
        async with connect(url, additional_headers=headers) as socket:
            await socket.send("hello")
            assert await socket.recv() == "hello"

    for one in url, f"{url}/thread":
        for _ in range(2):
            asyncio.run(talk(one))
        with pytest.raises(InvalidStatus) as denied:
            asyncio.run(talk(one))
        assert denied.value.response.status_code == 429


def test_decorators_of_litestar_the_wrong_way_round():
    """Above the decorator of the route they would do nothing."""
    limiter = limitree.litestar.Limiter()

    @litestar.get("/")
    async def handler() -> str:
        return ""

    for endpoint in handler, litestar.Controller:
        with pytest.raises(TypeError, match="limits are put on a function"):
            limiter.limit("1/minute")(endpoint)
        with pytest.raises(TypeError, match="limits are put on a function"):
            limiter.exempt(endpoint)


def test_blueprints_of_quart():
    """A whole blueprint opts out, or has limits in place of the defaults."""
    app = quart.Quart(__name__)
    limiter = limitree.quart.Limiter(app=app, default_limits=["2/hour"])
    blueprints = {name: quart.Blueprint(name, name)
                  for name in ("free", "own", "plain")}
    limiter.exempt(blueprints["free"])
    limiter.limit("3/hour")(blueprints["own"])
    for name, blueprint in blueprints.items():
        blueprint.add_url_rule(f"/{name}", view_func=lambda: "")
        app.register_blueprint(blueprint)

    async def allowed(name):
        client = app.test_client()
        answers = [await client.get(f"/{name}", scope_base={
            "client": ("127.0.0.1", 0)}) for _ in range(5)]
        return [one.status_code for one in answers].count(200)

    async def check():
        assert [await allowed(name) for name in blueprints] == [5, 3, 2]

    asyncio.run(check())
    with pytest.raises(TypeError, match="limits are put on a function"):
        limiter.exempt("plain")


def test_a_slot_of_a_websocket(client):
    url = str(client.base_url.join("/ws")).replace("http", "ws", 1)
    headers = {"X-Caller": client.headers["X-Caller"]}

    async def talk():
        async with connect(url, additional_headers=headers) as socket:
            await socket.send("hello")
            assert await socket.recv() == "hello"
            free = await asyncio.to_thread(is_free, client)
            assert not free
            with pytest.raises(InvalidStatus) as denied:
                async with connect(url, additional_headers=headers):
                    pass
            assert denied.value.response.status_code == 429

    asyncio.run(talk())
    until(lambda: is_free(client))
