/*
 * The statuses of caches, entries, compiles, descriptions, guards and settings: each that a header lists is returned.
 */
#include "statuses.h"

static gcache_entry const entry = { .size = sizeof entry, .payload = "code", .payload_size = 4 };
static gcache_hints const hints = GCACHE_HINTS({ "s0", 8 }, { "s1", 4 });

/* ---- opening ---- */

static gcache_status
open_one(trial *t, char const *directory, gcache_options const *options)
{
    gcache *cache = NULL;
    gcache_status status = gcache_open(directory, options, &cache, E);

    gcache_close(cache);
    return status;
}

CASE(gcache_open, OK) { return open_one(t, in_directory(t, "a/fresh/one"), NULL); }
CASE(gcache_open, ERROR_ARGUMENT) { return open_one(t, "/usr", NULL); }

CASE(gcache_open, ERROR_NOT_FOUND)
{
    gcache_options options = with(true, false);

    return open_one(t, "/var/tmp/guardcache-test-nowhere", &options);
}

CASE(gcache_open, ERROR_UNTRUSTED)
{
    assert_int_equal(chmod(t->f->directory, 0777), 0);
    return open_one(t, t->f->directory, NULL);
}

/* ---- lookup, insert ---- */

static gcache_status
look_up(trial *t, gcache_graph *graph)
{
    gcache_result r = GCACHE_RESULT_INIT;
    gcache_status status = gcache_lookup(C, graph, NULL, &r, E);

    gcache_result_clear(&r);
    return status;
}

CASE(gcache_lookup, HIT) { return (void)stored(t), look_up(t, t->g); }
CASE(gcache_lookup, MISS) { return look_up(t, t->g); }
CASE(gcache_lookup, ERROR_ARGUMENT) { return look_up(t, NULL); }

static gcache_status
insert(trial *t, gcache_entry const *one, gcache_graph *graph)
{
    return gcache_insert(C, graph, &hints, one, NULL, E);
}

static gcache_status
insert_guarded(trial *t, char const *guard)
{
    gcache_entry one = entry;

    one.guards = &guard;
    one.guard_count = 1;
    return insert(t, &one, t->g);
}

CASE(gcache_insert, OK) { return insert(t, &entry, t->g); }
CASE(gcache_insert, REFUSED) { return insert_guarded(t, "s0 == 7"); }
CASE(gcache_insert, ERROR_ARGUMENT) { return insert(t, NULL, t->g); }
CASE(gcache_insert, ERROR_SYNTAX) { return insert_guarded(t, "s0 =="); }
CASE(gcache_insert, ERROR_READ_ONLY) { return reopen(t, true, false), insert(t, &entry, t->g); }

CASE(gcache_insert, ERROR_LIMIT)
{
    char name[GCACHE_ATTACHMENT_NAME_SIZE + 8];
    gcache_attachment file = { .name = name, .bytes = "x", .size = 1 };
    gcache_entry one = entry;

    memset(name, 'a', sizeof name);
    name[sizeof name - 1] = '\0';
    one.attachments = &file;
    one.attachment_count = 1;
    return insert(t, &one, t->g);
}

CASE(gcache_insert, ERROR_DESCRIPTION)
{
    gcache_graph *graph = gcache_graph_new("generic");

    gcache_graph_component(graph, "options", gcache_value_symbolic(graph, "s0 +"));
    gcache_status status = insert(t, &entry, graph);
    gcache_graph_free(graph);
    return status;
}

CASE(gcache_insert, ERROR_UNTRUSTED)
{
    stored(t);
    harm_files(t, "find entries -type f -exec chmod 0666 {} +");
    fixture_reopen(t->f, NULL);
    return insert(t, &entry, t->g);
}

/* ---- attachments in place ---- */

typedef gcache_status use_of_hit(trial *t, gcache_result const *hit, char const *given);

static gcache_status
place_all(trial *t, gcache_result const *hit, char const *directory)
{
    return gcache_place(C, hit, directory, E);
}

static gcache_status
place_named(trial *t, gcache_result const *hit, char const *name)
{
    return gcache_place_one(C, hit, name, in_directory(t, "placed"), E);
}

