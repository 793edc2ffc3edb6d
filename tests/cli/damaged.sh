# Damaged files: verify names them, a lookup misses with reason corrupt, and what isn't damaged still hits.
small g.json torch.softmax
small h.json torch.relu
head -c 300000 /dev/urandom >payload
guardcache insert --graph g.json --payload payload >/dev/null
guardcache insert --graph h.json --payload payload >/dev/null
key=$(guardcache key g.json | cut -c -64)
victim=$(find "$GUARDCACHE_DIR/entries" -path "*$key*" -type f -size +200k | head -n 1)
flip "$victim" 150000
run guardcache verify | sed -E 's/[0-9a-f]{64}/KEY/g; s/[0-9a-f]{32}/ENTRY/g; s/[0-9.]+ (B|KiB)/SIZE/'
echo "a cache that is switched off is looked after all the same:"
GUARDCACHE_DISABLED=1 run guardcache verify | sed -E 's/[0-9a-f]{64}/KEY/g; s/[0-9a-f]{32}/ENTRY/g; s/[0-9.]+ (B|KiB)/SIZE/'
for looking in ls doctor "gc --dry-run"; do
    # shellcheck disable=SC2086
    guardcache $looking --set disabled >off 2>&1
    # shellcheck disable=SC2086
    guardcache $looking 2>&1 | sed -E 's/[0-9]+/N/g' >on
    sed -E '1d; s/[0-9]+/N/g' off | cmp - on && head -n 1 off
done
run guardcache lookup --graph g.json 2>&1 | sed -E 's/[0-9a-f]{64}/KEY/g; s/[0-9a-f]{32}/ENTRY/g' | tail -n 2
run guardcache lookup --graph h.json --out found && cmp found payload && echo "h is found"
run guardcache insert --graph g.json --payload payload | mask
run guardcache lookup --graph g.json --out found && cmp found payload && echo "g is found again"
