# Repair: damage goes into quarantine, lost indexes are made anew from the entries, and a second repair has nothing to do.
small g.json torch.softmax
small h.json torch.relu
head -c 300000 /dev/urandom >payload
echo code >short
names() { mask | sed -E 's/[0-9a-f]{64}/KEY/g; s/[0-9a-f]{32}/ENTRY/g; s/quarantine\/[0-9a-f]{16}/quarantine\/NUMBER/; s/\b[0-9a-f]{2}\//XX\//g; s/[0-9.]+ (B|KiB)/SIZE/'; }
run guardcache repair
guardcache insert --graph g.json --hint s0=16 --guard "s0 % 8 == 0" --payload payload >/dev/null
guardcache insert --graph g.json --guard "s0 == 3" --payload short >/dev/null
guardcache insert --graph h.json --payload payload >/dev/null
run guardcache repair
run guardcache repair --json

echo "a lost candidate index and a lost index.db:"
key=$(guardcache key h.json | cut -c -64)
rm "$GUARDCACHE_DIR/entries/${key:0:2}/$key.pack" "$GUARDCACHE_DIR"/index.db*
run guardcache lookup --graph h.json 2>&1
run guardcache repair | names
run guardcache lookup --graph h.json --out found && cmp found payload && echo "h is found"
run guardcache verify | names

echo "a damaged entry:"
victim=$(find "$GUARDCACHE_DIR/entries" -path "*$(guardcache key g.json | cut -c -64)*" -type f -size +200k | head -n 1)
flip "$victim" 150000
run guardcache repair --json | names
find "$GUARDCACHE_DIR/quarantine" -type f | wc -l
run guardcache lookup --graph g.json --hint s0=3 --out -
run guardcache lookup --graph g.json --hint s0=16
run guardcache repair
run guardcache verify | names
GUARDCACHE_READ_ONLY=1 run guardcache repair

echo "a damaged format file:"
echo guardcache >"$GUARDCACHE_DIR/format"
run guardcache verify | names
run guardcache repair
run guardcache verify | names
