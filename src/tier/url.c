/* URLs of tiers: taken apart, and shown without their credentials. */
#include "tier/url.h"

#include "base/digest.h"
#include "base/check.h"
#include "base/text/quantity.h"
#include "base/text/similar.h"
#include "base/view.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

/* A port is 16 bits (RFC 793). */
#define PORT_MAX 65535
/* Redis has 16 databases unless its configuration says otherwise. */
#define DATABASE_MAX 65535
/* What reading takes of a whole setting: a file of a megabyte is refused, and so is what it says. */
#define SETTING_BYTES_MAX ((size_t)4 << 20)
/* A year of seconds fits; longer than that nobody waits. */
#define MILLISECONDS_MAX 86400000

static struct {
    char const *word;
    bool has_host;
} const schemes[GCI_SCHEME_COUNT] = {
    [GCI_SCHEME_REDIS] = { "redis", true },
    [GCI_SCHEME_REDISS] = { "rediss", true },
    [GCI_SCHEME_REDIS_UNIX] = { "redis+unix", false },
    [GCI_SCHEME_FILE] = { "file", false },
};

/* ---- pieces ---- */

static bool is_option(gci_view name);

static gci_view
part(gci_view text, size_t from, size_t to)
{
    return gci_view_of(text.data + from, to - from);
}

static size_t
find(gci_view text, char c, size_t from)
{
    while (from < text.size && text.data[from] != c)
        from++;
    return from;
}

/* The last one before `end`. SIZE_MAX: there is none. */
static size_t
find_last(gci_view text, char c, size_t from, size_t end)
{
    for (size_t i = end; i > from; i--) {
        if (text.data[i - 1] == c)
            return i - 1;
    }
    return SIZE_MAX;
}

bool
gci_tier_url_next(gci_view *rest, gci_view *out_url)
{
    size_t begin = 0, end;

    while (begin < rest->size && isspace((unsigned char)rest->data[begin]))
        begin++;
    if (begin == rest->size)
        return false;
    for (end = begin; end < rest->size && !isspace((unsigned char)rest->data[end]);)
        end++;
    *out_url = part(*rest, begin, end);
    *rest = part(*rest, end, rest->size);
    return true;
}

static size_t
authority_at(gci_view text)
{
    for (size_t i = 0; i + 3 <= text.size; i++) {
        if (memcmp(text.data + i, "://", 3) == 0)
            return i + 3;
    }
    return SIZE_MAX;
}

/*
 * Where the host begins: behind the last `@`, wherever it stands. Reading and showing have this one rule, so that whatever may be a
 * password is taken for one; reading then refuses those that should have been escaped.
 */
static size_t
host_at(gci_view text, size_t authority)
{
    size_t at = find_last(text, '@', authority, text.size);

    return at == SIZE_MAX ? authority : at + 1;
}

/* Options of other names may be anything: "password", which other programs take there. */
static void
show_options(gci_view text, gci_buf *out)
{
    for (size_t at = 0; at < text.size;) {
        size_t end = find(text, '&', at), equals = find(text, '=', at);
        equals = equals < end ? equals : end;
        bool known = is_option(part(text, at, equals));
        if (at != 0)
            gci_buf_append_char(out, '&');
        gci_buf_append_view(out, part(text, at, known ? end : equals));
        if (!known && equals < end)
            gci_buf_append_text(out, "=..");
        at = end + 1;
    }
}

void
gci_tier_url_show(gci_view text, gci_buf *out)
{
    size_t authority = authority_at(text);

    /* A piece of one whose password has a space, perhaps. */
    if (authority == SIZE_MAX) {
        gci_buf_append_text(out, "(not a URL)");
        return;
    }
    size_t host = host_at(text, authority), question = find(text, '?', host);
    gci_buf_append_view(out, part(text, 0, authority));
    gci_buf_append_view(out, part(text, host, question));
    if (question == text.size)
        return;
    gci_buf_append_char(out, '?');
    show_options(part(text, question + 1, text.size), out);
}

bool
gci_tier_urls_are_whole(gci_view setting)
{
    gci_view url;

    while (gci_tier_url_next(&setting, &url)) {
        if (authority_at(url) == SIZE_MAX)
            return false;
    }
    return true;
}

/* ---- reading ---- */

typedef struct reading {
    gci_view text;
    gci_arena *arena;
    gci_tier_url *url;
    gcache_error *error;
} reading;

static gcache_status
wrong(reading *r, char const *what)
{
    return gci_fail(r->error, GCACHE_ERROR_ARGUMENT, "%s: %s", r->url->shown, what);
}

