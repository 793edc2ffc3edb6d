# Keys in files: made, shown, named by settings; a fleet whose readers hold public keys only.
secrets() { sed -E 's/[0-9a-f]{64}/HEX/; s/^(id +)[0-9a-f]{16}$/\1MADE UP/'; }
run guardcache signing-key new fleet.key fleet-2026 | secrets
run guardcache signing-key show fleet.key.pub | secrets
run guardcache signing-key show --json fleet.key | secrets
run guardcache signing-key new --hmac shared.key | secrets
secrets <fleet.key.pub
stat -c '%a %n' -- *.key*
echo "no secret is shown:"
secret=$(cut -d ' ' -f 4 fleet.key)
{ guardcache signing-key show fleet.key; GUARDCACHE_SIGNING_KEYS=fleet.key guardcache config; } | grep -c "$secret"
run guardcache signing-key new fleet.key
run guardcache signing-key new other.key "two words"
run guardcache signing-key show nowhere.key
chmod 644 shared.key
run guardcache signing-key show shared.key
chmod 600 shared.key

echo "a fleet:"
small g.json torch.softmax
echo code >payload
echo forged >forgery
private() { GUARDCACHE_SIGNING_KEYS="$PWD/fleet.key" GUARDCACHE_REQUIRE_SIGNATURE=1 "$@"; }
public() { GUARDCACHE_SIGNING_KEYS="fleet.key.pub" GUARDCACHE_REQUIRE_SIGNATURE=1 "$@"; }
private guardcache insert --graph g.json --payload payload >/dev/null
run public guardcache lookup --graph g.json --out -
run public guardcache insert --graph g.json --payload forgery
guardcache insert --graph g.json --payload forgery >/dev/null 2>&1
guardcache signing-key new stranger.key fleet-2026 >/dev/null
GUARDCACHE_SIGNING_KEYS=stranger.key guardcache insert --graph g.json --payload forgery --variant forged --priority 9 >/dev/null 2>&1
run public guardcache lookup --graph g.json --out -
run guardcache lookup --graph g.json --out - --set signing-keys=fleet.key.pub
public guardcache ls | mask
public guardcache doctor | grep signing
private guardcache doctor --set signing-keys="shared.key fleet.key.pub" | grep signing | sed -E 's/[0-9a-f]{16}/MADE-UP/'
public guardcache verify | sed -E 's/[0-9.]+ (B|KiB)/SIZE/'

echo "what can't be read stops the command:"
run guardcache lookup --graph g.json --set signing-keys="fleet.key.pub nowhere.key"
run guardcache ls --set signing-keys=payload
run guardcache lookup --graph g.json --set require-signature
run guardcache config signing-keys fleet.key.pub
run guardcache config signing-keys /nowhere.key
run guardcache ls
run guardcache config --unset signing-keys
guardcache ls --set require-signature --set signing-keys=fleet.key.pub | wc -l
