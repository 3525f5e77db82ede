"""Where pip keeps the libraries that quern may load: told to the C++ search by name, opened by nobody here."""

from __future__ import annotations

import os
import sys


def package_folders() -> list[str]:
    """Quern's own folder (the host compiler is there), then the folders of NVIDIA's pip packages. A few listings."""
    own = os.path.dirname(os.path.abspath(__file__))
    folders = [own]
    roots = [os.path.dirname(own), *(path for path in sys.path if path.endswith("-packages"))]
    for root in dict.fromkeys(roots):
        nvidia = os.path.join(root, "nvidia")
        try:
            with os.scandir(nvidia) as entries:
                names = sorted(entry.name for entry in entries if entry.is_dir())
        except OSError:
            continue
        folders += [os.path.join(nvidia, name) for name in names if not name.startswith("_")]
    return folders
