"""What queries return, through both drivers, and what is refused before they run."""

import pytest


@pytest.fixture(autouse=True)
def _things(driver):
    driver.create_collection("things")
    driver.load("things", [{"_key": f"k{i}", "n": i, "kind": "ab"[i % 2], "tags": ["x", f"t{i}"]} for i in range(6)])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("FOR d IN things FILTER d.n >= 4 RETURN d._key", ["k4", "k5"]),
        ("FOR d IN things SORT d.kind DESC, d.n ASC LIMIT 1, 2 RETURN d.n", [3, 5]),
        ("FOR d IN things FILTER d.missing == null LIMIT 1 RETURN d.missing.deeper", [None]),
        ("FOR i IN 1..3 FOR j IN 1..i RETURN i * 10 + j", [11, 21, 22, 31, 32, 33]),
        ("RETURN SUM(FOR d IN things RETURN d.n)", [15]),
        ("FOR d IN things RETURN DISTINCT d.kind", ["a", "b"]),
        ("RETURN LENGTH(things)", [6]),
        ("FOR d IN things COLLECT kind = d.kind AGGREGATE s = SUM(d.n), m = MAX(d.n) RETURN [kind, s, m]",
         [["a", 6, 4], ["b", 9, 5]]),
        ("FOR d IN things COLLECT kind = d.kind INTO g = d.n RETURN {kind, g}",
         [{"kind": "a", "g": [0, 2, 4]}, {"kind": "b", "g": [1, 3, 5]}]),
        ("FOR d IN things COLLECT kind = d.kind INTO g RETURN g[*].d.n", [[0, 2, 4], [1, 3, 5]]),
        ("FOR d IN things LET m = d.n COLLECT kind = d.kind INTO g KEEP m RETURN g[0]", [{"m": 0}, {"m": 1}]),
        ("FOR d IN things FILTER d.n > 99 COLLECT WITH COUNT INTO n RETURN n", [0]),
        ("FOR d IN things COLLECT AGGREGATE n = COUNT(d) RETURN n", [6]),
        ("LET m = 2 FOR d IN things FILTER d.n < m COLLECT k = d.kind INTO g RETURN [m, k, g[*].m, g[*].d.n]",
         [[2, "a", [None], [0]], [2, "b", [None], [1]]]),
        ("FOR o IN 1..2 RETURN FIRST(FOR d IN things FILTER d.n >= o COLLECT WITH COUNT INTO n RETURN [o, n])",
         [[1, 5], [2, 4]]),
        ("FOR i IN 1..5 LIMIT 3, null RETURN i", [4, 5]),
        ("FOR d IN things FILTER 't3' IN d.tags RETURN d.n", [3]),
        ("FOR d IN things FILTER d.tags ANY == 't2' RETURN d.n", [2]),
        ("FOR d IN things FILTER d.tags ALL IN ['x', 't1', 't2'] RETURN d.n", [1, 2]),
        ("FOR d IN things FILTER d.tags NONE IN ['t0', 't1', 't2', 't3', 't4'] RETURN d.n", [5]),
        ("LET a = [{x: [{y: 1}, {y: 2}]}, {x: [{y: 3}]}] RETURN [a[*].x[*].y, a[**].x, (a[*].x)[0]]",
         [[[[1, 2], [3]], [[{"y": 1}, {"y": 2}], [{"y": 3}]], [{"y": 1}, {"y": 2}]]]),
        ("RETURN [1, 2, 3, 4][* FILTER CURRENT % 2 == 0 RETURN CURRENT * 10]", [[20, 40]]),
        ("LET d = DOCUMENT('things/k2') RETURN [d.n, DOCUMENT('things', ['k1', 'zz', 'k0'])[*].n, DOCUMENT('zz/1')]",
         [[2, [1, 0], None]]),
        ("RETURN [DOCUMENT(things, 'k1').n, KEEP({a: 1, b: 2}, 'a'), COUNT([1])]", [[1, {"a": 1}, 1]]),
        ("RETURN [1 < 'a', null < false, [] < {}, [1, 2] == [1.0, 2], {a: 1} == {a: 1, b: null}]",
         [[True, True, True, True, True]]),
        ("RETURN [!0, !'', ![], !{}, !null, !'0']", [[True, True, False, False, True, False]]),
        ("RETURN [1 && 2, 0 || 'x', null ?: 3, false ? 1 : 2]", [[2, "x", 3, 2]]),
        ("RETURN [1 / 0, 7 / 2, 6 / 2, 7 % 3, -7 % 3, '3' * 2, null + 1]", [[None, 3.5, 3, 1, -1, 6, 1]]),
        ("RETURN ['abc' LIKE 'a%', 'a.c' LIKE 'a_c', 'abc' LIKE 'a.c', 'a%' LIKE 'a\\\\%', 'abc' =~ 'B']",
         [[True, True, False, True, False]]),
        ("RETURN [[1, 2, 3][-1], [1][5], {a: 1}['a'], 'text'[0]]", [[3, None, 1, None]]),
        ("RETURN 3..1", [[3, 2, 1]]),
        ("LET x = 1 LET y = x + 1 RETURN (FOR z IN [x, y] RETURN z + y)", [[3, 4]]),
    ],
)  # fmt: skip
def test_results(driver, text, expected):
    assert driver.query(text) == expected


