/*
 * guardcache insert: stores a payload under a description, with guards.
 */
#include "base/system/file.h"
#include "cli/shared/cli.h"
#include "cli/shared/hints.h"
#include "cli/shared/object.h"
#include "cli/shared/subject.h"

#include <guardcache/fleet.h>
#include <sys/stat.h>

typedef struct options {
    cli_subject_options subject;
    cli_list guards, attachments;
    char const *payload, *meta;
    int64_t priority, compile_ns;
    bool json;
} options;

/* A payload is read into memory whole. */
#define PAYLOAD_MAX_BYTES ((size_t)4 << 30)
#define METADATA_MAX_BYTES ((size_t)16 << 20)

/* More tiers than a cache can have. */
#define REACHED_MAX 64

/* What is read from files for one insert. */
typedef struct content {
    gci_buf payload, metadata;
    gci_buf *files; /* one an attachment */
    gcache_attachment *attachments;
} content;

/* attachment: NAME=FILE */
static bool
read_attachment(char const *text, gci_arena *arena, gci_buf *file, gcache_attachment *out, gcache_error *error)
{
    struct stat facts;
    gcache_pair pair;

    gci_buf_init(file, GCI_BUF_NO_LIMIT);
    if (!cli_pair_read(text, arena, &pair, error))
        return arena->failed ? false : cli_wrong(error, "--attach %s: must be NAME=FILE", text);
    if (gci_file_read_user(pair.value, PAYLOAD_MAX_BYTES, file, error) != GCACHE_OK)
        return false;
    out->name = pair.name;
    out->bytes = file->data;
    out->size = file->size;
    out->executable = stat(pair.value, &facts) == 0 && (facts.st_mode & S_IXUSR) != 0;
    return true;
}

static bool
read_content(cli_call *call, content *out)
{
    options const *wanted = call->options;
    gcache_error *error = &call->error;
    cli_list texts = wanted->attachments;

    if (gci_file_read_user(wanted->payload, PAYLOAD_MAX_BYTES, &out->payload, error) != GCACHE_OK ||
        (wanted->meta != NULL && gci_file_read_user(wanted->meta, METADATA_MAX_BYTES, &out->metadata, error) != GCACHE_OK))
        return false;
    out->files = gci_arena_array(&call->arena, texts.count, sizeof *out->files);
    out->attachments = gci_arena_array(&call->arena, texts.count, sizeof *out->attachments);
    if (out->files == NULL || out->attachments == NULL)
        return cli_no_memory(error);
    for (size_t i = 0; i < texts.count; i++)
        if (!read_attachment(texts.items[i], &call->arena, &out->files[i], &out->attachments[i], error))
            return false;
    return true;
}

static void
content_clear(content *what, size_t attachment_count)
{
    gci_buf_clear(&what->payload);
    gci_buf_clear(&what->metadata);
    for (size_t i = 0; what->files != NULL && i < attachment_count; i++)
        gci_buf_clear(&what->files[i]);
}

static gcache_entry
entry_of(options const *wanted, cli_subject const *subject, content const *what)
{
    return (gcache_entry){ .size = sizeof(gcache_entry), .guards = wanted->guards.items,
                           .guard_count = wanted->guards.count,
                           .payload = what->payload.data,
                           .payload_size = what->payload.size,
                           .metadata = what->metadata.data,
                           .metadata_size = what->metadata.size,
                           .variant = wanted->subject.variant,
                           .priority = wanted->priority,
                           .requires_ = subject->pairs,
                           .requires_count = wanted->subject.pairs.count,
                           .compile_ns = (uint64_t)wanted->compile_ns,
                           .label = wanted->subject.label,
                           .attachments = what->attachments,
                           .attachment_count = wanted->attachments.count };
}

/* error: says why nothing is stored at all, where that is so. */
static void
complain_refused(gcache_inserted const *inserted, options const *wanted, gcache_error const *error)
{
    gcache_verdict const *verdict = &inserted->verdict;
    char const *reason = gcache_reason_name(inserted->reason);

    if (inserted->reason == GCACHE_REASON_GUARD_FALSE)
        cli_complain("refused: %s: %s", reason, wanted->guards.items[verdict->guard]);
    else if (inserted->reason == GCACHE_REASON_GUARD_ERROR)
        cli_complain("refused: %s: %s: %s: %s", reason, wanted->guards.items[verdict->guard], verdict->exception,
                     verdict->message);
    else
        cli_complain("refused: %s: %s", reason, error->message);
}

static void
print_inserted(gcache_inserted const *inserted)
{
    cli_print("%s\n", inserted->entry);
    if (inserted->shadows[0] != '\0')
        cli_complain("note: entry %s has the same guards and another payload; of the two, this one, being newer, will be chosen",
                     inserted->shadows);
}

/* "guard", and what it raises. */
static void
set_verdict(cli_object *object, gcache_inserted const *inserted, options const *wanted)
{
    gcache_verdict const *verdict = &inserted->verdict;

    if (inserted->reason != GCACHE_REASON_GUARD_FALSE && inserted->reason != GCACHE_REASON_GUARD_ERROR)
        return;
    cli_object_set_text(object, "guard", wanted->guards.items[verdict->guard]);
    if (inserted->reason == GCACHE_REASON_GUARD_FALSE)
        return;
    cli_object_set_text(object, "exception", verdict->exception);
    cli_object_set_text(object, "message", verdict->message);
}

static int
note_tier(void *state, gcache_tier_state const *tier)
{
    (void)tier;
    *(bool *)state = true;
    return 1;
}