/* Without its escapes. NULL with the error set. */
static char const *
unescape(reading *r, gci_view text)
{
    char *out = gci_arena_alloc(r->arena, text.size + 1);
    size_t size = 0;

    if (out == NULL) {
        gci_fail_memory(r->error);
        return NULL;
    }
    for (size_t i = 0; i < text.size; i++) {
        uint8_t byte = (uint8_t)text.data[i];
        if (byte == '%' && (i + 2 >= text.size || !gci_unhex(part(text, i + 1, i + 3), &byte, 1) || byte == 0)) {
            wrong(r, "a % isn't followed by two hex digits of a character");
            return NULL;
        }
        i += text.data[i] == '%' ? 2 : 0;
        out[size++] = (char)byte;
    }
    out[size] = '\0';
    return out;
}

static bool
read_number(char const *text, unsigned long most, unsigned long *out)
{
    char *end;

    errno = 0;
    *out = strtoul(text, &end, 10);
    return isdigit((unsigned char)text[0]) && errno == 0 && *end == '\0' && *out <= most;
}

static bool
read_flag(char const *text, bool *out)
{
    *out = strcmp(text, "1") == 0;
    return *out || strcmp(text, "0") == 0;
}

static bool
read_milliseconds(char const *text, uint64_t *out)
{
    unsigned long number;

    if (!read_number(text, MILLISECONDS_MAX, &number) || number == 0)
        return false;
    *out = (uint64_t)number * 1000000;
    return true;
}

/* ---- options ---- */

static bool
option_prefix(gci_tier_url *url, char const *value)
{
    url->prefix = value;
    return value[0] != '\0' && strstr(value, "..") == NULL && value[0] != '/' && strpbrk(value, "{}@") == NULL;
}

static bool
option_ttl(gci_tier_url *url, char const *value)
{
    unsigned long seconds;
    bool good = read_number(value, UINT32_MAX, &seconds) && seconds != 0;

    url->ttl_ns = good ? (uint64_t)seconds * 1000000000 : 0;
    return good;
}

static bool
option_read_only(gci_tier_url *url, char const *value)
{
    return read_flag(value, &url->read_only);
}

static bool
option_timeout(gci_tier_url *url, char const *value)
{
    return read_milliseconds(value, &url->timeout_ns);
}

static bool
option_connect_timeout(gci_tier_url *url, char const *value)
{
    return read_milliseconds(value, &url->connect_timeout_ns);
}

static bool
option_lease(gci_tier_url *url, char const *value)
{
    return read_milliseconds(value, &url->lease_ns);
}

static bool
option_insecure(gci_tier_url *url, char const *value)
{
    return read_flag(value, &url->insecure);
}

static bool
option_ca_file(gci_tier_url *url, char const *value)
{
    url->ca_file = value;
    return value[0] == '/';
}

static bool
option_max_bytes(gci_tier_url *url, char const *value)
{
    return gci_size_read(value, &url->max_bytes) && url->max_bytes != 0;
}

static bool
option_database(gci_tier_url *url, char const *value)
{
    unsigned long number;
    bool good = read_number(value, DATABASE_MAX, &number);

    url->database = good ? (unsigned)number : 0;
    return good;
}

#define OF(scheme) (1U << GCI_SCHEME_##scheme)
#define OF_REDIS (OF(REDIS) | OF(REDISS) | OF(REDIS_UNIX))
#define OF_ALL (OF_REDIS | OF(FILE))

static struct {
    char const *name, *what;
    bool (*read)(gci_tier_url *url, char const *value);
    unsigned schemes; /* it makes sense for */
} const options[] = {
    { "prefix", "a name without braces, @ and ..", option_prefix, OF_ALL },
    { "ttl", "seconds", option_ttl, OF_ALL },
    { "read-only", "1 or 0", option_read_only, OF_ALL },
    { "timeout-ms", "milliseconds", option_timeout, OF_ALL },
    { "connect-timeout-ms", "milliseconds", option_connect_timeout, OF_ALL },
    { "lease-ms", "milliseconds", option_lease, OF_REDIS },
    { "insecure", "1 or 0", option_insecure, OF(REDISS) },
    { "ca-file", "an absolute path", option_ca_file, OF(REDISS) },
    { "max-bytes", "a size such as 64M", option_max_bytes, OF_ALL },
    { "db", "a database's number", option_database, OF_REDIS },
};

#define OPTION_COUNT (sizeof options / sizeof *options)

static bool
is_option(gci_view name)
{
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        if (gci_view_is(name, options[i].name))
            return true;
    }
    return false;
}

