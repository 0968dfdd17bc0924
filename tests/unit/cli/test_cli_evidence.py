"""`steelyard evidence`: what it writes, and the exit codes that CI and the playbook obey."""

import json
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from steelyard_cli.main import app
from tests.unit.evidence.samples import FakeReader, manifest, query
from tests.unit.evidence.tiny_tokenizers import word_tokenizer

TEXT = "one two three four five six"


def run(*arguments):
    return CliRunner().invoke(app, ["evidence", *map(str, arguments)])


@pytest.fixture
def files(tmp_path):
    tokenizer = word_tokenizer(tmp_path, TEXT + " which")
    document = tmp_path / "document.txt"
    document.write_text(TEXT)
    return ["--tokenizer", tokenizer, "--query", "which", "--document", document]


def test_inspect_writes_exactly_the_published_object(files):
    result = run("inspect", *files, "--evidence", "8:18", "--limit", "7", "--strategy", "only_second", "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout) == {
        "pair_tokens": 10,
        "query_tokens": 1,
        "target": 2,
        "kept": 1,
        "full": False,
        "partial": True,
        "kept_spans": [[0, 13]],
    }


def test_inspect_says_it_in_words(files):
    result = run("inspect", *files, "--evidence", "8:18", "--limit", "6")
    assert result.exit_code == 0
    assert result.stdout.startswith("the evidence is lost: 0 of 2 tokens are in a pair of 6\n")
    assert "0:7" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--evidence", "8-18"], 2, "should be START:END"),
        (["--evidence", "8:18", "--strategy", "head_tail"], 2, "is none of only_second"),
        (["--evidence", "8:99"], 1, "is no span of a document of 27 characters"),
        (["--evidence", "8:8"], 1, "is no span of a document"),
        (["--evidence", "18:8"], 1, "is no span of a document"),
        (["--evidence=-1:8"], 2, "should be START:END"),
        (["--evidence", "8:18", "--limit", "9" * 30], 1, "can not bring the pair to 9999"),
        (["--evidence", "8:18", "--query", " "], 2, "--query is blank"),
        (["--evidence", "8:18", "--query", "\udcff"], 2, "is neither UTF-8 nor"),
        (["--evidence", "8:18", "--tokenizer", "absent.json"], 2, "absent.json: No such file"),
        (["--evidence", "8:18", "--limit", "3"], 1, "leaves nothing beside 3 special tokens"),
        (["--evidence", "8:18", "--limit", "6", "--strategy", "only_first"], 1, "only_first can not bring"),
        (["--evidence", "8:18", "--encoding", "klingon"], 2, "no encoding 'klingon'"),
    ],
)
def test_inspect_fails_by_exit_code(files, arguments, code, said):
    result = run("inspect", *files, *arguments, "--json")
    assert result.exit_code == code
    assert result.stdout == ""
    assert said in json.loads(result.stderr)["error"]["message"]


def test_inspect_fails_without_offsets(files, monkeypatch):
    from steelyard_evidence.survival import PairEncoder

    class Blind:
        ids, attention_mask, offsets, sequence_ids = (1, 2), (1, 1), [(0, 0), (0, 0)], [0, 1]

        def encode(self, *_):
            return self

    original = PairEncoder.__init__

    def blinded(self, path):
        original(self, path)
        self._whole = Blind()

    monkeypatch.setattr(PairEncoder, "__init__", blinded)
    result = run("inspect", *files, "--evidence", "8:18", "--json")
    assert result.exit_code == 1
    assert "no offsets" in json.loads(result.stderr)["error"]["message"]


opened_settings = []


