"""The pages for operators: one order of sections in all, and every playbook, tag and Compose file is on one."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs/operate").glob("*.md"))
ORDER = ["Prerequisites", "Adjusting", "Installing", "Usage", "Troubleshooting"]
ANSIBLE = (ROOT / "docs/operate/ansible.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda it: it.stem)
def test_every_page_has_the_same_sections_in_the_same_order(page: Path) -> None:
    assert re.findall(r"(?m)^## (.*)$", page.read_text(encoding="utf-8")) == ORDER


@pytest.mark.parametrize("page", PAGES, ids=lambda it: it.stem)
def test_every_page_is_linked_from_another_one(page: Path) -> None:
    others = [one for one in [*PAGES, ROOT / "README.md"] if one != page]
    assert [one for one in others if re.search(rf"\(([\w/]*/)?{page.name}[)#]", one.read_text(encoding="utf-8"))]


def test_every_playbook_is_documented() -> None:
    inner = {"render.yml"}  # shown as a command
    for path in sorted((ROOT / "ansible").glob("*.yml")):
        assert f"`{path.name}`" in ANSIBLE or (path.name in inner and path.name in ANSIBLE), path.name


def test_every_tag_is_documented_and_every_documented_one_exists() -> None:
    tasks = yaml.safe_load((ROOT / "ansible/roles/steelyard/tasks/main.yml").read_text(encoding="utf-8"))
    tags = {tag for task in tasks for one in [task, *task.get("block", [])] for tag in one.get("tags", [])} - {"always"}
    table = ANSIBLE[ANSIBLE.index("| tag of `site.yml`") :].split("\n\n")[0]
    documented = set(re.findall(r"`(\w+)`", "\n".join(line.split("|")[1] for line in table.splitlines()[2:])))
    assert documented - tags == {"preflight"}
    services = {"dataprep", "retriever", "gateway", "llm", "embedder", "vllm", "arangodb"}
    services |= {"observability", "prometheus", "grafana", "collector"}
    assert tags - documented == services, "services are documented by a few of them"


def test_every_compose_file_is_documented() -> None:
    text = (ROOT / "docs/operate/compose.md").read_text(encoding="utf-8")
    for path in (ROOT / "compose").glob("compose*.yaml"):
        assert f"`{path.name}`" in text or (path.name.endswith("-peers.yaml") and "`*-peers.yaml`" in text), path.name


def test_every_inventory_is_documented() -> None:
    for path in (ROOT / "ansible/inventories").iterdir():
        assert f"`inventories/{path.name}`" in ANSIBLE or f"`{path.name}`" in ANSIBLE, path.name
