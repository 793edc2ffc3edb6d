# Labels, kinds, names, values, file names: what came from elsewhere neither drives the terminal nor forges a line.
# A new command that prints text gets a line in COMMANDS.
python3 - <<'PY'
import json
import os
import re
import subprocess
import sys

# Ends a line, colours, moves the cursor, C1's CSI, turns the writing direction. No zero, which no argument can hold.
BAD = "x<script>\nFORGED\r\x1b[31m\x07\u009b2J\u0085\u202e\u2066\u2028\x7f\ty"
RAW = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xa8-\xae]|\xe2\x81[\xa6-\xa9]")


def run(*arguments, text=None):
    return subprocess.run(["guardcache", *arguments], capture_output=True, input=text, check=False)


def graph(name, size):
    node = {"name": BAD, "op": "call_function", "target": BAD, "args": [{"$node": "in"}], "kwargs": {BAD: BAD}}
    out = {"name": "output", "op": "output", "target": "output", "args": [{"$node": BAD}], "kwargs": {}}
    whole = {
        "format": "guardcache-graph/1",
        "kind": KIND,
        "graph": {"nodes": [node, out]},
        "inputs": [{"name": "in", "value": {"$tensor": {"dtype": "float32", "shape": [size], "device": BAD}}}],
        "options": {BAD: [BAD, {BAD: size}], "big": BAD * 20},
        BAD: size,
    }
    with open(name, "w") as file:
        json.dump(whole, file)


KIND = "my" + BAD
graph("g.json", 16)
if run("key", "g.json").returncode != 0:
    KIND = "generic"
    graph("g.json", 16)
graph("h.json", 17)
graph(f"bad{BAD}.json", 18)
open("payload", "w").write("code")
open(f"attached{BAD}", "w").write("code")
asked = ("--hint", "s0=16", "--label", BAD, "--provide", f"{BAD}={BAD}")
guard = f"L['{BAD}'] % 8 == 0"
cache = ("--cache", "cache")
setup = [
    ("insert", *cache, "--graph", "g.json", "--payload", "payload", "--variant", BAD, "--require", f"{BAD}={BAD}",
     "--label", BAD, "--attach", f"{BAD}=payload", "--guard", "s0 % 8 == 0"),
    ("insert", *cache, "--namespace", BAD, "--graph", "g.json", "--payload", "payload", "--label", BAD),
    ("insert", *cache, "--graph", "g.json", "--payload", "payload", "--guard", guard, "--variant", "v"),
    ("insert", *cache, "--graph", "g.json", "--payload", "payload", "--guard", "s0 ==", "--label", BAD),
    ("lookup", *cache, "--graph", "g.json", *asked),
    ("lookup", *cache, "--graph", "g.json", "--hint", "s0=7", "--label", BAD),
    ("lookup", *cache, "--graph", "g.json", "--hint", "s0=16", "--label", BAD),
    ("lookup", *cache, "--graph", "g.json", "--hint", f"{BAD}=7", "--label", BAD, "--variant", "v"),
    ("lookup", *cache, "--graph", "h.json", "--label", BAD),
    ("lookup", *cache, "--graph", "h.json", "--label", BAD, "--set", f"bypass={BAD}"),
    ("config", *cache, "bypass", BAD),
    ("tune", "put", *cache, "--system", BAD, "--op", BAD, "--inputs", BAD, "--precision", BAD, f"{BAD}=1.5"),
]
done = [(arguments, run(*arguments)) for arguments in setup]
run("config", *cache, "--unset", "bypass")
listed = [json.loads(line) for line in run("ls", *cache, "--json").stdout.splitlines()]
entry = next(item["entry"] for item in listed if item.get("variant") == BAD)
key = listed[0]["key"]
run("export", *cache, "--label", BAD, "out.gcx")
json.dump({"format": "guardcache-config/1", "settings": {BAD: "1", "max-size": BAD}}, open("config.json", "w"))
os.replace("config.json", "cache/config.json")
open(f"cache/entries/{BAD[:20]}", "w").close()
open(f"cache/entries/{key[:2]}/{BAD[:20]}", "w").close()

