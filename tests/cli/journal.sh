# What past lookups left behind: as a list, chosen, followed, explained.
small g.json torch.softmax
small h.json torch.relu
echo code >payload
story() { sed -E 's/\b[0-9a-f]{64}\b/KEY/g; s/\b[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8} +[0-9]+/TIME PROCESS/; s/  [0-9a-f]{8}\b/  KEY/; s/(stored|since|key:|key|hits|#[0-9]+ ) ?[0-9a-f:]{5,8}\b/\1 _/g; s/ [0-9]{2}:[0-9]{2}:[0-9]{2}/ TIME/g'; }
run guardcache lookup --graph g.json --hint s0=16 --label "train.py:88 forward"
guardcache insert --graph g.json --hint s0=16 --guard "s0 % 8 == 0" --payload payload --compile-ns 4100000000 >/dev/null
guardcache lookup --graph g.json --hint s0=24 --source "s0=x.size(0)" --source "s7=unused" >/dev/null
run guardcache lookup --graph g.json --hint s0=12 --label "infer.py:7" --source "s0=x.size(0)"
run guardcache lookup --graph h.json --hint s0=12
run guardcache journal | story
run guardcache journal --reason guard_false | story
run guardcache journal --last 2 | story
run guardcache journal --since 0s
run guardcache journal --since yesterday
run guardcache explain --last | story
run guardcache explain --last 5 --label infer | story
run guardcache explain --reason requirement
run guardcache explain --last 0
run guardcache explain --last --graph g.json
guardcache journal --json | python3 -c '
import json, sys
for line in sys.stdin:
    event = json.loads(line)
    print(event["act"], event["reason"], event["hints"], event.get("hits", ""), event.get("compile_ns", ""))'
guardcache explain --since 1h --json | python3 -c '
import json, sys
for line in sys.stdin:
    event = json.loads(line)
    print(event["reason"], event.get("label"), event["compile_ns"], event["now"], len(event["candidates"]), event.get("advice"))'

echo "why it was compiled at all, as the caller says:"
run guardcache lookup --graph g.json --hint s0=20 --why-asked "$(printf 'traced again: x.size(0) was 8, now 20\nx.size(0) was 8, then 20: became dynamic')"
run guardcache explain --last | story
guardcache explain --last --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["why_asked"])'
guardcache journal --last 1 --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["why_asked"])'
run guardcache explain --last --why-asked nothing

# Following prints what comes.
guardcache journal --follow --last 1 >followed &
follower=$!
for _ in $(seq 40); do [ -s followed ] && break; sleep 0.05; done
guardcache lookup --graph h.json --hint s0=99 >/dev/null 2>&1
for _ in $(seq 80); do grep -q s0=99 followed && break; sleep 0.05; done
kill -TERM $follower
wait $follower
printf 'follower %d\n' $?
story <followed

echo "what no key begins with:"
run guardcache journal --key zz
run guardcache stats --key 12x

echo "of one namespace, given by option or environment; without one, of all:"
guardcache lookup --cache spaces --graph g.json --hint s0=1 >/dev/null 2>&1
for size in 2 3; do guardcache lookup --cache spaces --namespace a --graph g.json --hint s0=$size >/dev/null 2>&1; done
guardcache lookup --cache spaces --namespace ab --graph h.json --hint s0=4 >/dev/null 2>&1
run guardcache journal --cache spaces | story
run guardcache journal --cache spaces --namespace a | story
GUARDCACHE_NAMESPACE=a run guardcache journal --cache spaces --last | story
GUARDCACHE_NAMESPACE=a run guardcache journal --cache spaces --namespace ab | story
GUARDCACHE_NAMESPACE='' guardcache journal --cache spaces | wc -l
guardcache journal --cache spaces --namespace '' | story
run guardcache journal --cache spaces --namespace nosuch
run guardcache explain --cache spaces --last 5 --namespace ab | grep -c "^miss: "
run guardcache explain --cache spaces --last --namespace nosuch
run guardcache explain --cache spaces --last --namespace nosuch --html page.html
guardcache top --cache spaces | sed 1d | wc -l
guardcache top --cache spaces --namespace a | sed -E 's! +key [0-9a-f]{8} .*!!'
guardcache report --cache spaces --namespace a | grep -cE "<dt>lookups</dt><dd>2<"
guardcache report --cache spaces --namespace nosuch | grep -c "The journal has no entry of those"
guardcache stats --cache spaces | head -n 1
GUARDCACHE_NAMESPACE=a guardcache stats --cache spaces | head -n 1
