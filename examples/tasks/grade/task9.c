/* The model of task 9, and its grader. */
#define GRADER
#include "task9.h"

/* ---- the model ---- */

static void destroy(void *module)
{
    struct writer *m = module;
    keep(&m->keys, NULL);
    keep(&m->values, NULL);
}

static const heed_module_kind writer_kind = {
    .name = "Writer", .size = sizeof(struct writer), .destroy = destroy};

static struct writer *writer_new(int64_t d_model)
{
    struct writer *m = heed_module_new(&writer_kind);
    HEED_CHILD(m, W_q, heed_linear_new(d_model, d_model, .no_bias = true));
    HEED_CHILD(m, W_k, heed_linear_new(d_model, d_model, .no_bias = true));
    HEED_CHILD(m, W_v, heed_linear_new(d_model, d_model, .no_bias = true));
    HEED_CHILD(m, W_o, heed_linear_new(d_model, d_model, .no_bias = true));
    HEED_BUFFER(m, positions, heed_randn(HEED_SHAPE(LONGEST, d_model), HEED_F32));
    for (int i = 0; i < 4; i++) { /* scores of a size that makes weights differ */
        struct heed_linear *const layers[] = {m->W_q, m->W_k, m->W_v, m->W_o};
        HEED_SCOPE_NO_GRAD(scope);
        heed_copy_into(layers[i]->weight, heed_mul_scalar(layers[i]->weight, 2));
    }
    return m;
}

heed_tensor *with_positions(struct writer *m, heed_tensor *x, int64_t position)
{
    return heed_add(x, heed_narrow(m->positions, 0, position, heed_size(x, 1)));
}

heed_tensor *attend(heed_tensor *q, heed_tensor *k, heed_tensor *v, heed_tensor *block_mask)
{
    heed_tensor *scores = heed_matmul(q, heed_transpose(k, -2, -1));
    scores = heed_div_scalar(scores, sqrt((double)heed_size(k, -1)));
    if (block_mask != NULL) {
        scores = heed_masked_fill(scores, block_mask, -(double)INFINITY);
    }
    return heed_matmul(heed_softmax(scores, -1), v);
}

void keep(heed_tensor **place, heed_tensor *t)
{
    heed_tensor *before = *place;
    *place = t != NULL ? heed_retain(t) : NULL;
    if (before != NULL) {
        heed_release(before);
    }
}

/* ---- the right row ---- */

/* Row p of x (B, T, d), (B, 1, d); sets what the formulas of known mistakes read. `old` is the
 * sentence before, or NULL. */
static heed_tensor *row_of(struct writer *m, heed_tensor *x, heed_tensor *old, int64_t p)
{
    heed_tensor *positions = m->positions, *first = heed_narrow(positions, 0, 0, 1);
    grade_forget();
    grade_let_number("p", (double)p);
    grade_let_number("d", (double)heed_size(x, 2));
    grade_let("x", heed_narrow(x, 1, 0, p + 1));
    grade_let("own", heed_narrow(positions, 0, 0, p + 1));
    grade_let("zero", first);
    grade_let("later", heed_causal_block_mask(p + 1));
    grade_let("empty",
              heed_zeros(HEED_SHAPE(heed_size(x, 0), LONGEST - p - 1, heed_size(x, 2)), HEED_F64));
    if (p == 0) {
        grade_let("first", heed_narrow(x, 1, 0, 1));
    }
    if (p + 2 <= LONGEST) {
        heed_tensor *rows[] = {first, heed_narrow(positions, 0, 2, p)};
        grade_let("next", heed_narrow(positions, 0, 1, p + 1));
        grade_let("jump", heed_cat(rows, 2, 0));
    }
    if (old != NULL && heed_size(old, 0) == heed_size(x, 0)) {
        grade_let("old", with_positions(m, old, 0));
    }
    grade_let("W_q", m->W_q->weight);
    grade_let("W_k", m->W_k->weight);
    grade_let("W_v", m->W_v->weight);
    grade_let("W_o", m->W_o->weight);
    return heed_to(grade_right("step", "y"), x->dtype);
}

