"""The operations, and what a limiter is made from."""

import json
import logging
import pathlib
import sys

import pytest

import limitree
from conftest import USERS
from limitree.limits import read

JOB = "schema: {job: {limits: [0, 1, 60]}}"


def test_all_or_nothing(limiter):
    for _ in range(7):
        limiter.authorize("user", "alex", "trade")
    assert limiter.peek("user", "alex").remaining == 9


def test_several_paths(limiter):
    paths = [("job",), ["user", "alex"], iter(["user", b"alex"])]
    decision = limiter.authorize_all(paths, levels=True)
    assert decision.allowed
    assert [level.path for level in decision.levels] == [0, 1]
    assert limiter.authorize_all([("job",), ("user", "bob")]).limited
    assert limiter.peek("user", "bob").remaining == 15
    assert limiter.peek("user", "alex").remaining == 14


def test_peek_spend_refund(limiter):
    assert limiter.peek("job").remaining == 0
    assert limiter.peek("job").allowed
    assert limiter.spend("job", cost=100).allowed
    assert limiter.authorize("job").limited
    assert limiter.refund("job").remaining == 1
    assert limiter.authorize("job").allowed


def test_cost_of_nothing_only_looks(limiter):
    limiter.authorize("job")
    assert limiter.authorize("job", cost=0).allowed
    assert limiter.authorize("job").limited


def test_reset(limiter):
    limiter.authorize("user", "alex", "trade", cost=6)
    assert limiter.reset("user", "alex", "trade", leaf=True) is None
    assert limiter.peek("user", "alex", "trade", cost=0).remaining == 6
    assert limiter.peek("user", "alex", cost=0).remaining == 10
    limiter.reset("user", "alex", "trade")
    assert limiter.peek("user", "alex", cost=0).remaining == 16


def test_time_goes_on(limiter, clock):
    limiter.authorize("job")
    decision = limiter.authorize("job")
    clock.advance(decision.retry_after - 1e-6)
    assert limiter.authorize("job").limited
    clock.advance(1e-6)
    assert limiter.authorize("job").allowed


def test_the_clock_of_the_system():
    with limitree.Limiter(JOB) as limiter:
        assert limiter.authorize("job").allowed
        assert 59 < limiter.authorize("job").retry_after <= 60


