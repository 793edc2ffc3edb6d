/*
 * guardcache fingerprint: the hash of a source tree.
 */
#include "base/arena.h"
#include "base/error.h"
#include "base/system/file.h"
#include "base/text/json.h"
#include "cli/shared/cli.h"
#include "cli/shared/hints.h"

#include <guardcache/fingerprint.h>
#include <guardcache/guard.h>
#include <stdio.h>
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
/* Names of parts. */
#define NAMES_MAX_BYTES ((size_t)64 << 20)

typedef struct printer {
    options const *wanted;
    gci_arena arena;
    gcache_fingerprint *print;
    size_t changes;
} printer;

/* ---- parts ---- */

/* A part is called as its path's last name, wherever that lies; `/usr/lib/` is lib. */
static char const *
last_name(printer *p, char const *path)
{
    size_t end = strlen(path), start;

    while (end > 1 && path[end - 1] == '/')
        end--;
    for (start = end; start > 0 && path[start - 1] != '/';)
        start--;
    return gci_arena_copy(&p->arena, gci_view_of(path + start, end - start)).data;
}

/* argument: PATH, or NAME=PATH if there is nothing called so as a whole. */
static gcache_status
add_path(printer *p, char const *argument, gcache_error *error)
{
    options const *wanted = p->wanted;
    gcache_tree_options tree = GCACHE_TREE_OPTIONS_INIT;
    gcache_pair pair = { NULL, argument };
    struct stat facts;
    gcache_status status = GCACHE_OK;

    if (stat(argument, &facts) != 0 && strchr(argument, '=') != NULL)
        status = cli_pair_read(argument, &p->arena, &pair, error);
    else if ((pair.name = last_name(p, argument)) == NULL)
        status = gci_fail_memory(error);
    if (status != GCACHE_OK)
        return status;
    if (stat(pair.value, &facts) != 0 || !S_ISDIR(facts.st_mode))
        return gcache_fingerprint_file(p->print, pair.name, pair.value, error);
    tree.threads = (unsigned)wanted->threads;
    tree.suffixes = wanted->suffixes.items;
    tree.suffix_count = wanted->suffixes.count;
    tree.skip = wanted->skip.items;
    tree.skip_count = wanted->skip.count;
    return gcache_fingerprint_tree(p->print, pair.name, pair.value, &tree, error);
}

typedef gcache_status (*pair_fn)(gcache_fingerprint *print, char const *name, char const *value, gcache_error *error);

static gcache_status
add_pairs(printer *p, cli_list pairs, pair_fn add, gcache_error *error)
{
    gcache_pair *read;
    gcache_status status = cli_pairs_read(pairs, &p->arena, &read, error);

    for (size_t i = 0; i < pairs.count && status == GCACHE_OK; i++)
        status = add(p->print, read[i].name, read[i].value, error);
    return status;
}

static gcache_status
add_parts(printer *p, cli_call const *call, gcache_error *error)
{
    options const *wanted = p->wanted;
    gcache_status status = GCACHE_OK;

    if (wanted->index != NULL)
        status = gcache_fingerprint_index_open(p->print, wanted->index, error);
    if (status == GCACHE_OK)
        status = add_pairs(p, wanted->facts, gcache_fingerprint_fact, error);
    if (status == GCACHE_OK)
        status = add_pairs(p, wanted->presets, gcache_fingerprint_preset, error);
    for (size_t i = 0; i < call->count && status == GCACHE_OK; i++)
        status = add_path(p, call->arguments[i], error);
    if (status == GCACHE_OK && wanted->index != NULL)
        status = gcache_fingerprint_index_save(p->print, wanted->index, error);
    return status;
}

/* ---- printing ---- */

static void
print_line(void *state, gcache_fingerprint_line const *line)
{
    printer const *p = state;

    if (line->path[0] == '\0')
        cli_print("%s  %s\n", line->value, line->part);
    else if (p->wanted->files)
        cli_print("  %s  %s/%s%s\n", line->value, line->part, line->path, line->read ? "" : "  (as remembered)");
}

static gcache_status
print_parts(printer *p, gcache_error *error)
{
    char hex[GCACHE_KEY_HEX_SIZE];
    gcache_key hash;
    gcache_status status = gcache_fingerprint_hash(p->print, &hash, error);

    if (status != GCACHE_OK)
        return status;
    gcache_fingerprint_each(p->print, print_line, p);
    gcache_key_to_hex(&hash, hex);
    cli_print("%s  -\n", hex);
    return GCACHE_OK;
}