/* ---- what a step computes: the work that a cache saves ---- */

struct work {
    struct writer *m;
    int64_t rows[3];  /* that pass through W_q, W_k, W_v */
    int64_t products; /* numbers that matrix products result in */
};

static heed_tensor *count(heed_hook *self, const heed_call *call, heed_tensor *y)
{
    struct work *work = self->context;
    struct heed_linear *const layers[] = {work->m->W_q, work->m->W_k, work->m->W_v};
    const char *op = call->op->name;
    if (strcmp(op, "scaled_dot_product_attention") == 0) { /* scores, and y */
        work->products += y->numel / heed_size(y, -1) * heed_size(call->inputs[1], -2) + y->numel;
    }
    if (strcmp(op, "matmul") != 0 && strcmp(op, "linear") != 0) {
        return y;
    }
    work->products += y->numel;
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 2; j++) {
            if (call->inputs[j]->storage == layers[i]->weight->storage) {
                work->rows[i] += call->inputs[1 - j]->numel / layers[i]->in_features;
            }
        }
    }
    return y;
}

static void check_work(const struct work *work, int64_t batch, int64_t d)
{
    static const char *const names[] = {"W_q", "W_k", "W_v"};
    for (int i = 2; i >= 0; i--) {
        if (work->rows[i] > batch) {
            grade_fail("rows", (int)(work->rows[i] / batch), names[i]);
        }
    }
    if (work->products > batch * (8 * d + 2 * LONGEST)) {
        grade_fail("products", (int)(work->products / batch), (int)d);
    }
}

/* A tensor in the cache belongs to more than the scope of its step. */
static void check_kept(const heed_tensor *kept, const char *name)
{
    if (kept != NULL && kept->retains == 0) {
        grade_fail("m->%s belongs to the scope of this step and is freed with it; the next step "
                   "would read freed memory. A plain assignment does not keep a tensor.",
                   name);
    }
}

/* What is in the cache, for an error: "m->keys is (1, 2, 2), m->values is NULL". */
static heed_text cached(const struct writer *m)
{
    heed_text text;
    const heed_tensor *const cache[] = {m->keys, m->values};
    static const char *const names[] = {"m->keys", "m->values"};
    size_t end = 0;
    for (int i = 0; i < 2; i++) {
        const bool freed = cache[i] != NULL && cache[i]->references <= 0;
        end += (size_t)snprintf(text.text + end, sizeof text.text - end, "%s%s is %s",
                                i > 0 ? ", " : "", names[i],
                                cache[i] == NULL ? "NULL"
                                : freed          ? "freed"
                                        : heed_shape_text(cache[i]->ndim, cache[i]->shape).text);
    }
    return text;
}

/* ---- cases ---- */

static void show_inputs(struct writer *m, heed_tensor *x, int64_t p)
{
    char title[80];
    heed_tensor *seen = with_positions(m, heed_narrow(x, 1, 0, p + 1), 0);
    snprintf(title, sizeof title, "the new token, x (position %lld)", (long long)p);
    grade_show_tensor(title, heed_narrow(x, 1, p, 1), NULL);
    for (int i = 0; i < 2; i++) {
        snprintf(title, sizeof title, "%s of the tokens up to position %lld",
                 i == 0 ? "keys" : "values", (long long)p);
        grade_show_tensor(title, heed_linear_forward(i == 0 ? m->W_k : m->W_v, seen), NULL);
    }
}

