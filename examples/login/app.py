"""A login page that nobody can guess through.  In this folder:

    flask run                         # then http://127.0.0.1:5000, alex, secret
    STORE=shm://login gunicorn -w 4 app:app
"""

import hashlib
import hmac
import math
import os

from flask import Flask, make_response, request

from limitree import Limiter
from limitree.logins import Logins

SECRET = os.environ.get("SECRET", "only for this example")
SALT = b"of this example"
USERS = {"alex": hashlib.scrypt(b"secret", salt=SALT, n=2**14, r=8, p=1)}
PAGE = """<!doctype html><title>Log in</title><p>{}</p><form method="post">
<input name="account" autocomplete="username">
<input name="password" type="password" autocomplete="current-password">
<button>Log in</button></form>"""

app = Flask(__name__)
limiter = Limiter({"schema": {"site": {"limits": "1000/second"}}},
                  os.environ.get("STORE", "memory://"))
logins = Logins(limiter, secret=SECRET)


def is_right(account, password):
    # As long for an account that does not exist.
    known = USERS.get(account, b"")
    given = hashlib.scrypt(password.encode(), salt=SALT, n=2**14, r=8, p=1)
    return hmac.compare_digest(known, given)


@app.get("/")
def page():
    return PAGE.format("Who are you?")


@app.post("/")
def log_in():
    account = request.form.get("account", "").strip().casefold()
    attempt = logins.attempt(account, request.remote_addr,
                             device=request.cookies.get("device"))
    if attempt.decision.limited:
        seconds = math.ceil(attempt.decision.retry_after)
        return (PAGE.format("Too many attempts, try later."), 429,
                {"Retry-After": str(seconds)})
    if not is_right(account, request.form.get("password", "")):
        return PAGE.format("Wrong name or password."), 401
    response = make_response("Welcome!")  # here a session begins
    response.set_cookie("device", attempt.succeed(), max_age=365 * 86400,
                        httponly=True, samesite="Lax",
                        secure=request.is_secure)
    return response
