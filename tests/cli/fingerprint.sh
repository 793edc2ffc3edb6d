# What a compiler is made of, hashed: trees, files and facts, remembered between runs, and what has changed since.
mkdir -p tree/lib/.git tree/lib/__pycache__
echo one >tree/lib/a.py
echo two >tree/lib/b.py
echo object >tree/lib/c.so
echo ignored >tree/lib/.git/HEAD
echo ignored >tree/lib/__pycache__/a.pyc
echo tool >tree/tool

guardcache fingerprint tree/lib tree/tool --fact version=2.1 | tee first
guardcache fingerprint --fact version=2.1 tree/tool tree/lib | tail -n 1 | cmp - <(tail -n 1 first) && echo "order doesn't count"
cp -r tree elsewhere
guardcache fingerprint elsewhere/lib tool=elsewhere/tool --fact version=2.1 | cmp - first && echo "nor where it lies"
guardcache fingerprint --threads 3 tree/lib tree/tool --fact version=2.1 | cmp - first && echo "nor how many threads read it"
guardcache fingerprint --files tree/lib
guardcache fingerprint --json --files tree/lib --suffix .py --skip b.py
[ "$(guardcache fingerprint tree/tool | head -c 64)" = "$(guardcache fingerprint --preset \
    "tool=$(guardcache fingerprint tree/tool | head -c 64)" | head -c 64)" ] && echo "a preset stands for what it was"

echo "remembered:"
guardcache fingerprint --index index "$FIXTURES/json" >/dev/null
guardcache fingerprint --index index --files "$FIXTURES/json" | grep -c "as remembered"
guardcache fingerprint --index index "$FIXTURES/json" | cmp - <(guardcache fingerprint "$FIXTURES/json") && echo "and the same"

echo "what has changed:"
guardcache fingerprint tree/lib tree/tool --fact version=2.1 --save before >/dev/null
run guardcache fingerprint tree/lib tree/tool --fact version=2.1 --since before
echo three >tree/lib/b.py
echo new >tree/lib/d.py
rm tree/lib/c.so
run guardcache fingerprint tree/lib tree/tool --fact version=2.2 --since before

echo "what can't be hashed:"
run guardcache fingerprint
run guardcache fingerprint missing
run guardcache fingerprint tree/lib elsewhere/lib
run guardcache fingerprint --preset tool=12
run guardcache fingerprint --fact version
run guardcache fingerprint --threads 1000 tree/lib
run guardcache fingerprint --since first tree/lib

echo "names that aren't UTF-8:"
mkdir odd
echo one >odd/$'a\xfe'
echo two >odd/$'a\xff'
guardcache fingerprint odd --save before --json --files
run guardcache fingerprint odd --since before
echo three >odd/$'a\xff'
run guardcache fingerprint odd --since before
run guardcache fingerprint odd --since before --json
echo "a file that is no index:"
echo "somebody's notes" >notes
run guardcache fingerprint odd --index notes
cat notes
