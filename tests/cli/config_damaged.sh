# A config.json that can't be read, or not wholly: a warning, and every command goes on. What is damaged is put aside.
small g.json torch.softmax
echo code >payload
guardcache insert --graph g.json --payload payload >/dev/null
config=$GUARDCACHE_DIR/config.json
place() { sed -E 's/[0-9a-f]{16}(\.config)/HEX\1/; s#[^ ]*/cache:#DIR:#; s#[^ ]*/cache/#DIR/#g'; }
put() {
    rm -rf "$config"
    case $1 in
        torn) printf '{"format": "guardcache-config/1", "settings": {"max-si' >"$config" ;;
        empty) : >"$config" ;;
        "of another type") echo '["max-size"]' >"$config" ;;
        huge) truncate -s 100G "$config" ;;
        "a directory") mkdir "$config" ;;
        "a pipe") mkfifo "$config" ;;
        "a link") ln -s /etc/passwd "$config" ;;
        "of a newer version") echo '{"format": "guardcache-config/2"}' >"$config" ;;
    esac
}

for damage in torn empty "of another type" huge "a directory" "a pipe" "a link" "of a newer version"; do
    echo "$damage:"
    put "$damage"
    run guardcache lookup --graph g.json 2>&1 | mask | place
    run guardcache verify 2>&1 | tail -n 3 | place
    run guardcache config max-size 2G 2>&1 | place
    put "$damage"
    run guardcache config --unset max-size 2>&1 | place
    put "$damage"
    run guardcache repair 2>&1 | tail -n 3 | place
    run guardcache verify 2>&1 | tail -n 2 | place
    run guardcache lookup --graph g.json --out found 2>/dev/null && cmp found payload
done

echo "one bad setting of three:"
echo '{"format": "guardcache-config/1", "settings": {"strict": "perhaps", "max-size": "2G", "of-tomorrow": [1]}}' >"$config"
for name in strict max-size; do run guardcache config "$name"; done
run guardcache config strict yes
cat "$config"

echo "many at once:"
rm "$config"
for n in 1 2 3 4; do
    (for i in 1 2 3; do guardcache config --namespace "team$n" max-candidates "$n$i" || echo "failed"; done) &
done
wait
for n in 1 2 3 4; do guardcache config --namespace "team$n" max-candidates; done
find "$GUARDCACHE_DIR" -maxdepth 1 -name '*config*' -printf '%f\n'
