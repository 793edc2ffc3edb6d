"""Functions that aren't used: unsafe ones nowhere, and in the library none that touch what belongs to its user."""

from __future__ import annotations

import re
from pathlib import Path

import tree

# Reason by function; the reason says what to use.
EVERYWHERE = {
    "strcpy": "no bound: use a view and gci_buf",
    "strcat": "no bound: use gci_buf",
    "strncpy": "may not end with a zero: use snprintf",
    "strncat": "its bound is easily wrong: use gci_buf",
    "sprintf": "no bound: use snprintf or gci_buf_format",
    "vsprintf": "no bound: use vsnprintf",
    "gets": "no bound",
    "atoi": "no errors: use strtoll and check",
    "atol": "no errors: use strtoll and check",
    "atof": "no errors: use strtod and check",
    "strtok": "hidden state: search in a view",
    "rand": "hidden state",
    "srand": "hidden state",
    "random": "hidden state",
    "drand48": "hidden state",
    "tmpnam": "a race: use mkstemp",
    "tempnam": "a race: use mkstemp",
    "mktemp": "a race: use mkstemp",
    "system": "a shell: use posix_spawn",
    "popen": "a shell: use posix_spawn",
    "alloca": "the stack has no limit to check",
    "setjmp": "hides control flow",
    "longjmp": "hides control flow",
    "localtime": "hidden state: use localtime_r",
    "gmtime": "hidden state: use gmtime_r",
    "asctime": "hidden state: use strftime",
    "ctime": "hidden state: use strftime",
    "strerror": "hidden state: use gci_fail_errno",
    "readdir_r": "deprecated: use readdir",
}
LIBRARY = {
    "getenv": "the caller reads its environment",
    "secure_getenv": "the caller reads its environment",
    "setenv": "the environment is the caller's",
    "putenv": "the environment is the caller's",
    "printf": "the library doesn't print: use the log callback",
    "puts": "the library doesn't print: use the log callback",
    "putchar": "the library doesn't print: use the log callback",
    "fprintf": "the library doesn't print: use the log callback",
    "fputs": "the library doesn't print: use the log callback",
    "perror": "the library doesn't print: use gci_fail_errno",
    "exit": "the library doesn't end its process",
    "_exit": "the library doesn't end its process",
    "abort": "the library doesn't end its process: use GCI_ASSERT",
    "signal": "signal handlers are the caller's",
    "sigaction": "signal handlers are the caller's",
    "setlocale": "the locale is the caller's",
    "umask": "the umask is the caller's",
    "chdir": "the working directory is the caller's",
    "atexit": "the library has no global state",
    "pthread_atfork": "the library has no global state",
    "pthread_create": "the library starts no threads unasked",
    "fork": "the library starts no processes",
}
COMMAND = {
    "printf": "a text from elsewhere may drive the terminal: use cli_print",
    "fprintf": "a text from elsewhere may drive the terminal: use cli_print",
    "vprintf": "a text from elsewhere may drive the terminal: use cli_print",
    "vfprintf": "a text from elsewhere may drive the terminal: use cli_print",
}
ALLOWED = {
    **{
        (f"src/cli/{name}.c", function): "prints only what the command itself says"
        for name in ("maintenance/cmd_version", "main", "help", "manual", "shared/progress")
        for function in ("printf", "fprintf")
    },
    ("src/cli/shared/output.c", "strerror"): "the command is one thread that ends after printing its message",
    ("src/cache/compile/bulk.c", "pthread_create"): "the caller asked for workers",
    ("src/cache/tiers/fleet_lease.c", "pthread_create"): "a lease of a fleet must be kept while its holder compiles",
    ("src/cache/tiers/upload.c", "pthread_create"): "nobody who inserts waits for a network",
    ("src/graph/fingerprint/fingerprint_read.c", "pthread_create"): "the caller asked for threads",
    ("src/store/processes/fork_gate.c", "pthread_atfork"): "SQLite's state is the process's, and a child inherits it",
    ("src/tier/memory/memory_tier.c", "pthread_atfork"): "a child's copy of a tier in memory must be whole",
    ("src/tier/redis/wire/resolve.c", "pthread_create"): "getaddrinfo knows no deadline, and whoever calls has one",
    ("src/store/repair/verify_store.c", "pthread_create"): "the caller asked for threads",
}


def check(path: Path, name: str, banned: dict[str, str]) -> list[str]:
    code = tree.bare_code(path.read_text())
    pattern = re.compile(r"(?<![\w.>])(" + "|".join(map(re.escape, banned)) + r")\s*\(")
    return [
        f"{name}:{code[: match.start()].count(chr(10)) + 1}: {match[1]}: {banned[match[1]]}"
        for match in pattern.finditer(code)
        if (name, match[1]) not in ALLOWED
    ]


def main() -> None:
    top = tree.root()
    problems, count = [], 0
    for path in tree.files(top, ".c", ".h", ".inc", ".def", rooms=("include", "src", "guards")):
        name = path.relative_to(top).as_posix()
        banned = EVERYWHERE | (COMMAND if name.startswith("src/cli/") else LIBRARY)
        problems += check(path, name, banned)
        count += 1
    tree.finish(problems, f"{count} files use none of {len(EVERYWHERE) + len(LIBRARY) + len(COMMAND)} banned functions")


main()
