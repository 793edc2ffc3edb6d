# Collection by size, age and namespace; a dry run names what would go and changes nothing; what went is remembered.
small g.json torch.softmax
small h.json torch.relu
head -c 30000 /dev/urandom >payload
sizes() { sed -E 's/^[0-9a-f]{12}  [0-9a-f]{12}/ENTRY  KEY/; s/[0-9.]+ (B|KiB)/SIZE/g; s/ +SIZE/ SIZE/; s/\b[0-9a-f]{64}\b/KEY/g; s/\b[0-9a-f]{32}\b/ENTRY/g; s/bytes": [1-9][0-9]*/bytes": N/g'; }
run guardcache gc
[ -e "$GUARDCACHE_DIR" ] || echo "none was made"
GUARDCACHE_NAMESPACE=team guardcache insert --graph g.json --guard "s0 % 8 == 0" --payload payload >/dev/null
guardcache insert --graph g.json --guard "s0 == 1" --payload payload >/dev/null
guardcache insert --graph h.json --payload payload >/dev/null
run guardcache gc | sizes
run guardcache gc --dry-run --namespace team | sizes
run guardcache gc --dry-run --json --target 0 | sizes
run guardcache ls | tail -n 2 | sizes | sed 's/^ENTRY.*/a row/'
run guardcache gc --namespace team | sizes
GUARDCACHE_NAMESPACE=team run guardcache lookup --graph g.json --hint s0=8
run guardcache lookup --graph g.json --hint s0=1 --out /dev/null
run guardcache gc --unused 1h | sizes
run guardcache gc --unused 0s --json | sizes
run guardcache lookup --graph h.json
run guardcache ls | tail -n 2
run guardcache gc --target lots
run guardcache gc --unused 3
GUARDCACHE_READ_ONLY=1 run guardcache gc
