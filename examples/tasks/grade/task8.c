/* Grades task 8: several heads. */
#define GRADER
#include "task8.h"

/* ---- right and wrong ways to split and merge; NULL if the shapes do not fit ---- */

static heed_tensor *cut(heed_tensor *x, int64_t heads)
{
    return heed_reshape(x, HEED_SHAPE(heed_size(x, 0), heed_size(x, 1), heads, -1));
}

static heed_tensor *split(heed_tensor *x, int heads)
{
    return heed_transpose(cut(x, heads), 1, 2);
}

static heed_tensor *split_by_view(heed_tensor *x, int heads)
{
    return heed_reshape(x, HEED_SHAPE(heed_size(x, 0), heads, heed_size(x, 1), -1));
}

/* Feature i goes to head i % heads. */
static heed_tensor *deal(heed_tensor *x, int heads)
{
    return heed_permute(cut(x, heed_size(x, 2) / heads), HEED_DIMS(0, 3, 1, 2));
}

static heed_tensor *join(heed_tensor *y, heed_dims order)
{
    const heed_shape shape = HEED_SHAPE(heed_size(y, 0), heed_size(y, 2), -1);
    return heed_reshape(heed_permute(y, order), shape);
}

static heed_tensor *merge(heed_tensor *y)
{
    return join(y, HEED_DIMS(0, 2, 1, 3));
}

static heed_tensor *merge_by_view(heed_tensor *y)
{
    return join(y, HEED_DIMS(0, 1, 2, 3));
}

static heed_tensor *collect(heed_tensor *y)
{
    return join(y, HEED_DIMS(0, 2, 3, 1));
}

static const char by_view[] =
    "You split by a reshape alone. It keeps the order of the numbers, so the sequence is cut in "
    "place of the features: head 0 gets all features of the first tokens, and never sees the last "
    "ones.";
static const char dealt[] =
    "You have width and heads exchanged: head 0 gets features 0, %d and so on. The features of a "
    "head should lie side by side, because they come from neighbouring rows of W_q, W_k and W_v.";
static const char merged_by_view[] =
    "You merge by a reshape alone. It keeps the order of the numbers, and in each head the tokens "
    "lie side by side: a token gets features of other tokens, later ones too.";

/* ---- split ---- */

static void check_split(heed_tensor *x, int heads)
{
    grade_case("split_heads, x %s, %d head%s", heed_shape_text(x->ndim, x->shape).text, heads,
               heads == 1 ? "" : "s");
    heed_tensor *before = heed_clone(x), *yours = split_heads(x, heads);
    grade_answered("split_heads", yours);
    grade_unchanged("x", x, before);
    const int64_t width = heed_size(x, 2) / heads;
    char every[300];
    snprintf(every, sizeof every, dealt, heads);
    const struct mistake mistakes[] = {
        {split_by_view(x, heads), by_view},
        {cut(x, heads), "The features are cut into heads, but the heads stand behind the tokens: "
                        "(B, T, heads, width). Products and softmax run over the last two dims, "
                        "so these should be the tokens and the width."},
        {deal(x, heads), every},
        {heed_transpose(cut(x, width), 1, 2),
         "You have width and heads exchanged: that is attention in `width` heads of `heads` "
         "features."},
        {heed_permute(cut(x, heads), HEED_DIMS(2, 0, 1, 3)),
         "The heads come before the batch. Dim 0 should stay that of the sequences."},
        {NULL, NULL},
    };
    heed_tensor *right = split(x, heads);
    if (heed_size(x, 0) == 1 && !grade_equal(yours, right)) {
        grade_show_tensor("x, 10 times the token plus the feature", heed_select(x, 0, 0), NULL);
    }
    grade_compare("split_heads", yours, right, mistakes,
                  "Head h should have features h * width to (h + 1) * width - 1 of every token.");
}

/* ---- merge ---- */

