/*
 * The frame of a page and its style. Colours are named once for light and once for dark; texts on both have a contrast of at
 * least 4.5 to 1, which tests/cli/check_browser.py measures.
 */
#include "cache/explain/html_page.h"

/* Of a picture's width: half of the widest mark on a phone. */
#define EDGE 0.12

static char const page_head[] =
    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">\n"
    "<link rel=\"icon\" href=\"data:,\">\n";

static char const style_colours[] =
    ":root{color-scheme:light dark;--ink:#1c2128;--dim:#57606a;--page:#f6f7f9;--card:#fff;--line:#d0d7de;--soft:#eaeef2;"
    "--hit:#1a7f37;--miss:#b42318;--link:#0b57d0;--add:#e3f3e8;--del:#fbe9e7}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--dim:#9aa4ae;--page:#0d1117;--card:#161b22;--line:#30363d;"
    "--soft:#21262d;--hit:#4ac26b;--miss:#ff7b72;--link:#79b8ff;--add:#12311d;--del:#3d1f1f}}\n";

static char const style_page[] =
    "*{box-sizing:border-box}\n"
    "body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--page);margin:0;overflow-wrap:anywhere}\n"
    "main{max-width:68rem;margin:0 auto;padding:1.5rem 1rem 3rem}\n"
    "h1{font-size:1.7rem;margin:0}h2{font-size:1.25rem;margin:2.6rem 0 .7rem}h3{font-size:1rem;margin:0 0 .3rem;"
    "overflow-wrap:anywhere}p{margin:.3rem 0}a{color:var(--link)}\n"
    ".dim,footer{color:var(--dim)}small,.id{font-size:.82rem}.id{color:var(--dim);font-weight:400}\n"
    "code{font:.9em/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;overflow-wrap:anywhere}\n"
    "footer{margin-top:3rem;border-top:1px solid var(--line);padding-top:.6rem;font-size:.85rem}\n"
    ".card{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:.9rem 1.1rem}\n"
    ".reason{display:inline-block;font:.82rem/1.6 ui-monospace,monospace;background:var(--soft);border-radius:6px;"
    "padding:0 .45em}\n"
    "th,td,.reason{overflow-wrap:break-word}.reason{white-space:nowrap}\n"
    ".bad{color:var(--miss)}.good{color:var(--hit)}\n";

static char const style_report[] =
    ".figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(9.5rem,1fr));gap:.8rem;margin:1.4rem 0 0}\n"
    ".figures div{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:.6rem .9rem}\n"
    "dt{color:var(--dim);font-size:.88rem}dd{margin:0;font-size:1.45rem;font-variant-numeric:tabular-nums}\n"
    ".first{display:grid;grid-template-columns:repeat(auto-fit,minmax(17rem,1fr));gap:.9rem;list-style:none;padding:0;"
    "margin:0}\n"
    ".first li{border-top:4px solid var(--miss);display:flex;flex-direction:column}"
    ".first p{flex:1}.first p::first-letter{text-transform:uppercase}\n"
    ".lost{font-size:1.45rem;font-variant-numeric:tabular-nums}\n"
    "table{border-collapse:collapse;width:100%}caption{text-align:left;color:var(--dim)}th,td{text-align:left;"
    "padding:.35rem .6rem;border-bottom:1px solid var(--line);vertical-align:top}th{font-weight:600}td.n,th.n{text-align:right;"
    "font-variant-numeric:tabular-nums}\n"
    "td.share{width:30%}\n"
    ".bar{display:block;height:.75rem;margin-top:.4rem;background:var(--miss);border-radius:3px;min-width:2px}\n"
    "details.card{margin-bottom:.6rem}summary{cursor:pointer}summary:focus-visible,a:focus-visible,"
    "pre:focus-visible{outline:2px solid var(--link);outline-offset:2px}\n"
    "details.card>summary{display:flex;flex-wrap:wrap;gap:.1rem .9rem;align-items:baseline;overflow-wrap:anywhere}\n"
    "details.card>summary::before{content:\"\\25B8\";color:var(--dim)}details.card[open]>summary::before{content:\"\\25BE\"}\n"
    "details[open] .gist{display:none}.gist{font-size:.9rem}\n"
    "pre{overflow-x:auto;margin:.8rem 0 0;font:.82rem/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}\n";

static char const style_why[] =
    "article.card{margin:1rem 0}.verdict{font-weight:600}"
    "article h2{margin:0;font-size:1.1rem;flex-basis:100%;overflow-wrap:anywhere}\n"
    ".why header{display:flex;flex-wrap:wrap;gap:.2rem .8rem;align-items:baseline;margin:.3rem 0 .5rem}.remark{color:var(--dim)}\n"
    ".candidate{border-left:3px solid var(--line);padding-left:.9rem;margin:.8rem 0}\n"
    ".guard,.diff{display:grid;gap:.1rem 1.2rem;padding:.35rem 0;border-top:1px solid var(--line)}\n"
    ".guard{grid-template-columns:minmax(0,5fr) minmax(0,5fr) minmax(3.5rem,auto)}.diff{grid-template-columns:minmax(0,4fr) "
    "minmax(0,4fr) minmax(0,4fr)}.diff .remark{grid-column:1/-1}.guards,.diffs{margin:.4rem 0}\n"
    ".add{background:var(--add)}.del{background:var(--del)}code.add,code.del{border-radius:4px;padding:0 .3em}"
    ".hunk span{display:block;min-width:max-content}.hunk{border:1px solid var(--line);border-radius:6px;padding:.4rem .6rem}\n"
    ".would,.would ul{display:flex;flex-wrap:wrap;gap:.2rem 1.2rem;list-style:none;margin:0;padding:0}.would{margin:.7rem 0}\n"
    ".advice{border-left:4px solid var(--hit);background:var(--add);border-radius:0 8px 8px 0;padding:.5rem .9rem;"
    "margin:.9rem 0 .3rem}\n";

