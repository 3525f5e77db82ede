"""The step scripts: a failure names the step, its reason and what to do; requirements come from one list."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

if not (ROOT / ".ci" / "lib.sh").exists():
    pytest.skip("not a checkout", allow_module_level=True)


def bash(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, check=False, cwd=ROOT
    )


def test_a_failing_step_says_which_why_and_what_to_do(tmp_path: Path) -> None:
    done = bash(
        f"source .ci/lib.sh; LOGS={tmp_path}\n"
        "step example 'turn it off and on' bash -c 'echo the reason; exit 7'; echo not reached"
    )
    assert done.returncode == 1
    assert "not reached" not in done.stdout
    for part in ('step "example" failed', "the reason", "status 7", "turn it off and on"):
        assert part in done.stderr


def test_a_step_that_works_says_nothing(tmp_path: Path) -> None:
    done = bash(f"source .ci/lib.sh; LOGS={tmp_path}; step quiet '' echo words")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert "words" in (tmp_path / "quiet.log").read_text()


def test_stamps_hold_contents_not_times(tmp_path: Path) -> None:
    stamp = tmp_path / "stamp"
    done = bash(
        f"source .ci/lib.sh; a=$(digest one two); b=$(digest one three); printf '%s\\n' \"$a\" >{stamp}\n"
        f'stamped {stamp} "$a" && ! stamped {stamp} "$b" && ! stamped {stamp}-none "$a" && echo right'
    )
    assert done.stdout.strip() == "right"


def test_requirements_are_those_of_pyproject() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    listed = subprocess.run(
        [sys.executable, ROOT / ".ci" / "requirements.py", "demo", "docs"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    extras = project["optional-dependencies"]
    assert listed == [*extras["demo"], *extras["docs"]]


def test_every_target_is_in_the_help() -> None:
    done = bash("make help")
    for target in ("demo", "test", "bench", "docs", "wheel", "lint", "clean"):
        assert f"make {target} " in done.stdout


@pytest.mark.parametrize(
    "script", sorted(p.name for p in (ROOT / ".ci").iterdir() if p.suffix != ".py")
)
def test_scripts_parse(script: str) -> None:
    done = bash(f"bash -n .ci/{script} && bash -n tests/gpu.sh")
    assert done.returncode == 0, done.stderr
