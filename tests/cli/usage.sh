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
