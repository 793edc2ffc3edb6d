/*
 * An explanation as HTML, for the report and for a page of its own.
 */
#include "cache/explain/explanation.h"
#include "cache/explain/html_page.h"
#include "cache/handle/words.h"

void
gci_explain_html(gci_story *story, gci_buf *out)
{
    gci_buf text;

    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    gci_story_print(story, (gci_look){ 0 }, &text);
    gci_buf_append_text(out, "<article class=\"card\"><pre tabindex=\"0\">");
    gci_write_html_lines(out, gci_buf_view(&text));
    gci_buf_append_text(out, "</pre></article>\n");
    out->failed |= text.failed;
    gci_buf_clear(&text);
}

void
gci_explain_page_begin(gci_buf *out)
{
    gci_html_page_begin(out, "guardcache explain");
    gci_buf_append_text(out, "<h1>Why it hits or misses</h1>\n");
}

void
gci_explain_page(gci_story *story, gci_buf *out)
{
    gci_explain_page_begin(out);
    gci_explain_html(story, out);
    gci_html_page_end(out);
}
