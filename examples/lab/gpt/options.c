/* The flag tables of gpt, its help, and how commands begin and end. The commands themselves are in
 * train.c, sample.c and main.c. */
#include "examples/lab/gpt/options.h"

#include <string.h>

#include "examples/lab/common/console.h"
#include "examples/lab/gpt/tokenizer.h"

/* ---- the tables ---- */

/* clang-format off */
#define TRAIN_ROW(kind, field, ...)  FLAG_ROW(gpt_train_options, kind, field, __VA_ARGS__)
#define SAMPLE_ROW(kind, field, ...) FLAG_ROW(gpt_sample_options, kind, field, __VA_ARGS__)
#define EVAL_ROW(kind, field, ...)   FLAG_ROW(gpt_eval_options, kind, field, __VA_ARGS__)
static const flag_row setting_rows[] = {GPT_SETTINGS(TRAIN_ROW)};
static const flag_row train_rows[] = {GPT_TRAIN(TRAIN_ROW)};
static const flag_row sample_rows[] = {GPT_SAMPLE(SAMPLE_ROW)};
static const flag_row eval_rows[] = {GPT_EVAL(EVAL_ROW)};
/* clang-format on */

#define TABLE(rows)                                                                                \
    {                                                                                              \
        rows, sizeof(rows) / sizeof *(rows)                                                        \
    }
const flag_table gpt_settings = TABLE(setting_rows);
const flag_table gpt_train_flags = TABLE(train_rows);
const flag_table gpt_sample_flags = TABLE(sample_rows);
const flag_table gpt_eval_flags = TABLE(eval_rows);

heed_status gpt_options_settle(gpt_train_options *o)
{
    if (o->given.vocab && o->vocab != 0 && o->level != LEVEL_BPE) {
        heed_fail(HEED_ERR_VALUE, "--vocab: only for --level bpe");
    }
    if (!o->given.vocab && o->level == LEVEL_BPE) {
        o->vocab = 1024;
    }
    if (o->level == LEVEL_BPE && o->vocab < BPE_BYTES) {
        heed_fail(HEED_ERR_VALUE,
                  "--vocab %lld: too small; byte pairs need at least %d, one per byte",
                  (long long)o->vocab, BPE_BYTES);
    }
    if (!o->given.min_lr) {
        o->min_lr = o->lr / 10;
    }
    if (!o->given.warmup) {
        o->warmup = o->steps > 100 ? 100 : o->steps / 10;
    }
    if (!o->given.save_every) {
        o->save_every = o->eval_every;
    }
    if (o->warmup >= o->steps && o->warmup > 0) {
        heed_fail(HEED_ERR_VALUE, "--warmup %lld: must be less than --steps %lld",
                  (long long)o->warmup, (long long)o->steps);
    }
    if (o->min_lr > o->lr) {
        heed_fail(HEED_ERR_VALUE, "--min-lr %g: above --lr %g", o->min_lr, o->lr);
    }
    if (o->n_embd % o->n_head != 0) {
        heed_fail(HEED_ERR_VALUE, "--n-embd %lld: not divisible by --n-head %lld",
                  (long long)o->n_embd, (long long)o->n_head);
    }
    return heed_error_pending();
}

/* ---- help ---- */

static const char usage[] = "usage: gpt train  --text FILE [--save FILE] ...\n"
                            "       gpt sample FILE --prompt TEXT ...\n"
                            "       gpt eval   FILE --text FILE ...\n";

static const char program[] =
    "\n"
    "Trains a GPT, the decoder-only transformer of GPT-2, on your own text.\n"
    "\n"
    "  train   trains a model; a run can be interrupted and resumed\n"
    "  sample  generates text\n"
    "  eval    measures a model's loss on a text\n"
    "\n"
    "gpt COMMAND --help lists all options of a command.\n"
    "gpt --version prints the version, the compiler and the instruction set.\n"
    "\n"
    "  gpt train --text book.txt --save book.safetensors\n"
    "  gpt sample book.safetensors --prompt \"It was\"\n"
    "\n";

static const char statuses[] = "Exit status: 0 on success or Ctrl-C, 2 for invalid flags or "
                               "input files, 1 for other errors.\n";

