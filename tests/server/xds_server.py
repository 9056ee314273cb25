"""A server of configurations for `limitree serve --xds`."""

import concurrent.futures
import pathlib
import queue
import threading

import grpc
from service import PATIENT, compile_protos

compile_protos(pathlib.Path(__file__).parent / "proto", "discovery.proto",
               "rate_limit_config.proto")
import discovery_pb2 as xds  # noqa: E402
import rate_limit_config_pb2 as conf  # noqa: E402

METHOD = ("/envoy.service.discovery.v3.AggregatedDiscoveryService/"
          "StreamAggregatedResources")
TYPE = "type.googleapis.com/ratelimit.config.ratelimit.v3.RateLimitConfig"


def rule(key="user", value="", unit=conf.MINUTE, count=3, **fields):
    return conf.RateLimitDescriptor(
        key=key, value=value, rate_limit=conf.RateLimitPolicy(
            unit=unit, requests_per_unit=count), **fields)


def config(domain="apis", *descriptors, name="the-config"):
    return conf.RateLimitConfig(name=name, domain=domain,
                                descriptors=descriptors or [rule()])


class XdsServer:
    """Answers each stream with what was published last, and again when
    something is published.  One that `insists` sends what was refused again,
    at once, as servers do that compare versions only."""

    def __init__(self, credentials=None, port=0, insists=False):
        self.insists = insists
        self.requests = queue.Queue()
        self.metadata = []
        self.lock = threading.Lock()
        self.streams = []
        self.latest = None
        self.server = grpc.server(concurrent.futures.ThreadPoolExecutor(8))
        handler = grpc.stream_stream_rpc_method_handler(
            self.stream, xds.DiscoveryRequest.FromString, lambda raw: raw)
        self.server.add_generic_rpc_handlers([
            grpc.method_handlers_generic_handler(
                METHOD.split("/")[1], {METHOD.split("/")[2]: handler})])
        if credentials is None:
            self.port = self.server.add_insecure_port(f"127.0.0.1:{port}")
        else:
            self.port = self.server.add_secure_port(f"127.0.0.1:{port}",
                                                    credentials)
        self.server.start()

    @property
    def place(self):
        return f"127.0.0.1:{self.port}"

    def stream(self, requests, context):
        """One stream: answers come from a queue; None ends it."""
        answers = queue.Queue()
        self.metadata.append(dict(context.invocation_metadata()))
        with self.lock:
            self.streams.append(answers)
            if self.latest is not None:
                answers.put(self.latest)
        if not context.add_callback(lambda: answers.put(None)):
            return  # it has ended already

        def listen():
            try:
                for one in requests:
                    self.requests.put(one)
                    if self.insists and one.HasField("error_detail"):
                        answers.put(self.latest)
            except grpc.RpcError:
                pass  # the stream has ended

        # Python waits for other threads before it ends.
        threading.Thread(target=listen, daemon=True).start()
        while (answer := answers.get()) is not None:
            if isinstance(answer, grpc.StatusCode):
                context.abort(answer, "not now, 100%")
            yield answer

    def publish(self, version, *configs, nonce=None):
        response = xds.DiscoveryResponse(version_info=version, type_url=TYPE,
                                         nonce=nonce or f"nonce-{version}")
        for one in configs:
            any_ = response.resources.add()
            any_.type_url = TYPE
            any_.value = one.SerializeToString()
        self.send(response.SerializeToString())

    def send(self, raw):
        """Sends bytes as a message."""
        with self.lock:
            self.latest = raw
            for answers in self.streams:
                answers.put(raw)

    def end_streams(self, how=None):
        with self.lock:
            for answers in self.streams:
                answers.put(how)
            self.streams.clear()

    def request(self):
        """The next request that has come."""
        return self.requests.get(timeout=PATIENT)

    def stop(self):
        self.end_streams()
        self.server.stop(0).wait()
