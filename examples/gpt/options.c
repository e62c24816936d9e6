/* The flags of gpt, the help around them, and the frame of a command. What commands do stands in
 * train.c, sample.c and main.c. */
#include "examples/gpt/options.h"

#include <string.h>

#include "examples/common/console.h"
#include "examples/gpt/tokenizer.h"

/* ---- the tables ---- */

/* clang-format off */
#define TRAIN_ROW(kind, field, ...)  FLAG_ROW(gpt_train_options, kind, field, __VA_ARGS__)
#define SAMPLE_ROW(kind, field, ...) FLAG_ROW(gpt_sample_options, kind, field, __VA_ARGS__)
#define EVAL_ROW(kind, field, ...)   FLAG_ROW(gpt_eval_options, kind, field, __VA_ARGS__)
#define INFO_ROW(kind, field, ...)   FLAG_ROW(gpt_info_options, kind, field, __VA_ARGS__)
#define EXPORT_ROW(kind, field, ...) FLAG_ROW(gpt_export_options, kind, field, __VA_ARGS__)
static const flag_row setting_rows[] = {GPT_SETTINGS(TRAIN_ROW)};
static const flag_row train_rows[] = {GPT_TRAIN(TRAIN_ROW)};
static const flag_row sample_rows[] = {GPT_SAMPLE(SAMPLE_ROW)};
static const flag_row eval_rows[] = {GPT_EVAL(EVAL_ROW)};
static const flag_row info_rows[] = {GPT_INFO(INFO_ROW)};
static const flag_row export_rows[] = {GPT_EXPORT(EXPORT_ROW)};
/* clang-format on */

#define TABLE(rows, hint)                                                                          \
    {                                                                                              \
        rows, sizeof(rows) / sizeof *(rows), NULL, hint                                            \
    }
const flag_table gpt_settings = TABLE(setting_rows, NULL);
const flag_table gpt_train_flags = TABLE(train_rows, "a text is --text FILE");
const flag_table gpt_sample_flags = TABLE(sample_rows, "a model is --load FILE");
const flag_table gpt_eval_flags = TABLE(eval_rows, "a model is --load FILE");
const flag_table gpt_info_flags = TABLE(info_rows, NULL);
const flag_table gpt_export_flags = TABLE(export_rows, "a model is --load FILE");

