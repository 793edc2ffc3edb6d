/*
 * The manual's list of commands, in the man macros, from the same tables as help: docs/man/guardcache.1.in is the rest of
 * the page, and the build puts them together.
 */
#include "cli/shared/cli.h"

#include <stdio.h>
#include <string.h>

/* A line's text: hyphens are literal, backslashes aren't escapes, and no dot or quote begins a request. */
static void
print_text(char const *text, size_t size)
{
    if (size != 0 && (text[0] == '.' || text[0] == '\''))
        fputs("\\&", stdout);
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '-')
            fputs("\\-", stdout);
        else if (text[i] == '\\')
            fputs("\\e", stdout);
        else
            putchar(text[i]);
    }
}

static void
print_word(char const *font, char const *word)
{
    fputs(font, stdout);
    print_text(word, strlen(word));
    fputs("\\fR", stdout);
}

/* Lines are filled; an empty one begins a paragraph, an indented one stands as it is. */
static void
print_paragraphs(char const *text)
{
    while (*text != '\0') {
        size_t size = strcspn(text, "\n");
        if (size == 0)
            fputs(".sp", stdout);
        else if (text[0] == ' ')
            fputs(".br\n", stdout);
        print_text(text, size);
        putchar('\n');
        text += size + (text[size] == '\n');
    }
}

static void
print_option(cli_option const *option)
{
    fputs(".TP\n", stdout);
    fputs("\\fB\\-\\-", stdout);
    print_word("", option->name);
    if (option->argument != NULL) {
        putchar(' ');
        print_word("\\fI", option->argument);
    }
    putchar('\n');
    print_text(option->help, strlen(option->help));
    putchar('\n');
}

static void
print_command(cli_command const *command)
{
    fputs(".TP\n", stdout);
    print_word("\\fB", command->name);
    if (command->options[0].name != NULL)
        fputs(" [\\fIoption\\fR...]", stdout);
    if (command->arguments != NULL) {
        putchar(' ');
        print_word("\\fI", command->arguments);
    }
    printf("\n%c%s.\n", command->summary[0] - 'a' + 'A', command->summary + 1);
    print_paragraphs(command->about != NULL ? command->about : "");
    if (command->options[0].name == NULL)
        return;
    puts(".RS");
    for (cli_option const *option = command->options; option->name != NULL; option++)
        print_option(option);
    puts(".RE");
}

void
cli_manual(void)
{
    for (cli_command const *const *command = cli_commands; *command != NULL; command++)
        print_command(*command);
}
