#!/usr/bin/env python3
"""Follows every advice that has an example, live, and compares what happens with the table in docs/advice.md.

run.py [--accept] [--every N] [--jobs N] [--key KEY] [--keep DIRECTORY] [KIND | KIND/EXAMPLE]...

An example (NAME.py below src/kinds/KIND/examples) has functions that run in a process each, on one cache: `stored` fills it,
`asked` misses, and the explanation must give the advice whose row in advice.json names the example; `followed` does what it
says. AFTER
says what must come of it:

    hit     everything is found
    once    in an empty cache, `followed` compiles once for all its calls
    kept    nothing can be done: `asked` compiled once, and finds it the next time

ENVIRONMENT may have variables for a stage. compiler.py beside the examples runs the compiler; where it can't be imported, the
examples of that kind are left out.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import multiprocessing
import os
import re
import shutil
import sys
import tempfile
import traceback
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

TOP = Path(__file__).resolve().parents[2]
KINDS = TOP / "src" / "kinds"
TABLE = TOP / "docs" / "advice.md"
BEGIN, END = "<!-- table: written by tests/advice/run.py -->", "<!-- end of table -->"

COMPILERS = {"fx": "torch", "stablehlo": "jax"}

AFTER = {
    "hit": "found",
    "once": "compiled once for all",
    "kept": "compiled once more, then found",
}


class Failed(Exception):
    """An example that doesn't do what it says."""


class Example(NamedTuple):
    kind: str
    name: str
    advice: tuple[str, ...]
    """Texts as in advice.json: one of them must be given."""

    @property
    def path(self) -> Path:
        (found,) = (KINDS / self.kind / "examples").rglob(f"{self.name}.py")
        return found


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def examples() -> list[Example]:
    found: dict[tuple[str, str], list[str]] = {}
    for path in sorted(KINDS.glob("*/advice.json")):
        for row in json.loads(path.read_text(encoding="utf-8")).get("advice", []):
            names = row.get("example", [])
            for name in [names] if isinstance(names, str) else names:
                found.setdefault((path.parent.name, name), []).append(row["text"])
    return [Example(kind, name, tuple(texts)) for (kind, name), texts in found.items()]


def in_process(work: Any) -> Any:
    """What work() returns, in a process of its own."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            result = {"result": work()}
        except BaseException:
            result = {"error": traceback.format_exc()}
        with os.fdopen(writing, "w") as pipe:
            json.dump(result, pipe)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    outcome = json.loads(answer) if answer else {"error": "the process died"}
    if "error" in outcome:
        raise Failed(outcome["error"])
    return outcome["result"]


def run_stage(compiler: ModuleType, example: Example, stage: str, directory: str, key: str) -> dict[str, Any]:
    def work() -> dict[str, Any]:
        module = load(example.path)
        os.environ.update(getattr(module, "ENVIRONMENT", {}).get(stage, {}))
        compiler.start(directory, key)
        getattr(module, stage)()
        return {"lookups": compiler.lookups(), "text": compiler.explain(), "after": module.AFTER}

    return in_process(work)  # type: ignore[no-any-return]


def advice_in(text: str) -> list[str]:
    """The advices of explanations, each on one line."""
    found = re.findall(r"^ +advice: +(.*(?:\n {14}.*)*)", text, re.MULTILINE)
    return [" ".join(part.split()) for part in found]


def fits(template: str, shown: str) -> bool:
    parts = re.split(r"\{enough:([^}]*)\}", template)
    patterns = [re.sub(r"\\\{\w+\\\}", "(.+)", re.escape(part)) for part in parts]
    pattern = "".join(f"({part})?" if optional % 2 else part for optional, part in enumerate(patterns))
    return re.search(pattern, shown) is not None


def given(example: Example, text: str) -> str:
    for shown in advice_in(text):
        if any(fits(template, shown) for template in example.advice):
            return shown
    raise Failed(f"the explanation doesn't give the advice:\n{text}")


def misses(report: dict[str, Any]) -> int:
    return sum(outcome != "hit" for outcome, _ in report["lookups"])


def hits(report: dict[str, Any]) -> int:
    return len(report["lookups"]) - misses(report)


def check_after(compiler: ModuleType, example: Example, after: str, directory: str, key: str) -> None:
    stage = "asked" if after == "kept" else "followed"
    if after == "once":
        directory += "-once"
    report = run_stage(compiler, example, stage, directory, key)
    wanted = 1 if after == "once" else 0
    if misses(report) != wanted or (after != "once" and hits(report) == 0):
        raise Failed(f"following it: {misses(report)} compiled, {hits(report)} found\n{report['text']}")


def follow(compiler: ModuleType, example: Example, root: str, key: str) -> tuple[str, str]:
    """The advice as it is shown, and what comes of it."""
    directory = os.path.join(root, f"{example.kind}-{example.name}-{key}")
    run_stage(compiler, example, "stored", directory, key)
    asked = run_stage(compiler, example, "asked", directory, key)
    if misses(asked) == 0:
        raise Failed("there is no miss")
    shown = given(example, asked["text"])
    check_after(compiler, example, asked["after"], directory, key)
    return shown, asked["after"]


def title(example: Example) -> str:
    match = re.match(r'"""(.*?)\.?"""', example.path.read_text(encoding="utf-8"))
    assert match is not None
    return match.group(1)


def row_of(example: Example, shown: str, after: str) -> str:
    if "ENVIRONMENT" in example.path.read_text(encoding="utf-8"):
        shown = re.sub(r"\{enough:([^}]*)\}", r"\1", example.advice[0])  # what is shown is about this machine
    link = f"[{example.name}](../{example.path.relative_to(TOP)})"
    cells = (f"{title(example)} ({link})", shown, AFTER[after])
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def section(kind: str, lines: list[str]) -> str:
    return f"### {kind}\n\n| miss | advice | after following it |\n| --- | --- | --- |\n" + "\n".join(lines)


def has_rows(rows: dict[str, list[str]]) -> bool:
    """Whether the document has each of these rows."""
    lines = set(TABLE.read_text(encoding="utf-8").splitlines())
    return all(row in lines for some in rows.values() for row in some)


def write_table(rows: dict[str, list[str]], accept: bool) -> bool:
    """Whether the document has it and nothing else, or has it now. What it says of kinds that weren't tried stays."""
    text = TABLE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    old, _, behind = rest.partition(END)
    sections = {part.split("\n")[0].removeprefix("### "): part for part in re.findall(r"### .*?(?=\n\n###|\n*\Z)", old, re.DOTALL)}
    sections |= {kind: section(kind, lines) for kind, lines in rows.items()}
    new = "\n\n" + "\n\n".join(sections[kind] for kind in sorted(sections)) + "\n\n"
    if accept:
        TABLE.write_text(before + BEGIN + new + END + behind, encoding="utf-8")
    return accept or new == old


