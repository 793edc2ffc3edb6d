/*
 * The command as a whole: whatever its words and the files they name, it ends with 0, 1 or 2.
 *
 * The input is words, one a line; behind an empty line the file `a`, which is also standard input, and behind a line "----" the
 * file `b`. The command runs in a folder of its own, in which inputs before have left a cache. Words that lead out of it aren't
 * tried.
 */
#include "place.h"

#include <fcntl.h>
#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(uint8_t const *data, size_t size);

/* Of the sanitizers, where there are any: standard error is nowhere while the command runs. */
void __sanitizer_set_report_fd(void *fd) __attribute__((weak));

/* src/cli/main.c is compiled with this name for its main. */
int guardcache_command(int argc, char **argv);

#define MOST_WORDS 24
#define LONGEST_WORDS 2048

/* Goes on until somebody ends it. */
static char const endless[] = "--f";

static char const between[] = "\n----\n";

/* ---- the place ---- */

/* Standard error as it was at first. */
static int
reports(void)
{
    static int fd = -1;

    if (fd < 0)
        fd = dup(STDERR_FILENO);
    return fd;
}

static void
begin_folder(void)
{
    static char const *const variables[] = { "HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "TMPDIR" };

    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        setenv(variables[i], place_path(""), 1);
    setenv("GUARDCACHE_DIR", place_path("cache"), 1);
    setenv("GUARDCACHE_DURABILITY", "none", 1);
    if (__sanitizer_set_report_fd != NULL)
        __sanitizer_set_report_fd((void *)(intptr_t)reports());
}

/* Where the process was, and the streams it had. */
typedef struct surroundings {
    int streams[3], folder;
} surroundings;

/* Standard input is the file; what is printed goes nowhere. */
static surroundings
enter(void)
{
    surroundings s = { .folder = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) };

    fflush(NULL);
    if (s.folder < 0 || chdir(place_path("")) != 0)
        abort();
    int input = open("a", O_RDONLY | O_CLOEXEC), none = open("/dev/null", O_WRONLY | O_CLOEXEC);
    for (int fd = 0; fd < 3; fd++) {
        s.streams[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 10);
        if (s.streams[fd] < 0 || dup2(fd == 0 ? input : none, fd) < 0)
            abort();
    }
    close(input);
    close(none);
    clearerr(stdin);
    return s;
}

static void
leave(surroundings *s)
{
    fflush(NULL);
    for (int fd = 0; fd < 3; fd++) {
        dup2(s->streams[fd], fd);
        close(s->streams[fd]);
    }
    clearerr(stdout);
    if (fchdir(s->folder) != 0)
        abort();
    close(s->folder);
}

/* ---- the input ---- */

static bool
is_allowed(char const *word)
{
    return strchr(word, '/') == NULL && strstr(word, "..") == NULL && strncmp(word, endless, sizeof endless - 1) != 0;
}

/* Takes the words apart; 0: they aren't tried. */
static int
split_words(char *words, char **argv)
{
    int argc = 0;

    static char program[] = "guardcache";

    argv[argc++] = program;
    for (char *word = words, *next; word != NULL; word = next) {
        next = strchr(word, '\n');
        if (next != NULL)
            *next++ = '\0';
        if (argc == MOST_WORDS || !is_allowed(word))
            return 0;
        argv[argc++] = word;
    }
    argv[argc] = NULL;
    return argc;
}

static void
write_files(gci_view rest)
{
    char const *found = rest.size != 0 ? memmem(rest.data, rest.size, between, sizeof between - 1) : NULL;
    size_t first = found != NULL ? (size_t)(found - rest.data) : rest.size;
    size_t second = found != NULL ? first + sizeof between - 1 : rest.size;

    place_write("a", gci_view_of(rest.data, first));
    place_write("b", gci_view_of(rest.data + second, rest.size - second));
}

int
LLVMFuzzerTestOneInput(uint8_t const *data, size_t size)
{
    static char words[LONGEST_WORDS];
    char *argv[MOST_WORDS + 1];
    uint8_t const *empty = size != 0 ? memmem(data, size, "\n\n", 2) : NULL;
    size_t length = empty != NULL ? (size_t)(empty - data) : size, rest = empty != NULL ? length + 2 : size;

    if (length >= sizeof words || memchr(data, '\0', length) != NULL)
        return 0;
    memcpy(words, data, length);
    words[length] = '\0';
    int argc = split_words(words, argv);
    if (argc == 0)
        return 0;
    if (place_next())
        begin_folder();
    write_files(gci_view_of((char const *)data + rest, size - rest));
    surroundings before = enter();
    optind = 0; /* getopt begins anew */
    int status = guardcache_command(argc, argv);
    leave(&before);
    if (status < 0 || status > 2)
        abort();
    return 0;
}
