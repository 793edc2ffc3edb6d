# The JSON of two captured misses: every candidate and guard, the first failing one and its values; nearest keys.
summarise() {
    python3 -c '
import json, sys
answer = json.loads(sys.stdin.read())
print(answer["outcome"], answer["reason"], len(answer["key"]))
for candidate in answer["candidates"]:
    first = candidate.get("first_failing")
    print("candidate", len(candidate["entry"]), len(candidate["guards"]), first)
    if first is not None:
        print("   ", candidate["guards"][first]["text"], candidate["guards"][first]["result"], candidate["values"])
for near in answer["nearest"]:
    print("near", len(near["key"]))
    for difference in near["differs"][:3]:
        print("   ", difference["path"], difference["stored"], difference["asked"])
'
}
explain_event mlp_train 13 --json | summarise
explain_event multi_buckets 13 --json | summarise
explain_event hf_opt 6 --json | summarise | cut -c -150
explain_event synthetic 40 --json | summarise
