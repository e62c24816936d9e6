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
    const double n = (double)heed_size(logits, 0), classes = (double)heed_size(logits, 1);
    heed_tensor *right = heed_cross_entropy(logits, targets), *shares = heed_softmax(logits, 1);
    heed_tensor *index = heed_unsqueeze(targets, 1), *picked = heed_gather(shares, 1, index);
    heed_tensor *log_shares = heed_log_softmax(logits, 1);
    heed_tensor *log_picked = heed_gather(log_shares, 1, index);
    heed_tensor *scores = heed_gather(logits, 1, index);
    heed_tensor *log_sums = heed_sub(scores, log_picked);
    const struct mistake mistakes[] = {
        {heed_cross_entropy(shares, targets),
         "softmax is applied twice: cross_entropy gets logits, and the shares that it makes of "
         "them are no logits for another softmax. Such a loss can hardly fall."},
        {heed_mul_scalar(right, n), "The losses of all targets are added up. The mean is wanted, "
                                    "so that the size of a step does not depend on their number."},
        {heed_div_scalar(right, classes),
         "The loss is divided by the number of classes, V. Each row has one loss, so it is a mean "
         "of N numbers, not of V or N V."},
        {heed_neg(heed_mean(heed_gather(heed_log_softmax(logits, 0), 1, index))),
         "Your shares run along dim 0, the places: columns sum to 1. Each row should be a choice "
         "among the classes."},
        {heed_neg(right), "The sign is wrong: a share is below 1, its log below 0, and a loss that "
                          "falls makes the share of the target grow."},
        {heed_neg(heed_mean(picked)), "The log is missing: that is the mean share of the targets."},
        {heed_neg(heed_log(heed_mean(picked))),
         "That is the log of the mean share. The mean of the logs is wanted: a target whose share "
         "is nearly 0 must cost much."},
        {heed_neg(heed_mean(scores)),
         "Only the target's own logit is in it. Its share also depends on the others of its row."},
        {heed_mean(heed_sub(log_sums, heed_amax_dim(logits, 1, true))),
         "That is the loss of the likeliest class of each row, not of the target."},
        {heed_neg(heed_mean(heed_index_select(log_shares, 1, targets))),
         "Each row is paired with the targets of all rows; row n has targets[n] alone."},
        {NULL, NULL}};
    const double mine = heed_item(yours), expected = heed_item(right);
    if (!grade_equal(yours, right)) {
        grade_show_tensor("logits", logits, NULL);
    }
    const char *otherwise =
        n == 1 ? "The loss of a row is -log of the target's share; with a single row you can "
                 "follow it by hand."
               : "The loss of a row is -log of the target's share, and the mean of these is "
                 "wanted. A single row was right.";
    if (isnan(mine)) {
        otherwise =
            "The loss is NaN: exp of a logit of 1000 is infinite, and inf / inf or inf - inf is "
            "NaN. As in task 1, a number can be subtracted from all logits of a row.";
    } else if (isinf(mine)) {
        otherwise = "The loss is infinite. Either an exp is, as exp(1000) is more than a double "
                    "holds; or the log of a share or a sum that has become 0. The log of a share "
                    "can be computed without the share.";
    } else if (mine == 0 && n > 1) {
        otherwise = "The loss is 0. If you divide integers: in C, 1 / 2 is 0, and heed_size gives "
                    "an integer.";
    } else if (expected > 40 && mine < expected / 2) {
        otherwise = "The loss is too small: a share was limited from below, or a small number "
                    "added to it, so that its log is finite. The loss then stops growing, and the "
                    "gradient is 0 where it is needed most.";
    }
    grade_compare("cross_entropy", yours, right, mistakes, otherwise);
}

