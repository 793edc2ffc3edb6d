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
run guardcache explain --hint s0=99
run guardcache explain --last --source s0=x