static void check_step(struct writer *m, heed_tensor *x, heed_tensor *old, int64_t p,
                       const char *otherwise)
{
    HEED_SCOPE_NO_GRAD(scope);
    struct work work = {.m = m};
    heed_hook hook = {.context = &work, .result = count};
    heed_tensor *right = row_of(m, x, old, p);
    heed_tensor *token = heed_clone(heed_narrow(x, 1, p, 1));
    heed_hook_add(&hook);
    heed_tensor *y = writer_step(m, token, p);
    heed_hook_remove(&hook);
    if (p > 0 && heed_error_pending() != HEED_OK) {
        char error[400];
        snprintf(error, sizeof error, "%s", heed_error_message());
        char *advice = strstr(error, "; did you mean"); /* another number of keys is meant */
        if (advice != NULL) {
            *advice = '\0';
        }
        grade_fail("Heed reports an error in your code: %s.\n  %s", error,
                   say("later step", cached(m).text));
    }
    grade_answered("y", y);
    grade_unchanged("x", token, heed_narrow(x, 1, p, 1));
    if (grade_matches("y", y, right)) {
        check_kept(m->keys, "keys");
        check_kept(m->values, "values");
        if (p > 1) { /* before, mistakes can still look right */
            check_work(&work, heed_size(x, 0), heed_size(x, 2));
        }
        return;
    }
    if (heed_size(x, 2) == 2) {
        show_inputs(m, x, p);
    }
    struct mistake *mistakes = grade_mistakes("step", "y");
    /* Two mistakes can be the same in this step; the next one tells. At step 0 a value is the
     * result, so its position is that of all. At step 1, the first alone is all but itself, and one
     * key leaves no choice. */
    static const struct {
        int64_t step;
        const char *one, *other;
    } twins[] = {{0, "seen = x", "v = x @ t(W_v)"},
                 {1, "among = narrow(seen, 1, 0, p)", "among = narrow(seen, 1, 0, 1)"},
                 {1,
                  "y = softmax(hide(seen @ t(W_q) @ t(k) / sqrt(d), later, -inf), -1) @ v @ t(W_o)",
                  "y = softmax(hide(q @ t(k) / sqrt(d), later, -inf), -1) @ v @ t(W_o)"}};
    for (int i = 0; i < 3; i++) {
        struct mistake *one = mistakes;
        while (!is(one->changes, twins[i].one)) {
            one++;
        }
        if (p == twins[i].step && p + 1 < heed_size(x, 1) && grade_equal(y, one->result)) {
            heed_tensor *next = writer_step(m, heed_contiguous(heed_narrow(x, 1, p + 1, 1)), p + 1);
            const bool failed = heed_error() != HEED_OK || next == NULL;
            row_of(m, x, old, p + 1);
            if (!failed && grade_equal(next, grade_changed("step", "y", twins[i].other))) {
                one->result = NULL;
            }
        }
    }
    grade_compare("y", y, right, mistakes, otherwise);
}

/* The first `tokens` of x, one by one. */
static void check_sentence(struct writer *m, heed_tensor *x, heed_tensor *old, const char *name,
                           int64_t tokens)
{
    for (int64_t p = 0; p < tokens; p++) {
        grade_case("d_model %d, batch %d, %s, step %d", (int)heed_size(x, 2), (int)heed_size(x, 0),
                   name, (int)p);
        check_step(m, x, old, p, grade_sentence("otherwise"));
    }
}

static heed_tensor *random_sentence(int64_t batch, int64_t tokens, struct writer *m)
{
    const heed_shape shape = HEED_SHAPE(batch, tokens, m->W_q->in_features);
    return heed_to(heed_randn(shape, HEED_F64), m->W_q->weight->dtype);
}

static void check_sentences(int64_t d, bool f32)
{
    HEED_SCOPE(scope);
    struct writer *m = writer_new(d);
    heed_module_to(m, f32 ? HEED_F32 : HEED_F64);
    heed_tensor *first = random_sentence(1, 4, m), *second = random_sentence(1, 3, m);
    heed_tensor *batch = random_sentence(3, 5, m), *other = random_sentence(2, 1, m);
    check_sentence(m, first, NULL, "a sentence", 4);
    check_sentence(m, second, first, "the next sentence", 3);
    check_sentence(m, batch, NULL, "a batch", 2);
    check_sentence(m, batch, heed_narrow(batch, 1, 0, 2), "the batch again, from its beginning", 5);
    check_sentence(m, other, NULL, "sentences of one token", 1);
    heed_module_free(m);
}

