# The report's picture of coverage: where the stored candidates serve is coloured, each lookup has its mark, and both agree.
small g.json torch.softmax
echo code >payload
guardcache insert --graph g.json --guard "s0 <= 10" --payload payload >/dev/null
guardcache insert --graph g.json --guard "30 <= s0 and s0 <= 40" --payload payload >/dev/null
for size in 4 8 20 35 50; do
    guardcache lookup --graph g.json --hint "s0=$size" >/dev/null 2>&1
done
guardcache report --html page.html
python3 - page.html <<'PY'
import re
import sys

page = open(sys.argv[1], encoding="utf-8").read()
print(re.findall('aria-label="(Coverage[^"]*)"', page))
regions = {
    (int(kind), int(x), int(x) + int(width))
    for kind, path in re.findall(r'<path class="region c(\d+)" d="([^"]*)"', page)
    for x, width in re.findall(r"M(\d+) \d+h(\d+)", path)
}
print(len(regions), "regions of candidates", sorted(kind for kind, _, _ in regions))
hits = sorted({float(x) for x in re.findall(r'<circle class="hit(?: ring)?" cx="([\d.]+)"', page)})
crosses = sorted({float(x) + 4 for x in re.findall(r'<path class="cross" d="M([\d.]+)', page)})


def server(x):
    return [kind for kind, begin, end in regions if begin <= x <= end]


print("the hits were served by", [server(x) for x in hits])
print("the misses lie outside:", [server(x) for x in crosses])
# The axis is true: 8, 20 and 35 lie where they belong between 4 and 50, by their logarithms.
marks = sorted(hits + crosses)
places = [round(4 * (50 / 4) ** ((x - marks[0]) / (marks[-1] - marks[0]))) for x in marks]
print("sizes read from the picture:", places)
PY

echo "many candidates: single sizes and multiples are seen, each that serves has a colour of its own:"
small many.json torch.relu
for size in 2 17 100 1000 4000 4001 5000 9000; do
    guardcache lookup --cache many --graph many.json --hint "s0=$size" --source "s0=x.size(0)" >/dev/null 2>&1
    guardcache insert --cache many --graph many.json --guard "s0 == $size" --payload payload >/dev/null
done
guardcache insert --cache many --graph many.json --guard "s0 % 64 == 0" --guard "s0 <= 3000" --payload payload >/dev/null
guardcache report --cache many --html page.html
python3 "$FIXTURES/../tests/cli/page.py" page.html
python3 - page.html <<'PY'
import re
import sys

page = open(sys.argv[1], encoding="utf-8").read()
for kind in ("region", "some", "single"):
    shown = re.findall(rf'<path class="{kind} (c\d+)" d="[^"]*"><title>(#\d+: [^<]*)</title>', page)
    print(f"{kind}:", *sorted({title for _, title in shown}), sep="\n    ")
served = set(re.findall(r'<path class="(?:region|some|single) (c\d+)" d="[^"]*"><title>(#\d+)', page))
print(len({colour for colour, _ in served}), "colours for", len({number for _, number in served}), "candidates")
print("asked:", sorted(re.findall(r"<title>(x.size\(0\)=\d+: [^<]*)</title>", page)))
PY
