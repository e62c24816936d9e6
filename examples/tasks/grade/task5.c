/* Grades task 5: cross-entropy, and a training step. */
#define GRADER
#include "task5.h"

/* ---- the model ---- */

heed_tensor *model_logits(const struct model *m, heed_tensor *tokens)
{
    heed_tensor *positions = heed_narrow(m->weights[POSITIONS], 0, 0, heed_size(tokens, -1));
    heed_tensor *x = heed_add(heed_embedding(tokens, m->weights[EMBEDDING]), positions);
    heed_tensor *q = heed_linear(x, m->weights[W_Q], NULL);
    heed_tensor *k = heed_linear(x, m->weights[W_K], NULL);
    heed_tensor *v = heed_linear(x, m->weights[W_V], NULL);
    heed_tensor *y = heed_scaled_dot_product_attention(q, k, v, .is_causal = true);
    return heed_linear(heed_add(x, y), m->weights[OUTPUT], NULL);
}

static struct model new_model(void)
{
    static const int rows[] = {WORDS, LONGEST, WIDTH, WIDTH, WIDTH, WORDS};
    struct model m;
    for (int i = 0; i < WEIGHTS; i++) {
        heed_tensor *w = heed_randn(HEED_SHAPE(rows[i], WIDTH), HEED_F64);
        m.weights[i] = heed_set_requires_grad(heed_mul_scalar(w, 0.25), true);
    }
    return m;
}

static struct model copy_of(const struct model *from)
{
    struct model m;
    for (int i = 0; i < WEIGHTS; i++) {
        m.weights[i] = heed_set_requires_grad(heed_clone(heed_detach(from->weights[i])), true);
    }
    return m;
}

/* ---- cross-entropy ---- */

enum { MOST = 16 };
static const struct {
    int rows, classes;
    double logits[MOST];
    int64_t targets[4];
} given[] = {
    {1, 3, {1, 2, 4}, {2}},
    {2, 3, {1, 2, 3, 0, 2, 0}, {0, 1}},
    {3, 4, {0}, {3, 1, 1}},
    {3, 3, {0.5, -1, 2, 3, 0, 0, -2, 1, 1}, {0, 0, 2}},
    {1, 1, {4}, {0}},
    {2, 2, {1000, 0, 0, 1000}, {0, 0}},
    {2, 2, {1000, 1001, -2000, -1999}, {1, 0}},
    {2, 3, {-800, 0, 800, 1e6, 1e6, -1e6}, {2, 1}},
};

static void compare_loss(heed_tensor *yours, heed_tensor *logits, heed_tensor *targets)
{
    heed_tensor *right = heed_cross_entropy(logits, targets);
    const double mine = heed_item(yours), expected = heed_item(right);
    if (!grade_equal(yours, right)) {
        grade_show_tensor("logits", logits, NULL);
    }
    grade_let("logits", logits);
    grade_let("targets", targets);
    grade_let_number("V", (double)heed_size(logits, 1));
    const bool rows = heed_size(logits, 0) > 1;
    grade_compare("cross_entropy", yours, right, grade_mistakes("loss", "loss"),
                  isnan(mine)   ? grade_sentence("nan")
                  : isinf(mine) ? grade_sentence("infinite")
                  : mine == 0 && rows
                      ? "The loss is 0. If you divide integers: in C, 1 / 2 is 0, and heed_size "
                        "gives an integer."
                  : expected > 40 && mine < expected / 2 ? grade_sentence("limited")
                  : rows ? "The loss of a row is -log of the target's share, and the mean of these "
                           "is wanted. A single row was right."
                         : grade_sentence("loss of a row"));
}

