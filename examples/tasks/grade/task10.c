/* Grades task 10: five classes, and their symptoms. */
#define GRADER
#include "task10.h"

enum { CLASSES = 5, ONE_HEAD = 0, NEXT_WORD, MULTI_HEAD, PADDED, PREVIOUS_WORD };
static const char *const names[CLASSES] = {"one_head", "next_word", "multi_head", "padded",
                                           "previous_word"};

/* ---- the module ---- */

static const heed_module_kind attention_kind = {.name = "Attention",
                                                .size = sizeof(struct attention)};

static struct attention *attention_new(int64_t d_model, int heads)
{
    struct attention *m = heed_module_new(&attention_kind);
    HEED_CHILD(m, W_q, heed_linear_new(d_model, d_model, .no_bias = true));
    HEED_CHILD(m, W_k, heed_linear_new(d_model, d_model, .no_bias = true));
    HEED_CHILD(m, W_v, heed_linear_new(d_model, d_model, .no_bias = true));
    HEED_CHILD(m, W_o, heed_linear_new(d_model, d_model, .no_bias = true));
    m->heads = heads;
    return m;
}

/* The learner's class. */
static heed_tensor *theirs(int which, struct attention *m, heed_tensor *x, heed_tensor *is_word,
                           heed_tensor **weights)
{
    switch (which) {
    case ONE_HEAD:
        return one_head(m, x, weights);
    case NEXT_WORD:
        return next_word(m, x);
    case MULTI_HEAD:
        return multi_head(m, x);
    case PADDED:
        return padded(m, x, is_word, weights);
    default:
        return previous_word(m, x, weights);
    }
}

/* ---- the right classes and the given ones, with gradients ---- */

/* true blocks; or NULL */
static heed_tensor *mask_of(int which, bool right, int64_t length, heed_tensor *is_word)
{
    heed_tensor *ones = heed_ones(HEED_SHAPE(length, length), HEED_BOOL);
    if (which == PADDED) { /* (B, 1, 1, T), of all heads and queries */
        heed_tensor *blocks = right ? heed_logical_not(is_word) : is_word;
        return heed_unsqueeze(heed_unsqueeze(blocks, 1), 2);
    }
    return which == ONE_HEAD ? NULL : heed_triu(ones, which == NEXT_WORD && !right ? 2 : 1);
}

static heed_tensor *computed(int which, bool right, struct attention *m, heed_tensor *x,
                             heed_tensor *is_word)
{
    const heed_shape split = HEED_SHAPE(which == MULTI_HEAD ? m->heads : 1, -1);
    heed_tensor *p[3];
    for (int i = 0; i < 3; i++) {
        struct heed_linear *const layers[] = {m->W_q, m->W_k, m->W_v};
        p[i] = heed_transpose(heed_unflatten(heed_linear_forward(layers[i], x), 2, split), 1, 2);
    }
    heed_tensor *w = heed_matmul(p[0], heed_transpose(p[1], 2, 3));
    w = heed_div_scalar(w, sqrt((double)heed_size(p[1], 3)));
    heed_tensor *mask = mask_of(which, right, heed_size(x, 1), is_word);
    w = mask != NULL ? heed_masked_fill(w, mask, -INFINITY) : w;
    w = heed_softmax(w, which == ONE_HEAD && !right ? 2 : 3);
    w = which == PREVIOUS_WORD && !right ? heed_detach(w) : w;
    heed_tensor *y = heed_matmul(w, p[2]);
    y = which == MULTI_HEAD && !right ? y : heed_transpose(y, 1, 2);
    return heed_linear_forward(m->W_o, heed_reshape(y, heed_shape_of_tensor(x)));
}

/* ---- symptoms ---- */

/* is_word (1, length) of the maps: 4 words. */
static heed_tensor *words_of_map(int64_t length)
{
    heed_tensor *at = heed_arange(0, (double)length, 1, HEED_I64);
    return heed_unsqueeze(heed_lt_scalar(at, 4), 0);
}

