/* Attention weights, scores of heads, ablation and logit attribution. */
#include "examples/lab/toys/inside.h"

#include <math.h>
#include <string.h>

#include "examples/lab/common/console.h"

void toys_put_number(FILE *stream, int width, const char *format, double x)
{
    char text[32] = "-";
    if (!isnan(x)) {
        snprintf(text, sizeof text, format, x);
    }
    fprintf(stream, "%*s", width, text);
}

/* ---- the input ---- */

/* The token that a word names; -1, with an error: none. */
static int64_t token_named(const toys_run *r, const char *flag, const char *word)
{
    char label[TOYS_LABEL];
    for (int64_t token = 0; token < r->model->shape.vocabulary; token++) {
        toys_label(r->task, &r->settings, token, label);
        if (strcmp(label, word) == 0) {
            return token;
        }
    }
    heed_fail(HEED_ERR_VALUE, "%s: %s has no token '%s'", flag, r->task->name, word);
    return -1;
}

toys_batch toys_input(const toys_run *r, const char *flag, const char *text)
{
    toys_batch b = {.shape = r->test.shape, .rows = 1};
    b.shape.first = 0;
    b.shape.every = 1;
    if (text == NULL) {
        b.inputs = heed_narrow(r->test.inputs, 0, 0, 1);
        return b;
    }
    const int64_t most = r->model->shape.tokens;
    char word[TOYS_LABEL];
    int length = 0;
    b.shape.tokens = 0;
    b.inputs = heed_empty(HEED_SHAPE(1, most), HEED_I64);
    for (; !heed_error_pending() && sscanf(text, " %23s%n", word, &length) == 1; text += length) {
        const int64_t token = token_named(r, flag, word);
        if (b.shape.tokens == most && !heed_error_pending()) {
            heed_fail(HEED_ERR_VALUE, "%s: more than %lld tokens", flag, (long long)most);
        }
        if (!heed_error_pending()) {
            heed_data_i64(b.inputs)[b.shape.tokens++] = token;
        }
    }
    if (b.shape.tokens == 0 && !heed_error_pending()) {
        heed_fail(HEED_ERR_VALUE, "%s: no tokens", flag);
    }
    b.inputs = heed_narrow(b.inputs, 1, 0, b.shape.tokens);
    return b;
}

/* ---- attention ---- */

/* The operation has queries, keys and values as its inputs, from which the weights follow. */
heed_tensor *toys_attention(struct toys_model *m, const toys_batch *b, int layer)
{
    HEED_SCOPE_NO_GRAD(scope);
    heed_tensor *weights = NULL;
    recording *r = recording_begin();
    toys_forward(m, b);
    const recorded *attend =
        recording_find(r, toys_head(layer, 0).path, "scaled_dot_product_attention", 0);
    if (attend != NULL) {
        heed_tensor *const *qkv = attend->inputs;
        const bool causal = heed_size(qkv[0], 2) == heed_size(qkv[1], 2);
        recording_stop(r);
        heed_scaled_dot_product_attention(qkv[0], qkv[1], qkv[2], .is_causal = causal,
                                          .weights = &weights);
    }
    recording_free(r);
    return heed_scope_keep(&scope, weights);
}

const char **toys_labels(const toys_run *r, const toys_batch *b)
{
    const size_t count = (size_t)b->shape.tokens;
    const char **labels = heed_alloc(count * (sizeof *labels + TOYS_LABEL));
    for (size_t i = 0; labels != NULL && i < count; i++) {
        char *text = (char *)(labels + count) + i * TOYS_LABEL;
        labels[i] = text;
        if (b->shape.vocabulary == 0) {
            snprintf(text, TOYS_LABEL, "%c%d", i % 2 == 0 ? 'x' : 'y', (int)(i / 2 % 100) + 1);
        } else {
            toys_label(r->task, &r->settings, heed_const_data_i64(b->inputs)[i], text);
        }
    }
    return labels;
}

