"""What a package index shows of README.md."""

import re
from pathlib import Path

from tools.long_description import long_description

ROOT = Path(__file__).resolve().parents[1]
README = """# Title
![a picture
of two lines](docs/a.png) and [the guide](docs/guide.md#place), [docs/b.md](docs/b.md),
[x](https://x.y/z), [up](#title).

    [code](docs/code.md)

```sh
[more](docs/code.md)
```
[last](LICENSE)
"""


def test_without_an_address_links_are_plain_text():
    found = long_description(README)
    assert "(Figure docs/a.png: a picture\nof two lines) and the guide (docs/guide.md), " in found
    assert ", docs/b.md,\n[x](https://x.y/z), [up](#title)." in found
    assert "    [code](docs/code.md)\n" in found
    assert "\n[more](docs/code.md)\n" in found
    assert found.endswith("```\nlast (LICENSE)\n")


def test_the_readme_has_no_link_left():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    relative = r"\]\((?![a-z]+:|#)[^)]*\)"
    assert len(re.findall(relative, readme)) > 10
    found = long_description(readme)
    assert re.findall(relative, found) == []
    assert found.count("```") == readme.count("```")
