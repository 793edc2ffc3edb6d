# The canonical form of a small description, byte for byte but for the hash of the rules: every key hangs on it.
small a.json torch.softmax
guardcache canon --hex a.json | sed -E 's/(6572756c65735820)[0-9a-f]{64}/\1RULES/'
[ "$(guardcache canon a.json | od -An -v -tx1 | tr -d ' \n')" = "$(guardcache canon --hex a.json)" ] && echo "same bytes"

echo "how it came about:"
sed 's/"op": "call_function"/"op": "call_function", "meta": {"line": 7}/; s/"options": {/&"graph_id": 3, /; s/"generic"/"fx"/' a.json >fx.json
guardcache canon --trace fx.json
guardcache canon --trace --json fx.json
cat >module.json <<'GRAPH'
{"format": "guardcache-graph/1", "kind": "llvm-ir",
 "module": "; ModuleID = 'julia_f_12'\nsource_filename = \"a.jl\"\n@jl_global_77.8 = private constant i64 7\ndefine i64 @julia_f_12(i64 %0) {\n  %v = load i64, ptr @jl_global_77.8\n  ret i64 %v\n}\n"}
GRAPH
guardcache canon --trace module.json
run guardcache canon --trace --hex a.json
