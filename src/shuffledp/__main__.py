"""``python -m shuffledp``: the command line."""

from shuffledp.cli import main

if __name__ == "__main__":
    main(prog_name="shuffledp")
