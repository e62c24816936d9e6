/* The command line: one table of flags, from which a struct, its reader and its help are made.
 *
 * A program, or each subcommand of one, lists its flags: kind, field of the struct, what stands for
 * the value, the range, the defaults, as many as the program has sets of them, and the help.
 *
 *     #define SAMPLE(X)                                                              \
 *         X(STRING, load,   "FILE", 0, 0,    (0),   "the model")                     \
 *         X(WHOLE,  length, "N",    0, 1000, (500), "tokens that it writes")         \
 *         X(SWITCH, greedy, "",     0, 0,    (0),   "the likeliest token, always")
 *
 *     typedef struct sample_options {
 *         FLAG_FIELDS(SAMPLE);       fields of the names, and of each a bool in `given`
 *     } sample_options;
 *
 *     #define ROW(kind, field, ...) FLAG_ROW(sample_options, kind, field, __VA_ARGS__)
 *     static const flag_row rows[] = {SAMPLE(ROW)};
 *     static const flag_table table = {rows, sizeof rows / sizeof *rows};
 *
 * A list may be made of others: #define TRAIN(X) SIZES(X) X(WHOLE, steps, ...).
 */
#ifndef HEED_COMMON_FLAGS_H
#define HEED_COMMON_FLAGS_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "heed.h"

/* WHOLE and REAL are numbers from low to high, ABOVE is a number above low; CHOICE is the place of
 * the value among those of its list, "char|word"; a STRING that is a FILE must not be empty. A SWITCH
 * has no value, and a BARE string no flag: those fill their fields in the order of the table. */
typedef enum flag_kind {
    FLAG_STRING,
    FLAG_CHOICE,
    FLAG_WHOLE,
    FLAG_REAL,
    FLAG_ABOVE,
    FLAG_SWITCH,
    FLAG_BARE
} flag_kind;

#define FLAG_TYPE_STRING const char *
#define FLAG_TYPE_CHOICE int64_t
#define FLAG_TYPE_WHOLE  int64_t
#define FLAG_TYPE_REAL   double
#define FLAG_TYPE_ABOVE  double
#define FLAG_TYPE_SWITCH bool
#define FLAG_TYPE_BARE   const char *

enum { FLAG_MOST_SETS = 4 };
#define FLAG_NONE ((double)NAN)

typedef struct flag_row {
    flag_kind kind;
    const char *name;  /* with _ for - */
    const char *value; /* what stands for it in the help */
    double low, high;
    double defaults[FLAG_MOST_SETS]; /* FLAG_NONE: the field stays zero */
    const char *help;
    size_t offset, given; /* in the struct of the program */
} flag_row;

/* clang-format off */
#define FLAG_FIELD(kind, field, ...) FLAG_TYPE_##kind field;
#define FLAG_GIVEN(kind, field, ...) bool field;
#define FLAG_FIELDS(LIST) LIST(FLAG_FIELD) struct { LIST(FLAG_GIVEN) } given
#define FLAG_SETS(...) {__VA_ARGS__}
#define FLAG_ROW(options, kind, field, value, low, high, defaults, help)                           \
    {FLAG_##kind, #field, value, (double)(low), (double)(high), FLAG_SETS defaults, help,          \
     offsetof(options, field), offsetof(options, given.field)},
/* clang-format on */

typedef struct flag_table {
    const flag_row *flags;
    int count;
    const char *const *sets; /* the names of the sets of defaults, ended by NULL; NULL: just one */
    const char *hint; /* what is said to an argument too many, "a text is --text FILE"; or NULL */
} flag_table;

/* flags_read: fills a struct of zeros with what argv[1] and the others say. True: --help or -h is
 * among them, and nothing after it was read.
 * HEED_ERR_VALUE: an unknown flag, a missing value, a number outside its range. */
bool flags_read(const flag_table *table, void *options, int argc, char **argv);

/* flags_complete: fills in the defaults, of one of the sets, of what was not given. Strings stay. */
void flags_complete(const flag_table *table, void *options, int set);

/* flags_text: what is in the field of a flag, as text from which flags_set fills it again to the bit; of
 * a string that is NULL "". flags_set: gives a flag of that name (with _ for -) a value, as the command
 * line would, a switch "true" or "false". For settings that are kept in files.
 * HEED_ERR_VALUE: no such flag, or a value that it does not take. */
typedef struct flag_value {
    char text[40]; /* of strings nothing */
} flag_value;
flag_value flags_text(const flag_row *flag, const void *options);
heed_status flags_set(const flag_table *table, void *options, const char *name, const char *text);

/* flags_given: is the flag on the command line, or has flags_set set it? */
bool flags_given(const flag_row *flag, const void *options);

/* flags_name: a flag as it is typed, "--n-layer". */
typedef struct flag_name {
    char text[32];
} flag_name;
flag_name flags_name(const flag_row *flag);

/* flags_help: a line or two for each flag; what stands above and below is the program's. */
void flags_help(const flag_table *table, FILE *stream);

/* flags_blame: the library names its functions in messages, a user knows only flags: a pending error
 * becomes one of `flag`, with that status. A lack of memory is no flag's fault, and stays what it is.
 * Returns what is pending. */
heed_status flags_blame(const char *flag, heed_status status);

#endif