def test_bind_variables_stand_for_values_attributes_and_collections(driver):
    text = "FOR d IN @@c FILTER d.@name IN @values SORT d.@name @direction LIMIT @n RETURN d[@name]"
    binds = {"@c": "things", "name": "n", "values": [1, 3, 5], "direction": "DESC", "n": 2}

    assert driver.query(text, binds) == [5, 3]


def test_a_value_is_never_read_as_query_text(driver):
    hostile = "' RETURN 1 // \" `x`) REMOVE d IN things"
    driver.insert("things", {"_key": "h", "text": hostile})

    assert driver.query("FOR d IN things FILTER d.text == @v RETURN d._key", {"v": hostile}) == ["h"]
    assert driver.count("things") == 7


@pytest.mark.parametrize(
    ("text", "binds", "number", "http"),
    [
        ("FOR d IN absent RETURN d", {}, 1203, 404),
        ("FOR d IN @@c RETURN d", {"@c": "absent"}, 1203, 404),
        ("INSERT {} INTO absent", {}, 1203, 404),
        ("RETURN unknown", {}, 1203, 404),
        ("RETURN things", {}, 1568, 400),
        ("RETURN UNKNOWN_FUNCTION(1)", {}, 1540, 400),
        ("RETURN NS::OWN(1)", {}, 1540, 400),
        ("RETURN LENGTH()", {}, 1541, 400),
        ("RETURN COSINE_SIMILARITY([1])", {}, 1541, 400),
        ("RETURN COSINE_SIMILARITY([1], [1, 2])", {}, 1542, 400),
        ("RETURN 'a' =~ '('", {}, 1543, 400),
        ("RETURN @x", {}, 1551, 400),
        ("FOR d IN @@c RETURN d", {"c": "things"}, 1551, 400),
        ("RETURN 1", {"x": 1}, 1552, 400),
        ("FOR d IN @@c RETURN d", {"@c": 1}, 1553, 400),
        ("FOR d IN things SORT d.n @way RETURN d", {"way": "d.n"}, 1501, 400),
        ("LET a = 1 LET a = 2 RETURN a", {}, 1511, 400),
        ("FOR d IN things FOR d IN things RETURN d", {}, 1511, 400),
        ("FOR d IN 5 RETURN d", {}, 1563, 400),
        ("FOR d IN things COLLECT k = d.kind RETURN d", {}, 1203, 404),
        ("FOR d IN things COLLECT AGGREGATE x = CONCAT(d.kind) RETURN x", {}, 1574, 400),
        ("INSERT {} INTO things FOR d IN things RETURN d", {}, 1579, 400),
        ("RETURN NEW", {}, 1501, 400),
        ("FOR i IN 1..3 LIMIT -1 RETURN i", {}, 1504, 400),
        ("FOR i IN 1..3 LIMIT @n RETURN i", {"n": "2"}, 1504, 400),
        ("FOR i IN 1..3 LIMIT i RETURN i", {}, 1501, 400),
        ("RETURN ZIP(['a'], 1)", {}, 1542, 400),
        ("RETURN FLATTEN([1], 'deep')", {}, 1542, 400),
        ("RETURN TOKENS('a', 'no_such_analyzer')", {}, 10, 400),
        ("RETURN BM25(1)", {}, 9, 501),
        ("RETURN PHRASE('a', 'b')", {}, 9, 501),
    ],
)
def test_refusals(driver, refused, text, binds, number, http):
    assert refused(lambda: driver.query(text, binds)) == (number, http)
    assert driver.count("things") == 6


