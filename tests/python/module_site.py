"""Programs that make their limiters when they are imported, as most do."""

import fastapi
import flask

import limitree
import limitree.fastapi
import limitree.flask

TREE = {"schema": {"job": {"limits": "2/hour"}}}

bare = limitree.Limiter(TREE)
awaited = limitree.AsyncLimiter(TREE)
configured = limitree.configure(
    {"schema": {"user": {"children": {"*": {"limits": "2/hour"}}}}})
reloaded = limitree.Limiter({"schema": {"other": {"limits": "9/hour"}}})
reloaded.reload(TREE)
reloaded.put("added", {"limits": "1/hour"})
reloaded.put("added", {"limits": "2/hour"}, replace=True)
descriptors = limitree.Limiter(descriptors="""
domain: job
descriptors:
  - key: job
    rate_limit: {unit: hour, requests_per_unit: 2}
""")

of_flask = flask.Flask("of_flask")
flask_limiter = limitree.flask.Limiter(lambda: "alex", app=of_flask)


@of_flask.get("/")
@flask_limiter.limit("2/hour")
def hello():
    return "hello"


of_fastapi = fastapi.FastAPI()
limitree.fastapi.Limiter(app=of_fastapi, key_func=lambda request: "alex")


@of_fastapi.get("/", dependencies=[
    fastapi.Depends(limitree.fastapi.RateLimit("2/hour"))])
def welcome():
    return "welcome"
