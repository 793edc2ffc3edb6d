# The progress bar: on a terminal only, on standard error only, and gone at the end.
mkdir trace
small trace/g.json torch.softmax
python3 -c '
for number in range(300000):
    print("{\"seq\": %d, \"op\": \"lookup\", \"graph\": \"g.json\"}" % number)' >trace/trace.jsonl
python3 - <<'PY' || exit
import os
import pty
import re
import subprocess
import sys

try:
    terminal, end = pty.openpty()
except OSError as error:
    print("skipped:", error)
    sys.exit(77)
command = subprocess.Popen(["guardcache", "replay", "trace"], stdout=subprocess.DEVNULL, stderr=end)
os.close(end)
seen = b""
try:
    while chunk := os.read(terminal, 65536):
        seen += chunk
except OSError:  # how a terminal says that its other end is closed
    pass
print("exit", command.wait())
pictures = re.findall(rb"\r\[=* *\] +(\d+) %", seen)
print("some pictures" if pictures else "none", "growing" if pictures == sorted(pictures, key=int) else "jumping")
print("at most 120 columns" if all(len(line) <= 120 for line in seen.split(b"\r")) else "too wide")
print("gone" if seen.endswith(b"\r\x1b[K") else seen[-100:])
PY
guardcache replay trace 2>&1 >/dev/null | wc -c
