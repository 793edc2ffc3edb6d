# The progress bar: on a terminal only, on standard error only, and gone at the end.
# What takes long are payloads that come late through pipes.
mkdir trace
small trace/g.json torch.softmax
for number in 1 2 3 4; do
    mkfifo "trace/$number"
    echo "{\"seq\": $number, \"op\": \"insert\", \"graph\": \"g.json\", \"guards\": [], \"payload\": {\"file\": \"$number\"}}"
done >trace/trace.jsonl
slowly() {
    for number in 1 2 3 4; do
        sleep 0.6
        echo payload >"trace/$number"
    done
}
at_once() {
    for number in 1 2 3 4; do
        echo payload >"trace/$number"
    done
}
cat >watch.py <<'PY'
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
command = subprocess.Popen(["guardcache", *sys.argv[1:]], stdout=subprocess.DEVNULL, stderr=end)
os.close(end)
seen = b""
try:
    while chunk := os.read(terminal, 65536):
        seen += chunk
except OSError:  # how a terminal says that its other end is closed
    pass
print("exit", command.wait())
pictures = re.findall(rb"\r\x1b\[K(\w+) \[=* *\] +(\d+) %(  +\d+ (?:s|min|h) left)?", seen)
shares = [int(share) for _, share, _ in pictures]
print({label.decode() for label, _, _ in pictures}, "growing" if shares == sorted(shares) else "jumping")
print("with what is left" if all(left for _, share, left in pictures if 2 <= int(share) < 100) else pictures)
print("at most 120 columns" if all(len(line) <= 123 for line in seen.split(b"\r")) else "too wide")
print("gone" if seen.endswith(b"\r\x1b[K") else seen[-100:])
PY
slowly &
python3 watch.py replay trace || exit
slowly &
python3 watch.py test --accept --jobs 1 trace || exit
slowly &
guardcache replay trace 2>&1 >/dev/null | wc -c
at_once &
guardcache test trace 2>&1 >/dev/null | wc -c
