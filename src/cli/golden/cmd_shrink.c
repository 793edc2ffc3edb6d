/*
 * guardcache shrink: the smallest part of a trace in which an event still ends otherwise than it should.
 *
 * The first event that differs from its "expect" is the failure. What comes after it is dropped; of what comes before,
 * ever smaller runs of events are left out as long as the failure stays (delta debugging, Zeller and Hildebrandt 2002).
 * The result is minimal in that no single event can be left out.
 */
#include "base/error.h"
#include "base/system/file.h"
#include "cli/golden/player.h"
#include "cli/shared/scratch.h"
#include "cli/shared/cli.h"
#include "cli/shared/lines.h"
#include "cli/shared/open.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct options {
    char const *out;
} options;

#define PATH_BYTES 4096
#define EVENT_MAX_BYTES ((size_t)512 << 20)
#define TRACE_MAX_BYTES ((size_t)1 << 30)
#define FILE_MAX_BYTES ((size_t)1 << 30)
/* An outcome and a reason. */
#define OUTCOME_BYTES 128

typedef struct shrinker {
    char const *folder;
    char path[PATH_BYTES];
    gci_buf text;
    gci_view *lines; /* of the events that are still there */
    size_t count;
    gci_arena arena;
    size_t plays;
    char failure[OUTCOME_BYTES]; /* how the failing event ended: it must go on ending so */
    char found[OUTCOME_BYTES];   /* the same of the last play */
} shrinker;

/* ---- playing a part ---- */

static void
note_outcome(shrinker *s, cli_object const *out)
{
    gci_value const *outcome = gci_map_find(&out->map, "outcome"), *reason = gci_map_find(&out->map, "reason");
    bool reasoned = reason != NULL && reason->type == GCI_STRING;

    snprintf(s->found, sizeof s->found, "%.*s %.*s", outcome != NULL ? (int)outcome->text.size : 0,
             outcome != NULL ? outcome->text.data : "", reasoned ? (int)reason->text.size : 0,
             reasoned ? reason->text.data : "");
}

/* The place of the first event whose outcome differs, count if none does. */
static gcache_status
play_lines(shrinker *s, gci_view const *lines, size_t count, cli_player *player, size_t *out_failing, gcache_error *error)
{
    *out_failing = count;
    for (size_t i = 0; i < count; i++) {
        cli_event event;
        cli_object out;
        gci_arena_reset(&s->arena);
        gcache_status status =
            cli_event_read(lines[i], (cli_place){ .file = s->path, .line = i + 1 }, &s->arena, &event, error);
        if (status == GCACHE_OK)
            status = cli_player_play(player, &event, &s->arena, &out, error);
        if (status != GCACHE_OK)
            return status;
        if (player->counts.mismatches != 0) {
            *out_failing = i;
            note_outcome(s, &out);
            break;
        }
    }
    return GCACHE_OK;
}

static gcache_status
play(shrinker *s, gci_view const *lines, size_t count, size_t *out_failing, gcache_error *error)
{
    gcache_options settings = GCACHE_OPTIONS_INIT;
    char scratch[CLI_SCRATCH_PATH] = "";
    cli_player *player = malloc(sizeof *player);
    gcache *cache = NULL;

    if (player == NULL)
        return gci_fail_memory(error);
    settings.durability = GCACHE_DURABILITY_NONE;
    gcache_status status = cli_scratch_make(scratch, error);
    if (status == GCACHE_OK)
        status = gcache_open(scratch, &settings, &cache, error);
    cli_player_init(player, cache, s->folder);
    if (status == GCACHE_OK)
        status = play_lines(s, lines, count, player, out_failing, error);
    cli_player_clear(player);
    free(player);
    gcache_close(cache);
    cli_scratch_remove(scratch);
    s->plays++;
    return status;
}

/* ---- leaving out ---- */

