# ls, show, cat, verify on a small cache.
small g.json torch.softmax
seq 1000 >payload
run guardcache ls
run guardcache verify
run guardcache insert --graph g.json --payload payload --guard "s0 % 8 == 0" --guard "s0 < 100" --variant fast \
    --priority 2 --require driver=535 --label "train.py:88 forward" --compile-ns 4100000000 | mask
id=$(guardcache ls --json | sed 's/^{"entry": "\([0-9a-f]*\)".*/\1/')

guardcache ls | sed -E 's/[0-9a-f]{12}/BEGINNING_/g' | mask
guardcache ls --key "$(guardcache key g.json | cut -c -64)" --json | mask | sed -E 's/"(created_ns|stored_size)": [0-9]*/"\1": N/g'
guardcache ls --key "$(printf '%064d' 0)"
guardcache show "$id" | mask | sed -E 's/[0-9.]+ (B|KiB) on disk/SIZE on disk/'
guardcache show --json "${id:0:6}" | mask | sed -E 's/"(created_ns|stored_size)": [0-9]*/"\1": N/g'
guardcache cat "$id" | cmp - payload && echo "same payload"
guardcache cat --out copy "$id" && cmp copy payload && echo "same file"
run guardcache cat "${id}0" | mask
run guardcache show ""
run guardcache show XYZ
run guardcache ls --key 12
run guardcache verify | sed -E 's/[0-9.]+ (B|KiB)/SIZE/'
run guardcache verify --json | sed 's/"bytes": [0-9]*/"bytes": N/'

echo "taken out, which explain remembers:"
run guardcache rm "${id:0:8}"
run guardcache rm "$id" | mask
guardcache ls | tail -n 1
run guardcache lookup --graph g.json --hint s0=16
run guardcache verify | sed -E 's/[0-9.]+ (B|KiB)/SIZE/'
