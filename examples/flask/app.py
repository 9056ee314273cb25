"""A shop under limits.  In this folder:

    flask run                     # counts in the memory of this process
    FLASK_LIMITREE_STORE=shm://shop gunicorn -w 4 app:app  # four count together
"""

import pathlib

from flask import Flask, jsonify, request

from limitree.flask import Limiter

app = Flask(__name__)
app.config.update(
    LIMITREE_LIMITS=pathlib.Path(__file__).with_name("limits.yaml"),
    LIMITREE_DEFAULT=["100/minute"])  # of an address, for each view
app.config.from_prefixed_env()
limiter = Limiter(app=app)


def user():
    return request.headers.get("X-User", "nobody")  # a real shop logs in


@app.get("/prices")
def prices():
    return jsonify(gold=2000)


@app.post("/trade")
@limiter.path("user", user, "trade")  # as limits.yaml has it
def trade():
    return jsonify(done=True)


@app.post("/login")
@limiter.limit("3/minute", deduct_when=lambda answer: answer.status_code == 401)
def login():
    right = request.form.get("password") == "secret"
    return ("welcome", 200) if right else ("wrong password", 401)
