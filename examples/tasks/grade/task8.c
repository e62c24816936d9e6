/* Grades task 8: several heads. */
#define GRADER
#include "task8.h"

/* Sets the sizes that formulas read. */
static void let_sizes(int64_t B, int64_t T, int64_t C, int64_t heads)
{
    grade_let_number("B", (double)B);
    grade_let_number("T", (double)T);
    grade_let_number("C", (double)C);
    grade_let_number("heads", (double)heads);
    grade_let_number("width", (double)(C / heads));
}

/* ---- split and merge ---- */

static heed_tensor *check_split(heed_tensor *x, int heads)
{
    grade_case("split_heads, x %s, %d head%s", heed_shape_text(x->ndim, x->shape).text, heads,
               heads == 1 ? "" : "s");
    heed_tensor *before = heed_clone(x), *yours = split_heads(x, heads);
    grade_answered("split_heads", yours);
    grade_unchanged("x", x, before);
    let_sizes(heed_size(x, 0), heed_size(x, 1), heed_size(x, 2), heads);
    grade_let("x", x);
    heed_tensor *right = heed_to(grade_right("split", "y"), x->dtype);
    if (heed_size(x, 0) == 1 && !grade_equal(yours, right)) {
        grade_show_tensor("x, 10 times the token plus the feature", heed_select(x, 0, 0), NULL);
    }
    grade_compare("split_heads", yours, right, grade_mistakes("split", "y"),
                  grade_sentence("each split"));
    return right;
}

static void check_merge(heed_tensor *y)
{
    grade_case("merge_heads, y %s", heed_shape_text(y->ndim, y->shape).text);
    heed_tensor *before = heed_clone(y), *yours = merge_heads(y);
    grade_answered("merge_heads", yours);
    grade_unchanged("y", y, before);
    let_sizes(heed_size(y, 0), heed_size(y, 2), heed_size(y, 1) * heed_size(y, 3), heed_size(y, 1));
    grade_let("x", y);
    heed_tensor *right = heed_to(grade_right("merge", "y"), y->dtype);
    if (heed_size(y, 0) == 1 && !grade_equal(yours, right)) {
        grade_show_tensor("y, head 0; 10 times the token plus the feature",
                          heed_select(heed_select(y, 0, 0), 0, 0), NULL);
    }
    grade_compare("merge_heads", yours, right, grade_mistakes("merge", "y"),
                  grade_sentence("each merge"));
}

/* ---- forward ---- */

static const heed_module_kind kind = {.name = "MultiHead", .size = sizeof(struct multi_head)};

static struct multi_head *multi_head_new(int64_t C, int heads, heed_dtype dtype)
{
    struct multi_head *m = heed_module_new(&kind);
    HEED_CHILD(m, W_q, heed_linear_new(C, C, .no_bias = true));
    HEED_CHILD(m, W_k, heed_linear_new(C, C, .no_bias = true));
    HEED_CHILD(m, W_v, heed_linear_new(C, C, .no_bias = true));
    HEED_CHILD(m, W_o, heed_linear_new(C, C, .no_bias = true));
    heed_module_to(m, dtype);
    m->heads = heads;
    return m;
}

static void check_forward(int64_t B, int64_t T, int64_t C, int heads, heed_dtype dtype)
{
    HEED_SCOPE(scope);
    struct multi_head *m = multi_head_new(C, heads, dtype);
    heed_tensor *x = heed_randn(HEED_SHAPE(B, T, C), dtype);
    grade_case("forward, x %s, %d head%s, %s", heed_shape_text(x->ndim, x->shape).text, heads,
               heads == 1 ? "" : "s", dtype == HEED_F32 ? "f32" : "f64");
    heed_tensor *before = heed_clone(x), *yours = forward(m, x);
    if (heed_error_pending() != HEED_OK && strstr(heed_error_message(), "linear in ") != NULL) {
        grade_fail("Heed reports an error in your code: %s. %s", heed_error_message(),
                   say("all features", (int)C));
    }
    grade_answered("forward", yours);
    grade_unchanged("x", x, before);
    heed_tensor *W[] = {m->W_q->weight, m->W_k->weight, m->W_v->weight};
    let_sizes(B, T, C, heads);
    grade_let("x", x);
    grade_let("W", heed_unsqueeze(heed_stack(W, 3, 0), 1));
    grade_let("W_o", m->W_o->weight);
    grade_let("later", heed_causal_block_mask(T));
    grade_compare("forward", yours, heed_to(grade_right("forward", "y"), dtype),
                  grade_mistakes("forward", "y"), grade_sentence("pencil"));
    heed_module_free(m);
}