/* Tries to do without the events [start, end); keeps the shorter trace if its last event, the failure, still fails. */
static gcache_status
try_without(shrinker *s, size_t start, size_t end, bool *out_shorter, gcache_error *error)
{
    size_t count = s->count - (end - start), failing;
    gci_view *shorter = malloc(count * sizeof *shorter);

    *out_shorter = false;
    if (shorter == NULL)
        return gci_fail_memory(error);
    memcpy(shorter, s->lines, start * sizeof *shorter);
    memcpy(shorter + start, s->lines + end, (s->count - end) * sizeof *shorter);
    gcache_status status = play(s, shorter, count, &failing, error);
    *out_shorter = status == GCACHE_OK && failing == count - 1 && strcmp(s->found, s->failure) == 0;
    if (*out_shorter) {
        free(s->lines);
        s->lines = shorter;
        s->count = count;
    } else {
        free(shorter);
    }
    return status;
}

/* Leaves out runs of `size` events wherever that does no harm. The last event is the failure and stays. */
static gcache_status
leave_out(shrinker *s, size_t size, bool *out_any, gcache_error *error)
{
    gcache_status status = GCACHE_OK;

    *out_any = false;
    for (size_t start = 0; status == GCACHE_OK && start + 1 < s->count && cli_signal_caught() == 0;) {
        size_t end = start + size < s->count - 1 ? start + size : s->count - 1;
        bool shorter;
        status = try_without(s, start, end, &shorter, error);
        *out_any |= shorter;
        if (!shorter)
            start = end;
    }
    return status;
}

static gcache_status
shrink(shrinker *s, gcache_error *error)
{
    size_t size = s->count / 2;
    gcache_status status = GCACHE_OK;

    while (status == GCACHE_OK && size != 0 && cli_signal_caught() == 0) {
        bool any;
        status = leave_out(s, size, &any, error);
        /* One event at a time until nothing more can go. */
        if (size > 1 || !any)
            size /= 2;
    }
    return status;
}

/* ---- reading and writing ---- */

static gcache_status
read_trace(shrinker *s, gcache_error *error)
{
    if (snprintf(s->path, sizeof s->path, "%s/trace.jsonl", s->folder) >= (int)sizeof s->path)
        return gci_fail(error, GCACHE_ERROR_ARGUMENT, "the trace's path is too long");
    gcache_status status = gci_file_read_user(s->path, TRACE_MAX_BYTES, &s->text, error);
    if (status != GCACHE_OK)
        return status;
    size_t room = 1;
    for (size_t i = 0; i < s->text.size; i++)
        room += s->text.data[i] == '\n';
    s->lines = malloc(room * sizeof *s->lines);
    if (s->lines == NULL)
        return gci_fail_memory(error);
    for (gci_view rest = gci_buf_view(&s->text); rest.size != 0;) {
        char const *end = memchr(rest.data, '\n', rest.size);
        size_t size = end != NULL ? (size_t)(end - rest.data) : rest.size;
        if (size != 0)
            s->lines[s->count++] = gci_view_of(rest.data, size);
        size += end != NULL;
        rest = gci_view_of(rest.data + size, rest.size - size);
    }
    return GCACHE_OK;
}

