# Errors as objects, and options before the command.
printf '{"format": 1, }' >bad.json
small g.json relu
printf '{"guard": 5}\n' >number.jsonl
printf '{"guard": "s0" "hints"}\n' >torn.jsonl
echo code >payload
asked() {
    printf '$ guardcache %s\n' "$*"
    run guardcache "$@"
}
echo "errors under --json:"
asked lookup --json
asked lookup --json --grpah g.json
asked lookup --json --graph missing.json
asked key --json bad.json missing.json - </dev/null
asked key --json -- g.json --json
asked guard eval --json --batch <number.jsonl
asked guard eval --json --batch <torn.jsonl
asked ls --json --cache missing
asked ls --json --set max-size=lots
asked --json guard evla
asked --json lokup
echo "a full disk:"
[ -w /dev/full ] && guardcache help >/dev/full
[ -w /dev/full ] && guardcache ls --json --help >/dev/full
echo "options before the command:"
asked --cache cache insert --graph g.json --payload payload --hint s0=16 | mask
asked --cache=cache --json lookup --graph g.json --hint s0=16 | mask
asked --cache cache key g.json | mask
asked --namespace team config --cache cache strict on
cat cache/config.json
asked --set strict=off --cache cache config strict
asked --cach cache ls
asked --nothing ls
asked -x ls
asked --cache
asked --cache cache
asked --cache cache help rm
asked --cache cache ls --cache cache
asked --json --version