static bool
has_tiers(gcache *cache)
{
    bool any = false;

    gcache_tiers_each(cache, note_tier, &any, NULL);
    return any;
}

typedef struct reached {
    char const *names[REACHED_MAX];
    size_t count;
} reached;

static int
note_reached(void *state, gcache_tier_state const *tier)
{
    reached *r = state;

    if (tier->counts[GCACHE_TIER_COUNT_PUBLISHED] != 0 && r->count < REACHED_MAX)
        r->names[r->count++] = tier->name;
    return 0;
}

/* The tiers that have it, in a cache that has any. */
static void
set_tiers(cli_call *call, cli_object *object)
{
    reached r = { .count = 0 };

    gcache_tiers_each(call->cache, note_reached, &r, NULL);
    if (r.count != 0 || has_tiers(call->cache))
        cli_object_set_texts(object, "tiers", r.names, r.count);
}

static bool
print_json(cli_call *call, gcache_status status, gcache_inserted const *inserted)
{
    cli_object object = cli_object_new(&call->arena);
    bool stored = status == GCACHE_OK;
    gcache_key const none = { { 0 } };

    cli_object_set_text(&object, "outcome", stored ? "inserted" : "refused");
    cli_object_set_text(&object, "reason", stored ? NULL : gcache_reason_name(inserted->reason));
    cli_object_set_text(&object, "entry", stored ? inserted->entry : NULL);
    /* Of a cache that is switched off nobody asked for the key. */
    cli_object_set_text(&object, "key", memcmp(&inserted->key, &none, sizeof none) != 0 ? cli_hex(&inserted->key).text : NULL);
    if (stored) {
        cli_object_set_bool(&object, "existed", inserted->existed);
        cli_object_set_nonempty(&object, "shadows", inserted->shadows);
        set_tiers(call, &object);
    }
    set_verdict(&object, inserted, call->options);
    return cli_object_print(&object, &call->error);
}

static gcache_status
insert(cli_call *call, cli_subject const *subject, content const *what)
{
    options const *wanted = call->options;
    gcache_inserted inserted = GCACHE_INSERTED_INIT;
    gcache_entry entry = entry_of(wanted, subject, what);

    cli_subject_warn(&wanted->subject);
    gcache_status status =
        gcache_insert(call->cache, subject->graph, cli_subject_hints(subject), &entry, &inserted, &call->error);
    /* What a tier doesn't take by then, closing complains about. */
    if (status == GCACHE_OK)
        gcache_tiers_flush(call->cache, 0, NULL);
    if (status == GCACHE_REFUSED)
        complain_refused(&inserted, wanted, &call->error);
    if (status >= 0 && wanted->json)
        return print_json(call, status, &inserted) ? status : call->error.status;
    if (status == GCACHE_OK)
        print_inserted(&inserted);
    return status;
}

static bool
run(cli_call *call)
{
    options const *wanted = call->options;
    cli_subject subject;
    content what = { 0 };

    if (wanted->payload == NULL)
        return cli_wrong(&call->error, "insert: --payload FILE is missing");
    if (wanted->compile_ns < 0)
        return cli_wrong(&call->error, "insert: --compile-ns must not be negative");
    if (!cli_guards_check("--guard", wanted->guards.items, wanted->guards.count, &call->error))
        return false;
    gci_buf_init(&what.payload, GCI_BUF_NO_LIMIT);
    gci_buf_init(&what.metadata, GCI_BUF_NO_LIMIT);
    bool read = cli_subject_open(call, &wanted->subject, &subject) && read_content(call, &what);
    gcache_status status = read ? insert(call, &subject, &what) : call->error.status;
    call->answer = status == GCACHE_REFUSED ? CLI_NO : CLI_OK;
    content_clear(&what, wanted->attachments.count);
    cli_subject_clear(&subject);
    return status >= 0;
}

static cli_option const table[] = {
    CLI_SUBJECT_OPTIONS(options, subject),
    { "guard", CLI_LIST, offsetof(options, guards), "EXPRESSION", "a guard; repeat for more, all must hold" },
    { "payload", CLI_TEXT, offsetof(options, payload), "FILE", "the compiler's bytes" },
    { "variant", CLI_TEXT, offsetof(options, subject.variant), "V", "a label for the variant" },
    { "priority", CLI_INT, offsetof(options, priority), "N", "rank among candidates that hold; higher is preferred" },
    { "require", CLI_LIST, offsetof(options, subject.pairs), "NAME=VALUE", "must equal what a lookup provides" },
    { "meta", CLI_TEXT, offsetof(options, meta), "FILE", "metadata, handed back with a hit" },
    { "attach", CLI_LIST, offsetof(options, attachments), "NAME=FILE", "a file that running the payload needs; repeat for more" },
    { "compile-ns", CLI_INT, offsetof(options, compile_ns), "N", "what compiling took, in nanoseconds" },
    { "json", CLI_FLAG, offsetof(options, json), NULL, "print an object: outcome, reason, entry, key, ..." },
    { 0 },
};

cli_command const cli_cmd_insert = {
    .name = "insert",
    .summary = "store a compiled variant with its guards",
    .about = "Prints the entry's id. With hints, the guards must hold for them: otherwise the insert is refused, exit\n"
             "status 1. Without hints it is stored unevaluated. An equal entry is stored once; one that has the guards of a\n"
             "stored entry and another payload is stored, and said so.\n",
    .options = table,
    .options_size = sizeof(options),
    .run = run,
};
