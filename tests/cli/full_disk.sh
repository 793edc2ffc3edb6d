# A full disk: what can't be stored says so with exit status 2, and the cache is whole afterwards.
mkdir disk
mount -t tmpfs -o size=1m tmpfs disk 2>/dev/null || { echo "skipped: can't mount a tmpfs here"; exit 77; }
trap 'umount disk' EXIT
small g.json torch.softmax
head -c 100000 /dev/urandom >payload
cache=disk/cache
failed=0
for size in $(seq 1 40); do
    guardcache insert --cache $cache --graph g.json --guard "s0 == $size" --payload payload >/dev/null 2>message
    status=$?
    [ $status -eq 0 ] && stored=$size && continue
    failed=$((failed + 1))
    [ $failed -eq 1 ] && echo "exit $status" && sed -E 's/[0-9a-f]{32,64}/ID/g; s/: [^:]*disk[^:]*:/: PATH:/' message
done
[ "$stored" -ge 2 ] && [ $failed -ge 2 ] && echo "some stored, some not"
guardcache verify --cache $cache | grep -c 'no problems'
run guardcache lookup --cache $cache --graph g.json --hint s0=1 --out found && cmp found payload && echo "what is stored is found"
