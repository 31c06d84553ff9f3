"""Run a command, and do something to it at its n-th operation on files: moments that a slow
machine does not move.

``python interrupted.py FOLDER N WHAT WORD ...`` with the words of the command line: files are
written to FOLDER, and WHAT is the number of a signal that the process sends itself, or
"read-only", which takes away the right to write there; of root, who may always, it makes nobody.
N = 0: nothing happens. The last line on stdout is the number of operations.
"""

import os
import sys
from pathlib import Path

import pyarrow.parquet as pq

from shuffledp.cli import main
from shuffledp.protocol.shuffler import Shuffler

FILES = {"open", "os.mkdir", "os.rename", "os.link", "os.remove", "os.rmdir", "shutil.rmtree"}
NOBODY = 65534


class Moments:
    """Counts operations on the folder's files, blocks spilled and batches written."""

    def __init__(self, folder, at, what):
        self.folder, self.at, self.what = str(folder), at, what
        self.seen, self.armed = 0, False

    def pass_one(self):
        """One more; the n-th is the one."""
        if not self.armed:
            return
        self.seen += 1
        if self.seen != self.at:
            return
        if self.what == "read-only":
            Path(self.folder).chmod(0o555)
        else:
            os.kill(os.getpid(), int(self.what))

    def heard(self, event, arguments):
        """An audit hook."""
        if event in FILES and any(str(one).startswith(self.folder) for one in arguments):
            self.pass_one()

    def before(self, owner, name):
        """Count calls of a method too."""
        method = getattr(owner, name)

        def counted(*arguments, **named):
            self.pass_one()
            return method(*arguments, **named)

        setattr(owner, name, counted)


def run(words):
    """The command's exit status."""
    try:
        main.main(words)
    except SystemExit as stop:
        return stop.code
    return 0


if __name__ == "__main__":
    folder, at, what, *words = sys.argv[1:]
    moments = Moments(Path(folder).resolve(), int(at), what)
    moments.before(Shuffler, "_spill")
    moments.before(pq.ParquetWriter, "write_table")
    if what == "read-only" and os.geteuid() == 0:
        # What is imported is so before: nobody may not be able to read it.
        few = [word.replace("in.parquet", "few.parquet") for word in words]
        run([word.replace("out/", "warm/") for word in few])
        os.setegid(NOBODY)
        os.seteuid(NOBODY)
    sys.addaudithook(moments.heard)
    moments.armed = True
    code = run(words)
    moments.armed = False
    print(moments.seen, flush=True)
    sys.exit(code)
