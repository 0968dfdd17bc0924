"""Graphs and traversals, through both drivers.

d1 -> s1 -> c1, c2      s1 -> s2 -> c2, c3      d1 -> s2      c3 -> d1 (a cycle)
"""

import pytest
from arango import ArangoClient
from arango.exceptions import DocumentInsertError, VertexCollectionDeleteError

from tests.arangosim import ArangoSim

VERTICES = {"D": ["d1"], "S": ["s1", "s2"], "C": ["c1", "c2", "c3"]}
EDGES = [
    ("D/d1", "S/s1"),
    ("D/d1", "S/s2"),
    ("S/s1", "C/c1"),
    ("S/s1", "C/c2"),
    ("S/s1", "S/s2"),
    ("S/s2", "C/c2"),
    ("S/s2", "C/c3"),
    ("C/c3", "D/d1"),
]


def fill(driver):
    driver.create_graph("G", [("HAS", ["D", "S", "C"], ["S", "C", "D"])])
    for name, keys in VERTICES.items():
        driver.load(name, [{"_key": key, "scope": "b" if key == "s2" else "a"} for key in keys])
    driver.load("HAS", [{"_key": f"{f[2:]}-{t[2:]}", "_from": f, "_to": t, "w": i} for i, (f, t) in enumerate(EDGES)])


@pytest.fixture(autouse=True)
def _graph(driver):
    fill(driver)


def keys(driver, text, **binds):
    return [key.replace("None", "") for key in driver.query(text, {"s": "D/d1", **binds})]


@pytest.mark.parametrize(
    ("depth", "options", "expected"),
    [
        ("1", "", ["s1", "s2"]),
        ("", "", ["s1", "s2"]),
        ("0..1", "", ["d1", "s1", "s2"]),
        ("2..2", "", ["c1", "c2", "s2", "c2", "c3"]),
        ("1..2", "", ["s1", "c1", "c2", "s2", "s2", "c2", "c3"]),
        ("1..2", "OPTIONS {order: 'bfs'}", ["s1", "s2", "c1", "c2", "s2", "c2", "c3"]),
        ("1..9", "OPTIONS {order: 'bfs', uniqueVertices: 'global'}", ["s1", "s2", "c1", "c2", "c3"]),
        ("3..3", "OPTIONS {uniqueVertices: 'path'}", ["c2", "c3"]),
        ("3..3", "", ["c2", "c3", "d1"]),
        ("1..2", "OPTIONS {vertexCollections: ['S']}", ["s1", "s2", "s2"]),
        ("1..2", "OPTIONS {vertexCollections: 'C'}", []),
    ],
)
def test_depth_order_uniqueness_and_collections(driver, depth, options, expected):
    assert keys(driver, f"FOR v IN {depth} OUTBOUND @s GRAPH 'G' {options} RETURN v._key") == expected


@pytest.mark.parametrize(
    ("direction", "expected"),
    [("OUTBOUND", ["c2", "c3"]), ("INBOUND", ["d1", "s1"]), ("ANY", ["c2", "c3", "d1", "s1"])],
)
def test_directions(driver, direction, expected):
    text = f"FOR v IN 1 {direction} 'S/s2' GRAPH @g SORT v._key RETURN v._key"

    assert driver.query(text, {"g": "G"}) == expected


def test_prune_stops_a_branch_but_shows_its_end_and_filter_only_hides(driver):
    pruned = "FOR v IN 1..3 OUTBOUND @s GRAPH 'G' PRUNE v.scope == 'b' OPTIONS {order: 'bfs'} RETURN v._key"
    filtered = "FOR v IN 1..2 OUTBOUND @s GRAPH 'G' OPTIONS {order: 'bfs'} FILTER v.scope != 'b' RETURN v._key"

    assert keys(driver, pruned) == ["s1", "s2", "c1", "c2", "s2"]
    assert keys(driver, filtered) == ["s1", "c1", "c2", "c2", "c3"]


def test_paths_hold_their_vertices_and_edges(driver):
    text = """FOR v, e, p IN 2 OUTBOUND @s HAS FILTER v._key == 'c1'
        RETURN [e._key, p.vertices[*]._key, p.edges[*].w, LENGTH(p.edges)]"""

    assert driver.query(text, {"s": "D/d1"}) == [["s1-c1", ["d1", "s1", "c1"], [0, 2], 2]]


def test_a_condition_can_be_asked_of_every_vertex_of_a_path(driver):
    text = "FOR v, e, p IN 1..2 OUTBOUND @s HAS FILTER p.vertices[*].scope ALL == 'a' RETURN v._key"

    assert keys(driver, text) == ["s1", "c1", "c2"]


