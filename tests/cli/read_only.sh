# A cache that can't be written to is still looked up; an insert says why it can't be, with exit status 2.
small g.json torch.softmax
echo code >payload
guardcache insert --graph g.json --guard "s0 % 8 == 0" --payload payload >/dev/null
if [ "$(id -u)" -eq 0 ]; then
    # Root may write anywhere but on a file system that is mounted read-only.
    if ! mount --bind "$GUARDCACHE_DIR" "$GUARDCACHE_DIR" 2>/dev/null; then
        echo "skipped: can't mount here"
        exit 77
    fi
    mount -o remount,bind,ro "$GUARDCACHE_DIR"
    trap 'umount "$GUARDCACHE_DIR"' EXIT
else
    chmod -R a-w "$GUARDCACHE_DIR"
    trap 'chmod -R u+w "$GUARDCACHE_DIR"' EXIT
fi
run guardcache lookup --graph g.json --hint s0=16 --out -
run guardcache lookup --graph g.json --hint s0=12
guardcache insert --graph g.json --guard "s0 == 1" --payload payload 2>message
echo "exit $?"
grep -c . message
run guardcache ls | tail -n 2 | sed 's/^[0-9a-f].*/a row/'
run guardcache verify | sed -E 's/[0-9.]+ (B|KiB)/SIZE/'
