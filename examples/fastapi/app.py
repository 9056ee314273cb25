"""A small exchange behind limits.

    pip install "limitree[fastapi]" uvicorn
    uvicorn app:app
    STORE=shm://exchange uvicorn --workers 4 app:app    # four count together
"""

import os
import pathlib

from fastapi import Depends, FastAPI, Request

from limitree import client_ip
from limitree.fastapi import Limiter, RateLimit

app = FastAPI()
limiter = Limiter(
    client_ip(trusted_proxies=["127.0.0.1"]),  # who a caller is, unless told
    app=app,
    limits=pathlib.Path(__file__).parent.parent / "limits.yaml",
    store=os.environ.get("STORE", "memory://"),
    timeout=os.environ.get("TIMEOUT", "50ms"))


def user(request: Request) -> str:
    return request.headers.get("x-user", "nobody")


@app.get("/prices", dependencies=[Depends(RateLimit("3/second; 60/minute"))])
async def prices():
    return {"btc": 1}


@app.post("/trade", dependencies=[Depends(RateLimit(("user", user, "trade")))])
async def trade():
    return {"done": True}