heed_status gpt_options_settle(gpt_train_options *o)
{
    const bool counts_tokens = o->level == LEVEL_WORD || o->level == LEVEL_BPE;
    if (o->given.vocab && o->vocab != 0 && !counts_tokens) {
        heed_fail(HEED_ERR_VALUE, "--vocab: only with --level word or bpe; %s has what there is",
                  token_level_name((token_level)o->level));
    }
    if (!o->given.vocab && counts_tokens) {
        o->vocab = o->level == LEVEL_WORD ? 8192 : 1024;
    }
    if (o->level == LEVEL_WORD && o->vocab < 2) {
        heed_fail(HEED_ERR_VALUE, "--vocab %lld: too few words; <unknown> is one, so 2 is least",
                  (long long)o->vocab);
    }
    if (o->level == LEVEL_BPE && o->vocab < BPE_BYTES) {
        heed_fail(HEED_ERR_VALUE, "--vocab %lld: too few byte pairs; the bytes alone are %d",
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
        heed_fail(HEED_ERR_VALUE, "--warmup %lld: not fewer than --steps %lld; make it smaller",
                  (long long)o->warmup, (long long)o->steps);
    }
    if (o->min_lr > o->lr) {
        heed_fail(HEED_ERR_VALUE, "--min-lr %g: above --lr %g", o->min_lr, o->lr);
    }
    if (o->n_embd % o->n_head != 0) {
        heed_fail(HEED_ERR_VALUE, "--n-embd %lld: does not divide among --n-head %lld",
                  (long long)o->n_embd, (long long)o->n_head);
    }
    return heed_error_pending();
}

/* ---- help ---- */

static const char usage[] = "usage: gpt train  --text FILE [--save FILE] ...\n"
                            "       gpt sample --load FILE --prompt TEXT ...\n"
                            "       gpt eval   --load FILE --text FILE ...\n"
                            "       gpt info   FILE\n"
                            "       gpt export --load FILE --to PATH ...\n";

static const char program[] =
    "\n"
    "A GPT that is trained on a text of yours: the decoder-only transformer of GPT-2.\n"
    "\n"
    "  train   learns a text, and can be interrupted and gone on with\n"
    "  sample  lets a model write\n"
    "  eval    how well a model foresees a text\n"
    "  info    what is in a file: modules, shapes, settings\n"
    "  export  a model as transformers or nanoGPT read it\n"
    "\n"
    "gpt COMMAND --help tells all of a command.\n"
    "\n"
    "  gpt train --text book.txt --save book.safetensors\n"
    "  gpt sample --load book.safetensors --prompt \"It was\"\n"
    "\n";

static const char statuses[] = "Exit status: 0, also after Ctrl-C; 2 if flags, or the files they "
                               "name, are not as they should\n"
                               "be; 1 for all else that fails.\n";

static const char train_introduction[] =
    "usage: gpt train --text FILE [--save FILE] [--FLAG VALUE | --FLAG=VALUE] ...\n"
    "       gpt train --resume FILE ...\n"
    "\n"
    "Trains a GPT to foresee the next token of a text. The first nine tenths of the text are "
    "learnt;\n"
    "the loss of the last tenth, in nats per token, tells how well.\n"
    "\n";

static const char train_conclusion[] =
    "\n"
    "By char and word a text must be UTF-8; by byte and bpe it is any file. The text is not read "
    "as a\n"
    "whole, and may be larger than the memory.\n"
    "\n"
    "Ctrl-C ends a training after the step at work and saves; a second one ends the program at "
    "once,\n"
    "which loses what came after the last saving. --resume goes on in either case, and gives the "
    "same\n"
    "bits as a training that nobody interrupted. All settings and the text come from the file "
    "then;\n"
    "only --steps and --patience may differ, and --steps makes a schedule end there. --best and\n"
    "--log are to be given again.\n"
    "\n"
    "Progress goes to stderr: a bar on a terminal, lines elsewhere and where TERM is dumb.\n"
    "\n";

static const char train_examples[] =
    "\n"
    "  gpt train --text book.txt --save book.safetensors --log book.csv\n"
    "  gpt train --resume book.safetensors --steps 5000 --log book.csv\n"
    "  gpt train --text book.txt --level bpe --n-layer 6 --dropout 0.1 --patience 5 --best "
    "best.gpt\n";

static const char sample_introduction[] =
    "usage: gpt sample --load FILE --prompt TEXT [--FLAG VALUE | --FLAG=VALUE] ...\n"
    "\n"
    "Writes the prompt and what the model adds to it, as it comes. The same flags give the same "
    "text.\n"
    "\n";

static const char eval_introduction[] =
    "usage: gpt eval --load FILE --text FILE [--FLAG VALUE | --FLAG=VALUE] ...\n"
    "\n"
    "How well a model foresees a text: the loss in nats per token, the perplexity, which is "
    "exp(loss),\n"
    "and the bits that a byte of the text would take.\n"
    "\n";

static const char info_introduction[] =
    "usage: gpt info FILE\n"
    "\n"
    "What is in a file: the modules, the shapes and counts of the parameters, the settings.\n"
    "\n";

static const char export_introduction[] =
    "usage: gpt export --load FILE --to PATH [--layout gpt2|nanogpt]\n"
    "\n"
    "Writes a model as others read it. In Python:\n"
    "\n"
    "  transformers.GPT2LMHeadModel.from_pretrained(PATH)                     gpt2, a folder\n"
    "  model.load_state_dict(safetensors.torch.load_file(PATH))               nanogpt, a file\n"
    "\n";

static const struct {
    const char *name;
    const flag_table *table;
    const char *introduction, *conclusion, *examples;
} helps[] = {
    {"train", &gpt_train_flags, train_introduction, train_conclusion, train_examples},
    {"sample", &gpt_sample_flags, sample_introduction, "\nCtrl-C ends it.\n", ""},
    {"eval", &gpt_eval_flags, eval_introduction, "\n", ""},
    {"info", &gpt_info_flags, info_introduction, "\n", ""},
    {"export", &gpt_export_flags, export_introduction, "\n", ""},
};

bool gpt_help(const char *command, FILE *stream)
{
    if (command == NULL) {
        fprintf(stream, "%s%s%s", usage, program, statuses);
        return true;
    }
    for (size_t i = 0; i < sizeof helps / sizeof *helps; i++) {
        if (strcmp(helps[i].name, command) == 0) {
            fputs(helps[i].introduction, stream);
            flags_help(helps[i].table, stream);
            fprintf(stream, "%s%s%s", helps[i].conclusion, statuses, helps[i].examples);
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

const char gpt_train_needs_less[] = "--batch, --context or --n-embd";

/* Those of the command that runs; NULL: none. */
static const char *needs_less;

int gpt_end(bool ready)
{
    const heed_status error = heed_error_pending();
    if (error != HEED_OK) {
        return console_complain("gpt", needs_less, ready || error == HEED_ERR_MEMORY ? 1 : 2);
    }
    return console_finish("gpt");
}

bool gpt_begin(const flag_table *flags, void *options, int argc, char **argv, int *status)
{
    needs_less = flags == &gpt_train_flags  ? gpt_train_needs_less
                 : flags == &gpt_eval_flags ? "--batch"
                                            : NULL;
    const bool help = flags_read(flags, options, argc, argv);
    if (help) {
        gpt_help(argv[0], stdout);
    }
    *status = help || heed_error_pending() ? gpt_end(false) : 0;
    return !help && *status == 0;
}
