/* The flags and help of each gpt command, and how a command begins and ends. */
#ifndef HEED_GPT_OPTIONS_H
#define HEED_GPT_OPTIONS_H

#include <stdio.h>

#include "examples/lab/common/flags.h"

/* Everything that determines a training run. A checkpoint stores each of these flags under its
 * name, so none can be forgotten. */
/* clang-format off */
#define GPT_SETTINGS(X)                                                                            \
    X(CHOICE, level,        "char|bpe",  0, 1,            (0),                                     \
      "a token is a character (default) or a byte pair")                                           \
    X(WHOLE,  vocab,        "N",         0, 1 << 20,      (FLAG_NONE),                             \
      "maximum vocabulary size for bpe; default: 1024")                                            \
    X(WHOLE,  n_layer,      "N",         1, 1000,         (4),                                     \
      "transformer blocks")                                                                        \
    X(WHOLE,  n_head,       "N",         1, 1000,         (4),                                     \
      "attention heads per block")                                                                 \
    X(WHOLE,  n_embd,       "N",         1, 65536,        (128),                                   \
      "width of the embeddings, divided among the heads")                                          \
    X(WHOLE,  context,      "N",         1, 65536,        (64),                                    \
      "context length in tokens")                                                                  \
    X(REAL,   dropout,      "X",         0, 1,            (0),                                     \
      "dropout probability")                                                                       \
    X(WHOLE,  batch,        "N",         1, 65536,        (12),                                    \
      "sequences per batch")                                                                       \
    X(WHOLE,  steps,        "N",         0, 1e12,         (2000),                                  \
      "training steps")                                                                            \
    X(REAL,   lr,           "X",         1e-9, 10,        (1e-3),                                  \
      "peak learning rate")                                                                        \
    X(REAL,   min_lr,       "X",         0, 10,           (FLAG_NONE),                             \
      "final learning rate; default: --lr / 10")                                         \
    X(WHOLE,  warmup,       "N",         0, 1e12,         (FLAG_NONE),                             \
      "warmup steps; default: 100, or --steps / 10 if --steps is at most 100")                     \
    X(REAL,   weight_decay, "X",         0, 1e6,          (0.1),                                   \
      "AdamW's weight decay, applied to matrices only")                                            \
    X(REAL,   clip,         "X",         0, 1e12,         (1),                                     \
      "clip the norm of all gradients to X; 0: no clipping")                                       \
    X(WHOLE,  seed,         "N",         0, INT64_MAX,    (1337),                                  \
      "random seed of weights, batches and dropout")                                               \
    X(WHOLE,  eval_every,   "N",         1, 1e12,         (250),                                   \
      "steps between evaluations of the validation loss")                                          \
    X(WHOLE,  eval_windows, "N",         1, 1e12,         (512),                                   \
      "maximum number of windows per evaluation")

#define GPT_TRAIN(X)                                                                               \
    X(STRING, text,         "FILE",      0, 0,            (0),                                     \
      "train on this text")                                                                        \
    X(STRING, resume,       "FILE",      0, 0,            (0),                                     \
      "continue the run saved in this file, with its settings")                                    \
    X(STRING, save,         "FILE",      0, 0,            (0),                                     \
      "save the run to this file, as safetensors; default: the file of --resume")                  \
    X(WHOLE,  save_every,   "N",         1, 1e12,         (FLAG_NONE),                             \
      "steps between saves; default: --eval-every")                                                \
    X(STRING, best,         "FILE",      0, 0,            (0),                                     \
      "save the run to this file at each new lowest validation loss")                              \
    X(SWITCH, force,        "",          0, 0,            (0),                                     \
      "overwrite existing files")                                                                  \
    X(STRING, quiz,         "FILE",      0, 0,            (0),                                     \
      "ask these questions at each validation; training is unaffected")                            \
    X(WHOLE,  sample_every, "N",         1, 1e12,         (FLAG_NONE),                             \
      "print a sample to stdout after every N steps; training is unaffected")                      \
    X(STRING, prompt,       "TEXT",      0, 0,            (0),                                     \
      "text that the samples continue; default: the start of a line")                              \
    X(STRING, log,          "FILE",      0, 0,            (0),                                     \
      "write a CSV row for each step to this file")                                                \
    X(STRING, report,       "FILE",      0, 0,            (0),                                     \
      "write curves, samples and attention to this HTML file")                             \
    X(WHOLE,  log_every,    "N",         1, 1e12,         (FLAG_NONE),                             \
      "steps between progress lines if stderr is not a terminal; default: ten lines")              \
    GPT_SETTINGS(X)

