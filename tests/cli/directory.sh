# Where the cache is: --cache, then GUARDCACHE_DIR, then the XDG cache directory; and that only writing makes one.
small g.json torch.softmax
echo code >payload
store() { guardcache insert --graph g.json --payload payload >/dev/null && (cd "$1" && ls -d "$2"/entries); }

store .. cache
store . mine 2>&1 | sed 's/.*/not there yet/'
guardcache insert --cache mine --graph g.json --payload payload >/dev/null && ls -d mine/entries
stat -c %a mine
unset GUARDCACHE_DIR
store "$HOME" .cache/guardcache
XDG_CACHE_HOME=$PWD/xdg store . xdg/guardcache
XDG_CACHE_HOME=relative store "$HOME" .cache/guardcache
HOME='' run guardcache ls
run guardcache ls --cache nowhere
run guardcache verify --cache nowhere
run guardcache explain --cache nowhere --graph g.json
[ -e nowhere ] || echo "nothing was made"
