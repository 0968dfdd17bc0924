"""Views through both drivers: what SEARCH finds, when it finds it, and how it is scored."""

import math

import pytest

TEXTS = {
    "fox": "The quick brown fox jumps over the lazy dog",
    "dog": "A dog sleeps. The dog dreams.",
    "long": "fox " + "filler words that make this text much longer than the others " * 4,
    "none": "Nothing of interest",
}
LINKS = {
    "links": {
        "c": {
            "fields": {
                "text": {"analyzers": ["text_en", "identity"]},
                "scope": {},
                "n": {},
                "tags": {},
                "o": {"fields": {"x": {}}},
            }
        }
    }
}


@pytest.fixture(autouse=True)
def _view(driver):
    driver.create_collection("c")
    driver.load(
        "c",
        [
            {"_key": key, "text": text, "scope": "ab"[i % 2], "n": i, "tags": ["t", f"t{i}"], "o": {"x": i > 1}}
            for i, (key, text) in enumerate(TEXTS.items())
        ],
    )
    driver.create_view("v", LINKS)


def found(driver, condition, **binds):
    return sorted(driver.query(f"FOR d IN v SEARCH {condition} RETURN d._key", binds))


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("ANALYZER(d.text == 'dog', 'text_en')", ["dog", "fox"]),
        ("ANALYZER(d.text == 'dogs', 'text_en')", []),
        ("ANALYZER(d.text IN TOKENS('DOGS foxes', 'text_en'), 'text_en')", ["dog", "fox", "long"]),
        ("ANALYZER(TOKENS('dog fox', 'text_en') ALL == d.text, 'text_en')", ["fox"]),
        ("ANALYZER(TOKENS('dog fox', 'text_en') NONE == d.text, 'text_en')", ["none"]),
        ("d.text == 'dog'", []),
        ("d.text == 'Nothing of interest'", ["none"]),
        ("PHRASE(d.text, 'brown fox', 'text_en')", ["fox"]),
        ("PHRASE(d.text, 'fox brown', 'text_en')", []),
        ("PHRASE(d.text, 'quick', 1, 'fox', 'text_en')", ["fox"]),
        ("PHRASE(d.text, 'quick', 2, 'fox', 'text_en')", []),
        ("ANALYZER(PHRASE(d.text, ['quick', 0, 'brown']), 'text_en')", ["fox"]),
        ("ANALYZER(STARTS_WITH(d.text, 'sle'), 'text_en')", ["dog"]),
        ("ANALYZER(MIN_MATCH(d.text == 'dog', d.text == 'lazi', d.text == 'dream', 2), 'text_en')", ["dog", "fox"]),
        ("d.scope == 'a' AND ANALYZER(d.text == 'dog', 'text_en')", ["fox"]),
        ("d.scope == 'a' OR d.n == 3", ["fox", "long", "none"]),
        ("NOT (d.scope == 'a')", ["dog", "none"]),
        ("d.scope != 'a'", ["dog", "none"]),
        ("d.scope IN ['a', 'z']", ["fox", "long"]),
        ("d.n >= 2 AND 3 > d.n", ["long"]),
        ("IN_RANGE(d.n, 0, 2, false, true)", ["dog", "long"]),
        ("d.tags == 't2'", ["long"]),
        ("d.o.x == true", ["long", "none"]),
        ("EXISTS(d.o)", ["dog", "fox", "long", "none"]),
        ("EXISTS(d.missing)", []),
        ("ANALYZER(LIKE(d.text, 'dr%'), 'text_en')", ["dog"]),
        ("false OR d.n == 1", ["dog"]),
        ("d.unlinked == 'x'", []),
    ],
)
def test_what_search_finds(driver, condition, expected):
    assert found(driver, condition) == expected


def test_every_part_of_a_search_may_be_bound(driver):
    text = """FOR d IN @@view SEARCH ANALYZER(d.@field IN TOKENS(@text, @analyzer), @analyzer) AND d[@scope] IN @scopes
        OPTIONS @options SORT BM25(d) DESC LIMIT @k RETURN d._key"""
    binds = {"@view": "v", "field": "text", "text": "dogs", "analyzer": "text_en", "scope": "scope", "scopes": ["a"]}

    assert driver.query(text, binds | {"k": 3, "options": {"waitForSync": True}}) == ["fox"]


def test_a_write_is_searchable_only_after_a_commit(sim, driver):
    condition = "ANALYZER(d.text == 'dog', 'text_en')"
    driver.insert("c", {"_key": "new", "text": "new dog"})
    driver.delete("c", "fox")
    driver.update("c", {"_key": "none", "text": "a dog now"})

    assert found(driver, condition) == ["dog"]
    sim.commit_views()
    assert found(driver, condition) == ["dog", "new", "none"]


def test_waiting_for_sync_commits_and_so_does_the_interval_on_the_servers_clock(sim, driver):
    driver.insert("c", {"_key": "one", "text": "one dog"})
    text = "FOR d IN v SEARCH ANALYZER(d.text == 'dog', 'text_en') {} RETURN d._key"
    assert "one" not in driver.query(text.format(""))
    assert "one" in driver.query(text.format("OPTIONS {waitForSync: true}"))

    driver.insert("c", {"_key": "two", "text": "two dogs"})
    sim.clock.advance(0.9)
    assert "two" not in driver.query(text.format(""))
    sim.clock.advance(0.2)
    assert "two" in driver.query(text.format(""))


def test_an_old_index_entry_gives_the_document_as_it_is_now(driver):
    driver.update("c", {"_key": "dog", "text": "changed", "n": 77})

    assert driver.query("FOR d IN v SEARCH ANALYZER(d.text == 'dream', 'text_en') RETURN d.n") == [77]


