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
