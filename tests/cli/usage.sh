# The command's own words: help, and what is said about a wrong command line.
guardcache help | head -n 4
guardcache help lookup
guardcache lookup --help | cmp - <(guardcache help lookup)
for wrong in "" "nix" "guard" "guard nix" "lookup --nix" "lookup --hint" "canon" "canon a b" "cat a b" "key" \
    "key --batch file" "insert --priority x" "lookup --graph a --graph b" "help nix" "lookup" "lookup --key 12" \
    "lookup --key 12 --graph a" "guard eval" "insert --key 12" "lookup --graph missing.json" "cat nix" "replay missing"; do
    printf '$ guardcache %s\n' "$wrong"
    # shellcheck disable=SC2086 # words
    run guardcache $wrong
done