static void print_map(int which)
{
    static const char *const words[] = {"the", "pizza", "is", "good", "<pad>", "<pad>"};
    const int64_t length = which == PADDED ? 6 : 4;
    heed_tensor *weights = NULL;
    heed_manual_seed(10);
    struct attention *m = attention_new(8, 1);
    heed_module_to(m, HEED_F64);
    heed_tensor *x = heed_mul_scalar(heed_randn(HEED_SHAPE(1, length, 8), HEED_F64), 2);
    theirs(which, m, x, words_of_map(length), &weights);
    if (heed_error() != HEED_OK || weights == NULL || weights->ndim != 3 ||
        heed_heat_map(stdout, heed_select(weights, 0, 0), words, words, HEED_COLOR_NEVER) !=
            HEED_OK) {
        printf("(no map: *weights is not (B, T, T))\n");
        heed_error();
    }
    heed_module_free(m);
}

struct model {
    heed_module module;
    struct heed_embedding *embedding;
    struct heed_position_encoding *positions;
    struct attention *attention;
    struct heed_linear *output;
};
static const heed_module_kind model_kind = {.name = "Model", .size = sizeof(struct model)};

enum { SYMBOLS = 16, LENGTH = 8, WIDTH = 32, BATCH = 16, STEPS = 240, POINTS = 8 };

/* Says the next symbol, or the one before, of random ones. */
static heed_tensor *loss_of(int which, bool right, struct model *m)
{
    heed_tensor *symbols = heed_randint(0, SYMBOLS, HEED_SHAPE(BATCH, LENGTH + 1));
    heed_tensor *first = heed_narrow(symbols, 1, 0, LENGTH), *weights;
    heed_tensor *last = heed_narrow(symbols, 1, 1, LENGTH);
    heed_tensor *x = heed_embedding_forward(m->embedding, which == NEXT_WORD ? first : last);
    x = heed_position_encoding_forward(m->positions, x);
    x = heed_add(x, right ? computed(which, true, m->attention, x, NULL)
                          : theirs(which, m->attention, x, NULL, &weights));
    heed_tensor *logits = heed_linear_forward(m->output, x);
    heed_tensor *targets = which == NEXT_WORD ? last : first;
    if (which == PREVIOUS_WORD) { /* no symbol is known before the first */
        logits = heed_narrow(logits, 1, 1, LENGTH - 1);
        targets = heed_narrow(targets, 1, 1, LENGTH - 1);
    }
    return heed_cross_entropy(heed_flatten(logits, 0, 1), heed_flatten(targets, 0, 1));
}

/* The mean losses of STEPS / POINTS steps each. */
static void train(int which, bool right, double *losses)
{
    heed_manual_seed(10);
    struct model *m = heed_module_new(&model_kind);
    HEED_CHILD(m, embedding, heed_embedding_new(SYMBOLS, WIDTH));
    HEED_CHILD(m, positions, heed_position_encoding_new(WIDTH, LENGTH));
    HEED_CHILD(m, attention, attention_new(WIDTH, 1));
    HEED_CHILD(m, output, heed_linear_new(WIDTH, SYMBOLS));
    heed_module_to(m, HEED_F64);
    heed_optimizer *adam = heed_adam_new(heed_parameters(m), 5e-3);
    for (int step = 0; step < STEPS && heed_error_pending() == HEED_OK; step++) {
        HEED_SCOPE(scope);
        heed_tensor *loss = loss_of(which, right, m);
        heed_optimizer_zero_grad(adam);
        heed_backward(loss);
        heed_optimizer_step(adam);
        losses[step * POINTS / STEPS] += heed_item(loss) * POINTS / STEPS;
    }
    heed_optimizer_free(adam);
    heed_module_free(m);
}

static void print_curve(int which)
{
    double losses[2][POINTS] = {{0}};
    train(which, true, losses[0]);
    train(which, false, losses[1]);
    if (heed_error() != HEED_OK) {
        printf("(no curve: %s)\n", heed_error_message());
        return;
    }
    printf("mean loss of %d steps each\n\n  to step   a right class   %s\n", STEPS / POINTS,
           names[which]);
    for (int i = 0; i < POINTS; i++) {
        printf("  %7d   %13.3f   %.3f\n", (i + 1) * STEPS / POINTS, losses[0][i], losses[1][i]);
    }
}

static heed_tensor *multi_head_of(heed_tensor *x, void *m)
{
    return multi_head(m, x);
}