@pytest.fixture
def release(tmp_path, monkeypatch):
    """A manifest and the run of it, with a reader that needs no model."""
    from steelyard_evidence import readers
    from steelyard_evidence.manifest import write_manifest
    from steelyard_models.tokenizer import TextTokenizer
    from steelyard_reranker.pairs import CrossEncoderFormat

    path = word_tokenizer(tmp_path)
    reader = FakeReader(tokenizer=path, pair_format=CrossEncoderFormat(TextTokenizer(path), 512))

    @contextmanager
    def opened(settings):
        opened_settings.append(settings)
        yield reader

    monkeypatch.setattr(readers, "open_settings", opened)
    write_manifest(manifest([query(number) for number in range(10)]), tmp_path / "manifest.json")
    (tmp_path / "slice.env").write_text("RERANKING_STRATEGY=slice\nRERANKER_TOP_N=2\nRERANK_PAIR_BUDGET_TOKENS=256\n")
    (tmp_path / "live.env").write_text("RERANKING_STRATEGY=slice\n")
    return tmp_path


def carry_out(release, *arguments):
    result = run(
        *("run", release / "manifest.json", "--out", release / "run.json"),
        *("--current", release / "slice.env", "--limits", "40,200", "--counts", "2"),
        *arguments,
    )
    assert result.exit_code == 0, result.stderr
    return result


def gate(release, *arguments):
    gates = "examples/gates.toml"
    return run("gate", release / "manifest.json", release / "run.json", "--gates", gates, *arguments, "--json")


def test_run_writes_figures_and_leaves_nothing_unfinished(release):
    result = carry_out(release)
    assert "route:proposed" in result.stdout
    assert "pair_length:40" in result.stdout
    assert json.loads((release / "run.json").read_text())["format"] == "steelyard-run/1"
    assert not list(release.glob("*.unfinished"))


def test_run_refuses_a_changed_manifest(release):
    path = release / "manifest.json"
    path.write_text(path.read_text().replace('"context_budget": 150', '"context_budget": 151'))
    result = run("run", path, "--out", release / "run.json")
    assert result.exit_code == 2
    assert "its content has the hash" in result.stderr


def test_a_value_that_is_swept_twice_is_one_part(release):
    carry_out(release, "--limits", "40,200,40", "--counts", "2,2")
    parts = [(one["axis"], one["label"]) for one in json.loads((release / "run.json").read_text())["parts"]]
    assert len(parts) == len(set(parts)) == 6


@pytest.mark.parametrize(("option", "value"), [("--limits", "12,x"), ("--counts", "0")])
def test_run_refuses_a_sweep_of_nonsense(release, option, value):
    result = run("run", release / "manifest.json", "--out", release / "run.json", option, value)
    assert result.exit_code == 2
    assert option in result.stderr


def test_run_refuses_a_misspelt_setting(release):
    (release / "slice.env").write_text("RERANKER_TOPN=2\n")
    result = run("run", release / "manifest.json", "--out", release / "r.json", "--current", release / "slice.env")
    assert result.exit_code == 2
    assert "did you mean RERANKER_TOP_N" in result.stderr


def test_the_reranker_is_the_one_that_the_policy_names(release):
    (release / "slice.env").write_text("RERANK_BACKEND=onnx\nRERANK_MODEL_DIR=/models/m\nRERANKER_TOP_N=2\n")
    carry_out(release)
    assert (opened_settings[-1].rerank_backend, opened_settings[-1].rerank_model_dir) == ("onnx", "/models/m")
    carry_out(release, "--reranker", release)
    assert (opened_settings[-1].rerank_backend, opened_settings[-1].rerank_model_dir) == ("onnx", str(release))
    carry_out(release, "--reranker", release / "live.env")
    assert opened_settings[-1].rerank_backend == "local"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--proposed", "live.env"], "name two rerankers"),
        (["--reranker", "nowhere"], "is no URL, no folder and no file"),
        (["--tokenizer", "."], "--tokenizer belongs to --reranker URL"),
    ],
)
def test_a_reranker_that_is_not_one_is_refused(release, arguments, said, monkeypatch):
    monkeypatch.chdir(release)
    (release / "slice.env").write_text("RERANK_BACKEND=onnx\nRERANK_MODEL_DIR=/models/m\n")
    result = run("run", "manifest.json", "--out", "run.json", "--current", "slice.env", *arguments, "--json")
    assert result.exit_code == 2
    assert said in json.loads(result.stderr)["error"]["message"]


