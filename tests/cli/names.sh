# Code compiled under other names: a hit says what is called how, and one switch refuses it.
story() { sed -E 's/(since|key|#[0-9]+ ) ?[0-9a-f:]{5,8}\b/\1 _/g; s/ [0-9]{2}:[0-9]{2}:[0-9]{2}/ TIME/g'; }
module() {
    cat >"$1" <<GRAPH
{"format": "guardcache-graph/1", "kind": "$2", "module": "$3"}
GRAPH
}
module stored.json llvm-ir 'define double @julia_f_123(double %0) {\n  %1 = call double @jlsys_g_124(double %0)\n  ret double %1\n}\n'
module asked.json llvm-ir 'define double @julia_f_77(double %0) {\n  %1 = call double @jlsys_g_90(double %0)\n  ret double %1\n}\n'
printf 'object' >object

run guardcache insert --graph stored.json --payload object | mask
run guardcache lookup --graph asked.json --same-names
run guardcache lookup --graph asked.json --json | mask
run guardcache lookup --graph asked.json --out -; echo
run guardcache lookup --graph stored.json --same-names --json | mask

echo "why, now and afterwards:"
run guardcache explain --graph asked.json --same-names | story
run guardcache explain --graph asked.json | story
run guardcache explain --last | story

echo "what is compiled under the names asked for lies beside:"
run guardcache insert --graph asked.json --payload object | mask
run guardcache lookup --graph asked.json --same-names --json | mask

echo "a module's name, of a graph under the same key:"
module stored.json stablehlo 'module @jit_f {\n}\n'
module asked.json stablehlo 'module @jit_g {\n}\n'
run guardcache insert --graph stored.json --payload object | mask
run guardcache lookup --graph asked.json --same-names
run guardcache lookup --graph asked.json --json | mask
