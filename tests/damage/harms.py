"""Ways to harm one file or folder of a cache. Each is a function of its path and a source of random numbers."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path
from random import Random
from typing import Callable

Harm = Callable[[Path, Random], None]

# Where a harm needs something beside the cache: a folder with this name beside the cache directory.
ELSEWHERE = "elsewhere"
# More than any disk has; all of it a hole.
ABSURD_SIZE = 200 << 30


def elsewhere(path: Path) -> Path:
    """A folder outside of the cache, with a file in it."""
    top = next(parent for parent in path.parents if (parent / ELSEWHERE).is_dir())
    return top / ELSEWHERE


def remove(path: Path) -> None:
    """Whatever it is."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


# ---- content ----


def zeroed(path: Path, _: Random) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def emptied(path: Path, _: Random) -> None:
    os.truncate(path, 0)


def halved(path: Path, _: Random) -> None:
    os.truncate(path, path.stat().st_size // 2)


def shortened(path: Path, _: Random) -> None:
    os.truncate(path, max(path.stat().st_size - 1, 0))


def lengthened(path: Path, random: Random) -> None:
    with path.open("ab") as file:
        file.write(random.randbytes(100))


def padded(path: Path, _: Random) -> None:
    with path.open("ab") as file:
        file.write(bytes(4096))


def scrambled(path: Path, random: Random) -> None:
    path.write_bytes(random.randbytes(path.stat().st_size))


def absurd(path: Path, _: Random) -> None:
    os.truncate(path, ABSURD_SIZE)


def flip(path: Path, at: int, bit: int) -> None:
    size = path.stat().st_size
    if size == 0:
        return
    # In place: the file may be as large as `absurd` made it.
    with path.open("r+b") as file:
        file.seek(min(at, size - 1))
        byte = file.read(1)[0]
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte ^ 1 << bit]))


def flipped_at(share: float) -> Harm:
    """One bit, so far into the file."""
    return lambda path, random: flip(path, int(path.stat().st_size * share), random.randrange(8))


def flipped_byte(at: int) -> Harm:
    return lambda path, random: flip(path, at, random.randrange(8))


def flipped_anywhere(path: Path, random: Random) -> None:
    flip(path, random.randrange(max(path.stat().st_size, 1)), random.randrange(8))


def cut_anywhere(path: Path, random: Random) -> None:
    os.truncate(path, random.randrange(path.stat().st_size + 1))


def overwritten_anywhere(path: Path, random: Random) -> None:
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(random.randrange(size + 1))
        file.write(random.randbytes(random.randrange(1, 5000)))


# ---- what stands in its place ----


def deleted(path: Path, _: Random) -> None:
    remove(path)


def folder(path: Path, _: Random) -> None:
    remove(path)
    path.mkdir()


def full_folder(path: Path, _: Random) -> None:
    remove(path)
    path.mkdir()
    (path / "something").write_text("in it")


def fifo(path: Path, _: Random) -> None:
    remove(path)
    os.mkfifo(path)


def device(path: Path, _: Random) -> None:
    """One whose bytes never end. Only root may make one; a link stands for it otherwise."""
    remove(path)
    try:
        os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(1, 5))
    except PermissionError:
        path.symlink_to("/dev/zero")


def linked(target: Callable[[Path], str]) -> Harm:
    def harm(path: Path, _: Random) -> None:
        remove(path)
        path.symlink_to(target(path))

    return harm


def linked_to_copy(path: Path, _: Random) -> None:
    """What it was lies elsewhere now, and a link leads there."""
    place = elsewhere(path) / "moved"
    shutil.move(path, place)
    path.symlink_to(place)


def plain_file(path: Path, _: Random) -> None:
    remove(path)
    path.write_text("a file\n")


def cleared(path: Path, _: Random) -> None:
    for inner in list(path.iterdir()):
        remove(inner)


def forbidden(path: Path, _: Random) -> None:
    """Without a permission: root passes that, others don't."""
    path.chmod(0)


dangling = linked(lambda path: str(path) + ".nowhere")
linked_to_null = linked(lambda _: "/dev/null")
linked_to_folder = linked(lambda path: str(elsewhere(path)))
linked_to_file = linked(lambda path: str(elsewhere(path) / "file"))
linked_to_itself = linked(lambda path: path.name)

OF_FILES: dict[str, Harm] = {
    "zeroed": zeroed,
    "emptied": emptied,
    "halved": halved,
    "shortened": shortened,
    "lengthened": lengthened,
    "padded": padded,
    "scrambled": scrambled,
    "absurd": absurd,
    "flipped-first": flipped_byte(0),
    "flipped-8": flipped_byte(8),
    "flipped-16": flipped_byte(16),
    "flipped-40": flipped_byte(40),
    "flipped-60": flipped_byte(60),
    "flipped-100": flipped_byte(100),
    "flipped-third": flipped_at(0.33),
    "flipped-half": flipped_at(0.5),
    "flipped-last": flipped_at(1.0),
    "deleted": deleted,
    "folder": folder,
    "full-folder": full_folder,
    "fifo": fifo,
    "device": device,
    "dangling": dangling,
    "linked-to-null": linked_to_null,
    "linked-to-folder": linked_to_folder,
    "linked-to-file": linked_to_file,
    "linked-to-copy": linked_to_copy,
    "linked-to-itself": linked_to_itself,
    "forbidden": forbidden,
}

OF_FOLDERS: dict[str, Harm] = {
    "deleted": deleted,
    "cleared": cleared,
    "plain-file": plain_file,
    "fifo": fifo,
    "dangling": dangling,
    "linked-to-folder": linked_to_folder,
    "linked-to-copy": linked_to_copy,
    "linked-to-itself": linked_to_itself,
    "forbidden": forbidden,
}

# At random places: for long runs.
RANDOM_OF_FILES: dict[str, Harm] = {
    "flipped-anywhere": flipped_anywhere,
    "cut-anywhere": cut_anywhere,
    "overwritten-anywhere": overwritten_anywhere,
}
