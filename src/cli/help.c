/*
 * What --help prints, from the tables of commands and options.
 */
#include "cli/shared/cli.h"

#include <guardcache/graph.h>
#include <guardcache/version.h>
#include <stdio.h>
#include <string.h>

static char const introduction[] =
    "guardcache keeps what graph compilers produce, picks a stored variant whose guards hold for the\n"
    "present shapes, and explains every miss.\n"
    "\n"
    "usage: guardcache [--cache DIR] COMMAND [OPTION...] [ARGUMENT...]\n"
    "\n";

static char const conclusion[] =
    "\n"
    "  help COMMAND    what a command does, and its options\n"
    "  --version, -V   the version\n"
    "\n"
    "--cache, --set, --namespace and --json may stand before the command too. With --json an error is an object.\n"
    "The cache directory is --cache DIR, else GUARDCACHE_DIR, else guardcache in the XDG cache directory.\n"
    "Exit status: 0 done or hit, 1 miss, refused or mismatch, 2 error.\n";

void
cli_help(void)
{
    fputs(introduction, stdout);
    for (cli_command const *const *command = cli_commands; *command != NULL; command++)
        printf("  %-16s  %s\n", (*command)->name, (*command)->summary);
    fputs(conclusion, stdout);
}

bool
cli_help_group(char const *word)
{
    size_t size = strlen(word);
    bool any = false;

    for (cli_command const *const *command = cli_commands; *command != NULL; command++) {
        if (strncmp((*command)->name, word, size) != 0 || (*command)->name[size] != ' ')
            continue;
        printf("  %-16s  %s\n", (*command)->name, (*command)->summary);
        any = true;
    }
    return any;
}

bool
cli_help_words(char const *kind)
{
    static char const *const settings[] = {
#define X(id, name, type, meaning) name,
        GCACHE_SETTING_MAP(X)
#undef X
    };
    char const *name;

    if (strcmp(kind, "settings") == 0) {
        for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
            puts(settings[i]);
    } else if (strcmp(kind, "reasons") == 0) {
        for (int reason = 1; reason < GCACHE_REASON_COUNT; reason++)
            puts(gcache_reason_name((gcache_reason)reason));
    } else if (strcmp(kind, "kinds") == 0) {
        for (size_t i = 0; (name = gcache_rules_kind(i)) != NULL; i++)
            puts(name);
    } else {
        return false;
    }
    return true;
}

static void
print_option(cli_option const *option)
{
    int width = printf("  --%s%s%s", option->name, option->argument != NULL ? " " : "",
                       option->argument != NULL ? option->argument : "");

    printf("%*s%s\n", width < 26 ? 26 - width : 2, "", option->help);
}

void
cli_help_command(cli_command const *command)
{
    printf("guardcache %s: %s\n\nusage: guardcache %s%s%s%s\n", command->name, command->summary, command->name,
           command->options[0].name != NULL ? " [OPTION...]" : "", command->arguments != NULL ? " " : "",
           command->arguments != NULL ? command->arguments : "");
    if (command->about != NULL)
        printf("\n%s", command->about);
    if (command->options[0].name != NULL)
        putchar('\n');
    for (cli_option const *option = command->options; option->name != NULL; option++)
        print_option(option);
    for (cli_option const *option = cli_common_options; option->name != NULL; option++) {
        if (cli_takes_common(command, option))
            print_option(option);
    }
}