static heed_tensor *forward_of(heed_tensor *x, void *m)
{
    return forward(m, x);
}

/* What numbers do not show: gradients, and that a call depends on nothing else. */
static void check_attention(int64_t C, int heads)
{
    HEED_SCOPE(scope);
    grade_case("heed_attention_check of forward, %d features, %d heads", (int)C, heads);
    struct multi_head *m = multi_head_new(C, heads, HEED_F64);
    heed_attention_report report = {0};
    heed_attention_check(forward_of, m, .d_model = C, .heads = heads, .module = m,
                         .report = &report);
    for (int i = 0; i < HEED_ATTENTION_CHECKS; i++) {
        if (report.checks[i].verdict == HEED_VERDICT_FAILED) {
            grade_fail("check", report.checks[i].text);
        }
    }
    heed_module_free(m);
}

/* ---- cases ---- */

/* (B, T, C): 100 times the sequence plus 10 times the token plus the feature. */
static heed_tensor *numbered(int64_t B, int64_t T, int64_t C)
{
    heed_tensor *x = heed_arange(0, (double)C, 1, HEED_F64);
    x = heed_add(heed_reshape(heed_arange(0, 10 * (double)T, 10, HEED_F64), HEED_SHAPE(T, 1)), x);
    return heed_add(
        heed_reshape(heed_arange(0, 100 * (double)B, 100, HEED_F64), HEED_SHAPE(B, 1, 1)), x);
}

static const struct {
    int B, T, C, heads;
} sizes[] = {
    {1, 3, 4, 2}, {1, 2, 4, 4}, {1, 4, 4, 1}, {2, 3, 6, 2},
    {2, 4, 6, 3}, {3, 1, 8, 4}, {1, 1, 1, 1},
};

static void grade(void)
{
    HEED_SCOPE(all);
    heed_manual_seed(5);
    enum { SIZES = sizeof sizes / sizeof sizes[0] };
    grade_case("which of the functions are written");
    heed_tensor *row = heed_zeros(HEED_SHAPE(1, 1, 1), HEED_F64);
    if (split_heads(row, 1) == NULL && heed_error() == HEED_OK) {
        const bool merges = merge_heads(heed_zeros(HEED_SHAPE(1, 1, 1, 1), HEED_F64)) != NULL ||
                            heed_error() != HEED_OK;
        const bool forwards =
            forward(multi_head_new(1, 1, HEED_F64), row) != NULL || heed_error() != HEED_OK;
        if (!merges && !forwards) {
            grade_not_begun("All three functions return NULL.");
        }
    }
    heed_tensor *split[SIZES];
    for (int i = 0; i < SIZES; i++) {
        split[i] = check_split(numbered(sizes[i].B, sizes[i].T, sizes[i].C), sizes[i].heads);
    }
    check_split(heed_randn(HEED_SHAPE(2, 5, 12), HEED_F32), 4);
    for (int i = 0; i < SIZES; i++) {
        check_merge(split[i]);
    }
    check_merge(heed_randn(HEED_SHAPE(2, 4, 5, 3), HEED_F32));
    check_forward(1, 4, 6, 2, HEED_F64); /* heads, width and T differ, and their roots */
    for (int i = 0; i < SIZES; i++) {
        check_forward(sizes[i].B, sizes[i].T, sizes[i].C, sizes[i].heads,
                      i % 2 ? HEED_F32 : HEED_F64);
    }
    check_forward(2, 5, 12, 4, HEED_F64);
    check_attention(6, 2);
    check_attention(12, 4);
}

const struct task task = {8, grade};
