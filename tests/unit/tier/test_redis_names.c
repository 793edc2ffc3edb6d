/* Names of servers: a resolver that hangs costs a call its deadline and no more, and a child nothing of its parent's. */
#include "redis_server.h"

#include "base/system/clock.h"
#include "tier/redis/wire/resolve.h"

#include <netdb.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Longer than any deadline here, in case that nobody ends it before. */
#define HANGS_MS 5000

static _Atomic bool let_go;
static _Atomic int hanging;
static _Atomic int saw_signals; /* threads of the resolver that would take a signal */

int __real_getaddrinfo(char const *host, char const *service, struct addrinfo const *hints, struct addrinfo **out);
int __wrap_getaddrinfo(char const *host, char const *service, struct addrinfo const *hints, struct addrinfo **out);

/* "slow" hangs, "quick" is this host, and digits are what they are. */
int
__wrap_getaddrinfo(char const *host, char const *service, struct addrinfo const *hints, struct addrinfo **out)
{
    sigset_t blocked;

    if ((hints->ai_flags & AI_NUMERICHOST) != 0)
        return __real_getaddrinfo(host, service, hints, out);
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    saw_signals += sigismember(&blocked, SIGTERM) == 0 || sigismember(&blocked, SIGALRM) == 0;
    if (strcmp(host, "quick") == 0)
        return __real_getaddrinfo("127.0.0.1", service, hints, out);
    uint64_t end = in_ms(HANGS_MS);
    hanging++;
    while (strcmp(host, "slow") == 0 && !let_go && gci_clock_steady_ns() < end)
        usleep(1000);
    hanging--;
    return EAI_NONAME;
}

static int
begin(void **state)
{
    (void)state;
    let_go = false;
    saw_signals = 0;
    return 0;
}

/* Whoever was left behind ends now. */
static int
end(void **state)
{
    (void)state;
    let_go = true;
    for (int i = 0; i < HANGS_MS && hanging != 0; i++)
        usleep(1000);
    usleep(20000);
    return hanging != 0;
}

static void
serve_nothing(false_server *server, int fd, int number)
{
    (void)server, (void)number;
    if (false_greet(fd) && false_read(fd, 1, NULL, 0))
        false_write(fd, "*0\r\n");
}

static gcache_tier_answer
list_at(char const *host, uint16_t port, uint64_t ms, gcache_tier_call *out_call)
{
    gci_redis_options options = options_for_port(port);
    gcache_key key = key_of(1);
    found f = { 0 };

    options.host = host;
    tier t = open_tier(&options);
    t.call.deadline_ns = in_ms(60000);
    t.call.connect_deadline_ns = in_ms(ms);
    gcache_tier_answer answer = t.f->list(t.at, &t.call, &key, note, &f);
    *out_call = t.call;
    close_tier(&t);
    return answer;
}

static void
test_names_are_resolved(void **state)
{
    (void)state;
    static char const *const hosts[] = { "quick", "localhost", "LOCALHOST", "127.0.0.1" };
    false_server server;
    gcache_tier_call call;

    false_start(&server, serve_nothing, NULL);
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++)
        assert_int_equal(list_at(hosts[i], server.port, 10000, &call), GCACHE_TIER_MISS);
    assert_int_equal(list_at("unknown", server.port, 10000, &call), GCACHE_TIER_TROUBLE);
    assert_int_equal(call.reason, GCACHE_REASON_REMOTE_UNAVAILABLE);
    assert_non_null(strstr(call.message, "its name can't be resolved: "));
    assert_int_equal(saw_signals, 0);
    false_stop(&server);
}

static void
test_a_resolver_that_hangs(void **state)
{
    (void)state;
    gcache_tier_call call;
    uint64_t before = gci_clock_steady_ns();

    assert_int_equal(list_at("slow", free_port(), 100, &call), GCACHE_TIER_TROUBLE);
    assert_in_range(gci_clock_steady_ns() - before, GCI_SECOND_NS / 10, 3 * GCI_SECOND_NS);
    assert_int_equal(call.reason, GCACHE_REASON_REMOTE_TIMEOUT);
    assert_non_null(strstr(call.message, "its name can't be resolved in time"));
}

static void
fill_places(void)
{
    gcache_tier_call call;

    for (int i = 0; i < GCI_RESOLVING_MAX; i++)
        assert_int_equal(list_at("slow", 1, 20, &call), GCACHE_TIER_TROUBLE);
    assert_int_equal(hanging, GCI_RESOLVING_MAX);
}

static void
test_threads_are_bounded(void **state)
{
    (void)state;
    false_server server;
    gcache_tier_call call;

    false_start(&server, serve_nothing, NULL);
    fill_places();
    uint64_t before = gci_clock_steady_ns();
    assert_int_equal(list_at("slow", server.port, 60000, &call), GCACHE_TIER_TROUBLE);
    assert_true(gci_clock_steady_ns() - before < 3 * GCI_SECOND_NS);
    assert_int_equal(call.reason, GCACHE_REASON_REMOTE_TIMEOUT);
    assert_int_equal(hanging, GCI_RESOLVING_MAX);
    assert_int_equal(list_at("localhost", server.port, 10000, &call), GCACHE_TIER_MISS);
    /* Places are free again when their threads have ended. */
    end(NULL);
    assert_int_equal(list_at("quick", server.port, 10000, &call), GCACHE_TIER_MISS);
    false_stop(&server);
}

/* The child has none of its parent's threads, so it must neither wait for them nor count them. */
static void
test_a_child_resolves_for_itself(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip(); /* it permits no threads in a child of a process that has some */
#endif
    false_server server;
    int status = -1;

    false_start(&server, serve_nothing, NULL);
    fill_places();
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        gcache_tier_call call;
        alarm(10);
        _exit(list_at("quick", server.port, 5000, &call) == GCACHE_TIER_MISS ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    false_stop(&server);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int
main(void)
{
    struct CMUnitTest const tests[] = {
        CASE(test_names_are_resolved),
        CASE(test_a_resolver_that_hangs),
        CASE(test_threads_are_bounded),
        CASE(test_a_child_resolves_for_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
