/* The setup of a run: reads and checks the command line, and everything that it names, before
 * training begins. */
#ifndef HEED_NEXT_TOKEN_SETUP_H
#define HEED_NEXT_TOKEN_SETUP_H

#include <stdio.h>

#include "examples/lab/common/flags.h"
#include "examples/lab/next_token/toy.h"

/* ---- the command line ---- */

/* The flags. Each has three defaults: for the toy, for characters and for words. */
/* clang-format off */
#define OPTIONS(X)                                                                                 \
    X(STRING, text,        "FILE",      0, 0,         (0, 0, 0),                                   \
      "train on this UTF-8 text; without it, on the toy's sentences")                              \
    X(CHOICE, level,       "char|word", 0, 1,         (0,    0,    1),                             \
      "a token of the text is a character (default) or a word")                                    \
    X(WHOLE,  steps,       "N",         0, 1e9,       (2000, 2000, 800),                           \
      "training steps")                                                                            \
    X(ABOVE,  lr,          "X",         0, 10,        (2e-2, 5e-3, 1e-2),                          \
      "peak learning rate; rises over the first tenth, falls over the last 3 tenths")              \
    X(WHOLE,  d_model,     "N",         1, 4096,      (32,   128,  64),                            \
      "width of the embeddings")                                                                   \
    X(WHOLE,  heads,       "N",         1, 16,        (1,    8,    4),                             \
      "1: SelfAttention; 2: MultiHead, each d-model wide; 3 or more divide d-model")               \
    X(WHOLE,  context,     "N",         1, 4096,      (11,   32,   32),                            \
      "context length in tokens")                                                                  \
    X(WHOLE,  batch,       "N",         1, 4096,      (32,   32,   4),                             \
      "sequences per batch")                                                                       \
    X(WHOLE,  seed,        "N",         0, INT64_MAX, (0,    0,    0),                             \
      "random seed; also selects which of the toy's sentences are held out")                     \
    X(STRING, load,        "FILE",      0, 0,         (0, 0, 0),                                   \
      "start from a saved model; with --steps 0, do not train it")                                 \
    X(STRING, save,        "FILE",      0, 0,         (0, 0, 0),                                   \
      "save the trained model to this file, as safetensors")                                       \
    X(SWITCH, force,       "",          0, 0,         (0, 0, 0),                                   \
      "overwrite existing models, logs and reports")                                               \
    X(STRING, prompt,      "TEXT",      0, 0,         (0, 0, 0),                                   \
      "text for the model to continue")                                                            \
    X(WHOLE,  length,      "N",         0, 1000000,   (12,   500,  100),                           \
      "maximum number of tokens to generate")                                                      \
    X(REAL,   temperature, "X",         0, 100,       (0,    0.8,  0.8),                           \
      "randomness: 0 takes the likeliest token, 1 samples as predicted")                           \
    X(STRING, logits,      "FILE",      0, 0,         (0, 0, 0),                                   \
      "write the logits after each token of the prompt to this safetensors file")                  \
    X(STRING, log,         "FILE",      0, 0,         (0, 0, 0),                                   \
      "write a CSV row for each step to this file")                                                \
    X(WHOLE,  log_every,   "N",         1, 1e9,       (FLAG_NONE, FLAG_NONE, FLAG_NONE),           \
      "steps between progress lines if stderr is not a terminal; default: ten lines")              \
    X(STRING, report,      "FILE",      0, 0,         (0, 0, 0),                                   \
      "write curves, samples, attention and norms to this HTML file, while training")
/* clang-format on */

typedef struct options {
    FLAG_FIELDS(OPTIONS);
    bool help;
} options;

/* options_read: reads the command line; options not given are zero. Stops reading at --help.
 * HEED_ERR_VALUE: an unknown flag, a missing value, a number outside its range. */
options options_read(int argc, char **argv);

/* options_complete: fills in the defaults of flags that were not given. */
void options_complete(options *o, model_task task);

extern const flag_table *const options_flags; /* all flags */

/* options_help: prints the whole help. */
void options_help(FILE *stream);

extern const char options_needs_less[]; /* the flags that reduce the memory of training */

/* ---- the setup ---- */

typedef struct setup {
    options options; /* complete */
    model_task task;
    vocabulary vocabulary;
    token_list text, prompt; /* empty where not given */
    pieces training, held_out;
    struct token_model *model;
} setup;

/* setup_prepare: reads the files, creates or loads the model, and checks that the outputs can be
 * written. The caller keeps `language` alive, which contains the toy's sentences.
 * HEED_ERR_VALUE: the command line is invalid; the message explains why. */
heed_status setup_prepare(setup *s, const options *given, toy_language *language);
void setup_free(setup *s);

/* setup_sample: tokens that demonstrate the model: the end of the prompt, or else the start of the
 * held-out part; at most `most`, and at most the model's context. */
const int64_t *setup_sample(const setup *s, int64_t most, int64_t *count);

#endif
