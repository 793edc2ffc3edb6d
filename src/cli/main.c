/*
 * guardcache, the command: finds the command that the first one or two words name, and runs it.
 */
#include "base/text/similar.h"
#include "cli/shared/cli.h"
#include "cli/shared/scratch.h"

#include <guardcache/version.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

cli_command const *const cli_commands[] = {
#define COMMAND(file, symbol) &symbol,
#include "cli/shared/commands.def"
#undef COMMAND
    NULL,
};

cli_command const *
cli_command_find(char const *name)
{
    for (cli_command const *const *command = cli_commands; *command != NULL; command++) {
        if (strcmp((*command)->name, name) == 0)
            return *command;
    }
    return NULL;
}

cli_command const *
cli_command_of(int count, char **words, int *out_words)
{
    char name[CLI_NAME_MAX];

    *out_words = 2;
    if (count >= 2) {
        snprintf(name, sizeof name, "%s %s", words[0], words[1]);
        cli_command const *command = cli_command_find(name);
        if (command != NULL)
            return command;
    }
    *out_words = 1;
    return count >= 1 ? cli_command_find(words[0]) : NULL;
}

/* `guard` and `guard nix`: a word that begins commands of two. */
static bool
complain_about_group(int count, char **words, gcache_error *error)
{
    size_t size = strlen(words[0]);
    gci_similar similar = gci_similar_to(gci_view_text(count > 1 ? words[1] : ""));
    char const *first = NULL;

    for (cli_command const *const *command = cli_commands; *command != NULL; command++) {
        char const *name = (*command)->name;
        if (strncmp(name, words[0], size) != 0 || name[size] != ' ')
            continue;
        first = first != NULL ? first : name;
        gci_similar_offer(&similar, name + size + 1);
    }
    if (first == NULL)
        return false;
    if (count == 1)
        cli_wrong(error, "%s: which one? e.g. '%s'; see guardcache help", words[0], first);
    else
        cli_wrong(error, "%s: there is no '%s'%s", words[0], words[1],
                  similar.word != NULL ? gci_similar_question(&similar, "").text : "; see guardcache help");
    return true;
}

static cli_exit
unknown_command(int count, char **words)
{
    gci_similar similar = gci_similar_to(gci_view_text(words[0]));
    char firsts[sizeof cli_commands / sizeof *cli_commands][CLI_NAME_MAX];
    gcache_error error = { .message = "" };

    if (complain_about_group(count, words, &error))
        return cli_fail(&error);
    for (size_t i = 0; cli_commands[i] != NULL; i++) {
        char const *name = cli_commands[i]->name;
        snprintf(firsts[i], CLI_NAME_MAX, "%.*s", (int)strcspn(name, " "), name);
        gci_similar_offer(&similar, firsts[i]);
    }
    cli_wrong(&error, "there is no command '%s'%s", words[0],
              similar.word != NULL ? gci_similar_question(&similar, "").text : "; see guardcache help");
    return cli_fail(&error);
}

static cli_exit
help(int count, char **words)
{
    int used;

    if (count == 0) {
        cli_help();
        return CLI_OK;
    }
    if (strcmp(words[0], "--manual") == 0) {
        cli_manual();
        return CLI_OK;
    }
    if (strcmp(words[0], "--words") == 0 && count == 2)
        return cli_help_words(words[1]) ? CLI_OK : CLI_NO;
    cli_command const *command = cli_command_of(count, words, &used);
    if (command == NULL && count == 1 && cli_help_group(words[0]))
        return CLI_OK;
    if (command == NULL)
        return unknown_command(count, words);
    cli_help_command(command);
    return CLI_OK;
}

static cli_exit
run_command(cli_command const *command, int argc, char **argv)
{
    cli_call call;
    bool wants_help;

    bool done = cli_call_parse(command, argc, argv, &call, &wants_help);
    if (wants_help)
        cli_help_command(command);
    else
        done = done && cli_load_kinds(&call.error) && command->run(&call);
    gcache_close(call.cache);
    cli_exit status = done ? call.answer : cli_fail(&call.error);
    cli_call_clear(&call, command);
    cli_die_of_signal();
    return status;
}

static cli_exit
dispatch(int argc, char **argv)
{
    gcache_error error = { .message = "" };
    int used;

    if (!cli_move_leading(&argc, argv, &error))
        return cli_fail(&error);
    if (strcmp(argv[1], "help") == 0 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return help(argc - 2, argv + 2);
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        printf("guardcache %s\n", gcache_version());
        return CLI_OK;
    }
    cli_command const *command = cli_command_of(argc - 1, argv + 1, &used);
    bool wants_help = argc == 3 && (strcmp(argv[2], "--help") == 0 || strcmp(argv[2], "-h") == 0);
    if (command == NULL && wants_help && cli_help_group(argv[1]))
        return CLI_OK;
    if (command == NULL)
        return unknown_command(argc - 1, argv + 1);
    /* getopt_long skips one word, the program: the last word of the command's name takes that place. */
    return run_command(command, argc - used, argv + used);
}

int
main(int argc, char **argv)
{
    cli_failure_begin(argc, argv);
    /* A reader that leaves is found by the failing write, so that temporary directories are still removed. */
    signal(SIGPIPE, SIG_IGN);
    /* A limit of file sizes is a write that fails, and a miss. */
    signal(SIGXFSZ, SIG_IGN);
    return (int)cli_finish(dispatch(argc, argv));
}
