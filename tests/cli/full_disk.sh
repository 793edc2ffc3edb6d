# A full disk: what can't be stored says so with exit status 2, the cache is whole, and works again once there is room.
mkdir disk
mount -t tmpfs -o size=2m tmpfs disk 2>/dev/null || { echo "skipped: can't mount a tmpfs here"; exit 77; }
trap 'umount disk' EXIT
small g.json torch.softmax
head -c 100000 /dev/urandom >payload
head -c 3000000 /dev/urandom >large
cache=disk/cache
place() { sed -E 's/[0-9a-f]{32,64}/ID/g; s/[0-9.]+ [KM]?i?B/SIZE/; s/[^ ]*disk[^ :]*:/PATH:/'; }

guardcache insert --cache $cache --graph g.json --guard "s0 == 1" --payload payload >/dev/null
echo "an entry larger than the disk:"
run guardcache insert --cache $cache --graph g.json --guard "s0 == 2" --payload large | place
run guardcache verify --cache $cache | sed 's/.*: //'

echo "a disk that others filled; nothing is evicted for an entry that would not fit even then:"
head -c 10000000 /dev/zero >disk/filler 2>/dev/null
run guardcache insert --cache $cache --graph g.json --guard "s0 == 3" --payload large | place
run guardcache lookup --cache $cache --graph g.json --hint s0=4
run guardcache insert --cache disk/another --graph g.json --payload payload | place
run guardcache verify --cache $cache | sed 's/.*: //'

echo "whoever only asks is answered, although SQLite has no room to read index.db beside others:"
rm disk/filler
python3 - "$cache/index.db" <<'PY'
import sqlite3, sys
sqlite3.connect(sys.argv[1]).execute("PRAGMA wal_checkpoint(TRUNCATE)")
PY
rm -f $cache/index.db-*
head -c 10000000 /dev/zero >disk/filler 2>/dev/null
run guardcache verify --cache $cache | sed 's/.*: //'
run guardcache journal --cache $cache | sed -E 's/^[-0-9]+ [:0-9]+ +[0-9]+ +//; s/[0-9a-f]{8}/KEY/'
run guardcache explain --last --cache $cache | sed -E 's/ key .*//; s/[0-9a-f]{6} .*/ID/'
run guardcache stats --cache $cache | head -n 2

echo "room again:"
rm disk/filler
guardcache insert --cache $cache --graph g.json --guard "s0 == 5" --payload payload >/dev/null
run guardcache lookup --cache $cache --graph g.json --hint s0=5 --out found && cmp found payload && echo "found"
run guardcache insert --cache disk/another --graph g.json --payload payload | place
run guardcache verify --cache $cache | sed 's/.*: //'

echo "no room for what is printed:"
{ guardcache report --cache $cache >/dev/full; } 2>&1
echo "exit $?"