static const char train_introduction[] =
    "usage: gpt train --text FILE [--save FILE] [--FLAG VALUE | --FLAG=VALUE] ...\n"
    "       gpt train --resume FILE ...\n"
    "\n"
    "Trains a GPT to predict the next token of a text. It trains on the first nine tenths; the\n"
    "loss on the last tenth, in nats per token, is the validation loss.\n"
    "\n";

static const char train_conclusion[] =
    "\n"
    "At level char the text must be UTF-8; at bpe it can be any file.\n"
    "\n"
    "Ctrl-C finishes the current step, saves and exits. A second Ctrl-C exits at once and loses\n"
    "the steps since the last save. In both cases --resume continues the run, with results\n"
    "bit-identical to those of an uninterrupted run. It takes the settings and the text from\n"
    "the file. Only --steps may change; the schedule then ends at the new\n"
    "--steps. Pass other flags, such as --best, --quiz and --log, again.\n"
    "\n"
    "Existing files are overwritten only with --force, or by a resumed run.\n"
    "\n"
    "Samples go to stdout, progress to stderr: a bar on a terminal; plain lines elsewhere, or if\n"
    "TERM is dumb. If a log cannot be written, training continues after a warning.\n"
    "\n";

static const char train_examples[] =
    "\n"
    "  gpt train --text book.txt --save book.safetensors --log book.csv\n"
    "  gpt train --resume book.safetensors --steps 5000 --log book.csv\n"
    "  gpt train --text book.txt --level bpe --n-layer 6 --dropout 0.1 --best best.gpt\n";

static const char sample_introduction[] =
    "usage: gpt sample FILE --prompt TEXT [--FLAG VALUE | --FLAG=VALUE] ...\n"
    "\n"
    "Prints the prompt and the model's continuation, token by token. On one machine the same\n"
    "flags give the same text.\n"
    "\n";

static const char eval_introduction[] =
    "usage: gpt eval FILE [--text FILE] [--quiz FILE] [--FLAG VALUE | --FLAG=VALUE] ...\n"
    "\n"
    "Measures how well a model predicts a text: the loss in nats per token, the perplexity\n"
    "exp(loss), and the loss in bits per byte of the text.\n"
    "\n"
    "With --quiz FILE it asks questions, alone or after the text. Each line of the file contains\n"
    "a kind, a context, the right answer and wrong ones, separated by tabs. A question counts as\n"
    "right if the model finds the right answer more probable than each wrong one. For each kind\n"
    "it prints the share of right answers, and the shares of three guessers: one picks at random,\n"
    "one always gives the most frequent right answer, and one gives the answer that occurs last\n"
    "in the context.\n"
    "\n";

static const struct {
    const char *name;
    const flag_table *table;
    const char *introduction, *conclusion, *examples;
} helps[] = {
    {"train", &gpt_train_flags, train_introduction, train_conclusion, train_examples},
    {"sample", &gpt_sample_flags, sample_introduction, "\nCtrl-C stops the output.\n", ""},
    {"eval", &gpt_eval_flags, eval_introduction, "\n", ""},
};

bool gpt_help(const char *command, FILE *stream)
{
    if (command == NULL) {
        fputs(usage, stream);
        fputs(program, stream);
        fputs(statuses, stream);
        return true;
    }
    for (size_t i = 0; i < sizeof helps / sizeof *helps; i++) {
        if (strcmp(helps[i].name, command) == 0) {
            fputs(helps[i].introduction, stream);
            flags_help(helps[i].table, stream);
            fprintf(stream, "%s%s", helps[i].conclusion, statuses);
            fputs(helps[i].examples, stream);
            return true;
        }
    }
    return false;
}

void gpt_usage(FILE *stream)
{
    fputs(usage, stream);
}

/* ---- a command ---- */

int gpt_end(bool ready)
{
    const heed_status error = heed_error_pending();
    if (error != HEED_OK) {
        return console_complain("gpt", ready || error == HEED_ERR_MEMORY ? 1 : 2);
    }
    return console_finish("gpt");
}

bool gpt_begin(const flag_table *flags, void *options, int argc, char **argv, int *status)
{
    if (flags_read(flags, options, argc, argv)) {
        gpt_help(argv[0], stdout);
        *status = gpt_end(true);
        return false;
    }
    *status = heed_error_pending() ? console_misused("gpt", argv[0]) : 0;
    return *status == 0;
}
