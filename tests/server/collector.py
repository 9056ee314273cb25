"""A collector of OpenTelemetry, which takes OTLP over HTTP."""

import http.server
import queue
import threading

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest)
from service import PATIENT

MESSAGES = {"/v1/traces": ExportTraceServiceRequest,
            "/v1/metrics": ExportMetricsServiceRequest}


def attributes(owner):
    """Each value is a text or a number."""
    return {each.key: getattr(each.value, each.value.WhichOneof("value"))
            for each in owner.attributes}


class Collector(http.server.ThreadingHTTPServer):
    """`statuses` are what it answers first, before 200."""

    def __init__(self, *statuses):
        super().__init__(("127.0.0.1", 0), Handler)
        self.statuses = list(statuses)
        self.requests = queue.Queue()
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def get(self):
        """The next request that it took, and its message."""
        return self.requests.get(timeout=PATIENT)

    def spans(self, count):
        """The next spans."""
        found = []
        while len(found) < count:
            _, message = self.get()
            for each in message.resource_spans:
                for scope in each.scope_spans:
                    assert scope.scope.name == "limitree"
                    found += scope.spans
        assert len(found) == count
        return found

    def metrics(self):
        """The metrics of the next message, by name."""
        _, message = self.get()
        (each,) = message.resource_metrics
        (scope,) = each.scope_metrics
        assert scope.scope.name == "limitree"
        found = {metric.name: metric for metric in scope.metrics}
        assert len(found) == len(scope.metrics)
        return found


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        statuses = self.server.statuses
        status = statuses.pop(0) if statuses else 200
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()
        if status == 200:
            message = MESSAGES[self.path.partition("?")[0]].FromString(body)
            self.server.requests.put((self, message))

    def log_message(self, *words):
        pass
