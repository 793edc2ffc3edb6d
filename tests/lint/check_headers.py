"""Compiles each public header alone, as C11 and as C++17, with every warning an error; and each of their structs can grow.

A struct that callers initialise or the library fills begins with `size_t size`, which its _INIT macro sets. The rest is
either a value, which never changes, or lent: made by the library alone, so that members may be appended.

Arguments: the top of the tree, the C compiler, the C++ compiler.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

import tree

STRUCT = re.compile(r"^typedef struct (gcache_\w+) \{\n(.*?)^\} \1;", re.MULTILINE | re.DOTALL)
SIZE = re.compile(r"\s*size_t size;")
VALUES = """attachment component config delta error hint hint_literal hints key pair rename signing_key symbol text_name
    tier_faults tier_lease tier_user
verdict"""
LENT = "change entry_view event object fingerprint_change fingerprint_line journal_entry line setting tier_state"
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]


def compile_alone(command: list[str], header: str, include: str) -> str:
    result = subprocess.run(
        [*command, *WARNINGS, "-fsyntax-only", "-I", include, "-"],
        input=f"#include <guardcache/{header}>\n#include <guardcache/{header}>\n",
        capture_output=True,
        text=True,
        check=False,
    )
    return result.stderr


def check_structs(name: str, text: str) -> list[str]:
    fixed = {f"gcache_{word}" for word in (VALUES + " " + LENT).split()}
    problems = []
    for struct, body in STRUCT.findall(text):
        if struct in fixed:
            continue
        if not SIZE.match(body):
            problems.append(f"{name}: {struct} can't grow: its first member isn't size, and it is no value and not lent")
        elif f"#define {struct.upper()}_INIT {{ .size = sizeof({struct}) }}" not in text:
            problems.append(f"{name}: {struct} has no {struct.upper()}_INIT that sets its size")
    return problems


def main() -> None:
    top = tree.root()
    c_compiler, cpp_compiler = (sys.argv[2:4] + ["cc", "c++"])[:2]
    languages = [[c_compiler, "-x", "c", "-std=c11"]]
    if shutil.which(cpp_compiler):
        languages.append([cpp_compiler, "-x", "c++", "-std=c++17"])
    else:
        print(f"skipped C++17: there is no {cpp_compiler}")
    headers = [path.name for path in tree.files(top, ".h", rooms=("include",))]
    problems = []
    for header in headers:
        problems += check_structs(header, (top / "include" / "guardcache" / header).read_text())
        for command in languages:
            output = compile_alone(command, header, str(top / "include"))
            if output:
                problems.append(f"{header} does not compile alone ({command[-1]}):\n{output}")
    if not headers:
        problems.append("there are no public headers")
    tree.finish(problems, f"{len(headers)} headers compile alone in {len(languages)} languages")


main()