/* The lines that --since reads; of trees only the trees themselves without --files. */
static void
print_object(void *state, gcache_fingerprint_line const *line)
{
    printer const *p = state;
    gci_buf out;

    if (line->path[0] != '\0' && !p->wanted->files)
        return;
    gci_buf_init(&out, GCI_BUF_NO_LIMIT);
    gci_buf_append_text(&out, "{\"part\": ");
    gci_json_write_text(&out, gci_view_text(line->part));
    gci_buf_append_text(&out, ", ");
    gci_json_write_path(&out, gci_view_text(line->path));
    gci_buf_append_text(&out, ", \"value\": ");
    gci_json_write_text(&out, gci_view_text(line->value));
    gci_buf_format(&out, "%s}\n", line->path[0] == '\0' ? "" : line->read ? ", \"read\": true" : ", \"read\": false");
    cli_write(gci_buf_view(&out));
    gci_buf_clear(&out);
}

static gcache_status
save_lines(printer *p, gcache_error *error)
{
    char *text;
    gcache_status status = gcache_fingerprint_write(p->print, &text, error);

    if (status == GCACHE_OK)
        status = gci_file_write_user(p->wanted->save, gci_view_text(text), error);
    gcache_free(text);
    return status;
}

/* ---- changes ---- */

static void
print_change(void *state, gcache_fingerprint_change const *change)
{
    printer *p = state;
    char const *word = change->before == NULL ? "new" : change->after == NULL ? "gone" : "changed";

    p->changes++;
    cli_print("%-7s  %s%s%s\n", word, change->part, change->path[0] != '\0' ? "/" : "", change->path);
}

static gcache_status
print_changes(printer *p, gcache_error *error)
{
    gci_buf text;

    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    gcache_status status = gci_file_read_user(p->wanted->since, GCI_JSON_MAX_BYTES, &text, error);
    if (status == GCACHE_OK)
        status = gcache_fingerprint_compare(p->print, text.data, text.size, print_change, p, error);
    gci_buf_clear(&text);
    return status;
}

static gcache_status
print_all(printer *p, gcache_error *error)
{
    gcache_status status = GCACHE_OK;

    if (p->wanted->since != NULL)
        status = print_changes(p, error);
    else if (p->wanted->json)
        gcache_fingerprint_each(p->print, print_object, p);
    else
        status = print_parts(p, error);
    return status == GCACHE_OK && p->wanted->save != NULL ? save_lines(p, error) : status;
}

static cli_exit
run(cli_call const *call)
{
    printer p = { .wanted = call->options };
    gcache_error error = { 0 };

    if (p.wanted->threads < 0 || p.wanted->threads > MAX_THREADS) {
        cli_complain("fingerprint: --threads takes 0 to %d", MAX_THREADS);
        return CLI_ERROR;
    }
    if (call->count == 0 && p.wanted->facts.count == 0 && p.wanted->presets.count == 0) {
        cli_complain("fingerprint: PATH... is missing; see guardcache help fingerprint");
        return CLI_ERROR;
    }
    gci_arena_init(&p.arena, NAMES_MAX_BYTES);
    p.print = gcache_fingerprint_new();
    gcache_status status = p.print != NULL ? add_parts(&p, call, &error) : gci_fail_memory(&error);
    if (status == GCACHE_OK)
        status = print_all(&p, &error);
    gcache_fingerprint_free(p.print);
    gci_arena_clear(&p.arena);
    if (status != GCACHE_OK)
        return cli_fail(&error);
    return p.changes == 0 ? CLI_OK : CLI_NO;
}

static cli_option const table[] = {
    { "fact", CLI_LIST, offsetof(options, facts), "NAME=VALUE", "a part that is a fact: a version, a device, a flag" },
    { "preset", CLI_LIST, offsetof(options, presets), "NAME=HEX", "a part whose hash is known already" },
    { "suffix", CLI_LIST, offsetof(options, suffixes), "TEXT", "in trees, only files that end so (.py); repeat for more" },
    { "skip", CLI_LIST, offsetof(options, skip), "NAME", "in trees, pass over files and directories called so" },
    { "threads", CLI_INT, offsetof(options, threads), "N", "further threads that read files (default none)" },
    { "index", CLI_TEXT, offsetof(options, index), "FILE", "remember files' hashes there: those unchanged aren't read again" },
    { "files", CLI_FLAG, offsetof(options, files), NULL, "also a line for each file of a tree" },
    { "json", CLI_FLAG, offsetof(options, json), NULL, "an object a line: part, path, value" },
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
    .most = CLI_ANY_NUMBER,
    .run = run,
};