static void check_loss(heed_tensor *logits, heed_tensor *targets)
{
    heed_set_requires_grad(logits, true);
    heed_tensor *yours = cross_entropy(logits, targets);
    grade_answered("cross_entropy", yours);
    if (yours->ndim == 1 && yours->numel == targets->numel && yours->numel > 1) {
        grade_fail("each");
    }
    if (yours->numel == 1) {
        yours = heed_reshape(yours, HEED_SCALAR);
    }
    grade_returned("cross_entropy", yours, HEED_SCALAR);
    compare_loss(heed_detach(yours), heed_detach(logits), targets);
    if (!yours->requires_grad) {
        grade_fail("no graph");
    }
    heed_backward(heed_mul_scalar(yours, 3)); /* 3: the loss may be part of another one */
    heed_tensor *own = heed_set_requires_grad(heed_clone(heed_detach(logits)), true), *right;
    heed_backward(heed_mul_scalar(heed_cross_entropy(own, targets), 3));
    right = own->grad;
    grade_let("g", right);
    grade_let_number("N", (double)targets->numel);
    grade_compare("the gradient of 3 * cross_entropy by the logits", logits->grad, right,
                  grade_mistakes("gradient", "gradient"), grade_sentence("gradient"));
}

static void check_losses(void)
{
    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++) {
        const int rows = given[i].rows, classes = given[i].classes;
        char targets[64] = "";
        for (int n = 0; n < rows; n++) {
            snprintf(targets + strlen(targets), sizeof targets - strlen(targets), " %d",
                     (int)given[i].targets[n]);
        }
        grade_case("cross_entropy of logits (%d, %d), target%s%s", rows, classes,
                   rows == 1 ? "" : "s", targets);
        HEED_SCOPE(scope);
        check_loss(heed_from_f64(given[i].logits, HEED_SHAPE(rows, classes)),
                   heed_from_i64(given[i].targets, HEED_SHAPE(rows)));
    }
    for (int i = 0; i < 12; i++) {
        const int rows = 1 + i, classes = 1 + (5 * i + 2) % 7;
        grade_case("cross_entropy of random logits (%d, %d)", rows, classes);
        HEED_SCOPE(scope);
        heed_tensor *logits = heed_randn(HEED_SHAPE(rows, classes), HEED_F64);
        check_loss(heed_mul_scalar(logits, 1 + i * i), heed_randint(0, classes, HEED_SHAPE(rows)));
    }
}

/* ---- the training step ---- */

enum { SENTENCES = 8 };
static const char *const words[WORDS] = {"the", "cat", "dog", "cow",    "sat",    "ran",
                                         "hid", "and", "it",  "purred", "barked", "mooed"};
static const int64_t sentences[SENTENCES][LONGEST] = {
    {0, 1, 4, 7, 8, 9},  {0, 1, 5, 7, 8, 9},  {0, 1, 6, 7, 8, 9},  {0, 2, 4, 7, 8, 10},
    {0, 2, 5, 7, 8, 10}, {0, 2, 6, 7, 8, 10}, {0, 3, 4, 7, 8, 11}, {0, 3, 5, 7, 8, 11}};
static const char *const names[WEIGHTS] = {"embedding", "positions", "W_q", "W_k", "W_v", "output"};

/* The loss of a model if it is to say `targets` (B, T) after `tokens` (B, T). */
static heed_tensor *loss_of(const struct model *m, heed_tensor *tokens, heed_tensor *targets)
{
    return heed_cross_entropy(heed_flatten(model_logits(m, tokens), 0, 1),
                              heed_flatten(targets, 0, 1));
}

/* A model that is trained rightly, its last gradients, and the sums of all. */
struct reference {
    struct model model;
    heed_tensor *grads[WEIGHTS], *sums[WEIGHTS];
};

static double reference_step(struct reference *r, heed_tensor *text, double lr)
{
    const int64_t T = heed_size(text, 1) - 1;
    heed_tensor *loss = loss_of(&r->model, heed_narrow(text, 1, 0, T), heed_narrow(text, 1, 1, T));
    heed_grad(loss, r->model.weights, WEIGHTS, r->grads, false);
    HEED_SCOPE_NO_GRAD(update);
    for (int i = 0; i < WEIGHTS; i++) {
        heed_tensor *w = r->model.weights[i];
        heed_copy_into(w, heed_sub(w, heed_mul_scalar(r->grads[i], lr)));
        heed_tensor *sum = r->sums[i] == NULL ? r->grads[i] : heed_add(r->sums[i], r->grads[i]);
        r->sums[i] = heed_scope_keep(&update, sum);
    }
    return heed_item(loss);
}

