# Traces that can't be played: exit status 2, file and line, and no temporary cache left behind.
mkdir -p trace/graphs
small trace/graphs/g.json torch.softmax
try() {
    printf '%s\n' '{"seq": 1, "op": "bypass"}' "$1" >trace/trace.jsonl
    run guardcache replay trace | tail -n +2
}
try 'nix'
try '[]'
try '{"seq": 2}'
try '{"seq": 2, "op": "nix"}'
try '{"seq": "2", "op": "bypass"}'
try '{"seq": 2, "op": "lookup"}'
try '{"seq": 2, "op": "lookup", "graph": null}'
try '{"seq": 2, "op": "lookup", "graph": "graphs/missing.json"}'
try '{"seq": 2, "op": "lookup", "graph": "graphs/g.json", "hints": [1]}'
try '{"seq": 2, "op": "lookup", "graph": "graphs/g.json", "hints": {"s0": "16"}}'
try '{"seq": 2, "op": "lookup", "graph": "graphs/g.json", "provides": "a"}'
try '{"seq": 2, "op": "lookup", "graph": "graphs/g.json", "expect": 1}'
try '{"seq": 2, "op": "insert", "graph": "graphs/g.json", "guards": []}'
try '{"seq": 2, "op": "insert", "graph": "graphs/g.json", "guards": [1], "payload": {"size": 1}}'
try '{"seq": 2, "op": "insert", "graph": "graphs/g.json", "payload": {"size": -1}}'
try '{"seq": 2, "op": "insert", "graph": "graphs/g.json", "payload": {"size": 1e3}}'
try '{"seq": 2, "op": "insert", "graph": "graphs/g.json", "payload": {"file": "missing"}}'
try '{"seq": 2, "op": "insert", "graph": "graphs/g.json", "payload": {"size": 1}, "priority": 1.5}'
run guardcache replay trace/graphs
find "$TMPDIR" -mindepth 1 -name 'guardcache-*'
