/*
 * What the tests of statuses share. Every status that a header's comment lists is one that the function returns: a CASE for
 * each brings it about, and tests/lint/check_statuses.py holds CASES against the headers. What needs a fault of the machine
 * (no memory, a full disk, a failing call) or a lock that is held for seconds is elsewhere.
 */
#ifndef TESTS_UNIT_CACHE_STATUSES_H
#define TESTS_UNIT_CACHE_STATUSES_H

#include "fixture.h"

#include <sys/stat.h>
#include <unistd.h>

typedef struct trial {
    fixture *f;
    gcache_graph *g;
    gcache_error *error;
} trial;

#define CASE(function, status) static gcache_status function##_##status(trial *t)
#define C (t->f->cache)
#define E (t->error)

/* ---- what the cases need ---- */

static inline gcache_key
stored(trial *t)
{
    gcache_key key;

    assert_int_equal(insert_text(t->f, t->g, NULL, NULL, "x"), GCACHE_OK);
    assert_int_equal(gcache_graph_key(t->g, &key, NULL), GCACHE_OK);
    return key;
}

static inline gcache_options
with(bool read_only, bool disabled)
{
    gcache_options options = GCACHE_OPTIONS_INIT;

    options.read_only = read_only;
    options.disabled = disabled;
    return options;
}

static inline void
reopen(trial *t, bool read_only, bool disabled)
{
    gcache_options options = with(read_only, disabled);

    fixture_reopen(t->f, &options);
}

static inline char const *
in_directory(trial *t, char const *name)
{
    static char path[160];

    snprintf(path, sizeof path, "%s/%s", t->f->directory, name);
    return path;
}

static inline void
write_file(char const *path, char const *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* A line of shell in the cache directory; NULL: none. */
static inline void
harm_files(trial *t, char const *harm)
{
    char command[256];

    if (harm == NULL)
        return;
    snprintf(command, sizeof command, "cd %s && %s", t->f->directory, harm);
    assert_int_equal(system(command), 0);
}

/* Where the text is, since arguments are evaluated in any order. */
static inline gcache_status
free_text(gcache_status status, char *const *text)
{
    gcache_free(*text);
    return status;
}

/* A rule set that refuses what says "secret", and a graph that does. */
static inline gcache_rules *
secretive_rules(void)
{
    static char const text[] = "{\"format\": \"guardcache-rules/1\", \"name\": \"mine\", \"text\": [{\"path\": \"module\","
                               " \"kind\": \"bypass\", \"pattern\": \"secret\", \"why\": \"a secret\"}]}";
    gcache_rules *rules = NULL;

    assert_int_equal(gcache_rules_read(text, sizeof text - 1, "rules", &rules, NULL), GCACHE_OK);
    return rules;
}

static inline gcache_graph *
secretive_graph(gcache_rules const *rules)
{
    gcache_graph *graph = gcache_graph_new("generic");

    gcache_graph_use_rules(graph, rules);
    gcache_graph_component(graph, "module", gcache_value_text(graph, "secret", 6));
    return graph;
}

/* ---- all of them ---- */

typedef struct status_case {
    char const *name;
    gcache_status expected;
    gcache_status (*run)(trial *t);
} status_case;

#define STATUS_CASE(function, status) { #function " " #status, GCACHE_##status, function##_##status },

/* A failure and a refusal say why; what an error object holds after a success is nobody's business. */
static inline bool
says_why(gcache_status found, gcache_error const *error)
{
    bool must = found < 0 || found == GCACHE_REFUSED;

    return !must || (error->status == found && strcmp(error->message, "untouched") != 0);
}

/* Each in a fresh cache. */
static inline void
run_cases(status_case const *cases, size_t count)
{
    size_t wrong = 0;

    for (size_t i = 0; i < count; i++) {
        gcache_error error = { .message = "untouched" };
        void *opened = NULL;
        fixture_open(&opened);
        trial t = { .f = opened, .g = make_matmul("s0", "s1"), .error = &error };
        gcache_status found = cases[i].run(&t);
        if (found != cases[i].expected || !says_why(found, &error))
            wrong++, printf("%s: %s: %s\n", cases[i].name, gcache_status_name(found), error.message);
        gcache_graph_free(t.g);
        fixture_close(&opened);
    }
    assert_int_equal(wrong, 0);
}

#endif
