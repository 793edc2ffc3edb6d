# Attachments: files that belong to an entry come back in their places, verified.
small g.json torch.softmax
echo code >payload
printf 'shared object' >kernel.so; chmod +x kernel.so
printf 'source' >kernel.cpp
run guardcache insert --graph g.json --payload payload --attach lib/kernel.so=kernel.so --attach kernel.cpp=kernel.cpp | mask
run guardcache lookup --graph g.json --place there --out found
find there -type f -printf '%P %s %m\n' | sort | sed 's/ [0-7]*[1357][0-7]*[0-7]*$/ runs/; s/ [0-7]*$/ does not/'
cmp there/lib/kernel.so kernel.so && cmp there/kernel.cpp kernel.cpp && echo "same bytes"
run guardcache insert --graph g.json --payload payload --attach ../outside=kernel.so
run guardcache insert --graph g.json --payload payload --attach /outside=kernel.so
run guardcache insert --graph g.json --payload payload --attach kernel.so
run guardcache insert --graph g.json --payload payload --attach a=missing
run guardcache verify | sed -E 's/[0-9.]+ (B|KiB)/SIZE/'

damage() { printf X | dd of="$(grep -rl "$1" "$GUARDCACHE_DIR/attachments")" bs=1 conv=notrunc status=none; }
names() { mask | sed -E 's/quarantine\/[0-9a-f]{16}/quarantine\/NUMBER/; s/\b[0-9a-f]{2}\//XX\//g; s/[0-9.]+ (B|KiB)/SIZE/'; }
echo "a damaged one makes its entry a miss, once; then it is gone, and can be stored again:"
damage "hared object"
run guardcache verify | names
run guardcache lookup --graph g.json --place elsewhere --out found | names
run guardcache lookup --graph g.json --place elsewhere --out found
run guardcache verify | names
run guardcache insert --graph g.json --payload payload --attach lib/kernel.so=kernel.so --attach kernel.cpp=kernel.cpp | mask
run guardcache lookup --graph g.json --place again --out found
cmp again/lib/kernel.so kernel.so && cmp again/kernel.cpp kernel.cpp && echo "same bytes"
echo "another candidate is as good:"
guardcache insert --graph g.json --payload kernel.cpp --priority 1 --attach tool=payload >/dev/null
rm "$(grep -rl code "$GUARDCACHE_DIR/attachments")"
run guardcache lookup --graph g.json --out found | names
cmp found payload && echo "the other one"
echo "repair puts aside what can't be put in place:"
damage "ource"
run guardcache repair | names
run guardcache verify | names
run guardcache lookup --graph g.json
echo "what is in the way below the caller's own directory is said, and nothing stored is blamed for it:"
run guardcache insert --graph g.json --payload payload --attach lib/kernel.so=kernel.so --attach kernel.cpp=kernel.cpp | mask
mkdir -p way/elsewhere
blocked() { run guardcache lookup --graph g.json --place way; rm -rf way/lib way/kernel.cpp; }
echo text >way/lib; blocked
mkdir way/kernel.cpp; blocked
ln -s elsewhere way/lib; blocked
mkfifo way/lib; blocked
mkdir -p way/lib/kernel.so/x; blocked
run guardcache lookup --graph g.json --place payload
run guardcache lookup --graph g.json --place payload/below
run guardcache lookup --graph g.json --place nowhere/below
run guardcache verify | names
run guardcache lookup --graph g.json --place way | mask
echo "files that can't lie side by side are refused:"
run guardcache insert --graph g.json --payload payload --attach a=payload --attach a=kernel.so
run guardcache insert --graph g.json --payload payload --attach x=payload --attach x-y=payload --attach x/y=kernel.so
run guardcache insert --graph g.json --payload payload --attach x/y=payload --attach x-y/z=payload --attach xy=kernel.so --variant side | mask
echo "show names them:"
small shown.json torch.sin
printf '#!/bin/sh\n' >run.sh && chmod +x run.sh && head -c 3000 /dev/zero >data
shown=$(guardcache insert --graph shown.json --payload data --attach bin/run.sh=run.sh --attach data=data)
guardcache show "$shown" | tail -n 2
guardcache show --json "$shown" | grep -o '"attachments".*'