static void print_report(void)
{
    heed_manual_seed(10);
    struct attention *m = attention_new(8, 2);
    heed_attention_check(multi_head_of, m, .d_model = 8, .heads = 2, .causal = true,
                         .stream = stdout);
    if (heed_error_pending() != HEED_OK && heed_error_pending() != HEED_ERR_CHECK) {
        printf("(no report: %s)\n", heed_error_message());
    }
    heed_error();
    heed_module_free(m);
}

static void print_symptom(int which)
{
    HEED_SCOPE(scope);
    switch (which) {
    case ONE_HEAD:
    case PADDED:
        print_map(which);
        return;
    case MULTI_HEAD:
        print_report();
        return;
    default:
        print_curve(which);
    }
}

/* ---- a class is right, as given, or changed into something else ---- */

/* What a class computes: y, and the gradients of random weights times y, for x and the four
 * parameters. Rows of padding are 0: nobody reads them. */
enum { Y, DX, RESULTS = DX + 5 };
typedef struct result {
    heed_tensor *of[RESULTS];
} result;

typedef struct input {
    struct attention *m;
    heed_tensor *x, *is_word, *upstream;
} input;

static result result_of(const input *in, heed_tensor *x, heed_tensor *y)
{
    result r = {{NULL}};
    heed_tensor *leaves[] = {x, in->m->W_q->weight, in->m->W_k->weight, in->m->W_v->weight,
                             in->m->W_o->weight};
    heed_tensor *read = heed_where(heed_unsqueeze(in->is_word, 2), y, heed_zeros_like(y));
    r.of[Y] = heed_detach(read);
    if (read != NULL && !read->requires_grad) {
        for (int i = 0; i < 5; i++) {
            r.of[DX + i] = heed_zeros_like(heed_detach(leaves[i]));
        }
        return r;
    }
    heed_grad(heed_sum(heed_mul(read, in->upstream)), leaves, 5, r.of + DX, false);
    return r;
}

static heed_tensor *leaf_of(heed_tensor *x)
{
    return heed_set_requires_grad(heed_clone(heed_detach(x)), true);
}

static result result_of_class(int which, bool right, const input *in)
{
    heed_tensor *x = leaf_of(in->x);
    return result_of(in, x, computed(which, right, in->m, x, in->is_word));
}

static bool same(const result *a, const result *b)
{
    for (int i = 0; i < RESULTS; i++) {
        if (!grade_equal(a->of[i], b->of[i])) {
            return false;
        }
    }
    return true;
}

/* Of one class, over all inputs. */
typedef struct verdict {
    bool right, given;
    const char *text; /* about the first input that is not right */
} verdict;

/* Which rows of y see which tokens of x: the first difference between yours and the right class;
 * NULL if there is none. */
static const char *explain_reach(int which, const input *in)
{
    heed_tensor *none = NULL, *given[2], *changed[2];
    given[0] = heed_detach(theirs(which, in->m, in->x, in->is_word, &none));
    given[1] = heed_detach(computed(which, true, in->m, in->x, in->is_word));
    for (int64_t key = 0; key < heed_size(in->x, 1); key++) {
        heed_tensor *x = heed_clone(in->x);
        heed_tensor *token = heed_narrow(x, 1, key, 1);
        heed_copy_into(token, heed_add_scalar(token, 1));
        changed[0] = heed_detach(theirs(which, in->m, x, in->is_word, &none));
        changed[1] = heed_detach(computed(which, true, in->m, x, in->is_word));
        for (int64_t row = 0; row < heed_size(in->x, 1) && heed_error_pending() == HEED_OK; row++) {
            bool sees[2];
            for (int i = 0; i < 2; i++) {
                sees[i] = !grade_equal(heed_narrow(given[i], 1, row, 1),
                                       heed_narrow(changed[i], 1, row, 1));
            }
            const bool read = heed_at(in->is_word, HEED_INDEX(0, row)) > 0;
            if (read && sees[0] != sees[1]) {
                return say(sees[0] ? "sees" : "blind", (int)row, (int)key);
            }
        }
    }
    return NULL;
}

