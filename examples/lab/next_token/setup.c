/* The command line of next_token and the setup that it describes: options, data, vocabulary and
 * model. No step does anything while an error is pending. */
#include "examples/lab/next_token/setup.h"

#include <string.h>

#include "examples/lab/common/console.h"
#include "examples/lab/common/preflight.h"

enum { MEASURED = 128 }; /* maximum number of pieces in the held-out loss */

/* ---- the command line ---- */

#define ROW(kind, field, ...) FLAG_ROW(options, kind, field, __VA_ARGS__)
static const flag_row flags[] = {OPTIONS(ROW)};
static const flag_table table = {flags, sizeof flags / sizeof *flags, model_task_names,
                                 "use --text FILE for a text"};

options options_read(int argc, char **argv)
{
    options o = {.help = false};
    o.help = flags_read(&table, &o, argc, argv);
    return o;
}

const flag_table *const options_flags = &table;

void options_complete(options *o, model_task task)
{
    flags_complete(&table, o, (int)task);
}

static const char introduction[] =
    "usage: next_token [--text FILE] [--FLAG VALUE | --FLAG=VALUE] ...\n"
    "\n"
    "Trains a model with one self-attention layer to predict the next token of your own text.\n"
    "Without --text it learns a toy language, with sentences such as \"the pizza came out of the\n"
    "oven and it tasted good\", and shows its attention before and after training.\n"
    "\n";

static const char conclusion[] =
    "\n"
    "The last tenth of a text is held out if it is longer than --context. Without --prompt the\n"
    "model continues the beginning of that part. Losses are in nats per token. A loaded model\n"
    "determines level, vocabulary, d-model, heads and context; unless it is the toy model, it\n"
    "is trained only with --text. On one machine the same flags and files give the same output.\n"
    "\n"
    "Results go to stdout, progress to stderr: a bar on a terminal; plain lines elsewhere, or if\n"
    "TERM is dumb. NO_COLOR disables colours. Ctrl-C finishes the current step, saves, draws and\n"
    "exits; a second Ctrl-C exits at once.\n"
    "\n"
    "next_token --version prints the version, the compiler and the instruction set.\n"
    "\n"
    "Exit status: 0 on success or Ctrl-C, 2 for invalid flags or input files, 1 for other errors.\n"
    "\n"
    "  next_token --text book.txt --save book.safetensors --report book.html\n"
    "  next_token --load book.safetensors --prompt \"It was\"\n"
    "  next_token --prompt \"the dragon was found near the castle and it\" --heads 2\n";

void options_help(FILE *stream)
{
    console_put_help(stream, "next_token", introduction);
    flags_help(&table, stream);
    console_put_help(stream, "next_token", conclusion);
}

const char options_needs_less[] = "--batch, --context or --d-model";

/* ---- are the options consistent? ---- */

static void expect_same(const char *flag, bool given, int64_t value, int64_t in_file)
{
    if (given && value != in_file) {
        heed_fail(HEED_ERR_VALUE, "%s %lld: the model of --load has %lld", flag, (long long)value,
                  (long long)in_file);
    }
}

/* A loaded model determines these options; flags may only repeat them. */
static void take_from_model(setup *s, const model_description *saved)
{
    options *o = &s->options;
    const bool reads = saved->task != TASK_TOY;
    const int64_t level = saved->task == TASK_CHAR ? TEXT_CHAR : TEXT_WORD;
    if (o->given.text && !reads) {
        heed_fail(HEED_ERR_VALUE,
                  "--text: the model of --load was trained on the toy, not on a text");
    }
    if (reads && o->given.level && o->level != level) {
        heed_fail(HEED_ERR_VALUE, "--level %s: a token of the model of --load is a %s",
                  text_level_name((text_level)o->level), text_token_name((text_level)level));
    }
    expect_same("--d-model", o->given.d_model, o->d_model, saved->sizes.d_model);
    expect_same("--heads", o->given.heads, o->heads, saved->sizes.heads);
    expect_same("--context", reads && o->given.context, o->context, saved->sizes.context);
    if (reads && !o->given.text && o->given.steps && o->steps > 0) {
        heed_fail(HEED_ERR_VALUE, "--steps %lld: no --text FILE to train on", (long long)o->steps);
    }
    if (reads && !o->given.text && !o->given.prompt) {
        heed_fail(HEED_ERR_VALUE, "--load: nothing to do without --text FILE or --prompt TEXT");
    }
    if (reads && !o->given.text) {
        o->steps = 0;
        o->given.steps = true;
    }
    o->level = level;
    o->d_model = saved->sizes.d_model;
    o->heads = saved->sizes.heads;
    o->context = saved->sizes.context;
    o->given.level = o->given.d_model = o->given.heads = o->given.context = true;
}

static void settle_options(setup *s, const model_description *saved)
{
    options *o = &s->options;
    if (saved != NULL) {
        s->task = saved->task;
    } else if (!o->given.text) {
        s->task = TASK_TOY;
    } else {
        s->task = o->given.level && o->level == TEXT_WORD ? TASK_WORD : TASK_CHAR;
    }
    if (s->task == TASK_TOY && (o->given.level || o->given.context)) {
        heed_fail(HEED_ERR_VALUE, "%s: only with --text FILE; the toy's sentences have %d words",
                  o->given.level ? "--level" : "--context", TOY_LENGTH - 1);
    }
    if (saved != NULL) {
        take_from_model(s, saved);
    }
    options_complete(o, s->task);
    if (o->d_model % o->heads != 0) {
        heed_fail(HEED_ERR_VALUE, "--d-model %lld: not divisible by --heads %lld",
                  (long long)o->d_model, (long long)o->heads);
    }
}

