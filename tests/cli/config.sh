# Settings: where values come from, and that they count.
run guardcache config
run guardcache config max-size 12GiB
run guardcache config --namespace "team a" strict yes
run guardcache config max-size
GUARDCACHE_MAX_SIZE=7G run guardcache config max-size
run guardcache config strict
run guardcache config --namespace "team a" strict
GUARDCACHE_NAMESPACE="team a" run guardcache config strict
GUARDCACHE_STRICT__TEAM_A=0 run guardcache config --namespace "team a" --json strict
run guardcache config --unset --namespace "team a" strict
run guardcache config --namespace "team a" strict
cat cache/config.json "$GUARDCACHE_DIR/config.json" 2>/dev/null
run guardcache config max-size lots
run guardcache config max-sice 1
run guardcache config --unset
GUARDCACHE_STRICT=perhaps run guardcache ls

echo "switches:"
small g.json torch.softmax
echo code >payload
guardcache insert --graph g.json --payload payload --guard "s0 % 8 == 0" >/dev/null
run guardcache lookup --graph g.json --hint s0=16 | mask
GUARDCACHE_NAMESPACE=other run guardcache lookup --graph g.json --hint s0=16
GUARDCACHE_DISABLED=1 run guardcache lookup --graph g.json --hint s0=16
GUARDCACHE_BYPASS="a release is under way" run guardcache lookup --graph g.json --hint s0=16
GUARDCACHE_UNSAFE_SKIP_GUARDS=1 run guardcache lookup --graph g.json --hint s0=7 | mask
GUARDCACHE_READ_ONLY=1 run guardcache insert --graph g.json --payload payload

echo "for one call:"
run guardcache lookup --graph g.json --hint s0=16 --set disabled
run guardcache lookup --graph g.json --hint s0=16 --set disabled=no | mask
run guardcache lookup --graph g.json --hint s0=16 --set bypass="a release is under way"
run guardcache lookup --graph g.json --hint s0=7 --set unsafe-skip-guards | mask
run guardcache lookup --graph g.json --hint s0=16 --set refresh
run guardcache explain --graph g.json --hint s0=16 --set refresh | story
run guardcache explain --last --reason refresh | sed -E 's/[0-9:]{8}/TIME/; s/hits [0-9a-f]{6}/hits ID/' | story
guardcache stats | grep -o "refresh 1"
echo other >other
run guardcache insert --graph g.json --payload other --set bypass="a release is under way"
run guardcache insert --graph g.json --payload other --set disabled
run guardcache tune put --op o a=1 --set disabled
run guardcache tune put --op o a=1 --set bypass="a release is under way"
guardcache ls | tail -n 1
echo "stored again with refresh, an older entry is the newest:"
guardcache insert --cache again --graph g.json --payload payload >/dev/null
guardcache insert --cache again --graph g.json --payload other >/dev/null 2>&1
guardcache lookup --cache again --graph g.json --out - | cmp - other
for once in "" "--set refresh" "--set refresh"; do
    # shellcheck disable=SC2086
    guardcache insert --cache again $once --graph g.json --payload payload >/dev/null 2>&1
    guardcache lookup --cache again --graph g.json --out -
done
guardcache verify --cache again | sed -E 's/[0-9.]+ (B|KiB)/SIZE/'
run guardcache lookup --graph g.json --hint s0=16 --namespace other
run guardcache insert --graph g.json --payload payload --set read-only
GUARDCACHE_READ_ONLY=1 run guardcache insert --graph g.json --payload payload --hint s0=16 --set read-only=0 | mask
for wrong in strict=perhaps strickt =1 max-size max-size=0 memory=0KiB; do run guardcache ls --set "$wrong"; done


echo "strict, over a damaged cache:"
head -c 200000 /dev/urandom >large
damage() { find "$GUARDCACHE_DIR/entries" -size +150k -exec sh -c 'printf damaged-here | dd of="$1" bs=1 seek=15000 conv=notrunc status=none' sh {} \; ; }
small h.json torch.relu
for strict in no yes; do
    guardcache insert --graph h.json --payload large >/dev/null
    damage
    run guardcache lookup --graph h.json --set "strict=$strict" 2>&1 | mask | tail -n 2
done

echo "each place overrules the next:"
guardcache config strict 0
guardcache config --namespace "team a" strict no
for given in strict=yes ""; do
    for variable in GUARDCACHE_STRICT__TEAM_A GUARDCACHE_STRICT NONE; do
        run env "$variable=1" guardcache config --namespace "team a" ${given:+--set "$given"} strict
    done
done
run guardcache config --namespace "team b" strict
echo "what config.json couldn't hold:"
run guardcache config max-size 3G --namespace $'t\xff'
run guardcache config bypass $'t\xff'
run guardcache config max-size

echo "tiers that make no sense aren't stored, and in a file they cost nothing but themselves:"
run guardcache config tiers foo
run guardcache config tiers "redis://bob:hun ter2@cache"
run guardcache config tiers "redis://cache redis://cache:seven"
run guardcache config tiers
sed -i 's|"max-size": "[^"]*"|&, "tiers": "redis://cache:seven"|' "$GUARDCACHE_DIR/config.json"
run guardcache ls 2>&1 | head -n 1
{ guardcache doctor >/dev/null; } 2>&1
run guardcache config --unset tiers
run guardcache config tiers
