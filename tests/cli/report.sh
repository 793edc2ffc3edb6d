# The report is one well-formed page that needs no network; check_browser.py shows it in a browser.
for trace in pad_to_mult synthetic; do guardcache replay --cache cache "$FIXTURES/traces/$trace" >/dev/null; done
run guardcache report --cache cache --html page.html
python3 "$FIXTURES/../tests/cli/page.py" page.html
python3 - page.html <<'PY'
import re
import sys

page = open(sys.argv[1], encoding="utf-8").read()
print("hits, misses, regions:", *(bool(re.search(part, page)) for part in ('<circle class="hit', 'class="cross"', 'class="region c0"')))
print("what to fix first, with its cost:", bool(re.search(r"<h2>Fix th.*? first</h2>\s*<ol[^>]*>\s*<li[^>]*><div><strong[^>]*>[\d.]+ (ms|s)<", page)))
print("light, dark, paper:", "prefers-color-scheme:dark" in page and "@media print" in page)
print("the time on its axis, values on hover:", bool(re.search(r'<span class="x[^"]*"[^>]*>\d\d:\d\d:\d\d', page)), bool(re.search(r"<title>[^<]*: [\d,]+ hits?, \d+ miss", page)))
print("an explanation:", "candidate, it doesn" in page or "candidates, none holds" in page)
PY
run guardcache report --cache cache --since 0s | grep -c "The journal has no entry of those"
guardcache config --cache empty max-size 1GiB
run guardcache report --cache empty | grep -c "The journal is empty"
run guardcache report --cache nowhere
