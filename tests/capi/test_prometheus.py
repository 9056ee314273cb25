"""The text of limitree_limiter_prometheus, as a scraper reads it.

The reader below knows the text format, version 0.0.4, and nothing of limitree.
"""

import ctypes
import os
import pathlib
import re

import pytest

DATA = pathlib.Path(__file__).resolve().parents[1] / "data"
YAML = b"""
schema:
  user:
    children:
      "*":
        limits: {burst: 3, count: 1, period: 1d}
        children:
          "say \\"hi\\"\\\\": {limits: {burst: 1, count: 1, period: 1d}}
"""

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
VALUE = r"[-+]?(?:\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|Inf)|NaN"
SAMPLE = re.compile(rf"({NAME})(?:\{{(.*)\}})? ({VALUE})")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)')
TYPES = {"counter", "gauge", "histogram", "summary", "untyped"}
ESCAPES = {r"\\": "\\", r"\"": '"', r"\n": "\n"}


def read_labels(text):
    labels = {}
    at = 0
    while at < len(text):
        found = LABEL.match(text, at)
        assert found, text
        assert found[1] not in labels, text
        labels[found[1]] = re.sub(r"\\.", lambda m: ESCAPES[m[0]], found[2])
        at = found.end()
    return frozenset(labels.items())


def read(text):
    """Returns {(name, labels): value}; fails where the format is broken."""
    samples, types, helps, name = {}, {}, set(), None
    assert text.endswith("\n")
    for line in text[:-1].split("\n"):
        if line.startswith("# HELP "):
            name = line.split(" ", 3)[2]
            assert re.fullmatch(NAME, name) and name not in helps, line
            helps.add(name)
        elif line.startswith("# TYPE "):
            _, _, of, kind = line.split(" ")
            assert of == name and kind in TYPES and of not in types, line
            types[of] = kind
        else:
            found = SAMPLE.fullmatch(line)
            assert found, line
            base = found[1]
            if types[name] == "histogram":
                base = re.sub(r"_(bucket|sum|count)$", "", base)
            # All samples of a metric stand together, after its type.
            assert base == name, line
            key = found[1], read_labels(found[2] or "")
            assert key not in samples, line
            samples[key] = float(found[3])
    assert set(types) == helps
    check_counters(samples, types)
    check_histograms(samples, types)
    return samples


def check_counters(samples, types):
    for (name, _), value in samples.items():
        if types.get(name) == "counter":
            assert name.endswith("_total") and value >= 0


def check_histograms(samples, types):
    for name in [name for name, kind in types.items() if kind == "histogram"]:
        bars = sorted((float(dict(labels)["le"]), value)
                      for (of, labels), value in samples.items()
                      if of == name + "_bucket")
        counts = [count for _, count in bars]
        assert counts == sorted(counts)
        assert bars[-1][0] == float("inf")
        assert counts[-1] == samples[name + "_count", frozenset()]
        assert (name + "_sum", frozenset()) in samples


def value(samples, name, **labels):
    return samples[name, frozenset(labels.items())]


def test_every_kind_of_sample():
    samples = read((DATA / "prometheus.txt").read_text("utf-8"))
    assert value(samples, "limitree_limit_requests_total", answer="allowed",
                 policy='a "quoted"\\\nname') == 1
    assert value(samples, "limitree_store_round_trip_seconds_bucket",
                 le="0.000128") == 90
    assert value(samples, "limitree_store_round_trip_seconds_sum") == 1.234567


@pytest.mark.parametrize("text", [
    "a 1\n",
    "# HELP a x\n# TYPE a counter\na_total 1",
    "# HELP a x\n# TYPE a gauge\na{b=\"c} 1\n",
    "# HELP a x\n# TYPE a gauge\na{b=\"c\"d\"\"} 1\n",
    "# HELP a x\n# TYPE a gauge\na 1\na 2\n",
    "# HELP a x\n# TYPE a gauge\nb 1\n",
    "# HELP a x\n# TYPE a counter\na 1\n",
    "# HELP a x\n# TYPE a histogram\n"
    "a_bucket{le=\"1\"} 1\na_sum 1\na_count 1\n",
])
def test_the_reader_refuses(text):
    with pytest.raises((AssertionError, KeyError)):
        read(text)


class Str(ctypes.Structure):
    _fields_ = [("data", ctypes.c_char_p), ("size", ctypes.c_size_t)]


def string(text):
    return Str(text, len(text))


class Limiter:
    """Just enough of limitree.h."""

    def __init__(self, yaml):
        self.library = ctypes.CDLL(os.environ["LIMITREE_LIBRARY"])
        self.library.limitree_config_new.restype = ctypes.c_void_p
        self.library.limitree_text_str.restype = Str
        config = ctypes.c_void_p(self.library.limitree_config_new())
        self.handle = ctypes.c_void_p()
        self.ok(self.library.limitree_config_set_limits(
            config, string(yaml), string(b"limits.yaml"), None))
        self.ok(self.library.limitree_limiter_new(
            config, ctypes.byref(self.handle), None))
        self.library.limitree_config_free(config)

    def close(self):
        self.library.limitree_limiter_free(self.handle)

    @staticmethod
    def ok(status):
        assert status == 0, status

    def authorize(self, *segments):
        path = (Str * len(segments))(*map(string, segments))
        decision = (ctypes.c_int64 * 10)()
        self.ok(self.library.limitree_authorize(
            self.handle, path, ctypes.c_size_t(len(segments)),
            ctypes.c_int64(1), decision, None))

    def samples(self):
        text = ctypes.c_void_p()
        self.ok(self.library.limitree_limiter_prometheus(
            self.handle, ctypes.byref(text), None))
        view = self.library.limitree_text_str(text)
        samples = read(ctypes.string_at(view.data, view.size).decode())
        self.library.limitree_text_free(text)
        return samples

    def requests(self):
        """Returns the counters of requests by their names."""
        found = {}

        @ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_char_p), Str,
                          ctypes.c_int64, ctypes.c_void_p)
        def take(counter, _label, number, _data):
            found[counter[0].decode()] = number  # the name comes first

        self.ok(self.library.limitree_limiter_each_counter(
            self.handle, ctypes.c_uint32(1 << 1), take, None, None))
        return found


@pytest.fixture(name="limiter")
def make_limiter():
    limiter = Limiter(YAML)
    yield limiter
    limiter.close()


def test_counts_what_was_decided(limiter):
    action = b'say "hi"\\'
    for _ in range(4):
        limiter.authorize(b"user", b"alex", action)
    samples = limiter.samples()
    policy = 'user:*/say%20"hi"\\'  # blanks are escaped in names
    for name, answer in (("limited", 3), ("allowed", 1)):
        assert value(samples, "limitree_limit_requests_total", policy=policy,
                     answer=name) == answer
        assert value(samples, "limitree_decisions_total", source="store",
                     answer=name) == answer
    assert value(samples, "limitree_limit_near_total", policy=policy) == 1
    assert value(samples, "limitree_buckets") == 2
    assert value(samples, "limitree_store_round_trip_seconds_count") == 0
    requests = limiter.requests()
    assert (requests["allowed"], requests["limited"]) == (1, 3)


def test_callers_add_no_series(limiter):
    before = set(limiter.samples())
    for i in range(1000):
        limiter.authorize(b"user", b"caller%d" % i)
    assert set(limiter.samples()) == before
