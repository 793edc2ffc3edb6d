# What is said of a word that is nearly right.
small g.json relu
for wrong in "lokup" "guard evla" "rule list" "look" "lookup --grpah g.json" "lookup --hint=" "ls --json=1" "config max_size 5G" \
    "config durabilty" "ls --set max-sizes=5G" "journal --reason no_kye" "explain --reason nothing" "top --coutn 3"; do
    printf '$ guardcache %s\n' "$wrong"
    # shellcheck disable=SC2086 # words
    run guardcache $wrong
done
diff <(guardcache -V) <(guardcache version)
