"""The faults that scripts/mutate would put into a few lines of C are those that a person would think of, and no others."""

from __future__ import annotations

import sys
from pathlib import Path

import faults

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lint"))
import tree  # noqa: E402

SOURCE = """\
static int const table[] = { 0, 1 };
int
step(int a, int b)
{
    int c = a + 1; /* a < b */
    GCI_ASSERT(a < b);
    if (a < b && c == 0) {
        gci_buf_append_text(out, "a < b, 1");
        free(out);
    }
    return true;
}
"""
EXPECTED = """\
5 sign: int c = a - 1; /* a < b */
5 constant: int c = a + 0; /* a < b */
7 relation: if (a <= b && c == 0) {
7 relation: if (a < b && c != 0) {
7 logic: if (a < b || c == 0) {
7 constant: if (a < b && c == 1) {
7 condition: if (!(a < b && c == 0)) {
8 removed: ;
11 constant: return false;
"""


def main() -> None:
    found = faults.of_file("a.c", SOURCE, tree.bare_code(SOURCE))
    told = "".join(f"{fault.line} {fault.kind}: {fault.after.strip()}\n" for fault in found)
    problems = [] if told == EXPECTED else [f"these faults are found:\n{told}and these are expected:\n{EXPECTED}"]
    lines = SOURCE.splitlines()
    problems += [f"{fault.name}: not the line that is there" for fault in found if lines[fault.line - 1] != fault.before]
    tree.finish(problems, f"{len(found)} faults in {len(lines)} lines")


main()