static void check_loss(heed_tensor *logits, heed_tensor *targets)
{
    heed_set_requires_grad(logits, true);
    heed_tensor *yours = cross_entropy(logits, targets);
    grade_answered("cross_entropy", yours);
    if (yours->ndim == 1 && yours->numel == targets->numel && yours->numel > 1) {
        grade_fail("cross_entropy returns the loss of each target. Their mean is wanted.");
    }
    if (yours->numel == 1) {
        yours = heed_reshape(yours, HEED_SCALAR);
    }
    grade_returned("cross_entropy", yours, HEED_SCALAR);
    compare_loss(heed_detach(yours), heed_detach(logits), targets);
    if (!yours->requires_grad) {
        grade_fail("The loss is right, but has no graph, so backward cannot go from it to the "
                   "logits: compute it with Heed's operations, without detach or heed_item.");
    }
    heed_backward(heed_mul_scalar(yours, 3)); /* 3: the loss may be part of another one */
    heed_tensor *own = heed_set_requires_grad(heed_clone(heed_detach(logits)), true), *right;
    heed_backward(heed_mul_scalar(heed_cross_entropy(own, targets), 3));
    right = own->grad;
    heed_tensor *n =
        heed_full(heed_shape_of_tensor(logits), 3 / (double)targets->numel, logits->dtype);
    heed_tensor *shares = heed_mul(heed_softmax(heed_detach(logits), 1), n);
    const struct mistake mistakes[] = {
        {heed_zeros_like(right), "The loss is right, but does not change with the logits."},
        {heed_sub(right, shares),
         "The loss is right, but its gradient reaches the target's logit alone: the others push "
         "the share down, too. Is the sum of exponentials detached?"},
        {NULL, NULL}};
    grade_compare("the gradient of 3 * cross_entropy by the logits", logits->grad, right, mistakes,
                  "The loss is right, but its gradient is not. Which numbers are detached?");
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

/* A model that Heed trains, and all its gradients so far. */
struct reference {
    struct model model;
    heed_optimizer *sgd;
    heed_tensor *grads[WEIGHTS], *sums[WEIGHTS];
};

static double reference_step(struct reference *r, heed_tensor *text, double lr)
{
    const int64_t T = heed_size(text, 1) - 1;
    heed_tensor *loss = loss_of(&r->model, heed_narrow(text, 1, 0, T), heed_narrow(text, 1, 1, T));
    r->sgd->lr = lr;
    heed_optimizer_zero_grad(r->sgd);
    heed_backward(loss);
    heed_optimizer_step(r->sgd);
    for (int i = 0; i < WEIGHTS; i++) {
        r->grads[i] = heed_clone(r->model.weights[i]->grad);
        r->sums[i] = r->sums[i] == NULL ? r->grads[i] : heed_add(r->sums[i], r->grads[i]);
    }
    return heed_item(loss);
}

/* The mean loss, if each sentence has its own step. */
static double in_turn(const struct model *before, heed_tensor *text, double lr)
{
    const bool recorded = heed_set_grad_enabled(true);
    struct reference each = {.model = copy_of(before)};
    each.sgd = heed_sgd_new((heed_tensor_list){WEIGHTS, each.model.weights, names}, 1);
    double sum = 0;
    for (int64_t b = 0; b < heed_size(text, 0); b++) {
        sum += reference_step(&each, heed_narrow(text, 0, b, 1), lr);
    }
    heed_optimizer_free(each.sgd);
    heed_set_grad_enabled(recorded);
    return sum / (double)heed_size(text, 0);
}

static void compare_step_loss(double yours, double expected, const struct model *before,
                              const struct model *after, heed_tensor *text, double lr)
{
    const int64_t B = heed_size(text, 0), T = heed_size(text, 1) - 1;
    heed_tensor *first = heed_narrow(text, 1, 0, T), *last = heed_narrow(text, 1, 1, T);
    heed_tensor *around = heed_cat((heed_tensor *[]){last, heed_narrow(text, 1, 0, 1)}, 2, 1);
    heed_tensor *logits = heed_flatten(model_logits(before, first), 0, 1);
    heed_tensor *by_word = heed_flatten(heed_transpose(last, 0, 1), 0, 1);
    const struct mistake mistakes[] = {
        {heed_cross_entropy(heed_softmax(logits, 1), heed_flatten(last, 0, 1)),
         "The softmax of the logits goes into cross_entropy, which makes shares of logits itself: "
         "softmax is applied twice."},
        {loss_of(before, first, first), "The targets are not shifted: the model is to say the word "
                                        "that it reads. It is to say the next one."},
        {loss_of(before, text, text),
         "The targets are not shifted: the model is to say the word that it reads. It is to say "
         "the next one. (The last word has none.)"},
        {loss_of(before, last, first), "The targets are shifted the wrong way: the model is to say "
                                       "the word before the one that it reads, which it has seen."},
        {loss_of(before, heed_narrow(text, 1, 0, T - 1), heed_narrow(text, 1, 2, T - 1)),
         "The targets are shifted twice: the model is to say the next word but one."},
        {loss_of(before, text, around),
         "The last word of a sentence gets the first one as its target. It has no next word."},
        {heed_cross_entropy(logits, by_word), "Targets and logits are in different order: place t "
                                              "of sentence b is row b T + t of the flat logits."},
        {heed_cross_entropy(heed_flatten(heed_transpose(model_logits(before, first), 0, 1), 0, 1),
                            heed_flatten(last, 0, 1)),
         "Targets and logits are in different order: place t of sentence b is row b T + t of the "
         "flat logits."},
        {B > 1 ? loss_of(before, heed_narrow(text, 0, 0, B - 1), heed_narrow(text, 0, 1, B - 1))
               : NULL,
         "Sentences are shifted, in dim 0. The words are to be, in dim 1: from each word, the "
         "model is to predict the next one."},
        {heed_scalar(expected * (double)B, HEED_F64),
         "The losses of the sentences are added up. Their mean is wanted, so that a step does not "
         "depend on how many there are."},
        {heed_scalar(in_turn(before, text, lr), HEED_F64),
         "There is a step after each sentence, so the loss of the next one is that of changed "
         "weights. All sentences belong to one step."},
        {loss_of(after, first, last), "That is the loss after the step. The one before it is "
                                      "wanted, whose gradient you have followed."},
        {heed_scalar(trunc(expected), HEED_F64),
         "That is the loss without its fraction. An int holds whole numbers alone."},
        {NULL, NULL}};
    grade_compare("the loss that training_step returns", heed_scalar(yours, HEED_F64),
                  heed_scalar(expected, HEED_F64), mistakes,
                  "cross_entropy is right, but this is not the loss of all places before the step. "
                  "Write down which words the model reads, which it is to say, and when a weight "
                  "changes.");
}

/* The sum of a * b. */
static double product(heed_tensor *a, heed_tensor *b)
{
    return heed_item(heed_sum(heed_mul(heed_detach(a), b)));
}

/* w - factor * gradient. */
static heed_tensor *moved(heed_tensor *w, heed_tensor *gradient, double factor)
{
    return heed_sub(w, heed_mul_scalar(gradient, factor));
}

static void compare_weights(const struct model *yours, const struct model *before,
                            const struct reference *right, double lr, heed_tensor *text)
{
    int unchanged = 0;
    bool any_gradient = false;
    for (int i = 0; i < WEIGHTS; i++) {
        unchanged += grade_equal(yours->weights[i], before->weights[i]);
        any_gradient = any_gradient || yours->weights[i]->grad != NULL;
    }
    if (unchanged == WEIGHTS && !any_gradient) {
        grade_fail("The loss is right, but no weight has a gradient after the step, and none has "
                   "changed. Gradients come from backward, and last until they are cleared.");
    }
    if (unchanged == WEIGHTS) {
        grade_fail("The weights have gradients, but none has changed. Is the update made before "
                   "backward, or after the gradients were set to 0? Or does it compute new "
                   "tensors, as heed_sub does, and leave those of the model as they are? Or is the "
                   "step 0, as (int)0.5 is in C?");
    }
    const double batch = (double)heed_size(text, 0);
    const double targets = batch * (double)(heed_size(text, 1) - 1);
    for (int i = 0; i < WEIGHTS; i++) {
        heed_tensor *w = before->weights[i], *g = right->grads[i];
        char what[64], left[200], scaled[200];
        const double factor = product(heed_sub(w, yours->weights[i]), g) / (lr * product(g, g));
        snprintf(scaled, sizeof scaled, "Your step is %.4g times as long as lr says.", factor);
        snprintf(what, sizeof what, "%s after the step", names[i]);
        snprintf(left, sizeof left,
                 "%s has not changed, though other weights have. The step moves each of them.",
                 names[i]);
        const struct mistake mistakes[] = {
            {w, left},
            {moved(w, g, -lr), "The step goes up: the gradient points to where the loss grows."},
            {moved(w, g, 1), "The learning rate is not in the step."},
            {moved(w, right->sums[i], lr),
             "The gradients of earlier steps are in it: backward adds to .grad, so they must be "
             "cleared once in each step."},
            {moved(w, g, lr / batch), "The gradient is divided by the number of sentences. The "
                                      "loss is a mean already, and so is its gradient."},
            {moved(w, g, lr / targets), "The gradient is divided by the number of targets. The "
                                        "loss is a mean already, and so is its gradient."},
            {heed_mul_scalar(g, -lr), "The weights are replaced by the step. It moves them."},
            {moved(w, g, lr * factor), scaled},
            {NULL, NULL}};
        grade_compare(what, heed_detach(yours->weights[i]), heed_detach(right->model.weights[i]),
                      mistakes, "The loss is right, but the weight is not w - lr * gradient.");
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
            grade_fail("%s no longer requires a gradient, so it will not learn again.", names[i]);
        }
    }
}

