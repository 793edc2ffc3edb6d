#include "place.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* More would make the folder large, fewer would make it all the time. */
#define INPUTS_A_FOLDER 256

static char folder[64];
static unsigned inputs;

static void
must(bool condition, char const *what)
{
    if (!condition) {
        perror(what);
        abort();
    }
}

/* Removes what is in an open directory; closes it. */
static void
empty(int fd)
{
    DIR *open = fdopendir(fd);

    must(open != NULL, "fdopendir");
    for (struct dirent *entry; (entry = readdir(open)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        int inner = openat(dirfd(open), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (inner >= 0)
            empty(inner);
        unlinkat(dirfd(open), entry->d_name, inner >= 0 ? AT_REMOVEDIR : 0);
    }
    closedir(open);
}

static void
remove_folder(void)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd >= 0)
        empty(fd);
    rmdir(folder);
}

bool
place_next(void)
{
    if (folder[0] == '\0') {
        snprintf(folder, sizeof folder, "%s/guardcache-fuzz-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
        must(mkdtemp(folder) != NULL, folder);
        atexit(remove_folder);
    } else if (inputs % INPUTS_A_FOLDER == 0) {
        remove_folder();
        must(mkdir(folder, 0700) == 0, folder);
    }
    return inputs++ % INPUTS_A_FOLDER == 0;
}

char const *
place_path(char const *name)
{
    static char paths[4][256];
    static unsigned next;
    char *path = paths[next++ % 4];

    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

void
place_write(char const *name, gci_view bytes)
{
    int fd = open(place_path(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    must(fd >= 0, name);
    for (size_t at = 0; at < bytes.size;) {
        ssize_t written = write(fd, bytes.data + at, bytes.size - at);
        must(written > 0, name);
        at += (size_t)written;
    }
    close(fd);
}
