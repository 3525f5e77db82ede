"""`python -m quern demo`: three kernels on a photograph. The kernels are in `photo.py`, which is the example too."""
