# What the commands print as JSON where others have their own tests: one object a line, whatever the answer.
small g.json relu
echo code >payload
cat >wrong.json <<'RULES'
{"format": "guardcache-rules/1", "name": "wrong", "drop": [
  {"path": "options.job_id", "same": [[{"options": {"job_id": 1}}, {"options": {"job": 2}}]]}]}
RULES
asked() {
    printf '$ guardcache %s\n' "$*"
    run guardcache "$@" --json | mask
}
asked version
asked guard show "2 <= s0" "s0 % 8 == 0"
asked guard fmt "s0 >= 2 and 16*s0 == s1"
asked guard fmt "s0 >= 2 and"
asked canon g.json | sed -E 's/"[A-Za-z0-9+/]{100,}=*"/"BYTES"/'
asked rules test triton
asked rules test wrong.json
asked insert --graph g.json --payload payload --guard "s0 > 3" --hint s0=4
asked insert --graph g.json --payload payload --guard "s0 > 3" --hint s0=4
asked insert --graph g.json --payload payload --guard "s0 > 3" --hint s0=3
asked insert --graph g.json --payload payload --guard "s0 % 0" --hint s0=3
asked insert --graph g.json --payload payload --set disabled
asked insert --graph g.json --payload payload --guard "s0 >"
asked insert --graph g.json --payload missing
asked rm "$(guardcache ls --json | sed 's/^{"entry": "//; s/".*//')" | sed -E 's/rm [0-9a-f]+/rm ENTRY/'
asked rm 0123
