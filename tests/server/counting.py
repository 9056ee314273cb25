"""An upstream that counts how many requests of each user it has at once."""

import collections
import heapq
import itertools
import random
import selectors
import socket
import threading
import time


class Work:
    """A connection of the proxy, and what it asks."""

    def __init__(self, connection):
        self.connection = connection
        self.bytes = b""
        self.user = None  # of a request that has no answer yet
        self.path = None


class CountingUpstream:
    """Answers each request a few milliseconds after it came; those to /wait
    when they are released.  `most` is the largest number of requests of each
    user at once, `busy` that of now, `served` all of them.

    One thread does everything.  Before a request is counted, it looks whether
    the proxy has given others up.
    """

    def __init__(self, tokens=None):
        self.most = collections.Counter()
        self.busy = collections.Counter()
        self.served = collections.Counter()
        self._tokens = tokens  # what an answer says that it has used
        self._waiting = []
        self._due = []
        self._number = itertools.count()
        self._works = set()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self._listener.setblocking(False)
        self.target = "127.0.0.1:%d" % self._listener.getsockname()[1]
        self._wake, self._woken = socket.socketpair()
        self._stops = self._releases = False
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def release(self):
        """Answers all that wait, and does not let others wait."""
        self._releases = True
        self._wake.send(b"x")

    def stop(self):
        self._stops = True
        self._wake.send(b"x")
        self._thread.join()
        for work in list(self._works):
            self._drop(work)
        for one in (self._listener, self._wake, self._woken, self._selector):
            one.close()

    def _run(self):
        while not self._stops:
            left = (max(self._due[0][0] - time.monotonic(), 0)
                    if self._due else None)
            for key, _ in self._selector.select(left):
                if key.fileobj is self._listener:
                    self._accept()
                elif key.fileobj is self._woken:
                    self._woken.recv(64)
                elif key.data in self._works:
                    self._read(key.data)
            if self._releases:
                for work in self._waiting:
                    self._answer(work)
                self._waiting.clear()
            while self._due and self._due[0][0] <= time.monotonic():
                self._answer(heapq.heappop(self._due)[2])

    def _accept(self):
        connection, _ = self._listener.accept()
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        work = Work(connection)
        self._works.add(work)
        self._selector.register(connection, selectors.EVENT_READ, work)

    def _read(self, work):
        try:
            more = work.connection.recv(65536)
        except OSError:
            more = b""
        if not more:
            return self._drop(work)
        work.bytes += more
        head, end, rest = work.bytes.partition(b"\r\n\r\n")
        if not end or work.user is not None:
            return None
        work.bytes = rest
        lines = head.decode("ascii").split("\r\n")
        fields = dict(line.split(": ", 1) for line in lines[1:])
        self._drop_gone()
        work.user, work.path = fields["x-user"], lines[0].split()[1]
        self.busy[work.user] += 1
        self.most[work.user] = max(self.most[work.user], self.busy[work.user])
        self.served[work.user] += 1
        if work.path == "/wait" and not self._releases:
            self._waiting.append(work)
        else:
            heapq.heappush(self._due, (
                time.monotonic() + random.uniform(0.005, 0.05),
                next(self._number), work))
        return None

    def _drop_gone(self):
        """Ends the requests whose connections the proxy has closed."""
        for work in [one for one in self._works if one.user is not None]:
            try:
                gone = not work.connection.recv(1, socket.MSG_PEEK)
            except BlockingIOError:
                gone = False
            except OSError:
                gone = True
            if gone:
                self._drop(work)

    def _drop(self, work):
        if work not in self._works:
            return
        self._works.discard(work)
        self._selector.unregister(work.connection)
        work.connection.close()
        if work.user is not None:
            self.busy[work.user] -= 1

    def _answer(self, work):
        if work not in self._works:
            return
        used = "" if self._tokens is None else (
            f"x-tokens-used: {self._tokens(work.path)}\r\n")
        self.busy[work.user] -= 1
        work.user = None
        try:
            work.connection.sendall(
                f"HTTP/1.1 200 OK\r\n{used}content-length: 0\r\n\r\n".encode())
        except OSError:
            self._drop(work)
