/* The command line: one table of flags, from which the struct, the reader and --help are made. */
#ifndef HEED_NEXT_TOKEN_OPTIONS_H
#define HEED_NEXT_TOKEN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "heed.h"

/* What is learnt, for the defaults. */
typedef enum options_task { TASK_TOY, TASK_CHAR, TASK_WORD, TASKS } options_task;

/* Kinds: WHOLE and REAL are numbers from low to high, ABOVE is a number above low; CHOICE is the
 * place of the value among those of its list. Defaults: of the toy, by character, by word. */
/* clang-format off */
#define OPTIONS(X)                                                                                     \
    /* kind    field        value        low high            toy   char  word   what it is */          \
    X(STRING, text,        "FILE",      0,  0,              0,    0,    0,     "train on this text, UTF-8; without it on the toy's sentences")    \
    X(CHOICE, level,       "char|word", 0,  1,              0,    0,    1,     "a token of the text is a character, or a word")    \
    X(WHOLE,  steps,       "N",         0,  1e9,            2000, 2000, 500,   "of training")          \
    X(ABOVE,  lr,          "X",         0,  10,             2e-2, 5e-3, 5e-3,  "highest learning rate") \
    X(WHOLE,  d_model,     "N",         1,  4096,           32,   128,  64,    "numbers per token in the model") \
    X(WHOLE,  heads,       "N",         1,  16,             1,    8,    4,     "1: SelfAttention; 2: MultiHead with heads of d-model; more: they share it") \
    X(WHOLE,  context,     "N",         1,  4096,           11,   32,   32,    "most tokens that the model looks back at") \
    X(WHOLE,  batch,       "N",         1,  4096,           32,   32,   32,    "pieces of text in a training step") \
    X(WHOLE,  seed,        "N",         0,  INT64_MAX,      0,    0,    0,     "of weights, batches and written words; of held-out sentences of the toy") \
    X(STRING, load,        "FILE",      0,  0,              0,    0,    0,     "go on from a saved model; --steps 0 only asks it") \
    X(STRING, save,        "FILE",      0,  0,              0,    0,    0,     "write the trained model, as safetensors") \
    X(STRING, prompt,      "TEXT",      0,  0,              0,    0,    0,     "let the model write on after this") \
    X(WHOLE,  length,      "N",         0,  1000000,        12,   500,  100,   "most tokens that it writes") \
    X(REAL,   temperature, "X",         0,  100,            0,    0.8,  0.8,   "0 writes the likeliest token; 1 draws by its chances; less dares less") \
    X(STRING, plot,        "FILE",      0,  0,              0,    0,    0,     "draw the losses and the attention of each head, as SVG")
/* clang-format on */

#define OPTIONS_TYPE_STRING const char *
#define OPTIONS_TYPE_CHOICE int64_t
#define OPTIONS_TYPE_WHOLE  int64_t
#define OPTIONS_TYPE_REAL   double
#define OPTIONS_TYPE_ABOVE  double

typedef struct options {
#define FIELD(kind, field, ...) OPTIONS_TYPE_##kind field;
    OPTIONS(FIELD)
#undef FIELD
    struct {
#define FIELD(kind, field, ...) bool field;
        OPTIONS(FIELD)
#undef FIELD
    } given;
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
