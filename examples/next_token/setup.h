/* The setup of a run: the command line, and everything it asks for, read and checked before
 * training begins. */
#ifndef HEED_NEXT_TOKEN_SETUP_H
#define HEED_NEXT_TOKEN_SETUP_H

#include <stdio.h>

#include "examples/common/flags.h"
#include "examples/next_token/toy.h"

/* ---- the command line ---- */

/* The flags. Three defaults: of the toy, by character, by word. */
/* clang-format off */
#define OPTIONS(X)                                                                                 \
    X(STRING, text,        "FILE",      0, 0,         (0, 0, 0),                                   \
      "train on this text, UTF-8; without it on the toy's sentences")                              \
    X(CHOICE, level,       "char|word", 0, 1,         (0,    0,    1),                             \
      "a token of the text is a character (default) or a word")                                    \
    X(WHOLE,  steps,       "N",         0, 1e9,       (2000, 2000, 800),                           \
      "steps of training")                                                                         \
    X(ABOVE,  lr,          "X",         0, 10,        (2e-2, 5e-3, 1e-2),                          \
      "learning rate; it rises over the first tenth, falls over the last three")                   \
    X(WHOLE,  d_model,     "N",         1, 4096,      (32,   128,  64),                            \
      "numbers that stand for a token")                                                            \
    X(WHOLE,  heads,       "N",         1, 16,        (1,    8,    4),                             \
      "1: SelfAttention; 2: MultiHead, each of d-model; more of them share d-model")               \
    X(WHOLE,  context,     "N",         1, 4096,      (11,   32,   32),                            \
      "tokens that the model looks back at, at most")                                              \
    X(WHOLE,  batch,       "N",         1, 4096,      (32,   32,   4),                             \
      "pieces of text in a step")                                                                  \
    X(WHOLE,  seed,        "N",         0, INT64_MAX, (0,    0,    0),                             \
      "of weights, batches and what is written; which sentences the toy holds out")                \
    X(STRING, load,        "FILE",      0, 0,         (0, 0, 0),                                   \
      "go on from a saved model; with --steps 0 only ask it")                                      \
    X(STRING, save,        "FILE",      0, 0,         (0, 0, 0),                                   \
      "write the trained model there, as safetensors")                                             \
    X(STRING, prompt,      "TEXT",      0, 0,         (0, 0, 0),                                   \
      "let the model write on after this")                                                         \
    X(WHOLE,  length,      "N",         0, 1000000,   (12,   500,  100),                           \
      "tokens that it writes, at most")                                                            \
    X(REAL,   temperature, "X",         0, 100,       (0,    0.8,  0.8),                           \
      "0: the likeliest token; 1: drawn by its chances; between: drawn, but safer")                \
    X(STRING, logits,      "FILE",      0, 0,         (0, 0, 0),                                   \
      "write what it foresees at each token of the prompt there, as numpy's .npy")                 \
    X(STRING, plot,        "FILE",      0, 0,         (0, 0, 0),                                   \
      "draw the losses and the attention of each head there, as SVG")
/* clang-format on */

typedef struct options {
    FLAG_FIELDS(OPTIONS);
    bool help;
} options;

/* options_read: reads the command line; the rest is zero. Nothing after --help is read.
 * HEED_ERR_VALUE: an unknown flag, a missing value, a number outside its range. */
options options_read(int argc, char **argv);

/* options_complete: fills in the defaults of flags that were not given. */
void options_complete(options *o, model_task task);

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
 * written. The caller keeps `language` alive, which holds the sentences of the toy.
 * HEED_ERR_VALUE: the message says what is wrong with the command line. */
heed_status setup_prepare(setup *s, const options *given, toy_language *language);
void setup_free(setup *s);

/* setup_sample: tokens to show the model on: the end of the prompt, or else the start of the
 * held-out part; at most `most`, and at most the model's context. */
const int64_t *setup_sample(const setup *s, int64_t most, int64_t *count);

#endif
