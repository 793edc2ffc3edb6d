# A description of 200 MB is refused, from a file without reading it and from a pipe without keeping it.
large() {
    printf '{"format": "guardcache-graph/1", "kind": "generic", "x": ["'
    head -c 200000000 /dev/zero | tr '\0' x
    printf '"]}\n'
}
truncate -s 200M sparse.json
# A sanitizer's shadow alone is larger than that.
ldd "$(type -P guardcache)" | grep -q 'lib[at]san' || ulimit -v 1000000
run guardcache key sparse.json
large | run guardcache key -
large | run guardcache guard eval --batch
