/*
 * Differences accepted one by one: each is shown, and the answer read from the terminal.
 */
#include "cli/suite/suite.h"
#include "cli/shared/cli.h"
#include "cli/shared/scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* An answer is a letter; of a longer line the first counts, and the rest is read away. */
#define ANSWER_BYTES 256

typedef enum answer {
    YES = 'y',
    NO = 'n',
    ALL = 'a', /* yes, and to the rest of the fixture */
    QUIT = 'q'
} answer;

bool
cli_can_ask(gcache_error *error)
{
    return (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)) ||
           cli_wrong(error, "--ask needs a terminal to ask on; "
                            "--accept takes all differences, --accept --event N those of one event");
}

/* The end of the input, and a signal, are "quit". */
static answer
ask(char const *question, char const *answers)
{
    char line[ANSWER_BYTES];

    for (;;) {
        cli_print("%s ", question);
        fflush(stdout);
        if (fgets(line, sizeof line, stdin) == NULL || cli_signal_caught() != 0) {
            putchar('\n');
            return QUIT;
        }
        char first = line[strspn(line, " \t")];
        char letter = first >= 'A' && first <= 'Z' ? (char)(first - 'A' + 'a') : first;
        if (letter != '\n' && letter != '\0' && strchr(answers, letter) != NULL)
            return (answer)letter;
        cli_print("y: accept it; n: leave it; a: accept this and the rest of the fixture; q: no more questions\n");
    }
}

static bool
asked_before(cli_changes const *changes, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (cli_change_is_shown(&changes->items[i]) && cli_changes_alike(&changes->items[i], &changes->items[at]))
            return true;
    return false;
}

static void
show(char const *folder, cli_changes const *changes, size_t at)
{
    gci_buf text;

    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    cli_changes_write_one(&text, changes, at);
    cli_print("%s\n", folder);
    cli_print_lines(gci_buf_view(&text));
    gci_buf_clear(&text);
}

/* Those that show the same get the same answer. */
static void
take_alike(cli_changes const *changes, size_t at, bool *take)
{
    for (size_t i = at; i < changes->count; i++)
        take[i] |= cli_change_is_shown(&changes->items[i]) && cli_changes_alike(&changes->items[i], &changes->items[at]);
}

void
cli_ask_changes(cli_accepting *accepting, char const *folder, cli_changes const *changes, bool *take)
{
    bool all = false;

    for (size_t i = 0; i < changes->count && !accepting->quit; i++) {
        cli_change const *change = &changes->items[i];
        if (change->expects || !cli_change_is_shown(change) || asked_before(changes, i))
            continue;
        answer given = YES;
        if (!all) {
            show(folder, changes, i);
            given = ask("accept? [y/n/a/q]", "ynaq");
        }
        all |= given == ALL;
        accepting->quit = given == QUIT;
        if (given == YES || given == ALL)
            take_alike(changes, i, take);
    }
    cli_changes_take_consequences(changes, take);
}

bool
cli_ask_new(cli_accepting *accepting, char const *folder)
{
    cli_print("%s\n    it has no " CLI_GOLDEN_NAME " yet\n", folder);
    answer given = ask("write it? [y/n/q]", "ynq");
    accepting->quit = given == QUIT;
    return given == YES;
}
