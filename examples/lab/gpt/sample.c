/* gpt sample: prints the tokens that a model generates, one by one. generate.c
 * does the sampling. Of several texts generated at once, only the first is
 * printed as it grows. */
#include "examples/lab/gpt/sample.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "examples/lab/common/console.h"
#include "examples/lab/gpt/checkpoint.h"

/* ---- the stream of tokens ---- */

gpt_stream gpt_stream_begin(FILE *to, const tokenizer *t)
{
    return (gpt_stream){.to = to,
                        .terminal = isatty(fileno(to)),
                        .tokenizer = t,
                        .joint = {.tight = true},
                        .line_ended = true};
}

/* Writes the first `length` held bytes. */
static void put(gpt_stream *s, size_t length)
{
    text_buffer *held = &s->held;
    if (length > 0) {
        console_put(s->to, held->bytes, length, s->terminal);
        s->line_ended = held->bytes[length - 1] == '\n';
        memmove(held->bytes, held->bytes + length, held->length - length);
        held->length -= length;
    }
}

void gpt_stream_prompt(gpt_stream *s, const char *typed, const token_list *tokens)
{
    text_buffer joined = {.length = 0};
    for (int64_t i = 0; i < tokens->count; i++) { /* updates the joint */
        tokenizer_decode(s->tokenizer, &s->joint, tokens->ids[i], &joined);
    }
    text_free(&joined);
    if (typed != NULL && *typed != '\0') {
        text_append(&s->held, typed, strlen(typed));
        s->joint.tight = s->joint.tight || strchr(" \t\n", typed[strlen(typed) - 1]) != NULL;
        put(s, utf8_complete(s->held.bytes, s->held.length));
    }
}

void gpt_stream_token(gpt_stream *s, int64_t id)
{
    tokenizer_decode(s->tokenizer, &s->joint, id, &s->held);
    if (!heed_error_pending()) {
        put(s, utf8_complete(s->held.bytes, s->held.length));
    }
}

void gpt_stream_end(gpt_stream *s)
{
    put(s, s->held.length);
    if (!s->line_ended) {
        fputc('\n', s->to);
    }
    text_free(&s->held);
}

/* ---- prompts and samples ---- */

token_list gpt_prompt(const tokenizer *t, const char *prompt)
{
    token_span unknown = {NULL, 0};
    const bool typed = prompt != NULL && *prompt != '\0';
    const char *bytes = typed ? prompt : "\n";
    token_list tokens = {.count = 0};
    if (heed_error_pending()) {
        return tokens;
    }
    if (!typed || !token_level_is_spelt(t->level) || text_check("--prompt", bytes, strlen(bytes))) {
        tokens = tokenizer_encode(t, bytes, strlen(bytes), &unknown);
    }
    if (!typed && (unknown.bytes != NULL || tokens.count == 0) && !heed_error_pending()) {
        heed_fail(HEED_ERR_VALUE,
                  "--prompt: empty, and the model has no newline token to start from");
    } else if (unknown.bytes != NULL && t->level == LEVEL_CHAR) {
        tokenizer_refuse(t, "--prompt", bytes, unknown);
    } else if (tokens.count == 0) {
        heed_fail(HEED_ERR_VALUE, "--prompt: no tokens; the model needs at least one");
    }
    return tokens;
}

text_buffer gpt_sample_text(struct gpt *m, const tokenizer *t, const char *prompt)
{
    enum { LENGTH = 200, SEED = 1337 };
    const heed_generator before = heed_get_generator();
    text_joint joint = {.tight = true};
    text_buffer text = {.length = 0};
    HEED_SCOPE(scope);
    token_list tokens = gpt_prompt(t, prompt);
    heed_manual_seed(SEED);
    heed_tensor *ids = gpt_generate(m, heed_from_i64(tokens.ids, HEED_SHAPE(1, tokens.count)),
                                    LENGTH, (gpt_generation){.sampling = {.temperature = 0.8}});
    heed_set_generator(&before);
    for (int64_t i = 0; !heed_error_pending() && i < heed_size(ids, 1); i++) {
        tokenizer_decode(t, &joint, heed_const_data_i64(ids)[i], &text);
        if (i + 1 == tokens.count && (prompt == NULL || *prompt == '\0')) {
            text.length = 0; /* the newline is not part of the sample */
        }
    }
    text_append(&text, "", 1);
    token_list_free(&tokens);
    return text;
}