static gcache_status
get_named(trial *t, gcache_result const *hit, char const *name)
{
    void *bytes;
    size_t size;
    gcache_status status = gcache_attachment_get(C, hit, name, &bytes, &size, E);

    assert_true(status == GCACHE_OK ? size == 6 && memcmp(bytes, "binary", 6) == 0 : bytes == NULL);
    gcache_free(bytes);
    return status;
}

/* What becomes of using a hit's attachment once its file was harmed. */
static gcache_status
with_attachment(trial *t, use_of_hit *use, char const *given, char const *harm)
{
    gcache_attachment file = { .name = "a.so", .bytes = "binary", .size = 6 };
    gcache_entry one = entry;
    gcache_result r = GCACHE_RESULT_INIT;

    one.attachments = &file;
    one.attachment_count = 1;
    assert_int_equal(insert(t, &one, t->g), GCACHE_OK);
    assert_int_equal(gcache_lookup(C, t->g, NULL, &r, E), GCACHE_HIT);
    harm_files(t, harm);
    gcache_status status = use(t, &r, given);
    gcache_result_clear(&r);
    return status;
}

#define REMOVE "find attachments -type f -delete"
#define DAMAGE "for f in $(find attachments -type f); do chmod u+w $f; printf brary >$f; done"

CASE(gcache_place, OK) { return with_attachment(t, place_all, in_directory(t, "placed"), NULL); }
CASE(gcache_place, ERROR_ARGUMENT) { return with_attachment(t, place_all, NULL, NULL); }
CASE(gcache_place, ERROR_NOT_FOUND) { return with_attachment(t, place_all, in_directory(t, "p"), REMOVE); }
CASE(gcache_place, ERROR_CORRUPT) { return with_attachment(t, place_all, in_directory(t, "p"), DAMAGE); }
CASE(gcache_place_one, OK) { return with_attachment(t, place_named, "a.so", NULL); }
CASE(gcache_place_one, ERROR_ARGUMENT) { return with_attachment(t, place_named, "b.so", NULL); }
CASE(gcache_place_one, ERROR_NOT_FOUND) { return with_attachment(t, place_named, "a.so", REMOVE); }
CASE(gcache_place_one, ERROR_CORRUPT) { return with_attachment(t, place_named, "a.so", DAMAGE); }
CASE(gcache_attachment_get, OK) { return with_attachment(t, get_named, "a.so", NULL); }
CASE(gcache_attachment_get, ERROR_ARGUMENT) { return with_attachment(t, get_named, "b.so", NULL); }
CASE(gcache_attachment_get, ERROR_NOT_FOUND) { return with_attachment(t, get_named, "a.so", REMOVE); }
CASE(gcache_attachment_get, ERROR_CORRUPT) { return with_attachment(t, get_named, "a.so", DAMAGE); }

/* ---- explaining, looking around ---- */

static gcache_status
explain(trial *t, gcache_graph *graph)
{
    char *text = NULL;
    gcache_status status = gcache_explain(C, graph, NULL, NULL, GCACHE_EXPLAIN_TEXT, &text, E);

    return free_text(status, &text);
}

CASE(gcache_explain, HIT) { return (void)stored(t), explain(t, t->g); }
CASE(gcache_explain, MISS) { return explain(t, t->g); }
CASE(gcache_explain, ERROR_ARGUMENT) { return explain(t, NULL); }

static int
pass_over(void *state, gcache_entry_view const *view)
{
    (void)state, (void)view;
    return 0;
}

CASE(gcache_each_entry, OK) { return gcache_each_entry(C, NULL, pass_over, NULL, E); }
CASE(gcache_each_shadowed, OK) { return gcache_each_shadowed(C, NULL, pass_over, NULL, E); }
CASE(gcache_each_shadowed, ERROR_ARGUMENT) { return gcache_each_shadowed(NULL, NULL, pass_over, NULL, E); }

static char *
entry_id(trial *t)
{
    static gcache_inserted inserted;

    inserted = (gcache_inserted)GCACHE_INSERTED_INIT;
    assert_int_equal(gcache_insert(C, t->g, NULL, &entry, &inserted, E), GCACHE_OK);
    return inserted.entry;
}

static gcache_status
read_entry(trial *t, char const *id)
{
    gcache_result r = GCACHE_RESULT_INIT;
    gcache_key key = stored(t);

    gcache_status status = gcache_read_entry(C, &key, id, &r, E);
    gcache_result_clear(&r);
    return status;
}

