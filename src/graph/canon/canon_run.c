/*
 * What every part of a canonicalisation needs: failing with the path, rules and the trace, the bytes on their way into the
 * hash.
 */
#include "graph/canon/canon_run.h"

#include "base/text/json.h"

#include <stdarg.h>
#include <stdio.h>

/* Enough to make hashing efficient, little enough to stay in the second-level cache. */
#define FLUSH_BYTES ((size_t)32 << 10)

/* What a trace shows of a value. */
#define TRACE_TEXT 200

/* ---- failing ---- */

static void
write_path(gci_canon_step const *step, gci_buf *out)
{
    if (step == NULL)
        return;
    write_path(step->outer, out);
    if (step->name.data == NULL)
        gci_buf_format(out, "[%u]", (unsigned)step->index);
    else
        gci_buf_format(out, "%s%.*s", out->size != 0 ? "." : "", (int)step->name.size, step->name.data);
}

/* The path to the present value, zero-terminated, in a buffer the caller clears. */
static char const *
path_of(gci_canon_run const *run, gci_buf *buffer)
{
    gci_buf_init(buffer, GCI_BUF_NO_LIMIT);
    write_path(run->step, buffer);
    gci_buf_append_char(buffer, '\0');
    return buffer->failed ? "" : buffer->data;
}

void
gci_canon_fail(gci_canon_run *run, gcache_status status, char const *format, ...)
{
    char message[sizeof run->error->message];
    gci_place place = { .name = run->graph->source_name.data };
    gci_buf path;
    va_list arguments;

    if (run->status != GCACHE_OK)
        return;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    place.path = path_of(run, &path);
    run->status = gci_fail_at(run->error, status, &place, "%s", message);
    gci_buf_clear(&path);
}

void
gci_canon_fail_memory(gci_canon_run *run)
{
    if (run->status == GCACHE_OK)
        run->status = gci_fail_memory(run->error);
}

/* ---- rules and the trace ---- */

static void
report(gci_canon_run *run, gci_rule const *rule, gci_value const *value)
{
    gci_buf path, text;

    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    gci_json_write(&text, value);
    if (!text.failed) {
        gci_view shown = gci_view_of(text.data, text.size < TRACE_TEXT ? text.size : TRACE_TEXT);
        run->trace(run->trace_state, path_of(run, &path), rule, shown, (gci_view){ NULL, 0 });
        gci_buf_clear(&path);
    }
    gci_buf_clear(&text);
}

bool
gci_canon_dropped(gci_canon_run *run, gci_rules_state place, gci_value const *value)
{
    if (place == GCI_RULES_INERT)
        return false;
    gci_rule const *rule = gci_rules_drop(run->rules, place);
    if (rule != NULL && run->trace != NULL && run->mode == CANON_WRITE)
        report(run, rule, value);
    return rule != NULL;
}

void
gci_canon_left_out(gci_canon_run *run, gci_view name, gci_value const *value)
{
    if (run->trace == NULL || run->mode != CANON_WRITE)
        return;
    gci_canon_step step = { .outer = run->step, .name = name };
    run->step = &step;
    report(run, NULL, value);
    run->step = step.outer;
}

static void
report_rewrite(void *state, gci_rule const *rule, gci_view from, gci_view to)
{
    gci_canon_run *run = state;
    gci_buf path;

    run->trace(run->trace_state, path_of(run, &path), rule, from, to);
    gci_buf_clear(&path);
}

static void
note_name(void *state, gci_view original, gci_view canonical)
{
    gci_canon_run *run = state;
    gci_canonical *canon = run->canon;
    gcache_text_name name = { .original = gci_arena_copy(&canon->arena, original).data,
                              .canonical = gci_arena_copy(&canon->arena, canonical).data };

    gci_buf_append(&canon->text_names, &name, sizeof name);
    if (name.original == NULL || name.canonical == NULL || canon->text_names.failed)
        gci_canon_fail_memory(run);
}

gci_view
gci_canon_rewrite(gci_canon_run *run, gci_view text, gci_rules_state place)
{
    gcache_error error;

    if (run->rewriter == NULL) {
        run->rewriter = gci_rewriter_new(run->rules, run->trace != NULL ? report_rewrite : NULL, note_name, run);
        if (run->rewriter != NULL && gci_graph_counts_module_name(run->graph))
            gci_rewriter_count_module_name(run->rewriter);
    }
    if (run->rewriter == NULL) {
        gci_canon_fail_memory(run);
        return text;
    }
    gcache_status status = gci_rewriter_apply(run->rewriter, place, text, &text, &error);
    if (status != GCACHE_OK)
        gci_canon_fail(run, status, "%s", error.message);
    return text;
}

/* ---- bytes ---- */

void
gci_canon_flush(gci_canon_run *run)
{
    if (run->out.failed)
        gci_canon_fail_memory(run);
    if (run->hold != 0 || run->keep_bytes || run->out.size < FLUSH_BYTES)
        return;
    if (run->digest != NULL && !gci_digest_update(run->digest, run->out.data, run->out.size))
        gci_canon_fail(run, GCACHE_ERROR_INTERNAL, "SHA-256 failed");
    run->out.size = 0;
}

void
gci_canon_append(gci_canon_run *run, gci_view bytes)
{
    bool in_place = run->hold == 0 && !run->keep_bytes && run->digest != NULL && bytes.size >= FLUSH_BYTES;

    if (run->mode == CANON_COLLECT)
        return;
    if (!in_place) {
        gci_buf_append_view(&run->out, bytes);
        return;
    }
    if (!gci_digest_update(run->digest, run->out.data, run->out.size) ||
        !gci_digest_update(run->digest, bytes.data, bytes.size))
        gci_canon_fail(run, GCACHE_ERROR_INTERNAL, "SHA-256 failed");
    run->out.size = 0;
}
