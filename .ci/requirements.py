"""Prints what pyproject.toml asks for: `requirements.py build demo test`, one requirement a line."""

import os
import sys
import tomllib
from pathlib import Path

project = tomllib.loads(Path(__file__).parent.parent.joinpath("pyproject.toml").read_text())
extras = project["project"]["optional-dependencies"]
wanted: list[str] = []
for group in sys.argv[1:]:
    if group == "build":
        wanted += [*project["build-system"]["requires"], *project["project"]["dependencies"]]
    else:
        wanted += extras[group]
# A toolkit's headers serve as well as the packages that carry them; tests ask for NVRTC by themselves.
toolkits = [os.environ.get("CUDA_PATH", ""), os.environ.get("CUDA_HOME", ""), "/usr/local/cuda"]
if any(
    t and Path(t, "include", "cuda.h").exists() and Path(t, "include", "nvrtc.h").exists()
    for t in toolkits
):
    wanted = [w for w in wanted if not w.startswith("nvidia-cuda-")]
print("\n".join(dict.fromkeys(wanted)))
