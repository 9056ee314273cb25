"""Wrong arguments are refused by their names, and charge nothing."""

import itertools

import pytest

import limitree

CALLS = ["authorize", "peek", "spend", "refund", "reset"]


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("segment", [None, 7, 1.5, ["a"], bytearray(b"a"),
                                     object()])
def test_segment_of_wrong_type(limiter, name, segment):
    kind = type(segment).__name__
    with pytest.raises(TypeError,
                       match=rf"^path\[1\] must be str or bytes, not {kind}$"):
        getattr(limiter, name)("user", segment)


@pytest.mark.parametrize("arguments, wrong", [
    ((None, "trade"), "user"), (("alex", None), "action"),
    ((1, "trade"), "user"), ((["alex"], "trade"), "user")])
def test_user_or_action_of_wrong_type(limiter, arguments, wrong):
    with pytest.raises(TypeError, match=f"^{wrong} must be str or bytes"):
        limiter.authorize_action_for_user(*arguments)


@pytest.mark.parametrize("paths, message", [
    ("user", "paths must be a sequence of paths, not str"),
    (None, "paths must be a sequence of paths, not NoneType"),
    (["user"], r"paths\[0\] must be a sequence of segments, not str"),
    ([("job",), b"user"], r"paths\[1\] must be a sequence of segments"),
    ([("job",), None], r"paths\[1\] must be a sequence of segments"),
    ([("job", None)], r"paths\[0\]\[1\] must be str or bytes, not NoneType")])
def test_paths_of_wrong_type(limiter, paths, message):
    with pytest.raises(TypeError, match=message):
        limiter.authorize_all(paths)
    assert limiter.authorize("job").allowed


@pytest.mark.parametrize("name", CALLS[:4])
@pytest.mark.parametrize("cost, error, message", [
    (None, TypeError, "cost must be int, not NoneType"),
    (1.0, TypeError, "cost must be int, not float"),
    ("1", TypeError, "cost must be int, not str"),
    (-1, ValueError, "cost must not be negative, is -1"),
    (-2**63 - 1, OverflowError, "cost must not be negative"),
    (2**63, OverflowError, r"cost must be at most 2\*\*63 - 1")])
def test_cost(limiter, name, cost, error, message):
    with pytest.raises(error, match=message):
        getattr(limiter, name)("job", cost=cost)
    assert limiter.authorize("job").allowed


def test_largest_cost(limiter):
    assert limiter.authorize("job", cost=2**63 - 1).retry_after == float("inf")


def test_number_of_another_library(limiter):
    class Number:
        def __index__(self):
            return 6

    class Broken:
        def __index__(self):
            raise ZeroDivisionError

    assert limiter.authorize("user", "a", "trade", cost=Number()).remaining == 0
    with pytest.raises(ZeroDivisionError):
        limiter.authorize("user", "a", "trade", cost=Broken())


@pytest.mark.parametrize("name", CALLS)
def test_path_without_segments(limiter, name):
    with pytest.raises(ValueError, match="the path is empty"):
        getattr(limiter, name)()


def test_no_paths(limiter):
    with pytest.raises(ValueError):
        limiter.authorize_all([])


# Too many paths are refused before any of them is read.
def test_too_many_paths(limiter):
    most = [("job",)] * 4096
    assert limiter.peek_all(most).allowed
    assert limiter.peek_all(iter(most)).allowed
    with pytest.raises(ValueError, match="4097 paths, the most is 4096$"):
        limiter.authorize_all([None] * 4097)
    with pytest.raises(ValueError, match="more than 4096 paths$"):
        limiter.authorize_all(None for _ in itertools.count())
    with pytest.raises(ValueError, match="first 2049 of 4000 paths meet 4098"):
        limiter.authorize_all([("user", "alex", "trade")] * 4000)


def test_broken_iterable_of_paths(limiter):
    def paths():
        yield ("job",)
        raise KeyError("gone")
    with pytest.raises(KeyError, match="gone"):
        limiter.authorize_all(paths())


@pytest.mark.parametrize("name", CALLS)
def test_unknown_root(limiter, name):
    with pytest.raises(ValueError, match='unknown root "usr"'):
        getattr(limiter, name)("usr", "alex")


