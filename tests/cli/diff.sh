# Two descriptions compared, from files and from what a cache keeps of their keys: components first, then exact paths.
trace=$FIXTURES/traces/mlp_train/graphs
small a.json torch.softmax
small b.json torch.softmax float16
python3 - <<'PY' >c.json
import json

graph = json.load(open("a.json"))
graph["options"] |= {"fast_math": True, "level": 2}
relu = {"name": "z", "op": "call_function", "target": "torch.relu", "args": [{"$node": "y"}], "kwargs": {}}
graph["graph"]["nodes"].insert(2, relu)
print(json.dumps(graph))
PY

echo "twins under other names:"
run guardcache diff "$trace"/f4d33ed93d25eb4e.json "$trace"/f4d33ed93d25eb4e-twin.json
run guardcache diff --json a.json a.json
echo "a dtype:"
run guardcache diff a.json b.json
echo "an option, a new one, and a node between others:"
run guardcache diff a.json c.json
run guardcache diff --json a.json c.json
echo "the other way round:"
run guardcache diff c.json a.json
echo "at most one:"
run guardcache diff --max 1 a.json c.json

echo "a rule set of one's own:"
echo '{"format": "guardcache-rules/1", "name": "mine", "drop": [{"path": "options"}]}' >mine.json
run guardcache diff --rules mine.json a.json c.json
run guardcache key --rules mine.json a.json | mask
[ "$(guardcache key --rules mine.json a.json)" != "$(guardcache key a.json)" ] && echo "rules are part of the key"

echo "stored keys:"
echo payload >payload
for file in a c; do
    guardcache insert --graph $file.json --payload payload >/dev/null
done
guardcache insert --graph b.json --rules mine.json --payload payload >/dev/null
run guardcache lookup --graph b.json --rules mine.json --out /dev/null
key_a=$(guardcache key a.json | cut -c -64)
key_c=$(guardcache key c.json | cut -c -64)
run guardcache diff "$key_a" "$key_c"
guardcache diff "${key_a:0:10}" c.json | cmp - <(guardcache diff a.json c.json) && echo "as between the files"
run guardcache diff "$key_a" "$key_a"

echo "a text, line by line:"
for n in 1 2; do
    python3 - $n >text$n.json <<'PY'
import json
import sys

lines = [f"  op{i}: add a{i}, b{i}   a line of the module's text" for i in range(40)]
if sys.argv[1] == "2":
    lines[20:21] = ["  op20: mul a20, b20", "  op20b: neg"]
print(json.dumps({"format": "guardcache-graph/1", "kind": "generic", "module": "\n".join(lines)}))
PY
done
run guardcache diff text1.json text2.json

echo "what can't be compared:"
missing=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
run guardcache diff a.json missing.json
run guardcache diff a.json 0123456789
run guardcache diff a.json $missing
run guardcache diff --max -1 a.json b.json
echo '{"format": "guardcache-rules/1", "name": "no", "text": [{"path": "module", "kind": "bypass", "pattern": "op",
    "why": "it says op"}]}' >no.json
run guardcache diff --rules no.json text1.json text2.json
