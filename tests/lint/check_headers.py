"""Compiles each public header alone, as C11 and as C++17, with every warning an error.

Arguments: the top of the tree, the C compiler, the C++ compiler.
"""

from __future__ import annotations

import shutil
import subprocess
import sys

import tree

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
        for command in languages:
            output = compile_alone(command, header, str(top / "include"))
            if output:
                problems.append(f"{header} does not compile alone ({command[-1]}):\n{output}")
    if not headers:
        problems.append("there are no public headers")
    tree.finish(problems, f"{len(headers)} headers compile alone in {len(languages)} languages")


main()
