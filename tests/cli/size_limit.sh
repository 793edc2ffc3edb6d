# A limit of file sizes doesn't kill: what can't be written says so, and a lookup misses.
small g.json torch.softmax
echo code >payload
limited() { (ulimit -f 1; trap - XFSZ; "$@" 2>&1) | sed -E 's/[^ ]*(cache|tmp)[^ ]*:/PATH:/g; s/[0-9a-f]{32}/ID/'; echo "exit ${PIPESTATUS[0]}"; }
limited guardcache insert --cache new --graph g.json --payload payload
limited guardcache lookup --cache new2 --graph g.json
guardcache insert --cache cache --graph g.json --payload payload >/dev/null
limited guardcache lookup --cache cache --graph g.json
limited guardcache verify --cache cache
# No eviction helps against it, so none is made.
small other.json torch.relu
head -c 300000 /dev/urandom >large
limited guardcache insert --cache cache --graph other.json --payload large
limited guardcache insert --cache cache --graph other.json --payload payload
limited guardcache gc --cache cache >/dev/null
guardcache lookup --cache cache --graph g.json
guardcache stats --cache cache | grep evicted
