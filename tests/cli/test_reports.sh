# The reports of `guardcache test` as other programs read them: JUnit by an XML parser, TAP by its grammar.
record() {
    mkdir -p "$1/graphs"
    small "$1/graphs/g.json" torch.softmax
    cat >"$1/trace.jsonl" <<'TRACE'
{"seq": 1, "op": "lookup", "graph": "graphs/g.json", "hints": {"s0": 16}}
{"seq": 2, "op": "insert", "graph": "graphs/g.json", "hints": {"s0": 16}, "guards": ["s0 < 64", "s0 > 1"], "payload": {"size": 9}}
{"seq": 3, "op": "lookup", "graph": "graphs/g.json", "hints": {"s0": 48}}
{"seq": 4, "op": "bypass", "graph": null, "reason": "a < b & \"c\" \u001b[31m \ufffe"}
TRACE
}
for name in good 'odd #1 <&">' other expecting; do
    record "all/$name"
    guardcache test --accept "all/$name" >/dev/null
done
record all/new
mkdir all/broken
echo '{"op": "dance <&>"}' >all/broken/trace.jsonl
sed -i 's/s0 < 64/s0 < 32/; /"seq": 1/d' 'all/odd #1 <&">/trace.jsonl'
sed -i 's/"fast_math": false/"fast_math": true/' all/other/graphs/g.json
mv all/other "$(printf 'all/other\nok 99 - forged')"
sed -i '3s/}$/, "expect": {"outcome": "miss"}}/' all/expecting/trace.jsonl

guardcache test --tap --junit report.xml all >report.tap
echo "exit $?"
guardcache test --json all >report.jsonl
echo "exit $?"
cat report.tap
python3 - <<'PY'
import json
import re
import xml.etree.ElementTree as tree

# JUnit: counts that are true, a class and a time for each case, a message for each failure.
report = tree.parse("report.xml").getroot()
total = {"tests": 0, "failures": 0, "errors": 0}
for suite in report:
    cases = suite.findall("testcase")
    counts = {"tests": len(cases), "failures": len(suite.findall("*/failure")), "errors": len(suite.findall("*/error"))}
    assert counts == {name: int(suite.get(name)) for name in counts}, (suite.attrib, counts)
    assert all(case.get("classname") == suite.get("name") and float(case.get("time")) >= 0 for case in cases)
    assert len({case.get("name") for case in cases}) == len(cases)
    total = {name: total[name] + counts[name] for name in total}
    print(suite.get("name"), counts)
    for case in cases:
        for bad in case:
            print("   ", case.get("name"), "|", bad.tag, "|", bad.get("message"), "|", (bad.text or "").replace("\n", " / "))
assert report.tag == "testsuites" and total == {name: int(report.get(name)) for name in total}
assert abs(float(report.get("time")) - sum(float(case.get("time")) for case in report.iter("testcase"))) < 0.001

# JSON: the same in numbers.
*fixtures, last = [json.loads(line) for line in open("report.jsonl")]
for fixture in fixtures:
    print(fixture["verdict"], fixture["fixture"], fixture["and_so"], [one["about"] for one in fixture["differences"]])
    assert all(isinstance(line, str) for one in fixture["differences"] for line in one["details"])
    assert (fixture["elapsed_ns"] > 0) == (fixture["events"] > 0)
print(last)

# TAP 13: a version, a plan, numbered tests, and behind a failure a YAML block whose values are JSON.
lines = open("report.tap").read().splitlines()
assert lines[0] == "TAP version 13" and lines[1] == "1..6"
tests, blocks = 0, 0
at = 2
while at < len(lines):
    test = re.fullmatch(r"(not )?ok (\d+) - ((?:[^#\\]|\\[#\\])+)", lines[at])
    tests += 1
    assert test and int(test[2]) == tests, lines[at]
    at += 1
    if not test[1]:
        continue
    assert lines[at] == "  ---", lines[at]
    end = lines.index("  ...", at)
    for line in lines[at + 1 : end]:
        value = re.fullmatch(r"  +(?:- )?(?:\w+:)? ?(.*)", line)[1]
        assert not value.startswith('"') or isinstance(json.loads(value), str), line
    at, blocks = end + 1, blocks + 1
assert tests == 6
print(blocks, "YAML blocks")
try:
    import yaml
except ImportError:
    yaml = None
for block in re.findall(r"^  ---\n(.*?)^  \.\.\.$", open("report.tap").read(), re.DOTALL | re.MULTILINE) if yaml else []:
    assert yaml.safe_load(block)["message"]
PY
