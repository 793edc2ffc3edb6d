# Fixtures played in several processes: the same output in the same order, and nothing left when it ends early.
record() {
    mkdir -p "$1/graphs"
    small "$1/graphs/g.json" torch.softmax
    cat >"$1/trace.jsonl" <<'E'
{"seq": 1, "op": "insert", "graph": "graphs/g.json", "hints": {"s0": 16}, "guards": ["s0 <= 64"], "payload": {"size": 9}}
{"seq": 2, "op": "lookup", "graph": "graphs/g.json", "hints": {"s0": 48}}
E
}
for name in 1 2 3 4 5 6 7 8; do
    record "all/$name"
done
guardcache test --accept all >/dev/null
sed -i 's/s0 <= 64/s0 <= 32/' all/4/trace.jsonl
echo nothing >all/6/trace.jsonl
untimed() { sed -E 's/ time="[0-9.]+"//' "$1"; }
run guardcache test --jobs 1 --junit one.xml all >one
for jobs in 0 2 3 100; do
    run guardcache test --jobs $jobs --junit many.xml all >many
    cmp one many && cmp <(untimed one.xml) <(untimed many.xml) && echo "$jobs: the same"
done
cat one
guardcache test --tap --jobs 3 all | cmp - <(guardcache test --tap --jobs 1 all) && echo "the same in TAP"
run guardcache test --jobs -1 all
run guardcache test --accept --jobs 4 all | tail -n 3

# A process that dies is told, and the others go on. It waits for its payload, which nobody writes.
for name in 1 2; do
    mkfifo "all/$name/payload"
    sed -i 's/{"size": 9}/{"file": "payload"}/' "all/$name/trace.jsonl"
done
rm -r all/6
waiting() {
    for _ in $(seq 200); do
        pgrep -P "$1" >players
        [ "$(wc -l <players)" -eq "$2" ] && return
        sleep 0.05
    done
    echo "there are $(wc -l <players) players, not $2"
}
guardcache test --jobs 2 all >killed 2>&1 &
waiting $! 2
xargs kill -KILL <players
wait $!
echo "exit $?"
cat killed

# Interrupted: the processes that play end too, and remove what they made.
mkdir before
TMPDIR=$PWD/before guardcache test --jobs 2 all >interrupted 2>&1 &
waiting $! 2
kill -TERM $!
wait $! 2>/dev/null
echo "exit $?"
xargs -I PID sh -c 'kill -0 PID 2>/dev/null && echo PID is still there' <players
find before -mindepth 1
