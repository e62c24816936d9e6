/* Activation patching: what the model computes for a clean sequence is put into its forward for a
 * corrupted one. Whatever restores the clean answer carries what tells the two apart. */
#include <math.h>

#include "examples/lab/toys/inside.h"

/* Two batches with the same shape, and the answers that tell them apart: those of both at each
 * scored position, TOYS_UNSCORED where they do not count. */
typedef struct pair {
    const toys_run *run;
    toys_batch clean, corrupted;
    heed_tensor *right, *wrong;
    recording *recorded; /* of the clean forward */
    double high, low;    /* the measure without patching: clean, corrupted */
} pair;

/* ---- the two batches ---- */

/* x with its first row moved to the end. */
static heed_tensor *next_rows(heed_tensor *x)
{
    heed_tensor *parts[] = {heed_narrow(x, 0, 1, heed_size(x, 0) - 1), heed_narrow(x, 0, 0, 1)};
    return heed_cat(parts, 2, 0);
}

/* The likeliest answer at the last token of a row, and no other. */
static heed_tensor *last_answer(const pair *p, const toys_batch *b)
{
    heed_tensor *logits = toys_forward(p->run->model, b);
    heed_tensor *answers =
        heed_full(HEED_SHAPE(1, b->shape.tokens), (double)TOYS_UNSCORED, HEED_I64);
    heed_tensor *likeliest = heed_argmax_dim(heed_select(logits, 1, -1), -1, false);
    if (!heed_error_pending()) {
        heed_data_i64(answers)[b->shape.tokens - 1] = heed_const_data_i64(likeliest)[0];
    }
    return answers;
}

/* ---- the measure ---- */

/* The mean logit of the clean answer less that of the corrupted one; NaN: they are the same
 * everywhere. */
static double measure(const pair *p, heed_tensor *outputs)
{
    const int64_t classes = p->clean.shape.outputs;
    const float *logits = heed_const_data_f32(heed_contiguous(outputs));
    const int64_t *right = heed_const_data_i64(p->right), *wrong = heed_const_data_i64(p->wrong);
    double sum = 0, count = 0;
    for (int64_t i = 0; !heed_error_pending() && i < p->right->numel; i++, logits += classes) {
        if (right[i] != wrong[i] && right[i] != TOYS_UNSCORED && wrong[i] != TOYS_UNSCORED) {
            sum += (double)logits[right[i]] - (double)logits[wrong[i]];
            count++;
        }
    }
    return sum / count;
}

/* ---- patching ---- */

static double patched(const pair *p, toys_place where)
{
    HEED_SCOPE_NO_GRAD(scope);
    const recorded *clean = recording_find(p->recorded, where.path, where.op, where.n);
    if (clean == NULL) {
        return (double)NAN;
    }
    where.by = TOYS_CLEAN;
    where.clean = clean->result;
    return measure(p, toys_replaced(p->run->model, &p->corrupted, where));
}

/* The residual stream after a layer is the model's last addition up to there: one adds the
 * positions, if they are added, and each layer has one or two. */
static double patch_position(const pair *p, int layer, int64_t position)
{
    const struct toys_model *m = p->run->model;
    const int before = m->wpe != NULL || m->pe != NULL, each = 1 + (m->settings.ff > 0);
    const int n = before + each * (layer + 1) - 1;
    return patched(p, (toys_place){.path = "Toy", .op = "add", .n = n, .at = position});
}

/* ---- the tables ---- */

/* Zhang and Nanda 2023: 0 is the corrupted forward, and 1 the clean one. */
static double restored(const pair *p, double measured)
{
    return 100 * (measured - p->low) / (p->high - p->low);
}

static void put_heads(FILE *stream, const pair *p)
{
    const toys_settings *s = &p->run->settings;
    fprintf(stream, "layer  head  difference  restored\n");
    for (int i = 0; i < s->layers * s->heads && !heed_error_pending(); i++) {
        const int layer = i / (int)s->heads, head = i % (int)s->heads;
        const double x = patched(p, toys_head(layer, head));
        fprintf(stream, "%5d %5d %11.3f", layer + 1, head + 1, x);
        toys_put_number(stream, 8, "%.1f", restored(p, x));
        fputs(" %\n", stream);
    }
}

static void put_positions(FILE *stream, const pair *p)
{
    const toys_run *r = p->run;
    char clean[TOYS_LABEL], corrupted[TOYS_LABEL];
    fprintf(stream, "\nrestored by a position of the residual stream\n"
                    "position   clean  corrupted");
    for (int i = 0; i < r->settings.layers; i++) {
        fprintf(stream, "  after layer %d", i + 1);
    }
    fputc('\n', stream);
    for (int64_t at = 0; at < p->clean.shape.tokens && !heed_error_pending(); at++) {
        toys_label(r->task, &r->settings, heed_const_data_i64(p->clean.inputs)[at], clean);
        toys_label(r->task, &r->settings, heed_const_data_i64(p->corrupted.inputs)[at], corrupted);
        fprintf(stream, "%8lld %7s %10s", (long long)at + 1, clean, corrupted);
        for (int i = 0; i < r->settings.layers; i++) {
            toys_put_number(stream, 13, "%.1f", restored(p, patch_position(p, i, at)));
            fputs(" %", stream);
        }
        fputc('\n', stream);
    }
}

void toys_put_patching(FILE *stream, const toys_run *r, const toys_options *o)
{
    HEED_SCOPE_NO_GRAD(scope);
    pair p = {.run = r, .clean = r->test, .corrupted = r->test};
    if (o->corrupted != NULL) {
        p.clean = toys_input(r, "--input", o->input);
        p.corrupted = toys_input(r, "--corrupted", o->corrupted);
        p.right = last_answer(&p, &p.clean);
        p.wrong = last_answer(&p, &p.corrupted);
    } else {
        p.corrupted.inputs = next_rows(p.clean.inputs);
        p.right = p.clean.targets;
        p.wrong = next_rows(p.clean.targets);
    }
    p.recorded = recording_begin();
    p.high = measure(&p, toys_forward(r->model, &p.clean));
    recording_stop(p.recorded);
    p.low = measure(&p, toys_forward(r->model, &p.corrupted));
    if (!heed_error_pending() && isnan(p.high)) {
        fprintf(stream, "\nnothing to patch: the clean and corrupted answers are the same\n");
    } else if (!heed_error_pending()) {
        fprintf(stream,
                "\nclean results put into corrupted sequences%s\n"
                "logit of the clean answer less that of the corrupted one: clean %.3f, "
                "corrupted %.3f\n",
                o->corrupted != NULL ? "" : ": each test sequence is corrupted by the next", p.high,
                p.low);
        put_heads(stream, &p);
        if (o->corrupted != NULL) {
            put_positions(stream, &p);
        }
    }
    recording_free(p.recorded);
}
