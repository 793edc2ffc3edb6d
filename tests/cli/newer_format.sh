# A cache of a later version is left alone: every command says so, exit status 2.
small g.json torch.softmax
echo code >payload
guardcache insert --graph g.json --payload payload >/dev/null
version=$GUARDCACHE_DIR/format
echo guardcache-store 99 1b17ece3af847d10 >"$version"
before=$(find "$GUARDCACHE_DIR" -type f -exec sha256sum {} + | sort)
for command in "lookup --graph g.json" "insert --graph g.json --payload payload" "explain --graph g.json" ls verify "show 0"; do
    # shellcheck disable=SC2086 # words
    run guardcache $command
done
[ "$before" = "$(find "$GUARDCACHE_DIR" -type f -exec sha256sum {} + | sort)" ] && echo "untouched"
