"""Files of every kind that tokbench reads, damaged one at a time, in a process with little memory.

As a program: `python hostile.py GOOD` writes good files into a folder, and `python hostile.py GOOD FOLDER SEED FIRST
CASES` damages copies of them in another folder, opens them, and prints a line of JSON for each case that raises
anything but an error for the user.
"""

from __future__ import annotations

import faulthandler
import json
import resource
import shutil
import sys
from pathlib import Path
from random import Random

sys.path.append(str(Path(__file__).parents[1]))

from support.hostile_files import make
from support.hostile_kinds import KINDS
from support.mutations import mutated, mutated_json
from tokbench.errors import TokbenchError

MEMORY = 2 << 30
"""Bytes available in addition to what the libraries have reserved once a file of each kind has been opened."""
SECONDS = 60


def case(good: Path, place: Path, name: str, *, source: Random) -> None:
    """Damage the file of a kind in a copy of its folder, and open it; raise any error that is not one for the user."""
    kind = KINDS[name]
    if kind.writes:
        shutil.rmtree(place)
        shutil.copytree(good / name, place)
    path = place / kind.file
    is_structural = kind.is_json and source.random() < 0.7
    data = (mutated_json if is_structural else mutated)((good / name / kind.file).read_bytes(), source=source)
    path.unlink()  # rather than change it, as an earlier case may have mapped it
    path.write_bytes(data)
    if kind.mend is not None:
        kind.mend(path)
    try:
        kind.open(place, path)
    except TokbenchError as error:
        assert error.message


def main() -> None:
    """Write good files, or run cases of each kind in turn."""
    good = Path(sys.argv[1])
    if len(sys.argv) == 2:
        good.mkdir()
        (good / "kinds.json").write_text(json.dumps(make(good)))
        return
    folder, seed, first, cases = Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5])
    names = json.loads((good / "kinds.json").read_bytes())
    for name in names:  # undamaged files open
        shutil.copytree(good / name, folder / name)
        KINDS[name].open(folder / name, folder / name / KINDS[name].file)
    reserved = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (reserved + MEMORY, reserved + MEMORY))
    for number in range(first, first + cases):
        name = names[number % len(names)]
        print(json.dumps({"begun": number, "kind": name}), flush=True)
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        try:
            case(good, folder / name, name, source=Random(f"{seed}:{number}"))
        except BaseException as error:  # a Rust library's panic is not an Exception
            print(
                json.dumps({"case": number, "kind": name, "error": f"{type(error).__name__}: {error}"[:300]}),
                flush=True,
            )
        faulthandler.cancel_dump_traceback_later()


if __name__ == "__main__":
    main()