void toys_put_attention(FILE *stream, const toys_run *r, const toys_options *o)
{
    const toys_batch b = toys_input(r, "--input", o->input);
    const char **labels = heed_error_pending() ? NULL : toys_labels(r, &b);
    for (int i = 0; i < r->settings.layers * r->settings.heads && !heed_error_pending(); i++) {
        HEED_SCOPE_NO_GRAD(scope);
        const int64_t layer = i / r->settings.heads, head = i % r->settings.heads;
        heed_tensor *weights = heed_squeeze(toys_attention(r->model, &b, (int)layer), 0);
        fprintf(stream, "%s, layer %lld, head %lld\n\n", r->task->name, (long long)layer + 1,
                (long long)head + 1);
        heed_heat_map(stream, heed_select(weights, 0, head), labels, labels, HEED_COLOR_AUTO);
        console_drawn();
    }
    heed_free(labels);
}

/* ---- scores of heads ---- */

/* How much a head attends, on average, to the previous token, and to the token that an induction
 * head attends to: the one after the last occurrence of the present token; NaN: the task has none.
 */
static void put_score(FILE *stream, const toys_run *r, const toys_batch *b, int layer, int head)
{
    HEED_SCOPE_NO_GRAD(scope);
    heed_tensor *weights = toys_attention(r->model, b, layer);
    const int64_t tokens = b->shape.tokens;
    heed_tensor *mine = heed_contiguous(heed_select(weights, 1, head)); /* (rows, T, T) */
    const float *percent = heed_const_data_f32(mine);
    double previous = 0, induction = 0, count = 0, pairs = 0;
    for (int64_t row = 0; row < b->rows && !heed_error_pending(); row++) {
        for (int64_t t = 1; t < tokens; t++) {
            const float *of_query = percent + (row * tokens + t) * tokens;
            const int64_t target = r->task->induction_target != NULL
                                       ? r->task->induction_target(&r->test, row, t)
                                       : -1;
            previous += (double)of_query[t - 1];
            count++;
            if (target >= 0) {
                induction += (double)of_query[target];
                pairs++;
            }
        }
    }
    fprintf(stream, "%5d %5d", layer + 1, head + 1);
    toys_put_number(stream, 23, "%.3f", previous / count);
    toys_put_number(stream, 22, "%.3f", induction / pairs);
    fputc('\n', stream);
}

void toys_put_scores(FILE *stream, const toys_run *r, const toys_options *o)
{
    toys_batch b = r->test;
    b.shape.first = 0; /* all queries */
    b.shape.every = 1;
    (void)o;
    fprintf(stream, "\nattention, on average over the test batch\n"
                    "layer  head  to the previous token  as an induction head\n");
    for (int layer = 0; layer < r->settings.layers; layer++) {
        for (int head = 0; head < r->settings.heads && !heed_error_pending(); head++) {
            put_score(stream, r, &b, layer, head);
        }
    }
}

/* ---- replacing a part of a result ---- */

toys_place toys_head(int layer, int head)
{
    toys_place place = {.op = "scaled_dot_product_attention", .at = head};
    snprintf(place.path, sizeof place.path, "Toy.blocks.%d", layer);
    return place;
}

static heed_tensor *replace(heed_hook *self, const heed_call *call, heed_tensor *y)
{
    toys_place *where = self->context;
    if (strcmp(call->op->name, where->op) != 0 ||
        strcmp(heed_module_path().text, where->path) != 0 || where->n-- != 0) {
        return y;
    }
    const int64_t count = heed_size(y, 1);
    heed_tensor *chosen =
        heed_zeros(y->ndim == 4 ? HEED_SHAPE(count, 1, 1) : HEED_SHAPE(count, 1), HEED_BOOL);
    if (heed_error_pending()) {
        return y;
    }
    heed_data_bool(chosen)[where->at] = true;
    if (where->by == TOYS_ZEROS) {
        return heed_masked_fill(y, chosen, 0);
    }
    heed_tensor *together = heed_flatten(heed_transpose(y, 0, 1), 1, 2);
    heed_tensor *with = where->by == TOYS_MEAN ? heed_mean_dim(together, 1, true) : where->clean;
    return heed_where(chosen, with, y);
}

heed_tensor *toys_replaced(struct toys_model *m, const toys_batch *b, toys_place where)
{
    heed_hook hook = {.context = &where, .result = replace};
    heed_hook_add(&hook);
    heed_tensor *outputs = toys_forward(m, b);
    heed_hook_remove(&hook);
    return outputs;
}

