/* Trains a model with one self-attention layer on a toy language and shows what it has learned:
 * predicting the word after *it* requires attending to the noun that *it* refers to. `make demo`
 * runs it. model.c is the model, toy.c trains it.
 *
 *     build/next_token [--FLAG VALUE] ...        build/next_token --help
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "examples/lab/common/console.h"
#include "examples/lab/common/flags.h"
#include "examples/lab/next_token/toy.h"

static const char program[] = "next_token";

enum { BATCH = 32, D_MODEL = 32, MEASUREMENTS = 40 };

/* ---- the command line ---- */

/* clang-format off */
#define OPTIONS(X)                                                                                 \
    X(WHOLE,  steps,  "N",    0, 1e9,       (2000), "training steps")                              \
    X(REAL,   lr,     "X",    1e-9, 10,        (2e-2),                                                \
      "peak learning rate; rises over the first tenth, falls over the last 3 tenths")              \
    X(WHOLE,  heads,  "N",    1, 16,        (1),                                                   \
      "1: SelfAttention; more: MultiHead; they divide 32")                                         \
    X(WHOLE,  seed,   "N",    0, INT64_MAX, (0),                                                   \
      "random seed; also selects which sentences are held out")                                    \
    X(STRING, load,   "FILE", 0, 0,         (0),                                                   \
      "start from a saved model; with --steps 0, do not train it")                                 \
    X(STRING, save,   "FILE", 0, 0,         (0),                                                   \
      "save the trained model to this file, as safetensors")                                       \
    X(STRING, prompt, "TEXT", 0, 0,         (0),                                                   \
      "words of the language for the model to continue")
/* clang-format on */

typedef struct options {
    FLAG_FIELDS(OPTIONS);
} options;

#define ROW(kind, field, ...) FLAG_ROW(options, kind, field, __VA_ARGS__)
static const flag_row rows[] = {OPTIONS(ROW)};
static const flag_table table = {rows, sizeof rows / sizeof *rows};

static const char introduction[] =
    "usage: next_token [--FLAG VALUE | --FLAG=VALUE] ...\n"
    "\n"
    "Trains a model with one self-attention layer on a toy language, with sentences such as \"the\n"
    "pizza came out of the oven and it tasted good\", and shows its attention before and after.\n"
    "\n";

static const char conclusion[] =
    "\n"
    "Results go to stdout, progress to stderr. Ctrl-C finishes the current step and saves.\n"
    "Exit status: 0 on success or Ctrl-C, 2 for invalid flags or files, 1 for other errors.\n"
    "\n"
    "  next_token --heads 2 --save toy.safetensors\n"
    "  next_token --load toy.safetensors --steps 0 --prompt \"the dragon waited and it\"\n";

/* ---- the setup ---- */

typedef struct setup {
    options options;
    toy_language language;
    struct token_model *model;
    int64_t prompt[TOY_MOST_WORDS];
    int64_t prompt_count;
} setup;

static void read_prompt(setup *s)
{
    const toy_language *language = &s->language;
    const char *text = s->options.prompt;
    for (size_t length; *(text += strspn(text, " ")) != '\0'; text += length) {
        length = strcspn(text, " ");
        int id = 0;
        while (id < language->word_count && (strlen(language->words[id]) != length ||
                                             strncmp(language->words[id], text, length) != 0)) {
            id++;
        }
        if (id == language->word_count || s->prompt_count == TOY_MOST_WORDS) {
            heed_fail(HEED_ERR_VALUE, "--prompt: '%.*s' is not among the model's %d words",
                      length < 80 ? (int)length : 80, text, language->word_count);
            return;
        }
        s->prompt[s->prompt_count++] = id;
    }
    if (s->prompt_count == 0) {
        heed_fail(HEED_ERR_VALUE, "--prompt: empty; the model needs at least one word");
    }
}

static void prepare(setup *s)
{
    const options *o = &s->options;
    toy_language_make(&s->language, (uint64_t)o->seed);
    model_sizes sizes = {s->language.word_count, TOY_LENGTH - 1, D_MODEL, (int)o->heads};
    if (o->load != NULL) {
        sizes = model_sizes_in(o->load, &s->language);
    }
    if (D_MODEL % o->heads != 0) {
        heed_fail(HEED_ERR_VALUE, "--heads %lld: does not divide %d", (long long)o->heads, D_MODEL);
    }
    if (o->prompt != NULL && !heed_error_pending()) {
        read_prompt(s);
    }
    if (heed_error_pending()) {
        return;
    }
    heed_manual_seed((uint64_t)o->seed);
    s->model = model_new(sizes);
    if (o->load != NULL && !heed_error_pending()) {
        model_load(o->load, s->model);
    }
}

