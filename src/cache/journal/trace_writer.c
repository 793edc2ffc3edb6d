/*
 * Writes lookups and inserts as a trace that guardcache test and replay read.
 */
#include "cache/journal/trace_writer.h"

#include "base/codec.h"
#include "base/digest.h"
#include "base/system/file.h"
#include "base/text/json.h"
#include "cache/handle/words.h"
#include "graph/graph.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Another process writes one line, or reads what others wrote: that takes no longer. */
#define LOCK_NS UINT64_C(5000000000)
/* Lines are counted in pieces of this size. */
#define COUNT_BYTES ((size_t)64 << 10)
/* Guards of 30,000 characters each, a thousand of them. */
#define EVENT_BYTES_MAX ((size_t)64 << 20)
/* A description's file: so many digits of its key, enough to tell the graphs of a run apart, and a hash of its names, which hints
   and guards are written in. */
#define NAME_DIGITS 16
#define NAME_SIZE (NAME_DIGITS + sizeof "-01234567.json")

struct gci_trace_writer {
    pthread_mutex_t mutex;
    gci_dir dir, graphs;
    gci_file file;
    uint64_t counted, counted_size;
    bool ended;
    pid_t process; /* that opened the file: a forked child shares its lock and so has to open its own */
    gcache_log_fn log;
    void *log_state;
    char name[]; /* the directory, for messages */
};

/* ---- pieces of an event ---- */

/* Only what is there. */
static void
write_optional(gci_buf *out, char const *member, char const *text)
{
    if (text != NULL && text[0] != '\0')
        gci_json_member_text(out, member, gci_view_text(text));
}

static void
write_pairs(gci_buf *out, char const *member, gcache_pair const *pairs, size_t count)
{
    if (count == 0)
        return;
    gci_json_member(out, member);
    gci_buf_append_char(out, '{');
    for (size_t i = 0; i < count; i++) {
        gci_json_next(out);
        gci_json_write_text(out, gci_view_text(pairs[i].name));
        gci_buf_append_text(out, ": ");
        gci_json_write_text(out, gci_view_text(pairs[i].value));
    }
    gci_buf_append_char(out, '}');
}

static void
write_hints(gci_buf *out, gcache_hints const *hints)
{
    if (hints == NULL)
        return;
    gci_buf_append_text(out, ", \"hints\": {");
    for (size_t i = 0; i < hints->count; i++) {
        gci_json_next(out);
        gci_json_write_text(out, gci_view_text(hints->items[i].name));
        gci_buf_format(out, ": %lld", (long long)hints->items[i].value);
    }
    for (size_t i = 0; i < hints->literal_count; i++) {
        gci_json_next(out);
        gci_json_write_text(out, gci_view_text(hints->literals[i].name));
        gci_buf_append_text(out, ": ");
        gci_write_json_literal(out, gci_view_text(hints->literals[i].literal));
    }
    gci_buf_append_char(out, '}');
}

static void
write_guards(gci_buf *out, gcache_entry const *entry)
{
    gci_buf_append_text(out, ", \"guards\": [");
    for (size_t i = 0; i < entry->guard_count; i++) {
        gci_json_next(out);
        gci_json_write_text(out, gci_view_text(entry->guards[i]));
    }
    gci_buf_append_char(out, ']');
}

/* ---- writing an event ---- */

static void
end_recording(gci_trace_writer *writer, gcache_error const *error)
{
    gci_buf line;

    writer->ended = true;
    if (writer->log == NULL)
        return;
    gci_buf_init(&line, GCI_BUF_NO_LIMIT);
    gci_buf_format(&line, "recording ends: %s", error->message);
    char *text = gci_buf_take_text(&line);
    if (text != NULL)
        writer->log(writer->log_state, text);
    free(text);
}