def test_the_report_is_written(release):
    carry_out(release)
    result = run("report", release / "run.json", "--out", release / "report.html")
    assert result.exit_code == 0
    assert (release / "report.html").read_text().startswith("<!doctype html>")


def test_gate_passes_promotes_and_rollback_restores(release):
    carry_out(release, "--current", release / "live.env", "--proposed", release / "slice.env")
    result = gate(release, "--proposed", release / "slice.env", "--promote", release / "live.env")
    assert result.exit_code == 0, [one for one in json.loads(result.stdout)["checks"] if not one["passed"]]
    assert json.loads(result.stdout)["promoted"] is True
    assert (release / "live.env").read_text() == (release / "slice.env").read_text()
    assert run("rollback", release / "live.env").exit_code == 0
    assert (release / "live.env").read_text() == "RERANKING_STRATEGY=slice\n"
    again = run("rollback", release / "live.env", "--json")
    assert again.exit_code == 1
    assert "no previous configuration" in json.loads(again.stderr)["error"]["message"]


def test_nothing_is_promoted_over_what_the_run_did_not_compare_with(release):
    carry_out(release)
    result = gate(release, "--proposed", release / "slice.env", "--promote", release / "live.env")
    assert result.exit_code == 1
    failed = [one["check"] for one in json.loads(result.stdout)["checks"] if not one["passed"]]
    assert failed == ["the run's current route is the configuration that is replaced"]
    assert (release / "live.env").read_text() == "RERANKING_STRATEGY=slice\n"
    absent = gate(release, "--proposed", release / "slice.env", "--promote", release / "absent.env")
    assert absent.exit_code == 2
    assert "absent.env: No such file" in json.loads(absent.stderr)["error"]["message"]


def test_a_setting_out_of_range_is_named_with_its_file(release):
    (release / "slice.env").write_text("RERANKER_TOP_N=0\n")
    result = run("run", release / "manifest.json", "--out", release / "run.json", "--current", release / "slice.env")
    assert result.exit_code == 2
    assert "slice.env: RERANKER_TOP_N='0'" in result.stderr


def test_a_failed_gate_exits_1_and_promotes_nothing(release):
    carry_out(release)
    worse = release / "worse.env"
    worse.write_text("RERANKING_STRATEGY=slice\nRERANKER_TOP_N=2\nRERANK_PAIR_BUDGET_TOKENS=64\n")
    result = gate(release, "--proposed", worse, "--promote", release / "live.env")
    assert result.exit_code == 1
    failed = [one["check"] for one in json.loads(result.stdout)["checks"] if not one["passed"]]
    assert "the run measured the policy that is to be promoted" in failed
    assert "pairs are not shorter than allowed" in failed
    assert (release / "live.env").read_text() == "RERANKING_STRATEGY=slice\n"
    table = run("gate", release / "manifest.json", release / "run.json", "--gates", "examples/gates.toml")
    assert table.exit_code == 1
    assert "FAILED" in table.stdout


def test_a_malformed_gates_file_is_exit_2(release):
    carry_out(release)
    (release / "gates.toml").write_text("[fixtures]\nrequired = []\n")
    result = run("gate", release / "manifest.json", release / "run.json", "--gates", release / "gates.toml")
    assert result.exit_code == 2
    assert "fixtures.required" in result.stderr


def test_calibrate_proposes_nothing_from_ten_questions(release):
    result = run("calibrate", release / "manifest.json", "--recall", "0.5", "--workers", "1")
    assert result.exit_code == 0, result.stderr
    assert "no proposal" in result.stdout
    assert "MIN_VALUE_THRESHOLD=" not in result.stdout
    assert "warning: there are 5 queries to choose on" in result.stdout


def test_calibrate_prints_an_env_file_and_its_doubts(release):
    from steelyard_evidence.manifest import write_manifest

    write_manifest(manifest([query(number) for number in range(24)]), release / "manifest.json")
    result = run("calibrate", release / "manifest.json", "--recall", "0.5", "--workers", "1")
    assert result.exit_code == 0, result.stderr
    assert "MIN_VALUE_THRESHOLD=" in result.stdout
    assert "warning: the settings were chosen on 12 queries" in result.stdout


