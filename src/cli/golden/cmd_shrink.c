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

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

typedef struct options {
    char const *out;
} options;

#define TRACE_MAX_BYTES ((size_t)1 << 30)
#define FILE_MAX_BYTES ((size_t)1 << 30)
/* An outcome and a reason. */
#define OUTCOME_BYTES 128

typedef struct shrinker {
    char const *folder;
    char path[CLI_TRACE_PATH];
    gci_buf text;
    gci_view *lines; /* of the events that are still there */
    size_t count;
    gci_arena *arena;
    gcache_error *error;
    size_t plays;
    char failure[OUTCOME_BYTES]; /* how the failing event ended: it must go on ending so */
    char found[OUTCOME_BYTES];   /* the same of the last play */
} shrinker;

static bool
read_event(shrinker *s, gci_view const *lines, size_t index, cli_event *out_event)
{
    gci_arena_reset(s->arena);
    return cli_event_read(lines[index], (cli_place){ .file = s->path, .line = index + 1 }, s->arena, out_event, s->error);
}

/* ---- playing a part ---- */

static void
note_outcome(shrinker *s, cli_object const *out)
{
    gci_value const *outcome = gci_map_find(&out->map, "outcome"), *reason = gci_map_find(&out->map, "reason");
    gci_view first = outcome != NULL ? outcome->text : gci_view_text("");
    gci_view second = reason != NULL && reason->type == GCI_STRING ? reason->text : gci_view_text("");

    snprintf(s->found, sizeof s->found, "%.*s %.*s", (int)first.size, first.data, (int)second.size, second.data);
}

/* The place of the first event whose outcome differs, count if none does. */
static bool
play(shrinker *s, gci_view const *lines, size_t count, size_t *out_failing)
{
    cli_player player;
    cli_event event;
    cli_object out;
    size_t i = 0;

    cli_player_init(&player, s->folder, s->arena);
    bool done = cli_player_open_cache(&player, s->error);
    while (done && i < count && player.counts.mismatches == 0) {
        done = read_event(s, lines, i, &event) && cli_player_play(&player, &event, &out, s->error);
        i++;
    }
    bool failing = done && player.counts.mismatches != 0;
    if (failing)
        note_outcome(s, &out);
    *out_failing = failing ? i - 1 : count;
    cli_player_clear(&player);
    s->plays++;
    return done;
}

/* ---- leaving out ---- */

/* Tries to do without the events [start, end); keeps the shorter trace if its last event, the failure, still fails. */
static bool
try_without(shrinker *s, size_t start, size_t end, bool *out_shorter)
{
    size_t count = s->count - (end - start), failing;
    gci_view *shorter = malloc(count * sizeof *shorter);

    if (shorter == NULL)
        return cli_no_memory(s->error);
    memcpy(shorter, s->lines, start * sizeof *shorter);
    memcpy(shorter + start, s->lines + end, (s->count - end) * sizeof *shorter);
    bool done = play(s, shorter, count, &failing);
    *out_shorter = done && failing == count - 1 && strcmp(s->found, s->failure) == 0;
    if (*out_shorter) {
        free(s->lines);
        s->lines = shorter;
        s->count = count;
    } else {
        free(shorter);
    }
    return done;
}

/* Leaves out runs of `size` events wherever that does no harm. The last event is the failure and stays. */
static bool
leave_out(shrinker *s, size_t size, bool *out_any)
{
    *out_any = false;
    for (size_t start = 0; start + 1 < s->count && cli_signal_caught() == 0;) {
        size_t end = start + size < s->count - 1 ? start + size : s->count - 1;
        bool shorter = false;
        if (!try_without(s, start, end, &shorter))
            return false;
        *out_any |= shorter;
        if (!shorter)
            start = end;
    }
    return true;
}

static bool
shrink(shrinker *s)
{
    bool any;

    for (size_t size = s->count / 2; size != 0 && cli_signal_caught() == 0;) {
        if (!leave_out(s, size, &any))
            return false;
        /* One event at a time until nothing more can go. */
        if (size > 1 || !any)
            size /= 2;
    }
    return true;
}

