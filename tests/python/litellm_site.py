"""A proxy of LiteLLM for one test, and a provider whose answers tests choose.

The proxy has packages of its own, in build/litellm: `./dev test rare` installs
them.
"""

import contextlib
import http.server
import json
import os
import pathlib
import secrets
import socket
import subprocess
import tempfile
import threading
import time

import httpx

from servers import free_ports

ROOT = pathlib.Path(__file__).parents[2]
PYTHON = ROOT / "build/litellm/bin/python"
PATIENCE = 60  # seconds

# What an answer takes if its request does not say it.
INPUT, OUTPUT = 11, 7

AUTH = '''
from litellm.proxy._types import UserAPIKeyAuth

async def check(request, api_key):
    """A key names its key, user and team: "sk-k1.ann.blue"."""
    key, user, team = (api_key.removeprefix("sk-").split(".") + ["", ""])[:3]
    return UserAPIKeyAuth(api_key=key, user_id=user or None,
                          team_id=team or None)
'''

# A file of a user; it waits long for the store, for a busy machine.
HOOK = '''
import os

import limitree
from limitree.litellm import Handler

handler = Handler(limitree.AsyncLimiter(
    "limits.yaml", os.environ["LIMITREE_STORE"], timeout="20s"))
'''


class Provider:
    """Answers as OpenAI and Anthropic do.

    The prompt is JSON that says how: {"wait": true} waits for `go`, "fail" is a
    status, "input" and "output" are the usage, "words" of a stream come before
    it waits.
    """

    def __init__(self):
        self.go = threading.Event()
        self.running = 0
        self.most = 0
        self.asked = []  # the bodies of all requests
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def asking(self, body):
        with self._lock:
            self.asked.append(body)
            self.running += 1
            self.most = max(self.most, self.running)
        try:
            yield
        finally:
            with self._lock:
                self.running -= 1


