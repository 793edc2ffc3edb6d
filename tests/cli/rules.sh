# Rule sets listed and tested: those compiled in hold, and examples that don't are told one by one.
guardcache rules test
guardcache rules list | sed -E 's/^[0-9a-f]{64}/HASH/'
guardcache rules list --json fx | head -n 1

echo "a set of one's own:"
cat >mine.json <<'RULES'
{"format": "guardcache-rules/1", "name": "mine",
 "drop": [{"path": "options.job_id", "why": "numbers the jobs of a cluster",
   "same": [[{"options": {"job_id": 1}}, {"options": {"job_id": 2}}]],
   "different": [[{"options": {"job": 1}}, {"options": {"job": 2}}]]}],
 "text": [{"path": "module", "kind": "ordinal", "pattern": "tmp_\\d+", "with": "tmp_#",
   "same": [["tmp_7 + tmp_9", "tmp_1 + tmp_2"]], "different": [["tmp_7 + tmp_9", "tmp_1 + tmp_1"]]}]}
RULES
run guardcache rules test mine.json
mkdir own && cp mine.json own/rules.json
run guardcache rules test own
guardcache rules list mine.json | sed -E 's/^[0-9a-f]{64}/HASH/'

echo "one that doesn't hold:"
sed 's/"tmp_1 + tmp_2"/"tmp_1 + tmp_1"/; s/"job": 2/"job": 1/' mine.json >wrong.json
run guardcache rules test mine.json wrong.json fx
echo "one that changes its own result:"
cat >again.json <<'RULES'
{"format": "guardcache-rules/1", "name": "again", "text": [
  {"path": "module", "kind": "const", "pattern": "ab?", "with": "a", "same": [["ab", "a"]]},
  {"path": "module", "kind": "const", "pattern": "x", "with": "xx", "different": [["x", "y"]]}]}
RULES
run guardcache rules test again.json
echo "what isn't a set:"
echo '{"format": "guardcache-rules/1", "name": "bad", "text": [{"path": "module", "kind": "drop", "pattern": "("}]}' >bad.json
run guardcache rules test bad.json
run guardcache rules list nix

echo "with advice of one's own:"
cat >own/advice.json <<'ADVICE'
{"advice": [{"path": "options.arch", "text": "{name} was {stored}: build with -arch={stored}, not {asked}."},
            {"path": "options.threads", "where": "sizes", "text": "{name} must be {stored}."}]}
ADVICE
describe() { printf '{"format": "guardcache-graph/1", "kind": "mine", "module": "add", "options": {"arch": "%s", "threads": %s}}' "$1" "$2"; }
describe sm_80 4 >stored.json
describe sm_90 4 >asked.json
describe sm_80 8 >threads.json
echo code >code
guardcache insert --rules own --graph stored.json --payload code >/dev/null
run guardcache explain --rules own --graph asked.json | tail -n 3
run guardcache explain --rules own --graph threads.json | tail -n 3
echo '{"advice": [{"path": "options.arch", "txt": "x"}]}' >own/advice.json
run guardcache explain --rules own --graph asked.json
cat >own/advice.json <<'ADVICE'
{"advice": [{"reason": "guard_false", "where": ["modulus", "size"], "text": "pad {tensor} along {dim} to a multiple of {modulus}."},
            {"reason": "requirement", "path": "cpu|gpu", "text": "{name} {asked} isn't {stored}.", "example": "other_cpu"}]}
ADVICE
guardcache insert --rules own --graph threads.json --payload code --guard "s0 % 8 == 0" --hint s0=8 --require gpu=A >/dev/null
run guardcache explain --rules own --graph threads.json --hint s0=9 --provide gpu=A --source "s0=x.size(0)" | tail -n 2
run guardcache explain --rules own --graph threads.json --hint s0=8 --provide gpu=B | tail -n 2
echo '{"advice": [{"path": "options.arch", "where": "size", "graph": "like", "text": "x"}]}' >own/advice.json
run guardcache explain --rules own --graph asked.json
