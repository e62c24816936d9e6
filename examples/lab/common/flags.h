/* The command line: one table of flags defines the struct of options, its parser and its help.
 *
 * A program, or each of its subcommands, lists its flags: kind, field of the struct, placeholder of
 * the value, range, default and help.
 *
 *     #define SAMPLE(X)                                                              \
 *         X(BARE,   load,   "FILE", 0, 0,    0,   "the model")                     \
 *         X(WHOLE,  length, "N",    0, 1000, 500, "tokens to generate")            \
 *         X(SWITCH, greedy, "",     0, 0,    0,   "always the likeliest token")
 *
 *     typedef struct sample_options {
 *         FLAG_FIELDS(SAMPLE);       a field for each flag, and a bool of its name in `given`
 *     } sample_options;
 *
 *     #define ROW(kind, field, ...) FLAG_ROW(sample_options, kind, field, __VA_ARGS__)
 *     static const flag_row rows[] = {SAMPLE(ROW)};
 *     static const flag_table table = {rows, sizeof rows / sizeof *rows};
 *
 * A list may include others: #define TRAIN(X) SIZES(X) X(WHOLE, steps, ...).
 */
#ifndef HEED_COMMON_FLAGS_H
#define HEED_COMMON_FLAGS_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "heed.h"

/* WHOLE and REAL are numbers from low to high. CHOICE is the index of the value in its list, such
 * as "char|word". A SWITCH has no value. The flag of a BARE string may be omitted: arguments
 * without a flag are the values of such flags, in the order of the table. */
typedef enum flag_kind {
    FLAG_STRING,
    FLAG_CHOICE,
    FLAG_WHOLE,
    FLAG_REAL,
    FLAG_SWITCH,
    FLAG_BARE
} flag_kind;

#define FLAG_TYPE_STRING const char *
#define FLAG_TYPE_CHOICE int64_t
#define FLAG_TYPE_WHOLE  int64_t
#define FLAG_TYPE_REAL   double
#define FLAG_TYPE_SWITCH bool
#define FLAG_TYPE_BARE   const char *

#define FLAG_NONE        ((double)NAN)

typedef struct flag_row {
    flag_kind kind;
    const char *name;  /* with _ instead of - */
    const char *value; /* its placeholder in the help */
    double low, high;
    double standard; /* the default; FLAG_NONE: the field stays zero */
    const char *help;
    size_t offset, given; /* in the struct of options */
} flag_row;

/* clang-format off */
#define FLAG_FIELD(kind, field, ...) FLAG_TYPE_##kind field;
#define FLAG_GIVEN(kind, field, ...) bool field;
#define FLAG_FIELDS(LIST) LIST(FLAG_FIELD) struct { LIST(FLAG_GIVEN) } given
#define FLAG_ROW(options, kind, field, value, low, high, standard, help)                           \
    {FLAG_##kind, #field, value, (double)(low), (double)(high), (double)(standard), help,          \
     offsetof(options, field), offsetof(options, given.field)},
/* clang-format on */

typedef struct flag_table {
    const flag_row *flags;
    int count;
} flag_table;

/* flags_read: fills a zeroed struct from argv[1] on. True: --help or -h was found, and reading
 * stopped there.
 * HEED_ERR_VALUE: an unknown flag, a missing value, a number outside its range. */
bool flags_read(const flag_table *table, void *options, int argc, char **argv);

/* flags_complete: fills in the defaults of flags not given. Strings have none. */
void flags_complete(const flag_table *table, void *options);

/* For settings stored in files. flags_text: the value of a flag as text; "" for strings. flags_set:
 * sets the flag of that name (with _ instead of -) from such text, exactly, unless it is a switch.
 * flags_rounded: like flags_text, but with 6 digits, for messages.
 * HEED_ERR_VALUE: no such flag, or an invalid value. */
typedef struct flag_value {
    char text[40];
} flag_value;
flag_value flags_text(const flag_row *flag, const void *options);
flag_value flags_rounded(const flag_row *flag, const void *options);
heed_status flags_set(const flag_table *table, void *options, const char *name, const char *text);

/* flags_given: true if the flag was set by the command line or by flags_set. */
bool flags_given(const flag_row *flag, const void *options);

/* flags_name: a flag as typed, "--n-layer". */
typedef struct flag_name {
    char text[32];
} flag_name;
flag_name flags_name(const flag_row *flag);

/* flags_help: prints two lines for each flag, and nothing else. */
void flags_help(const flag_table *table, FILE *stream);

/* flags_blame: the library's messages name functions, but a user knows only flags. Replaces a
 * pending error with one that names `flag` and has this status; out of memory is left unchanged,
 * since no flag is at fault. Returns the pending error. */
heed_status flags_blame(const char *flag, heed_status status);

#endif
