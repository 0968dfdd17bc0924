"""What each server version lets the vector index answer, through both drivers."""

import numpy as np
import pytest

from tests.arangosim import ArangoSim

DIMENSION, LISTS = 8, 10
COSINE = {"type": "vector", "fields": ["e"], "params": {"metric": "cosine", "dimension": DIMENSION, "nLists": LISTS}}
L2 = {"type": "vector", "fields": ["l"], "params": {"metric": "l2", "dimension": DIMENSION, "nLists": LISTS}}
ROWS = np.random.default_rng(1).normal(size=(120, DIMENSION))
QUERY = np.random.default_rng(2).normal(size=DIMENSION).tolist()
BINDS = {"q": QUERY}


def documents(count: int = len(ROWS)) -> list[dict]:
    return [
        {"_key": f"k{i:03}", "n": i, "scope": "a" if i % 4 else "b", "e": row.tolist(), "l": row.tolist()}
        for i, row in enumerate(ROWS[:count])
    ]


@pytest.fixture
def at_version(connect):
    """A driver on a server of the version, with 120 documents and both indexes; the server ends with the test."""
    running = []

    def start(version: str, **options):
        running.append(ArangoSim(version, **options).start())
        driver = connect(running[-1])
        driver.create_collection("c")
        driver.load("c", documents())
        driver.add_index("c", COSINE)
        driver.add_index("c", L2)
        return driver

    yield start
    for sim in running:
        sim.close()


def near(middle: str = "", tail: str = "SORT s DESC LIMIT 5", options: str = ", {nProbe: 10}") -> str:
    return f"FOR d IN c {middle} LET s = APPROX_NEAR_COSINE(d.e, @q{options}) {tail} RETURN [d._key, s]"


EXACT = "FOR d IN c {} LET s = COSINE_SIMILARITY(d.e, @q) SORT s DESC LIMIT 5 RETURN [d._key, s]"


@pytest.mark.parametrize("version", ["3.12.4", "3.12.6", "3.12.9"])
def test_all_lists_probed_equals_the_exact_search(at_version, version):
    driver = at_version(version)

    found, exact = driver.query(near(), BINDS), driver.query(EXACT.format(""), BINDS)

    assert [key for key, _ in found] == [key for key, _ in exact]
    assert [score for _, score in found] == pytest.approx([score for _, score in exact], abs=1e-6)


def test_the_default_probe_misses_what_all_probes_find(at_version):
    driver = at_version("3.12.6")
    sparse = driver.query(near(options=""), BINDS)
    full = driver.query(near(), BINDS)

    assert sparse != full
    assert driver.query(near(options=", {nProbe: 1}"), BINDS) == sparse


def test_l2_is_sorted_ascending_and_arguments_may_be_swapped(at_version):
    driver = at_version("3.12.6")
    text = "FOR d IN c LET s = APPROX_NEAR_L2(@q, d.l, {nProbe: 10}) SORT s LIMIT 5 RETURN [d._key, s]"
    exact = "FOR d IN c LET s = L2_DISTANCE(d.l, @q) SORT s LIMIT 5 RETURN [d._key, s]"

    found = driver.query(text, BINDS)

    assert [key for key, _ in found] == [key for key, _ in driver.query(exact, BINDS)]
    assert found == driver.query(text.replace("@q, d.l", "d.l, @q"), BINDS)


def test_the_attribute_may_be_a_bind_parameter(at_version):
    driver = at_version("3.12.6")
    for access in ("d.@path", "d[@path]", "d['e']"):
        text = near().replace("d.e", access)
        binds = BINDS | {"path": "e"} if "@" in access else BINDS
        assert driver.query(text, binds) == driver.query(near(), BINDS)


def test_an_offset_skips_the_best(at_version):
    driver = at_version("3.12.6")

    assert driver.query(near(tail="SORT s DESC LIMIT 2, 3"), BINDS) == driver.query(near(), BINDS)[2:]


