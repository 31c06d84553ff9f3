"""Write the table printed / ours / verdict: all rows as CSV, those that differ on docs/papers.md.

python -m papers.printed
"""

from papers.printed.table import write

if __name__ == "__main__":
    for path in write():
        print(path)
