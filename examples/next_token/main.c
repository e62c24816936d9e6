/* Trains the toy next-token model and shows what its attention has learned: to foresee the word
 * after *it*, look back at what *it* is. This is what `make demo` runs.
 *
 *     build/next_token [--seed N] [--heads N] [--steps N]
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "examples/toy_model.h"

static const char usage[] =
    "usage: next_token [--seed N] [--heads N] [--steps N]\n"
    "\n"
    "Trains a model with one self-attention on sentences such as \"the pizza came out of the\n"
    "oven and it tasted good\", and shows the attention of a sentence before and after.\n"
    "\n"
    "  --seed N    of the weights, the batches and the held-out sentences (0)\n"
    "  --heads N   1: SelfAttention; 2 to 16: MultiHead with W_o (1)\n"
    "  --steps N   of training, 10 to 1000000 (2000)\n"
    "  --help      this text\n";

/* ---- the command line ---- */

static int complain(const char *what, const char *argument)
{
    fprintf(stderr, "next_token: %s%s; try --help\n", what, argument);
    return 2;
}

/* A whole number in [low, high]. */
static bool read_number(const char *text, long long low, long long high, long long *number)
{
    char *end;
    errno = 0;
    *number = strtoll(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' && *number >= low && *number <= high;
}

/* 0: go on; 1: --help was asked for; 2: something is wrong, and has been said. */
static int read_options(int argc, char **argv, toy_options *options)
{
    for (int i = 1; i < argc; i++) {
        long long number = 0;
        if (strcmp(argv[i], "--help") == 0) {
            return 1;
        }
        if (strcmp(argv[i], "--seed") != 0 && strcmp(argv[i], "--heads") != 0 &&
            strcmp(argv[i], "--steps") != 0) {
            return complain("unknown argument ", argv[i]);
        }
        if (i + 1 == argc) {
            return complain("no number after ", argv[i]);
        }
        const char *flag = argv[i++];
        if (strcmp(flag, "--seed") == 0 && read_number(argv[i], 0, INT64_MAX, &number)) {
            options->seed = (uint64_t)number;
        } else if (strcmp(flag, "--heads") == 0 && read_number(argv[i], 1, 16, &number)) {
            toy_options with_heads = toy_defaults(options->seed, (int)number);
            with_heads.steps = options->steps;
            *options = with_heads;
        } else if (strcmp(flag, "--steps") == 0 && read_number(argv[i], 10, 1000000, &number)) {
            options->steps = (int)number;
        } else {
            return complain("not a number that fits: ", argv[i]);
        }
    }
    return 0;
}

/* ---- what is shown ---- */

typedef struct progress {
    const toy_language *language;
    int steps;
    bool terminal;
} progress;

/* One line that renews itself on a terminal, one line every so often elsewhere. */
static bool show_progress(void *context, struct toy_model *m, int step, double loss)
{
    const progress *p = context;
    const int every = p->terminal ? p->steps / 40 : p->steps / 10;
    if ((step + 1) % (every > 0 ? every : 1) != 0 && step + 1 != p->steps) {
        return true;
    }
    toy_score score = toy_evaluate(m, p->language->held_out, p->language->held_out_count);
    printf("%sstep %5d/%d   loss %.3f   after *it*: %5.1f %% right   attention on the subject: "
           "%5.1f %%%s",
           p->terminal ? "\r" : "", step + 1, p->steps, loss, 100 * score.accuracy,
           100 * score.attention, !p->terminal || step + 1 == p->steps ? "\n" : "");
    return fflush(stdout) == 0; /* a closed pipe ends the training */
}

/* The head whose *it* looks most at the subject, as a picture. */
static void show_attention(struct toy_model *m, const toy_language *language,
                           const toy_sentence *sentence, const char *title)
{
    enum { SHOWN = TOY_LENGTH - 1 };
    const char *words[SHOWN];
    heed_scope scope;
    heed_scope_begin(&scope);
    for (int i = 0; i < SHOWN; i++) {
        words[i] = language->words[sentence->token[i]];
    }
    heed_tensor *weights = toy_attention(m, sentence->token, SHOWN);
    const int64_t heads = heed_size(weights, 0);
    int64_t best = 0;
    for (int64_t head = 1; head < heads; head++) {
        if (heed_at(weights, HEED_INDEX(head, TOY_AT_IT, TOY_AT_SUBJECT)) >
            heed_at(weights, HEED_INDEX(best, TOY_AT_IT, TOY_AT_SUBJECT))) {
            best = head;
        }
    }
    printf("\n%s", title);
    if (heads > 1) {
        printf(", head %lld of %lld", (long long)best + 1, (long long)heads);
    }
    printf(" (rows look at columns, in percent)\n\n");
    heed_tensor *picture = heed_squeeze(heed_slice(weights, 0, best, best + 1, 1), 0);
    heed_heat_map(stdout, picture, words, words, HEED_COLOR_AUTO);
    heed_scope_end(&scope);
}

/* Lets the model write on, one likeliest word at a time, after *it*. */
static void show_continuation(struct toy_model *m, const toy_language *language,
                              const toy_sentence *sentence)
{
    toy_sentence text = *sentence;
    for (int i = 0; i <= TOY_AT_IT; i++) {
        printf("%s ", language->words[text.token[i]]);
    }
    printf("->");
    for (int length = TOY_AT_IT + 1; length < TOY_LENGTH; length++) {
        text.token[length] = toy_next_word(m, text.token, length);
        if (text.token[length] == 0) {
            break; /* <eos> */
        }
        printf(" %s", language->words[text.token[length]]);
    }
    printf("\n");
}

static heed_status run(const toy_options *options)
{
    static toy_language language;
    toy_language_make(&language, options->seed);
    const toy_sentence *sentence = &language.held_out[0];
    heed_manual_seed(options->seed);
    struct toy_model *m = toy_model_new(options, language.word_count);
    progress p = {&language, options->steps, isatty(STDOUT_FILENO) != 0};
    printf("%d sentences to learn from, %d held out; %d words\n", language.train_count,
           language.held_out_count, language.word_count);
    show_attention(m, &language, sentence, "Before training");
    printf("\n");
    toy_train(m, &language, options, show_progress, &p);
    show_attention(m, &language, sentence, "After training");
    printf("\nWhat the model writes after *it*, in sentences that it has never seen:\n\n");
    for (int i = 0; i < language.held_out_count; i += language.held_out_count / 6) {
        show_continuation(m, &language, &language.held_out[i]);
    }
    heed_module_free(m);
    return heed_error_pending();
}

int main(int argc, char **argv)
{
    toy_options options = toy_defaults(0, 1);
    int status = read_options(argc, argv, &options);
    if (status == 1) {
        fputs(usage, stdout);
        return EXIT_SUCCESS;
    }
    if (status == 2) {
        return status;
    }
    heed_on_error(heed_die);
    return run(&options) == HEED_OK && !ferror(stdout) ? EXIT_SUCCESS : EXIT_FAILURE;
}
