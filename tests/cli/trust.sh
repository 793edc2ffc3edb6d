# Whose files are handed out: what others may have written is a miss, is reported, and is left alone.
[ "$(id -u)" -eq 0 ] || { echo "skipped: only root can make files of other owners" >&2; exit 77; }
small g.json torch.softmax
small h.json torch.relu
head -c 200000 /dev/urandom >large
echo code >payload
guardcache insert --graph g.json --payload large >/dev/null
# With so much metadata its candidate index has a file of its own.
printf "{\"x\": \"%03000d\"}" 0 >meta.json
guardcache insert --graph h.json --payload payload --attach "lib/x.so=payload" --meta meta.json >/dev/null
guardcache tune put --system s --op mm --inputs i --precision f32 --choice a=1 >/dev/null 2>&1
dir=$GUARDCACHE_DIR
place() { sed -E 's#[^ ]*/cache\b#DIR#g; s#[0-9a-f]{64}#KEY#g; s#[0-9a-f]{32}#ENTRY#g; s#(entries|attachments)/[0-9a-f]{2}\b#\1/XX#g'; }
key() { guardcache key "$1" | cut -c -64; }
pack=$(find "$dir/entries" -name "$(key h.json).pack")
entry=$(find "$dir/entries" -name "$(key g.json).*.entry")
attachment=$(find "$dir/attachments" -type f)

# harmed WHAT HOW..: what the commands say, that nothing of it was destroyed, and that all is well again afterwards.
harmed() {
    local what=$1 before after
    shift
    echo "$*:"
    "$@" "$what"
    before=$(stat -c '%i %s %u %g %a' "$what")
    run guardcache lookup --graph g.json --out found 2>&1 | place
    run guardcache lookup --graph h.json --place placed 2>&1 | place
    run guardcache insert --graph h.json --payload large --guard "s0 == 99" 2>&1 | place
    guardcache gc >/dev/null 2>&1
    run guardcache doctor 2>&1 | place | grep -A 1 -E '^trust|^exit|^guardcache:' | sed 's/^--$//; /^$/d'
    run guardcache verify 2>&1 | place | head -n 4
    guardcache repair >/dev/null 2>&1 || echo "repair fails: $?"
    after=$(stat -c '%i %s %u %g %a' "$what")
    [ "$before" = "$after" ] || echo "changed: $before, $after"
    chown 0:0 "$what"
    chmod "$([ -d "$what" ] && echo 700 || echo 600)" "$what"
    rm -rf placed
    guardcache lookup --graph g.json --out found && cmp found large && guardcache lookup --graph h.json >/dev/null &&
        guardcache verify >/dev/null || echo "not well again"
}

for what in "$dir" "$dir/entries" "$(dirname "$entry")" "$dir/tmp" "$entry" "$pack" "$dir/attachments" "$attachment" "$dir/index.db"; do
    echo "-- ${what#"$dir"}" | place
    harmed "$what" chmod go+w
    harmed "$what" chmod g+w
    harmed "$what" chown 4321
done

echo "-- the older half of the journal: it hides nothing that the newer one has"
mv "$dir/journal" "$dir/journal.old"
chmod o+w "$dir/journal.old"
guardcache lookup --key "$(printf %064d 7)" 2>/dev/null
run guardcache explain --last 2>&1 | head -n 1 | place | sed 's/    .*//'
rm "$dir/journal.old"

echo "-- settings"
run guardcache ls --set trust=any 2>&1 | place
run guardcache ls --set trust=all 2>&1
GUARDCACHE_TRUST=friends run guardcache ls 2>&1
guardcache config max-candidates 7
chown 4321 "$dir/config.json"
run guardcache config max-candidates 2>&1 | place
run guardcache config max-candidates 9 2>&1 | place
run guardcache repair 2>&1 | tail -n 2 | place
chown 0 "$dir/config.json"
guardcache config trust group
run guardcache config trust
guardcache config --unset trust

echo "-- a group's cache"
group=$(mktemp -d /var/tmp/guardcache-group-XXXXXX)
trap 'rm -rf "$group"' EXIT
cp -r "$dir" "$group/cache"
cp "$(command -v guardcache)" ./*.json payload "$group"
rm -rf "$group/cache/quarantine"/*
chmod 755 "$group"
cd "$group" || exit
export GUARDCACHE_DIR=$group/cache
chgrp -R 4242 cache
find cache -type d -exec chmod 2770 {} +
find cache -type f -exec chmod 660 {} +
run guardcache ls 2>&1 | place
run guardcache ls --set trust=group 2>&1 | place
member() { setpriv --reuid "$1" --regid "$1" --groups 4242 env GUARDCACHE_TRUST=group "${@:2}"; }
run member 5001 ./guardcache lookup --graph h.json 2>&1 | mask
run member 5001 ./guardcache insert --graph g.json --payload payload --variant w 2>&1 | mask
run member 5002 ./guardcache lookup --graph g.json --set trust=group 2>&1 | mask
run member 5002 ./guardcache config max-candidates 11 2>&1
run member 5001 ./guardcache config max-candidates 2>&1
run member 5002 ./guardcache verify 2>&1 | tail -n 2 | sed 's/, [0-9.]* KiB//'
find cache ! -group 4242 -printf 'of another group: %P\n' -o -type f ! -perm -060 -printf 'not for the group: %P %m\n'
chown 6000:6000 "cache/${pack#"$dir/"}"
chmod 644 "cache/${pack#"$dir/"}"
run member 5001 ./guardcache lookup --graph h.json 2>&1 | place
