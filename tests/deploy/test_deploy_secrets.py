"""Secrets reach the hosts as files that the containers' user alone can read, and nothing else that is written."""

import json
import os
import shutil
from pathlib import Path

import pytest
import yaml

from tests.deploy.ansible_runs import PLAYBOOKS, needs_ansible, play
from tests.deploy.compose_files import ROOT

pytestmark = [
    needs_ansible,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to the containers' user"),
]
USER = 10001
CANARIES = {
    "steelyard_llm_api_key": "sk-canary-llm-51d9",
    "steelyard_rerank_api_key": "sk-canary-rerank-77aa",
    "steelyard_arango_password": "canary-arango-0b3e",
    "steelyard_grafana_password": "canary-grafana-9f20",
}
STACK = ("embedding", "dataprep", "retriever", "reranker", "gateway")


class Site:
    """An inventory of one stack, a database and measurements on two hosts, and the runs that were made of it."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "hosts"
        self.root.mkdir()
        self._inventory = folder / "inventory.yml"
        self.said = ""
        self.given: dict[str, str] = {
            "steelyard_compose_source": str(ROOT / "compose"),
            "steelyard_rerank_backend": "pinecone",
            "steelyard_embedded_llm": "false",
            "steelyard_llm_url": "http://llm.example.org",
            **CANARIES,
        }

    def run(
        self, *, rendering: bool = False, rotating: bool = False, fresh: bool = False, succeeds: bool = True
    ) -> str:
        groups = {**{key: ["one"] for key in STACK}, "retriever": ["one", "two"], "reranker": ["two"]}
        groups |= {"arangodb": ["one"], "observability": ["two"]}
        children = {name: {"hosts": dict.fromkeys(hosts)} for name, hosts in groups.items()}
        tree = {"all": {"vars": self.given, "children": children}}
        self._inventory.write_text(yaml.safe_dump(tree), encoding="utf-8")
        how = {"rendering": rendering, "rotating": rotating, "fresh": fresh}
        done = play(PLAYBOOKS / "secrets.yml", self._inventory, self.root, "-vvv", "--diff", "-e", json.dumps(how))
        self.said += done.stdout + done.stderr
        assert (done.returncode == 0) == succeeds, done.stdout[-4000:]
        return done.stdout

    def secrets(self, host: str) -> dict[str, str]:
        folder = self.root / host / "secrets"
        return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_each_secret_is_a_file_for_its_readers_and_is_nowhere_else(site: Site) -> None:
    site.run(fresh=True, rendering=True)
    one, two = site.secrets("one"), site.secrets("two")
    assert {name.split(".")[0] for name in one} == {"service_token", "llm_api_key", "arango_password"}
    assert {name.split(".")[0] for name in two} == {
        "service_token",
        "rerank_api_key",
        "arango_password",
        "grafana_password",
    }
    assert one["service_token"] == two["service_token"]
    assert one["arango_password"] == two["arango_password"] == CANARIES["steelyard_arango_password"]
    for path in site.root.glob("*/secrets/*"):
        assert (path.stat().st_uid, path.stat().st_mode & 0o777) == (USER, 0o400)
        assert path.parent.stat().st_mode & 0o777 == 0o700
    known = [*CANARIES.values(), one["service_token"]]
    assert not [secret for secret in known if secret in site.said]
    others = [path for path in site.root.rglob("*") if path.is_file() and path.parent.name != "secrets"]
    assert [path for path in others if path.name == ".env"]
    assert not [path for path in others for secret in known if secret.encode() in path.read_bytes()]

    recap = site.run(rendering=True)
    assert (site.secrets("one"), site.secrets("two")) == (one, two)
    assert recap.count("changed=0") == 2, recap[-600:]

    site.given["steelyard_llm_api_key"] = "sk-canary-llm-next"
    site.run(rendering=True)
    after = site.secrets("one")
    (old,), (new,) = ({name for name in it if name.startswith("llm")} for it in (one, after.keys() - one.keys()))
    assert after[new] == "sk-canary-llm-next"
    assert old in after, "the release of before is still there and names it"
    (release,) = (path for path in site.root.glob("one/releases/*") if old in (path / ".env").read_text())
    shutil.rmtree(release)
    site.run(rendering=True)
    assert old not in site.secrets("one")


def test_what_no_vault_holds_is_made_once_and_rotation_replaces_the_token_everywhere(site: Site) -> None:
    for name in ("steelyard_arango_password", "steelyard_grafana_password"):
        del site.given[name]
    site.run(fresh=True)
    made = {host: site.secrets(host) for host in ("one", "two")}
    assert made["one"]["arango_password"] == made["two"]["arango_password"]
    secrets = {made["one"]["service_token"], made["one"]["arango_password"], made["two"]["grafana_password"]}
    assert [len(secret) for secret in secrets] == [43, 43, 43]
    site.run()
    assert {host: site.secrets(host) for host in made} == made

    site.run(rotating=True)
    rotated = {host: site.secrets(host) for host in made}
    tokens = {host: rotated[host].pop("service_token") for host in made}
    assert tokens["one"] == tokens["two"] != made["one"]["service_token"]
    assert all(rotated[host].items() <= made[host].items() for host in made)
    assert not [secret for secret in (*secrets, tokens["one"]) if secret in site.said]


def test_another_secret_than_what_runs_knows_is_refused_and_rotation_brings_the_vault_s(site: Site) -> None:
    site.run(fresh=True)
    site.given["steelyard_service_token"] = "canary-token-0123456789"
    refused = site.run(succeeds=False)
    assert "run rotate_secrets.yml, which replaces it together with every container" in refused
    site.run(rotating=True)
    assert {site.secrets(host)["service_token"] for host in ("one", "two")} == {"canary-token-0123456789"}
    site.given["steelyard_arango_password"] = "canary-arango-other"
    refused = site.run(succeeds=False)
    assert "change it in the database first, then in the file on each host" in refused
    assert site.secrets("one")["arango_password"] == CANARIES["steelyard_arango_password"]
    assert not [secret for secret in ("canary-token", "canary-arango") if secret in site.said]
