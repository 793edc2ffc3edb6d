/* The words of the tier contract, from its tables. */
#include <guardcache/fleet.h>

char const *
gcache_tier_answer_name(gcache_tier_answer answer)
{
    static char const *const words[GCACHE_TIER_ANSWER_COUNT] = {
#define X(id, word, meaning) word,
        GCACHE_TIER_ANSWER_MAP(X)
#undef X
    };
    return answer < GCACHE_TIER_ANSWER_COUNT ? words[answer] : "?";
}

char const *
gcache_object_kind_name(gcache_object_kind kind)
{
    static char const *const words[GCACHE_OBJECT_KIND_COUNT] = {
#define X(id, word, keyed, named, meaning) word,
        GCACHE_OBJECT_MAP(X)
#undef X
    };
    return kind < GCACHE_OBJECT_KIND_COUNT ? words[kind] : "?";
}

char const *
gcache_tier_count_name(gcache_tier_count count)
{
    static char const *const words[GCACHE_TIER_COUNT_COUNT] = {
#define X(id, word, meaning) word,
        GCACHE_TIER_COUNT_MAP(X)
#undef X
    };
    return count < GCACHE_TIER_COUNT_COUNT ? words[count] : "?";
}