void toys_put_ablation(FILE *stream, const toys_run *r, const toys_options *o)
{
    const toys_score *x = &r->result.test;
    (void)o;
    fprintf(stream,
            "\none head replaced     by zeros              by its mean\n"
            "layer  head           loss      score      loss      score\n"
            "   none         %9.4f  %9.4f %9.4f  %9.4f\n",
            x->loss, x->score, x->loss, x->score);
    for (int i = 0; i < r->settings.layers * r->settings.heads && !heed_error_pending(); i++) {
        HEED_SCOPE_NO_GRAD(scope);
        const int layer = i / (int)r->settings.heads, head = i % (int)r->settings.heads;
        toys_place place = toys_head(layer, head);
        const toys_score zeros = toys_measure(&r->test, toys_replaced(r->model, &r->test, place));
        place.by = TOYS_MEAN;
        const toys_score mean = toys_measure(&r->test, toys_replaced(r->model, &r->test, place));
        fprintf(stream, "%5d %5d     %9.4f  %9.4f %9.4f  %9.4f\n", layer + 1, head + 1, zeros.loss,
                zeros.score, mean.loss, mean.score);
    }
}

/* ---- logit attribution ---- */

/* With the scale of the last norm fixed, the right logit less the mean logit is linear in the
 * residual stream. */
typedef struct slope {
    FILE *stream;
    const toys_run *run;
    heed_tensor *slope; /* (rows, scored, width) */
    double count, sum;  /* of scored positions; of what has been added */
} slope;

/* By the logits, (rows, scored, outputs). Of a number, the direction of the right one counts. */
static heed_tensor *by_logits(const toys_batch *b, double *count)
{
    const int64_t outputs = b->shape.outputs;
    heed_tensor *by = heed_zeros(HEED_SHAPE(b->rows, toys_scored(&b->shape), outputs), HEED_F32);
    float *at = heed_data_f32(by);
    for (int64_t i = 0; !heed_error_pending() && i < b->targets->numel; i++, at += outputs) {
        const int64_t right = b->shape.vocabulary > 0 ? heed_const_data_i64(b->targets)[i] : -1;
        for (int64_t j = 0; right >= 0 && j < outputs; j++) {
            at[j] = (j == right) - 1 / (float)outputs;
        }
        if (b->shape.vocabulary == 0) {
            at[0] = heed_const_data_f32(b->targets)[i] < 0 ? -1 : 1;
        }
        *count += right != TOYS_UNSCORED;
    }
    return by;
}

static heed_tensor *centred(heed_tensor *x)
{
    return heed_sub(x, heed_mean_dim(x, -1, true));
}

/* x (rows, T, width): a part of the sum, of all tokens or of the scored ones. */
static void put_part(slope *p, const char *name, heed_tensor *x, heed_tensor *by)
{
    const toys_shape *shape = &p->run->test.shape;
    if (heed_size(x, 1) == shape->tokens) {
        x = heed_slice(x, 1, shape->first, INT64_MAX, shape->every);
    }
    const double added = heed_item(heed_sum(heed_mul(x, by))) / p->count;
    fprintf(p->stream, "%-20s %9.3f\n", name, added);
    p->sum += added;
}

/* What a layer adds. W_o's input is the heads' outputs side by side: each has columns of its own in
 * W_o's weight. */
static void put_layer(slope *p, const recording *r, int layer)
{
    const toys_settings *s = &p->run->settings;
    const int64_t wide = s->width / s->heads;
    char path[96], name[48];
    snprintf(path, sizeof path, "%s.W_o", toys_head(layer, 0).path);
    const recorded *W_o = recording_find(r, path, "linear", 0);
    for (int64_t head = 0; head < s->heads && !heed_error_pending(); head++) {
        heed_tensor *z = heed_narrow(W_o->inputs[0], -1, head * wide, wide);
        heed_tensor *weight = heed_narrow(W_o->inputs[1], 1, head * wide, wide);
        snprintf(name, sizeof name, "layer %d head %d", layer + 1, (int)head + 1);
        put_part(p, name, heed_linear(z, weight, NULL), p->slope);
    }
    snprintf(path, sizeof path, "%s.ff.linear2", toys_head(layer, 0).path);
    snprintf(name, sizeof name, "layer %d ff", layer + 1);
    const recorded *ff = s->ff > 0 ? recording_find(r, path, "linear", 0) : NULL;
    if (ff != NULL) {
        put_part(p, name, ff->result, p->slope);
    }
}