def test_one_filter_is_refused_in_4_and_applied_from_6_on(at_version, refused):
    filtered = near("FILTER d.scope == 'b'")

    assert refused(lambda: at_version("3.12.4").query(filtered, BINDS)) == (1554, 500)
    driver = at_version("3.12.6")
    found = driver.query(filtered, BINDS)
    assert [key for key, _ in found] == [key for key, _ in driver.query(EXACT.format("FILTER d.scope == 'b'"), BINDS)]


def test_a_filtered_search_with_few_probes_may_return_fewer_than_asked(at_version):
    driver = at_version("3.12.6")

    few = driver.query(near("FILTER d.n < 6", options=", {nProbe: 1}"), BINDS)

    assert len(few) < 5
    assert len(driver.query(near("FILTER d.n < 6"), BINDS)) == 5


@pytest.mark.parametrize(
    "text",
    [
        near("FILTER d.n > 1 FILTER d.n < 99"),
        near("LET m = d.n * 2 FILTER m > 4"),
        near(tail="SORT s DESC, d.n LIMIT 5"),
        near(tail="SORT s ASC LIMIT 5"),
        near(tail="SORT s LIMIT 5"),
        near(tail="SORT s DESC"),
        near(tail="SORT s DESC FILTER d.n > 1 LIMIT 5"),
        near(tail="FILTER s > 0.5 SORT s DESC LIMIT 5"),
        near(tail="LIMIT 5"),
        "FOR d IN c SORT APPROX_NEAR_L2(d.l, @q) DESC LIMIT 5 RETURN d",
        "FOR d IN c SORT APPROX_NEAR_L2(d.e, @q) LIMIT 5 RETURN d",
        "FOR d IN c SORT APPROX_NEAR_COSINE(d.other, @q) DESC LIMIT 5 RETURN d",
        "FOR d IN c SORT 1 - APPROX_NEAR_COSINE(d.e, @q) LIMIT 5 RETURN d",
        "FOR d IN [{e: [1]}] SORT APPROX_NEAR_COSINE(d.e, @q) DESC LIMIT 5 RETURN d",
        "RETURN APPROX_NEAR_COSINE(@q, @q)",
        "FOR d IN c SORT APPROX_NEAR_COSINE(d.e, @q) DESC LIMIT 5 RETURN APPROX_NEAR_COSINE(d.e, @q)",
    ],
)
def test_what_the_index_cannot_answer_is_1554(at_version, refused, text):
    driver = at_version("3.12.6")

    assert refused(lambda: driver.query(text, BINDS)) == (1554, 500)
    binds = {key: value for key, value in BINDS.items() if f"@{key}" in text}
    assert refused(lambda: driver.explain(text, binds)) == (1554, 500)


@pytest.mark.parametrize("options", [", {nprobe: 3}", ", {nProbe: 0}", ", {nProbe: '3'}", ", 3"])
def test_wrong_search_parameters_are_a_parse_error(at_version, refused, options):
    assert refused(lambda: at_version("3.12.6").query(near(options=options), BINDS)) == (1501, 400)


def test_a_query_vector_of_the_wrong_dimension_is_1542(at_version, refused):
    driver = at_version("3.12.6")

    assert refused(lambda: driver.query(near(), {"q": QUERY[:-1]})) == (1542, 400)
    assert refused(lambda: driver.query(near(), {"q": "text"})) == (1542, 400)


def test_a_search_in_a_subquery_runs_per_outer_row(at_version):
    driver = at_version("3.12.6")
    text = """FOR o IN c FILTER o.n < 3 SORT o.n
        LET near = (FOR d IN c LET s = APPROX_NEAR_COSINE(d.e, o.e, {nProbe: 10}) SORT s DESC LIMIT 1 RETURN d.n)
        RETURN near[0]"""

    assert driver.query(text) == [0, 1, 2]


def test_documents_of_another_dimension_are_refused_by_every_way_of_writing(at_version, refused):
    driver = at_version("3.12.6")
    short = {"_key": "s", "e": [1.0], "l": QUERY}

    assert refused(lambda: driver.insert("c", short)) == (10, 400)
    assert refused(lambda: driver.query("INSERT @d INTO c", {"d": short})) == (10, 400)
    assert refused(lambda: driver.update("c", {"_key": "k000", "e": [1.0]})) == (10, 400)
    assert refused(lambda: driver.insert("c", {"_key": "none"})) == (10, 400)
    assert driver.load("c", [short])["errors"] == 1
    assert driver.count("c") == len(ROWS)


