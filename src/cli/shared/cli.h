/*
 * What the parts of the guardcache command share: the command table's types, exit statuses, and what is said on the
 * two output streams.
 *
 * A command is one file, cmd_<name>.c, that defines one cli_command: its options are a table over the fields of a struct,
 * so that parsing, `guardcache help` and the man page's list come from one place. It runs in steps that return false when they
 * can't be done, after saying why in an error; what a call has opened is closed for it.
 */
#ifndef GCI_CLI_SHARED_CLI_H
#define GCI_CLI_SHARED_CLI_H

#include "base/arena.h"
#include "base/buf.h"

#include <guardcache/cache.h>
#include <guardcache/settings.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The closed set of exit statuses. */
typedef enum cli_exit {
    CLI_OK = 0,   /* done; a hit; true */
    CLI_NO = 1,   /* a miss, a refusal, a mismatch, a problem found; false */
    CLI_ERROR = 2 /* the question could not be answered; standard error says why */
} cli_exit;

typedef enum cli_option_kind {
    CLI_FLAG, /* bool */
    CLI_TEXT, /* char const *, NULL if not given */
    CLI_INT,  /* int64_t */
    CLI_COUNT, /* int64_t, positive; 0 if the option isn't given */
    CLI_LAST, /* int64_t: a number that may be left out, then 1; 0 if the option isn't given */
    CLI_LIST, /* cli_list: may be repeated */
    CLI_COMMON /* the common option of this name, in the command's own words */
} cli_option_kind;

typedef struct cli_list {
    char const **items;
    size_t count;
} cli_list;

/* One option; a table of them ends with a NULL name. */
typedef struct cli_option {
    char const *name;
    cli_option_kind kind;
    size_t offset;        /* of the field in the command's options struct */
    char const *argument; /* what help calls the value; NULL for a flag */
    char const *help;
} cli_option;

/* A command line after parsing, and what its run works with. */
typedef struct cli_call {
    void *options; /* the command's options struct */
    char **arguments;
    size_t count;
    gcache *cache;      /* from cli_open on */
    gci_arena arena;
    gcache_error error; /* why the run returned false */
    cli_exit answer;    /* the exit status of a run that returned true; CLI_OK unless it says otherwise */
} cli_call;

typedef struct cli_command {
    char const *name;      /* "key", "guard eval" */
    char const *arguments; /* as many as it says: "FILE...", "A | B", "[NAME [VALUE]]"; NULL for none */
    char const *summary;   /* half a sentence for the list of commands */
    char const *about;     /* paragraphs for `guardcache help COMMAND`, or NULL */
    cli_option const *options;
    size_t options_size;   /* of the options struct */
    bool (*run)(cli_call *call);
} cli_command;

#define COMMAND(file, symbol) extern cli_command const symbol;
#include "cli/shared/commands.def"
#undef COMMAND

/* Every command, in the order of help; ends with NULL. */
extern cli_command const *const cli_commands[];

/* The longest command name, "guard eval", and room for growth. */
#define CLI_NAME_MAX 32

/* The command called `name`, or NULL. */
cli_command const *cli_command_find(char const *name);
/* The command that words begin with, or NULL; *out_words says how many of them its name takes. */
cli_command const *cli_command_of(int count, char **words, int *out_words);

/* ---- leading.c ---- */

/*
 * Moves options that stand before the command (--cache DIR, --set, --namespace, --json) behind its name, where the command reads
 * them; what is about the cache is dropped for a command without one. false: no command follows, or it isn't such an option.
 */
bool cli_move_leading(int *argc, char **argv, gcache_error *error);

/* ---- options.c ---- */

/*
 * Reads a command's options from argv (argv[0] is the program). false: out_call->error says what is wrong. *out_call owns
 * memory: cli_call_clear, whatever the outcome. *out_help is set when --help was among them.
 */
bool cli_call_parse(cli_command const *command, int argc, char **argv, cli_call *out_call, bool *out_help);
void cli_call_clear(cli_call *call, cli_command const *command);

/*
 * What commands with an option --cache take besides their own options: how the cache is opened for this call alone. An option
 * that the command has itself is the command's.
 */
extern cli_option const cli_common_options[];

/* The row of a table, or NULL. */
cli_option const *cli_option_find(cli_option const *table, char const *name);

/* Whether the command takes that common option. */
bool cli_takes_common(cli_command const *command, cli_option const *common);

/* What the common options of this process say. */
typedef struct cli_common {
    char const *cache; /* the directory */
    cli_list settings; /* NAME or NAME=VALUE each */
    char const *namespace;
} cli_common;

cli_common const *cli_common_given(void);

/* The row of a command that works on a cache. */
#define CLI_CACHE_OPTION { "cache", CLI_COMMON, 0, "DIR", "the cache directory" }

/* ---- open.c ---- */

typedef enum cli_open_how {
    CLI_USE,     /* as a program does */
    CLI_READ,    /* the same, and nothing is made or changed */
    CLI_LOOK,    /* to look at what is stored, also while the cache is switched off (disabled); nothing is changed */
    CLI_CHANGE,  /* to look after what is stored, also then */
    CLI_EXISTING /* the same, but a cache that isn't there is ERROR_NOT_FOUND: for what only makes sense on one */
} cli_open_how;

/*
 * Opens the call's cache: --cache, else GUARDCACHE_DIR, else guardcache in the XDG cache directory. What the library has to
 * tell goes to standard error. Settings come from --set, the environment and the cache's config.json.
 */
bool cli_open(cli_call *call, cli_open_how how);

