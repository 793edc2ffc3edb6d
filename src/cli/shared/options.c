/*
 * Reads a command's options into its struct, by its table.
 */
#include "cli/shared/cli.h"

#include "base/check.h"
#include "base/text/json.h"
#include "base/text/similar.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* No command has more options than this; getopt_long wants an array of its own. */
#define MAX_OPTIONS 24
/* Values of getopt_long's `val` for long options: beyond any character. */
#define FIRST_OPTION 1000
#define HELP_OPTION (FIRST_OPTION + MAX_OPTIONS)
#define COMMON_OPTION (HELP_OPTION + 1)
#define COMMON_OPTIONS 3

/* What a call reads and prints at a time; a trace's event is the largest. */
#define CALL_MAX_BYTES (4 * GCI_JSON_MAX_BYTES)

static int
takes_value(cli_option_kind kind)
{
    if (kind == CLI_LAST)
        return optional_argument;
    return kind == CLI_FLAG ? no_argument : required_argument;
}

/* ---- common options ---- */

static cli_common given;

cli_option const cli_common_options[] = {
    { "cache", CLI_TEXT, offsetof(cli_common, cache), "DIR", "the cache directory" },
    { "set", CLI_LIST, offsetof(cli_common, settings), "NAME[=VALUE]", "a setting for this call alone; see help config" },
    { "namespace", CLI_TEXT, offsetof(cli_common, namespace), "NAME", "the namespace, in place of GUARDCACHE_NAMESPACE" },
    { 0 },
};

cli_common const *
cli_common_given(void)
{
    return &given;
}

cli_option const *
cli_option_find(cli_option const *option, char const *name)
{
    while (option->name != NULL && strcmp(option->name, name) != 0)
        option++;
    return option->name != NULL ? option : NULL;
}

bool
cli_takes_common(cli_command const *command, cli_option const *common)
{
    return cli_option_find(command->options, "cache") != NULL && cli_option_find(command->options, common->name) == NULL;
}

/* ---- parsing ---- */

static struct option
long_option(cli_option const *option, int number)
{
    return (struct option){ .name = option->name, .has_arg = takes_value(option->kind), .val = number };
}

static void
list_options(cli_command const *command, struct option *out_long)
{
    size_t count = 0;

    for (; command->options[count].name != NULL; count++) {
        GCI_ASSERT(count < MAX_OPTIONS);
        out_long[count] = long_option(&command->options[count], FIRST_OPTION + (int)count);
    }
    for (int i = 0; cli_common_options[i].name != NULL; i++) {
        if (cli_takes_common(command, &cli_common_options[i]))
            out_long[count++] = long_option(&cli_common_options[i], COMMON_OPTION + i);
    }
    out_long[count] = (struct option){ .name = "help", .val = HELP_OPTION };
    out_long[count + 1] = (struct option){ 0 };
}

static bool
set_int(cli_option const *option, char const *text, int64_t *out_value, gcache_error *error)
{
    char *end;

    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0')
        return cli_wrong(error, "--%s: '%s' is not an integer of 64 bits", option->name, text);
    *out_value = value;
    return true;
}

/* word may be the NULL behind the last argument. */
static bool
is_number(char const *word)
{
    return word != NULL && word[0] != '\0' && word[strspn(word, "0123456789")] == '\0';
}

static bool
set_count(cli_option const *option, char const *text, int64_t *out_value, gcache_error *error)
{
    return set_int(option, text, out_value, error) &&
           (*out_value > 0 || cli_wrong(error, "--%s: '%s' is not a positive number", option->name, text));
}

/* `--last 5` as well as `--last=5` and `--last`: the next word is the option's if it is a number. */
static bool
set_last(cli_option const *option, char const *value, int64_t *out_value, gcache_error *error)
{
    *out_value = 1;
    return value == NULL || set_count(option, value, out_value, error);
}

static bool
append(cli_list *list, char const *item, gcache_error *error)
{
    char const **items = realloc(list->items, (list->count + 1) * sizeof *items);

    if (items == NULL)
        return cli_no_memory(error);
    items[list->count++] = item;
    list->items = items;
    return true;
}

static bool
set_option(cli_option const *option, char *fields, char const *value, gcache_error *error)
{
    void *field = fields + option->offset;

    switch (option->kind) {
    case CLI_FLAG:
        *(bool *)field = true;
        return true;
    case CLI_TEXT:
        if (*(char const **)field != NULL)
            return cli_wrong(error, "--%s is given twice", option->name);
        *(char const **)field = value;
        return true;
    case CLI_INT:
        return set_int(option, value, field, error);
    case CLI_COUNT:
        return set_count(option, value, field, error);
    case CLI_LAST:
        return set_last(option, value, field, error);
    case CLI_LIST:
        return append(field, value, error);
    case CLI_COMMON:
        return set_option(cli_option_find(cli_common_options, option->name), (char *)&given, value, error);
    }
    return false;
}

