/* Processes by /proc: number, start time, boot, and process namespace. */
#include "store/directory/process.h"

#include "base/buf.h"
#include "base/digest.h"
#include "base/system/file.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static gcache_status
load_system_file(char const *path, char *out_text, size_t room)
{
    gci_buf text;

    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    gcache_status status = gci_file_read_user(path, room - 1, &text, NULL);
    if (status == GCACHE_OK) {
        memcpy(out_text, text.data != NULL ? text.data : "", text.size);
        out_text[text.size] = '\0';
    }
    gci_buf_clear(&text);
    return status;
}

/* The 22nd field of /proc/N/stat; the second one, a name in parentheses, may contain anything. 0: there is no such process. */
static uint64_t
start_of(uint64_t number)
{
    char path[64], text[1024];

    snprintf(path, sizeof path, "/proc/%llu/stat", (unsigned long long)number);
    if (load_system_file(path, text, sizeof text) != GCACHE_OK)
        return 0;
    char *field = strrchr(text, ')');
    for (int i = 2; field != NULL && i < 22; i++)
        field = strchr(field + 1, ' ');
    return field != NULL ? strtoull(field, NULL, 10) : 0;
}

static gci_process
ask(void)
{
    char boot[64];
    struct stat names;
    gci_process we = { .number = (uint64_t)getpid() };

    we.start = start_of(we.number);
    if (load_system_file("/proc/sys/kernel/random/boot_id", boot, sizeof boot) == GCACHE_OK)
        we.boot = gci_hash64(boot, strlen(boot), 0);
    if (stat("/proc/self/ns/pid", &names) == 0)
        we.names = names.st_ino;
    return we;
}

/* The answer is the same for as long as a process lives, and is asked for with every temporary file. A forked child has
   another number. Threads that ask at the same time write the same. */
gci_process
gci_process_ourselves(void)
{
    static struct {
        _Atomic uint64_t number, start, boot, names;
    } known;
    gci_process we;

    if (atomic_load_explicit(&known.number, memory_order_acquire) == (uint64_t)getpid())
        return (gci_process){ atomic_load(&known.number), atomic_load(&known.start), atomic_load(&known.boot),
                              atomic_load(&known.names) };
    we = ask();
    atomic_store(&known.start, we.start);
    atomic_store(&known.boot, we.boot);
    atomic_store(&known.names, we.names);
    atomic_store_explicit(&known.number, we.number, memory_order_release);
    return we;
}

gci_process_state
gci_process_judge(gci_process const *they)
{
    gci_process we = gci_process_ourselves();

    if (we.boot == 0 || we.names == 0 || we.start == 0 || they->boot == 0)
        return GCI_PROCESS_UNKNOWN;
    if (they->boot != we.boot)
        return GCI_PROCESS_OTHER_BOOT;
    if (they->names != we.names)
        return GCI_PROCESS_UNKNOWN;
    if (kill((pid_t)they->number, 0) != 0 && errno == ESRCH)
        return GCI_PROCESS_DEAD;
    uint64_t start = start_of(they->number);
    return start != 0 && start != they->start ? GCI_PROCESS_DEAD : GCI_PROCESS_ALIVE;
}
