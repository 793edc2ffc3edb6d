# explain --html: one page that stands alone, of now and of the past; with --json that is printed too; foreign text is text.
page() { python3 "$FIXTURES/../tests/cli/page.py" page.html; }
small g.json torch.softmax
small h.json torch.relu
echo code >payload
run guardcache explain --graph g.json --html page.html
page
guardcache insert --graph g.json --guard "s0 % 8 == 0" --guard "s0 <= 1024" --payload payload >/dev/null
run guardcache explain --graph g.json --hint s0=12 --label "<b>train.py</b>:88 & co" --html page.html
page
for part in "12 % 8 = 4" "&lt;b&gt;train.py&lt;/b&gt;:88 &amp; co" "<b>"; do echo "$part: $(grep -c -- "$part" page.html)"; done
run guardcache explain --graph g.json --hint s0=16 --html page.html
page
run guardcache explain --graph g.json --hint s0=12 --html page.html --json | cut -c1-48
guardcache lookup --graph g.json --hint s0=3 2>/dev/null
guardcache lookup --graph h.json --hint s0=3 2>/dev/null
run guardcache explain --last 2 --html page.html
page
echo "explanations: $(grep -o '<article' page.html | wc -l)"
run guardcache explain --last --reason variant --html page.html
page
run guardcache explain --last --html nowhere/page.html

echo "texts by their lines:"
sed 's/%2, 8/%2, 9/' "$FIXTURES/stories/llvm-ir.json" >other.json
guardcache insert --cache texts --graph "$FIXTURES/stories/llvm-ir.json" --payload payload >/dev/null
run guardcache explain --cache texts --graph other.json --html page.html
page
grep -o '<span class="\(add\|del\)">[^<]*' page.html
