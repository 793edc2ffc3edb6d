# Entries that no lookup will choose: found by ls, marked in the report, and explain never names them the winner.
small g.json torch.softmax
insert() { guardcache insert --graph g.json --payload payload "$@" >/dev/null; }
beginnings() { sed -E 's/[0-9a-f]{12}/BEGINNING_/g' | mask; }
echo narrow >payload
insert --guard "s0 <= 512"
insert --guard "s0 % 16 == 0" --guard "s0 <= 100"
insert --guard "s0 <= 512" --variant pgle
insert --guard "s0 <= 512" --require driver=535
run guardcache ls --shadowed | beginnings
echo wide >payload
insert --guard "s0 <= 1024"
insert --guard "s0 % 8 == 0" --guard "s0 <= 128"
run guardcache ls --shadowed | beginnings
guardcache ls --shadowed --json | python3 -c '
import json, sys
for entry in map(json.loads, sys.stdin):
    print(entry["guards"], "by another entry:", entry["shadowed_by"] != entry["entry"])'
echo "what is chosen instead:"
for size in 64 80 500 7; do
    guardcache lookup --graph g.json --hint s0=$size --out found --label "net.py:1 forward" && cat found
done
run guardcache lookup --graph g.json --hint s0=2000 --label "net.py:1 forward"
guardcache report --html page.html
grep -c "<strong>shadowed</strong> by #" page.html
