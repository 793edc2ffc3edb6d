# guard eval --batch: one answer a line, in order; a malformed line ends it with its number.
cat >lines <<'LINES'
{"guard": "L['t0'] % 8 == 0", "hints": {"t0": 16}}
{"guard": "L['t0'] % 8 == 0", "hints": {"t0": 12}}
{"guard": "s0 // s1", "hints": {"s0": 1, "s1": 0}}
{"guard": "L['t9'] == 0"}
{"guard": "s9 == 0", "hints": {}}
{"guard": "s0 +", "hints": {}}
{"guard": "", "hints": {}}
{"guard": "s0 == 9223372036854775808", "hints": {"s0": 9223372036854775808}}
{"guard": "s0 == 9223372036854775808", "hints": {"s0": {"$int": "9223372036854775808"}}}
{"guard": "x == 1.5 and b and n == None", "hints": {"x": 1.5, "b": true, "n": null}}
{"guard": "x != x", "hints": {"x": {"$float": "nan"}}}
{"hints": {"s0": -7}, "guard": "s0 // 2 == -4 and s0 % 2 == 1", "note": "members that aren't known are ignored"}
{"guard": "\u0000", "hints": {}}
{"guard": "True or s0.True", "hints": {"s0": 1}}
{"guard": "1 or (s0).and(1)", "hints": {"s0": 1}}
{"guard": "True or s0.android", "hints": {"s0": 1}}
LINES
run guardcache guard eval --batch <lines
run guardcache guard eval --batch </dev/null
printf '{"guard": "1", "hints": {}}' | run guardcache guard eval --batch

for bad in '{"guard": "1", "hints": {}' '[1]' '{"hints": {}}' '{"guard": 1}' '{"guard": "1", "hints": [1]}' \
    '{"guard": "1", "hints": {"s0": "16"}}' '{"guard": "1", "hints": {"s0": {"$float": "huge"}}}' \
    '{"guard": "1", "guard": "2"}' '{"guard": "1", "hints": {"s0": 1, "s0": 2}}' '' $'{"guard": "\xff"}'; do
    printf '%s\n' '{"guard": "s0 == 1", "hints": {"s0": 1}}' "$bad" '{"guard": "1"}' | run guardcache guard eval --batch
done

echo "a program can ask line by line:"
coproc guardcache guard eval --batch
for size in 1 2 3; do
    echo "{\"guard\": \"s0 == 2\", \"hints\": {\"s0\": $size}}" >&"${COPROC[1]}"
    read -r -t 10 answer <&"${COPROC[0]}"
    echo "$size $answer"
done