static void check_merge(heed_tensor *y)
{
    grade_case("merge_heads, y %s", heed_shape_text(y->ndim, y->shape).text);
    heed_tensor *before = heed_clone(y), *yours = merge_heads(y);
    grade_answered("merge_heads", yours);
    grade_unchanged("y", y, before);
    char every[300];
    snprintf(every, sizeof every, dealt, (int)heed_size(y, 1));
    static const char *const fewer = "You add the heads up or average them. Then W_o cannot tell "
                                     "which head has found what: they should stand side by side.";
    const struct mistake mistakes[] = {
        {merge_by_view(y), merged_by_view},
        {collect(y), every},
        {heed_mean_dim(y, 1, false), fewer},
        {heed_sum_dim(y, 1, false), fewer},
        {heed_select(y, 1, 0), "You return head 0 alone."},
        {heed_transpose(y, 1, 2), "The heads are still a dim of their own. Each token should have "
                                  "one row of heads * width features."},
        {join(y, HEED_DIMS(0, 1, 3, 2)), "You exchange tokens and width. Which dim should come "
                                         "before the width, so that each token's heads are side "
                                         "by side?"},
        {NULL, NULL},
    };
    heed_tensor *right = merge(y);
    if (heed_size(y, 0) == 1 && !grade_equal(yours, right)) {
        grade_show_tensor("y, head 0; 10 times the token plus the feature",
                          heed_select(heed_select(y, 0, 0), 0, 0), NULL);
    }
    grade_compare("merge_heads", yours, right, mistakes,
                  "Row t should have head 0 of token t, then head 1 of token t, and so on.");
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

/* Attention with, perhaps, one mistake: what is NULL or 0 is right. */
struct way {
    heed_tensor *(*split)(heed_tensor *, int), *(*merge)(heed_tensor *);
    heed_tensor *(*change)(heed_tensor *); /* of the weights */
    double divisor;                        /* of the scores */
    int dim;                               /* of the softmax; NONE: no softmax */
    int heads;
    bool causal;
};

enum { NONE = 9 };

/* q, k, v (B, T, C) -> (B, T, C), without W_o. */
static heed_tensor *attend(const struct multi_head *m, heed_tensor *q, heed_tensor *k,
                           heed_tensor *v, struct way way)
{
    const int heads = way.heads != 0 ? way.heads : m->heads;
    const double width = (double)heed_size(q, 2) / heads;
    heed_tensor *(*cut_into)(heed_tensor *, int) = way.split != NULL ? way.split : split;
    q = cut_into(q, heads);
    k = cut_into(k, heads);
    v = cut_into(v, heads);
    heed_tensor *w = heed_div_scalar(heed_matmul(q, heed_transpose(k, -2, -1)),
                                     way.divisor != 0 ? way.divisor : sqrt(width));
    if (way.causal) {
        w = heed_masked_fill(w, heed_causal_block_mask(heed_size(w, -1)), -(double)INFINITY);
    }
    w = way.dim != NONE ? heed_softmax(w, way.dim != 0 ? way.dim : -1) : w;
    w = way.change != NULL ? way.change(w) : w;
    return (way.merge != NULL ? way.merge : merge)(heed_matmul(w, v));
}

/* The whole forward. */
static heed_tensor *attend_and_mix(const struct multi_head *m, heed_tensor *q, heed_tensor *k,
                                   heed_tensor *v, struct way way)
{
    return heed_linear_forward(m->W_o, attend(m, q, k, v, way));
}

static heed_tensor *mean_of_heads(heed_tensor *w)
{
    return heed_expand(heed_mean_dim(w, 1, true), heed_shape_of_tensor(w));
}

static heed_tensor *turned(heed_tensor *w)
{
    return heed_transpose(w, -2, -1);
}

static heed_tensor *alone(heed_tensor *x, int heads)
{
    (void)heads;
    return heed_unsqueeze(x, 1);
}

/* Fails. */
static void explain(struct multi_head *m, heed_tensor *x, heed_tensor *yours, heed_tensor *right)
{
    const double T = (double)heed_size(x, 1), C = (double)heed_size(x, 2), width = C / m->heads;
    const struct way normal = {0};
    heed_tensor *q = heed_linear_forward(m->W_q, x), *k = heed_linear_forward(m->W_k, x);
    heed_tensor *v = heed_linear_forward(m->W_v, x);
    char model[300], every[300], fixed[200];
    snprintf(model, sizeof model,
             "You divide the scores by the root of %g, the width of the model. In one of %d heads "
             "a score is a sum of %g products only.",
             C, m->heads, width);
    snprintf(every, sizeof every, dealt, m->heads);
    snprintf(fixed, sizeof fixed,
             "That is attention in 2 heads, as in the first case. Here m->heads is %d.", m->heads);
    const struct {
        struct way way;
        const char *why;
    } ways[] = {
        {{.divisor = sqrt(C)}, model},
        {{.divisor = width}, "You divide the scores by the width, without the root."},
        {{.divisor = 1},
         "Your scores are not scaled. (Or they are divided by 1: in C, 1 / 2 is 0, so pow(width, 1 "
         "/ 2) is 1, and (int)sqrt(3) is 1, too.)"},
        {{.divisor = sqrt(3)},
         "You divide the scores by the root of 3 in each case. It was the root of the width "
         "before; "
         "here the width is another number."},
        {{.divisor = sqrt(m->heads)},
         "You divide the scores by the root of the number of heads. What counts is how many "
         "products are added up in a score."},
        {{.divisor = sqrt(T)},
         "You divide the scores by the root of the number of tokens. What counts is how many "
         "products are added up in a score."},
        {{.divisor = 1 / sqrt(width)},
         "You multiply the scores by the root where the formula divides."},
        {{.dim = 1},
         "Your softmax runs over the heads, so that heads share a key among them. Each query "
         "should divide its attention among the keys, in each head alone."},
        {{.dim = -2},
         "Your softmax runs over the queries: columns sum to 1. Each query, a row, should divide "
         "its attention among the keys."},
        {{.dim = NONE}, "There is no softmax between the scores and the values."},
        {{.change = mean_of_heads},
         "The weights are averaged over the heads, so all heads look at the same tokens. Each "
         "should have weights of its own."},
        {{.change = turned},
         "The weights are transposed before they meet the values: rows are queries."},
        {{.split = alone, .divisor = sqrt(C)},
         "The heads are not split: this is one head of all features, with one softmax."},
        {{.split = split_by_view}, by_view},
        {{.merge = merge_by_view}, merged_by_view},
        {{.split = deal, .merge = collect}, every},
        {{.causal = true},
         "Your attention is causal. This task has no mask: all tokens see each other."},
        {{.heads = heed_size(x, 2) % 2 == 0 ? 2 : m->heads}, fixed},
    };
    enum { WAYS = sizeof ways / sizeof *ways };
    const struct mistake others[] = {
        {attend(m, q, k, v, normal), "W_o is missing: until then the features of the heads stand "
                                     "side by side, and no feature has used more than one head."},
        {attend(m, q, k, heed_linear_forward(m->W_o, v), normal),
         "W_o comes before the heads are merged. It should mix what the heads have found, so it "
         "has to come after all of them."},
        {heed_matmul(attend(m, q, k, v, normal), m->W_o->weight),
         "You multiply by W_o's weight itself. A Linear multiplies by its transpose: its weight "
         "has the shape (out, in)."},
        {heed_add(x, right), "You add x. That is done around attention, in a block; forward "
                             "returns what attention finds."},
        {attend_and_mix(m, k, q, v, normal),
         "Queries and keys are exchanged: W_q gives the queries, whose rows the scores have."},
        {attend_and_mix(m, q, q, v, normal), "Your keys come from W_q."},
        {attend_and_mix(m, q, k, k, normal), "Your values come from W_k."},
        {attend_and_mix(m, x, x, x, normal),
         "Your queries, keys and values are x itself, without W_q, W_k and W_v."},
    };
    enum { OTHERS = sizeof others / sizeof *others };
    struct mistake mistakes[OTHERS + WAYS + 1] = {{NULL, NULL}};
    memcpy(mistakes, others, sizeof others);
    for (int i = 0; i < WAYS; i++) {
        heed_tensor *y = grade_try(attend_and_mix(m, q, k, v, ways[i].way));
        mistakes[OTHERS + i] = (struct mistake){y, ways[i].why};
    }
    grade_compare("forward", yours, right, mistakes,
                  "split_heads and merge_heads are right. Go through forward with a pencil: what "
                  "has which shape, and which formula should give each of them?");
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
        grade_fail("Heed reports an error in your code: %s. Each W takes all %d features of a "
                   "token, not those of one head.",
                   heed_error_message(), (int)C);
    }
    grade_answered("forward", yours);
    grade_unchanged("x", x, before);
    heed_tensor *right =
        attend_and_mix(m, heed_linear_forward(m->W_q, x), heed_linear_forward(m->W_k, x),
                       heed_linear_forward(m->W_v, x), (struct way){0});
    if (!grade_matches("forward", yours, right)) {
        explain(m, x, yours, right);
    }
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
            grade_fail("The numbers are right, but there is more to a forward: %s. Gradients go "
                       "only through Heed's functions, from y back to x and to each W.",
                       report.checks[i].text);
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
    for (int i = 0; i < SIZES; i++) {
        check_split(numbered(sizes[i].B, sizes[i].T, sizes[i].C), sizes[i].heads);
    }
    check_split(heed_randn(HEED_SHAPE(2, 5, 12), HEED_F32), 4);
    for (int i = 0; i < SIZES; i++) {
        check_merge(split(numbered(sizes[i].B, sizes[i].T, sizes[i].C), sizes[i].heads));
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

const struct task task = {
    8,
    "several heads",
    {"A reshape never moves a number, a transpose does. Write down where feature 2 of token 1 lies "
     "in (B, T, C), and where in (B, heads, T, width).",
     "(B, T, C) is also (B, T, heads, width): that is a reshape. Then heads and tokens change "
     "places. To merge, undo the last step first. In forward, W_q, W_k and W_v come before the "
     "heads are split, and W_o after they are merged."},
    grade,
    {"Two heads of 4 features, or one of 8: which needs more weights, and what can two do that one "
     "cannot?",
     "The softmax of each head is over the same tokens. Why do the heads not learn the same?"}};
