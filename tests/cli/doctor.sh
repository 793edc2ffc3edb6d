# Doctor: facts about the place, and what should be done about them. What differs from machine to machine is masked.
small g.json torch.softmax
echo code >payload
place() { sed -E 's/^(guardcache) .*/\1 VERSION/; s/^(sqlite|zstd|free space|open files|file system|permissions|size) .*/\1 .../; s/"value": "[^"]*"/"value": ".."/g; /nearly full|every lookup asks/d'; }
run guardcache doctor
guardcache insert --graph g.json --payload payload >/dev/null
run guardcache doctor | place
run guardcache doctor --json | place
guardcache doctor | grep -c '^sqlite .*WAL-reset defect: '
GUARDCACHE_READ_ONLY=1 run guardcache doctor | grep -E '^(access|locks)'

echo "with damage put aside, and open to a group:"
victim=$(find "$GUARDCACHE_DIR/entries" -name '*.pool')
printf XXXX | dd of="$victim" bs=1 seek=$(($(stat -c %s "$victim") - 20)) conv=notrunc status=none
run guardcache lookup --graph g.json 2>&1 | tail -n 1
run guardcache doctor | grep -A 1 -E '^(quarantine|[0-9]* warning|exit)'
echo '{' >"$GUARDCACHE_DIR/config.json"
run guardcache doctor 2>&1 | grep -A 1 -E '^(config|[0-9]* warning|exit)' | sed "s#$GUARDCACHE_DIR#CACHE#"
rm "$GUARDCACHE_DIR/config.json"
chmod 770 "$GUARDCACHE_DIR"
run guardcache doctor | sed 's/: group [0-9]*/: group G/'
chmod 777 "$GUARDCACHE_DIR"
run guardcache doctor
