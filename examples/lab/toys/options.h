/* The flags of toys: the settings that determine a run, and what the program does with runs. */
#ifndef HEED_TOYS_OPTIONS_H
#define HEED_TOYS_OPTIONS_H

#include <stdio.h>

#include "examples/lab/common/flags.h"

enum { POSITIONS_NONE, POSITIONS_SINUSOIDAL, POSITIONS_LEARNED, POSITIONS_ROTARY };
enum { NORM_NONE, NORM_LAYER };
enum { SCHEDULE_CONSTANT, SCHEDULE_COSINE };
enum { LOSS_F32, LOSS_F64 };

/* Everything that determines a run, except its seed. Each is a column of --csv, and a name that
 * --sweep takes. A task replaces these defaults by its own (toys_task.defaults). */
/* clang-format off */
#define TOYS_SETTINGS(X)                                                                           \
    X(WHOLE,  length,       "N",         1, 4096,       (8),                                       \
      "items of the task's sequence; the context follows from it")                                 \
    X(WHOLE,  longer,       "N",         0, 4096,       (0),                                       \
      "also score sequences of this length; 0: none")                                              \
    X(WHOLE,  symbols,      "N",         1, 4096,       (16),                                      \
      "size of the task's alphabet; modadd: p; dyck: kinds; regression: dimensions")               \
    X(REAL,   share,        "X",         1e-9, 1,       (0.3),                                     \
      "modadd: share of the pairs that are trained on")                                            \
    X(WHOLE,  layers,       "N",         1, 64,         (1),                                       \
      "blocks")                                                                                    \
    X(WHOLE,  heads,        "N",         1, 64,         (1),                                       \
      "attention heads per block; they divide --width")                                            \
    X(WHOLE,  width,        "N",         1, 4096,       (32),                                      \
      "width of the residual stream")                                                              \
    X(WHOLE,  ff,           "N",         0, 16384,      (0),                                       \
      "width of the feed-forward networks; 0: attention only")                                     \
    X(CHOICE, positions,    "none|sinusoidal|learned|rotary", 0, 3, (2),                           \
      "none, sinusoidal, learned or rotary")                                                       \
    X(CHOICE, norm,         "none|layer", 0, 1,         (1),                                       \
      "before attention, feed-forward and output: none or layer")                                  \
    X(WHOLE,  batch,        "N",         1, 65536,      (64),                                      \
      "sequences per batch; modadd trains on all pairs at once")                                   \
    X(WHOLE,  steps,        "N",         0, 1e9,        (1000),                                    \
      "training steps")                                                                            \
    X(REAL,   until,        "X",         0, 1,          (0),                                       \
      "stop at the first evaluation with this score; 0: never")                                    \
    X(REAL,   lr,           "X",         1e-9, 10,      (1e-3),                                    \
      "peak learning rate")                                                                        \
    X(WHOLE,  warmup,       "N",         0, 1e9,        (0),                                       \
      "steps over which the learning rate rises")                                                  \
    X(CHOICE, schedule,     "constant|cosine", 0, 1,    (0),                                       \
      "learning rate after the warmup: constant, or falling to 0")                                 \
    X(REAL,   weight_decay, "X",         0, 1e6,        (0),                                       \
      "AdamW's weight decay")                                                                      \
    X(CHOICE, loss,         "f32|f64",   0, 1,          (0),                                       \
      "precision of the loss: f32 or f64")                                                         \
    X(WHOLE,  eval_every,   "N",         1, 1e9,        (50),                                      \
      "steps between evaluations")                                                                 \
    X(WHOLE,  test_rows,    "N",         1, 65536,      (256),                                     \
      "sequences of the test batch")                                                               \
    X(REAL,   learned,      "X",         1e-9, 1,       (0.99),                                    \
      "test score from which a run counts as learned")