/* Two models write in turn. */
static void check_two(void)
{
    HEED_SCOPE(scope);
    struct writer *m[2] = {writer_new(3), writer_new(3)};
    heed_tensor *x[2];
    for (int i = 0; i < 2; i++) {
        heed_module_to(m[i], HEED_F64);
        x[i] = random_sentence(2, 4, m[i]);
    }
    for (int step = 0; step < 8; step++) {
        const int which = step % 2;
        grade_case("two models write in turn, each with its own cache; model %d, step %d", which,
                   step / 2);
        check_step(m[which], x[which], NULL, step / 2, grade_sentence("shared"));
    }
    heed_module_free(m[0]);
    heed_module_free(m[1]);
}

/* A sentence that is written again leaves no more tensors than the first time. */
static void check_live(void)
{
    HEED_SCOPE(scope);
    struct writer *m = writer_new(3);
    heed_module_to(m, HEED_F64);
    heed_tensor *x = random_sentence(1, 5, m);
    check_sentence(m, x, NULL, "a sentence", 5);
    const int64_t before = heed_live_tensors();
    check_sentence(m, x, x, "the same sentence again", 5);
    const int64_t more = heed_live_tensors() - before;
    if (more > 0) {
        grade_fail("All rows are right, but each sentence of 5 tokens leaves %d tensors that are "
                   "never freed. heed_retain needs a heed_release: what was in the cache before "
                   "must be released when something else takes its place.",
                   (int)more);
    }
    heed_module_free(m);
}

static heed_tensor *forward(heed_tensor *x, void *m)
{
    return writer_forward(m, x);
}

static heed_tensor *step(heed_tensor *x, int64_t position, void *m)
{
    return writer_step(m, x, position);
}

static void check_attention(void)
{
    HEED_SCOPE(scope);
    heed_attention_report report = {0};
    grade_case("heed_attention_check of writer_forward, with .step");
    struct writer *m = writer_new(6);
    heed_attention_check(forward, m, .d_model = 6, .causal = true,
                         .positions = HEED_POSITIONS_ABSOLUTE, .longest = LONGEST, .module = m,
                         .step = step, .report = &report);
    if (heed_error_pending() != HEED_OK) {
        const bool cache = report.checks[HEED_CHECK_CACHE].verdict == HEED_VERDICT_FAILED;
        grade_fail("%s", cache ? report.checks[HEED_CHECK_CACHE].text : heed_error_message());
    }
    heed_module_free(m);
}

static void check_given(void)
{
    HEED_SCOPE_NO_GRAD(scope);
    grade_case("writer_forward, which is given");
    struct writer *m = writer_new(3);
    heed_module_to(m, HEED_F64);
    heed_tensor *x = random_sentence(2, 5, m), *y = writer_forward(m, x);
    for (int64_t p = 0; p < 5; p++) {
        if (y == NULL || !grade_equal(heed_narrow(y, 1, p, 1), row_of(m, x, NULL, p))) {
            grade_fail("changed");
        }
    }
    heed_module_free(m);
}

static void grade(void)
{
    heed_manual_seed(9);
    check_sentences(2, false);
    check_given();
    check_sentences(5, false);
    check_sentences(3, true);
    for (int64_t batch = 1; batch < 3; batch++) {
        HEED_SCOPE(scope);
        struct writer *m = writer_new(4);
        heed_module_to(m, HEED_F64);
        check_sentence(m, random_sentence(batch, LONGEST, m), NULL, "a long sentence", LONGEST);
        heed_module_free(m);
    }
    check_two();
    check_live();
    check_attention();
}

const struct task task = {9, grade};
