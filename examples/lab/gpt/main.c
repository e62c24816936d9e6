/* Trains a GPT on your own text; samples from it and evaluates it.
 *
 *     build/gpt train --text FILE --save FILE        build/gpt --help
 *     build/gpt sample --load FILE --prompt TEXT
 *
 * The commands train and sample are in files of those names; eval and the dispatch are here. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "examples/lab/common/console.h"
#include "examples/lab/common/preflight.h"
#include "examples/lab/gpt/quiz.h"
#include "examples/lab/gpt/sample.h"
#include "examples/lab/gpt/train.h"

/* ---- gpt eval: the loss of a model on a text, and its answers to a quiz ---- */

typedef struct measured {
    text_buffer text;
    token_list tokens;
    gpt_windows windows;
    int64_t first, count; /* the evaluated tokens */
} measured;

static void take_part(measured *m, const gpt_loaded *l, const gpt_eval_options *o)
{
    const int64_t context = l->model->config.block_size;
    if (o->text == NULL) {
        heed_fail(HEED_ERR_VALUE, "no --text FILE or --quiz FILE to evaluate on");
        return;
    }
    m->text = text_read(o->text);
    m->tokens = tokenizer_encode(&l->record.tokenizer, o->text, m->text.bytes, m->text.length);
    if (heed_error_pending()) {
        return;
    }
    m->first = o->part == GPT_PART_VALIDATION ? gpt_train_tokens(m->tokens.count) : 0;
    m->count = m->tokens.count - m->first;
    m->windows = gpt_windows_of(m->first, m->count, context, INT64_MAX);
    if (m->windows.count == 0) {
        heed_fail(HEED_ERR_VALUE, "%s: too short: %s has %lld tokens, and the model needs %lld",
                  o->text, m->first > 0 ? "its last tenth" : "it", (long long)m->count,
                  (long long)context + 1);
    }
}

static void put_loss(const measured *m, const gpt_loaded *l, double loss)
{
    const double bytes_of_token = (double)m->text.length / (double)m->tokens.count;
    printf("loss           %.4f nats per token\n", loss);
    printf("perplexity     %.4g of %lld tokens\n", exp(loss), (long long)l->record.tokenizer.count);
    printf("bits per byte  %.4f\n", loss / log(2) / bytes_of_token);
    printf("measured over  %lld of %lld tokens, by %s\n",
           (long long)(m->windows.count * l->model->config.block_size), (long long)m->count,
           token_level_name(l->record.tokenizer.level));
}

static int gpt_eval(int argc, char **argv)
{
    gpt_eval_options o = {.load = NULL};
    gpt_loaded l = {.model = NULL};
    measured m = {.count = 0};
    quiz q = {.count = 0};
    int status = 0;
    if (!gpt_begin(&gpt_eval_flags, &o, argc, argv, &status)) {
        return status;
    }
    flags_complete(&gpt_eval_flags, &o);
    if (gpt_load(&l, "--load", o.load) == HEED_OK) {
        if (o.text != NULL || o.quiz == NULL) {
            take_part(&m, &l, &o);
        }
        if (o.quiz != NULL) {
            quiz_open(&q, o.quiz, &l.record.tokenizer);
        }
    }
    const bool ready = !heed_error_pending();
    if (ready && o.text != NULL) {
        const double loss = gpt_evaluate(l.model, &m.tokens, &m.windows, o.batch);
        if (!heed_error_pending()) {
            put_loss(&m, &l, loss);
        }
    }
    if (ready && o.quiz != NULL && !heed_error_pending()) {
        quiz_ask(&q, l.model);
        if (!heed_error_pending()) {
            quiz_print(&q, stdout);
        }
    }
    status = gpt_end(ready);
    quiz_close(&q);
    text_free(&m.text);
    token_list_free(&m.tokens);
    gpt_loaded_free(&l);
    return status;
}

/* ---- the program ---- */

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"train", gpt_train},
    {"sample", gpt_sample},
    {"eval", gpt_eval},
};

/* gpt help, gpt help train, gpt --help */
static bool wants_help(const char *word)
{
    return strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static int unknown(const char *command)
{
    heed_fail(HEED_ERR_VALUE, "unknown command '%s'; use train, sample or eval", command);
    return console_misused("gpt", NULL);
}

int main(int argc, char **argv)
{
    console_begin(argv[0]);
    heed_set_flush_denormal(true); /* subnormal numbers are slow and do not affect training */
    if (*heed_isa() == '\0') {
        return gpt_end(true); /* HEED_ISA names an unsupported instruction set */
    }
    if (argc < 2) {
        gpt_usage(stderr);
        return 2;
    }
    if (console_version(argc, argv)) {
        return gpt_end(true);
    }
    if (wants_help(argv[1])) {
        const char *command = argc > 2 ? argv[2] : NULL;
        return gpt_help(command, stdout) ? gpt_end(true) : unknown(command);
    }
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (strcmp(argv[1], commands[i].name) == 0) {
            return commands[i].run(argc - 1, argv + 1);
        }
    }
    return unknown(argv[1]);
}