def test_modifications_see_old_and_new(driver):
    assert driver.query("INSERT {_key: 'z', n: 9} INTO things RETURN [NEW.n, OLD]") == [[9, None]]
    assert driver.query("UPDATE 'z' WITH {m: 1} IN things RETURN [OLD.m, NEW.m, NEW.n]") == [[None, 1, 9]]
    assert driver.query("REPLACE 'z' WITH {m: 2} IN things RETURN [OLD.n, NEW.n, NEW.m]") == [[9, None, 2]]
    assert driver.query("REMOVE 'z' IN things RETURN [OLD.m, NEW]") == [[2, None]]
    grown = "FOR d IN things FILTER d.n < 2 UPDATE d WITH {n: d.n + 100} IN things RETURN NEW.n"
    assert driver.query(grown) == [100, 101]


def test_upsert_inserts_then_updates_or_replaces(driver):
    changed = "{n: OLD.n + 1} IN things RETURN [OLD == null, NEW.n, NEW.code]"
    update = f"UPSERT {{code: @c}} INSERT {{code: @c, n: 1}} UPDATE {changed}"
    replace = f"UPSERT {{code: @c}} INSERT {{code: @c, n: 1}} REPLACE {changed}"

    assert driver.query(update, {"c": "q"}) == [[True, 1, "q"]]
    assert driver.query(update, {"c": "q"}) == [[False, 2, "q"]]
    assert driver.query(replace, {"c": "q"}) == [[False, 3, None]]


def test_insert_honours_overwrite_mode_and_ignored_errors(driver, refused):
    text = "FOR i IN 0..7 INSERT {_key: CONCAT('k', i), fresh: true} INTO things"

    assert refused(lambda: driver.query(text)) == (1210, 409)
    assert driver.query(f"{text} OPTIONS {{ignoreErrors: true}} RETURN NEW._key") == ["k6", "k7"]
    assert len(driver.query(f"{text} OPTIONS {{overwriteMode: 'update'}} RETURN NEW.fresh")) == 8
    assert driver.get("things", "k0")["n"] == 0


def test_a_query_that_fails_half_way_changes_nothing(driver, refused):
    before = driver.query("FOR d IN things RETURN d")

    assert refused(lambda: driver.query("FOR k IN ['k1', 'k2', 'zz'] REMOVE k IN things")) == (1202, 404)

    assert driver.query("FOR d IN things RETURN d") == before


def test_a_simulated_sleep_over_max_runtime_kills_the_query_with_its_changes(sim, driver, refused):
    text = "FOR d IN things LET s = SLEEP(2) REMOVE d IN things"

    assert refused(lambda: driver.query(text, max_runtime=3)) == (1500, 410)
    assert driver.count("things") == 6
    assert driver.query("FOR i IN 1..3 LET s = SLEEP(0.5) RETURN i", max_runtime=3) == [1, 2, 3]


def test_a_query_that_costs_more_time_than_it_may_is_killed(sim, driver, refused):
    sim.state.query_seconds = 5.0

    assert refused(lambda: driver.query("RETURN 1", max_runtime=4)) == (1500, 410)
    assert driver.query("RETURN 1", max_runtime=6) == [1]
    assert driver.query("RETURN 1") == [1]


def test_a_query_that_keeps_more_than_its_memory_limit_is_refused(driver, refused):
    text = "FOR d IN things SORT d.n RETURN d"

    assert refused(lambda: driver.query(text, memory_limit=200)) == (32, 500)
    assert len(driver.query(text, memory_limit=100_000)) == 6


def test_explain_refuses_what_execution_refuses(driver, refused):
    assert refused(lambda: driver.explain("RETURN UNKNOWN()")) == (1540, 400)
    assert driver.explain("FOR d IN things RETURN d")["nodes"][0]["type"] == "SingletonNode"
