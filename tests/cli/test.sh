# Recording a run, testing it against its golden file, and shrinking what fails.
export GUARDCACHE_RECORD=recorded
small g.json torch.softmax
small h.json torch.relu
head -c 100 /dev/zero >payload
guardcache lookup --graph g.json --hint s0=16 >/dev/null 2>&1
guardcache insert --graph g.json --hint s0=16 --guard "s0 % 8 == 0" --guard "s0 <= 1024" --payload payload --variant pgle --priority 3 >/dev/null
guardcache insert --graph g.json --hint s0=15 --guard "s0 % 8 == 0" --payload payload >/dev/null 2>&1
guardcache lookup --graph g.json --hint s0=24 >/dev/null
guardcache lookup --graph g.json --hint s0=12 --label "train.py:88" >/dev/null 2>&1
guardcache lookup --graph h.json --hint s0=12 --hint 'f={"$float": "nan"}' --hint b=true >/dev/null 2>&1
guardcache insert --graph h.json --require libdevice=a --payload payload >/dev/null
guardcache lookup --graph h.json --provide libdevice=b >/dev/null 2>&1
unset GUARDCACHE_RECORD
sed -E 's/[0-9a-f]{16}(-[0-9a-f]{8})?\.json/GRAPH.json/' recorded/trace.jsonl
find recorded/graphs -name '*.json' | wc -l

run guardcache replay recorded | tail -n 3
run guardcache test recorded
run guardcache test --accept recorded
run guardcache test recorded
run guardcache test --tap --junit report.xml .
sed -E 's/time="[0-9.]+"/time="T"/; s/[0-9a-f]{16}(-[0-9a-f]{8})?\.json/GRAPH.json/' report.xml

# A guard of the recorded run changes: the events that depend on it differ, the others don't.
sed -i 's/s0 % 8 == 0", "s0 <= 1024/s0 % 4 == 0", "s0 <= 1024/' recorded/trace.jsonl
veil() { sed -E 's/\b[0-9a-f]{32}\b/ENTRY/g'; }
run guardcache test recorded | veil
run guardcache test --tap --junit report.xml recorded | veil
grep -E '<testsuites|<failure' report.xml | sed -E 's/time="[0-9.]+"/time="T"/'
run guardcache shrink recorded --out small
grep -o '"seq": [0-9]*' small/trace.jsonl
run guardcache replay small | tail -n 3

run guardcache shrink small --out .
sed -i 's/"miss"/"hit"/; s/, "reason": "guard_false"//' small/trace.jsonl
run guardcache shrink small
run guardcache test nowhere
mkdir -p empty broken
run guardcache test empty
echo '{"op": "dance"}' >broken/trace.jsonl
run guardcache test broken

# One rule less: exactly the fixtures whose kind has that rule set differ.
fixtures() {
    mkdir -p kinds/fx/graphs kinds/stablehlo/graphs
    cp "$FIXTURES/stories/fx.json" kinds/fx/graphs/g.json
    cp "$FIXTURES/stories/stablehlo.json" kinds/stablehlo/graphs/g.json
    for kind in fx stablehlo; do
        echo '{"seq": 1, "op": "lookup", "graph": "graphs/g.json", "expect": {"reason": "no_key"}}' >kinds/$kind/trace.jsonl
    done
}
fixtures
python3 - "$FIXTURES/../src/kinds/fx/rules.json" >fewer.json <<'PY'
import json, sys
rules = json.load(open(sys.argv[1]))
rules["drop"] = []
json.dump(rules, sys.stdout)
PY
run guardcache test --accept kinds
run guardcache test --rules "$FIXTURES/../src/kinds/fx/rules.json" kinds
run guardcache test --rules fewer.json kinds | sed -E 's/[0-9a-f]{64}/HASH/g'
# The same when the shipped set is the one that has changed since the golden file was written.
run guardcache test --accept --rules fewer.json kinds | sed -E 's/[0-9a-f]{64}/HASH/g'
run guardcache test kinds | sed -E 's/[0-9a-f]{64}/HASH/g'
# A trace that can't be read isn't something to accept.
run guardcache test --accept broken