CASE(gcache_read_entry, HIT) { return read_entry(t, entry_id(t)); }
CASE(gcache_read_entry, ERROR_NOT_FOUND) { return read_entry(t, "00000000000000000000000000000000"); }
CASE(gcache_read_entry, ERROR_ARGUMENT) { return read_entry(t, NULL); }

static gcache_status
compare(trial *t, gcache_graph *graph)
{
    gcache_subject a = GCACHE_SUBJECT_INIT, b = GCACHE_SUBJECT_INIT;
    char *text = NULL;

    a.graph = t->g;
    b.graph = graph;
    gcache_status status = gcache_compare(C, &a, &b, 0, GCACHE_DIFF_TEXT, &text, NULL, E);
    return free_text(status, &text);
}

CASE(gcache_compare, OK) { return compare(t, t->g); }
CASE(gcache_compare, ERROR_NOT_FOUND) { return compare(t, NULL); }
CASE(gcache_compare, ERROR_ARGUMENT) { return gcache_compare(C, NULL, NULL, 0, GCACHE_DIFF_TEXT, NULL, NULL, E); }

CASE(gcache_compare, REFUSED)
{
    gcache_rules *rules = secretive_rules();
    gcache_graph *graph = secretive_graph(rules);
    gcache_status status = compare(t, graph);

    gcache_graph_free(graph);
    gcache_rules_free(rules);
    return status;
}

static gcache_status
remove_entry(trial *t, char const *id)
{
    gcache_key key;

    assert_int_equal(gcache_graph_key(t->g, &key, NULL), GCACHE_OK);
    return gcache_remove(C, &key, id, E);
}

CASE(gcache_remove, OK) { return remove_entry(t, entry_id(t)); }
CASE(gcache_remove, ERROR_NOT_FOUND) { return remove_entry(t, "00000000000000000000000000000000"); }

CASE(gcache_remove, ERROR_READ_ONLY)
{
    char *id = entry_id(t);

    return reopen(t, true, false), remove_entry(t, id);
}

/* ---- compiling ---- */

static gcache_status
get_or_compile(trial *t, gcache_graph *graph)
{
    gcache_result r = GCACHE_RESULT_INIT;
    gcache_status status = gcache_get_or_compile(C, graph, NULL, compile_new, NULL, &r, E);

    gcache_result_clear(&r);
    return status;
}

CASE(gcache_get_or_compile, HIT) { return (void)stored(t), get_or_compile(t, t->g); }
CASE(gcache_get_or_compile, MISS) { return get_or_compile(t, t->g); }
CASE(gcache_get_or_compile, ERROR_ARGUMENT) { return get_or_compile(t, NULL); }

static gcache_status
begin(trial *t, gcache_graph *graph, bool twice)
{
    gcache_result r = GCACHE_RESULT_INIT, second = GCACHE_RESULT_INIT;
    gcache_compile *compile = NULL, *other = NULL;
    gcache_status status = gcache_compile_begin(C, graph, NULL, NULL, NULL, &compile, &r, E);

    if (twice)
        status = gcache_compile_begin(C, graph, NULL, NULL, NULL, &other, &second, E);
    gcache_compile_end(compile, NULL, NULL);
    gcache_result_clear(&r);
    gcache_result_clear(&second);
    return status;
}

CASE(gcache_compile_begin, HIT) { return (void)stored(t), begin(t, t->g, false); }
CASE(gcache_compile_begin, MISS) { return begin(t, t->g, false); }
CASE(gcache_compile_begin, ERROR_ARGUMENT) { return begin(t, t->g, true); }
CASE(gcache_compile_end, MISS) { return (void)t, gcache_compile_end(NULL, NULL, NULL); }

static gcache_status
compile_many(trial *t, gcache_graph *graph)
{
    gcache_module module = GCACHE_MODULE_INIT;

    module.graph = graph;
    gcache_status status = gcache_compile_many(C, &module, 1, NULL, compile_new, NULL, E);
    if (module.done)
        gcache_result_clear(&module.result);
    return status;
}

CASE(gcache_compile_many, OK) { return compile_many(t, t->g); }
CASE(gcache_compile_many, ERROR_ARGUMENT) { return compile_many(t, NULL); }

/* ---- descriptions, keys, guards ---- */

