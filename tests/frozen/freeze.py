"""Ask every question and keep the answers: ``python tests/frozen/freeze.py`` from the repository.

With ``--new NAME ...`` only those that begin with one of these names and have no answer are asked,
and no answer that is kept is touched.
An answer is kept with both ends, both numerical widths and the processor's seconds it took; what a
search found with what it leads to, and the next value, which does not do; a refusal by the name of
its error.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ANSWERS = Path(__file__).with_name("answers.json")
ENDS = ("lower", "upper", "log_lower", "log_upper", "lower_width", "upper_width")


def answer(ask: Any) -> dict[str, Any]:
    """What a question gives today."""
    import shuffledp as sd
    from shuffledp.calibration import Calibration

    started = time.process_time()
    try:
        bound = ask()
    except (sd.NotCertified, sd.ParameterError) as error:
        return {"error": type(error).__name__, "seconds": round(time.process_time() - started, 3)}
    search = isinstance(bound, Calibration)
    names = ("value", "log_delta", "beyond") if search else ENDS
    kept = {key: getattr(bound, key) for key in names}
    return {
        "quantity": "search" if search else bound.quantity,
        **{key: value for key, value in kept.items() if value is not None},
        "seconds": round(time.process_time() - started, 3),
    }


def main() -> None:
    """Write answers.json, one line a question."""
    sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]
    from frozen.questions import questions

    asked, kept = questions(), {}
    if sys.argv[1:2] == ["--new"]:
        # A line an answer, as below: what is kept stays as it is written.
        text = ANSWERS.read_text(encoding="utf-8").splitlines()[1:-1]
        kept = {
            next(iter(json.loads(f"{{{line.rstrip(',')}}}"))): line.rstrip(",") for line in text
        }
        wanted = tuple(sys.argv[2:])
        asked = {key: ask for key, ask in asked.items() if key in kept or key.startswith(wanted)}
    lines = []
    for name, ask in asked.items():
        lines.append(kept.get(name) or f"{json.dumps(name)}: {json.dumps(answer(ask))}")
        print(lines[-1], flush=True)
    ANSWERS.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
