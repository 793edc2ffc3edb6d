# A tier on a Redis server: what every command says while it is there, gone, and back again.
command -v redis-server >/dev/null || { echo "redis-server isn't installed"; exit 77; }
small g.json torch.softmax
small h.json torch.relu
echo code >payload
server=
start() {
    redis-server --port 0 --unixsocket "$PWD/s" --save '' --appendonly no --dir "$PWD" >redis.log 2>&1 &
    server=$!
    for _ in $(seq 200); do redis-cli -s s ping 2>/dev/null | grep -q PONG && return; sleep 0.05; done
    echo "the server didn't start"
    cat redis.log
}
stop() {
    kill "$server"
    wait "$server" 2>/dev/null
    rm -f s
}
trap 'kill "$server" 2>/dev/null' EXIT
# What differs from run to run: besides ids, keys and moments what was waited and how many bytes of times were sent.
quiet() {
    sed -E 's/[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8} +[0-9]+/TIME PROCESS/; s/[0-9.]+ (ns|us|ms)\b/A WHILE/g; s/(under|over) A WHILE [0-9]+ %/SHARE/g;
        s/( +SHARE)+/ SHARES/; s/bytes_(sent|received) [0-9]+/bytes_\1 N/g; s/[0-9.]+ (bytes|KiB) (sent|received)/SIZE \2/g; s/unused for .*/unused for A WHILE/;
        s/since [0-9]{2}:[0-9]{2}/since TIME/; s/(#[0-9]+ +)[0-9a-f]{6}\b/\1ID/; s/\bkey [0-9a-f]{8}/key KEY/; s/  [0-9a-f]{8}  /  KEY  /;
        s/(\)|under it) +[0-9:]{8}$/\1    TIME/; s/(nearest of 1 key: )[0-9a-f]{8}, stored [0-9:]{5}/\1KEY, stored TIME/; s/(_ns|bytes_sent|bytes_received|seconds\{tier="[^"]*"\})(": | )[0-9.e-]+/\1\2N/g' | mask
}
export GUARDCACHE_TIERS="redis+unix://$PWD/s"
lookup() { run guardcache lookup "$@" 2>&1 | quiet; }

echo "there:"
start
lookup --graph g.json --hint s0=16
run guardcache tier ls
run guardcache tier ping | quiet
run guardcache insert --graph g.json --hint s0=16 --guard "s0 % 8 == 0" --payload payload --compile-ns 4100000000 | quiet
echo "another host:"
export GUARDCACHE_DIR=$PWD/other
run guardcache explain --graph g.json --hint s0=24 | quiet
lookup --graph g.json --hint s0=12
run guardcache explain --last | quiet
guardcache insert --graph g.json --hint s0=12 --guard "s0 % 9 == 3" --payload h.json --set tiers= >/dev/null
run guardcache explain --graph g.json --hint s0=7 | quiet
lookup --graph g.json --hint s0=24 --label "train.py:88 forward"
lookup --graph g.json --hint s0=24
guardcache journal --json | python3 -c '
import json, sys
for line in sys.stdin:
    entry = json.loads(line)
    print(entry["act"], entry.get("tier", "-"), entry.get("waited_ns", 0) > 0, entry.get("asked", "-"), entry.get("hits", "-"))' | sed "s#$PWD#HERE#"
run guardcache journal | quiet
run guardcache stats | quiet
run guardcache stats --label train.py | quiet
guardcache stats --prometheus | grep -E '^guardcache_(served|tier_(asked|hits|asking))' | quiet
guardcache stats --json | python3 -c '
import json, sys
for tier in json.load(sys.stdin)["tiers"]:
    print(tier["tier"], tier["served"], tier["saved_ns"], tier.get("asked"), tier.get("round_trips"))'
guardcache report | grep -A 3 -F '<h2>Tiers</h2>' | quiet
run guardcache doctor | grep -A 1 '^tier' | quiet

echo "gone:"
stop
run guardcache tier ping | quiet
lookup --graph h.json --hint s0=16
run guardcache explain --last | quiet
run guardcache explain --graph h.json --hint s0=16 | quiet
run guardcache lookup --graph h.json --hint s0=16 --set strict 2>&1 | quiet
run guardcache insert --graph h.json --hint s0=16 --payload payload 2>&1 | quiet
run guardcache tier sync 2>&1 | quiet
run guardcache doctor | grep -A 1 '^tier' | quiet

echo "back again, empty:"
start
run guardcache tier sync
run guardcache tier sync
lookup --cache third --graph h.json --hint s0=16
run guardcache push "redis+unix://$PWD/s?prefix=team"
run guardcache pull "redis+unix://$PWD/s?prefix=team" --cache fourth
guardcache ls --cache fourth | wc -l
run guardcache pull "redis+unix://$PWD/s?prefix=team" --cache fourth --json
run guardcache push "redis+unix://$PWD/s?read-only=1"
GUARDCACHE_READ_ONLY=1 run guardcache pull "redis+unix://$PWD/s" --cache fourth
run guardcache tier ls --set tiers="$GUARDCACHE_TIERS?read-only=1 $GUARDCACHE_TIERS?prefix=team" --json | python3 -c '
import json, sys
for line in sys.stdin:
    print({k: v for k, v in json.loads(line).items() if v} if line[0] == "{" else line.strip())'
run guardcache tier ping --json | python3 -c '
import json, sys
for line in sys.stdin:
    print(sorted(json.loads(line)) if line[0] == "{" else line.strip())'
stop