static gcache_status
read_graph(trial *t, char const *text)
{
    gcache_graph *graph = NULL;
    gcache_status status = gcache_graph_read(text, strlen(text), "a", &graph, E);

    gcache_graph_free(graph);
    return status;
}

CASE(gcache_graph_read, OK) { return read_graph(t, "{\"format\": \"guardcache-graph/1\", \"kind\": \"generic\"}"); }
CASE(gcache_graph_read, ERROR_SYNTAX) { return read_graph(t, "{"); }
CASE(gcache_graph_read, ERROR_DESCRIPTION) { return read_graph(t, "[]"); }

CASE(gcache_graph_read, ERROR_LIMIT)
{
    enum { DEPTH = 100000 };
    char *text = malloc(DEPTH + 1);

    memset(text, '[', DEPTH);
    text[DEPTH] = '\0';
    gcache_status status = read_graph(t, text);
    free(text);
    return status;
}

static gcache_status
graph_text(trial *t, char const *name)
{
    char *text = NULL;
    gcache_status status = gcache_graph_text(t->g, name, &text, NULL, E);

    return free_text(status, &text);
}

CASE(gcache_graph_text, ERROR_NOT_FOUND) { return graph_text(t, "module"); }

static gcache_status
write_graph(trial *t, gcache_graph *graph)
{
    char *text = NULL;
    gcache_status status = gcache_graph_write(graph, &text, NULL, E);

    return free_text(status, &text);
}

CASE(gcache_graph_write, OK) { return write_graph(t, t->g); }

static gcache_status
diff(trial *t, char const *bytes, size_t size)
{
    void const *own;
    size_t own_size;
    char *text = NULL;

    assert_int_equal(gcache_graph_canonical(t->g, &own, &own_size, E), GCACHE_OK);
    gcache_status status = gcache_diff(own, own_size, bytes != NULL ? bytes : own, bytes != NULL ? size : own_size, 0,
                                       GCACHE_DIFF_TEXT, &text, NULL, E);
    return free_text(status, &text);
}

CASE(gcache_diff, OK) { return diff(t, NULL, 0); }
CASE(gcache_diff, ERROR_CORRUPT) { return diff(t, "\xff", 1); }

static gcache_status
read_rules(trial *t, char const *text)
{
    gcache_rules *rules = NULL;
    gcache_status status = gcache_rules_read(text, strlen(text), "rules", &rules, E);

    gcache_rules_free(rules);
    return status;
}

CASE(gcache_rules_read, OK) { return read_rules(t, "{\"format\": \"guardcache-rules/1\", \"name\": \"mine\"}"); }
CASE(gcache_rules_read, ERROR_SYNTAX) { return read_rules(t, "{"); }
CASE(gcache_rules_read, ERROR_DESCRIPTION) { return read_rules(t, "{\"format\": \"guardcache-rules/1\", \"what\": 1}"); }

static gcache_status
read_advice(trial *t, char const *text)
{
    static char const set[] = "{\"format\": \"guardcache-rules/1\", \"name\": \"mine\"}";
    gcache_rules *rules = NULL;

    gcache_status status = gcache_rules_read(set, sizeof set - 1, "rules", &rules, E);
    if (status == GCACHE_OK)
        status = gcache_rules_read_advice(rules, text, strlen(text), "advice", E);
    gcache_rules_free(rules);
    return status;
}

CASE(gcache_rules_read_advice, OK) { return read_advice(t, "{\"advice\": [{\"path\": \"options\", \"text\": \"x\"}]}"); }
CASE(gcache_rules_read_advice, ERROR_SYNTAX) { return read_advice(t, "{"); }
CASE(gcache_rules_read_advice, ERROR_DESCRIPTION) { return read_advice(t, "{\"advice\": [{\"path\": 1}]}"); }

CASE(gcache_rules_of_kind, OK)
{
    gcache_rules *rules = NULL;
    gcache_status status = gcache_rules_of_kind("fx", &rules, E);

    gcache_rules_free(rules);
    return status;
}

CASE(gcache_key_from_hex, OK)
{
    gcache_key key;

    return gcache_key_from_hex("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", &key, E);
}

CASE(gcache_key_from_hex, ERROR_SYNTAX) { return gcache_key_from_hex("0123", &(gcache_key){ { 0 } }, E); }

