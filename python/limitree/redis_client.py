"""A client of the program in place of limitree's connections to Redis.

The core says which commands to send; here they go through ``redis.Redis``, in
threads, or through ``redis.asyncio.Redis``, in tasks.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import os
import queue
import sys
import threading
import time
import weakref
from collections import OrderedDict, deque
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Union

from limitree.locks import ForkLock

if TYPE_CHECKING:
    from limitree._native import Limiter

# The answer to a command: its number in limitree.h, and its text.
_Reply = tuple[int, bytes]
_TEXT, _OTHER, _ERROR, _LOST, _UNSENT = range(5)

# The first words of errors, which redis-py turns into classes.
_CODES = {
    "AskError": "ASK",
    "AuthenticationError": "WRONGPASS",
    "AuthenticationWrongNumberOfArgsError": "WRONGPASS",
    "AuthorizationError": "NOPERM",
    "BusyLoadingError": "LOADING",
    "ClusterCrossSlotError": "CROSSSLOT",
    "ClusterDownError": "CLUSTERDOWN",
    "MasterDownError": "MASTERDOWN",
    "MaxConnectionsError": "",
    "MovedError": "MOVED",
    "NoPermissionError": "NOPERM",
    "NoScriptError": "NOSCRIPT",
    "OutOfMemoryError": "OOM",
    "ReadOnlyError": "READONLY",
    "TryAgainError": "TRYAGAIN",
}


class RedisClient(Protocol):
    """What ``redis.Redis`` and ``redis.asyncio.Redis`` have."""

    def execute_command(self, *args: Any, **options: Any) -> Any:
        """Send a command and return its answer, or what is awaited for it."""


def is_async(client: Any) -> bool:
    """Return whether the answers of `client` are awaited."""
    # A subclass may pass the coroutine on.
    return any(inspect.iscoroutinefunction(vars(kind).get("execute_command"))
               for kind in type(client).__mro__)


def is_cluster(client: Any) -> bool:
    """Return whether `client` chooses a node by the keys of a command."""
    return hasattr(type(client), "keyslot")


def name_of(client: Any) -> str:
    """Return what messages call `client`: its class, as it is imported."""
    kind = type(client)
    package, _, module = kind.__module__.partition(".")
    if module.startswith("asyncio."):
        package += ".asyncio"
    return f"{package}.{kind.__name__}"


def _words(words: list[bytes]) -> list[str | bytes]:
    # A client of a cluster looks for the name of the command as text.
    return [words[0].decode(), *words[1:]]


def _reply(value: object) -> _Reply:
    if isinstance(value, bytes):
        return _TEXT, value
    if isinstance(value, str):
        return _TEXT, value.encode()
    return _OTHER, b""


def _text_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # what cannot be told must not end a thread
        return "an error without a text"


def _failure(error: BaseException) -> _Reply:
    text = _text_of(error)
    names = [kind.__name__ for kind in type(error).__mro__]
    code = next((_CODES[name] for name in names if name in _CODES), None)
    if code:
        if not text.startswith(code):
            text = f"{code} {text}"
        return _ERROR, text.encode(errors="replace")
    if "ResponseError" in names:
        first = text.partition(" ")[0]
        if not (first.isalpha() and first.isupper()):
            text = f"ERR {text}"
        return _ERROR, text.encode(errors="replace")
    # Only an attempt to connect says so.
    kind = _UNSENT if " connecting to " in text or code == "" else _LOST
    return kind, f"{type(error).__name__}: {text}".encode(errors="replace")


class _Job(NamedTuple):
    token: int
    words: list[bytes]
    late: float  # an answer counts until then


class Threads:
    """Sends the commands of a client that blocks, each in a thread.

    A call waits no longer than its deadline, so it must not be the thread that
    waits for the client.  Threads are made when there is none free, and end
    with the limiter.
    """

    #: The most threads, and the most commands that wait for one.
    MOST, MOST_WAITING = 64, 4096

    loop: asyncio.AbstractEventLoop | None = None  # as Tasks; not needed

    def __init__(self, client: Any) -> None:
        self._client = client
        pool = getattr(client, "connection_pool", None)
        self._most = min(self.MOST, getattr(pool, "max_connections", self.MOST))
        self._lock = ForkLock()
        self._begin()

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._threads = self._free = self._waiting = 0

    def bind(self, limiter: Limiter) -> None:
        """Give answers to `limiter` from now on."""
        self._limiter = weakref.ref(limiter)
        weakref.finalize(limiter, self.end).atexit = False

    def __call__(self, token: int, words: list[bytes], seconds: float) -> None:
        """Send a command; called by the native module."""
        late = time.monotonic() + seconds
        if "gevent.monkey" in sys.modules and self._is_green(
                token, words, late):
            return
        with self._lock:
            if self._pid != os.getpid():  # the threads are the parent's
                self._begin()
            if self._waiting >= self.MOST_WAITING:
                raise RuntimeError("too many commands wait for the client")
            self._waiting += 1
            new = self._free < self._waiting and self._threads < self._most
            if new:
                self._threads += 1
        self._jobs.put((token, words, late))
        if new:
            self._start()

    def _is_green(self, *job: Any) -> bool:
        # Under gevent the client lets other greenlets run, except in the hub.
        from gevent import get_hub, getcurrent, monkey, spawn
        if not monkey.is_module_patched("socket"):
            return False
        if getcurrent() is get_hub():
            spawn(self._do, *job)
        else:
            self._do(*job)
        return True

    def _start(self) -> None:
        thread = threading.Thread(target=self._work, args=(self._jobs,),
                                  name="limitree", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # there are too many; others do the work
            with self._lock:
                self._threads -= 1

    def _work(self, jobs: queue.SimpleQueue[Any]) -> None:
        while True:
            with self._lock:
                self._free += 1
            job = jobs.get()
            with self._lock:
                self._free -= 1
                if job is None:
                    self._threads -= 1
                    return
                self._waiting -= 1
            self._do(*job)
            del job

    def _do(self, token: int, words: list[bytes], late: float) -> None:
        if time.monotonic() > late:
            reply = _UNSENT, b"no thread was free in time"
        else:
            try:
                reply = _reply(self._client.execute_command(*_words(words)))
            except BaseException as error:
                reply = _failure(error)
        limiter = self._limiter()
        if limiter is not None:
            limiter._reply(token, *reply)

    def end(self) -> None:
        """End the threads that are free, and the others when they are."""
        if self._pid == os.getpid():
            for _ in range(self._threads):
                self._jobs.put(None)


class Tasks:
    """Sends the commands of a client for asyncio, in tasks.

    Each command in progress takes a connection of the client.  So only some go
    out at a time, and those that come meanwhile go together.
    """

    #: The most tasks, and the most commands that wait for one or are in one.
    MOST, MOST_WAITING = 16, 16384
    #: Seconds after which a task is cancelled for whose answers nothing waits.
    GRACE = 1.0

    def __init__(self, client: Any) -> None:
        self._client = client
        # A pipeline of a cluster is another thing.
        self._joins = hasattr(client, "pipeline") and not is_cluster(client)
        # For commands of other threads: a ping, a reset.
        self.loop: asyncio.AbstractEventLoop | None = None
        self._waiting: deque[_Job] = deque()
        self._due: asyncio.AbstractEventLoop | None = None  # that will send
        # With the time to give up, oldest first.
        self._tasks: OrderedDict[asyncio.Task[None], float] = OrderedDict()

    def bind(self, limiter: Limiter) -> None:
        """Give answers to `limiter` from now on."""
        self._limiter = weakref.ref(limiter)

    def __call__(self, token: int, words: list[bytes], seconds: float) -> None:
        """Send a command; called by the native module."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            if self.loop is None or self.loop.is_closed():
                raise RuntimeError(f"{name_of(self._client)} answers in an "
                                   "event loop: use AsyncLimiter") from None
            self.loop.call_soon_threadsafe(self._add, self.loop, token, words,
                                           seconds)
        else:
            self._add(loop, token, words, seconds)

    def _add(self, loop: asyncio.AbstractEventLoop, token: int,
             words: list[bytes], seconds: float) -> None:
        if len(self._waiting) >= self.MOST_WAITING:
            self._answer(token, _UNSENT, b"too many commands wait")
            return
        if self._due is not loop:
            self._due = loop
            loop.call_soon(self._send, loop)
        self._waiting.append(_Job(token, words, loop.time() + seconds))

    def _send(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        self._due = None
        self._give_up(now)
        while self._waiting and len(self._tasks) < self.MOST:
            count = len(self._waiting) if self._joins else 1
            jobs = [self._waiting.popleft() for _ in range(count)]
            sent = [job for job in jobs if job.late > now]
            for job in jobs:
                if job.late <= now:
                    self._answer(job.token, _UNSENT, b"not sent in time")
            if sent:
                task = loop.create_task(self._do(sent))
                self._tasks[task] = sent[-1].late + self.GRACE
                task.add_done_callback(functools.partial(self._ended, loop))

    def _give_up(self, now: float) -> None:
        for task, late in list(self._tasks.items()):
            if late > now and not task.get_loop().is_closed():
                break
            if not task.get_loop().is_closed():
                task.cancel()
            del self._tasks[task]

    def _ended(self, loop: asyncio.AbstractEventLoop,
               task: asyncio.Task[None]) -> None:
        self._tasks.pop(task, None)
        if self._waiting:
            self._send(loop)

    async def _do(self, jobs: list[_Job]) -> None:
        try:
            replies = await self._ask(jobs)
        except asyncio.CancelledError:
            replies = [(_LOST, b"the command was cancelled")] * len(jobs)
            raise
        except Exception as error:
            replies = [_failure(error)] * len(jobs)
        finally:
            for job, reply in zip(jobs, replies):
                self._answer(job.token, *reply)

    async def _ask(self, jobs: list[_Job]) -> list[_Reply]:
        if len(jobs) == 1:
            words = _words(jobs[0].words)
            return [_reply(await self._client.execute_command(*words))]
        async with self._client.pipeline(transaction=False) as pipeline:
            for job in jobs:
                pipeline.execute_command(*_words(job.words))
            values = await pipeline.execute(raise_on_error=False)
        return [_failure(value) if isinstance(value, BaseException)
                else _reply(value) for value in values]

    def _answer(self, token: int, reply: int, text: bytes) -> None:
        limiter = self._limiter()
        if limiter is not None:
            limiter._reply(token, reply, text)

    def end(self) -> None:
        """Do nothing: the tasks end by themselves."""


Sender = Union[Threads, Tasks]


def sender_of(client: Any, awaited: bool) -> Sender:
    """Return what sends by `client`, for a limiter whose answers are `awaited`.

    Raises TypeError if they are not, but those of the client are, and for what
    is not a client, but makes some.
    """
    if isinstance(client, type):
        raise TypeError(f"store: {client.__name__} is a class: give a client, "
                        f"{client.__name__}(...)")
    if hasattr(type(client), "master_for"):
        raise TypeError(f"store: {name_of(client)} asks sentinels: give "
                        "sentinel.master_for(...)")
    if not is_async(client):
        return Threads(client)
    if not awaited:
        raise TypeError(f"store: {name_of(client)} answers in an event loop: "
                        "use AsyncLimiter, or give redis.Redis")
    return Tasks(client)
