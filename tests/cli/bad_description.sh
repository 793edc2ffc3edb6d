# Descriptions that aren't: each gets a message with its place and exit status 2, for every command that reads one.
small g.json torch.softmax
try() {
    printf '%s\n' "$1"
    run guardcache key bad.json | cut -c -400 | mask
}
head -c 200 g.json >bad.json; try truncated
: >bad.json; try empty
echo '[]' >bad.json; try "not an object"
echo '{}' >bad.json; try "no format"
sed 's/graph\/1/graph\/99/' g.json >bad.json; try "a later format"
sed 's/"kind": "generic"/"kind": 7/' g.json >bad.json; try "the kind isn't text"
sed 's/"options"/"inputs"/' g.json >bad.json; try "a name twice"
sed 's/"nodes": \[/"nodes": [1, /' g.json >bad.json; try "a node isn't an object"
sed 's/"op": "call_function", //' g.json >bad.json; try "a node without op"
sed 's/{"[$]node": "x"}/{"\x24node": "nix"}/' g.json >bad.json; try "a reference to no node"
sed 's/\["s0", 16\]/["s0 +", 16]/' g.json >bad.json; try "a shape that isn't an expression"
sed 's/\["s0", 16\]/{"s0": 16}/' g.json >bad.json; try "a shape that isn't a list"
sed 's/float32/float\xff32/' g.json >bad.json; try "not UTF-8"
sed 's/float32/\\ud800/' g.json >bad.json; try "half a surrogate"
sed 's/false/NaN/' g.json >bad.json; try "NaN"
sed 's/false/1e999/' g.json >bad.json; try "a float that is too large"
sed 's/false/01/' g.json >bad.json; try "a leading zero"
{ cat g.json; echo '{}'; } >bad.json; try "text behind it"
python3 -c 'print("[" * 100000)' >bad.json; try "100,000 levels"
python3 -c 'print("{\"format\": \"guardcache-graph/1\", \"kind\": \"generic\", \"x\": " + "[" * 100000 + "]" * 100000 + "}")' >bad.json
try "100,000 levels, closed"
mkdir folder; printf 'a folder\n'; run guardcache key folder

echo "other commands:"
head -c 200 g.json >bad.json
for command in "canon bad.json" "lookup --graph bad.json" "explain --graph bad.json" "insert --graph bad.json --payload g.json"; do
    # shellcheck disable=SC2086 # words
    run guardcache $command
done
guardcache insert --graph g.json --payload g.json >/dev/null
guardcache verify | sed -E 's/[0-9.]+ (B|KiB)/SIZE/'
