"""What certified answers cost, and the tables and pictures of docs/: ``python -m bench``."""

import os

# One thread, so that CPU time means the same on every machine; before NumPy is imported.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
