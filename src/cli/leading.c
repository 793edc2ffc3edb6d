/*
 * Options before the command: `guardcache --cache DIR ls`.
 */
#include "base/text/similar.h"
#include "cli/shared/cli.h"

#include <stdlib.h>
#include <string.h>

/* An option among the words before the command. */
typedef struct leading {
    cli_option const *common; /* NULL: --json */
    int words;                /* 2 with its value in a word of its own */
} leading;

/* Whether word is --name or --name=value. */
static bool
is_option(char const *word, char const *name)
{
    size_t size = strlen(name);

    return strncmp(word, "--", 2) == 0 && strncmp(word + 2, name, size) == 0 && (word[2 + size] == '\0' || word[2 + size] == '=');
}

static bool
complain_about(char const *word, gcache_error *error)
{
    static char const *const others[] = { "json", "help", "version" };
    gci_view name = gci_view_text(word + strspn(word, "-"));
    gci_similar similar = gci_similar_to(name);

    for (cli_option const *option = cli_common_options; option->name != NULL; option++)
        gci_similar_offer(&similar, option->name);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        gci_similar_offer(&similar, others[i]);
    if (similar.word != NULL)
        return cli_wrong(error, "no option %s%s", word, gci_similar_question(&similar, "--").text);
    return cli_wrong(error, "no option %s before a command; see guardcache help", word);
}

/* Reads the option that words begin with. */
static bool
read_leading(int count, char **words, leading *out, gcache_error *error)
{
    cli_option const *option = cli_common_options;

    *out = (leading){ .words = 1 };
    if (strcmp(words[0], "--json") == 0)
        return true;
    while (option->name != NULL && !is_option(words[0], option->name))
        option++;
    if (option->name == NULL)
        return complain_about(words[0], error);
    out->common = option;
    out->words = strchr(words[0], '=') != NULL ? 1 : 2;
    return out->words <= count || cli_wrong(error, "%s needs a value", words[0]);
}

/* help and version are themselves what stands for a command. */
static bool
is_command(char const *word)
{
    static char const *const others[] = { "--help", "-h", "--version", "-V" };

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(word, others[i]) == 0)
            return true;
    return word[0] != '-';
}

/* Where the command's name begins; 0: an option isn't one, or no command follows. */
static int
find_name(int argc, char **argv, gcache_error *error)
{
    leading option;
    int at = 1;

    while (at < argc && !is_command(argv[at])) {
        if (!read_leading(argc - at, argv + at, &option, error))
            return 0;
        at += option.words;
    }
    if (at == argc)
        cli_wrong(error, "no command given; see guardcache help");
    return at < argc ? at : 0;
}

/* Copies the options that the command takes, which stand before the word number `name`. Returns how many words they are. */
static int
keep_leading(cli_command const *command, char **argv, int name, char **out_kept)
{
    bool on_cache = command != NULL && cli_option_find(command->options, "cache") != NULL;
    gcache_error ignored;
    leading option;
    int kept = 0;

    for (int at = 1; at < name && read_leading(name - at, argv + at, &option, &ignored); at += option.words) {
        if (command == NULL || (option.common != NULL && !on_cache))
            continue;
        memcpy(out_kept + kept, argv + at, (size_t)option.words * sizeof *argv);
        kept += option.words;
    }
    return kept;
}

bool
cli_move_leading(int *argc, char **argv, gcache_error *error)
{
    int name = find_name(*argc, argv, error), used = 0;

    if (name <= 1)
        return name == 1;
    char **kept = calloc((size_t)name, sizeof *kept);
    if (kept == NULL)
        return cli_no_memory(error);
    cli_command const *command = cli_command_of(*argc - name, argv + name, &used);
    int count = keep_leading(command, argv, name, kept);
    memmove(argv + 1, argv + name, (size_t)used * sizeof *argv);
    memmove(argv + 1 + used + count, argv + name + used, (size_t)(*argc - name - used) * sizeof *argv);
    memcpy(argv + 1 + used, kept, (size_t)count * sizeof *argv);
    *argc -= name - 1 - count;
    argv[*argc] = NULL;
    free(kept);
    return true;
}
