/* gpt sample: prints the tokens that a model generates, one by one. generate.c
 * does the sampling. */
#include "examples/lab/gpt/sample.h"

#include <string.h>
#include <unistd.h>

#include "examples/lab/common/console.h"
#include "examples/lab/gpt/checkpoint.h"

/* ---- the stream of tokens ---- */

gpt_stream gpt_stream_begin(FILE *to, const tokenizer *t)
{
    return (gpt_stream){
        .to = to, .terminal = isatty(fileno(to)), .tokenizer = t, .line_ended = true};
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

void gpt_stream_prompt(gpt_stream *s, const char *typed)
{
    if (typed != NULL && !heed_error_pending()) {
        text_append(&s->held, typed, strlen(typed));
        put(s, utf8_complete(s->held.bytes, s->held.length));
    }
}

void gpt_stream_token(gpt_stream *s, int64_t id)
{
    tokenizer_decode(s->tokenizer, id, &s->held);
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
    const char *bytes = prompt != NULL && *prompt != '\0' ? prompt : "\n";
    return tokenizer_encode(t, "--prompt", bytes, strlen(bytes));
}

text_buffer gpt_sample_text(struct gpt *m, const tokenizer *t, const char *prompt)
{
    enum { LENGTH = 200, SEED = 1337 };
    const heed_generator before = heed_get_generator();
    text_buffer text = {.length = 0};
    HEED_SCOPE(scope);
    token_list tokens = gpt_prompt(t, prompt);
    heed_manual_seed(SEED);
    heed_tensor *ids = gpt_generate(m, heed_from_i64(tokens.ids, HEED_SHAPE(1, tokens.count)),
                                    LENGTH, (gpt_generation){.sampling = {.temperature = 0.8}});
    heed_set_generator(&before);
    for (int64_t i = 0; !heed_error_pending() && i < heed_size(ids, 1); i++) {
        tokenizer_decode(t, heed_const_data_i64(ids)[i], &text);
        if (i + 1 == tokens.count && (prompt == NULL || *prompt == '\0')) {
            text.length = 0; /* the newline is not part of the sample */
        }
    }
    text_append(&text, "", 1);
    token_list_free(&tokens);
    return text;
}

/* ---- the command ---- */

/* Prints the token of the first row. */
static bool write_token(void *stream, const int64_t *ids, int64_t rows)
{
    (void)rows;
    gpt_stream_token(stream, ids[0]);
    return !interrupted() && console_flush() && !heed_error_pending();
}

static void write_on(const gpt_loaded *l, const gpt_sample_options *o, const token_list *tokens)
{
    gpt_stream stream = gpt_stream_begin(stdout, &l->record.tokenizer);
    HEED_SCOPE_NO_GRAD(scope);
    heed_manual_seed((uint64_t)o->seed);
    gpt_stream_prompt(&stream, o->prompt);
    console_flush();
    gpt_generate(l->model, heed_from_i64(tokens->ids, HEED_SHAPE(1, tokens->count)), o->length,
                 (gpt_generation){
                     .sampling = {.temperature = o->temperature,
                                  .top_k = o->top_k,
                                  .top_p = o->top_p,
                                  .greedy = o->temperature == 0},
                     .on_token = write_token,
                     .context = &stream,
                 });
    gpt_stream_end(&stream);
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
    flags_complete(&gpt_sample_flags, &o);
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
