# A replay that is interrupted removes its temporary cache and ends as the signal would have it.
mkdir -p trace/graphs
small trace/graphs/g.json torch.softmax
mkfifo trace/trace.jsonl
for signal in INT TERM HUP; do
    guardcache replay trace >out &
    exec 3>trace/trace.jsonl
    echo '{"seq": 1, "op": "lookup", "graph": "graphs/g.json"}' >&3
    until [ -s out ] || ! kill -0 $! 2>/dev/null; do sleep 0.05; done
    find "$TMPDIR" -mindepth 1 -maxdepth 1 -name 'guardcache-*' | wc -l
    kill -s $signal $!
    echo '{"seq": 2, "op": "bypass"}' >&3
    exec 3>&-
    # The shell tells of jobs that a signal ended; the status is what counts.
    { wait $!; } 2>/dev/null
    status=$?
    [ "$status" -eq $((128 + $(kill -l $signal))) ] && echo "ended by $signal"
    find "$TMPDIR" -mindepth 1 -maxdepth 1 -name 'guardcache-*' | wc -l
    rm -f out
done
