"""Small files that several tests of files write and read."""

import shuffledp as sd
from shuffledp.protocol.engines import Settings

# eps0 = 300: reports are the values, so that sums are counts.
CLEAR = sd.KRR(k=4, eps0=300.0)

DOMAIN = ("a", "b", "c", "d")


def values_of(engine, *names):
    return [x for array in engine.arrays(names or ("x",), Settings()) for x in array.to_pylist()]


def written(path, text, encoding="utf-8"):
    path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
    return path


SECRET = "HIV-positive Jane Doe"
