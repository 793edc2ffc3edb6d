/*
 * guardcache fingerprint: the hash of a source tree.
 */
#include "base/system/file.h"
#include "base/text/json.h"
#include "cli/shared/cli.h"
#include "cli/shared/hints.h"

#include <guardcache/fingerprint.h>
#include <string.h>
#include <sys/stat.h>

typedef struct options {
    cli_list facts, presets, suffixes, skip;
    char const *index, *since, *save;
    int64_t threads;
    bool files, json;
} options;

/* More would only wait for the disk. */
#define MAX_THREADS 64

/* ---- parts ---- */

/* A part is called as its path's last name, wherever that lies; `/usr/lib/` is lib. */
static char const *
last_name(gci_arena *arena, char const *path)
{
    size_t end = strlen(path), start;

    while (end > 1 && path[end - 1] == '/')
        end--;
    for (start = end; start > 0 && path[start - 1] != '/';)
        start--;
    return gci_arena_copy(arena, gci_view_of(path + start, end - start)).data;
}

/* argument: PATH, or NAME=PATH if there is nothing called so as a whole. */
static bool
add_path(cli_call *call, gcache_fingerprint *print, char const *argument)
{
    options const *wanted = call->options;
    gcache_tree_options tree = GCACHE_TREE_OPTIONS_INIT;
    gcache_pair pair = { NULL, argument };
    struct stat facts;

    if (stat(argument, &facts) != 0 && strchr(argument, '=') != NULL) {
        if (!cli_pair_read(argument, &call->arena, &pair, &call->error))
            return false;
    } else if ((pair.name = last_name(&call->arena, argument)) == NULL) {
        return cli_no_memory(&call->error);
    }
    if (stat(pair.value, &facts) != 0 || !S_ISDIR(facts.st_mode))
        return gcache_fingerprint_file(print, pair.name, pair.value, &call->error) == GCACHE_OK;
    tree.threads = (unsigned)wanted->threads;
    tree.suffixes = wanted->suffixes.items;
    tree.suffix_count = wanted->suffixes.count;
    tree.skip = wanted->skip.items;
    tree.skip_count = wanted->skip.count;
    return gcache_fingerprint_tree(print, pair.name, pair.value, &tree, &call->error) == GCACHE_OK;
}

typedef gcache_status (*pair_fn)(gcache_fingerprint *print, char const *name, char const *value, gcache_error *error);

static bool
add_pairs(cli_call *call, gcache_fingerprint *print, cli_list pairs, pair_fn add)
{
    gcache_pair *read;
    bool done = cli_pairs_read(pairs, &call->arena, &read, &call->error);

    for (size_t i = 0; done && i < pairs.count; i++)
        done = add(print, read[i].name, read[i].value, &call->error) == GCACHE_OK;
    return done;
}

static bool
add_parts(cli_call *call, gcache_fingerprint *print)
{
    options const *wanted = call->options;

    if (wanted->index != NULL && gcache_fingerprint_index_open(print, wanted->index, &call->error) != GCACHE_OK)
        return false;
    if (!add_pairs(call, print, wanted->facts, gcache_fingerprint_fact) ||
        !add_pairs(call, print, wanted->presets, gcache_fingerprint_preset))
        return false;
    for (size_t i = 0; i < call->count; i++)
        if (!add_path(call, print, call->arguments[i]))
            return false;
    return wanted->index == NULL || gcache_fingerprint_index_save(print, wanted->index, &call->error) == GCACHE_OK;
}

/* ---- printing ---- */

static void
print_line(void *state, gcache_fingerprint_line const *line)
{
    options const *wanted = state;

    if (line->path[0] == '\0')
        cli_print("%s  %s\n", line->value, line->part);
    else if (wanted->files)
        cli_print("  %s  %s/%s%s\n", line->value, line->part, line->path, line->read ? "" : "  (as remembered)");
}

static bool
print_parts(cli_call *call, gcache_fingerprint *print)
{
    gcache_key hash;

    if (gcache_fingerprint_hash(print, &hash, &call->error) != GCACHE_OK)
        return false;
    gcache_fingerprint_each(print, print_line, call->options);
    cli_print("%s  -\n", cli_hex(&hash).text);
    return true;
}

/* place = "part": text, "path": text or "path_hex" */
static void
write_place(gci_buf *out, char const *part, char const *path)
{
    gci_buf_append_text(out, "\"part\": ");
    gci_json_write_text(out, gci_view_text(part));
    gci_buf_append_text(out, ", ");
    gci_json_write_path(out, gci_view_text(path));
}

/* The lines that --since reads; of trees only the trees themselves without --files. */
static void
print_object(void *state, gcache_fingerprint_line const *line)
{
    options const *wanted = state;
    gci_buf out;

    if (line->path[0] != '\0' && !wanted->files)
        return;
    gci_buf_init(&out, GCI_BUF_NO_LIMIT);
    gci_buf_append_char(&out, '{');
    write_place(&out, line->part, line->path);
    gci_buf_append_text(&out, ", \"value\": ");
    gci_json_write_text(&out, gci_view_text(line->value));
    gci_buf_format(&out, "%s}\n", line->path[0] == '\0' ? "" : line->read ? ", \"read\": true" : ", \"read\": false");
    cli_write(gci_buf_view(&out));
    gci_buf_clear(&out);
}