/* ---- the data ---- */

static void take_toy(setup *s, toy_language *language)
{
    toy_language_make(language, (uint64_t)s->options.seed);
    if (s->vocabulary.count == 0) {
        s->vocabulary = toy_vocabulary(language);
    }
    if (s->vocabulary.count != language->word_count) {
        heed_fail(HEED_ERR_VALUE, "--load: the toy's vocabulary has %lld words, expected %d",
                  (long long)s->vocabulary.count, language->word_count);
    }
    s->training = toy_pieces(language->train, language->train_count);
    s->held_out = toy_pieces(language->held_out, language->held_out_count);
}

static void take_text(setup *s)
{
    const options *o = &s->options;
    const text_level level = (text_level)o->level;
    text_buffer t = text_read(o->text);
    if (s->vocabulary.count == 0 && !heed_error_pending()) {
        s->vocabulary = vocabulary_of_text(level, t.bytes, t.length, VOCABULARY_LIMIT);
    }
    if (!heed_error_pending()) {
        s->text = vocabulary_encode(&s->vocabulary, t.bytes, t.length, NULL);
    }
    text_free(&t);
    const int64_t count = s->text.count, needed = o->context + 2;
    if (count < needed) {
        heed_fail(HEED_ERR_VALUE, "%s: too short: it has %lld %s%s; --context %lld needs %lld",
                  o->text, (long long)count, text_token_name(level), count == 1 ? "" : "s",
                  (long long)o->context, (long long)needed);
        return;
    }
    const int64_t held = count / 10 > o->context ? count / 10 : 0; /* long enough for one piece */
    s->training = pieces_of_text(s->text.ids, count - held, o->context);
    s->held_out = pieces_in_turn(s->text.ids + count - held, held, o->context, MEASURED);
}

static void take_prompt(setup *s)
{
    const char *prompt = s->options.prompt;
    token_span unknown = {NULL, 0};
    if (prompt == NULL || !text_check("--prompt", prompt, strlen(prompt))) {
        return;
    }
    s->prompt = vocabulary_encode(&s->vocabulary, prompt, strlen(prompt), &unknown);
    if (unknown.bytes != NULL) {
        heed_fail(HEED_ERR_VALUE, "--prompt: '%.*s' is not among the model's %lld %ss",
                  unknown.length < 80 ? (int)unknown.length : 80, unknown.bytes,
                  (long long)(s->vocabulary.count - (s->vocabulary.unknown == 0)),
                  text_token_name(s->vocabulary.level));
    } else if (s->prompt.count == 0) {
        heed_fail(HEED_ERR_VALUE, "--prompt: empty; the model needs at least one token");
    }
}

static void check_outputs(const options *o)
{
    const path_use files[] = {
        {.flag = "--text", .path = o->text},
        {.flag = "--load", .path = o->load},
        {.flag = "--save", .path = o->save, .written = true, .replaces = "--load"},
        {.flag = "--logits", .path = o->logits, .written = true},
        {.flag = "--log", .path = o->log, .written = true, .device = true},
        {.flag = "--report", .path = o->report, .written = true}};
    path_check_all(files, sizeof files / sizeof *files);
}

/* Logits are quick to write again. */
static void check_overwriting(const options *o)
{
    static const char way_out[] = "--force overwrites it";
    if (o->force) {
        return;
    }
    if (!path_same(o->save, o->load)) {
        path_check_unused("--save", o->save, way_out);
    }
    path_check_unused("--log", o->log, way_out);
    path_check_unused("--report", o->report, way_out);
}

/* ---- the setup ---- */

static void make_model(setup *s)
{
    const options *o = &s->options;
    const model_sizes sizes = {s->vocabulary.count, o->context, o->d_model, (int)o->heads};
    if (o->steps > 0) {
        memory_check(model_step_bytes(sizes, o->batch), options_needs_less);
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

heed_status setup_prepare(setup *s, const options *given, toy_language *language)
{
    *s = (setup){.options = *given};
    if (given->load != NULL) {
        model_description saved = model_describe_file(given->load);
        s->vocabulary = saved.vocabulary;
        if (!heed_error_pending()) {
            settle_options(s, &saved);
        }
    } else {
        settle_options(s, NULL);
    }
    if (heed_error_pending()) {
        return heed_error_pending();
    }
    if (s->task == TASK_TOY) {
        take_toy(s, language);
    } else if (s->options.text != NULL) {
        take_text(s);
    }
    if (!heed_error_pending()) {
        take_prompt(s);
        check_outputs(&s->options);
        check_overwriting(&s->options);
        make_model(s);
    }
    return heed_error_pending();
}

void setup_free(setup *s)
{
    heed_module_free(s->model);
    vocabulary_free(&s->vocabulary);
    token_list_free(&s->text);
    token_list_free(&s->prompt);
    *s = (setup){.task = TASK_TOY};
}

const int64_t *setup_sample(const setup *s, int64_t most, int64_t *count)
{
    const pieces *p = s->held_out.count > 0 ? &s->held_out : &s->training;
    most = most < s->options.context ? most : s->options.context;
    if (s->prompt.count > 0) {
        *count = s->prompt.count < most ? s->prompt.count : most;
        return s->prompt.ids + s->prompt.count - *count;
    }
    *count = p->length - 1 < most ? p->length - 1 : most;
    return p->tokens;
}