/* Counts the lines that were written since the last time, by whoever. */
static gcache_status
count_lines(gci_trace_writer *writer, gcache_error *error)
{
    char *bytes = malloc(COUNT_BYTES);
    size_t got = COUNT_BYTES;
    gcache_status status = bytes != NULL ? GCACHE_OK : gci_fail_memory(error);

    while (status == GCACHE_OK && got == COUNT_BYTES) {
        status = gci_file_read(&writer->file, bytes, COUNT_BYTES, writer->counted_size, &got, error);
        for (size_t i = 0; status == GCACHE_OK && i < got; i++)
            writer->counted += bytes[i] == '\n';
        if (status == GCACHE_OK)
            writer->counted_size += got;
    }
    free(bytes);
    return status;
}

static gcache_status
open_trace(gci_trace_writer *writer, gcache_error *error)
{
    gci_file_close(&writer->file);
    writer->process = getpid();
    return gci_file_open(writer->dir, "trace.jsonl", O_RDWR | O_CREAT | O_APPEND, &writer->file, error);
}

static gcache_status
append(gci_trace_writer *writer, gci_view event, gcache_error *error)
{
    gci_buf number;
    gcache_status status = writer->process == getpid() ? GCACHE_OK : open_trace(writer, error);

    if (status == GCACHE_OK)
        status = gci_file_lock(&writer->file, GCI_LOCK_EXCLUSIVE, LOCK_NS, error);
    if (status != GCACHE_OK)
        return status;
    status = count_lines(writer, error);
    if (status == GCACHE_OK) {
        gci_buf_init(&number, GCI_BUF_NO_LIMIT);
        gci_buf_format(&number, "{\"seq\": %llu", (unsigned long long)writer->counted + 1);
        gci_view parts[] = { gci_buf_view(&number), event };
        status = number.failed ? gci_fail_memory(error) : gci_file_write(&writer->file, parts, 2, error);
        gci_buf_clear(&number);
    }
    gci_file_unlock(&writer->file);
    return status;
}

/* Writes the description unless it is there; equal keys with equal names are one file. */
static gcache_status
keep_graph(gci_trace_writer *writer, gcache_graph *graph, char const *name, gcache_error *error)
{
    char temporary[NAME_SIZE + sizeof ".0123456789abcdef.tmp"];
    struct stat facts;
    char *text = NULL;
    size_t size;

    if (gci_dir_stat(writer->graphs, name, &facts, NULL) == GCACHE_OK)
        return GCACHE_OK;
    snprintf(temporary, sizeof temporary, "%s.%016llx.tmp", name, (unsigned long long)gci_unique_number());
    gcache_status status = gcache_graph_write(graph, &text, &size, error);
    if (status == GCACHE_OK)
        status = gci_file_write_whole(writer->graphs, temporary, name, gci_view_of(text, size), error);
    free(text);
    return status;
}

/* Symbols and names in texts, as the caller has them; nothing where there are none. */
static gcache_status
put_names(gcache_graph *graph, gci_buf *out, gcache_error *error)
{
    gcache_symbol const *symbols = NULL;
    gcache_text_name const *texts = NULL;
    size_t symbol_count = 0, text_count = 0;
    gcache_status status = gcache_graph_symbols(graph, &symbols, &symbol_count, error);

    if (status == GCACHE_OK)
        status = gcache_graph_text_names(graph, &texts, &text_count, error);
    for (size_t i = 0; status == GCACHE_OK && i < symbol_count; i++)
        gci_put_bytes(out, gci_view_text(symbols[i].name));
    for (size_t i = 0; status == GCACHE_OK && i < text_count; i++)
        gci_put_bytes(out, gci_view_text(texts[i].original));
    return status == GCACHE_OK && out->failed ? gci_fail_memory(error) : status;
}