def test_keywords(limiter):
    with pytest.raises(TypeError, match=r"peek\(\) got an unexpected keyword "
                                        "argument 'tokens'"):
        limiter.peek("job", tokens=1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'levels'"):
        limiter.reset("job", levels=True)
    with pytest.raises(TypeError, match="levels must be bool, not int"):
        limiter.authorize("job", levels=1)
    with pytest.raises(TypeError, match="leaf must be bool, not str"):
        limiter.reset("job", leaf="yes")
    assert limiter.authorize("job").allowed


def test_signature_of_an_action(limiter):
    call = limiter.authorize_action_for_user
    assert call("alex", "trade") is None
    assert call(action="trade", user="alex", cost=5) is None
    assert call("alex", "trade", 1).limited
    assert call("alex", "trade", levels=True).levels[1].limited
    assert call("alex", "other", levels=True) is None
    with pytest.raises(TypeError, match="needs the argument 'action'"):
        call("alex")
    with pytest.raises(TypeError, match="unexpected keyword argument 'user'"):
        call("alex", "trade", user="bob")
    with pytest.raises(TypeError, match="at most 3 positional"):
        call("alex", "trade", 1, True)


def test_str_and_bytes_are_the_same(limiter):
    limiter.authorize("user", "caf\u00e9", "trade", cost=6)
    assert limiter.authorize(b"user", b"caf\xc3\xa9", b"trade").limited
    assert limiter.authorize("user", b"\xff\x00", "trade", cost=6).allowed
    assert limiter.authorize("user", b"\xff\x00", "trade").limited
    assert limiter.authorize("user", b"\xff", "trade").allowed


def test_lone_surrogate(limiter):
    with pytest.raises(UnicodeEncodeError):
        limiter.authorize("user", "\udcff")


def test_path_of_any_length(limiter):
    for length in (8, 9, 100, 5000):
        path = ["user", f"a{length}", "trade"] + ["x"] * length
        assert limiter.authorize(*path, cost=6).allowed
        assert limiter.authorize(*path).limited


def test_not_initialized():
    class Lazy(limitree.Limiter):
        pass

    for kind in (limitree.Limiter, Lazy):
        for name in CALLS:
            with pytest.raises(RuntimeError, match="not initialized"):
                getattr(kind.__new__(kind), name)("job")
        for name in ("closed", "is_remote", "is_shared"):
            with pytest.raises(RuntimeError, match="not initialized"):
                getattr(kind.__new__(kind), name)
    with pytest.raises(TypeError):
        limitree.Limiter.authorize(object(), "job")


@pytest.mark.parametrize("store, is_remote", [
    ("memory://", False), ("redis://127.0.0.1:1", True),
    ("valkey+cluster://127.0.0.1:1", True), ("redis+unix:///nowhere", True)])
def test_is_remote(store, is_remote):
    with limitree.Limiter({"schema": {"job": {}}}, store) as limiter:
        assert limiter.is_remote is is_remote
        assert limiter.is_shared is is_remote


def test_closed(limiter):
    limiter.close()
    limiter.close()
    assert limiter.closed and " closed" in repr(limiter)
    calls = [lambda name=name: getattr(limiter, name)("job") for name in CALLS]
    calls += [lambda: limiter.authorize_all([["job"]]), limiter.stats,
              lambda: limiter.put("x", {}),
              lambda: limiter.authorize_action_for_user("a", "b"),
              limiter.limit_stats, lambda: limiter.reload("schema: {a: {}}")]
    for call in calls:
        with pytest.raises(RuntimeError, match="the limiter is closed"):
            call()


def test_closed_while_its_arguments_are_read(limiter):
    class Number:
        def __index__(self):
            limiter.close()
            return 1

    with pytest.raises(RuntimeError, match="closed"):
        limiter.authorize("job", cost=Number())


def test_closed_by_its_clock():
    now = [10**18]

    def clock():
        if limiter:
            limiter[0].close()
        return now[0]

    limiter = []
    limiter.append(limitree.Limiter("schema: {a: {}}", clock=clock))
    with pytest.raises(RuntimeError, match="closed"):
        limiter[0].authorize("a")
