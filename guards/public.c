/*
 * include/guardcache/guard.h: guard lists for users of the library.
 */
#include "guards/guards.h"

#include "base/check.h"
#include "guards/normal/normal.h"
#include "guards/program/program.h"

#include <stdlib.h>

void
gcache_free(void *memory)
{
    free(memory);
}

gcache_status
gcache_guards_compile(char const *const *texts, size_t count, gcache_guards **out_guards, gcache_error *error)
{
    gci_naming const as_written = { NULL, NULL };

    GCI_REQUIRE(texts != NULL || count == 0, error, "texts is NULL");
    GCI_REQUIRE(out_guards != NULL, error, "out_guards is NULL");
    for (size_t i = 0; i < count; i++)
        GCI_REQUIRE(texts[i] != NULL, error, "guard %zu is NULL", i);
    gci_view *views = calloc(count + 1, sizeof *views);
    if (views == NULL)
        return gci_fail_memory(error);
    for (size_t i = 0; i < count; i++)
        views[i] = gci_view_text(texts[i]);
    gcache_status status = gci_guards_compile(views, count, as_written, out_guards, error);
    free(views);
    return status;
}

void
gcache_guards_free(gcache_guards *guards)
{
    gci_guards_free(guards);
}

gcache_status
gcache_guards_eval(gcache_guards const *guards, gcache_hints const *hints, gcache_verdict *out_verdict, gcache_error *error)
{
    static gcache_hints const no_hints;
    gci_naming const as_written = { NULL, NULL };
    gci_hints read;

    GCI_REQUIRE(guards != NULL && out_verdict != NULL, error, "guards or out_verdict is NULL");
    gci_hints_init(&read);
    gcache_status status = gci_hints_read(&read, hints != NULL ? hints : &no_hints, as_written, error);
    if (status == GCACHE_OK)
        gci_guards_eval(guards, &read, out_verdict);
    gci_hints_clear(&read);
    return status;
}

void
gci_guards_show(gci_guards const *guards, gcache_guards_form form, gci_buf *out)
{
    if (form == GCACHE_GUARDS_PROGRAM)
        gci_program_show(&guards->program, out);
    else
        gci_normal_write(guards->texts, guards->count, out);
}

gcache_status
gcache_guards_show(gcache_guards const *guards, gcache_guards_form form, char **out_text, gcache_error *error)
{
    gci_buf text;

    GCI_REQUIRE(guards != NULL && out_text != NULL, error, "guards or out_text is NULL");
    GCI_REQUIRE(form <= GCACHE_GUARDS_NORMAL, error, "unknown form %d", (int)form);
    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    gci_guards_show(guards, form, &text);
    *out_text = gci_buf_take_text(&text);
    return *out_text != NULL ? GCACHE_OK : gci_fail_memory(error);
}