COMMANDS = [
    ("ls", *cache),
    ("ls", *cache, "--json"),
    ("ls", *cache, "--shadowed"),
    ("show", *cache, entry),
    ("show", *cache, "--json", entry),
    ("show", "out.gcx"),
    ("journal", *cache),
    ("journal", *cache, "--json"),
    ("top", *cache),
    ("top", *cache, "--by", "key"),
    ("top", *cache, "--by", "guard"),
    ("top", *cache, "--json"),
    ("stats", *cache),
    ("stats", *cache, "--json"),
    ("stats", *cache, "--prometheus"),
    ("report", *cache),
    ("explain", *cache, "--graph", "g.json", *asked),
    ("explain", *cache, "--graph", "g.json", *asked, "--all"),
    ("explain", *cache, "--graph", "g.json", *asked, "--json"),
    ("explain", *cache, "--graph", "g.json", "--hint", "s0=16", "--label", BAD, "--expect-variant", BAD),
    ("explain", *cache, "--graph", "g.json", "--hint", "s0=7", "--label", BAD, "--variant", BAD + "w"),
    ("explain", *cache, "--graph", "h.json", "--label", BAD),
    ("explain", *cache, "--graph", "h.json", "--label", BAD, "--all"),
    ("explain", *cache, "--graph", "h.json", "--set", f"bypass={BAD}"),
    ("explain", *cache, "--last", "20"),
    ("explain", *cache, "--last", "20", "--all"),
    ("explain", *cache, "--last", "20", "--json"),
    ("explain", *cache, "--last", "20", "--html", "/dev/stdout"),
    ("diff", "g.json", "h.json"),
    ("diff", "--json", "g.json", "h.json"),
    ("lookup", *cache, "--graph", "g.json", "--hint", "s0=7", "--label", BAD),
    ("lookup", *cache, "--graph", "g.json", *asked, "--json"),
    ("lookup", *cache, "--graph", "h.json", "--set", f"bypass={BAD}"),
    ("lookup", *cache, "--graph", "h.json", "--set", f"max-size={BAD}"),
    ("lookup", *cache, "--graph", "h.json", "--set", BAD),
    ("lookup", *cache, "--graph", "h.json", "--hint", BAD),
    ("insert", *cache, "--graph", "g.json", "--payload", "payload", "--guard", f"s0 {BAD}"),
    ("insert", *cache, "--graph", "g.json", "--payload", "payload", "--attach", f"../{BAD}=payload"),
    ("insert", *cache, "--graph", BAD, "--payload", "payload"),
    ("key", f"bad{BAD}.json", "--components"),
    ("key", f"bad{BAD}.json", "--components", "--json"),
    ("key", BAD),
    ("canon", "--trace", "g.json"),
    ("canon", "--trace", "--json", "g.json"),
    ("guard", "eval", guard, "--hint", "s0=1"),
    ("guard", "eval", f"s0 {BAD}"),
    ("guard", "show", guard),
    ("guard", "fmt", guard),
    ("config", *cache),
    ("config", *cache, BAD),
    ("config", *cache, BAD, BAD),
    ("doctor", *cache),
    ("verify", *cache),
    ("verify", *cache, "--json"),
    ("tune", "ls", *cache),
    ("tune", "ls", *cache, "--json"),
    ("fingerprint", "--files", "."),
    ("fingerprint", "--json", "--files", "."),
    ("export", *cache, "--label", BAD, f"again{BAD}.gcx"),
    ("import", "--cache", "other", "out.gcx"),
    ("import", "--cache", "other", f"none{BAD}"),
    ("gc", *cache, "--dry-run", "--json"),
    ("repair", *cache),
    ("rm", *cache, BAD),
    ("replay", BAD),
    ("test", BAD),
    ("rules", "test", BAD),
    ("rules", "list", BAD),
    ("shrink", BAD),
    (BAD,),
    ("ls", f"--{BAD}"),
]

for arguments in COMMANDS:
    done.append((arguments, run(*arguments)))
wrong = shown = 0
for arguments, result in done:
    for name, stream in (("output", result.stdout), ("errors", result.stderr)):
        shown += stream.count(rb"FORGED")
        try:
            stream.decode()
        except UnicodeDecodeError:
            print("no UTF-8:", name, "of", *map(ascii, arguments[:2]))
            wrong += 1
        for line in stream.split(b"\n"):
            if RAW.search(line) or line.startswith(b"FORGED"):
                print("raw:", name, "of", *map(ascii, arguments), ascii(line))
                wrong += 1
    if result.returncode not in (0, 1, 2):
        print("status", result.returncode, *map(ascii, arguments))
        wrong += 1
for arguments in (("report", *cache), ("explain", *cache, "--last", "20", "--html", "/dev/stdout")):
    page = run(*arguments).stdout
    print("html:", wrong == 0 and b"&lt;script&gt;" in page and b"<script" not in page)
print(f"{wrong} wrong; seen often enough: {shown > 60}")
PY
