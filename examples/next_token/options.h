/* What can be asked of next_token: the table of its flags. */
#ifndef HEED_NEXT_TOKEN_OPTIONS_H
#define HEED_NEXT_TOKEN_OPTIONS_H

#include <stdio.h>

#include "examples/common/flags.h"

/* What is learnt, for the defaults. */
typedef enum options_task { TASK_TOY, TASK_CHAR, TASK_WORD, TASKS } options_task;

/* Defaults: of the toy, by character, by word. */
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

/* options_read: what the command line says; the rest is zero. With --help nothing after it is read.
 * HEED_ERR_VALUE: an unknown flag, a missing value, a number outside its range. */
options options_read(int argc, char **argv);

/* options_complete: fills in the defaults of what was not given. */
void options_complete(options *o, options_task task);

/* options_help: all there is to say, made of the table. */
void options_help(FILE *stream);

#endif