@pytest.mark.parametrize("clock, error, message", [
    (lambda: 1.5, TypeError, "clock must return nanoseconds as an int, not f"),
    (lambda: None, TypeError, "not NoneType"),
    (lambda: 2**63, OverflowError, None),
    (lambda: 1 // 0, ZeroDivisionError, None)])
def test_a_clock_that_fails(clock, error, message):
    with pytest.raises(error, match=message):
        limitree.Limiter(JOB, clock=clock)
    working = [lambda: 10**18]
    limiter = limitree.Limiter(JOB, clock=lambda: working[0]())
    working[0] = clock
    with pytest.raises(error, match=message):
        limiter.authorize("job")
    working[0] = lambda: 10**18
    assert limiter.authorize("job").allowed


def test_a_clock_may_ask_its_limiter():
    """The clock is read before the call, so no lock is held meanwhile."""
    def clock():
        if not asked and limiter:
            asked.append(1)
            limiter[0].authorize("job")
        return 10**18

    asked, limiter = [], []
    limiter.append(limitree.Limiter(JOB, clock=clock))
    assert limiter[0].authorize("job").limited
    assert asked


@pytest.mark.parametrize(("limits", "options"), [
    (JOB, {"shadow_mode": True}), (JOB + "\nmode: shadow", {})])
def test_in_shadow(limits, options):
    limiter = limitree.Limiter(limits, **options)
    assert not limiter.authorize("job").shadowed
    decision = limiter.authorize("job", levels=True)
    assert decision.allowed
    assert decision.shadowed
    assert decision.levels[0].mode == "shadow"
    assert limiter.stats().shadow_limited == 1


# ---- Where limits come from -------------------------------------------------


def test_from_a_file(tmp_path):
    path = tmp_path / "limits.yaml"
    path.write_text(JOB)
    for limits in (path, str(path)):
        assert limitree.Limiter(limits).authorize("job").limit == 1


def test_from_a_file_with_a_colon_in_its_name(tmp_path):
    path = tmp_path / "a:b.yaml"
    path.write_text(JOB)
    assert limitree.Limiter(path).authorize("job").limit == 1


def test_from_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        limitree.Limiter("nowhere.yaml")
    with pytest.raises(IsADirectoryError):
        limitree.Limiter(tmp_path)


@pytest.mark.parametrize("text", ["5/minute", "30 per minute; 1/s"])
def test_from_one_limit(text, tmp_path, monkeypatch):
    """Otherwise it would be the name of a file, which is never intended."""
    with pytest.raises(limitree.ConfigError) as found:
        limitree.Limiter(text)
    assert str(found.value).startswith(f"limits are a tree, {text!r} is one")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "5").mkdir()
    (tmp_path / "5/minute").write_text("schema: {job: {}}")
    assert limitree.Limiter("5/minute").peek("job").unlimited


def test_from_a_dict():
    name = "a: b\n#\u007f\u0085\u2028\ufeff\U0001f600"
    limits = {"schema": {
        "job": {"limits": {"count": 7, "period": 60.5}},
        name: {"limits": [{"name": "x", "count": 3, "period": "1m"}]}}}
    limiter = limitree.Limiter(limits)
    assert limiter.authorize("job").limit == 7
    assert limiter.authorize(name).limit == 3


@pytest.mark.parametrize("limits", [None, 7, {"schema"}, b"schema: {}", [7],
                                    [["schema: {}"]]])
def test_from_what_is_no_source(limits):
    with pytest.raises(TypeError, match="limits must be a path, YAML text, "
                                        "a dict or a list of those, not"):
        limitree.Limiter(limits)


def test_parts_of_several_paths(limiter):
    paths = [["user", "alex"], ["job"]]
    parts = ["check", "spend_if_fits"]
    decision = limiter.authorize_all(paths, part=parts, levels=True)
    assert decision.allowed
    assert [(level.mode, level.charged) for level in decision.levels] == [
        ("check", False), ("shadow", True)]
    decision = limiter.authorize_all(paths, part=tuple(parts))
    assert decision.allowed and decision.shadowed
    assert limiter.peek("user", "alex", cost=0).remaining == 16
    assert limiter.peek_all(paths).limited
    assert limiter.peek_all(paths, part="spend_if_fits").allowed
    assert limiter.authorize_all([["job"]], part="check").limited
    limiter.refund_all(paths, part="check")
    assert limiter.authorize("job").limited
    limiter.refund_all(paths, part=None)
    assert limiter.authorize("job").allowed


@pytest.mark.parametrize("part, error, message", [
    ("checks", ValueError, "part must be charge, check or spend_if_fits, is "
                           "'checks'"),
    (1, TypeError, "part must be str, not int"),
    (["check", 2], TypeError, "part must be str, not int"),
    (["check"], ValueError, "there are 2 paths and 1 parts")])
def test_parts_that_are_none(limiter, part, error, message):
    with pytest.raises(error, match=message):
        limiter.authorize_all([["job"], ["user", "x"]], part=part)
    assert limiter.authorize("job").allowed


def test_path_without_an_id():
    limiter = limitree.Limiter(
        "schema: {user: {children: {'*': {limits: 5/s}}}}")
    for call in (limiter.authorize, limiter.peek, limiter.spend,
                 limiter.refund, limiter.reset):
        with pytest.raises(ValueError, match="^the path ends at user, which "
                           "has no limits; an id is missing$"):
            call("user")
    with pytest.raises(ValueError, match="an id is missing"):
        limiter.authorize_all([["user", "a"], ["user"]])
    assert limiter.peek("user", "a").remaining == 4


def test_costs_of_several_paths(limiter):
    paths = [["user", "alex", "trade"], ["job"]]
    assert limiter.authorize_all(paths, [3, 1]).allowed
    assert limiter.peek("user", "alex", "trade", cost=0).remaining == 3
    assert limiter.authorize_all(paths, (0, 1)).limited
    assert limiter.peek_all(paths, (3, 0)).allowed
    assert limiter.peek_all(paths, (4, 0)).limited
    assert limiter.spend_all(paths, [9, 0]).allowed
    assert limiter.peek("user", "alex", "trade", cost=0).remaining == 0
    limiter.refund_all(iter(paths), [2, 1])
    assert limiter.peek("user", "alex", "trade", cost=0).remaining == 2
    assert limiter.authorize("job").allowed
    # The same bucket is charged once, with the larger of the costs.
    limiter.authorize_all([["user", "bob"], ["user", "bob"]], [2, 5])
    assert limiter.peek("user", "bob", cost=0).remaining == 11


@pytest.mark.parametrize("costs, error", [
    ([1], ValueError), ((1, 1, 1), ValueError), ([1, -1], ValueError),
    ([1, "1"], TypeError), ([1, None], TypeError), ({1, 2}, TypeError),
    ([1, 1 << 64], OverflowError)])
def test_costs_that_do_not_fit(limiter, costs, error):
    with pytest.raises(error):
        limiter.authorize_all([["job"], ["user", "x"]], costs)
    assert limiter.peek("job").allowed


def test_from_several(tmp_path):
    path = tmp_path / "limits.yaml"
    path.write_text("schema: {file: {limits: 3/s}}")
    of = [{"schema": {"dict": {"limits": "2/s"}}}, path,
          "schema: {text: {limits: 4/s}}"]
    limiter = limitree.Limiter(of)
    assert [limiter.peek(name).limit for name in ("dict", "file", "text")] == [
        2, 3, 4]
    decision = limiter.authorize_all([["dict"], ["text"]], 3)
    assert decision.limited and limiter.peek("text", cost=0).remaining == 4
    path.write_text("schema:\n  dict: {}")
    with pytest.raises(limitree.ConfigError) as caught:
        limiter.reload()
    assert str(caught.value) == (
        f'{path}:2:3: "dict" is a top-level name of limits already')
    limiter.reload(of[:1])
    with pytest.raises(ValueError, match="text"):
        limiter.peek("text")


def test_from_no_source_at_all():
    with pytest.raises(TypeError, match="must not be an empty list"):
        limitree.Limiter([])


def test_from_a_dict_of_other_things():
    with pytest.raises(TypeError, match="there is a set in them"):
        limitree.Limiter({"schema": {"job": {"limits": {1, 2}}}})


def test_a_dict_is_what_json_makes_of_it():
    limits = {"schema": {"x": {"limits": [1, 2, 3]}}}
    assert json.loads(read(limits)[0][0]) == limits


def test_config_error(tmp_path):
    path = tmp_path / "limits.yaml"
    path.write_text("schema:\n  job:\n    limits: [0, -1, 60]\n    x: 1\n")
    with pytest.raises(limitree.ConfigError) as caught:
        limitree.Limiter(path)
    error = caught.value
    assert isinstance(error, ValueError)
    assert (error.file, error.line, error.column) == (str(path), 3, 17)
    assert error.messages[0] == (f"{path}:3:17: count must be greater than 0, "
                                 "is -1")
    assert len(error.messages) == 2 and str(error).count("\n") == 1
    assert error.messages[1].startswith(f"{path}:4:5: unknown key")


def test_invalid_utf8_has_a_place(tmp_path):
    path = tmp_path / "limits.yaml"
    path.write_bytes(b"schema: {job: {limits: [0, 1, 60]}, '\xff': {}}")
    with pytest.raises(limitree.ConfigError) as caught:
        limitree.Limiter(path)
    assert caught.value.line == 1


# ---- Options ----------------------------------------------------------------


@pytest.mark.parametrize("options", [
    {"max_buckets": 7}, {"max_buckets": "7"}, {"timeout": 0.25},
    {"timeout": "2s"}, {"deny_cache": False}, {"near_limit": 0.5},
    {"local_share": "1/8"}, {"client_name": None},
    {"tls_ca_file": pathlib.Path("/nowhere")}])
def test_options(options):
    try:
        limiter = limitree.Limiter(JOB, **options)
    except limitree.ConfigError as error:
        assert "tls_ca_file" in options and "rediss" in str(error)
        return
    if "max_buckets" in options:
        assert limiter.stats().max_buckets == 7


@pytest.mark.parametrize("options, message", [
    ({"max_buckets": 0}, "max_buckets: "),
    ({"max_bytes": 63_999_999}, "max_bytes: needs 64 for each of max_buckets"),
    ({"max_buckets": 1.5}, "max_buckets: "), ({"timeout": 0}, "timeout: "),
    ({"store": "memcached://"}, "store"), ({"deny_cache": "yes"}, "on or off")])
def test_options_that_are_refused(options, message):
    with pytest.raises(limitree.ConfigError, match=message) as caught:
        limitree.Limiter(JOB, **options)
    assert caught.value.file is caught.value.line is caught.value.column is None


def test_options_that_are_not_there():
    with pytest.raises(TypeError, match="unexpected option 'max_bucket'.*did"
                                        ' you mean "max_buckets"'):
        limitree.Limiter(JOB, max_bucket=7)
    with pytest.raises(TypeError, match="unexpected option 'colour'.*there"
                                        " are: store, max_buckets,"):
        limitree.Limiter(JOB, colour=7)


def test_options_of_wrong_type():
    with pytest.raises(TypeError, match="^store must be .* not NoneType$"):
        limitree.Limiter(JOB, None)
    with pytest.raises(TypeError, match="max_buckets must be str, int, float"):
        limitree.Limiter(JOB, max_buckets=[1])
    with pytest.raises(TypeError):
        limitree.Limiter(JOB, "memory://", 1)


# ---- Reload and counters ----------------------------------------------------


def test_reload(limiter):
    limiter.authorize("job")
    limiter.reload("schema: {job: {limits: [2, 3, 180]}}")
    assert limiter.authorize("job", cost=0).limit == 3
    with pytest.raises(ValueError, match="unknown root"):
        limiter.authorize("user", "alex")


def test_put(limiter):
    limiter.authorize("user", "alex")
    limiter.put("report", {"children": {"*": {"limits": "5/hour"}}})
    assert limiter.authorize("report", "x").remaining == 4
    limiter.put("task", "limits: 3/day\n")
    assert limiter.authorize("task").limit == 3
    # The other limits keep their buckets.
    assert limiter.peek("user", "alex", cost=0).remaining == 15
    assert [one.policy for one in limiter.limit_stats()][-2:] == [
        "report:*", "task"]


def test_put_replaces_only_if_asked(limiter):
    limiter.put("task", {"limits": "3/day"})
    for name in ("task", "user"):
        with pytest.raises(limitree.ConfigError) as caught:
            limiter.put(name, {"limits": "9/day"})
        assert str(caught.value) == f'"{name}" is a top-level name already'
    with pytest.raises(limitree.ConfigError):
        limiter.put("user", {"limits": "9/day"}, replace="added")
    limiter.authorize("task")
    limiter.put("task", {"limits": "9/day"}, replace="added")
    assert limiter.peek("task", cost=0).limit == 9
    limiter.put("user", {"limits": "9/day"}, replace=True)
    assert limiter.peek("user", cost=0).limit == 9
    # An added name stays; a replaced name is again as in the limits.
    limiter.reload(USERS)
    assert limiter.peek("task", cost=0).limit == 9
    assert limiter.peek("user", "alex", cost=0).limit == 16
    with pytest.raises(limitree.ConfigError, match="was put beside"):
        limiter.reload("schema: {task: {}}")


def test_put_of_mistakes_changes_nothing(limiter):
    with pytest.raises(limitree.ConfigError) as caught:
        limiter.put("task", {"limits": "0/day", "childs": {}})
    assert len(caught.value.messages) == 2
    assert caught.value.messages[0].startswith(
        "limits:1:12: limits: count must be greater than 0, is 0")
    for name, node, error in (
            ("", {}, limitree.ConfigError), ("a*", {}, limitree.ConfigError),
            ("task", "5/day", limitree.ConfigError), ("task", 5, TypeError),
            ("task", {"limits": object()}, TypeError)):
        with pytest.raises(error):
            limiter.put(name, node)
    with pytest.raises(ValueError, match='must be True, False or "added"'):
        limiter.put("task", {}, replace="all")
    with pytest.raises(ValueError, match="task"):
        limiter.peek("task")
    assert limiter.stats().reloads == 0


def test_reload_of_mistakes_changes_nothing(limiter):
    with pytest.raises(limitree.ConfigError) as caught:
        limiter.reload("schema: {job: {limits: [0, 1]}}")
    assert caught.value.file == "limits"
    assert limiter.authorize("job").limit == 1
    assert limiter.stats().reloads == 0


def test_forgotten_callers_are_counted_and_told_of(caplog):
    limiter = limitree.Limiter(
        "schema: {a: {children: {'*': {limits: 2/hour}}}}", max_buckets=4)
    for caller in range(10):
        limiter.authorize("a", str(caller))
    stats = limiter.stats()
    assert (stats.evictions, stats.forgotten_limited) == (6, 0)
    assert not caplog.records  # none of them was at the limit
    for caller in range(10):
        limiter.spend("a", str(caller), cost=2)
    stats = limiter.stats()
    assert 6 <= stats.forgotten_limited < stats.evictions
    assert (f"limitree_forgotten_limited_total {stats.forgotten_limited}\n"
            in limiter.prometheus())
    (record,) = caplog.records  # once
    assert (record.name, record.levelname) == ("limitree", "WARNING")
    assert "full of callers at their limits" in record.getMessage()


def test_each_limiter_tells_that_it_is_full(caplog):
    for several in (False, True):
        limiter = limitree.Limiter(
            "schema: {a: {children: {'*': {limits: 1/hour}}}}", max_buckets=4)
        for caller in map(str, range(10)):
            if several:
                limiter.authorize_all([("a", caller)], levels=True)
            else:
                limiter.authorize("a", caller)
    assert len(caplog.records) == 2


@pytest.mark.parametrize("algorithm", ["gcra", "fixed_window", "sliding_log"])
def test_every_kind_of_bucket_is_told_of(algorithm, caplog):
    tree = {"count": 100, "period": "1d", "algorithm": algorithm}
    limiter = limitree.Limiter(
        {"schema": {"a": {"children": {"*": {"limits": tree}}}}},
        max_buckets=1000, max_bytes=64_000)
    full = 0
    while not full:
        assert not caplog.records
        limiter.authorize("a", str(limiter.stats().allowed), cost=100)
        full = limiter.stats().forgotten_limited
    assert len(caplog.records) == 1


def test_a_log_that_cannot_be_written(monkeypatch):
    """The decision is returned; the log's error goes to sys.unraisablehook."""
    def fail(*args):
        raise OSError("the disk is full")

    monkeypatch.setattr(logging.getLogger("limitree"), "warning", fail)
    limiter = limitree.Limiter(
        "schema: {a: {children: {'*': {limits: 1/hour}}}}", max_buckets=4)
    seen = []
    monkeypatch.setattr(sys, "unraisablehook", seen.append)
    assert all(limiter.authorize("a", str(caller)).allowed
               for caller in range(10))
    assert [str(one.exc_value) for one in seen] == ["the disk is full"]


def test_reload_of_the_file(tmp_path):
    path = tmp_path / "limits.yaml"
    path.write_text(JOB)
    limiter = limitree.Limiter(path)
    path.write_text(JOB.replace("[0,", "[4,"))
    limiter.reload()
    assert limiter.authorize("job").limit == 5


def test_stats(limiter):
    for _ in range(3):
        limiter.authorize("job")
    stats = limiter.stats()
    assert (stats.allowed, stats.limited, stats.limits) == (1, 2, 3)
    assert (stats.buckets, stats.max_buckets) == (1, 1_000_000)
    by_policy = {one.policy: one for one in limiter.limit_stats()}
    assert list(by_policy) == ["user:*", "user:*/trade", "job"]
    assert by_policy["job"] == ("job", 1, 2, 0, 1, 0)


def test_context_manager():
    with limitree.Limiter(JOB) as limiter:
        assert not limiter.closed
    assert limiter.closed


def test_repr_keeps_the_password():
    with pytest.raises(limitree.ConfigError) as caught:
        limitree.Limiter(JOB, "redis://user:secret@h:x/")
    assert "secret" not in str(caught.value)


def test_ping_and_prometheus(limiter):
    assert limiter.ping() >= 0.0
    limiter.authorize("job")
    assert 'policy="job"' in limiter.prometheus()


def test_explain_tells_the_limits_of_a_path():
    tree = {"schema": {"user": {"children": {"*": {"limits": "5 per 1h"}}}}}
    limiter = limitree.Limiter(tree)
    text = limiter.explain("user", b"alex")
    assert "user:alex" in text and "5" in text
    assert limiter.stats().allowed == 0
    assert limitree.AsyncLimiter(tree).explain("user", "alex") == text
    with pytest.raises(limitree.UnknownRoot, match="team"):
        limiter.explain("team")
    with pytest.raises(ValueError):
        limiter.explain("user")
    with pytest.raises(ValueError, match="path"):
        limiter.explain()
    with pytest.raises(TypeError, match=r"path\[1\] must be str or bytes"):
        limiter.explain("user", 7)
    limiter.close()
    with pytest.raises(RuntimeError, match="closed"):
        limiter.explain("user", "alex")


def test_which_openssl_is_in_use_is_known():
    assert limitree.openssl_version.startswith(("OpenSSL ", "AWS-LC "))