static void check_errors(const struct model *m)
{
    const heed_status error = heed_error_pending();
    if (error == HEED_ERR_NULL && m->weights[OUTPUT]->grad == NULL) {
        grade_fail("The update reads w->grad, which is NULL: there are gradients only after "
                   "backward, and until they are cleared. (%s)",
                   heed_error_message());
    }
    if (error == HEED_ERR_VERSION) {
        grade_fail("The weights change between the forward and backward, which needs their old "
                   "numbers: update them after backward. (%s)",
                   heed_error_message());
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
    const struct model before = copy_of(m), had = *m;
    struct watch watch = {.hook = {.result = on_result, .derivative = on_derivative}};
    heed_hook_add(&watch.hook);
    const double loss = training_step(m, text, lr);
    heed_hook_remove(&watch.hook);
    check_model(m, &had);
    check_errors(m);
    const double expected = reference_step(right, text, lr);
    if (isnan(loss) && m->weights[OUTPUT]->grad == NULL) {
        grade_fail("cross_entropy is right. training_step is not written yet.");
    }
    if (loss == 0 && is_untouched(m, &before)) {
        grade_fail("training_step returns 0 and has changed no weight: does it do anything yet?");
    }
    HEED_SCOPE_NO_GRAD(scope);
    compare_step_loss(loss, expected, &before, &right->model, text, lr);
    compare_weights(m, &before, right, lr, text);
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
    right.sgd = heed_sgd_new((heed_tensor_list){WEIGHTS, right.model.weights, names}, 1);
    for (int i = 0; i < 3; i++) {
        grade_case("step %d, with %d sentences and lr = %g", i + 1, steps[i].count, steps[i].lr);
        check_step(&m, &right, text_of(steps[i].first, steps[i].count), steps[i].lr);
    }
    heed_optimizer_free(right.sgd);
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
        grade_fail("The first steps were right, but the model does not learn: its loss goes from "
                   "%.2f to %.2f, and should fall below 0.6; after \"the cow hid and it\" it says "
                   "\"%s\" in place of \"mooed\". What differs in later steps?",
                   first, loss, words[word]);
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

const struct task task = {
    5,
    "a training step",
    {"log(exp(a) / sum) is a - log(sum), which needs no share. As in task 1, the largest logit of "
     "each row can be subtracted first. In the step, words 0 to T - 1 of a sentence are the input "
     "and words 1 to T the targets; then clear, backward, update.",
     "heed_gather(x, 1, heed_unsqueeze(targets, 1)) is a column (N, 1), and so is a sum that keeps "
     "its dim. heed_narrow cuts the text, heed_flatten merges (B, T). Within a HEED_SCOPE_NO_GRAD, "
     "compute the moved weight from w and w->grad, and copy it into w."},
    grade,
    {"The first loss is about log 12 = 2.48. What would you suspect if it were 5, and what if it "
     "were 0.5?",
     "Why does the loss not fall to 0, though the model has learned all eight sentences?"}};