def test_without_the_start_option_the_index_is_refused_and_the_option_named(connect, refused):
    for version, option in (("3.12.4", "--experimental-vector-index"), ("3.12.6", "--vector-index")):
        with ArangoSim(version, vector_index=False) as sim:
            driver = connect(sim)
            driver.create_collection("c")
            driver.load("c", documents())
            with pytest.raises(Exception, match=option) as caught:
                driver.add_index("c", COSINE)
            assert caught.value.error_code == 10


def test_more_lists_than_documents_are_refused_until_9_and_unusable_from_then_on(connect, refused):
    with ArangoSim("3.12.6") as sim:
        driver = connect(sim)
        driver.create_collection("c")
        driver.load("c", documents(LISTS - 1))
        assert refused(lambda: driver.add_index("c", COSINE)) == (10, 400)
        assert [index["type"] for index in driver.indexes("c")] == ["primary"]
        assert refused(lambda: driver.query(near(), BINDS)) == (1554, 500)

    with ArangoSim("3.12.9") as sim:
        driver = connect(sim)
        driver.create_collection("c")
        driver.load("c", documents(LISTS - 1))
        assert driver.add_index("c", COSINE)["trainingState"] == "unusable"
        assert refused(lambda: driver.query(near(), BINDS))[0] == 1555
        driver.load("c", documents(LISTS), on_duplicate="ignore")
        assert len(driver.query(near(), BINDS)) == 5


def test_a_held_training_is_1555_in_9_and_1554_before(connect, refused):
    for version, number in (("3.12.6", 1554), ("3.12.9", 1555)):
        with ArangoSim(version) as sim:
            sim.state.hold_vector_training = True
            driver = connect(sim)
            driver.create_collection("c")
            driver.load("c", documents())
            assert driver.add_index("c", COSINE)["trainingState"] == "training"
            assert refused(lambda driver=driver: driver.query(near(), BINDS))[0] == number
            sim.train_vector_indexes()
            assert len(driver.query(near(), BINDS)) == 5


def test_a_sparse_index_takes_documents_without_the_vector_but_not_their_updates_until_9(connect, refused):
    for version, update_fails in (("3.12.6", True), ("3.12.9", False)):
        with ArangoSim(version) as sim:
            driver = connect(sim)
            driver.create_collection("c")
            driver.load("c", documents())
            driver.add_index("c", COSINE | {"sparse": True})
            driver.insert("c", {"_key": "bare"})
            change = {"_key": "bare", "x": 1}
            if update_fails:
                assert refused(lambda driver=driver, change=change: driver.update("c", change)) == (10, 400)
            else:
                driver.update("c", change)


def test_inner_product_and_stored_values_come_with_their_versions(connect, refused):
    inner = COSINE | {"params": COSINE["params"] | {"metric": "innerProduct"}}
    stored = COSINE | {"storedValues": ["scope"]}
    for version, allowed in (("3.12.4", set()), ("3.12.6", {"inner"}), ("3.12.7", {"inner", "stored"})):
        with ArangoSim(version) as sim:
            driver = connect(sim)
            driver.create_collection("c")
            driver.load("c", documents())
            for name, definition in (("inner", inner), ("stored", stored)):
                if name in allowed:
                    driver.add_index("c", definition)
                else:
                    assert refused(lambda d=driver, x=definition: d.add_index("c", x)) == (10, 400)


def test_explain_names_the_node_that_searches_the_index(at_version):
    driver = at_version("3.12.6")

    types = [node["type"] for node in driver.explain(near("FILTER d.n > 3"), BINDS)["nodes"]]

    assert types.count("EnumerateNearVectorNode") == 1
    assert "SortNode" not in types
    assert "EnumerateNearVectorNode" not in [node["type"] for node in driver.explain(EXACT.format(""), BINDS)["nodes"]]


def test_versions_before_vector_indexes_are_refused():
    with pytest.raises(ValueError, match=r"3\.12\.4"):
        ArangoSim("3.11.2")
