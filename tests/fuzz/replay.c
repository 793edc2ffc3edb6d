/*
 * Runs a fuzz target without a fuzzer: over every file of the given folders, and over small damages of each, so that the
 * corpora are ordinary tests. The damages are the same in every run.
 *
 *   fuzz_NAME [FILE | FOLDER]...
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(uint8_t const *data, size_t size);

/* Inputs are seeds: a few kilobytes each. */
#define LARGEST_INPUT ((size_t)4 << 20)
#define DAMAGES 64
#define LONGEST_PATH 4096

static unsigned inputs;

static void
die(char const *what)
{
    perror(what);
    exit(2);
}

/* An exact allocation for each run, so that a sanitizer sees a read beyond the end. */
static void
run(uint8_t const *data, size_t size)
{
    uint8_t *copy = malloc(size != 0 ? size : 1);

    if (copy == NULL)
        die("malloc");
    if (size != 0)
        memcpy(copy, data, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
    inputs++;
}

static uint32_t
next_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

static void
run_damaged(uint8_t *data, size_t size)
{
    uint32_t state = (uint32_t)size * 2654435761u + 1;

    run(data, size);
    for (int i = 0; i < DAMAGES && size != 0; i++) {
        size_t at = next_random(&state) % size;
        uint8_t before = data[at];
        data[at] = (uint8_t)(before ^ (1u << (next_random(&state) % 8)));
        run(data, size);
        data[at] = before;
        run(data, at);
    }
}

static void
run_file(char const *path)
{
    static uint8_t data[LARGEST_INPUT];
    FILE *file = fopen(path, "rb");

    if (file == NULL)
        die(path);
    size_t size = fread(data, 1, sizeof data, file);
    if (ferror(file))
        die(path);
    fclose(file);
    run_damaged(data, size);
}

static void
run_folder(char const *path)
{
    char inner[LONGEST_PATH];
    DIR *folder = opendir(path);

    if (folder == NULL)
        die(path);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
        run_file(inner);
    }
    closedir(folder);
}

int
main(int argc, char **argv)
{
    struct stat facts;

    for (int i = 1; i < argc; i++) {
        if (stat(argv[i], &facts) != 0)
            die(argv[i]);
        if (S_ISDIR(facts.st_mode))
            run_folder(argv[i]);
        else
            run_file(argv[i]);
    }
    printf("%u inputs\n", inputs);
    return inputs != 0 ? 0 : 1;
}
