/*
 * A process plays one fixture, sends what came out through a pipe, and ends. The parent reads the pipes as they fill, and hands a
 * fixture out when all before it are.
 *
 * Invariants:
 *  1. Whatever ends the run, no process of it is left: those that still play get SIGTERM, on which they remove what they made,
 *     and are waited for.
 *  2. A process holds no end of another's pipe, so that each notices when the parent is gone.
 *  3. Both ends are this program: what is sent are its structs.
 */
#include "cli/suite/suite.h"

#include "base/error.h"
#include "cli/shared/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* More would only wait for memory and disk. */
#define JOBS_MAX 256
#define READ_BYTES ((size_t)64 << 10)
/* What one process may send: golden lines and their times. */
#define SENT_MAX_BYTES ((size_t)2 << 30)
/* Of a process's arena, as of a call's. */
#define ARENA_MAX_BYTES ((size_t)512 << 20)

/* What stands before the times and the lines in what is sent. */
typedef struct head {
    bool was_played;
    size_t events, lines_size;
    uint64_t mismatches;
    gcache_error error;
} head;

typedef struct job {
    pid_t pid; /* 0: the place is free */
    int fd;
    size_t index;
    gci_buf sent;
} job;

typedef struct pool {
    cli_suite *suite;
    cli_tried_rules const *rules;
    cli_jobs_user const *user;
    job jobs[JOBS_MAX];
    size_t most, running, next, handed_out;
    bool *done;
    uint64_t bytes; /* of traces played */
} pool;

size_t
cli_processors(void)
{
    cpu_set_t allowed;

    CPU_ZERO(&allowed);
    int count = sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
    return count > 0 ? (size_t)count : 1;
}

/* ---- in the process that plays ---- */

static bool
send_all(int fd, void const *data, size_t size)
{
    char const *from = data;

    while (size != 0) {
        ssize_t written = write(fd, from, size);
        if (written < 0 && errno != EINTR)
            return false;
        from += written > 0 ? written : 0;
        size -= written > 0 ? (size_t)written : 0;
    }
    return true;
}

/* What is sent isn't needed any more when the parent is gone: a write that fails ends the process. */
static _Noreturn void
play_and_send(cli_fixture *one, cli_tried_rules const *rules, int fd)
{
    gci_arena arena;
    head first;

    gci_arena_init(&arena, ARENA_MAX_BYTES);
    cli_fixture_play(one, rules, NULL, &arena);
    cli_played const *played = &one->played;
    memset(&first, 0, sizeof first); /* the room between members too: all of it is sent */
    first.was_played = one->was_played;
    first.events = played->events;
    first.lines_size = played->lines.size;
    first.mismatches = played->mismatches;
    memcpy(&first.error, &one->error, sizeof first.error);
    bool sent = send_all(fd, &first, sizeof first) &&
                send_all(fd, played->elapsed_ns, played->events * sizeof *played->elapsed_ns) &&
                send_all(fd, played->lines.data, played->lines.size);
    cli_die_of_signal();
    _exit(sent ? 0 : 1);
}

static void
start(pool *p, job *place, int ends[2])
{
    place->pid = fork();
    if (place->pid != 0)
        return;
    close(ends[0]);
    for (size_t i = 0; i < p->most; i++)
        if (&p->jobs[i] != place && p->jobs[i].pid > 0)
            close(p->jobs[i].fd);
    play_and_send(&p->suite->items[p->next], p->rules, ends[1]);
}

static bool
start_next(pool *p, gcache_error *error)
{
    job *place = p->jobs;
    int ends[2];

    while (place->pid != 0)
        place++;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return gci_fail_errno(error, errno, "pipe") == GCACHE_OK;
    fflush(stdout);
    *place = (job){ .fd = ends[0], .index = p->next };
    gci_buf_init(&place->sent, SENT_MAX_BYTES);
    start(p, place, ends);
    close(ends[1]);
    if (place->pid < 0) {
        close(ends[0]);
        place->pid = 0;
        return gci_fail_errno(error, errno, "a process for %s", p->suite->items[p->next].folder) == GCACHE_OK;
    }
    p->next++;
    p->running++;
    return true;
}

/* ---- in the parent ---- */

/* What was sent, as the fixture would have it had it been played here. false: it isn't whole. */
static bool
take_sent(cli_fixture *one, gci_buf const *sent)
{
    head first;

    if (sent->failed || sent->size < sizeof first)
        return false;
    memcpy(&first, sent->data, sizeof first);
    size_t times = first.events * sizeof *one->played.elapsed_ns;
    if (sent->size != sizeof first + times + first.lines_size)
        return false;
    one->played = (cli_played){ .events = first.events, .mismatches = first.mismatches };
    one->was_played = first.was_played;
    one->error = first.error;
    gci_buf_init(&one->played.lines, GCI_BUF_NO_LIMIT);
    gci_buf_append(&one->played.lines, sent->data + sizeof first + times, first.lines_size);
    one->played.elapsed_ns = malloc(times + 1);
    if (one->played.elapsed_ns != NULL)
        memcpy(one->played.elapsed_ns, sent->data + sizeof first, times);
    return one->played.elapsed_ns != NULL && !one->played.lines.failed;
}