static gcache_status
compile_guard(trial *t, char const *text, gcache_hints const *given)
{
    gcache_guards *guards = NULL;
    gcache_verdict verdict;
    gcache_status status = gcache_guards_compile(&text, 1, &guards, E);

    if (status == GCACHE_OK && given != NULL)
        status = gcache_guards_eval(guards, given, &verdict, E);
    gcache_guards_free(guards);
    return status;
}

CASE(gcache_guards_compile, OK) { return compile_guard(t, "s0 == 8", NULL); }
CASE(gcache_guards_compile, ERROR_SYNTAX) { return compile_guard(t, "s0 ==", NULL); }

CASE(gcache_guards_compile, ERROR_LIMIT)
{
    enum { DEPTH = 100000 };
    char *text = malloc(DEPTH + 1);

    memset(text, '(', DEPTH);
    text[DEPTH] = '\0';
    gcache_status status = compile_guard(t, text, NULL);
    free(text);
    return status;
}

CASE(gcache_guards_eval, OK) { return compile_guard(t, "s0 == 8", &hints); }

CASE(gcache_guards_eval, ERROR_ARGUMENT)
{
    gcache_hints const twice = GCACHE_HINTS({ "s0", 8 }, { "s0", 4 });

    return compile_guard(t, "s0 == 8", &twice);
}

static gcache_status
prepare(trial *t, char const *const *names, size_t count)
{
    char const *text = "s0 == 8";
    gcache_prepared *prepared = NULL;
    gcache_guards *guards = NULL;

    assert_int_equal(gcache_guards_compile(&text, 1, &guards, E), GCACHE_OK);
    gcache_status status = gcache_guards_prepare(guards, names, count, &prepared, E);
    gcache_prepared_free(prepared);
    gcache_guards_free(guards);
    return status;
}

CASE(gcache_guards_prepare, OK) { return prepare(t, (char const *[]){ "s1", "s0" }, 2); }
CASE(gcache_guards_prepare, ERROR_ARGUMENT) { return prepare(t, (char const *[]){ "s0", "s0" }, 2); }

/* ---- maintenance, statistics, journal ---- */

CASE(gcache_verify, OK) { return gcache_verify(C, NULL, NULL, E); }
CASE(gcache_verify, REFUSED) { return reopen(t, false, true), gcache_verify(C, NULL, NULL, E); }
CASE(gcache_repair, OK) { return gcache_repair(C, NULL, NULL, E); }
CASE(gcache_repair, REFUSED) { return reopen(t, false, true), gcache_repair(C, NULL, NULL, E); }
CASE(gcache_repair, ERROR_ARGUMENT) { return gcache_repair(NULL, NULL, NULL, E); }
CASE(gcache_repair, ERROR_READ_ONLY) { return reopen(t, true, false), gcache_repair(C, NULL, NULL, E); }
CASE(gcache_gc, OK) { return gcache_gc(C, NULL, NULL, E); }
CASE(gcache_gc, REFUSED) { return reopen(t, false, true), gcache_gc(C, NULL, NULL, E); }
CASE(gcache_gc, ERROR_ARGUMENT) { return gcache_gc(NULL, NULL, NULL, E); }
CASE(gcache_gc, ERROR_READ_ONLY) { return reopen(t, true, false), gcache_gc(C, NULL, NULL, E); }

CASE(gcache_statistics_read, OK)
{
    gcache_statistics *statistics = NULL;
    gcache_status status = gcache_statistics_read(C, &statistics, E);

    gcache_statistics_free(statistics);
    return status;
}

CASE(gcache_statistics_read, ERROR_ARGUMENT) { return gcache_statistics_read(NULL, NULL, E); }

static gcache_status
show(trial *t, gcache *cache)
{
    char *text = NULL;
    gcache_status status = gcache_statistics_show(cache, NULL, GCACHE_STATISTICS_TEXT, &text, E);

    return free_text(status, &text);
}

CASE(gcache_statistics_show, OK) { return show(t, C); }
CASE(gcache_statistics_show, ERROR_ARGUMENT) { return show(t, NULL); }

static gcache_status
show_top(trial *t, gcache *cache)
{
    char *text = NULL;
    gcache_status status = gcache_statistics_top(cache, NULL, GCACHE_TOP_KEYS, 3, GCACHE_STATISTICS_TEXT, &text, E);

    return free_text(status, &text);
}