static gcache_status
name_graph(gcache_graph *graph, char out_name[NAME_SIZE], gcache_error *error)
{
    char hex[GCACHE_KEY_HEX_SIZE], suffix[sizeof "-01234567"] = "";
    gcache_key key;
    gci_buf names;

    gci_buf_init(&names, GCI_BUF_NO_LIMIT);
    gcache_status status = gcache_graph_key(graph, &key, error);
    if (status == GCACHE_OK)
        status = put_names(graph, &names, error);
    if (status == GCACHE_OK) {
        gcache_key_to_hex(&key, hex);
        if (names.size != 0)
            snprintf(suffix, sizeof suffix, "-%08x", (unsigned)gci_hash64(names.data, names.size, 0));
        snprintf(out_name, NAME_SIZE, "%.*s%s.json", NAME_DIGITS, hex, suffix);
    }
    gci_buf_clear(&names);
    return status;
}

/* op, and the graph if it can be keyed. */
static gcache_status
begin_event(gci_trace_writer *writer, gcache_graph *graph, char const *op, gci_buf *out, gcache_error *error)
{
    char name[NAME_SIZE];
    gcache_status status = name_graph(graph, name, error);

    if (status != GCACHE_OK)
        return status;
    gci_buf_format(out, ", \"op\": \"%s\", \"graph\": \"graphs/%s\"", op, name);
    return keep_graph(writer, graph, name, error);
}

static void
finish_event(gci_trace_writer *writer, gcache_status status, gci_buf *out, gcache_error *error)
{
    gci_buf_append_text(out, "}\n");
    if (status == GCACHE_OK && out->failed)
        status = gci_fail_memory(error);
    if (status == GCACHE_OK)
        status = append(writer, gci_buf_view(out), error);
    if (status != GCACHE_OK)
        end_recording(writer, error);
    gci_buf_clear(out);
}

/* ---- what is recorded ---- */

static void
write_expectation(gci_buf *out, gcache_result const *result)
{
    if (result->outcome == GCACHE_HIT) {
        gci_buf_append_text(out, ", \"expect\": {\"outcome\": \"hit\"");
        write_optional(out, "variant", result->variant);
        gci_buf_format(out, ", \"priority\": %lld}", (long long)result->priority);
        return;
    }
    gci_buf_append_text(out, ", \"expect\": {\"outcome\": \"miss\"");
    gci_json_member_text(out, "reason", gci_view_text(gcache_reason_name(result->reason)));
    gci_buf_append_char(out, '}');
}

static gcache_status
write_lookup(gci_trace_writer *writer, gcache_graph *graph, gcache_hints const *hints, gcache_request const *request,
             gcache_result const *result, gci_buf *out, gcache_error *error)
{
    if (result->reason == GCACHE_REASON_BYPASS) {
        gci_buf_append_text(out, ", \"op\": \"bypass\", \"graph\": null");
        gci_json_member_text(out, "reason", gci_view_text(result->note));
        return GCACHE_OK;
    }
    gcache_status status = begin_event(writer, graph, "lookup", out, error);
    write_hints(out, hints);
    if (request != NULL) {
        write_optional(out, "variant", request->variant);
        write_optional(out, "expect_variant", request->expect_variant);
        write_pairs(out, "provides", request->provides, request->provides_count);
        write_optional(out, "label", request->label);
    }
    if (request == NULL || !request->accept_renames) /* replay accepts them by default */
        gci_buf_append_text(out, ", \"accept_renames\": false");
    write_expectation(out, result);
    return status;
}

void
gci_trace_writer_lookup(gci_trace_writer *writer, gcache_graph *graph, gcache_hints const *hints,
                        gcache_request const *request, gcache_result const *result)
{
    gcache_error error = { 0 };
    gci_buf out;

    pthread_mutex_lock(&writer->mutex);
    if (!writer->ended && graph != NULL) {
        gci_buf_init(&out, EVENT_BYTES_MAX);
        gcache_status status = write_lookup(writer, graph, hints, request, result, &out, &error);
        finish_event(writer, status, &out, &error);
    }
    pthread_mutex_unlock(&writer->mutex);
}

