# replay: every kind of event, the output of each, the summary, mismatches, and a cache that is kept.
mkdir -p trace/graphs trace/payloads
small trace/graphs/g.json torch.softmax
printf 'from a file' >trace/payloads/x
cat >trace/trace.jsonl <<'TRACE'
{"seq": 1, "op": "lookup", "graph": "graphs/g.json", "hints": {"s0": 8}, "expect": {"outcome": "miss", "reason": "no_key"}}
{"seq": 2, "op": "insert", "graph": "graphs/g.json", "hints": {"s0": 8}, "guards": ["s0 % 8 == 0"], "payload": {"size": 48211}, "compile_ns": 812000000}
{"seq": 3, "op": "lookup", "graph": "graphs/g.json", "hints": {"s0": 16}, "expect": {"outcome": "hit", "priority": 0, "variant": null}}
{"seq": 4, "op": "lookup", "graph": "graphs/g.json", "hints": {"s0": 12}, "expect": {"outcome": "miss", "reason": "guard_false"}}
{"seq": 5, "op": "bypass", "graph": null, "reason": "Can't cache HigherOrderOperator: cond"}
{"seq": 6, "op": "insert", "graph": "graphs/g.json", "guards": [], "payload": {"file": "payloads/x"}, "variant": "pgle", "priority": -5, "requires": {"libdevice": "a", "level": 3}, "metadata": {"strides": [1, 2.5, null]}}
{"seq": 7, "op": "insert", "graph": "graphs/g.json", "hints": {"s0": 12}, "guards": ["s0 % 8 == 0"], "payload": {"size": 0}, "expect": {"outcome": "refused", "reason": "guard_false"}}
{"seq": 8, "op": "insert", "graph": "graphs/g.json", "hints": {"s0": 0}, "guards": ["8 // s0 == 1"], "payload": {"size": 1}, "expect": {"outcome": "refused", "reason": "guard_error"}}
{"seq": 9, "op": "lookup", "graph": "graphs/g.json", "hints": {"s0": 12}, "variant": "pgle", "provides": {"libdevice": "a", "level": 3}, "expect": {"outcome": "hit", "variant": "pgle", "priority": -5}}
{"seq": 10, "op": "lookup", "graph": "graphs/g.json", "hints": {"s0": 12}, "variant": "pgle", "provides": {"libdevice": "b"}, "expect": {"outcome": "miss", "reason": "requirement"}}
{"seq": 11, "op": "lookup", "graph": "graphs/g.json", "hints": {"s0": 16}, "expect_variant": "pgle"}
{"seq": 12, "op": "lookup", "graph": "graphs/g.json", "hints": {"s0": null, "x": 1e400}, "variant": "nix", "expect": {"outcome": "miss", "reason": "variant"}, "note": "a float that is too large"}
TRACE
echo "a line that can't be read ends it:"
run guardcache replay trace | tail -n 2
sed -i '$d' trace/trace.jsonl
run guardcache replay trace | mask
run guardcache replay --json trace | tail -n 2 | mask
find "$TMPDIR" -mindepth 1 -name 'guardcache-*'

echo "on a kept cache:"
run guardcache replay --json --cache kept trace | tail -n 2 | mask
run guardcache replay --json --cache kept trace | head -n 1 | mask
guardcache ls --cache kept | tail -n 1
guardcache verify --cache kept | sed -E 's/[0-9.]+ (B|KiB)/SIZE/'

echo "expectations that don't hold, and errors:"
cat >trace/trace.jsonl <<'TRACE'
{"seq": 1, "op": "lookup", "graph": "graphs/g.json", "hints": {"s0": 8}, "expect": {"outcome": "hit"}}
{"seq": 2, "op": "insert", "graph": "graphs/g.json", "guards": ["s0 +"], "payload": {"size": 1}, "expect": {"outcome": "error"}}
{"seq": 3, "op": "bypass", "expect": {"outcome": "bypass", "variant": null, "priority": 1}}
TRACE
run guardcache replay --json trace | mask
echo '{"seq": 1, "op": "insert", "graph": "graphs/g.json", "guards": ["s0 +"], "payload": {"size": 1}}' >trace/trace.jsonl
run guardcache replay --json trace | mask

echo "a recording under other rules is played under the same, or its outcomes are others:"
python3 - "$FIXTURES/stories/fx.json" <<'PY'
import json, sys
d = json.load(open(sys.argv[1]))
for i in 1, 2:
    d["options"]["graph_id"] = i
    json.dump(d, open(f"graph{i}.json", "w"))
json.dump({"format": "guardcache-rules/1", "name": "mine"}, open("mine.json", "w"))
PY
record() { run env GUARDCACHE_RECORD=recorded GUARDCACHE_DIR=under guardcache "$@"; }
echo code >code
record insert --graph graph1.json --rules mine.json --payload code | mask
record lookup --graph graph2.json --rules mine.json
run guardcache replay --rules mine.json recorded | tail -n 4 | mask
run guardcache replay recorded | tail -n 4 | mask
run guardcache replay --rules none.json recorded

echo "a lookup that took only candidates under its own names is played as one:"
small names.json torch.tan
sed 's/s0/s7/g' names.json >others.json
export GUARDCACHE_RECORD=named GUARDCACHE_DIR=kept_names
guardcache insert --graph names.json --payload code >/dev/null
run guardcache lookup --graph others.json --same-names
run guardcache lookup --graph others.json
unset GUARDCACHE_RECORD GUARDCACHE_DIR
grep -c '"accept_renames": false' named/trace.jsonl
run guardcache replay named | tail -n 4 | mask
echo '{"seq": 1, "op": "lookup", "graph": "graphs/g.json", "accept_renames": 1}' >trace/trace.jsonl
run guardcache replay trace | mask
