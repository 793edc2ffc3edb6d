# Sums over the journal, in three forms, and what costs most.
small g.json torch.softmax
small h.json torch.relu
echo code >payload
lookup() { guardcache lookup "$@" >/dev/null 2>&1; }
times() { sed -E 's/[0-9.]+ (ns|us|ms)/A WHILE/g; s/unused for .*/unused for A WHILE/; s/(idle_seconds) .*/\1 SOME/; s/(under|over) A WHILE [0-9]+ %/SHARE/g; s/( +SHARE)+/ SHARES/; s/[0-9.]+ KiB/SIZE/; s/since .*/since TIME/; s/\b[0-9]{2}:[0-9]{2}$/TIME/; s/"(oldest|newest)_ns": [0-9]+/"\1_ns": TIME/g; s/"count": [0-9]+/"count": N/g; s/"bytes": [0-9]+/"bytes": N/; s/  [0-9a-f]{8}/  KEY/; s/ [0-9a-f]{8}  / KEY  /; s/\b[0-9a-f]{64}\b/KEY/; s/"(disk_reads|memory_hits|least_recent_idle_ns)": [0-9]+/"\1": N/g'; }
lookup --graph g.json --hint s0=16 --label "resnet.py:12 forward"
guardcache insert --graph g.json --hint s0=16 --guard "s0 % 8 == 0" --payload payload --compile-ns 4100000000 >/dev/null
for size in 8 24 32; do lookup --graph g.json --hint s0=$size --label "resnet.py:12 forward"; done
lookup --graph g.json --hint s0=12 --label "resnet.py:12 forward"
lookup --graph g.json --hint s0=13 --label "bert.py:7 forward"
lookup --graph h.json --hint s0=12 --label "bert.py:7 forward"
run guardcache stats | times
run guardcache stats --label bert | times
run guardcache stats --json | times
run guardcache stats --prometheus | grep -E "^guardcache_(hits|misses.*(no_key|guard_false)|saved|entries|keys|inserts|evictions|least_recent)" | times
run guardcache stats --json --prometheus
run guardcache top | times
run guardcache top keys | times
run guardcache top guards --count 1
run guardcache top guards --json | times
run guardcache top colours
run guardcache top misses --count -1

# Two commands are two processes: what one compiled isn't known to be of the other's miss, which didn't take "0 ns" for that.
lookup --cache two --graph g.json --hint s0=16 --label "bert.py:7 forward"
guardcache insert --cache two --graph g.json --hint s0=16 --payload payload --compile-ns 5000000000 --label "bert.py:7 forward" >/dev/null
guardcache stats --cache two | grep -A1 -E "^label"

echo "several labels under one key: the one with most misses, whichever came last:"
for size in 11 12 13; do lookup --cache many --graph g.json --hint s0=$size --label "a.py:1 f"; done
lookup --cache many --graph g.json --hint s0=11 --label "b.py:9 g"
guardcache top --cache many | times
lookup --cache many --graph g.json --hint s0=11
lookup --cache many --graph g.json --hint s0=11 --label "a/very/long/path/to/the/third/of/the/programs/c.py:3 h"
guardcache insert --cache many --graph g.json --guard "s0 % 9 == 0" --payload payload >/dev/null
for size in 14 15; do lookup --cache many --graph g.json --hint s0=$size --label "a/very/long/path/to/the/third/of/the/programs/c.py:3 h"; done
lookup --cache many --graph g.json --hint s0=16 --label "b.py:9 g"
lookup --cache many --graph g.json --hint s0=18 --label "d.py:4"
guardcache top --cache many | times
guardcache top keys --cache many | times
guardcache top guards --cache many
guardcache top keys --cache many --json | times
guardcache top --cache many --label a.py --json | times
guardcache report --cache many | sed -nE 's/^<h3>(.*) <code.*/\1/p; s/.*<summary>.*<\/span> <span>(.*) <code.*/\1/p; s/.*<h3>([^<]*more[^<]*) <code.*/picture: \1/p'
