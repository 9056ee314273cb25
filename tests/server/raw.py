"""A client of HTTP/2 that may do what a well-behaved one does not."""

import socket
import ssl
import struct
import time

import h2.config
import h2.connection
import h2.events
from hyperframe.frame import Frame

# A client that has got GOAWAY may go on with its open streams.
States = h2.connection.ConnectionState
h2.connection.H2ConnectionStateMachine._transitions[
    (States.CLIENT_OPEN, h2.connection.ConnectionInputs.RECV_GOAWAY)] = (
        None, States.CLIENT_OPEN)

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
AUTHORIZE = "/limitree.v1.Limiter/Authorize"
WATCH = "/grpc.health.v1.Health/Watch"
REFLECTION = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"


def framed(message, flag=0):
    return struct.pack(">BI", flag, len(message)) + message


def connect(service, timeout=60):
    return connect_to(service.target, timeout)


def connect_to(place, timeout=60):
    """A connection to a place such as service.http[0], of this machine, that
    sends without delay."""
    port = int(place.rpartition(":")[2])
    connection = socket.create_connection(("127.0.0.1", port), timeout)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def connect_unix(path, timeout=60):
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(timeout)
    connection.connect(str(path))
    return connection


def tls_connect(service, context):
    return context.wrap_socket(connect(service),
                               server_hostname="localhost")


class Client:
    """One connection."""

    def __init__(self, service, connection=None):
        self.socket = connection or connect(service)
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(
            header_encoding="utf-8", validate_outbound_headers=False))
        self.h2.initiate_connection()
        self.events = []
        self.flush()

    def flush(self):
        self.socket.sendall(self.h2.data_to_send())

    def start(self, path, *, end=False, headers=(), without=()):
        """Sends the header of a call; returns its stream."""
        fields = {":method": "POST", ":scheme": "http", ":path": path,
                  ":authority": "localhost", "te": "trailers",
                  "content-type": "application/grpc"}
        for name in without:
            del fields[name]
        fields.update(headers)
        stream = self.h2.get_next_available_stream_id()
        self.h2.send_headers(stream, list(fields.items()), end_stream=end)
        self.flush()
        return stream

    def send(self, stream, data, end=False):
        self.h2.send_data(stream, data, end_stream=end)
        self.flush()

    def send_all(self, stream, data):
        """Sends as the server lets it; False if the stream ends before."""
        seen, data = 0, memoryview(data)
        while data:
            room = min(self.h2.local_flow_control_window(stream),
                       self.h2.max_outbound_frame_size)
            if room > 0:
                self.send(stream, bytes(data[:room]))
                data = data[room:]
                continue
            assert self.read()
            for event in self.events[seen:]:
                if isinstance(event, (h2.events.StreamEnded,
                                      h2.events.StreamReset)) and (
                        event.stream_id == stream):
                    return False
            seen = len(self.events)
        return True

    def read(self):
        """Adds what has come to `events`; False at the end."""
        try:
            data = self.socket.recv(65536)
        except (ConnectionResetError, ssl.SSLError):
            return False
        if not data:
            return False
        fresh = self.h2.receive_data(data)
        self.events += fresh
        for event in fresh:
            if isinstance(event, h2.events.DataReceived):
                self.h2.acknowledge_received_data(
                    event.flow_controlled_length, event.stream_id)
        try:
            self.flush()
        except OSError:
            return bool(fresh)
        return True

    def wait(self, kind, stream=None):
        """The first event of that kind, and on that stream if given."""
        seen = 0
        while True:
            for event in self.events[seen:]:
                if isinstance(event, kind) and (
                        stream is None or event.stream_id == stream):
                    return event
            seen = len(self.events)
            if not self.read():
                raise AssertionError(f"the end, after {self.events}")

    def answer(self, stream):
        """The header, the body and the trailers of a stream that ends."""
        self.wait(h2.events.StreamEnded, stream)
        found = {"header": {}, "body": b"", "trailers": {}}
        for event in self.events:
            if getattr(event, "stream_id", None) != stream:
                continue
            if isinstance(event, h2.events.ResponseReceived):
                found["header"] = dict(event.headers)
            elif isinstance(event, h2.events.TrailersReceived):
                found["trailers"] = dict(event.headers)
            elif isinstance(event, h2.events.DataReceived):
                found["body"] += event.data
        return found

    def status(self, stream):
        answer = self.answer(stream)
        trailers = answer["trailers"] or answer["header"]
        return trailers["grpc-status"], trailers.get("grpc-message", "")

    def close(self):
        self.socket.close()


def frames_until_end(connection, limit=1_000_000):
    """All frames that come until the server closes the connection."""
    data = b""
    try:
        while len(data) < limit and (block := connection.recv(65536)):
            data += block
    except ConnectionResetError:
        pass
    frames = []
    while len(data) >= 9:
        frame, size = Frame.parse_frame_header(memoryview(data[:9]))
        frame.parse_body(memoryview(data[9:9 + size]))
        frames.append(frame)
        data = data[9 + size:]
    return frames


def send_until_closed(connection, data, seconds=60):
    """Sends `data` again and again; how long until the server closes."""
    start = time.monotonic()
    try:
        while time.monotonic() - start < seconds:
            connection.sendall(data)
    except OSError:
        return time.monotonic() - start
    raise AssertionError("the connection is still open")
