# A max-size that only one call has never shrinks a cache that is larger already; the cache's own does, and gc --target.
there() { sed -E 's/: holds [0-9]+ bytes/: holds N bytes/; s#(guardcache: ).*/(cache): #\1\2: #; s/^[0-9a-f]{32}$/ENTRY/; s/[0-9.]+ (B|KiB)/SIZE/g; s/^removed [0-9]+/removed N/'; }
head -c 20000 /dev/urandom >payload
small g.json torch.relu
for s in 1 2 3 4 5 6 7 8; do guardcache insert --graph g.json --guard "s0 == $s" --payload payload >/dev/null; done
run guardcache insert --graph g.json --guard "s0 == 9" --payload payload --set max-size=64K 2>&1 | there
GUARDCACHE_MAX_SIZE=64K run guardcache gc 2>&1 | there
guardcache ls | tail -n 1 | there
GUARDCACHE_MAX_SIZE=160K run guardcache insert --graph g.json --guard "s0 == 9" --payload payload 2>&1 | there
run guardcache insert --graph g.json --guard "s0 == 10" --payload payload --set max-size=4K 2>&1 | there
run guardcache gc --target 150K | there
# Its own: the next insert makes room.
run guardcache config max-size 64K
run guardcache insert --graph g.json --guard "s0 == 10" --payload payload | there
guardcache ls | tail -n 1 | there
# What is damaged says nothing.
echo '{"format": ' >"$GUARDCACHE_DIR/config.json"
guardcache insert --graph g.json --guard "s0 == 11" --payload payload --set max-size=32K 2>&1 | there
guardcache ls 2>/dev/null | tail -n 1 | there
