# A disk of 2 MB: what the cache takes for itself leaves room for entries, and goes before them.
mkdir disk
mount -t tmpfs -o size=2m tmpfs disk 2>/dev/null || { echo "skipped: can't mount a tmpfs here"; exit 77; }
trap 'umount disk' EXIT
cache=disk/cache
key() { printf '%s' "$1" | sha256sum | cut -c1-64; }

failed=0
for i in $(seq 300); do
    head -c 20000 /dev/urandom >payload
    guardcache insert --cache $cache --key "$(key "$i")" --payload payload >/dev/null 2>error || { failed=$((failed + 1)); cat error; }
done
echo "inserts that failed: $failed"
entries=$(find $cache/entries -name '*.pack' | wc -l)
test "$entries" -ge 40 && echo "at least 40 entries are there"
run guardcache lookup --cache $cache --key "$(key 300)" --out found && cmp found payload && echo "found"
run guardcache verify --cache $cache | sed 's/.*: //'

echo "what is in the WAL and the segment, gc brings to where it belongs:"
run guardcache gc --cache $cache | sed 's/[0-9].*//'
find $cache -name index.db-wal -size +0
run guardcache verify --cache $cache | sed 's/.*: //'
