"""Writes the manual page: a template whose line @COMMANDS@ is replaced by what the command says about its commands.

Arguments: the template, the command, the page.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def main() -> None:
    template, command, page = sys.argv[1:4]
    result = subprocess.run([command, "help", "--manual"], capture_output=True, text=True, check=True)
    text = Path(template).read_text()
    assert text.count("@COMMANDS@\n") == 1
    Path(page).write_text(text.replace("@COMMANDS@\n", result.stdout))


main()