static void
say_how_it_ended(cli_fixture *one, int status)
{
    one->was_played = false;
    if (WIFSIGNALED(status))
        gci_fail(&one->error, GCACHE_ERROR_IO, "the process that played it was ended by signal %d", WTERMSIG(status));
    else
        gci_fail(&one->error, GCACHE_ERROR_IO, "the process that played it gave no result");
}

static void
end_job(pool *p, job *ended)
{
    cli_fixture *one = &p->suite->items[ended->index];
    int status = 0;

    close(ended->fd);
    while (waitpid(ended->pid, &status, 0) < 0 && errno == EINTR) { }
    if (!take_sent(one, &ended->sent)) {
        cli_played_clear(&one->played);
        one->played = (cli_played){ 0 };
        say_how_it_ended(one, status);
    }
    gci_buf_clear(&ended->sent);
    ended->pid = 0;
    p->done[ended->index] = true;
    p->running--;
    p->bytes += one->trace_bytes;
}

static void
read_some(pool *p, job *from)
{
    char *to = gci_buf_reserve(&from->sent, READ_BYTES);
    ssize_t size = to != NULL ? read(from->fd, to, READ_BYTES) : 0;

    if (size > 0)
        from->sent.size += (size_t)size;
    else if (size == 0 || errno != EINTR)
        end_job(p, from);
}

static void
wait_for_some(pool *p)
{
    struct pollfd waited[JOBS_MAX];
    job *jobs[JOBS_MAX];
    nfds_t count = 0;
    int const picture_ms = 100;

    for (size_t i = 0; i < p->most; i++)
        if (p->jobs[i].pid != 0) {
            waited[count] = (struct pollfd){ .fd = p->jobs[i].fd, .events = POLLIN };
            jobs[count++] = &p->jobs[i];
        }
    if (poll(waited, count, picture_ms) <= 0)
        return;
    for (nfds_t i = 0; i < count; i++)
        if (waited[i].revents != 0)
            read_some(p, jobs[i]);
}

static void
end_all(pool *p)
{
    for (size_t i = 0; i < p->most; i++)
        if (p->jobs[i].pid != 0)
            kill(p->jobs[i].pid, SIGTERM);
    for (size_t i = 0; i < p->most; i++)
        if (p->jobs[i].pid != 0)
            end_job(p, &p->jobs[i]);
}

static bool
run_pool(pool *p, gcache_error *error)
{
    bool started = true;

    while (started && p->handed_out < p->suite->count && !p->user->is_over(p->user->state)) {
        while (started && p->running < p->most && p->next < p->suite->count)
            started = start_next(p, error) || p->running != 0;
        if (p->running != 0)
            wait_for_some(p);
        p->user->step(p->user->state, p->bytes);
        while (p->handed_out < p->suite->count && p->done[p->handed_out] && !p->user->is_over(p->user->state))
            p->user->played(p->user->state, p->handed_out++);
    }
    end_all(p);
    return started;
}

/* ---- one after another ---- */

typedef struct here {
    cli_jobs_user const *user;
    uint64_t before; /* bytes of the fixtures before */
} here;

static void
step_here(void *state, uint64_t bytes)
{
    here const *h = state;

    h->user->step(h->user->state, h->before + bytes);
}

static void
run_here(cli_suite *suite, cli_tried_rules const *rules, cli_jobs_user const *user, gci_arena *arena)
{
    here h = { .user = user };
    cli_played_watch watch = { .step = step_here, .state = &h };

    for (size_t i = 0; i < suite->count && !user->is_over(user->state); i++) {
        cli_fixture_play(&suite->items[i], rules, &watch, arena);
        if (cli_signal_caught() == 0)
            user->played(user->state, i);
        h.before += suite->items[i].trace_bytes;
    }
}

bool
cli_jobs_run(cli_suite *suite, size_t jobs, cli_tried_rules const *rules, cli_jobs_user const *user, gci_arena *arena,
             gcache_error *error)
{
    size_t most = jobs < suite->count ? jobs : suite->count;

    if (most <= 1) {
        run_here(suite, rules, user, arena);
        return true;
    }
    pool *p = calloc(1, sizeof *p);
    bool *done = calloc(suite->count, sizeof *done);
    bool run = p != NULL && done != NULL;
    if (run) {
        *p = (pool){ .suite = suite, .rules = rules, .user = user, .done = done, .most = most < JOBS_MAX ? most : JOBS_MAX };
        cli_catch_signals();
        run = run_pool(p, error);
    } else {
        cli_no_memory(error);
    }
    free(p);
    free(done);
    return run;
}
