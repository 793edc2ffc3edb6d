# The command's own words: help, and what is said about a wrong command line.
guardcache help | head -n 4
guardcache help lookup
guardcache lookup --help | cmp - <(guardcache help lookup)
guardcache help rules
guardcache tune --help
for wrong in "" "nix" "guard" "guard nix" "lookup --nix" "lookup --hint" "canon" "canon a b" "cat a b" "key" \
    "key --batch file" "insert --priority x" "lookup --graph a --graph b" "help nix" "lookup" "lookup --key 12" \
    "lookup --key 12 --graph a" "guard eval" "insert --key 12" "lookup --graph missing.json" "cat nix" "replay missing"; do
    printf '$ guardcache %s\n' "$wrong"
    # shellcheck disable=SC2086 # words
    run guardcache $wrong
done
echo "what begins with - and is no option:"
run guardcache guard eval "-1 > s0" --hint s0=0
run guardcache guard eval --hint s0=1 "-s0 < 0"
run guardcache guard eval --hint s0=1 -- "-s0 < 0"
run guardcache config compression-level -1 --cache cache
run guardcache config --cache cache -- compression-level -1
run guardcache journal --last 99999999999999999999
echo "names of hints:"
for name in "L['t0']" "a b" 5 "t0+1" ""; do
    run guardcache guard eval True --hint "$name=1"
done
echo "numbers that must be positive:"
for wrong in "diff --max 0 a b" "diff --max -1 a b" "top --count 0" "top --count=-5" "journal --last=-1" "journal --last=0"; do
    # shellcheck disable=SC2086 # words
    run guardcache $wrong
done
echo "one name, two values:"
small g.json relu
echo code >payload
run guardcache insert --graph g.json --payload payload --require device=a100 --require device=h100
run guardcache lookup --graph g.json --provide device=a100 --provide device=a100
run guardcache lookup --graph g.json --hint s0=1 --hint s0=2
echo "a recording makes its folders:"
GUARDCACHE_RECORD=some/where/deep run guardcache lookup --graph g.json --hint s0=1
ls some/where/deep
touch file
GUARDCACHE_RECORD=file/deep run guardcache lookup --graph g.json --hint s0=1
echo "words for completions:"
guardcache help --words reasons | head -n 3
guardcache help --words settings | head -n 3
guardcache help --words kinds | tr '\n' ' '
run guardcache help --words nothing
