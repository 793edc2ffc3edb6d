/*
 * Hashing the files of a part: each thread takes the next file until none is left.
 *
 * Locking: files are distinct memory and `next` is atomic. After a failure no further file is begun; of several failures
 * the one of the first file is reported.
 */
#include "base/check.h"
#include "base/system/file.h"
#include "graph/fingerprint/fingerprint_run.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

/* One read: large enough that the system call costs nothing, small enough for the cache. */
#define CHUNK_BYTES ((size_t)256 << 10)

/* More threads than this only wait for the disk. */
#define MAX_THREADS 64

typedef struct work {
    gcache_fingerprint const *print;
    gci_print_part *part;
    _Atomic(size_t) next; /* number of the file nobody has taken yet */
} work;

typedef struct worker {
    work *work;
    gci_digest *digest;
    char *chunk;
    gcache_status status;
    gcache_error error;
    size_t failed;
    pthread_t thread;
    bool started;
} worker;

static bool
same_facts(gci_file_facts const *a, gci_file_facts const *b)
{
    return a->size == b->size && a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns && a->device == b->device &&
           a->inode == b->inode;
}

/* A link to a directory: where it points, told apart from a file of that content by its first byte. */
static gcache_status
hash_link(worker *w, gci_print_file *file)
{
    bool hashed = gci_digest_begin(w->digest) && gci_digest_update(w->digest, "\0link", 5) &&
                  gci_digest_update(w->digest, file->link.data, file->link.size) &&
                  gci_digest_end(w->digest, file->hash);
    return hashed ? GCACHE_OK : gci_fail(&w->error, GCACHE_ERROR_INTERNAL, "SHA-256 failed");
}

static gcache_status
hash_content(worker *w, int fd, gci_print_file *file)
{
    ssize_t got = 1;
    bool hashed = gci_digest_begin(w->digest);

    while (got > 0 && hashed) {
        do
            got = read(fd, w->chunk, CHUNK_BYTES);
        while (got < 0 && errno == EINTR);
        if (got < 0)
            return gci_fail_errno(&w->error, errno, "can't read %s", file->full.data);
        hashed = gci_digest_update(w->digest, w->chunk, (size_t)got);
    }
    hashed = hashed && gci_digest_end(w->digest, file->hash);
    return hashed ? GCACHE_OK : gci_fail(&w->error, GCACHE_ERROR_INTERNAL, "SHA-256 failed");
}

static gcache_status
hash_file(worker *w, gci_print_file *file)
{
    gci_remembered const *known = gci_print_remembered(w->work->print, file->full);

    if (file->link.data != NULL)
        return hash_link(w, file);
    if (known != NULL && known->trusted && same_facts(&known->facts, &file->facts)) {
        memcpy(file->hash, known->hash, sizeof file->hash);
        return GCACHE_OK;
    }
    int fd = open(file->full.data, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return gci_fail_errno(&w->error, errno, "can't open %s", file->full.data);
    gcache_status status = hash_content(w, fd, file);
    close(fd);
    file->read = true;
    return status;
}

static void *
run_worker(void *state)
{
    worker *w = state;
    work *shared = w->work;

    for (size_t i; (i = atomic_fetch_add(&shared->next, 1)) < shared->part->file_count;) {
        w->status = hash_file(w, &shared->part->files[i]);
        if (w->status != GCACHE_OK) {
            w->failed = i;
            atomic_store(&shared->next, shared->part->file_count); /* nobody needs to go on */
            break;
        }
    }
    return NULL;
}

static bool
init_worker(worker *w, work *shared)
{
    *w = (worker){ .work = shared, .digest = gci_digest_new(), .chunk = malloc(CHUNK_BYTES), .failed = SIZE_MAX };
    return w->digest != NULL && w->chunk != NULL;
}

static void
clear_worker(worker *w)
{
    gci_digest_free(w->digest);
    free(w->chunk);
}

gcache_status
gci_print_read(gcache_fingerprint *print, gci_print_part *part, unsigned threads, gcache_error *error)
{
    unsigned count = 1 + (threads < MAX_THREADS ? threads : MAX_THREADS);
    work shared = { .print = print, .part = part };
    worker *workers;
    bool ready = true;

    if (count > part->file_count)
        count = part->file_count == 0 ? 1 : (unsigned)part->file_count;
    workers = calloc(count, sizeof *workers);
    if (workers == NULL)
        return gci_fail_memory(error);
    for (unsigned i = 0; i < count; i++)
        ready = init_worker(&workers[i], &shared) && ready;
    for (unsigned i = 1; i < count && ready; i++) /* a thread that can't be started is only missed */
        workers[i].started = pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]) == 0;
    if (ready)
        run_worker(&workers[0]);
    worker const *first = &workers[0];
    for (unsigned i = 1; i < count; i++) {
        if (workers[i].started)
            pthread_join(workers[i].thread, NULL);
        if (workers[i].failed < first->failed)
            first = &workers[i];
    }
    gcache_status status = ready ? first->status : gci_fail_memory(error);
    if (ready && status != GCACHE_OK && error != NULL)
        *error = first->error;
    for (unsigned i = 0; i < count; i++)
        clear_worker(&workers[i]);
    free(workers);
    return status;
}