double toys_attribute(FILE *stream, const toys_run *run)
{
    HEED_SCOPE_NO_GRAD(scope);
    const struct toys_model *m = run->model;
    const toys_batch *b = &run->test;
    slope p = {.stream = stream, .run = run};
    recording *r = recording_begin();
    heed_tensor *logits = toys_forward(run->model, b), *by = by_logits(b, &p.count);
    recording_stop(r);
    const recorded *norm = m->norm != NULL ? recording_find(r, "Toy.norm", NULL, 0) : NULL;
    const recorded *tokens = recording_find(r, m->wte != NULL ? "Toy.wte" : "Toy.input", NULL, 0);
    heed_tensor *positions = m->wpe != NULL ? m->wpe->weight : m->pe;
    heed_tensor *after = heed_matmul(by, m->unembed->weight); /* the slope after the last norm */
    p.slope = after;
    if (norm != NULL) {
        heed_tensor *variance = heed_mean_dim(heed_square(centred(norm->inputs[0])), -1, true);
        p.slope = heed_mul(centred(heed_mul(after, m->norm->weight)),
                           heed_rsqrt(heed_add_scalar(variance, 1e-5)));
    }
    fprintf(stream,
            "\nwhat each part adds to the logit of the right answer, above the mean logit\n");
    if (!heed_error_pending()) {
        put_part(&p, "tokens", tokens->result, p.slope);
    }
    if (positions != NULL && !heed_error_pending()) {
        positions = heed_narrow(positions, 0, 0, b->shape.tokens);
        put_part(&p, "positions", heed_expand(positions, HEED_SHAPE(b->rows, -1, -1)), p.slope);
    }
    for (int i = 0; i < run->settings.layers && !heed_error_pending(); i++) {
        put_layer(&p, r, i);
    }
    if (norm != NULL && !heed_error_pending()) {
        const heed_shape shape = HEED_SHAPE(b->rows, toys_scored(&b->shape), -1);
        put_part(&p, "offset of the norm", heed_expand(m->norm->bias, shape), after);
    }
    const double all = heed_item(heed_sum(heed_mul(logits, by))) / p.count;
    fprintf(stream, "%-20s %9.3f\n", "all", all);
    recording_free(r);
    return p.sum - all;
}

/* ---- the spectrum of the embedding ---- */

void toys_spectrum(const struct toys_model *m, int64_t period, double *shares)
{
    const int64_t width = m->settings.width, count = period / 2;
    const float *x = heed_const_data_f32(m->wte->weight);
    double all = 0;
    for (int64_t k = 1; k <= count && !heed_error_pending(); k++) {
        shares[k - 1] = 0;
        for (int64_t i = 0; i < width; i++) {
            double cosine = 0, sine = 0;
            for (int64_t t = 0; t < period; t++) {
                const double angle = 2 * acos(-1) * (double)(k * t % period) / (double)period;
                cosine += cos(angle) * (double)x[t * width + i];
                sine += sin(angle) * (double)x[t * width + i];
            }
            shares[k - 1] += cosine * cosine + sine * sine;
        }
        all += shares[k - 1];
    }
    for (int64_t k = 0; k < count; k++) {
        shares[k] /= all;
    }
}

void toys_put_spectrum(FILE *stream, const toys_run *r, const toys_options *o)
{
    (void)o;
    const int64_t period = r->settings.symbols, count = period / 2;
    double *shares = heed_alloc((size_t)(count + 1) * sizeof *shares), sum = 0;
    if (shares == NULL) {
        return;
    }
    toys_spectrum(r->model, period, shares);
    fprintf(stream, "\npower of the embedding\n");
    int64_t shown = 0;
    for (; sum < 0.9 && shown < count; shown++) { /* takes the largest share that is left */
        int64_t largest = 0;
        for (int64_t k = 1; k < count; k++) {
            largest = shares[k] > shares[largest] ? k : largest;
        }
        if (shown < 10) {
            fprintf(stream, "frequency %3lld  %5.1f %%\n", (long long)largest + 1,
                    100 * shares[largest]);
        }
        sum += shares[largest];
        shares[largest] = 0;
    }
    fprintf(stream, "%lld of %lld frequencies have %.1f %%\n", (long long)shown, (long long)count,
            100 * sum);
    heed_free(shares);
}