static bool
save_lines(char const *path, gcache_fingerprint *print, gcache_error *error)
{
    char *text = NULL;
    bool done = gcache_fingerprint_write(print, &text, error) == GCACHE_OK &&
                gci_file_write_user(path, gci_view_text(text), error) == GCACHE_OK;

    gcache_free(text);
    return done;
}

/* ---- changes ---- */

static void
print_change_object(char const *word, gcache_fingerprint_change const *change)
{
    gci_buf out;

    gci_buf_init(&out, GCI_BUF_NO_LIMIT);
    gci_buf_format(&out, "{\"change\": \"%s\", ", word);
    write_place(&out, change->part, change->path);
    gci_buf_append_text(&out, "}\n");
    cli_write(gci_buf_view(&out));
    gci_buf_clear(&out);
}

static void
print_change(void *state, gcache_fingerprint_change const *change)
{
    cli_call *call = state;
    char const *word = change->before == NULL ? "new" : change->after == NULL ? "gone" : "changed";
    options const *wanted = call->options;

    call->answer = CLI_NO;
    if (wanted->json)
        print_change_object(word, change);
    else
        cli_print("%-7s  %s%s%s\n", word, change->part, change->path[0] != '\0' ? "/" : "", change->path);
}

static bool
print_changes(cli_call *call, gcache_fingerprint *print)
{
    options const *wanted = call->options;
    gci_buf text;

    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    bool done = gci_file_read_user(wanted->since, GCI_JSON_MAX_BYTES, &text, &call->error) == GCACHE_OK &&
                gcache_fingerprint_compare(print, text.data, text.size, print_change, call, &call->error) == GCACHE_OK;
    gci_buf_clear(&text);
    return done;
}

static bool
print_all(cli_call *call, gcache_fingerprint *print)
{
    options const *wanted = call->options;
    bool done = true;

    if (wanted->since != NULL)
        done = print_changes(call, print);
    else if (wanted->json)
        gcache_fingerprint_each(print, print_object, call->options);
    else
        done = print_parts(call, print);
    return done && (wanted->save == NULL || save_lines(wanted->save, print, &call->error));
}

static bool
run(cli_call *call)
{
    options const *wanted = call->options;

    if (wanted->threads < 0 || wanted->threads > MAX_THREADS)
        return cli_wrong(&call->error, "fingerprint: --threads takes 0 to %d", MAX_THREADS);
    if (call->count == 0 && wanted->facts.count == 0 && wanted->presets.count == 0)
        return cli_wrong(&call->error, "fingerprint: PATH... is missing; see guardcache help fingerprint");
    gcache_fingerprint *print = gcache_fingerprint_new();
    if (print == NULL)
        return cli_no_memory(&call->error);
    bool done = add_parts(call, print) && print_all(call, print);
    gcache_fingerprint_free(print);
    return done;
}

static cli_option const table[] = {
    { "fact", CLI_LIST, offsetof(options, facts), "NAME=VALUE", "a part that is a fact: a version, a device, a flag" },
    { "preset", CLI_LIST, offsetof(options, presets), "NAME=HEX", "a part whose hash is known already" },
    { "suffix", CLI_LIST, offsetof(options, suffixes), "TEXT", "in trees, only files that end so (.py); repeat for more" },
    { "skip", CLI_LIST, offsetof(options, skip), "NAME", "in trees, pass over files and directories called so" },
    { "threads", CLI_INT, offsetof(options, threads), "N", "further threads that read files (default none)" },
    { "index", CLI_TEXT, offsetof(options, index), "FILE", "remember files' hashes there: those unchanged aren't read again" },
    { "files", CLI_FLAG, offsetof(options, files), NULL, "also a line for each file of a tree" },
    { "json", CLI_FLAG, offsetof(options, json), NULL, "an object a line: part, path, value; with --since: change, part, path" },
    { "save", CLI_TEXT, offsetof(options, save), "FILE", "keep all lines there, for --since" },
    { "since", CLI_TEXT, offsetof(options, since), "FILE", "print only what has changed since --save; status 1 if anything has" },
    { 0 },
};

cli_command const cli_cmd_fingerprint = {
    .name = "fingerprint",
    .arguments = "[NAME=]PATH...",
    .summary = "hash what a compiler is made of: source trees, files, facts",
    .about = "A line a part, and a last one, named -, over all of them whatever their order: a value for the environment\n"
             "component of descriptions. A directory's hash is over the names and contents of its files, a file's over its\n"
             "content; times, owners and where they lie don't count. A part is called as the last name of its path, unless NAME\n"
             "says otherwise; .git and __pycache__ are passed over.\n",
    .options = table,
    .options_size = sizeof(options),
    .run = run,
};