/* ---- reading and writing ---- */

static bool
read_trace(shrinker *s)
{
    size_t room = 1;

    if (!cli_trace_path(s->folder, CLI_TRACE_NAME, s->path, s->error) ||
        gci_file_read_user(s->path, TRACE_MAX_BYTES, &s->text, s->error) != GCACHE_OK)
        return false;
    for (size_t i = 0; i < s->text.size; i++)
        room += s->text.data[i] == '\n';
    s->lines = malloc(room * sizeof *s->lines);
    if (s->lines == NULL)
        return cli_no_memory(s->error);
    for (gci_view rest = gci_buf_view(&s->text), line; gci_view_next_line(&rest, &line);)
        if (line.size != 0)
            s->lines[s->count++] = line;
    return true;
}

/* name is relative to the trace; folders in it are made. */
static bool
copy_file(shrinker *s, char const *out, char const *name)
{
    char from[CLI_TRACE_PATH], to[CLI_TRACE_PATH];
    gci_buf bytes;

    if (name == NULL || name[0] == '/')
        return true;
    if (!cli_trace_path(s->folder, name, from, s->error) || !cli_trace_path(out, name, to, s->error))
        return false;
    for (char *slash = strchr(to + strlen(out) + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(to, 0777);
        *slash = '/';
    }
    gci_buf_init(&bytes, GCI_BUF_NO_LIMIT);
    bool done = gci_file_read_user(from, FILE_MAX_BYTES, &bytes, s->error) == GCACHE_OK &&
                gci_file_write_user(to, gci_buf_view(&bytes), s->error) == GCACHE_OK;
    gci_buf_clear(&bytes);
    return done;
}

static bool
write_trace(shrinker *s, char const *out)
{
    char path[CLI_TRACE_PATH];
    bool done = true;
    gci_buf text;

    if (mkdir(out, 0777) != 0 && errno != EEXIST)
        return gci_fail_errno(s->error, errno, "%s", out) == GCACHE_OK;
    if (!cli_trace_path(out, CLI_TRACE_NAME, path, s->error))
        return false;
    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    for (size_t i = 0; done && i < s->count; i++) {
        cli_event event;
        done = read_event(s, s->lines, i, &event) && copy_file(s, out, event.graph) && copy_file(s, out, event.payload_file);
        gci_buf_append_view(&text, s->lines[i]);
        gci_buf_append_char(&text, '\n');
    }
    done = done && gci_file_write_user(path, gci_buf_view(&text), s->error) == GCACHE_OK;
    gci_buf_clear(&text);
    return done;
}

/* ---- the command ---- */

/* Drops what comes after the first event that fails, and what can go of the rest. */
static bool
reduce(cli_call *call, shrinker *s, char const *out)
{
    size_t before = s->count, failing;

    if (!play(s, s->lines, s->count, &failing))
        return false;
    if (failing == s->count) {
        cli_complain("%s: every event ends as it should", s->path);
        call->answer = CLI_NO;
        return true;
    }
    s->count = failing + 1;
    memcpy(s->failure, s->found, sizeof s->failure);
    if (!shrink(s) || cli_signal_caught() != 0 || !write_trace(s, out))
        return cli_signal_caught() != 0;
    cli_print("%s: %zu of %zu %s, found in %zu plays\n", out, s->count, before, before == 1 ? "event" : "events", s->plays);
    return true;
}

static bool
run(cli_call *call)
{
    options const *wanted = call->options;
    shrinker s = { .folder = call->arguments[0], .arena = &call->arena, .error = &call->error };
    char out[CLI_TRACE_PATH];

    gci_buf_init(&s.text, GCI_BUF_NO_LIMIT);
    snprintf(out, sizeof out, "%s%s", wanted->out != NULL ? wanted->out : s.folder, wanted->out != NULL ? "" : "-small");
    bool done = read_trace(&s) && reduce(call, &s, out);
    free(s.lines);
    gci_buf_clear(&s.text);
    return done;
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
    .run = run,
};
