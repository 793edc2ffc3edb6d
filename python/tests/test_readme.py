"""The Python examples of the documents run as they stand there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from descriptions import matmul

import guardcache

TOP = Path(__file__).parents[2]
# How many examples each has.
DOCUMENTS = {"README.md": 2, "python/README.md": 4}


def examples(document: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", (TOP / document).read_text(), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_the_lookup(
    document: str, directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GUARDCACHE_DIR", str(directory))
    (example,) = (text for text in examples(document) if "print(cache.explain" in text)
    ran: list[bytes] = []
    names: dict[str, Any] = {"graph": matmul(), "run": lambda payload: ran.append(bytes(payload))}
    with guardcache.open() as cache:
        cache.insert(matmul(), b"code", guards=["s0 % 9 == 0"])
    exec(example, dict(names))
    said = capsys.readouterr().out.splitlines()
    # The comment in the example says what is printed here.
    assert said[0] == "guard_false"
    assert said[1].startswith("miss: guard_false")
    assert any("x.size(0) % 9 == 0" in line and "48 % 9 = 3" in line for line in said)
    with guardcache.open() as cache:
        cache.insert(matmul(), b"code", guards=["s0 % 8 == 0"])
    exec(example, dict(names))
    assert ran == [b"code"]
    assert capsys.readouterr().out == ""


def test_the_page_about_python_is_one_program(
    directory: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("GUARDCACHE_DIR", str(directory))
    caplog.set_level("INFO", "guardcache")
    exec("\n".join(examples("docs/python.md")), {"__name__": "page"})
    said = capsys.readouterr().out
    # The comments in the examples say what is printed.
    assert said.startswith("True no_key a loaded function\nb'machine code' ('s0 % 8 == 0',)\nHit\nmiss: guard_false")
    assert "x.size(0) % 8 == 0" in said
    assert "train.py:40 eval" in said
    assert "profile step b'...'\n1\n" in said
    assert any(message.startswith("hit train.py:12 step (mycompiler/1 ") for message in caplog.messages)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_example_is_python(document: str) -> None:
    assert len(examples(document)) == DOCUMENTS[document]
    for example in examples(document):
        compile(example, document, "exec")
