/* The flags and the help of each command of gpt, and how a command begins and ends. */
#ifndef HEED_GPT_OPTIONS_H
#define HEED_GPT_OPTIONS_H

#include <stdio.h>

#include "examples/common/flags.h"

/* Everything that shapes a training run. A checkpoint holds each of these flags under its name, so
 * that none can be forgotten. */
/* clang-format off */
#define GPT_SETTINGS(X)                                                                            \
    X(CHOICE, level,        "byte|char|word|bpe", 0, 3,   (1),                                     \
      "a token is a byte, a character (default), a word or a byte pair")                           \
    X(WHOLE,  vocab,        "N",         0, 1 << 20,      (FLAG_NONE),                             \
      "most tokens of word (8192 if not given) and bpe (1024)")                                    \
    X(WHOLE,  n_layer,      "N",         1, 1000,         (4),                                     \
      "blocks")                                                                                    \
    X(WHOLE,  n_head,       "N",         1, 1000,         (4),                                     \
      "heads in each")                                                                             \
    X(WHOLE,  n_embd,       "N",         1, 65536,        (128),                                   \
      "numbers that stand for a token, shared out to the heads")                                   \
    X(WHOLE,  context,      "N",         1, 65536,        (64),                                    \
      "tokens that the model looks back at, at most")                                              \
    X(REAL,   dropout,      "X",         0, 1,            (0),                                     \
      "the part of the numbers that is left out at random")                                        \
    X(CHOICE, positions,    "learned|sinusoidal", 0, 1,   (0),                                     \
      "where a token stands: learned (default) or as in Vaswani et al.")                           \
    X(SWITCH, untied,       "",          0, 0,            (0),                                     \
      "the last layer has weights of its own, not those of the tokens")                            \
    X(SWITCH, no_bias,      "",          0, 0,            (0),                                     \
      "no biases in Linear and LayerNorm")                                                         \
    X(CHOICE, activation,   "gelu_tanh|gelu|relu", 0, 2,  (0),                                     \
      "of the feed-forward networks; default: gelu_tanh")                                          \
    X(WHOLE,  batch,        "N",         1, 65536,        (12),                                    \
      "pieces of text that are learnt from at once")                                               \
    X(WHOLE,  accumulate,   "N",         1, 1e6,          (1),                                     \
      "such batches in a step, whose gradients add up")                                            \
    X(WHOLE,  steps,        "N",         0, 1e12,         (2000),                                  \
      "steps of training")                                                                         \
    X(ABOVE,  lr,           "X",         0, 10,           (1e-3),                                  \
      "the highest learning rate")                                                                 \
    X(REAL,   min_lr,       "X",         0, 10,           (FLAG_NONE),                             \
      "the last one, of cosine and linear; a tenth of --lr if not given")                          \
    X(WHOLE,  warmup,       "N",         0, 1e12,         (FLAG_NONE),                             \
      "steps in which it rises; 100 if not given, a tenth of --steps 100 or fewer")                \
    X(CHOICE, schedule,     "cosine|linear|step|constant", 0, 3, (0),                              \
      "how it falls then: half a wave (default), a line, a tenth at each third, not")              \
    X(REAL,   weight_decay, "X",         0, 1e6,          (0.1),                                   \
      "of AdamW, for matrices")                                                                    \
    X(REAL,   beta1,        "X",         0, 0.9999999999, (0.9),                                   \
      "of AdamW: how slowly the mean of the gradients follows them")                               \
    X(REAL,   beta2,        "X",         0, 0.9999999999, (0.99),                                  \
      "and that of their squares")                                                                 \
    X(REAL,   clip,         "X",         0, 1e12,         (1),                                     \
      "the largest norm of all gradients; 0: any")                                                 \
    X(WHOLE,  seed,         "N",         0, INT64_MAX,    (1337),                                  \
      "of weights, batches and dropout")                                                           \
    X(WHOLE,  eval_every,   "N",         1, 1e12,         (250),                                   \
      "steps between two looks at the validation loss")                                            \
    X(WHOLE,  eval_windows, "N",         1, 1e12,         (512),                                   \
      "pieces of text that it is the mean over, at most")                                          \
    X(WHOLE,  patience,     "N",         0, 1e12,         (0),                                     \
      "stop after so many looks without a lower one; 0: never")

#define GPT_TRAIN(X)                                                                               \
    X(STRING, text,         "FILE",      0, 0,            (0),                                     \
      "learn this text")                                                                           \
    X(STRING, resume,       "FILE",      0, 0,            (0),                                     \
      "go on with the run that this file holds, with its settings")                                \
    X(STRING, save,         "FILE",      0, 0,            (0),                                     \
      "keep the run there, as safetensors; default: the file of --resume")                         \
    X(WHOLE,  save_every,   "N",         1, 1e12,         (FLAG_NONE),                             \
      "steps between two savings; as --eval-every if not given")                                   \
    X(STRING, best,         "FILE",      0, 0,            (0),                                     \
      "keep the run there as it was at the lowest validation loss")                                \
    X(STRING, quiz,         "FILE",      0, 0,            (0),                                     \
      "ask these questions with each validation; the training is not affected")                     \
    X(STRING, log,          "FILE",      0, 0,            (0),                                     \
      "write a row for each step there, as CSV")                                                   \
    X(WHOLE,  log_every,    "N",         1, 1e12,         (10),                                    \
      "steps between two lines, where stderr is no terminal")                                      \
    GPT_SETTINGS(X)

