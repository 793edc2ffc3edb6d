# explain in its forms: nothing stored, a hit, the two common misses, everything.
small g.json torch.softmax
small h.json torch.relu
echo code >payload
run guardcache explain --graph g.json --hint s0=16 | story
guardcache insert --graph g.json --guard "s0 % 8 == 0" --guard "s0 <= 1024" --payload payload >/dev/null
guardcache insert --graph g.json --guard "s0 == 2" --payload payload --label "train.py:88 forward" >/dev/null
run guardcache explain --graph g.json --hint s0=16 | story
run guardcache explain --graph g.json --hint s0=12 --source "s0=x.size(0)" --label "infer.py:7" | story
run guardcache explain --graph h.json --hint s0=12 | story
run guardcache explain --graph h.json --all | story

echo "a past miss has its own hints:"
for given in --hint=s0=99 --hints=hints.json --rules=rules.json --variant=v --expect-variant=v --provide=a=b --source=s0=x \
    --same-names; do
    run guardcache explain --last "$given"
done
run guardcache explain --hint s0=99
