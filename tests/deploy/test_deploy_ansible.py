"""The role's variables are the settings, env files carry hostile values, and each host is rendered its own."""

import json
import os
import subprocess
from pathlib import Path

import pytest
import yaml

from compose.generate import CONTAINER, ROLE, SERVICES, variable
from tests.deploy.ansible_runs import ANSIBLE, needs_ansible, play
from tests.deploy.compose_files import ROOT
from tests.deploy.role import filters, read
from tests.deploy.test_deploy_compose import needs_compose
from tools.settings_source import settings

GOLDEN = Path(__file__).parent / "golden"

HOSTILE = [
    "plain",
    "",
    "  blanks around  ",
    "$HOME ${HOME} $$ ${X:-y}",
    "a #comment",
    "# first",
    'double "quotes"',
    "it's",
    "''",
    "back\\slash \\n \\t \\$",
    "a=b=c",
    "`id` $(id)",
    "{{ not a template }}",
    "ünï こんにちは دليل \U0001f600",
    "tab\tinside",
    "%s %(x)s ~ ! * ? [a] & | ; < >",
]


def test_every_setting_of_a_service_is_a_variable_of_the_role_and_no_other() -> None:
    wanted = {
        variable(one.name): one.name
        for one in settings()
        if one.name not in CONTAINER and ({*SERVICES} & {*one.readers} or one.name == "LLM_THREADS")
    }
    assert read(ROLE / "vars/main.yml")["steelyard_setting_of_variable"] == wanted


def test_every_variable_has_a_type_and_all_entry_points_take_the_same() -> None:
    specs = read(ROLE / "meta/argument_specs.yml")["argument_specs"]
    variables = read(ROLE / "vars/main.yml")
    named = {*variables["steelyard_setting_of_variable"], *variables["steelyard_own_variables"]}
    assert set(specs["main"]["options"]) == named
    assert all(spec["options"] == specs["main"]["options"] for spec in specs.values())
    assert all((ROOT / ROLE / f"tasks/{entry}.yml").is_file() for entry in specs)
    assert all({"type", "description"} <= set(option) for option in specs["main"]["options"].values())
    assert all(isinstance(option.get("choices", []), list) for option in specs["main"]["options"].values())
    assert specs["main"]["options"]["steelyard_reranking_strategy"]["choices"] == [
        "slice",
        "threshold",
        "slice_threshold",
        "knee_threshold",
        "adaptive",
    ]


def test_defaults_are_only_the_roles_own() -> None:
    own = read(ROLE / "vars/main.yml")["steelyard_own_variables"]
    assert set(own) - set(read(ROLE / "defaults/main.yml")) == {
        "steelyard_api_keys_source",
        "steelyard_arango_password",
        "steelyard_arangodb_image",
        "steelyard_collector_image",
        "steelyard_embedder_image",
        "steelyard_embedding_api_key",
        "steelyard_embedding_tokenizer_folder",
        "steelyard_gate_manifest",
        "steelyard_gate_run",
        "steelyard_grafana_image",
        "steelyard_grafana_password",
        "steelyard_image_archive",
        "steelyard_image_lock",
        "steelyard_image_prefix",
        "steelyard_llm_api_key",
        "steelyard_models_archive",
        "steelyard_prometheus_image",
        "steelyard_rerank_api_key",
        "steelyard_restore_from",
        "steelyard_service_token",
        "steelyard_tei_image",
        "steelyard_tokenizer_folder",
        "steelyard_traces_url",
        "steelyard_verify_key",
        "steelyard_vllm_image",
    }
    assert set(read(ROLE / "defaults/main.yml")) <= set(own)


@needs_compose
def test_compose_reads_every_hostile_value_as_it_is(tmp_path: Path) -> None:
    names = [f"VALUE_{number}" for number in range(len(HOSTILE))]
    text = filters("steelyard").env_text({}, dict(zip(names, HOSTILE, strict=True)), {})
    (tmp_path / ".env").write_text(text, encoding="utf-8")
    service = {"image": "none", "environment": dict.fromkeys(names)}
    (tmp_path / "compose.yaml").write_text(yaml.safe_dump({"services": {"one": service}}), encoding="utf-8")
    command = ["docker", "compose", "config", "--format", "json"]
    clean = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    done = subprocess.run(command, cwd=tmp_path, env=clean, capture_output=True, text=True, check=True)
    read_back = json.loads(done.stdout)["services"]["one"]["environment"]
    # `config` prints `$` doubled, so that what it prints can be read again.
    assert [read_back[name].replace("$$", "$") for name in names] == HOSTILE


@pytest.mark.parametrize("value", ["two\nlines", "return\r", "nul\0", "ends with \\", "a \\' inside"])
def test_what_an_env_file_can_not_carry_is_refused_by_name(value: str) -> None:
    with pytest.raises(ValueError, match=r"^NO_EVIDENCE_ANSWER .* an env file can not carry$"):
        filters("steelyard").env_text({"answer": value}, {}, {"answer": "NO_EVIDENCE_ANSWER"})