/* The mean loss, if each sentence has its own step. */
static double in_turn(const struct model *before, heed_tensor *text, double lr)
{
    const bool recorded = heed_set_grad_enabled(true);
    struct reference each = {.model = copy_of(before)};
    double sum = 0;
    for (int64_t b = 0; b < heed_size(text, 0); b++) {
        sum += reference_step(&each, heed_narrow(text, 0, b, 1), lr);
    }
    heed_set_grad_enabled(recorded);
    return sum / (double)heed_size(text, 0);
}

static heed_tensor *logits_of(void *model, heed_tensor *tokens)
{
    return model_logits(model, heed_to(tokens, HEED_I64));
}

static void compare_step_loss(double yours, double expected, struct model *before,
                              struct model *after, heed_tensor *text, double lr)
{
    grade_let("text", text);
    grade_let_number("B", (double)heed_size(text, 0));
    grade_let_number("T", (double)heed_size(text, 1) - 1);
    grade_let_number("in_turn", in_turn(before, text, lr));
    grade_let_function("model", logits_of, before);
    grade_let_function("after", logits_of, after);
    grade_compare("the loss that training_step returns", heed_scalar(yours, HEED_F64),
                  heed_scalar(expected, HEED_F64), grade_mistakes("step", "loss"),
                  grade_sentence("step loss"));
}

/* The sum of a * b. */
static double product(heed_tensor *a, heed_tensor *b)
{
    return heed_item(heed_sum(heed_mul(heed_detach(a), b)));
}

static void compare_weights(const struct model *yours, const struct model *before,
                            const struct reference *right, double lr)
{
    int unchanged = 0;
    bool any_gradient = false;
    for (int i = 0; i < WEIGHTS; i++) {
        unchanged += grade_equal(yours->weights[i], before->weights[i]);
        any_gradient = any_gradient || yours->weights[i]->grad != NULL;
    }
    if (unchanged == WEIGHTS && !any_gradient) {
        grade_fail("no gradient");
    }
    if (unchanged == WEIGHTS) {
        grade_fail("no change");
    }
    for (int i = 0; i < WEIGHTS; i++) {
        heed_tensor *w = before->weights[i], *g = right->grads[i];
        if (grade_equal(yours->weights[i], w)) {
            grade_fail("one unchanged", names[i]);
        }
        grade_let("w", w);
        grade_let("g", g);
        grade_let("sum_of_all", right->sums[i]);
        grade_let_number("lr", lr);
        grade_let_number("factor",
                         product(heed_sub(w, yours->weights[i]), g) / (lr * product(g, g)));
        grade_compare(say("%s after the step", names[i]), heed_detach(yours->weights[i]),
                      heed_detach(right->model.weights[i]), grade_mistakes("weight", "moved"),
                      grade_sentence("weight"));
    }
}

/* Counts the operations that are recorded in the graph after backward. */
struct watch {
    heed_hook hook;
    int recorded;
};

static heed_tensor *on_result(heed_hook *hook, const heed_call *call, heed_tensor *y)
{
    (void)call;
    ((struct watch *)hook)->recorded += y->requires_grad;
    return y;
}

static void on_derivative(heed_hook *hook, const heed_vjp *vjp)
{
    (void)vjp;
    ((struct watch *)hook)->recorded = 0;
}

static void check_model(const struct model *yours, const struct model *had)
{
    for (int i = 0; i < WEIGHTS; i++) {
        if (yours->weights[i] != had->weights[i]) {
            grade_fail("m->weights[%d] is another tensor now. What heed_sub returns is the result "
                       "of an operation: the next backward would go through it to the old weight, "
                       "and it ends with its scope. Change the numbers of the weight that is "
                       "there, without recording a graph.",
                       i);
        }
        if (!had->weights[i]->requires_grad) {
            grade_fail("frozen", names[i]);
        }
    }
}

static void check_errors(const struct model *m)
{
    const heed_status error = heed_error_pending();
    if (error == HEED_ERR_NULL && m->weights[OUTPUT]->grad == NULL) {
        grade_fail("cleared", heed_error_message());
    }
    if (error == HEED_ERR_VERSION) {
        grade_fail("early", heed_error_message());
    }
    grade_no_error();
}

