/*
 * A temporary directory that is removed again.
 */
#include "cli/shared/scratch.h"

#include "base/error.h"

#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

/* nftw keeps this many directories open; a cache is four levels deep. */
#define OPEN_DIRECTORIES 8

static volatile sig_atomic_t caught;

static void
note_signal(int number)
{
    caught = number;
}

void
cli_catch_signals(void)
{
    static int const numbers[] = { SIGINT, SIGTERM, SIGHUP };
    struct sigaction action = { .sa_handler = note_signal };

    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        sigaction(numbers[i], &action, NULL);
}

int
cli_signal_caught(void)
{
    return (int)caught;
}

void
cli_die_of_signal(void)
{
    if (caught == 0)
        return;
    signal((int)caught, SIG_DFL);
    raise((int)caught);
}

bool
cli_scratch_make(char out_path[CLI_SCRATCH_PATH], gcache_error *error)
{
    char const *below = getenv("TMPDIR");

    if (below == NULL || below[0] == '\0')
        below = "/tmp";
    cli_catch_signals();
    bool fits = snprintf(out_path, CLI_SCRATCH_PATH, "%s/guardcache-XXXXXX", below) < CLI_SCRATCH_PATH;
    if (fits && mkdtemp(out_path) != NULL)
        return true;
    gcache_status status = fits ? gci_fail_errno(error, errno, "%s", out_path)
                                : gci_fail(error, GCACHE_ERROR_ARGUMENT, "TMPDIR is too long");
    out_path[0] = '\0';
    return status == GCACHE_OK;
}

static int
remove_one(char const *path, struct stat const *facts, int type, struct FTW *place)
{
    (void)facts, (void)type, (void)place;
    remove(path);
    return 0;
}

void
cli_scratch_remove(char const *path)
{
    if (path[0] != '\0')
        nftw(path, remove_one, OPEN_DIRECTORIES, FTW_DEPTH | FTW_PHYS);
}