def test_scores_follow_the_bm25_formula(driver):
    text = "FOR d IN v SEARCH ANALYZER(d.text == @t, 'text_en') SORT BM25(d) DESC RETURN [d._key, BM25(d)]"
    lengths = {"fox": 9, "dog": 6, "long": 1 + 11 * 4, "none": 3}
    average = sum(lengths.values()) / 4

    def expected(key, frequency, having):
        idf = math.log(1 + (4 - having + 0.5) / (having + 0.5))
        return idf * 2.2 * frequency / (frequency + 1.2 * (0.25 + 0.75 * lengths[key] / average))

    scored = driver.query(text, {"t": "dog"})
    assert [key for key, _ in scored] == ["dog", "fox"]
    assert [score for _, score in scored] == pytest.approx([expected("dog", 2, 2), expected("fox", 1, 2)])
    assert [key for key, _ in driver.query(text, {"t": "fox"})] == ["fox", "long"]


def test_parameters_boosts_and_tfidf_change_scores(driver):
    def score(expression, condition="d.text == 'dog'"):
        text = f"FOR d IN v SEARCH ANALYZER({condition}, 'text_en') FILTER d._key == 'dog' RETURN {expression}"
        return driver.query(text)[0]

    assert score("BM25(d)", "BOOST(d.text == 'dog', 3)") == pytest.approx(3 * score("BM25(d)"))
    assert score("BM25(d, 1.2, 0)") != pytest.approx(score("BM25(d, 1.2, 1)"))
    assert score("TFIDF(d)") == pytest.approx(math.sqrt(2) * (1 + math.log(5 / 3)))
    assert score("TFIDF(d, true)") == pytest.approx(score("TFIDF(d)") / math.sqrt(6))
    assert score("BM25(d)", "d.text == 'dog' OR d.text == 'dream'") > score("BM25(d)")


def test_features_decide_what_an_analyzer_can_do(driver):
    properties = {"locale": "en", "stemming": False}
    driver.create_analyzer("bare", "text", properties, [])
    driver.create_analyzer("counted", "text", properties, ["frequency"])
    driver.create_view("w", {"links": {"c": {"fields": {"text": {"analyzers": ["bare", "counted"]}}}}})

    def scores(analyzer):
        return driver.query(f"FOR d IN w SEARCH ANALYZER(d.text == 'fox', '{analyzer}') SORT d._key RETURN BM25(d)")

    assert scores("bare") == [0, 0]
    first, second = scores("counted")
    assert first == pytest.approx(second)
    assert first > 0
    assert driver.query("FOR d IN w SEARCH PHRASE(d.text, 'quick brown', 'counted') RETURN d") == []


def test_ngrams_find_words_inside_unspaced_text(driver):
    driver.create_analyzer(
        "bigram", "ngram", {"min": 2, "max": 2, "streamType": "utf8"}, ["frequency", "norm", "position"]
    )
    driver.load("c", [{"_key": "tokyo", "text": "東京都の人口"}, {"_key": "kyoto", "text": "京都の寺"}])
    driver.create_view("w", {"links": {"c": {"fields": {"text": {"analyzers": ["bigram"]}}}}})

    def hits(word):
        text = "FOR d IN w SEARCH PHRASE(d.text, @word, 'bigram') SORT d._key RETURN d._key"
        return driver.query(text, {"word": word})

    assert hits("東京") == ["tokyo"]
    assert hits("京都") == ["kyoto", "tokyo"]
    assert hits("人寺") == []
    text = "FOR d IN w SEARCH NGRAM_MATCH(d.text, '京都の町', 0.6, 'bigram') SORT d._key RETURN d._key"
    assert driver.query(text) == ["kyoto", "tokyo"]


def test_options_choose_collections_and_a_view_without_search_gives_all(driver):
    assert len(driver.query("FOR d IN v RETURN d")) == 4
    assert driver.query("FOR d IN v SEARCH d.n == 1 OPTIONS {collections: ['other']} RETURN d") == []


def test_scores_can_be_grouped_and_sorted_in_a_subquery(driver):
    text = """LET found = (FOR d IN v SEARCH ANALYZER(d.text == 'dog', 'text_en')
            LET score = BM25(d) SORT score DESC LIMIT 1 RETURN {key: d._key, score})
        RETURN found[0].key"""

    assert driver.query(text) == ["dog"]


@pytest.mark.parametrize(
    ("name", "properties", "number", "http"),
    [
        ("v", {}, 1207, 409),
        ("c", {}, 1207, 409),
        ("w", {"links": {"absent": {}}}, 1203, 404),
        ("w", {"links": {"c": {"analyzers": ["absent"]}}}, 10, 400),
        ("1w", {}, 1208, 400),
    ],
)
def test_views_that_cannot_be_created(driver, refused, name, properties, number, http):
    assert refused(lambda: driver.create_view(name, properties)) == (number, http)


def test_dropping_a_collection_empties_the_view_and_a_link_set_to_null_is_gone(sim, driver):
    view = sim.state.database("_system").view("v")
    driver.create_collection("other")
    view.change({"links": {"other": {"includeAllFields": True}}}, partial=True)
    assert set(view.body()["links"]) == {"c", "other"}

    driver.drop_collection("c")
    assert driver.query("FOR d IN v RETURN d") == []
    view.change({"links": {"other": None}}, partial=True)
    assert view.body()["links"] == {}


def test_an_expression_that_no_index_can_answer_is_refused_in_search(driver, refused):
    assert refused(lambda: driver.query("FOR d IN v SEARCH LENGTH(d.text) > 3 RETURN d")) == (10, 400)
    assert refused(lambda: driver.query("FOR d IN v SEARCH d.n + 1 RETURN d")) == (10, 400)
