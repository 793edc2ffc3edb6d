# Variants, priorities and requirements: what a lookup asks for, and which candidate wins.
small g.json torch.softmax
store() { printf '%s' "$1" >payload; shift; guardcache insert --graph g.json --payload payload "$@" >/dev/null; }
look() { printf '%-50s' "$*"; guardcache lookup --graph g.json --hint s0=16 --out - "$@" 2>&1; echo; }

store plain
store low --priority -5
store high --priority 7 --guard "s0 < 100"
store pgle --variant pgle --priority 3
store library --require libdevice=a --priority 9
look
look --provide libdevice=a
look --provide libdevice=b
look --variant pgle
look --variant nix
look --expect-variant pgle
look --expect-variant nix

small h.json torch.relu
guardcache insert --graph h.json --payload payload --require libdevice=a >/dev/null
run guardcache lookup --graph h.json
run guardcache lookup --graph h.json --provide libdevice=b
run guardcache lookup --graph h.json --provide libdevice=a | mask

echo "meta data comes back:"
echo '{"output_strides": ["s0", 1]}' >meta
store with --variant m --meta meta
guardcache cat --metadata "$(guardcache ls --json | sed -n 's/^{"entry": "\([0-9a-f]*\)".*"variant": "m".*/\1/p')"
