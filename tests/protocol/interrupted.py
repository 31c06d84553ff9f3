"""Run a command, and end it at its n-th operation on files: moments that no slow machine moves.

``python interrupted.py FOLDER N SIGNAL WORD ...`` with the words of the command line: files are
written to FOLDER, and the process sends itself the signal. N = 0: nothing happens. The last line on
stdout is the number of operations.
"""

import os
import sys
from pathlib import Path

import pyarrow.parquet as pq

from shuffledp.cli import main
from shuffledp.protocol.shuffler import Shuffler

FILES = {"open", "os.mkdir", "os.rename", "os.link", "os.remove", "os.rmdir", "shutil.rmtree"}


class Moments:
    """Counts operations on the folder's files, blocks spilled and batches written."""

    def __init__(self, folder, at, number):
        self.folder, self.at, self.number = str(folder), at, number
        self.seen, self.armed = 0, False

    def pass_one(self):
        """One more; the n-th is the one."""
        if not self.armed:
            return
        self.seen += 1
        if self.seen != self.at:
            return
        os.kill(os.getpid(), self.number)

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
    folder, at, number, *words = sys.argv[1:]
    moments = Moments(Path(folder).resolve(), int(at), int(number))
    moments.before(Shuffler, "_spill")
    moments.before(pq.ParquetWriter, "write_table")
    sys.addaudithook(moments.heard)
    moments.armed = True
    code = run(words)
    moments.armed = False
    print(moments.seen, flush=True)
    sys.exit(code)
