# Differences accepted: all, of one fixture, of one event, or asked for on the terminal.
record() {
    mkdir -p "$1/graphs"
    small "$1/graphs/g.json" torch.softmax
    cat >"$1/trace.jsonl" <<'E'
{"seq": 1, "op": "insert", "graph": "graphs/g.json", "hints": {"s0": 16}, "guards": ["s0 <= 64"], "payload": {"size": 9}, "variant": "a"}
{"seq": 2, "op": "insert", "graph": "graphs/g.json", "hints": {"s0": 16}, "guards": ["s0 % 8 == 0"], "payload": {"size": 9}, "variant": "b"}
{"seq": 3, "op": "lookup", "graph": "graphs/g.json", "hints": {"s0": 48}, "variant": "a"}
{"seq": 4, "op": "lookup", "graph": "graphs/g.json", "hints": {"s0": 48}, "variant": "b"}
{"seq": 5, "op": "lookup", "graph": "graphs/g.json", "hints": {"s0": 24}, "variant": "b"}
{"seq": 6, "op": "bypass", "graph": null, "reason": "none"}
E
    guardcache test --accept "$1" >/dev/null
}
# Three changes: a guard of each insert, of which the second changes two events; and the reason of a bypass.
change() {
    sed -i 's/s0 <= 64/s0 <= 32/; s/s0 % 8 == 0/s0 % 16 == 0/; s/"none"/"some"/' "$1/trace.jsonl"
}
only() { grep -v '"why' "$1/golden.jsonl" | diff golden.before - | grep '^[<>]' | sed -E 's/[0-9a-f]{32}/ENTRY/g'; }

record one
record two
grep -v '"why' one/golden.jsonl >golden.before
change one
change two
run guardcache test --accept one | head -n 1
run guardcache test one two | tail -n 3

# One event, with what is told below it; the others stay.
run guardcache test two | sed -E '/advice/d'
run guardcache test --accept --event 6 two | tail -n 4
only two
run guardcache test --accept --event 3 two | head -n 8
only two
run guardcache test --accept --event 5 two | head -n 3
run guardcache test two
run guardcache test --accept --event 99 two
run guardcache test --accept --event 9x two
run guardcache test --event 3 two
run guardcache test --accept --event 3 one two
run guardcache test --ask two
run guardcache test --ask --accept two

# Asked one by one, on a pseudoterminal.
cat >ask.py <<'PY'
import os
import pty
import re
import sys

answers, arguments = sys.argv[1], sys.argv[2:]
try:
    child, terminal = pty.fork()
except OSError as error:
    print("skipped:", error)
    sys.exit(77)
if child == 0:
    os.execvp("guardcache", ["guardcache", "test", "--ask", *arguments])
seen = b""
while True:
    try:
        piece = os.read(terminal, 65536)
    except OSError:
        break
    if not piece:
        break
    seen += piece
    if re.search(rb"q\] $", seen):
        os.write(terminal, (answers[:1] or "\x04").encode() + (b"\n" if answers else b""))
        answers = answers[1:]
print(seen.decode().replace("\r\n", "\n"), end="")
print("exit", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
PY
ask() {
    echo "--- answers $1"
    python3 ask.py "$@" || exit
}
rm -rf one two
record one
record two
change one
change two
ask nxyn one
only one
ask nq one two
ask a one
run guardcache test one
ask q two
ask yn two
run guardcache test two
rm two/golden.jsonl
ask n two
ask y two
run guardcache test two
