# Captured descriptions, looked up without a word on whose they are: sources and places come from what they say themselves.
graph=$FIXTURES/traces/multi_buckets/graphs/b4cb5783bdbbe688.json
echo code >payload
guardcache insert --graph "$graph" --guard "L['t0']*L['t1'] % 8 == 0" --hint t0=16 --hint t1=4 --payload payload \
    --compile-ns 1000000000 >/dev/null

veil() {
    mask | sed -E 's/\b[0-9]{2}:[0-9]{2}(:[0-9]{2})?\b/WHEN/g; s/^(TIME) +[0-9]+/\1 PROCESS/
        s/(key |#1  |PROCESS .{24}  )[0-9a-f]{6,8}/\1ID/; s/(no_key|guard_false)  ( +)[0-9a-f]{8}/\1  \2ID/'
}

echo "now"
guardcache explain --graph "$graph" --hint t0=17 --hint t1=3 | veil
for described in "$graph --hint t0=17 --hint t1=3" "$FIXTURES/stories/stablehlo.json" "$FIXTURES/stories/llvm-ir.json"; do
    # shellcheck disable=SC2086
    guardcache lookup --graph $described 2>/dev/null
done
echo "and later"
guardcache explain --last --reason guard_false | veil
echo "as JSON"
guardcache explain --last --reason guard_false --json | python3 -c 'import json, sys; print(json.loads(sys.stdin.read())["sources"])'
echo "what somebody says goes first"
guardcache explain --graph "$graph" --hint t0=17 --hint t1=3 --source "t0=rows + 1" | veil | sed -n 2,5p
echo "inputs"
python3 - "$graph" <<'PY'
import json, sys

d = json.load(open(sys.argv[1]))
tensor = d["inputs"][-1]["value"]["$tensor"]
tensor["dtype"], tensor["requires_grad"] = "float64", True
json.dump(d, open("changed.json", "w"))
PY
guardcache explain --graph changed.json --hint t0=17 --hint t1=3 | veil
guardcache lookup --graph changed.json --hint t0=17 --hint t1=3 2>/dev/null
guardcache explain --last | veil | grep "^  x (inputs"
echo "the journal"
guardcache journal | veil
echo "what costs most"
guardcache top | veil
guardcache top guards | veil