CASE(gcache_statistics_top, OK) { return show_top(t, C); }
CASE(gcache_statistics_top, ERROR_ARGUMENT) { return show_top(t, NULL); }

/* ---- settings ---- */

static gcache_status
set(trial *t, char const *name, char const *value)
{
    gcache_settings *settings = NULL;

    assert_int_equal(gcache_settings_load(t->f->directory, NULL, NULL, NULL, &settings, E), GCACHE_OK);
    gcache_status status = gcache_settings_set(settings, name, value, E);
    gcache_settings_free(settings);
    return status;
}

CASE(gcache_settings_set, OK) { return set(t, "max-size", "1G"); }
CASE(gcache_settings_set, ERROR_NOT_FOUND) { return set(t, "max-length", "1"); }
CASE(gcache_settings_set, ERROR_ARGUMENT) { return set(t, "max-size", "large"); }

static gcache_status
write_setting(trial *t, char const *directory, char const *value)
{
    return gcache_settings_write(directory, GCACHE_TRUST_OWNER, NULL, "max-size", value, NULL, NULL, E);
}

CASE(gcache_settings_write, OK) { return write_setting(t, t->f->directory, "1G"); }
CASE(gcache_settings_write, ERROR_NOT_FOUND) { return write_setting(t, "/var/tmp/guardcache-test-nowhere", "1G"); }
CASE(gcache_settings_write, ERROR_ARGUMENT) { return write_setting(t, t->f->directory, "large"); }

static gcache_status
load_settings(trial *t, gcache_variable_fn variable)
{
    gcache_settings *settings = NULL;
    gcache_status status = gcache_settings_load(t->f->directory, NULL, variable, NULL, &settings, E);

    gcache_settings_free(settings);
    return status;
}

static char const *
nonsense(void *state, char const *name)
{
    (void)state, (void)name;
    return "what is this";
}

CASE(gcache_settings_load, OK) { return load_settings(t, NULL); }
CASE(gcache_settings_load, ERROR_ARGUMENT) { return load_settings(t, nonsense); }

CASE(gcache_settings_write, ERROR_UNTRUSTED)
{
    harm_files(t, "chmod 0777 .");
    return write_setting(t, t->f->directory, "1G");
}

/* ---- signing keys ---- */

