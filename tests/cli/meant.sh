# What is said of a word that is nearly right.
small g.json relu
for wrong in "lokup" "guard evla" "rule list" "look" "lookup --grpah g.json" "lookup --hint=" "ls --json=1" "config max_size 5G" \
    "config durabilty" "ls --set max-sizes=5G" "journal --reason no_kye" "explain --reason nothing" "top --coutn 3"; do
    printf '$ guardcache %s\n' "$wrong"
    # shellcheck disable=SC2086 # words
    run guardcache $wrong
done
diff <(guardcache -V) <(guardcache version)
echo "kinds:"
for kind in fxx stablehl0 mine f generic; do
    printf '{"format": "guardcache-graph/1", "kind": "%s"}\n' $kind >$kind.json
    run guardcache key $kind.json | mask
done
run guardcache key fxx.json fxx.json | mask
run guardcache key --rules "$FIXTURES/../src/kinds/fx" fxx.json | mask
run guardcache rules list fxx
run guardcache rules test nothing