/* ---- training ---- */

typedef struct watcher {
    const setup *setup;
    heed_watch *watch;
} watcher;

/* The held-out sentences are scored about MEASUREMENTS times, and after the last step. */
static bool watch(void *context, struct token_model *m, int64_t step, double loss)
{
    const watcher *w = context;
    const int64_t steps = w->setup->options.steps;
    heed_watch_value(w->watch, "loss", loss);
    if (step * MEASUREMENTS / steps != (step - 1) * MEASUREMENTS / steps) {
        const toy_score score = toy_evaluate(m, &w->setup->language);
        heed_watch_value(w->watch, "accuracy", score.accuracy);
        heed_watch_value(w->watch, "attention", score.attention);
    }
    heed_watch_step(w->watch);
    return !interrupted();
}

static void learn(const setup *s)
{
    const options *o = &s->options;
    watcher w = {.setup = s, .watch = heed_watch_new(.steps = o->steps, .terminal = stderr)};
    train(s->model, &s->language, &(train_options){o->steps, BATCH, o->lr}, watch, &w);
    heed_watch_free(w.watch);
}

/* ---- results ---- */

static void show_sentence(const setup *s, const int64_t *tokens, int64_t count, const char *between)
{
    for (int64_t i = 0; i < count; i++) {
        printf("%s%s", i > 0 ? " " : "", s->language.words[tokens[i]]);
    }
    printf("%s", between);
    toy_write(stdout, s->model, &s->language, tokens, count, TOY_LENGTH);
    printf("\n");
}

static void show_after(const setup *s)
{
    const toy_language *language = &s->language;
    if (s->options.steps > 0) {
        toy_show_attention(stdout, s->model, language, &language->held_out[0], "After training");
    }
    printf("\nWhat the model writes after *it*, in sentences that it has never seen:\n\n");
    for (int i = 0; i < language->held_out_count; i += language->held_out_count / 6) {
        show_sentence(s, language->held_out[i].token, TOY_AT_IT + 1, " ->");
    }
    printf("\n");
    if (s->options.prompt != NULL) {
        show_sentence(s, s->prompt, s->prompt_count, "");
    } else {
        printf("Next: examples/README.md explains this model in lessons; docs/gpt.md trains a GPT "
               "on your own text.\n");
    }
}

static void run(const setup *s)
{
    const options *o = &s->options;
    const toy_language *language = &s->language;
    interrupt_catch();
    if (o->save != NULL) {
        signal(SIGPIPE, SIG_IGN); /* the model is saved even without a reader */
    }
    printf("%d training sentences, %d held out; %d words\n", language->train_count,
           language->held_out_count, language->word_count);
    toy_show_attention(stdout, s->model, language, &language->held_out[0],
                       o->steps > 0 ? "Before training" : "Attention");
    printf("\n");
    if (!console_flush() && o->save == NULL) {
        return; /* the output is lost */
    }
    if (o->steps > 0) {
        learn(s);
    }
    if (o->save != NULL && !heed_error_pending()) {
        model_save(o->save, s->model, language);
    }
    if (interrupted()) {
        fprintf(stderr, "next_token: interrupted\n");
    } else if (!heed_error_pending()) {
        show_after(s);
    }
}

int main(int argc, char **argv)
{
    static setup s; /* too large for the stack */
    console_begin(argv[0]);
    heed_set_flush_denormal(true); /* subnormal numbers are slow and do not affect training */
    if (*heed_isa() == '\0') {
        return console_complain(program, 1); /* HEED_ISA names an unsupported set */
    }
    if (console_version(argc, argv)) {
        return console_finish(program);
    }
    const bool help = flags_read(&table, &s.options, argc, argv);
    if (heed_error_pending()) {
        return console_misused(program, NULL);
    }
    if (help) {
        fputs(introduction, stdout);
        flags_help(&table, stdout);
        fputs(conclusion, stdout);
        return console_finish(program);
    }
    flags_complete(&table, &s.options);
    prepare(&s);
    const bool ready = !heed_error_pending();
    if (ready) {
        run(&s);
    }
    const heed_status error = heed_error_pending();
    heed_module_free(s.model);
    if (error != HEED_OK) {
        return console_complain(program, ready || error == HEED_ERR_MEMORY ? 1 : 2);
    }
    return console_finish(program);
}
