/* Sampling: choose a token, append it, run the model again. */
#include "examples/next_token/write.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "examples/common/console.h"

/* The largest logit. */
static int64_t likeliest(heed_tensor *logits, int64_t never)
{
    int64_t best = never == 0;
    for (int64_t word = best + 1; word < logits->numel; word++) {
        if (word != never &&
            heed_at(logits, HEED_INDEX(word)) > heed_at(logits, HEED_INDEX(best))) {
            best = word;
        }
    }
    return best;
}

/* How likely a token is, next to the likeliest one's 1. */
static double chance(heed_tensor *logits, int64_t word, double largest, double temperature)
{
    return exp((heed_at(logits, HEED_INDEX(word)) - largest) / temperature);
}

int64_t write_choose(heed_tensor *logits, double temperature, int64_t never)
{
    const int64_t best = likeliest(logits, never);
    if (temperature == 0 || heed_error_pending()) {
        return best;
    }
    heed_scope scope;
    heed_scope_begin_no_grad(&scope);
    double left = heed_item(heed_rand(HEED_SHAPE(1), HEED_F64)), sum = 0;
    heed_scope_end(&scope);
    const double largest = heed_at(logits, HEED_INDEX(best));
    for (int64_t word = 0; word < logits->numel; word++) {
        sum += word == never ? 0 : chance(logits, word, largest, temperature);
    }
    left *= sum;
    for (int64_t word = 0; word < logits->numel; word++) {
        left -= word == never ? 0 : chance(logits, word, largest, temperature);
        if (left < 0) {
            return word;
        }
    }
    return best; /* what rounding leaves over */
}

static void put_token(FILE *stream, const vocabulary *v, int64_t id, text_joint *joint,
                      bool terminal)
{
    text_buffer joined = {.length = 0};
    text_join(&joined, v->level, joint, vocabulary_token(v, id));
    console_put(stream, joined.bytes, joined.length, terminal);
    text_free(&joined);
}

text_joint write_start(FILE *stream, const vocabulary *v, const token_list *tokens,
                       const char *typed)
{
    const bool terminal = isatty(fileno(stream));
    text_joint joint = {.tight = true};
    text_buffer joined = {.length = 0};
    for (int64_t i = 0; i < tokens->count; i++) {
        text_join(&joined, v->level, &joint, vocabulary_token(v, tokens->ids[i]));
    }
    const char *bytes = typed != NULL ? typed : joined.bytes;
    const size_t length = typed != NULL ? strlen(typed) : joined.length;
    if (length > 0 && !heed_error_pending()) {
        console_put(stream, bytes, length, terminal);
        joint.tight = joint.tight || strchr(" \t\n", bytes[length - 1]) != NULL;
    }
    text_free(&joined);
    return joint;
}

heed_status write_on(FILE *stream, struct token_model *m, const vocabulary *v, token_list *tokens,
                     text_joint joint, write_options options)
{
    const bool terminal = isatty(fileno(stream));
    for (int64_t i = 0; i < options.most && !interrupted() && !ferror(stream); i++) {
        heed_scope scope;
        heed_scope_begin_no_grad(&scope);
        const int64_t id = write_choose(model_next(m, tokens->ids, tokens->count),
                                        options.temperature, v->unknown);
        heed_scope_end(&scope);
        if (heed_error_pending() || id == options.stop) {
            break;
        }
        put_token(stream, v, id, &joint, terminal);
        token_list_add(tokens, id);
        if (terminal) {
            fflush(stream); /* to be read as it comes */
        }
    }
    return heed_error_pending();
}
