# Golden files: a member a line, so that a changed option is a change of few lines; the older format is still read.
mkdir -p run/graphs
small run/graphs/g.json torch.softmax
small run/graphs/h.json torch.relu
cat >run/trace.jsonl <<'E'
{"seq": 1, "op": "lookup", "graph": "graphs/g.json", "hints": {"s0": 16}}
{"seq": 2, "op": "insert", "graph": "graphs/g.json", "hints": {"s0": 16}, "guards": ["s0 <= 1024"], "payload": {"size": 9}}
{"seq": 3, "op": "lookup", "graph": "graphs/g.json", "hints": {"s0": 24}}
{"seq": 4, "op": "lookup", "graph": "graphs/g.json", "hints": {"s0": 32}}
{"seq": 5, "op": "lookup", "graph": "graphs/h.json", "hints": {"s0": 32}}
{"seq": 6, "op": "insert", "graph": "graphs/h.json", "guards": [], "payload": {"size": 9}}
{"seq": 7, "op": "lookup", "graph": "graphs/h.json", "hints": {"s0": 32}}
{"seq": 8, "op": "bypass", "graph": null, "reason": "Can't cache HigherOrderOperator"}
E
hide() { sed -E 's/[0-9a-f]{64}/KEY/g; s/[0-9a-f]{32}/ENTRY/g'; }
run guardcache test --accept run
hide <run/golden.jsonl | grep -v '"why'
python3 -c '
import json
print({len(json.loads(line)) for line in open("run/golden.jsonl").readlines()[1:]}, "members a line: what it is about, and one more")'

# An option of one description changes.
cp run/golden.jsonl before
sed -i 's/"fast_math": false/"fast_math": true/' run/graphs/g.json
run guardcache test run | grep -v -e why -e 'event 5'
run guardcache test --accept run | grep -v -e why -e 'event 5'
diff before run/golden.jsonl | grep '^[<>]' | grep -v '"why' | hide
# Several components at once.
sed -i 's/"fast_math": true/"fast_math": false/; s/"1.0"/"1.1"/; s/float32/float16/' run/graphs/g.json
run guardcache test run | grep -v -e why -e 'event 5' -e places
cp before run/golden.jsonl
sed -i 's/"1.1"/"1.0"/; s/float16/float32/' run/graphs/g.json
run guardcache test run

# A run that is recorded anew asks for another description; where the older one is still there, what differs is shown.
sed 's/"fast_math": false/"fast_math": true/' run/graphs/g.json >run/graphs/g2.json
cp run/trace.jsonl trace.before
sed -i 's/g.json/g2.json/' run/trace.jsonl
run guardcache test run | grep -v -e why -e 'event 5'
run guardcache test --accept run | tail -n 2
mv trace.before run/trace.jsonl
cp before run/golden.jsonl

# Guards: one more in front, another order, another one, one less. Each is a row.
try_guards() {
    sed "s/\"s0 <= 1024\"/$1/" run/trace.jsonl >changed/trace.jsonl
    cp run/golden.jsonl changed/
    shift
    sed "s/\"s0 <= 1024\"/$1/" run/trace.jsonl >run/trace.jsonl.now
    guardcache test changed --accept >/dev/null
    mv run/trace.jsonl.now changed/trace.jsonl
    run guardcache test changed
}
mkdir changed
cp -r run/graphs changed/
try_guards '"s0 <= 1024", "s0 > 1"' '"s0 < 99", "s0 <= 1024", "s0 > 1"'
try_guards '"s0 <= 1024", "s0 > 1"' '"s0 > 1", "s0 <= 1024"'
try_guards '"s0 <= 1024", "s0 > 1"' '"s0 <= 1024", "s0 > 2"'
try_guards '"s0 <= 1024", "s0 > 1", "s0 < 9999"' '"s0 <= 1024", "s0 < 9999"'

# Events that are gone, new, and not as the trace says: the last isn't mended by accepting.
sed '3d' run/trace.jsonl >shorter && mv shorter run/trace.jsonl
echo '{"seq": 9, "op": "lookup", "graph": "graphs/h.json", "expect": {"outcome": "miss"}}' >>run/trace.jsonl
run guardcache test run
run guardcache test --accept run
run guardcache test --accept run

# The older format is read, and written anew only when asked.
cp -r "$FIXTURES/golden/format-1" old
chmod -R u+w old
run guardcache test old
head -n 1 old/golden.jsonl
sed -i 's/s0 % 8 == 0/s0 % 32 == 0/' old/trace.jsonl
run guardcache test old
sed -i 's/s0 % 32 == 0/s0 % 8 == 0/' old/trace.jsonl
run guardcache test --accept old
head -n 1 old/golden.jsonl
run guardcache test old

# What is no golden file, and one of the future.
echo '{"event": 1, "op": "lookup", "more": 1}' >>old/golden.jsonl
run guardcache test old
sed -i '1s/golden.2/golden\/3/' old/golden.jsonl
run guardcache test old

# A component may be called as it likes.
python3 - <<'PY'
import json
graph = json.load(open("run/graphs/h.json"))
graph |= {"odd[]": [1], "why.x": {"a.b": 2}}
json.dump(graph, open("run/graphs/h.json", "w"))
PY
guardcache test --accept run >/dev/null
grep -o '"components[^:]*' run/golden.jsonl | sort -u
run guardcache test run
