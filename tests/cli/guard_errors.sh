# A guard that isn't one: what is wrong, where, and in which of several.
small g.json relu
echo code >payload
asked() {
    printf '$ guardcache %s\n' "$*"
    run guardcache "$@"
}
asked guard eval "s0 % == 0"
asked guard eval "(s0"
asked guard eval ""
asked guard eval $'\ts0 % == 0'
asked guard eval "日本語 % == 0"
asked guard eval $'e\u0301t\u00e9 % == 0'
asked guard eval "$(printf 's%d == 0 and ' {0..30})s31 % == 0 and $(printf 's%d == 0 and ' {32..60})s61"
asked guard eval "$(printf '日%.0s' {1..50}) % == 0"
asked guard show "s0 > 1" "s1 >"
asked guard fmt "s0 >"
asked insert --graph g.json --payload payload --guard "s0 > 1" --guard "s0 % == 0" --guard "s1 > 2"
asked insert --graph g.json --payload payload --guard "s0 % == 0"
mapfile -t many < <(printf -- "--guard\ns0>%d\n" {1..21})
asked insert --graph g.json --payload payload "${many[@]}" --guard "s0 >"
asked guard eval --json "s0 % == 0"
echo "in a trace:"
mkdir trace && cp g.json trace
echo '{"seq": 1, "op": "insert", "graph": "g.json", "guards": ["s0 > 1", "s0 % == 0"], "payload": {"size": 3}}' >trace/trace.jsonl
asked replay --json trace
