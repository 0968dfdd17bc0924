"""The evidence gates' exit code decides over a release, and they are asked about the very settings that it renders."""

import json
from pathlib import Path

import pytest

from tests.deploy.ansible_runs import PLAYBOOKS, needs_ansible, play
from tests.deploy.compose_files import ROOT

pytestmark = needs_ansible
COMMAND = """#!/bin/sh
printf '%s\\n' "$@" >{folder}/asked
eval cp '"$'$#'"' {folder}/proposed
echo 'gate routes: failed'
exit {code}
"""


@pytest.mark.parametrize(("code", "passes"), [(0, True), (1, False), (2, False)])
def test_the_exit_code_of_the_gates_is_obeyed(tmp_path: Path, code: int, passes: bool) -> None:
    command = tmp_path / "steelyard"
    command.write_text(COMMAND.format(folder=tmp_path, code=code), encoding="utf-8")
    command.chmod(0o755)
    inventory = tmp_path / "hosts.yml"
    given = {
        "steelyard_compose_source": str(ROOT / "compose"),
        "steelyard_gate_command": str(command),
        "steelyard_gate_manifest": "/m.json",
        "steelyard_gate_run": "/r.json",
        "steelyard_gate_thresholds": "/g.toml",
        "steelyard_reranker_top_n": 7,
        "steelyard_token_cost_alpha": 0,
        "steelyard_llm_max_tokens": 99,
    }
    inventory.write_text(json.dumps({"all": {"hosts": {"kiel": given}}}), encoding="utf-8")
    done = play(PLAYBOOKS / "gate.yml", inventory, tmp_path)
    assert (done.returncode == 0) == passes, done.stdout
    asked = (tmp_path / "asked").read_text(encoding="utf-8").splitlines()
    assert asked[:7] == ["evidence", "gate", "/m.json", "/r.json", "--gates", "/g.toml", "--proposed"]
    assert not Path(asked[7]).exists()
    proposed = (tmp_path / "proposed").read_text(encoding="utf-8").splitlines()[1:]
    assert proposed == ["RERANKER_TOP_N='7'", "TOKEN_COST_ALPHA='0'"]
    if not passes:
        assert f"exited with {code} for the reranker of kiel: gate routes: failed" in done.stdout
