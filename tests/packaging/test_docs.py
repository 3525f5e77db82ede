"""The documentation tells the truth: its Python runs, its links lead somewhere."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)

if not (ROOT / "README.md").exists():
    pytest.skip("not a checkout", allow_module_level=True)


@pytest.mark.parametrize(
    "page", ["README.md", "docs/index.md", "docs/tour.md", "docs/raw_kernels.md"]
)
def test_examples_run(page: str, tmp_path: Path) -> None:
    """All blocks of a page, in order, as one program."""
    blocks = BLOCK.findall((ROOT / page).read_text())
    program = tmp_path / "page.py"
    program.write_text("import numpy as np\nimport quern\n\n" + "\n".join(blocks))
    done = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, check=False, env=dict(os.environ)
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_design_page_is_in_the_index() -> None:
    folder = ROOT / "docs" / "design"
    index = (folder / "index.md").read_text()
    pages = {page.stem for page in folder.glob("*.md")} - {"index"}
    listed = set(re.findall(r"^(\w+)$", index, re.MULTILINE))
    assert pages <= listed


def test_every_setting_is_documented() -> None:
    """Each QUERN_ variable that the one settings file reads has a row in the table."""
    read = (ROOT / "compiler" / "base" / "settings.cpp").read_text()
    page = (ROOT / "docs" / "command_line.md").read_text()
    for name in sorted(set(re.findall(r'"(QUERN_[A-Z_]+)"', read))):
        assert f"`{name}`" in page, f"{name} is not in docs/command_line.md"


def test_every_design_page_opens_with_its_decision() -> None:
    for page in (ROOT / "docs" / "design").glob("*.md"):
        if page.stem != "index":
            assert "**Decision.**" in page.read_text(), page.name


def test_every_public_name_is_in_the_reference() -> None:
    import types

    import numpy as np

    import quern

    page = (ROOT / "docs" / "reference.md").read_text()
    listed = set(re.findall(r"^\.\. auto\w+:: (\w+)$", page, re.MULTILINE))
    ours = {
        name
        for name in quern.__all__
        if not hasattr(np, name) or getattr(np, name) is not getattr(quern, name)
        if not name.startswith("__") and name != "bfloat16"
        if not isinstance(getattr(quern, name), types.ModuleType)
    }
    assert ours <= listed, f"not in docs/reference.md: {sorted(ours - listed)}"
