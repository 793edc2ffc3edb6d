# shellcheck shell=bash
# What every test of this folder can use; run.py has bash read it first.

# run COMMAND...: runs it and says how it ended, with standard error where it belongs between the lines.
run() {
    "$@" 2>&1
    printf 'exit %d\n' $?
}

# mask: ids, keys, times and paths differ from run to run; their places don't.
mask() {
    sed -E 's/\b[0-9a-f]{64}\b/KEY/g; s/\b[0-9a-f]{32}0?\b/ENTRY/g; s/[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8}/TIME/g'
}

# flip FILE OFFSET: changes the byte there, whatever it was.
flip() {
    python3 - "$1" "$2" <<'PY'
import sys

with open(sys.argv[1], "r+b") as file:
    file.seek(int(sys.argv[2]))
    byte = file.read(1)[0]
    file.seek(-1, 1)
    file.write(bytes([byte ^ 0xFF]))
PY
}

# small NAME TARGET [DTYPE]: writes a description with one call of TARGET on a tensor of s0 by 16.
small() {
    cat >"$1" <<GRAPH
{"format": "guardcache-graph/1", "kind": "generic",
 "graph": {"nodes": [
   {"name": "x", "op": "placeholder", "target": "x", "args": [], "kwargs": {}},
   {"name": "y", "op": "call_function", "target": "$2", "args": [{"\$node": "x"}], "kwargs": {"dim": -1}},
   {"name": "output", "op": "output", "target": "output", "args": [{"\$node": "y"}], "kwargs": {}}]},
 "inputs": [{"name": "x", "value": {"\$tensor": {"dtype": "${3:-float32}", "shape": ["s0", 16], "device": "cpu"}}}],
 "options": {"fast_math": false},
 "environment": {"compiler": "1.0"}}
GRAPH
}

# explain_event TRACE SEQ [OPTION]...: plays a captured trace up to event SEQ and explains that lookup.
explain_event() {
    local trace=$FIXTURES/traces/$1 seq=$2
    shift 2
    mkdir -p before
    ln -sfn "$trace/graphs" before/graphs
    python3 - "$trace/trace.jsonl" "$seq" >arguments 3>before/trace.jsonl <<'PY'
import json
import os
import sys

for line in open(sys.argv[1]):
    event = json.loads(line)
    if event["seq"] < int(sys.argv[2]):
        os.write(3, line.encode())
    if event["seq"] == int(sys.argv[2]):
        words = ["--graph", "before/" + event["graph"]]
        for option, member in (("--hint", "hints"), ("--provide", "provides")):
            for name, value in event.get(member, {}).items():
                words += [option, f"{name}={value if member == 'provides' else json.dumps(value)}"]
        words += ["--variant", event["variant"]] if "variant" in event else []
        print("\0".join(words), end="\0")
PY
    guardcache replay --cache cache before >/dev/null
    xargs -0 guardcache explain --cache cache "$@" <arguments
}

# story: what differs from run to run in an explanation: ids, keys, times.
story() {
    sed -E 's/\b[0-9a-f]{64}\b/KEY/g; s/\b[0-9a-f]{32}\b/ENTRY/g; s/(#[0-9]+ +)[0-9a-f]{6}\b/\1ID/g;
        s/(keys?:? )[0-9a-f]{8}\b/\1KEY/g; s/\b(stored|since) [0-9]{2}:[0-9]{2}\b/\1 TIME/g'
}
