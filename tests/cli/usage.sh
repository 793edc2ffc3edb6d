# The command's own words: help, versions, and what is said about a wrong command line.
guardcache help | head -n 4
guardcache help lookup
for wrong in "" "nix" "guard" "guard nix" "lookup --nix" "lookup --hint" "canon" "canon a b" "cat a b" "key" \
    "insert --priority x" "lookup --graph a --graph b" "help nix" "lookup" "lookup --key 12" "guard eval"; do
    # shellcheck disable=SC2086 # words
    guardcache $wrong
    printf 'exit %d\n' $?
done 2>&1