/*
 * How many arguments a command takes, by what help says of them: a word in brackets may be left out, of words with a bar between
 * them one is meant, and dots stand for any number. --batch stands for all of them.
 */
static void
count_arguments(cli_command const *command, size_t *out_least, size_t *out_most)
{
    char const *word = command->arguments != NULL ? command->arguments : "";
    bool any = strstr(word, "...") != NULL, batch = cli_option_find(command->options, "batch") != NULL;

    *out_least = *out_most = 0;
    for (; *word != '\0'; word += *word == ' ') {
        *out_least += *word != '[' && !batch;
        *out_most += 1;
        word += strcspn(word, " ");
        while (strncmp(word, " | ", 3) == 0)
            word += 3 + strcspn(word + 3, " ");
    }
    *out_most = any ? SIZE_MAX : *out_most;
}

static bool
check_arguments(cli_command const *command, size_t count, gcache_error *error)
{
    size_t least, most;

    count_arguments(command, &least, &most);
    if (count < least)
        return cli_wrong(error, "%s: %s is missing; see guardcache help %s", command->name, command->arguments, command->name);
    return count <= most || cli_wrong(error, "%s: too many arguments; see guardcache help %s", command->name, command->name);
}

/* ---- what is wrong with an option ---- */

/* The name in a word "--name" or "--name=value". */
static gci_view
written_name(char const *word)
{
    word += strspn(word, "-");
    return gci_view_of(word, strcspn(word, "="));
}

static bool
complain_unknown(struct option const *known, char const *word, char const *command, gcache_error *error)
{
    gci_view name = written_name(word);
    gci_similar similar = gci_similar_to(name);

    for (; known->name != NULL; known++)
        gci_similar_offer(&similar, known->name);
    if (similar.word != NULL)
        return cli_wrong(error, "no option --%.*s%s", (int)name.size, name.data, gci_similar_question(&similar, "--").text);
    return cli_wrong(error, "no option --%.*s; see guardcache help %s", (int)name.size, name.data, command);
}

/* getopt stays at a word of single letters until it has seen them all. */
static bool
complain_about_option(cli_command const *command, struct option const *known, char **argv, int found, gcache_error *error)
{
    char const *word = argv[optind - 1], *next = argv[optind];

    if (found == ':')
        return cli_wrong(error, "%s: %s needs a value", command->name, word);
    if (optopt >= FIRST_OPTION)
        return cli_wrong(error, "%s: --%.*s takes no value", command->name, (int)written_name(word).size, written_name(word).data);
    if (optopt == 0)
        return complain_unknown(known, word, command->name, error);
    if (next != NULL && next[0] == '-' && next[1] == optopt && next[2] != '\0')
        word = next;
    return cli_wrong(error, "%s: no option %s (what begins with '-' and is no option goes behind --)", command->name, word);
}

/* Reads all options; stops at --help. */
static bool
read_options(cli_command const *command, int argc, char **argv, cli_call *call, bool *out_help)
{
    struct option known[MAX_OPTIONS + COMMON_OPTIONS + 2];

    list_options(command, known);
    opterr = 0;
    for (int found; (found = getopt_long(argc, argv, ":h", known, NULL)) != -1;) {
        *out_help = found == 'h' || found == HELP_OPTION;
        if (*out_help)
            return true;
        if (found == ':' || found == '?')
            return complain_about_option(command, known, argv, found, &call->error);
        bool common = found >= COMMON_OPTION;
        cli_option const *option =
            common ? &cli_common_options[found - COMMON_OPTION] : &command->options[found - FIRST_OPTION];
        if (option->kind == CLI_LAST && optarg == NULL && is_number(argv[optind]))
            optarg = argv[optind++];
        if (!set_option(option, common ? (void *)&given : call->options, optarg, &call->error))
            return false;
    }
    return true;
}

bool
cli_call_parse(cli_command const *command, int argc, char **argv, cli_call *out_call, bool *out_help)
{
    *out_help = false;
    *out_call = (cli_call){ .options = calloc(1, command->options_size + 1) };
    gci_arena_init(&out_call->arena, CALL_MAX_BYTES);
    if (out_call->options == NULL)
        return cli_no_memory(&out_call->error);
    if (!read_options(command, argc, argv, out_call, out_help))
        return false;
    out_call->arguments = argv + optind;
    out_call->count = (size_t)(argc - optind);
    return *out_help || check_arguments(command, out_call->count, &out_call->error);
}

void
cli_call_clear(cli_call *call, cli_command const *command)
{
    free(given.settings.items);
    given = (cli_common){ 0 };
    gci_arena_clear(&call->arena);
    if (call->options == NULL)
        return;
    for (cli_option const *option = command->options; option->name != NULL; option++) {
        if (option->kind == CLI_LIST)
            free(((cli_list *)(void *)((char *)call->options + option->offset))->items);
    }
    free(call->options);
    *call = (cli_call){ 0 };
}
