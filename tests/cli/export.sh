# Export on one cache, import into an empty one; selections, damage, requirements.
small g.json torch.softmax
small h.json torch.relu
seq 1000 >payload
guardcache insert --graph g.json --payload payload --guard "s0 % 8 == 0" --label "train.py:88 forward" >/dev/null
guardcache insert --graph g.json --payload payload --guard "s0 < 4" --require driver=535 >/dev/null
guardcache insert --graph h.json --payload payload --label "eval.py:3" >/dev/null
guardcache tune put --op mm a=1 b=2

run guardcache export all.gcx
guardcache show all.gcx | sed -E 's/"(created_ns|library)": [^,]*/"\1": _/g'
run guardcache import --cache other all.gcx
run guardcache lookup --cache other --graph g.json --hint s0=16 --out copy | mask
cmp copy payload && echo "same payload"
run guardcache lookup --cache other --graph h.json | mask
run guardcache tune get --cache other --op mm a b
run guardcache import --cache other all.gcx
run guardcache verify --cache other | sed -E 's/[0-9.]+ (B|KiB)/SIZE/'

echo "selections:"
run guardcache export --label train.py:88 part.gcx
run guardcache export --key "$(guardcache key g.json | cut -c -64)" part.gcx
run guardcache export --namespace elsewhere part.gcx
run guardcache export --until-ns 1 --json part.gcx | sed 's/"bytes": [0-9]*/"bytes": N/'

echo "requirements:"
run guardcache import --cache third --provide driver=550 all.gcx | sed -E 's/entry [0-9a-f]{12}/entry _/'
run guardcache import --cache third --check all.gcx | sed -E 's/entry [0-9a-f]{12}/entry _/'
run guardcache import --cache third --provide driver=535 all.gcx

echo "damage:"
size=$(stat -c %s all.gcx)
cp all.gcx bad.gcx
flip bad.gcx $((size / 2))
run guardcache import --cache fourth bad.gcx
run guardcache show bad.gcx
run guardcache ls --cache fourth
head -c 100 all.gcx >short.gcx
run guardcache import --cache fourth short.gcx
run guardcache import --cache fourth payload
run guardcache import --cache fourth nowhere.gcx

echo "what can't be imported:"
run guardcache import --cache fourth .
python3 - all.gcx few.gcx <<'PY'
import hashlib
import sys

# One item less than the file says, under a good checksum.
data = bytearray(open(sys.argv[1], "rb").read())
count = int.from_bytes(data[-48:-40], "little")
data[-48:-40] = (count + 1).to_bytes(8, "little")
data[-32:] = hashlib.sha256(data[:-32]).digest()
open(sys.argv[2], "wb").write(data)
PY
run guardcache import --cache fourth few.gcx
run guardcache show few.gcx
long=$(printf 'n%.0s' {1..256})
run guardcache insert --graph g.json --payload payload --attach "lib/$long=payload"

echo "an item that is no good is left out, the rest is imported:"
python3 - all.gcx odd.gcx <<'PY'
import hashlib
import sys

# A bit of an item, under a good checksum.
data = bytearray(open(sys.argv[1], "rb").read())
data[100] ^= 1
data[-32:] = hashlib.sha256(data[:-32]).digest()
open(sys.argv[2], "wb").write(data)
PY
run guardcache import --cache fifth odd.gcx
run guardcache import --cache fifth --json odd.gcx | sed 's/"bytes": [0-9]*/"bytes": N/'

echo "nothing is cached for now:"
run guardcache import --set bypass=maintenance all.gcx
run guardcache import --set disabled=true all.gcx

echo "what an export doesn't replace:"
mkfifo pipe
ln -s all.gcx link
run guardcache export pipe
run guardcache export link
run guardcache export "$GUARDCACHE_DIR/format" | sed "s#$GUARDCACHE_DIR#CACHE#"
[ -p pipe ] && [ -L link ] && guardcache ls >/dev/null && echo "all there"
