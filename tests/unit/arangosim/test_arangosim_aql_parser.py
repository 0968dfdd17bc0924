"""What parses, what does not, and where the error is said to be."""

import pytest

from tests.arangosim.aql import nodes as n
from tests.arangosim.aql.parser import parse
from tests.arangosim.errors import ArangoError


@pytest.mark.parametrize(
    "text",
    [
        "RETURN 1",
        "return 1 // comment\n",
        "/* a\n b */ RETURN -1.5e3",
        "FOR d IN c FILTER d.a == 1 AND NOT d.b OR d.c != null SORT d.x DESC, d.y LIMIT 1, 2 RETURN DISTINCT d",
        "FOR d IN @@c RETURN d.@attribute[0][@i].`odd name`",
        "LET a = (FOR x IN 1..3 RETURN x) RETURN a[* FILTER CURRENT > 1 LIMIT 1 RETURN CURRENT * 2]",
        "RETURN {a, 'b': 1, [CONCAT('c', 'd')]: 2, \"e\": {f: [1, 2,],},}",
        "FOR v, e, p IN 1..3 OUTBOUND @s GRAPH @g PRUNE x = v.x == 1 OPTIONS {order: 'bfs'} FILTER !x RETURN p",
        "FOR v IN ANY 'a/b' e1, INBOUND @@e2, OUTBOUND e3 RETURN v",
        "WITH a, @@b FOR v IN OUTBOUND 'a/b' e RETURN v",
        "FOR d IN v SEARCH ANALYZER(d.t IN TOKENS(@q, 'x'), 'x') OPTIONS {waitForSync: true} RETURN BM25(d)",
        "FOR d IN c COLLECT a = d.a, b = d.b AGGREGATE s = SUM(d.x), m = MAX(d.x) INTO g KEEP d OPTIONS {} RETURN g",
        "FOR d IN c COLLECT WITH COUNT INTO n RETURN n",
        "FOR d IN c COLLECT k = d.k WITH COUNT INTO n RETURN {k, n}",
        "FOR d IN @docs UPSERT {_key: d._key} INSERT d UPDATE {n: OLD.n + 1} IN @@c OPTIONS {a: true} RETURN NEW",
        "FOR d IN c UPDATE d WITH {x: 1} IN c RETURN OLD",
        "FOR d IN c UPDATE d._key WITH MERGE(d, {x: 1}) INTO c",
        "REPLACE 'k' WITH {} IN c",
        "REMOVE {_key: @k} IN c",
        "INSERT {} INTO @@c",
        "RETURN a ? b : c ?: d",
        "RETURN [1, 2] ANY == 1 AND [1] ALL IN [1] AND [2] NONE NOT IN [3]",
        "RETURN 'a' LIKE '%' AND 'b' NOT LIKE '_' AND 'c' =~ '^c' AND 'd' !~ 'x' AND 1 NOT IN [2]",
        "RETURN LENGTH(FOR x IN c RETURN 1)",
        "RETURN NS::FUNC(1)",
        "FOR search IN c FILTER search.count == 1 && search.options RETURN search",
    ],
)
def test_valid_queries_parse(text):
    assert isinstance(parse(text), n.Query)


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("RETURN 1 +* 2", "1:11"),
        ("FOR d IN c\nRETRUN d", "2:1"),
        ("FOR d IN c RETURN d.filter", "1:21"),
        ("RETURN WINDOW", "1:8"),
        ("RETURN 'open", "1:8"),
        ("FOR IN c RETURN 1", "1:5"),
        ("RETURN 01", "1:9"),
        ("RETURN 1a", "1:8"),
        ("RETURN @", "1:8"),
        ("RETURN {a: 1 b: 2}", "1:14"),
        ("FOR p IN OUTBOUND SHORTEST_PATH 'a/b' TO 'c/d' e RETURN p", "1:"),
    ],
)
def test_a_syntax_error_is_1501_with_line_and_column(text, position):
    with pytest.raises(ArangoError) as caught:
        parse(text)

    assert (caught.value.number, caught.value.http) == (1501, 400)
    assert f"at position {position}" in caught.value.message


@pytest.mark.parametrize(
    "text",
    [
        "FOR d IN c",
        "LET a = 1",
        "FOR d IN c FILTER d",
        "RETURN (FOR d IN c)",
        "RETURN 1 RETURN 2",
        "FOR a, b IN c RETURN a",
        "FOR a, b, c, d IN OUTBOUND 'x/1' e RETURN a",
        "FOR d IN c COLLECT OPTIONS {} RETURN 1",
        "RETURN 1; DROP",
        "__import__('os').system('true')",
        "RETURN (lambda: 1)()",
    ],
)
def test_what_is_no_complete_query_is_1501(text):
    with pytest.raises(ArangoError) as caught:
        parse(text)
    assert caught.value.number == 1501


@pytest.mark.parametrize("text", ["", "  \n"])
def test_an_empty_query_is_1502(text):
    with pytest.raises(ArangoError) as caught:
        parse(text)
    assert caught.value.number == 1502


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r"'a\'b'", "a'b"),
        (r'"a\"b"', 'a"b'),
        (r"'\n\t\\'", "\n\t\\"),
        (r"'\u00fc\u6771'", "ü東"),
        ("'// no comment'", "// no comment"),
        ("'東京'", "東京"),
        ("1.50", 1.5),
        ("2e3", 2000.0),
        ("TRUE", True),
        ("Null", None),
    ],
)
def test_literals_have_their_values(text, value):
    statement = parse(f"RETURN {text}").statements[0]

    assert statement == n.Return(n.Literal(value), distinct=False)


def test_precedence_follows_the_documented_table():
    def shape(text):
        return parse(f"RETURN {text}").statements[0].value

    assert shape("1 + 2 * 3") == shape("1 + (2 * 3)")
    assert shape("1 .. 2 + 3") == shape("1 .. (2 + 3)")
    assert shape("a OR b AND c") == shape("a OR (b AND c)")
    assert shape("a == b AND c < d") == shape("(a == b) AND (c < d)")
    assert shape("a < b == c") == shape("(a < b) == c")
    assert shape("NOT a == b") == shape("(NOT a) == b")
    assert shape("a IN b == c") == shape("(a IN b) == c")
    assert shape("8 - 4 - 2") == shape("(8 - 4) - 2")
    assert shape("a ? b : c ? d : e") == shape("a ? b : (c ? d : e)")
    assert shape("a == b || c") != shape("a == (b || c)")