static char const style_charts[] =
    "figure{margin:0}figcaption{margin-top:.4rem;color:var(--dim);font-size:.88rem}\n"
    ".plot{position:relative;margin:0 0 1.7rem}.plot svg{display:block;width:100%;overflow:visible}\n"
    ".plot span{position:absolute;color:var(--dim);font-size:.75rem;line-height:1;white-space:nowrap;pointer-events:none}\n"
    ".plot .x{top:100%;margin-top:.5rem;transform:translateX(-50%)}.plot .y{right:100%;margin-right:.4rem;"
    "transform:translateY(-50%)}.plot .from{transform:none}.plot .to{transform:translateX(-100%)}\n"
    ".time svg{height:9rem}.time .most{left:0;bottom:100%;margin-bottom:.15rem}.time .plot{margin-top:1.4rem}\n"
    ".tick{stroke:var(--line);vector-effect:non-scaling-stroke}.frame{fill:none;stroke:var(--line);"
    "vector-effect:non-scaling-stroke}\n"
    "rect.hit,circle.hit{fill:var(--hit)}circle.ring{fill:none;stroke:var(--hit);stroke-width:2}"
    ".miss{fill:var(--miss)}.cross{fill:none;stroke:var(--miss);stroke-width:2}\n"
    ".slot{fill:transparent}.slots g:hover .slot{fill:var(--soft)}\n"
    ".key i{display:inline-block;width:.75em;height:.75em;border-radius:2px;margin:0 .3em 0 .9em}.key i:first-child{"
    "margin-left:0}.key .hit{background:var(--hit)}.key .miss{background:var(--miss)}\n";

/* Later colours of candidates come back after twelve; a number stands beside each. */
static char const style_coverage[] =
    ".c0{fill:#4f8edc}.c1{fill:#c98a1b}.c2{fill:#8e6fd1}.c3{fill:#2f9e93}.c4{fill:#c2578f}.c5{fill:#7d8b3a}.c6{fill:#d0653b}"
    ".c7{fill:#3fa2c4}.c8{fill:#a85fc0}.c9{fill:#55a556}.c10{fill:#b0566a}.c11{fill:#8a7a5c}\n"
    ".region{fill-opacity:.45}.some{fill-opacity:.18}.single{fill-opacity:.8}.region:hover,.some:hover{fill-opacity:.7}"
    ".region,.some{shape-rendering:crispEdges}\n"
    ".side{display:grid;grid-template-columns:minmax(0,3fr) minmax(0,2fr);gap:1.6rem;align-items:start}\n"
    ".cover{margin-bottom:1.2rem}.cover .plot{margin:1.5rem 0 2.6rem 3.2rem}.cover .strip{margin-top:.6rem;margin-left:.8rem}\n"
    ".plot .xname{top:100%;right:0;margin-top:1.55rem}.plot .yname{bottom:100%;left:0;margin-bottom:.35rem}"
    ".plot code,.plot sup{font-size:1em}\n"
    ".legend{list-style:none;padding:0;margin:0;font-size:.9rem}.legend li{padding:.25rem 0}.legend svg{vertical-align:-2px}\n";

static char const style_media[] =
    "@media(max-width:780px){.side{grid-template-columns:minmax(0,1fr)}}\n"
    "@media(max-width:600px){main{padding:1rem .75rem 2rem}.card{padding:.7rem .8rem}.wide{display:none}"
    ".guard,.diff{grid-template-columns:minmax(0,1fr)}th,td{padding:.3rem .35rem}td.share{width:18%}"
    ".figures{grid-template-columns:1fr 1fr}dd{font-size:1.2rem}"
    ".mark{transform:scale(1.7);transform-box:fill-box;transform-origin:center}}\n"
    "@media print{:root{color-scheme:light;--ink:#000;--dim:#444;--page:#fff;--card:#fff;--line:#bbb;--soft:#eee;--hit:#1a7f37;"
    "--miss:#b42318;--link:#0b57d0;--add:#eee;--del:#f6f6f6}main{max-width:none;padding:0}"
    "details::details-content{content-visibility:visible;"
    "display:block;height:auto}.card,figure,tr{break-inside:avoid}h2{break-after:avoid}pre{white-space:pre-wrap}"
    ".bar,.plot,.legend,.key i{print-color-adjust:exact;-webkit-print-color-adjust:exact}}\n";

void
gci_html_page_begin(gci_buf *out, char const *title)
{
    char const *const styles[] = { style_colours, style_page, style_report, style_why, style_charts, style_coverage, style_media };

    gci_buf_append_text(out, page_head);
    gci_buf_format(out, "<title>%s</title>\n<style>\n", title);
    for (size_t i = 0; i < sizeof styles / sizeof styles[0]; i++)
        gci_buf_append_text(out, styles[i]);
    gci_buf_append_text(out, "</style>\n</head>\n<body>\n<main>\n");
}

void
gci_html_tick(gci_buf *out, double place, bool spare)
{
    char const *edge = place < EDGE ? " from" : place > 1 - EDGE ? " to" : "";

    gci_buf_format(out, "<span class=\"x%s%s\" style=\"left:%.2f%%\">", edge, spare ? " wide" : "", 100 * place);
}

void
gci_html_page_end(gci_buf *out)
{
    gci_buf_append_text(out, "</main>\n</body>\n</html>\n");
}