def attempt(example: Example, root: str, keys: list[str]) -> tuple[str | None, str]:
    """The row of the table, if all is well, and what is said. In a process that has loaded the compiler."""
    compiler = sys.modules["compiler"]
    try:
        results = [follow(compiler, example, root, key) for key in keys]
    except Failed as error:
        return None, f"FAIL  {example.kind}/{example.name}: {error}"
    return row_of(example, *results[0]), f"ok    {example.kind}/{example.name}: {results[0][0]}"


def run_kind(kind: str, wanted: list[Example], root: str, options: argparse.Namespace) -> tuple[list[str], int]:
    """Rows of the table, and how many failed."""
    compiler = load(KINDS / kind / "examples" / "compiler.py")
    compiler.prepare()
    keys = [options.key] if options.key is not None else compiler.KEYS
    rows = []
    with ProcessPoolExecutor(options.jobs, multiprocessing.get_context("fork")) as pool:
        for row, line in pool.map(attempt, wanted, repeat(root), repeat(keys)):
            print(line, flush=True)
            rows += [row] if row is not None else []
    return rows, len(wanted) - len(rows)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--accept", action="store_true", help="write the table")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="each Nth example alone")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="so many examples at once")
    parser.add_argument("--key", help="of those that the kind's compiler.py has, only this one")
    parser.add_argument("--keep", help="a directory for the caches, which stay")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    found = [e for e in examples() if not options.names or {e.kind, f"{e.kind}/{e.name}"} & set(options.names)][:: options.every]
    root = options.keep or tempfile.mkdtemp()
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", os.path.join(root, "inductor"))
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
    rows: dict[str, list[str]] = {}
    failed = 0
    try:
        for kind in dict.fromkeys(example.kind for example in found):
            wanted = [example for example in found if example.kind == kind]
            if importlib.util.find_spec(COMPILERS.get(kind, kind)) is None:
                print(f"left out: {COMPILERS[kind]} isn't here")
                continue
            rows[kind], failures = run_kind(kind, wanted, root, options)
            failed += failures
    finally:
        if options.keep is None:
            shutil.rmtree(root, ignore_errors=True)
    whole = options.every == 1 and all("/" not in name for name in options.names)
    if not failed and not (write_table(rows, options.accept) if whole else has_rows(rows)):
        print(f"{TABLE.name} differs: {sys.argv[0]} --accept writes it")
        failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
