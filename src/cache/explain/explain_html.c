/*
 * An explanation as a page of its own.
 */
#include "cache/explain/explanation.h"
#include "cache/explain/html_page.h"

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
    gci_story_html(story, 2, out);
    gci_html_page_end(out);
}