#define GPT_SAMPLE(X)                                                                              \
    X(BARE,   load,         "FILE",      0, 0,            (0),                                     \
      "the model: a file from gpt train")                              \
    X(STRING, prompt,       "TEXT",      0, 0,            (0),                                     \
      "text to continue; default: the start of a line")                                            \
    X(WHOLE,  length,       "N",         0, 1e7,          (500),                                   \
      "tokens to generate")                                                                        \
    X(REAL,   temperature,  "X",         0, 1e6,          (0.8),                                   \
      "randomness: 0 takes the likeliest token, 1 samples as predicted")                           \
    X(WHOLE,  top_k,        "N",         0, 1e12,         (0),                                     \
      "sample only from the N likeliest tokens; 0: from all")                                      \
    X(REAL,   top_p,        "X",         0, 1,            (1),                                     \
      "sample only from the likeliest tokens whose probabilities sum to X")                        \
    X(WHOLE,  seed,         "N",         0, INT64_MAX,    (1337),                                  \
      "random seed of the sampling")

#define GPT_EVAL(X)                                                                                \
    X(BARE,   load,         "FILE",      0, 0,            (0),                                     \
      "the model: a file from gpt train")                              \
    X(STRING, text,         "FILE",      0, 0,            (0),                                     \
      "the text to evaluate on")                                                                   \
    X(STRING, quiz,         "FILE",      0, 0,            (0),                                     \
      "questions to ask, as written by stories --quiz")                                            \
    X(CHOICE, part,         "all|validation", 0, 1,       (0),                                     \
      "all of the text (default), or the last tenth, which gpt train holds out")                   \
    X(WHOLE,  batch,        "N",         1, 65536,        (12),                                    \
      "windows per forward pass")

typedef struct gpt_train_options {
    FLAG_FIELDS(GPT_TRAIN);
} gpt_train_options;
typedef struct gpt_sample_options {
    FLAG_FIELDS(GPT_SAMPLE);
} gpt_sample_options;
typedef struct gpt_eval_options {
    FLAG_FIELDS(GPT_EVAL);
} gpt_eval_options;
enum { GPT_PART_ALL, GPT_PART_VALIDATION };

/* Flag tables; gpt_train_flags includes gpt_settings. */
extern const flag_table gpt_settings, gpt_train_flags, gpt_sample_flags, gpt_eval_flags;

/* gpt_options_settle: fills in train's defaults that depend on other flags.
 * HEED_ERR_VALUE: contradictory flags. */
heed_status gpt_options_settle(gpt_train_options *o);

/* gpt_help: prints the help of a command, or of the program if NULL; false: no such command.
 * gpt_usage: prints its first lines. */
bool gpt_help(const char *command, FILE *stream);
void gpt_usage(FILE *stream);

/* A command takes its own arguments, with its name as argv[0], and returns the exit status.
 *
 * gpt_begin: reads the flags; false: the command ends with *status, after --help or an error.
 * gpt_end: the exit status of a command. Errors before it is `ready` come from its arguments. */
bool gpt_begin(const flag_table *flags, void *options, int argc, char **argv, int *status);
int gpt_end(bool ready);

#endif