def test_values_are_written_as_the_services_read_them() -> None:
    values = {"a": False, "b": True, "c": 0, "d": 12.5, "e": ""}
    text = filters("steelyard").env_text(values, {"FIRST": 1}, {name: name.upper() for name in values})
    assert text.splitlines()[1:] == ["FIRST='1'", "A='false'", "B='true'", "C='0'", "D='12.5'", "E=''"]


def test_a_misspelt_variable_is_named_with_the_nearest() -> None:
    said = filters("steelyard").unknown(
        ["steelyard_root", "steelyard_rot", "steelyard_zzzzzzzzz"], ["steelyard_root"], {}
    )
    assert said == [
        "steelyard_rot is not a variable of the role; did you mean steelyard_root?",
        "steelyard_zzzzzzzzz is not a variable of the role",
    ]


def render(root: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return play("render.yml", Path(__file__).parent / "inventory", root, *options)


@needs_ansible
def test_each_host_is_rendered_its_own_and_a_second_run_changes_nothing(tmp_path: Path) -> None:
    first = render(tmp_path)
    assert first.returncode == 0, first.stdout
    for host in ("kiel", "oslo"):
        (env,) = (tmp_path / host / "releases").glob("*/.env")
        golden = (GOLDEN / f"{host}.env").read_text(encoding="utf-8")
        assert env.read_text(encoding="utf-8") == golden.replace("/srv/steelyard", f"{tmp_path}/{host}")
    second = render(tmp_path)
    assert second.stdout.count("changed=0") == 2, second.stdout


@needs_ansible
@pytest.mark.parametrize("inventory", sorted(path.name for path in (ANSIBLE / "inventories").iterdir()))
def test_each_host_of_each_inventory_is_rendered_its_own(tmp_path: Path, inventory: str) -> None:
    done = play("render.yml", ANSIBLE / "inventories" / inventory, tmp_path)
    assert done.returncode == 0, done.stdout
    rendered = {
        f"{path.parent.parent.parent.name}{path.name.replace('.env', '').replace('targets', '-targets')}": path
        for name in (".env", "targets.json")
        for path in tmp_path.glob(f"*/releases/*/{name}")
    }
    golden = {path.name.removesuffix(".env"): path for path in (GOLDEN / inventory).iterdir()}
    assert set(rendered) == set(golden)
    for name, path in rendered.items():
        host = path.parent.parent.parent
        text = path.read_text(encoding="utf-8").replace(str(host), "/opt/steelyard")
        assert text == golden[name].read_text(encoding="utf-8")


@needs_ansible
def test_the_playbook_refuses_an_inventory_with_everything_that_is_wrong_and_asks_no_host(tmp_path: Path) -> None:
    wrong = {
        "one": {"steelyard_rerankr_top_n": 4, "steelyard_llm_api_key": "changeme"},
        "two": {"steelyard_reranking_threshold": "nan", "steelyard_model_servers": "t4"},
    }
    hosts = {name: {**of, "ansible_connection": "ssh", "ansible_host": "192.0.2.1"} for name, of in wrong.items()}
    (tmp_path / "hosts.yml").write_text(json.dumps({"all": {"hosts": hosts}}), encoding="utf-8")
    clean = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LC_ALL": "C.UTF-8", "ANSIBLE_CONFIG": "ansible.cfg"}
    command = ["ansible-playbook", "-i", str(tmp_path / "hosts.yml"), "site.yml", "--tags", "reranker"]
    done = subprocess.run(command, cwd=ANSIBLE, env=clean, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    for line in (
        "one: steelyard_rerankr_top_n is not a variable of the role; did you mean steelyard_reranker_top_n?",
        "one: steelyard_llm_api_key is a placeholder",
        "two: steelyard_reranking_threshold='nan' should be a finite number",
        "two: steelyard_reranker_model_id must be given for a T4",
    ):
        assert line in done.stdout
    assert "changeme" not in done.stdout
    assert "Check the hosts" not in done.stdout
    assert "unreachable=1" not in done.stdout


@needs_ansible
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("steelyard_rerankr_top_n=4", "did you mean steelyard_reranker_top_n?"),
        ("steelyard_reranking_strategy=bogus", "value of steelyard_reranking_strategy must be one of: slice"),
        ("steelyard_reranker_top_n=many", "steelyard_reranker_top_n"),
    ],
)
def test_a_wrong_variable_is_refused_before_anything_is_written(tmp_path: Path, given: str, said: str) -> None:
    done = render(tmp_path, "-e", given)
    assert done.returncode != 0
    assert said in done.stdout
    assert not list(tmp_path.glob("*/releases"))
