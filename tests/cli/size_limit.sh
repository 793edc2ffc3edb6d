# A limit of file sizes doesn't kill: what can't be written says so, and a lookup misses.
small g.json torch.softmax
echo code >payload
limited() { (ulimit -f 1; trap - XFSZ; "$@" 2>&1) | sed -E 's/[^ ]*(cache|tmp)[^ ]*:/PATH:/; s/[0-9a-f]{32}/ID/'; echo "exit ${PIPESTATUS[0]}"; }
limited guardcache insert --cache new --graph g.json --payload payload
limited guardcache lookup --cache new2 --graph g.json
guardcache insert --cache cache --graph g.json --payload payload >/dev/null
limited guardcache lookup --cache cache --graph g.json
limited guardcache verify --cache cache
