"""A plain ASGI application behind limitree, for test_asgi_servers.py.

The environment gives the store and its options.
"""

import asyncio
import json
import os

from limitree import client_ip
from limitree.asgi import LimitreeMiddleware

LIMITS = """
schema:
  ip:
    key: ip
    children:
      "*": {limits: {count: 3, period: 1h}}
"""

events = []


async def body_of(receive):
    while (await receive()).get("more_body"):
        pass


async def bare(scope, receive, send):
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            events.append(message["type"])
            await send({"type": message["type"] + ".complete"})
            if message["type"] == "lifespan.shutdown":
                with open(os.environ.get("ENDED", os.devnull), "w") as file:
                    json.dump(events, file)
                return
    if scope["type"] == "websocket":
        await websocket(receive, send)
        return
    await body_of(receive)
    await send({"type": "http.response.start", "status": 200,
                "headers": [(b"content-type", b"text/plain")]})
    if scope["path"] == "/stream":
        for i in range(3):
            await send({"type": "http.response.body", "more_body": True,
                        "body": b"%d\n" % i})
            await asyncio.sleep(0.01)
        await send({"type": "http.response.body", "body": b""})
    elif scope["path"] == "/events":
        await send({"type": "http.response.body",
                    "body": json.dumps(events).encode()})
    else:
        loop = type(asyncio.get_running_loop()).__module__.split(".")[0]
        await send({"type": "http.response.body", "body": loop.encode()})


async def websocket(receive, send):
    await receive()
    await send({"type": "websocket.accept"})
    while True:
        message = await receive()
        if message["type"] == "websocket.disconnect":
            return
        await send({"type": "websocket.send", "text": message["text"]})


app = LimitreeMiddleware(
    bare, LIMITS, os.environ.get("STORE", "memory://"),
    client_ip=client_ip(trusted_proxies=["127.0.0.1"]),
    exclude=["/events", "/static/*"],
    timeout=os.environ.get("TIMEOUT", "5s"),
    on_store_error=os.environ.get("ON_STORE_ERROR", "raise"))
