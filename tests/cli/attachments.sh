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