#define TOYS_FLAGS(X)                                                                              \
    X(BARE,   task,         "TASK",      0, 0,          (0),                                       \
      "what to learn; toys list describes the tasks")                                              \
    X(WHOLE,  seed,         "N",         0, INT32_MAX,  (0),                                       \
      "the first seed")                                                                            \
    X(WHOLE,  seeds,        "N",         1, 1e6,        (1),                                       \
      "number of runs, with the seeds --seed, --seed + 1, ...")                                    \
    X(WHOLE,  jobs,         "N",         1, 256,        (FLAG_NONE),                               \
      "runs at the same time, one thread each; default: one per core")                             \
    X(STRING, sweep,        "NAME=A,B",  0, 0,          (0),                                       \
      "run each of these values of a setting; given more than once: their grid")                   \
    X(STRING, csv,          "FILE",      0, 0,          (0),                                       \
      "write a line for each run that has ended to this file")                                     \
    X(SWITCH, resume,       "",          0, 0,          (0),                                       \
      "keep the runs that are in --csv, and do the rest")                                          \
    X(SWITCH, force,        "",          0, 0,          (0),                                       \
      "overwrite existing files")                                                                  \
    X(STRING, report,       "FILE",      0, 0,          (0),                                       \
      "write a page with curves, settings and results to this file")       \
    X(STRING, log,          "FILE",      0, 0,          (0),                                       \
      "one run: write a CSV row for each step to this file")                                       \
    X(SWITCH, losses,       "",          0, 0,          (0),                                       \
      "one run: print the loss of each step with 9 digits, to compare with PyTorch")               \
    X(STRING, input,        "TEXT",      0, 0,          (0),                                       \
      "one run: tokens to look at, separated by blanks; default: a test sequence")             \
    X(SWITCH, attention,    "",          0, 0,          (0),                                       \
      "one run: print the attention of each head on the input")                                    \
    X(SWITCH, scores,       "",          0, 0,          (0),                                       \
      "one run: how much each head is a previous-token head, and an induction head")       \
    X(SWITCH, ablate,       "",          0, 0,          (0),                                       \
      "one run: replace each head by zeros and by its mean, and say what that costs")              \
    X(SWITCH, attribution,  "",          0, 0,          (0),                                       \
      "one run: what each part adds to the right logit, above the mean logit")                     \
    X(SWITCH, patch,        "",          0, 0,          (0),                                       \
      "one run: put each head's result in a clean sequence into a corrupted one")                  \
    X(STRING, corrupted,    "TEXT",      0, 0,          (0),                                       \
      "one run: --patch: tokens that corrupt --input; default: other test sequences")                   \
    X(SWITCH, by_position,  "",          0, 0,          (0),                                       \
      "one run: the loss and score at each position")                                              \
    X(SWITCH, spectrum,     "",          0, 0,          (0),                                       \
      "one run: the frequencies of modadd's token embedding")                                   \
    TOYS_SETTINGS(X)
/* clang-format on */

typedef struct toys_settings {
    FLAG_FIELDS(TOYS_SETTINGS);
} toys_settings;

enum { TOYS_SWEEPS = 4 };

typedef struct toys_options {
    FLAG_FIELDS(TOYS_FLAGS);
    const char *sweeps[TOYS_SWEEPS]; /* "NAME=A,B" */
    int sweep_count;
    toys_settings settings;
    bool help;
} toys_options;

extern const flag_table toys_setting_flags; /* in a toys_settings */
extern const flag_table toys_option_flags;  /* in a toys_options */

/* toys_options_read: reads the command line; stops at --help. HEED_ERR_VALUE: it is invalid. */
struct toys_task;
toys_options toys_options_read(int argc, char **argv);

/* toys_defaults: a task's settings. toys_options_settle: fills in what was not given.
 * toys_settings_check: HEED_ERR_VALUE: settings that do not go together, or not with the task. */
toys_settings toys_defaults(const struct toys_task *task);
void toys_options_settle(toys_options *o, const struct toys_task *task);
heed_status toys_settings_check(const toys_settings *s, const struct toys_task *task);

/* toys_help: prints the help, with the defaults of a task, or NULL. */
void toys_help(FILE *stream, const struct toys_task *task);

#endif
