# Keys: the same for the same graph from another process, from standard input and in every form of output.
trace=$FIXTURES/traces/mlp_train/graphs
small a.json torch.softmax
small b.json torch.relu

guardcache key a.json b.json | mask
guardcache key --components a.json | mask
guardcache key --json a.json | mask
guardcache key - <a.json | cut -c 65-
[ "$(guardcache key - <a.json | cut -c -64)" = "$(guardcache key a.json | cut -c -64)" ] && echo "standard input: same"
[ "$(guardcache key a.json | cut -c -64)" != "$(guardcache key b.json | cut -c -64)" ] && echo "other target: different"
printf '%s\n' "$trace"/f4d33ed93d25eb4e.json "" "$trace"/f4d33ed93d25eb4e-twin.json |
    guardcache key --batch | cut -c -64 | uniq -c | mask
[ "$(guardcache key --components a.json | grep -c '^  [0-9a-f]\{64\}  [a-z]*$')" -ge 4 ] && echo "components"

echo "a bad file among good ones:"
echo "{}" >bad.json
run guardcache key a.json bad.json missing.json b.json | mask

echo "a zero byte in a name:"
printf 'a.json\0x\nb.json\n' | run guardcache key --batch | mask