/* ---- the command ---- */

typedef struct writer {
    gpt_stream stream;
    int64_t written;
} writer;

/* Prints the token of the first row. */
static bool write_token(void *context, const int64_t *ids, int64_t rows)
{
    writer *w = context;
    w->written += rows;
    gpt_stream_token(&w->stream, ids[0]);
    return !interrupted() && console_flush() && !heed_error_pending();
}

/* Logits divided by the temperature must stay finite. */
static void check_temperature(double temperature)
{
    const double least = 1e-6;
    if (temperature > 0 && temperature < least) {
        heed_fail(HEED_ERR_VALUE,
                  "--temperature %g: too low; use 0 for the likeliest token, or at least %g",
                  temperature, least);
    }
}

static void tell_rate(const writer *w, double seconds)
{
    fprintf(stderr, "%lld tokens in %.2f s: %.0f tokens/s\n", (long long)w->written, seconds,
            seconds > 0 ? (double)w->written / seconds : 0);
}

/* One generator per row; row i has the seed --seed + i. */
static heed_generator *seed_rows(const gpt_sample_options *o)
{
    heed_generator *generators = heed_alloc((size_t)o->samples * sizeof *generators);
    for (int64_t i = 0; generators != NULL && i < o->samples; i++) {
        heed_manual_seed((uint64_t)o->seed + (uint64_t)i);
        generators[i] = heed_get_generator();
    }
    return generators;
}

/* Prints all rows of texts (samples, T) except the first: the prompt, then the new tokens. */
static void write_others(const gpt_loaded *l, const char *prompt, const token_list *tokens,
                         heed_tensor *texts)
{
    const int64_t rows = heed_size(texts, 0), length = heed_size(texts, 1);
    const int64_t *ids = heed_const_data_i64(texts);
    for (int64_t i = 1; i < rows && !heed_error_pending(); i++) {
        gpt_stream stream = gpt_stream_begin(stdout, &l->record.tokenizer);
        puts("---------------"); /* as in nanoGPT */
        gpt_stream_prompt(&stream, prompt, tokens);
        for (int64_t j = tokens->count; j < length; j++) {
            gpt_stream_token(&stream, ids[i * length + j]);
        }
        gpt_stream_end(&stream);
    }
}

static void write_on(const gpt_loaded *l, const gpt_sample_options *o, const token_list *tokens)
{
    writer w = {.stream = gpt_stream_begin(stdout, &l->record.tokenizer)};
    const double began = console_clock();
    HEED_SCOPE_NO_GRAD(scope);
    heed_generator *generators = seed_rows(o);
    heed_tensor *prompt = heed_from_i64(tokens->ids, HEED_SHAPE(1, tokens->count));
    gpt_stream_prompt(&w.stream, o->prompt, tokens);
    console_flush();
    heed_tensor *texts = gpt_generate(
        l->model, heed_expand(prompt, HEED_SHAPE(o->samples, tokens->count)), o->length,
        (gpt_generation){
            .sampling = {.temperature = o->temperature,
                         .top_k = o->top_k,
                         .top_p = o->top_p,
                         .greedy = o->temperature == 0,
                         .generators = generators},
            .on_token = write_token,
            .context = &w,
            .no_cache = o->no_cache,
        });
    gpt_stream_end(&w.stream);
    heed_free(generators);
    write_others(l, o->prompt, tokens, texts);
    if (!heed_error_pending() && (o->stats || isatty(STDERR_FILENO)) && console_flush()) {
        tell_rate(&w, console_clock() - began);
    }
}

int gpt_sample(int argc, char **argv)
{
    gpt_sample_options o = {.load = NULL};
    gpt_loaded l = {.model = NULL};
    token_list tokens = {.count = 0};
    int status = 0;
    if (!gpt_begin(&gpt_sample_flags, &o, argc, argv, &status)) {
        return status;
    }
    flags_complete(&gpt_sample_flags, &o, 0);
    check_temperature(o.temperature);
    if (gpt_load(&l, "--load", o.load) == HEED_OK) {
        tokens = gpt_prompt(&l.record.tokenizer, o.prompt);
    }
    const bool ready = !heed_error_pending();
    if (ready) {
        interrupt_catch();
        write_on(&l, &o, &tokens);
    }
    status = gpt_end(ready);
    token_list_free(&tokens);
    gpt_loaded_free(&l);
    return status;
}
