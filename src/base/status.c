/*
 * The names and texts of statuses, reasons and trusts, from the tables of the public headers.
 */
#include <guardcache/cache.h>
#include <guardcache/status.h>
#include <guardcache/version.h>

char const *
gcache_status_name(gcache_status status)
{
    switch (status) {
#define X(name, value, text)                                                                          \
    case GCACHE_##name:                                                                               \
        return #name;
        GCACHE_STATUS_MAP(X)
#undef X
    }
    return "?";
}

char const *
gcache_status_text(gcache_status status)
{
    switch (status) {
#define X(name, value, text)                                                                          \
    case GCACHE_##name:                                                                               \
        return text;
        GCACHE_STATUS_MAP(X)
#undef X
    }
    return "?";
}

static char const *const reason_names[] = {
#define X(name, word, text) word,
    GCACHE_REASON_MAP(X)
#undef X
};

static char const *const reason_texts[] = {
#define X(name, word, text) text,
    GCACHE_REASON_MAP(X)
#undef X
};

char const *
gcache_reason_name(gcache_reason reason)
{
    return (unsigned)reason < GCACHE_REASON_COUNT ? reason_names[reason] : "?";
}

char const *
gcache_reason_text(gcache_reason reason)
{
    return (unsigned)reason < GCACHE_REASON_COUNT ? reason_texts[reason] : "?";
}

char const *
gcache_version(void)
{
    return GCACHE_VERSION;
}

char const *
gcache_trust_name(gcache_trust trust)
{
    static char const *const names[GCACHE_TRUST_COUNT] = {
#define X(id, name, meaning) name,
        GCACHE_TRUST_MAP(X)
#undef X
    };
    return (unsigned)trust < GCACHE_TRUST_COUNT ? names[trust] : "?";
}

char const *
gcache_signing_algorithm_name(gcache_signing_algorithm algorithm)
{
    static char const *const names[GCACHE_SIGNING_COUNT] = {
#define X(id, name, meaning) name,
        GCACHE_SIGNING_ALGORITHM_MAP(X)
#undef X
    };
    return (unsigned)algorithm < GCACHE_SIGNING_COUNT ? names[algorithm] : "?";
}