static gcache_status
fail_unknown_option(reading *r, gci_view name)
{
    gci_similar similar = gci_similar_to(name);

    for (size_t i = 0; i < OPTION_COUNT; i++)
        gci_similar_offer(&similar, options[i].name);
    return gci_fail(r->error, GCACHE_ERROR_ARGUMENT, "%s: there is no option %.*s%s", r->url->shown, (int)name.size, name.data,
                    gci_similar_question(&similar, "").text);
}

/* option = name "=" value */
static gcache_status
read_option(reading *r, gci_view text)
{
    size_t equals = find(text, '=', 0);
    gci_view name = part(text, 0, equals);
    char const *value = unescape(r, equals < text.size ? part(text, equals + 1, text.size) : gci_view_text(""));

    if (value == NULL)
        return r->error->status;
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        if (!gci_view_is(name, options[i].name))
            continue;
        if ((options[i].schemes & 1U << r->url->scheme) == 0)
            return gci_fail(r->error, GCACHE_ERROR_ARGUMENT, "%s: %s means nothing for %s", r->url->shown, options[i].name,
                            schemes[r->url->scheme].word);
        return options[i].read(r->url, value)
                   ? GCACHE_OK
                   : gci_fail(r->error, GCACHE_ERROR_ARGUMENT, "%s: %s takes %s", r->url->shown, options[i].name, options[i].what);
    }
    return fail_unknown_option(r, name);
}

static gcache_status
read_options(reading *r, gci_view text)
{
    gcache_status status = GCACHE_OK;

    for (size_t at = 0; status == GCACHE_OK && at < text.size;) {
        size_t end = find(text, '&', at);
        if (end > at)
            status = read_option(r, part(text, at, end));
        at = end + 1;
    }
    return status;
}

/* ---- the authority ---- */

/* What would end user and password elsewhere. */
static bool
has_unescaped(gci_view text)
{
    for (size_t i = 0; i < text.size; i++) {
        if (strchr("@/?#", text.data[i]) != NULL)
            return true;
    }
    return false;
}

/* user [":" password]; Redis takes a password without a user as ":password" */
static gcache_status
read_credentials(reading *r, gci_view text)
{
    size_t colon = find(text, ':', 0);
    char const *user = unescape(r, part(text, 0, colon));
    char const *password = colon < text.size ? unescape(r, part(text, colon + 1, text.size)) : NULL;

    if (user == NULL || (colon < text.size && password == NULL))
        return r->error->status;
    r->url->user = user[0] != '\0' ? user : NULL;
    r->url->password = password;
    return GCACHE_OK;
}

/* host [":" port], an IPv6 address in brackets */
static gcache_status
read_host(reading *r, gci_view text)
{
    bool bracketed = text.size > 0 && text.data[0] == '[';
    size_t end = bracketed ? find(text, ']', 0) : find(text, ':', 0), after = bracketed ? end + 1 : end;
    unsigned long port = 0;

    if (bracketed && end == text.size)
        return wrong(r, "the address has no closing bracket");
    r->url->host = unescape(r, part(text, bracketed, end));
    if (r->url->host == NULL)
        return r->error->status;
    if (after < text.size) {
        char const *digits = text.data[after] == ':' ? unescape(r, part(text, after + 1, text.size)) : NULL;
        if (digits == NULL || !read_number(digits, PORT_MAX, &port) || port == 0)
            return wrong(r, "the port is no number from 1 to 65535");
    }
    r->url->port = (unsigned)port;
    return r->url->host[0] != '\0' ? GCACHE_OK : wrong(r, "there is no host");
}

static gcache_status
read_scheme(reading *r, size_t authority)
{
    gci_view word = part(r->text, 0, authority - 3);
    gci_similar similar = gci_similar_to(word);

    for (int scheme = 0; scheme < GCI_SCHEME_COUNT; scheme++) {
        gci_similar_offer(&similar, schemes[scheme].word);
        if (gci_view_is(word, schemes[scheme].word)) {
            r->url->scheme = (gci_tier_scheme)scheme;
            return GCACHE_OK;
        }
    }
    return gci_fail(r->error, GCACHE_ERROR_ARGUMENT, "%s: there are no tiers by %.*s%s", r->url->shown, (int)word.size, word.data,
                    gci_similar_question(&similar, "").text);
}

/* The number behind the slash is Redis's database. */
static gcache_status
read_path(reading *r)
{
    unsigned long number;
    gci_tier_url *url = r->url;

    if (!schemes[url->scheme].has_host)
        return url->path[0] == '/' && url->path[1] != '\0' ? GCACHE_OK : wrong(r, "there is no path");
    if (url->path[0] == '\0' || url->path[1] == '\0')
        return GCACHE_OK;
    if (!read_number(url->path + 1, DATABASE_MAX, &number))
        return wrong(r, "behind the slash stands the number of a database");
    url->database = (unsigned)number;
    return GCACHE_OK;
}