void
gci_trace_writer_insert(gci_trace_writer *writer, gcache_graph *graph, gcache_hints const *hints,
                        gcache_entry const *entry, gcache_inserted const *inserted)
{
    gcache_error error = { 0 };
    gci_buf out;

    pthread_mutex_lock(&writer->mutex);
    if (!writer->ended && inserted->reason != GCACHE_REASON_BYPASS) {
        gci_buf_init(&out, EVENT_BYTES_MAX);
        gcache_status status = begin_event(writer, graph, "insert", &out, &error);
        write_hints(&out, hints);
        write_guards(&out, entry);
        gci_buf_format(&out, ", \"payload\": {\"size\": %zu}, \"compile_ns\": %llu", entry->payload_size,
                       (unsigned long long)entry->compile_ns);
        write_optional(&out, "variant", entry->variant);
        if (entry->priority != 0)
            gci_buf_format(&out, ", \"priority\": %lld", (long long)entry->priority);
        write_pairs(&out, "requires", entry->requires_, entry->requires_count);
        gci_buf_append_text(&out, inserted->outcome == GCACHE_REFUSED ? ", \"expect\": {\"outcome\": \"refused\""
                                                                      : ", \"expect\": {\"outcome\": \"inserted\"");
        if (inserted->outcome == GCACHE_REFUSED)
            gci_json_member_text(&out, "reason", gci_view_text(gcache_reason_name(inserted->reason)));
        gci_buf_append_char(&out, '}');
        finish_event(writer, status, &out, &error);
    }
    pthread_mutex_unlock(&writer->mutex);
}

/* ---- opening ---- */

/* Makes the folder with those above it that aren't there. */
static gcache_status
make_folders(char *path, gcache_error *error)
{
    gci_dir here = { .fd = AT_FDCWD, .name = "." };
    gcache_status status = gci_dir_make(here, path, NULL, error);

    if (status != GCACHE_ERROR_NOT_FOUND)
        return status;
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        status = gci_dir_make(here, path, NULL, error);
        *slash = '/';
        if (status != GCACHE_OK)
            return status;
    }
    return gci_dir_make(here, path, NULL, error);
}

static gcache_status
open_files(gci_trace_writer *writer, gcache_error *error)
{
    gcache_status status = make_folders(writer->name, error);

    if (status == GCACHE_OK)
        status = gci_dir_open_user(writer->name, &writer->dir, error);
    if (status == GCACHE_OK)
        status = gci_dir_make(writer->dir, "graphs", NULL, error);
    if (status == GCACHE_OK)
        status = gci_dir_open(writer->dir, "graphs", writer->name, &writer->graphs, error);
    if (status == GCACHE_OK)
        status = open_trace(writer, error);
    return status;
}

gcache_status
gci_trace_writer_open(char const *directory, gcache_log_fn log, void *log_state, gci_trace_writer **out_writer, gcache_error *error)
{
    size_t size = strlen(directory);
    gci_trace_writer *writer = calloc(1, sizeof *writer + size + 1);

    if (writer == NULL)
        return gci_fail_memory(error);
    memcpy(writer->name, directory, size);
    writer->dir = writer->graphs = (gci_dir){ .fd = -1, .name = writer->name };
    writer->file = (gci_file)GCI_FILE_NONE;
    writer->log = log;
    writer->log_state = log_state;
    pthread_mutex_init(&writer->mutex, NULL);
    gcache_status status = open_files(writer, error);
    if (status != GCACHE_OK) {
        gci_trace_writer_close(writer);
        return status;
    }
    *out_writer = writer;
    return GCACHE_OK;
}

void
gci_trace_writer_close(gci_trace_writer *writer)
{
    if (writer == NULL)
        return;
    gci_file_close(&writer->file);
    gci_dir_close(&writer->graphs);
    gci_dir_close(&writer->dir);
    pthread_mutex_destroy(&writer->mutex);
    free(writer);
}