/* A file beside the directory, of that mode, with a key file's line or what is none. */
static char const *
key_file(trial *t, char const *text, mode_t mode)
{
    FILE *file = fopen(t->f->file, "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(t->f->file, mode), 0);
    return t->f->file;
}

#define HMAC_LINE "guardcache-key-1 hmac k1 000102030405060708090a0b0c0d0e0f\n"

static gcache_status
read_key(trial *t, char const *file)
{
    gcache_signing_key *key;
    gcache_status status = gcache_signing_key_read(file, &key, E);

    if (status == GCACHE_OK)
        gcache_signing_key_free(key);
    return status;
}

CASE(gcache_signing_key_read, OK) { return read_key(t, key_file(t, HMAC_LINE, 0600)); }
CASE(gcache_signing_key_read, ERROR_NOT_FOUND) { return read_key(t, "/var/tmp/guardcache-test-nowhere"); }
CASE(gcache_signing_key_read, ERROR_UNTRUSTED) { return read_key(t, key_file(t, HMAC_LINE, 0644)); }
CASE(gcache_signing_key_read, ERROR_SYNTAX) { return read_key(t, key_file(t, "a secret\n", 0600)); }
CASE(gcache_signing_key_read, ERROR_FORMAT) { return read_key(t, key_file(t, "guardcache-key-2 and so on\n", 0600)); }

static gcache_status
make_key(trial *t, char const *file, char const *id)
{
    unlink(t->f->file);
    return gcache_signing_key_make(file, id, GCACHE_SIGNING_HMAC, E);
}

CASE(gcache_signing_key_make, OK) { return make_key(t, t->f->file, NULL); }
CASE(gcache_signing_key_make, ERROR_ARGUMENT) { return make_key(t, t->f->file, "two words"); }
CASE(gcache_signing_key_make, ERROR_NOT_FOUND) { return make_key(t, "/var/tmp/guardcache-test-nowhere/key", NULL); }

static gcache_status
apply_settings(trial *t, char const *file)
{
    gcache_options options = GCACHE_OPTIONS_INIT;
    gcache_settings *settings = NULL;

    assert_int_equal(gcache_settings_load(t->f->directory, NULL, NULL, NULL, &settings, E), GCACHE_OK);
    assert_int_equal(gcache_settings_set(settings, "signing-keys", file, E), GCACHE_OK);
    gcache_status status = gcache_settings_apply(settings, &options, E);
    gcache_settings_free(settings);
    return status;
}

CASE(gcache_settings_apply, OK) { return apply_settings(t, key_file(t, HMAC_LINE, 0600)); }
CASE(gcache_settings_apply, ERROR_NOT_FOUND) { return apply_settings(t, "/var/tmp/guardcache-test-nowhere"); }
CASE(gcache_settings_apply, ERROR_UNTRUSTED) { return apply_settings(t, key_file(t, HMAC_LINE, 0640)); }
CASE(gcache_settings_apply, ERROR_SYNTAX) { return apply_settings(t, key_file(t, "", 0600)); }
CASE(gcache_settings_apply, ERROR_FORMAT) { return apply_settings(t, key_file(t, "guardcache-key-9 x\n", 0600)); }

CASE(gcache_settings_apply, ERROR_ARGUMENT)
{
    char paths[1024] = "";

    key_file(t, HMAC_LINE, 0600);
    for (int i = 0; i < 9; i++)
        snprintf(paths + strlen(paths), sizeof paths - strlen(paths), "%s ", t->f->file);
    return apply_settings(t, paths);
}

/* ---- all of them ---- */

#define CASES(X)                                                                                      \
    X(gcache_open, OK) X(gcache_open, ERROR_ARGUMENT) X(gcache_open, ERROR_NOT_FOUND)                 \
    X(gcache_open, ERROR_UNTRUSTED)                                                                   \
    X(gcache_lookup, HIT) X(gcache_lookup, MISS) X(gcache_lookup, ERROR_ARGUMENT)                     \
    X(gcache_insert, OK) X(gcache_insert, REFUSED) X(gcache_insert, ERROR_ARGUMENT)                   \
    X(gcache_insert, ERROR_SYNTAX) X(gcache_insert, ERROR_READ_ONLY) X(gcache_insert, ERROR_LIMIT)    \
    X(gcache_insert, ERROR_DESCRIPTION) X(gcache_insert, ERROR_UNTRUSTED)                             \
    X(gcache_place, OK) X(gcache_place, ERROR_ARGUMENT) X(gcache_place, ERROR_NOT_FOUND)              \
    X(gcache_place, ERROR_CORRUPT)                                                                    \
    X(gcache_place_one, OK) X(gcache_place_one, ERROR_ARGUMENT) X(gcache_place_one, ERROR_NOT_FOUND)  \
    X(gcache_place_one, ERROR_CORRUPT)                                                                \
    X(gcache_attachment_get, OK) X(gcache_attachment_get, ERROR_ARGUMENT)                             \
    X(gcache_attachment_get, ERROR_NOT_FOUND) X(gcache_attachment_get, ERROR_CORRUPT)                 \
    X(gcache_explain, HIT) X(gcache_explain, MISS) X(gcache_explain, ERROR_ARGUMENT)                  \
    X(gcache_each_entry, OK) X(gcache_each_shadowed, OK) X(gcache_each_shadowed, ERROR_ARGUMENT)      \
    X(gcache_read_entry, HIT) X(gcache_read_entry, ERROR_NOT_FOUND)                                   \
    X(gcache_read_entry, ERROR_ARGUMENT)                                                              \
    X(gcache_compare, OK) X(gcache_compare, ERROR_NOT_FOUND) X(gcache_compare, ERROR_ARGUMENT) X(gcache_compare, REFUSED)        \
    X(gcache_remove, OK) X(gcache_remove, ERROR_NOT_FOUND) X(gcache_remove, ERROR_READ_ONLY)          \
    X(gcache_get_or_compile, HIT) X(gcache_get_or_compile, MISS)                                      \
    X(gcache_get_or_compile, ERROR_ARGUMENT)                                                          \
    X(gcache_compile_begin, HIT) X(gcache_compile_begin, MISS)                                        \
    X(gcache_compile_begin, ERROR_ARGUMENT)                                                           \
    X(gcache_compile_end, MISS)                                                                       \
    X(gcache_compile_many, OK) X(gcache_compile_many, ERROR_ARGUMENT)                                 \
    X(gcache_graph_read, OK) X(gcache_graph_read, ERROR_SYNTAX)                                       \
    X(gcache_graph_read, ERROR_DESCRIPTION) X(gcache_graph_read, ERROR_LIMIT)                         \
    X(gcache_graph_text, ERROR_NOT_FOUND)                                                             \
    X(gcache_graph_write, OK)                                                                         \
    X(gcache_diff, OK) X(gcache_diff, ERROR_CORRUPT)                                                  \
    X(gcache_rules_read, OK) X(gcache_rules_read, ERROR_SYNTAX)                                       \
    X(gcache_rules_read_advice, OK) X(gcache_rules_read_advice, ERROR_SYNTAX)                         \
    X(gcache_rules_read_advice, ERROR_DESCRIPTION)                                                    \
    X(gcache_rules_read, ERROR_DESCRIPTION)                                                           \
    X(gcache_rules_of_kind, OK)                                                                       \
    X(gcache_key_from_hex, OK) X(gcache_key_from_hex, ERROR_SYNTAX)                                   \
    X(gcache_guards_compile, OK) X(gcache_guards_compile, ERROR_SYNTAX)                               \
    X(gcache_guards_compile, ERROR_LIMIT)                                                             \
    X(gcache_guards_eval, OK) X(gcache_guards_eval, ERROR_ARGUMENT)                                   \
    X(gcache_guards_prepare, OK) X(gcache_guards_prepare, ERROR_ARGUMENT)                             \
    X(gcache_verify, OK) X(gcache_verify, REFUSED)                                                    \
    X(gcache_repair, OK) X(gcache_repair, REFUSED) X(gcache_repair, ERROR_ARGUMENT)                   \
    X(gcache_repair, ERROR_READ_ONLY)                                                                 \
    X(gcache_gc, OK) X(gcache_gc, REFUSED) X(gcache_gc, ERROR_ARGUMENT)                               \
    X(gcache_gc, ERROR_READ_ONLY)                                                                     \
    X(gcache_statistics_read, OK) X(gcache_statistics_read, ERROR_ARGUMENT)                           \
    X(gcache_statistics_show, OK) X(gcache_statistics_show, ERROR_ARGUMENT)                           \
    X(gcache_statistics_top, OK) X(gcache_statistics_top, ERROR_ARGUMENT)                             \
    X(gcache_settings_set, OK) X(gcache_settings_set, ERROR_NOT_FOUND)                                \
    X(gcache_settings_set, ERROR_ARGUMENT)                                                            \
    X(gcache_settings_write, OK) X(gcache_settings_write, ERROR_NOT_FOUND)                            \
    X(gcache_settings_write, ERROR_ARGUMENT)                                                          \
    X(gcache_settings_load, OK) X(gcache_settings_load, ERROR_ARGUMENT)                               \
    X(gcache_settings_write, ERROR_UNTRUSTED)                                                         \
    X(gcache_settings_apply, OK) X(gcache_settings_apply, ERROR_NOT_FOUND)                            \
    X(gcache_settings_apply, ERROR_UNTRUSTED) X(gcache_settings_apply, ERROR_SYNTAX)                  \
    X(gcache_settings_apply, ERROR_FORMAT) X(gcache_settings_apply, ERROR_ARGUMENT)                   \
    X(gcache_signing_key_read, OK) X(gcache_signing_key_read, ERROR_NOT_FOUND)                        \
    X(gcache_signing_key_read, ERROR_UNTRUSTED) X(gcache_signing_key_read, ERROR_SYNTAX)              \
    X(gcache_signing_key_read, ERROR_FORMAT)                                                          \
    X(gcache_signing_key_make, OK) X(gcache_signing_key_make, ERROR_ARGUMENT)                         \
    X(gcache_signing_key_make, ERROR_NOT_FOUND)

static status_case const all[] = { CASES(STATUS_CASE) };

static void
every_listed_status_is_returned(void **state)
{
    (void)state;
    run_cases(all, sizeof all / sizeof *all);
}

int
main(void)
{
    struct CMUnitTest const tests[] = { cmocka_unit_test(every_listed_status_is_returned) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