static gcache_status
read_url(reading *r)
{
    size_t authority = authority_at(r->text);

    if (authority == SIZE_MAX)
        return wrong(r, "this isn't a URL (scheme://..)");
    size_t host = host_at(r->text, authority), question = find(r->text, '?', host), slash = find(r->text, '/', host);
    if (has_unescaped(part(r->text, authority, host > authority ? host - 1 : host)))
        return wrong(r, "special characters in user and password are escaped: %40 is @, %2F is /, %3F is ?");
    slash = slash < question ? slash : question;
    gcache_status status = read_scheme(r, authority);
    if (status == GCACHE_OK && host > authority)
        status = read_credentials(r, part(r->text, authority, host - 1));
    if (status == GCACHE_OK && schemes[r->url->scheme].has_host)
        status = read_host(r, part(r->text, host, slash));
    else if (status == GCACHE_OK && slash != host)
        status = wrong(r, "a path begins with three slashes: no host stands before it");
    if (status != GCACHE_OK)
        return status;
    r->url->path = unescape(r, part(r->text, slash, question));
    if (r->url->path == NULL)
        return r->error->status;
    status = read_path(r);
    return status == GCACHE_OK && question < r->text.size ? read_options(r, part(r->text, question + 1, r->text.size)) : status;
}

gcache_status
gci_tier_url_read(gci_view text, gci_arena *arena, gci_tier_url *out_url, gcache_error *error)
{
    gcache_error local = { 0 };
    reading r = { text, arena, out_url, error != NULL ? error : &local };
    gci_buf shown;

    *out_url = (gci_tier_url){ .path = "", .prefix = "guardcache", .timeout_ns = GCACHE_TIER_TIMEOUT_DEFAULT_NS,
                               .lease_ns = GCI_TIER_LEASE_NS,
                               .connect_timeout_ns = GCI_TIER_CONNECT_TIMEOUT_NS };
    gci_buf_init(&shown, GCI_BUF_NO_LIMIT);
    gci_tier_url_show(text, &shown);
    out_url->shown = shown.failed ? NULL : gci_arena_copy(arena, gci_buf_view(&shown)).data;
    gci_buf_clear(&shown);
    if (out_url->shown == NULL)
        return gci_fail_memory(error);
    gcache_status status = read_url(&r);
    return arena->failed ? gci_fail_memory(error) : status;
}

/* ---- a setting's URLs ---- */

/* A piece that is no URL is called by its number, as it may belong to a password; by its text, if nothing stands before it and it
   looks like a plain word. */
static gcache_status
fail_piece(gci_view piece, size_t number, gcache_error *error)
{
    bool plain = number == 1;

    for (size_t i = 0; i < piece.size; i++)
        plain = plain && (isalnum((unsigned char)piece.data[i]) || strchr("._-/", piece.data[i]) != NULL);
    if (plain)
        return gci_fail(error, GCACHE_ERROR_ARGUMENT, "tiers: %.*s isn't a URL (scheme://..)", (int)piece.size, piece.data);
    return gci_fail(error, GCACHE_ERROR_ARGUMENT,
                    "tiers: the URL number %zu isn't one (scheme://..); a space in a password is written %%20", number);
}

/* Before anything is read and said of one: the piece before a piece that is none may end with half a password. */
static gcache_status
check_pieces(gci_view setting, gcache_error *error)
{
    gci_view piece;

    for (size_t number = 1; gci_tier_url_next(&setting, &piece); number++) {
        if (authority_at(piece) == SIZE_MAX)
            return fail_piece(piece, number, error);
    }
    return GCACHE_OK;
}

gcache_status
gci_tier_urls_check(gci_view setting, gcache_error *error)
{
    gcache_status status = check_pieces(setting, error);
    gci_arena arena;
    gci_tier_url url;
    gci_view piece;

    gci_arena_init(&arena, SETTING_BYTES_MAX);
    for (size_t number = 1; status == GCACHE_OK && gci_tier_url_next(&setting, &piece); number++) {
        if (number > GCI_TIERS_MAX)
            status = gci_fail(error, GCACHE_ERROR_ARGUMENT, "more than %d tiers: each may cost a lookup its time-out",
                              GCI_TIERS_MAX);
        else
            status = gci_tier_url_read(piece, &arena, &url, error);
    }
    gci_arena_clear(&arena);
    return status;
}