/* The first row of `weights` that does not sum to 1; NULL if there is none. */
static const char *explain_sums(heed_tensor *weights)
{
    if (weights == NULL || weights->ndim != 3 || weights->dtype != HEED_F64) {
        return NULL;
    }
    heed_tensor *sums = heed_contiguous(heed_sum_dim(heed_detach(weights), 2, false));
    for (int64_t i = 0; i < sums->numel; i++) {
        const double sum = heed_const_data_f64(sums)[i];
        if (!grade_near(sum, 1)) {
            return say("sums", (int)(i % heed_size(sums, 1)), sum);
        }
    }
    return NULL;
}

static void explain(int which, const input *in, heed_tensor *weights, const result *yours,
                    const result *right, bool printed, verdict *v)
{
    static const char *const leaves[] = {"x", "W_q.weight", "W_k.weight", "W_v.weight",
                                         "W_o.weight"};
    if (grade_equal(yours->of[Y], right->of[Y])) {
        int i = 0;
        while (i < 4 && grade_equal(yours->of[DX + i], right->of[DX + i])) {
            i++;
        }
        v->text = i == 0 ? say("gradient of x") : say("gradient", leaves[i]);
        return;
    }
    const heed_tensor *x = in->x;
    heed_tensor *W[] = {in->m->W_q->weight, in->m->W_k->weight, in->m->W_v->weight};
    grade_let("x", in->x);
    grade_let("W", heed_unsqueeze(heed_stack(W, 3, 0), 1));
    grade_let("W_o", in->m->W_o->weight);
    grade_let("mask", mask_of(which, true, heed_size(x, 1), in->is_word));
    grade_let("unread", heed_logical_not(heed_unsqueeze(in->is_word, 2)));
    grade_let_number("B", (double)heed_size(x, 0));
    grade_let_number("T", (double)heed_size(x, 1));
    grade_let_number("d", (double)heed_size(x, 2));
    grade_let_number("heads", which == MULTI_HEAD ? in->m->heads : 1);
    if (which == PADDED) {
        grade_let("open", NULL);
    } else if (which != ONE_HEAD) {
        grade_let("future", heed_causal_block_mask(heed_size(x, 1)));
        grade_let("ones", heed_ones(HEED_SHAPE(heed_size(x, 1), heed_size(x, 1)), HEED_BOOL));
    }
    for (struct mistake *m = grade_mistakes("class", "read"); m->why != NULL; m++) {
        if (m->result != NULL && grade_equal(yours->of[Y], m->result)) {
            v->text = m->why;
            return;
        }
    }
    if (!printed) {
        v->text = grade_sentence("other inputs");
        return;
    }
    const char *why = explain_sums(weights);
    why = why == NULL ? explain_reach(which, in) : why;
    int64_t i = 0;
    const double *mine = heed_const_data_f64(heed_contiguous(yours->of[Y]));
    const double *good = heed_const_data_f64(heed_contiguous(right->of[Y]));
    while (grade_near(mine[i], good[i])) {
        i++;
    }
    v->text = say("something else", (int)i, isnan(mine[i]) ? fabs(mine[i]) : mine[i], good[i],
                  why == NULL ? grade_sentence("numbers") : why);
}

static void check(int which, const input *in, bool printed, verdict *v)
{
    heed_tensor *x = leaf_of(in->x), *weights = NULL;
    heed_tensor *y = theirs(which, in->m, x, in->is_word, &weights);
    result yours = {{NULL}};
    bool fails = heed_error_pending() != HEED_OK || y == NULL ||
                 !grade_has_shape(y, heed_shape_of_tensor(in->x));
    if (!fails) {
        yours = result_of(in, x, y);
        fails = heed_error_pending() != HEED_OK;
    }
    if (fails) {
        if (v->right) {
            v->text = heed_error_pending() != HEED_OK
                          ? say("Heed reports an error in your code: %s", heed_error_message())
                      : y == NULL ? "It returns NULL."
                                  : grade_sentence("shape");
        }
        heed_error();
        v->right = v->given = false;
        return;
    }
    const result right = result_of_class(which, true, in),
                 given = result_of_class(which, false, in);
    const bool is_right = same(&yours, &right);
    if (!is_right && v->right) {
        explain(which, in, weights, &yours, &right, printed, v);
    }
    if (is_right && v->right && which != NEXT_WORD && which != MULTI_HEAD &&
        (weights == NULL || weights->ndim != 3)) {
        v->text = say("y is right, but *weights %s: the map needs the weights, (B, T, T).",
                      weights == NULL ? "is not set" : "has another shape");
        v->right = v->given = false;
    }
    v->right = v->right && is_right;
    v->given = v->given && same(&yours, &given);
}