/* No weight has changed, and none has a gradient. */
static bool is_untouched(const struct model *m, const struct model *before)
{
    bool same = true;
    for (int i = 0; i < WEIGHTS; i++) {
        same = same && m->weights[i]->grad == NULL && heed_equal(m->weights[i], before->weights[i]);
    }
    return same;
}

static void check_step(struct model *m, struct reference *right, heed_tensor *text, double lr)
{
    struct model before = copy_of(m);
    const struct model had = *m;
    struct watch watch = {.hook = {.result = on_result, .derivative = on_derivative}};
    heed_hook_add(&watch.hook);
    const double loss = training_step(m, text, lr);
    heed_hook_remove(&watch.hook);
    check_model(m, &had);
    check_errors(m);
    const double expected = reference_step(right, text, lr);
    if (isnan(loss) && m->weights[OUTPUT]->grad == NULL) {
        grade_fail("no step");
    }
    if (loss == 0 && is_untouched(m, &before)) {
        grade_fail("training_step returns 0 and has changed no weight: does it do anything yet?");
    }
    HEED_SCOPE_NO_GRAD(scope);
    compare_step_loss(loss, expected, &before, &right->model, text, lr);
    compare_weights(m, &before, right, lr);
    if (watch.recorded > 0) {
        grade_fail("The weights are right, but %d operations of the update were recorded in the "
                   "graph, as if the model computed them. Here they only cost memory; in other "
                   "libraries that is an error. No backward will need them.",
                   watch.recorded);
    }
}

static heed_tensor *text_of(int first, int count)
{
    return heed_from_i64(sentences[first], HEED_SHAPE(count, LONGEST));
}

static void check_steps(void)
{
    static const struct {
        int first, count;
        double lr;
    } steps[] = {{0, 4, 0.3}, {4, 2, 0.1}, {0, SENTENCES, 0.25}};
    HEED_SCOPE(scope);
    struct model m = new_model();
    struct reference right = {.model = copy_of(&m)};
    for (int i = 0; i < 3; i++) {
        grade_case("step %d, with %d sentences and lr = %g", i + 1, steps[i].count, steps[i].lr);
        check_step(&m, &right, text_of(steps[i].first, steps[i].count), steps[i].lr);
    }
}

/* As examples/quickstart.c: after "it" comes what the animal does. */
static void train(void)
{
    const int64_t prompt[] = {0, 3, 6, 7, 8};
    enum { STEPS = 300 };
    double loss = 0, first = 0;
    grade_case("%d steps on 8 sentences of cats, dogs and cows", STEPS);
    HEED_SCOPE(scope);
    struct model m = new_model();
    for (int step = 0; step < STEPS; step++) {
        HEED_SCOPE(inner);
        loss = training_step(&m, text_of(0, SENTENCES), 0.5);
        first = step == 0 ? loss : first;
        check_errors(&m);
    }
    HEED_SCOPE_NO_GRAD(last);
    heed_tensor *logits = model_logits(&m, heed_from_i64(prompt, HEED_SHAPE(1, 5)));
    const int64_t word = heed_item_i64(heed_argmax(heed_select(heed_select(logits, 0, 0), 0, -1)));
    if (!(loss < 0.6) || word != 11) {
        grade_fail("no learning", first, loss, words[word]);
    }
    printf("\n  Your step trains a model: its loss falls from %.2f to %.2f, and it continues\n  "
           "\"the cow hid and it\", which it has never seen, with \"%s\".\n",
           first, loss, words[word]);
}

/* Not begun, if both functions are empty. */
static void check_begun(void)
{
    HEED_SCOPE(scope);
    grade_case("which of the functions are written");
    heed_tensor *logits = heed_zeros(HEED_SHAPE(1, 1), HEED_F64);
    if (cross_entropy(logits, heed_zeros(HEED_SHAPE(1), HEED_I64)) == NULL &&
        heed_error() == HEED_OK) {
        struct model m = new_model();
        if (isnan(training_step(&m, text_of(0, 1), 0.1)) && heed_error() == HEED_OK) {
            grade_not_begun("Both functions are empty.");
        }
    }
}

static void grade(void)
{
    check_begun();
    heed_manual_seed(1);
    check_losses();
    check_steps();
    train();
}

const struct task task = {5, grade};