/* The cache directory, zero-terminated, in the call's arena; its parent is made if it is to be written to. */
bool cli_cache_directory(cli_call *call, bool read_only, char const **out_path);

/* Loads the user's own kinds (graph.h) where the environment says they are. One that can't be used is a warning. */
bool cli_load_kinds(gcache_error *error);

/* The namespace of --namespace, else the one in GUARDCACHE_NAMESPACE; NULL: none is given. */
char const *cli_namespace(void);

/* The settings for a directory and a namespace, with those of --set; NULL: cli_namespace(). */
bool cli_load_settings(char const *directory, char const *namespace, gcache_settings **out_settings, gcache_error *error);

/* The setting trust alone, for those who change the file that the other settings stand in. */
bool cli_trust(char const *directory, gcache_trust *out_trust, gcache_error *error);

/* The library's log callback: a line on standard error. */
void cli_log(void *state, char const *line);

/* The folder that what is asked is recorded in; NULL: it isn't. */
char const *cli_recording(void);

/* Reads a rule set of the user's. path NULL: *out_rules is NULL too, and every description has the rules of its kind. */
bool cli_read_rules(char const *path, gcache_rules **out_rules, gcache_error *error);

/* Reads a description file; "-" is standard input. rules, which must outlive the graph, stand in for those of its kind; NULL:
   they don't. */
bool cli_read_graph(char const *path, gcache_rules const *rules, gcache_graph **out_graph, gcache_error *error);

#define CLI_RULES_OPTION(type, member)                                                                \
    { "rules", CLI_TEXT, offsetof(type, member), "FILE", "a rule set in place of those of the kind" }

/* ---- help.c ---- */

void cli_help(void);
void cli_help_command(cli_command const *command);
/* Lists the commands whose names begin with that word ("rules"). false: there are none. */
bool cli_help_group(char const *word);

/* For completions: the words of a kind (settings, reasons, kinds), one a line. false: there is no such kind. */
bool cli_help_words(char const *kind);

/* ---- manual.c ---- */

/* The manual page's list of commands, for the build. */
void cli_manual(void);

/* ---- failure.c ---- */

/*
 * Before anything can fail: the command line. With --json among its words every error is one object on standard error:
 * {"error": {"code": "ERROR_SYNTAX", "message": ..}}, with file, line, column and path as far as they are known.
 */
void cli_failure_begin(int argc, char **argv);

/* The next error is about this guard, the number-th of a command line (from 1): its column is shown with a caret. */
void cli_failure_in(char const *guard, size_t number);

/* Says error's message and returns CLI_ERROR. */
cli_exit cli_fail(gcache_error const *error);
/* After GCACHE_REFUSED: says why, of a description with its file, and returns CLI_NO. */
cli_exit cli_refuse(gcache_error const *error, char const *file);
/* The same of the call's error: the answer is no. Returns true. */
bool cli_refused(cli_call *call);

/* Say what is wrong, with status ERROR_ARGUMENT, or that there is no memory; and return false. */
bool cli_wrong(gcache_error *error, char const *format, ...) __attribute__((format(printf, 2, 3)));
bool cli_no_memory(gcache_error *error);

/* ---- excerpt.c ---- */

/* Two lines: a text, or what stands around that column of it (in bytes, from 1), and a caret below it. */
void cli_excerpt_write(gci_buf *out, char const *text, int column);

/*
 * Compiles guards that a command line gives, each by itself. false: one isn't a guard; the error says what is wrong with it, and
 * which of several it is, and cli_fail shows where. what: what they are called, "--guard".
 */
bool cli_guards_check(char const *what, char const *const *texts, size_t count, gcache_error *error);

/* ---- output.c ---- */

/* `guardcache: message` on standard error, after what standard output has to say. %s is as in cli_print. */
void cli_complain(char const *format, ...) __attribute__((format(printf, 1, 2)));

/* true once standard output can't be written to (a closed pipe, a full disk): long commands stop then. */
bool cli_output_lost(void);

/* Flushes standard output. Its failure turns status into CLI_ERROR, said aloud unless a reader just left. */
cli_exit cli_finish(cli_exit status);

/* printf to standard output, where %s is a text from elsewhere: what a terminal would act on is escaped (base/visible.h). */
void cli_print(char const *format, ...) __attribute__((format(printf, 1, 2)));

/* The same for a text of several lines that the library has composed. */
void cli_print_lines(gci_view text);

/* If all went well, prints what the library has written, by the call that gave status, and ends its last line. Frees it in any
   case. */
bool cli_print_text(gcache_status status, char **text);

/* Writes bytes to standard output, whatever they are: payloads, JSON, canonical forms. */
void cli_write(gci_view bytes);

/* How wide lines for people are to be: COLUMNS, or the terminal's width; 0: neither is known. */
size_t cli_terminal_columns(void);
/* Standard output is a terminal, and NO_COLOR isn't set. */
bool cli_terminal_has_color(void);

/* ---- words.c: quantities for people, by value so that they can stand among the arguments of cli_print ---- */

typedef struct cli_words {
    char text[GCACHE_KEY_HEX_SIZE];
} cli_words;

cli_words cli_hex(gcache_key const *key);
cli_words cli_size(uint64_t size);       /* "1.2 MiB" */
cli_words cli_duration(uint64_t ns);     /* "4.1 s", "812 ms", "-" for an unknown one */
cli_words cli_time(uint64_t ns);         /* "2026-05-01 14:02:11" in the local time zone */
cli_words cli_count(uint64_t count, char const *one, char const *many); /* "3 entries": the noun in its number */

#endif