/* is_word (B, T): each sentence has words, and where `pads`, padding on either side. */
static heed_tensor *words(int64_t batch, int64_t length, bool pads)
{
    heed_tensor *at = heed_arange(0, (double)length, 1, HEED_I64);
    heed_tensor *rows[4];
    for (int64_t b = 0; b < batch; b++) {
        const int64_t n = pads && length > 1 ? 1 + (length + b) / 2 % (length - 1) : length;
        rows[b] =
            b % 2 == 0 ? heed_lt_scalar(at, (double)n) : heed_ge_scalar(at, (double)(length - n));
    }
    return heed_stack(rows, (int)batch, 0);
}

static void check_all(int which, verdict *v)
{
    static const struct {
        int64_t batch, length, d;
        int heads;
    } sizes[] = {{1, 4, 8, 2}, {1, 6, 8, 2},  {2, 5, 6, 3}, {3, 3, 4, 1}, {2, 8, 8, 4},
                 {1, 1, 4, 2}, {2, 12, 6, 2}, {3, 7, 8, 2}, {4, 2, 2, 1}, {2, 4, 4, 4}};
    *v = (verdict){.right = true, .given = true};
    for (int i = 0; i < (int)(sizeof sizes / sizeof *sizes); i++) {
        HEED_SCOPE(scope);
        const int64_t B = sizes[i].batch, T = sizes[i].length, d = sizes[i].d;
        grade_case("%s, x (%d, %d, %d)", names[which], (int)B, (int)T, (int)d);
        heed_manual_seed(10 + (uint64_t)(i < 2 ? 0 : i)); /* the first two: those of the maps */
        input in = {.m = attention_new(d, sizes[i].heads)};
        heed_module_to(in.m, HEED_F64);
        in.x = heed_mul_scalar(heed_randn(HEED_SHAPE(B, T, d), HEED_F64), 2);
        in.is_word = i < 2 ? words_of_map(T) : words(B, T, which == PADDED);
        in.upstream = heed_randn(HEED_SHAPE(B, T, d), HEED_F64);
        check(which, &in, i < 2, v);
        heed_module_free(in.m);
    }
}

static void grade(void)
{
    int right = 0, given = 0, wrong = CLASSES;
    verdict v[CLASSES];
    setenv("COLUMNS", "88", 1); /* of symptoms, wherever they are printed */
    setenv("LC_ALL", "C", 1);
    if (getenv("SYMPTOMS") != NULL) {
        for (int i = 0; i < CLASSES; i++) {
            printf("\n== %s ==\n", names[i]);
            print_symptom(i);
        }
    }
    for (int i = 0; i < CLASSES; i++) {
        check_all(i, &v[i]);
        right += v[i].right;
        given += v[i].given;
    }
    for (int i = CLASSES - 1; i >= 0;
         i--) { /* one that was changed comes before those that were not */
        const bool other = wrong < CLASSES && !v[wrong].given && v[i].given;
        wrong = v[i].right || other ? wrong : i;
    }
    if (given == CLASSES) {
        grade_not_begun("All five classes compute what they did before.");
    }
    if (right == CLASSES) {
        return;
    }
    printf("\n");
    for (int i = 0; i < CLASSES; i++) {
        printf("  %d. %-14s %s\n", i + 1, names[i],
               v[i].right   ? "right"
               : v[i].given ? "as it was, or changed without an effect"
                            : "changed, and not right");
    }
    grade_case("%s", names[wrong]);
    if (!v[wrong].given) {
        printf("\n  The symptom of %s, as it is now:\n\n", names[wrong]);
        print_symptom(wrong);
    }
    grade_fail("some", right,
               v[wrong].given ? grade_sentence(say("look %d", wrong + 1)) : v[wrong].text);
}

const struct task task = {10, grade};