@pytest.mark.parametrize("arguments", [[], ["--dataset", "a", "--evaluation", "b"], ["--evaluation", "nothing"]])
def test_freeze_wants_one_source(release, arguments):
    result = run("freeze", "--out", release / "m.json", *arguments)
    assert result.exit_code == 2


def test_freeze_names_the_evidence_that_no_candidate_holds(release, monkeypatch):
    found = query(1)
    lost = found.units[0].model_copy(update={"places": []})
    frozen = manifest([found.model_copy(update={"units": [lost, found.units[1]]})])
    monkeypatch.setattr("steelyard_cli.commands.evidence.sources.Source.folder", lambda *_: None)
    monkeypatch.setattr("steelyard_evidence.freeze.build.freeze", lambda *_, **__: frozen)
    encoder = SimpleNamespace(tokenizer=None)
    monkeypatch.setattr("steelyard_evidence.embedded_default.embedded_encoder", lambda _: (None, encoder))
    monkeypatch.setattr("steelyard_evidence.freeze.build.tokenizer_identity", lambda _: frozen.tokenizer)
    monkeypatch.setattr("steelyard_models.tokenizer.TextTokenizer", lambda _: None)
    monkeypatch.setattr("steelyard_cli.commands.evidence.freeze._pair_limit", lambda *_: 100)
    (release / "q.jsonl").write_text('{"id": "q1", "query": "Which?"}\n')
    arguments = ["freeze", "--dataset", release / "q.jsonl", "--corpus", release, "--out", release / "frozen.json"]
    result = run(*arguments)
    assert result.exit_code == 0, result.stderr
    assert "of 2 pieces of evidence 1 are among the candidates" in result.stdout
    assert "not among the candidates: seal of q1" in result.stderr
    assert json.loads(run(*arguments, "--json").stdout)["lost"] == [{"query": "q1", "unit": "seal"}]


def test_the_study_says_where_it_looked_for_the_data(release, monkeypatch):
    monkeypatch.setenv("STEELYARD_EVAL_DATA", str(release / "absent"))
    monkeypatch.setattr("steelyard_evidence.study.methods.methods", list)  # pyversity is no part of the tests
    model = SimpleNamespace(tokenizer=SimpleNamespace(count=len))
    monkeypatch.setattr("steelyard_evidence.study.scoring.embedded_encoder", lambda kind: (None, model))
    result = run("study")
    assert result.exit_code == 2
    assert f"{release / 'absent'}: no evaluation data there" in result.stderr


def test_survival_prints_its_figures_and_writes_the_page(tmp_path, monkeypatch):
    from steelyard_evidence.policy import Policy
    from steelyard_evidence.run.plan import Plan
    from steelyard_evidence.run.runner import run_plan
    from steelyard_evidence.survival_study import study
    from steelyard_evidence.survival_study.boundaries import losses_of
    from steelyard_evidence.survival_study.pairs import Cell

    policy = Policy().with_pairs(min_doc_tokens=16)
    plan = Plan(current=policy, proposed=policy, limits=study.LIMITS)
    losses = losses_of(run_plan(manifest(), plan, FakeReader(), tmp_path / "unfinished", lambda *_: None))
    cells = [Cell(limit, at, 0, 0, 0, 0, None) for limit in study.LIMITS for at in ("beginning", "middle", "end")]
    found = [study.Passages("musique", "chunks of 200", 2, 9, 9.0, cells, 2, losses)]
    monkeypatch.setattr(study, "survival_study", lambda *_: found)
    result = run("survival", "--write", tmp_path / "survival.md", "--json")
    assert result.exit_code == 0, result.stderr
    (passages,) = json.loads(result.stdout)["passages"]
    assert passages["losses"][0]["counts"]["pair"]["units"] == 4
    assert (passages["losses"][0]["limit"], passages["cells"][0]["whole"]) == (128, None)
    assert "| MuSiQue | chunks of 200 (9, 9) | 128 | none there" in (tmp_path / "survival.md").read_text()
