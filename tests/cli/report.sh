# The report is one well-formed page that needs no network; check_browser.py shows it in a browser.
for trace in pad_to_mult synthetic; do guardcache replay --cache cache "$FIXTURES/traces/$trace" >/dev/null; done
run guardcache report --cache cache --html page.html
python3 - page.html <<'PY'
import html.parser, re, sys

VOID = {"meta", "link", "rect", "circle", "path"}


class Checker(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.problems, self.pictures, self.named = [], [], 0, 0

    def handle_starttag(self, tag, attributes):
        names = dict(attributes)
        if tag == "svg" and names.get("role") == "img":
            self.pictures += 1
            self.named += bool(names.get("aria-label"))
        link = names.get("src") or names.get("href") or "data:"
        if tag == "script" or not link.startswith(("data:", "#")):
            self.problems.append(f"{tag} is not self-contained")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"</{tag}> closes nothing")


page = open(sys.argv[1], encoding="utf-8").read()
checker = Checker()
checker.feed(page)
print((checker.problems + checker.open)[:5])
print("pictures with a name:", checker.named == checker.pictures >= 3)
print("hits, misses, regions:", *(bool(re.search(part, page)) for part in ('<circle class="hit"', 'class="cross"', 'class="region c0"')))
print("light, dark, paper:", "prefers-color-scheme:dark" in page and "@media print" in page)
print("the time on its axis, values on hover:", bool(re.search(r'<span class="x"[^>]*>\d\d:\d\d:\d\d', page)), bool(re.search(r"<title>[^<]*: [\d,]+ hits?, \d+ miss", page)))
print("an explanation:", "candidate, it doesn" in page or "candidates, none holds" in page)
PY
run guardcache report --cache cache --since 0s | grep -c "The journal has no entry of those"
guardcache config --cache empty max-size 1GiB
run guardcache report --cache empty | grep -c "The journal is empty"
run guardcache report --cache nowhere
