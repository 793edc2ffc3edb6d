# Kinds of one's own: folders that are found where GUARDCACHE_KINDS says, with their rules, examples and advice.
describe() { printf '{"format": "guardcache-graph/1", "kind": "%s", "module": "%s", "options": {"arch": "%s"}}' "$@"; }
mkdir -p kinds/toy kinds/notes
cat >kinds/toy/rules.json <<'RULES'
{"format": "guardcache-rules/1", "name": "toy",
 "text": [{"path": "module", "kind": "ordinal", "pattern": "tmp_\\d+", "with": "tmp_#", "why": "temporaries are numbered",
   "same": [["tmp_7 + tmp_9", "tmp_1 + tmp_2"]], "different": [["tmp_7 + tmp_9", "tmp_1 + tmp_1"]]}]}
RULES
cat >kinds/toy/advice.json <<'ADVICE'
{"advice": [{"path": "options.arch", "text": "{name} was {stored}: build with -arch={stored}."}]}
ADVICE
describe toy "tmp_7 + tmp_9" a >first.json
describe toy "tmp_1 + tmp_2" a >renamed.json
describe toy "tmp_1 + tmp_2" b >other.json
echo code >code

echo "without the folder it is a kind that nobody knows:"
run guardcache diff first.json renamed.json
export GUARDCACHE_KINDS=$PWD/kinds
echo "with it:"
run guardcache diff first.json renamed.json
guardcache rules list toy | sed -E 's/^[0-9a-f]{64}/HASH/'
guardcache rules test | tail -n 1
guardcache canon --trace first.json | grep temporaries
echo "its advice, now and afterwards:"
guardcache insert --graph first.json --payload code >/dev/null
guardcache lookup --graph renamed.json >/dev/null && echo "a hit under another name"
GUARDCACHE_RECORD=fixture guardcache lookup --graph other.json >/dev/null 2>&1
guardcache explain --graph other.json | tail -n 1
guardcache explain --last | tail -n 1

run guardcache test --accept fixture
echo "in the configuration folder:"
mkdir -p config/guardcache && cp -r kinds config/guardcache/kinds
run env -u GUARDCACHE_KINDS XDG_CONFIG_HOME="$PWD/config" guardcache diff first.json renamed.json
run env -u GUARDCACHE_KINDS -u XDG_CONFIG_HOME HOME="$PWD/home" guardcache rules test toy

echo "other rules are other keys:"
guardcache key first.json >before
sed -i 's/tmp_#/t#/' kinds/toy/rules.json
guardcache key first.json | cmp -s before - || echo "another key"
echo "and a run that was recorded under the old ones says so:"
run guardcache test fixture
echo "played where nobody knows the kind:"
cp -r fixture elsewhere
run env -u GUARDCACHE_KINDS HOME=/ guardcache test --accept elsewhere 2>&1 | grep -v "^  "

echo "advice alone leaves the keys as they are:"
mkdir kinds/plain && cp kinds/toy/advice.json kinds/plain
describe plain add a >plain.json
env -u GUARDCACHE_KINDS HOME=/ guardcache key plain.json >before
guardcache key plain.json | cmp before - && echo "the same key"

echo "what can't be used stops nobody else:"
mkdir kinds/broken kinds/fx kinds/typo
printf '{"format": "guardcache-rules/1",\n "name": "broken", "drip": []}' >kinds/broken/rules.json
cp kinds/toy/rules.json kinds/fx
echo '{"format": "guardcache-rules/1", "name": "fx"}' >kinds/fx/rules.json
cp kinds/toy/rules.json kinds/typo
describe broken add a >broken.json
run guardcache diff first.json renamed.json
run guardcache lookup --graph broken.json 2>&1 | grep -v warning
echo "nor does a folder that isn't there, or another one with the same kind:"
mkdir -p others/toy
echo '{"format": "guardcache-rules/1", "name": "toy"}' >others/toy/rules.json
GUARDCACHE_KINDS=nowhere:$PWD/config/guardcache/kinds:$PWD/others run guardcache diff first.json renamed.json
echo "what is no plain file is told, and nobody waits for it or takes generic's rules instead:"
mkdir -p odd/circle odd/nowhere odd/pipe odd/advised
ln -s rules.json odd/circle/rules.json
ln -s missing.json odd/nowhere/rules.json
mkfifo odd/pipe/rules.json odd/advised/advice.json
for kind in circle nowhere pipe advised; do
    describe "$kind" add a >"odd/$kind.json"
    GUARDCACHE_KINDS=$PWD/odd run timeout 10 guardcache key "odd/$kind.json" 2>&1 | grep -v "warning.*odd/[^$kind]" | sort -u
done