def test_edge_collections_may_have_their_own_direction_and_the_start_may_be_a_document(driver):
    driver.create_collection("LINKS", edge=True)
    driver.insert("LINKS", {"_from": "C/c1", "_to": "S/s2"})

    text = "FOR s IN S FILTER s._key == 's2' FOR v IN 1 OUTBOUND s HAS, INBOUND @@links RETURN v._key"

    assert driver.query(text, {"@links": "LINKS"}) == ["c2", "c3", "c1"]


def test_a_start_that_is_no_document_id_gives_nothing_with_a_warning_and_an_absent_one_a_null(sim, driver):
    assert driver.query("FOR v IN 0..1 OUTBOUND 'nonsense' HAS RETURN v") == []
    assert driver.query("FOR v IN 0..1 OUTBOUND 'D/absent' HAS RETURN v") == [None]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("FOR v IN 1 OUTBOUND @s GRAPH 'absent' RETURN v", 1924),
        ("FOR v IN 1 OUTBOUND @s absent RETURN v", 1203),
        ("FOR v IN 1 OUTBOUND @s D RETURN v", 1218),
        ("FOR v IN 2..1 OUTBOUND @s HAS RETURN v", 1501),
        ("FOR v IN 1 OUTBOUND @s HAS OPTIONS {uniqueVertices: 'global'} RETURN v", 10),
    ],
)
def test_refusals(driver, refused, text, number):
    assert refused(lambda: driver.query(text, {"s": "D/d1"}))[0] == number


def test_a_cluster_asks_for_with_in_anonymous_traversals(connect, refused):
    with ArangoSim(cluster=True) as sim:
        driver = connect(sim)
        fill(driver)
        text = "FOR v IN 1 OUTBOUND 'D/d1' HAS RETURN v._key"
        assert refused(lambda: driver.query(text)) == (1521, 500)
        assert driver.query(f"WITH D, S {text}") == ["s1", "s2"]
        assert driver.query("FOR v IN 1 OUTBOUND 'D/d1' GRAPH 'G' RETURN v._key") == ["s1", "s2"]


def test_a_graph_is_created_once_with_its_collections_and_defines_its_edges(driver, refused, sim):
    definitions = [("HAS", ["D"], ["S"])]

    assert refused(lambda: driver.create_graph("G", definitions)) == (1925, 409)
    assert sim.state.database("_system").collection("HAS").is_edge
    assert refused(lambda: driver.create_graph("bad name", definitions)) == (1208, 400)


def test_a_collection_of_a_graph_cannot_be_dropped_before_the_graph(driver, refused):
    assert refused(lambda: driver.drop_collection("HAS")) == (1942, 500)
    assert refused(lambda: driver.drop_collection("S")) == (1942, 500)


def test_a_replaced_definition_leaves_its_unused_collections_as_orphans(sim, driver):
    graph = sim.state.database("_system").graph("G")

    graph.replace_definition({"collection": "HAS", "from": ["D"], "to": ["S"]})

    assert graph.body()["edgeDefinitions"] == [{"collection": "HAS", "from": ["D"], "to": ["S"]}]
    assert graph.orphans == ["C"]


def test_documents_through_the_graph_keep_it_whole(sim):
    client = ArangoClient(hosts=sim.url)
    graph = client.db().graph("G")

    graph.vertex_collection("C").insert({"_key": "c9"})
    graph.edge_collection("HAS").insert({"_from": "S/s1", "_to": "C/c9"})
    with pytest.raises(DocumentInsertError) as caught:
        graph.edge_collection("HAS").insert({"_from": "S/s1", "_to": "C/absent"})
    assert caught.value.error_code == 1202

    graph.vertex_collection("S").delete("s1")
    left = [edge["_key"] for edge in client.db().collection("HAS") if "S/s1" in (edge["_from"], edge["_to"])]
    assert left == []
    assert graph.vertex_collections() == ["C", "D", "S"]
    graph.create_vertex_collection("ORPHAN")
    assert "ORPHAN" in client.db().graph("G").vertex_collections()
    with pytest.raises(VertexCollectionDeleteError):
        graph.delete_vertex_collection("D")
    graph.delete_vertex_collection("ORPHAN", purge=True)
    assert not client.db().has_collection("ORPHAN")
    client.db().delete_graph("G", drop_collections=True)
    assert not client.db().has_collection("HAS")
    client.close()