#define GPT_SAMPLE(X)                                                                              \
    X(STRING, load,         "FILE",      0, 0,            (0),                                     \
      "the model: a file of gpt train, or a folder of gpt export")                                 \
    X(STRING, prompt,       "TEXT",      0, 0,            (0),                                     \
      "what it writes on after; if empty or not given, the beginning of a line")                   \
    X(WHOLE,  length,       "N",         0, 1e7,          (500),                                   \
      "tokens that it writes")                                                                     \
    X(REAL,   temperature,  "X",         0, 1e6,          (0.8),                                   \
      "0: the likeliest token; 1: drawn by its chances; between: drawn, but safer")                \
    X(WHOLE,  top_k,        "N",         0, 1e12,         (0),                                     \
      "draw only from the N likeliest tokens; 0: from all")                                        \
    X(REAL,   top_p,        "X",         0, 1,            (1),                                     \
      "draw only from the likeliest tokens whose chances sum to X")                                \
    X(WHOLE,  seed,         "N",         0, INT64_MAX,    (1337),                                  \
      "of what is drawn")                                                                          \
    X(SWITCH, no_cache,     "",          0, 0,            (0),                                     \
      "look at all tokens anew for each one: the same text, more slowly")                          \
    X(SWITCH, stats,        "",          0, 0,            (0),                                     \
      "tell the tokens per second on stderr, also where that is no terminal")

#define GPT_EVAL(X)                                                                                \
    X(STRING, load,         "FILE",      0, 0,            (0),                                     \
      "the model: a file of gpt train, or a folder of gpt export")                                 \
    X(STRING, text,         "FILE",      0, 0,            (0),                                     \
      "the text that it has to foresee")                                                           \
    X(STRING, quiz,         "FILE",      0, 0,            (0),                                     \
      "questions: kind, context, right and wrong answers on each line, separated by tabs")         \
    X(CHOICE, part,         "all|validation", 0, 1,       (0),                                     \
      "all of it (default), or the last tenth, which gpt train does not learn")                    \
    X(WHOLE,  eval_windows, "N",         0, 1e12,         (0),                                     \
      "pieces that the loss is the mean over, at most; 0: all")                                    \
    X(WHOLE,  batch,        "N",         1, 65536,        (12),                                    \
      "pieces that are looked at at once")

#define GPT_INFO(X)                                                                                \
    X(BARE,   file,         "FILE",      0, 0,            (0),                                     \
      "a file of gpt train, a folder as transformers saves it, or other safetensors of a GPT")

#define GPT_EXPORT(X)                                                                              \
    X(STRING, load,         "FILE",      0, 0,            (0),                                     \
      "the model: a file of gpt train")                                                            \
    X(STRING, to,           "PATH",      0, 0,            (0),                                     \
      "where it goes: of gpt2 a folder, of nanogpt a file")                                        \
    X(CHOICE, layout,       "gpt2|nanogpt", 0, 1,         (0),                                     \
      "as transformers' GPT2LMHeadModel has it (default), or as nanoGPT's GPT")
/* clang-format on */

typedef struct gpt_train_options {
    FLAG_FIELDS(GPT_TRAIN);
} gpt_train_options;
typedef struct gpt_sample_options {
    FLAG_FIELDS(GPT_SAMPLE);
} gpt_sample_options;
typedef struct gpt_eval_options {
    FLAG_FIELDS(GPT_EVAL);
} gpt_eval_options;
typedef struct gpt_info_options {
    FLAG_FIELDS(GPT_INFO);
} gpt_info_options;
typedef struct gpt_export_options {
    FLAG_FIELDS(GPT_EXPORT);
} gpt_export_options;

enum { GPT_PART_ALL, GPT_PART_VALIDATION };
enum { GPT_COSINE, GPT_LINEAR, GPT_STEP, GPT_CONSTANT };
enum { GPT_GELU_TANH, GPT_GELU, GPT_RELU };
enum { GPT_LEARNED, GPT_SINUSOIDAL };
enum { GPT_EXPORT_GPT2, GPT_EXPORT_NANOGPT };

/* The tables of flags; the settings are part of those of train. */
extern const flag_table gpt_settings, gpt_train_flags, gpt_sample_flags, gpt_eval_flags,
    gpt_info_flags, gpt_export_flags;

/* gpt_options_settle: fills in the defaults of train that depend on other flags.
 * HEED_ERR_VALUE: flags that contradict each other. */
heed_status gpt_options_settle(gpt_train_options *o);

/* gpt_help: the help of a command, or of the program if NULL; false: no such command. gpt_usage:
 * its first lines. */
bool gpt_help(const char *command, FILE *stream);
void gpt_usage(FILE *stream);

/* A command gets its own arguments, argv[0] being its name, and returns the exit status.
 *
 * gpt_begin: reads the flags; false: the command ends with *status, after --help or an error.
 * gpt_end: the exit status of a command. Errors before it is `ready` are those of its arguments. */
extern const char gpt_train_needs_less[]; /* the flags that reduce the memory of training */
bool gpt_begin(const flag_table *flags, void *options, int argc, char **argv, int *status);
int gpt_end(bool ready);

#endif