class _Requests(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with self.server.provider.asking(body):
            with contextlib.suppress(ConnectionError):
                self._answer(body, _wish_in(body))

    def log_message(self, *_):
        pass

    def _answer(self, body, wish):
        if "fail" in wish and body["model"] != "fallback":
            return self._send(wish["fail"], {"error": {"message": "no"}})
        most = body.get("max_tokens") or body.get("max_completion_tokens")
        output = min(wish.get("output", OUTPUT), most or 10**9)
        usage = wish.get("input", INPUT), output
        kind = self.path.rsplit("/", 1)[-1]
        if body.get("stream"):
            return self._stream(body["model"], wish, kind, usage)
        if wish.get("wait"):
            self.server.provider.go.wait(PATIENCE)
        self._send(200, _ANSWERS[kind](body["model"], *usage))

    def _send(self, status, answer):
        text = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def _stream(self, model, wish, kind, usage):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        if wish.get("break"):
            self.send_header("content-length", "1000000")
        self.end_headers()
        for event in _STREAMS[kind](model, *usage):
            if event == "wait":
                if wish.get("wait"):
                    self.server.provider.go.wait(PATIENCE)
                if wish.get("break"):
                    self.connection.shutdown(socket.SHUT_RDWR)
                    return
                continue
            name = f"event: {event['type']}\n" if "type" in event else ""
            self.wfile.write(f"{name}data: {json.dumps(event)}\n\n".encode())
            self.wfile.flush()
        self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True


def _wish_in(body):
    return _json_in(body.get("messages") or body.get("input") or "")


def _json_in(value):
    """Returns the JSON that the first text in `value` is, or nothing."""
    if isinstance(value, str):
        with contextlib.suppress(ValueError):
            found = json.loads(value)
            return found if isinstance(found, dict) else {}
        return {}
    members = value.values() if isinstance(value, dict) else value
    for member in members:
        if isinstance(member, (str, list, dict)):
            found = _json_in(member)
            if found:
                return found
    return {}


def _usage(before, after):
    return {"prompt_tokens": before, "completion_tokens": after,
            "total_tokens": before + after}


def _chat(model, before, after):
    message = {"role": "assistant", "content": "hello"}
    return {"id": "x", "object": "chat.completion", "created": 1,
            "model": model, "usage": _usage(before, after),
            "choices": [{"index": 0, "message": message,
                         "finish_reason": "stop"}]}


def _embeddings(model, before, _):
    return {"object": "list", "model": model, "data": [
        {"object": "embedding", "index": 0, "embedding": [0.5]}],
        "usage": {"prompt_tokens": before, "total_tokens": before}}


def _response(model, before, after, status="completed"):
    text = {"type": "output_text", "text": "hello", "annotations": []}
    return {"id": "resp_1", "object": "response", "created_at": 1,
            "model": model, "status": status, "parallel_tool_calls": True,
            "tool_choice": "auto", "tools": [],
            "output": [{"type": "message", "id": "m", "status": "completed",
                        "role": "assistant", "content": [text]}],
            "usage": {"input_tokens": before, "output_tokens": after,
                      "total_tokens": before + after,
                      "input_tokens_details": {"cached_tokens": 0},
                      "output_tokens_details": {"reasoning_tokens": 0}}}


def _message(model, before, after, content=True):
    return {"id": "m", "type": "message", "role": "assistant", "model": model,
            "content": [{"type": "text", "text": "hello"}] * content,
            "stop_reason": "end_turn" if content else None,
            "stop_sequence": None,
            "usage": {"input_tokens": before, "output_tokens": after}}


def _chat_stream(model, before, after):
    def chunk(delta, reason=None):
        return {"id": "x", "object": "chat.completion.chunk", "created": 1,
                "model": model, "choices": [{"index": 0, "delta": delta,
                                             "finish_reason": reason}]}
    for i in range(3):
        yield chunk({"role": "assistant", "content": f"word{i} "})
    yield "wait"
    yield chunk({}, "stop")
    yield {**chunk({}), "choices": [], "usage": _usage(before, after)}


def _response_stream(model, before, after):
    yield {"type": "response.created", "sequence_number": 0,
           "response": {**_response(model, 0, 0, "in_progress"), "output": [],
                        "usage": None}}
    for i in range(3):
        yield {"type": "response.output_text.delta", "sequence_number": i + 1,
               "item_id": "m", "output_index": 0, "content_index": 0,
               "delta": f"word{i} "}
    yield "wait"
    yield {"type": "response.completed", "sequence_number": 9,
           "response": _response(model, before, after)}


def _message_stream(model, before, after):
    yield {"type": "message_start",
           "message": _message(model, before, 1, content=False)}
    yield {"type": "content_block_start", "index": 0,
           "content_block": {"type": "text", "text": ""}}
    for i in range(3):
        yield {"type": "content_block_delta", "index": 0,
               "delta": {"type": "text_delta", "text": f"word{i} "}}
    yield "wait"
    yield {"type": "content_block_stop", "index": 0}
    yield {"type": "message_delta", "usage": {"output_tokens": after},
           "delta": {"stop_reason": "end_turn", "stop_sequence": None}}
    yield {"type": "message_stop"}


_ANSWERS = {"completions": _chat, "embeddings": _embeddings,
            "responses": _response, "messages": _message}
_STREAMS = {"completions": _chat_stream, "responses": _response_stream,
            "messages": _message_stream}


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 100

    def handle_error(self, *_):
        pass  # a client that has gone


@contextlib.contextmanager
def provider():
    """Yields the address of a provider, and the provider."""
    with _Server(("127.0.0.1", 0), _Requests) as server:
        server.provider = Provider()
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", server.provider
        finally:
            server.provider.go.set()
            server.shutdown()
            thread.join()


def config(address, callback="hook.handler", **settings):
    """Returns the configuration of a proxy before a provider."""
    def model(name, of=None, **more):
        of = of or f"openai/{name}"
        base = address if of.startswith("anthropic") else f"{address}/v1"
        return {"model_name": name, "litellm_params": {
            "model": of, "api_base": base, "api_key": "x", **more}}
    return {
        "model_list": [
            {**model("good", input_cost_per_token=0.001,
                     output_cost_per_token=0.002), "model_info": {"id": "g1"}},
            model("weak"), model("fallback"),
            model("embedder", "openai/text-embedding-3-small"),
            model("writer", "anthropic/claude-sonnet-4-5")],
        "litellm_settings": {"callbacks": [callback], **settings},
        "router_settings": {"num_retries": 0, "retry_after": 0,
                            "model_group_alias": {"nickname": "good"},
                            "fallbacks": [{"weak": ["fallback"]}]},
        "general_settings": {"custom_auth": "auth.check",
                             # The proxy refuses to start without.
                             "master_key": f"sk-{secrets.token_hex(32)}"}}


@contextlib.contextmanager
def proxy(settings, limits, store, files=(), **environment):
    """Yields a client of a proxy, with its process."""
    with (tempfile.TemporaryDirectory() as folder,
          tempfile.TemporaryFile("w+") as log):
        port, = free_ports(1)
        here = pathlib.Path(folder)
        texts = {"config.yaml": json.dumps(settings), "auth.py": AUTH,
                 "limits.yaml": json.dumps(limits), "hook.py": HOOK}
        for name, text in {**texts, **dict(files)}.items():
            (here / name).write_text(text)
        process = subprocess.Popen(
            [str(PYTHON.with_name("litellm")), "--config", "config.yaml",
             "--host", "127.0.0.1", "--port", str(port), "--telemetry",
             "False"], cwd=folder, stdout=log, stderr=log,
            env={**os.environ, "LIMITREE_LIMITS": str(here / "limits.yaml"),
                 "LIMITREE_STORE": store, "LITELLM_LOCAL_MODEL_COST_MAP":
                 "True", "LITELLM_MODE": "PRODUCTION", **environment})
        process.log = lambda: log.seek(0) or log.read()
        try:
            url = f"http://127.0.0.1:{port}"
            _wait_for(url, process)
            with httpx.Client(base_url=url, timeout=PATIENCE) as client:
                client.process = process
                yield client
        finally:
            process.kill()
            process.wait()


def _wait_for(url, process):
    deadline = time.monotonic() + 2 * PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(httpx.TransportError):
            if httpx.get(f"{url}/health/liveliness").status_code == 200:
                return
        time.sleep(0.1)
    raise RuntimeError(f"the proxy does not listen:\n{process.log()[-3000:]}")


def wait_until(holds, what):
    """Waits until `holds()` is true."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, what()
        time.sleep(0.02)
