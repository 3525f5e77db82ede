"""`python -m quern`: help, demo, doctor, cache; what they print, what they write, how they fail."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest


def run(*arguments: str, status: int = 0, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "quern", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_alone_it_prints_help() -> None:
    text = run()
    assert all(command in text for command in ("demo", "doctor", "cache"))


def test_version_has_one_home() -> None:
    cmake = Path(__file__).parents[2].joinpath("CMakeLists.txt").read_text()
    version = re.search(r"project\(quern[^)]*VERSION ([0-9.]+)", cmake)
    assert version
    assert run("--version").strip() == f"quern {version[1]}"


def test_doctor_names_everything() -> None:
    text = run("doctor")
    for word in (
        "Python",
        "NumPy",
        "quern",
        "Devices",
        "Libraries",
        "nvrtc",
        "Cache",
        "Kernels run on",
    ):
        assert word in text


def test_cache_stats_path_clear(empty_cache_dir: Path) -> None:
    folder = str(empty_cache_dir)
    fill = (
        "import numpy as np, quern\n"
        "quern.ElementwiseKernel('T x', 'T y', 'y = x + 41', 'filler')(quern.asarray(np.ones(3)))\n"
        "quern.synchronize()"
    )
    environment = {**os.environ, "QUERN_CACHE_DIR": folder}
    subprocess.run([sys.executable, "-c", fill], check=True, env=environment)
    assert run("cache", "path", QUERN_CACHE_DIR=folder).strip().startswith(folder)
    assert re.search(r"entries +[1-9]", run("cache", QUERN_CACHE_DIR=folder))
    assert re.search(r"removed [1-9]", run("cache", "clear", QUERN_CACHE_DIR=folder))
    assert re.search(r"entries +0", run("cache", "stats", QUERN_CACHE_DIR=folder))


class TestDemo:
    """The demo itself: it checks its kernels against NumPy and says so by its exit status."""

    @pytest.fixture(autouse=True)
    def _needs(self) -> None:
        pytest.importorskip("matplotlib")
        pytest.importorskip("PIL")

    def test_writes_pictures_chart_and_table(self, tmp_path: Path) -> None:
        from PIL import Image

        text = run("demo", "--out", str(tmp_path), "--show-source")
        for name in ("tone curve", "unsharp mask", "Julia set"):
            assert re.search(rf"{name} .*(equal|within 1 of 255)", text), text
        assert "__global__" in text
        names = {path.name for path in tmp_path.iterdir()}
        assert {"before.png", "before-after.png", "chart.png", "1-tone-curve.png"} <= names
        before, after = (
            np.asarray(Image.open(tmp_path / n)) for n in ("before.png", "3-julia-set.png")
        )
        assert before.shape == after.shape
        assert (before != after).mean() > 0.2

    @pytest.mark.parametrize("shape", [(1, 1), (3, 7), (40, 1)])
    def test_takes_the_users_picture(self, tmp_path: Path, shape: tuple[int, int]) -> None:
        from PIL import Image

        rng = np.random.default_rng(3)
        image = tmp_path / "mine.png"
        Image.fromarray(rng.integers(0, 256, (*shape, 3), np.uint8)).save(image)
        assert "mine.png" in run("demo", "--image", str(image), "--out", str(tmp_path / "out"))

    def test_grey_and_transparent_pictures_work(self, tmp_path: Path) -> None:
        from PIL import Image

        for mode in ("L", "RGBA", "P"):
            image = tmp_path / f"{mode}.png"
            Image.new(mode, (9, 5)).save(image)
            run("demo", "--image", str(image), "--out", str(tmp_path / "out"))

    def test_missing_file(self, tmp_path: Path) -> None:
        text = run("demo", "--image", str(tmp_path / "no.jpg"), "--out", str(tmp_path), status=2)
        assert "there is no file" in text
        assert "Traceback" not in text

    def test_not_a_picture(self, tmp_path: Path) -> None:
        text_file = tmp_path / "note.jpg"
        text_file.write_text("not a picture")
        text = run("demo", "--image", str(text_file), "--out", str(tmp_path), status=2)
        assert "not a picture" in text
        assert "Traceback" not in text

    def test_unwritable_folder(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        text = run("demo", "--out", str(tmp_path / "file" / "out"), status=2)
        assert "--out" in text
        assert "Traceback" not in text

    def test_missing_pillow_names_the_extra(self, tmp_path: Path) -> None:
        (tmp_path / "PIL.py").write_text("raise ImportError('none here')")
        path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
        text = run("demo", "--out", str(tmp_path / "out"), status=2, PYTHONPATH=path)
        assert "pip install 'quern[demo]'" in text

    def test_unknown_device(self, tmp_path: Path) -> None:
        text = run("demo", "--device", "abacus", "--out", str(tmp_path), status=2)
        assert "abacus" in text
        assert "Traceback" not in text
