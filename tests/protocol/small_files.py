"""Small files that several tests of files write and read."""

from shuffledp.protocol.engines import Settings


def values_of(engine, *names):
    return [x for array in engine.arrays(names or ("x",), Settings()) for x in array.to_pylist()]


def written(path, text, encoding="utf-8"):
    path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
    return path


SECRET = "HIV-positive Jane Doe"