/* name is relative to the trace; folders in it are made. */
static gcache_status
copy_file(shrinker *s, char const *out, char const *name, gcache_error *error)
{
    char from[PATH_BYTES], to[PATH_BYTES];
    gci_buf bytes;

    if (name == NULL || name[0] == '/')
        return GCACHE_OK;
    if (snprintf(from, sizeof from, "%s/%s", s->folder, name) >= PATH_BYTES ||
        snprintf(to, sizeof to, "%s/%s", out, name) >= PATH_BYTES)
        return gci_fail(error, GCACHE_ERROR_ARGUMENT, "the path is too long: %s", name);
    for (char *slash = strchr(to + strlen(out) + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(to, 0777);
        *slash = '/';
    }
    gci_buf_init(&bytes, GCI_BUF_NO_LIMIT);
    gcache_status status = gci_file_read_user(from, FILE_MAX_BYTES, &bytes, error);
    if (status == GCACHE_OK)
        status = gci_file_write_user(to, gci_buf_view(&bytes), error);
    gci_buf_clear(&bytes);
    return status;
}

static gcache_status
write_trace(shrinker *s, char const *out, gcache_error *error)
{
    char path[PATH_BYTES];
    gci_buf text;
    gcache_status status = GCACHE_OK;

    if (mkdir(out, 0777) != 0 && errno != EEXIST)
        return gci_fail_errno(error, errno, "%s", out);
    if (snprintf(path, sizeof path, "%s/trace.jsonl", out) >= PATH_BYTES)
        return gci_fail(error, GCACHE_ERROR_ARGUMENT, "the path is too long: %s", out);
    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    for (size_t i = 0; status == GCACHE_OK && i < s->count; i++) {
        cli_event event;
        gci_arena_reset(&s->arena);
        status = cli_event_read(s->lines[i], (cli_place){ .file = s->path, .line = i + 1 }, &s->arena, &event, error);
        if (status == GCACHE_OK)
            status = copy_file(s, out, event.graph, error);
        if (status == GCACHE_OK)
            status = copy_file(s, out, event.payload_file, error);
        gci_buf_append_view(&text, s->lines[i]);
        gci_buf_append_char(&text, '\n');
    }
    if (status == GCACHE_OK)
        status = gci_file_write_user(path, gci_buf_view(&text), error);
    gci_buf_clear(&text);
    return status;
}

/* ---- the command ---- */

/* Drops what comes after the first event that fails. ERROR_NOT_FOUND if none does. */
static gcache_status
find_failure(shrinker *s, gcache_error *error)
{
    size_t failing;
    gcache_status status = play(s, s->lines, s->count, &failing, error);

    if (status == GCACHE_OK && failing == s->count)
        return gci_fail(error, GCACHE_ERROR_NOT_FOUND, "%s: every event ends as it should", s->path);
    if (status == GCACHE_OK) {
        s->count = failing + 1;
        memcpy(s->failure, s->found, sizeof s->failure);
    }
    return status;
}

static cli_exit
run(cli_call const *call)
{
    options const *wanted = call->options;
    shrinker s = { .folder = call->arguments[0] };
    gcache_error error = { 0 };
    char out[PATH_BYTES];

    cli_catch_signals();
    gci_buf_init(&s.text, GCI_BUF_NO_LIMIT);
    gci_arena_init(&s.arena, EVENT_MAX_BYTES);
    snprintf(out, sizeof out, "%s%s", wanted->out != NULL ? wanted->out : s.folder, wanted->out != NULL ? "" : "-small");
    gcache_status status = read_trace(&s, &error);
    size_t before = s.count;
    if (status == GCACHE_OK)
        status = find_failure(&s, &error);
    if (status == GCACHE_OK)
        status = shrink(&s, &error);
    if (status == GCACHE_OK && cli_signal_caught() == 0)
        status = write_trace(&s, out, &error);
    if (status == GCACHE_OK && cli_signal_caught() == 0)
        cli_print("%s: %zu of %zu %s, found in %zu plays\n", out, s.count, before, before == 1 ? "event" : "events", s.plays);
    free(s.lines);
    gci_buf_clear(&s.text);
    gci_arena_clear(&s.arena);
    cli_die_of_signal();
    if (status == GCACHE_ERROR_NOT_FOUND && s.plays != 0) {
        cli_complain("%s", error.message);
        return CLI_NO;
    }
    return status == GCACHE_OK ? CLI_OK : cli_fail(&error);
}

static cli_option const table[] = {
    { "out", CLI_TEXT, offsetof(options, out), "DIR", "where the smaller trace goes; TRACE-small if not given" },
    { 0 },
};

cli_command const cli_cmd_shrink = {
    .name = "shrink",
    .arguments = "TRACE",
    .summary = "reduce a failing trace to the smallest that still fails",
    .about = "TRACE is a folder with trace.jsonl, of which an event ends otherwise than its \"expect\". Writes the events\n"
             "without which it wouldn't, and the files they name. Exit status 1 if no event fails.\n",
    .options = table,
    .options_size = sizeof(options),
    .least = 1,
    .most = 1,
    .run = run,
};
