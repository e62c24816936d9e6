/* Grades task 4: the class SelfAttention. */
#define GRADER
#include "task4.h"

enum { Q, K, V };

/* Sets what the formulas read. x (..., T, d); w: the weights (d, d). */
static void let_inputs(heed_tensor *x, heed_tensor *const w[3], heed_tensor *mask)
{
    grade_forget();
    grade_let("x", x);
    grade_let("W_q", w[Q]);
    grade_let("W_k", w[K]);
    grade_let("W_v", w[V]);
    grade_let("mask", mask);
    if (mask == NULL) {
        grade_let("unasked", heed_causal_block_mask(heed_size(x, -2)));
    }
    grade_let_number("T", (double)heed_size(x, -2));
    grade_let_number("d", (double)heed_size(x, -1));
}

/* ---- the module ---- */

static const char *const names[3] = {"W_q.weight", "W_k.weight", "W_v.weight"};

static heed_tensor *weight_of(struct self_attention *self, int which)
{
    return heed_to(heed_detach(heed_state(self, names[which])), HEED_F64);
}

/* Layer n is not registered. The forward tells why: it fails if there is none. */
static _Noreturn void explain_missing(struct self_attention *self, int64_t d_model, int n)
{
    const heed_tensor_list list = heed_parameters(self);
    heed_tensor *x = heed_mul_scalar(heed_randn(HEED_SHAPE(3, d_model), HEED_F32), 0.5);
    heed_tensor *y = self_attention_forward(self, x, NULL);
    const bool works = heed_error() == HEED_OK && y != NULL;
    if (list.count == 0 && !works) {
        grade_fail("no layer", names[n], 0);
    }
    for (int other = 0; list.count == 2 && works && other < 3; other++) {
        heed_tensor *w[3] = {NULL};
        for (int i = 0; other != n && i < 3; i++) {
            w[i] = weight_of(self, i == n ? other : i);
        }
        if (other != n) {
            let_inputs(x, w, NULL);
        }
        if (other != n && grade_equal(y, grade_right("forward", "y"))) {
            grade_fail("one layer", names[n], 2, names[other]);
        }
    }
    grade_fail("unknown layer", names[n], list.count);
}

static void check_parameters(struct self_attention *self, int64_t d_model)
{
    const heed_tensor_list list = heed_parameters(self);
    grade_no_error();
    for (int n = 0; n < 3; n++) {
        int at = 0;
        while (at < list.count && strcmp(list.names[at], names[n]) != 0) {
            at++;
        }
        if (at == list.count) {
            explain_missing(self, d_model, n);
        }
        grade_returned(names[n], list.tensors[at], HEED_SHAPE(d_model, d_model));
        if (heed_item(heed_amax(heed_abs(heed_detach(list.tensors[at])))) == 0) {
            grade_fail("zero", names[n]);
        }
    }
    for (int i = 0; i < list.count; i++) {
        if (strstr(list.names[i], "bias") != NULL) {
            grade_fail("bias", list.names[i]);
        }
    }
    if (list.count > 3) {
        grade_fail("too many", list.count);
    }
}

/* A new module, in f64 unless `f32`. */
static struct self_attention *make(int64_t d_model, int row_dim, int col_dim, bool f32)
{
    struct self_attention *self = self_attention_new(d_model, row_dim, col_dim);
    check_parameters(self, d_model);
    heed_module_to(self, f32 ? HEED_F32 : HEED_F64);
    return self;
}

/* ---- numbers ---- */

/* Runs the learner's forward and compares y. */
static void check(struct self_attention *self, heed_tensor *x, heed_tensor *mask, bool other_dims)
{
    heed_tensor *const w[3] = {weight_of(self, Q), weight_of(self, K), weight_of(self, V)};
    heed_tensor *x_before = heed_clone(x), *mask_before = mask != NULL ? heed_clone(mask) : NULL;
    heed_tensor *y = self_attention_forward(self, x, mask);
    if (other_dims && heed_error_pending() != HEED_OK) {
        grade_fail("Heed reports an error in your code: %s\n  %s", heed_error_message(),
                   grade_sentence("granted"));
    }
    if (y == NULL && heed_error_pending() == HEED_OK) {
        grade_fail("The module has its parameters. self_attention_forward still returns NULL.");
    }
    grade_unchanged("x", x, x_before);
    if (mask != NULL) {
        grade_unchanged("mask", mask, mask_before);
    }
    grade_returned("y", y, heed_shape_of_tensor(x));
    HEED_SCOPE_NO_GRAD(scope);
    let_inputs(x, w, mask);
    heed_tensor *right = heed_to(grade_right("forward", "y"), x->dtype);
    if (grade_matches("y", y, right)) {
        return;
    }
    if (x->numel <= 12) {
        grade_show_tensor("x", x, NULL);
        for (int n = 0; n < 3; n++) {
            grade_show_tensor(names[n], w[n], NULL);
        }
    }
    grade_compare("y", y, right, grade_mistakes("forward", "y"),
                  grade_sentence(isnan(heed_item(heed_sum(y))) ? "nan"
                                 : !grade_equal(y, self_attention_forward(self, x, mask))
                                     ? "random"
                                     : "otherwise"));
}

static void check_given(void)
{
    static const float encodings[] = {1.16f, 0.23f, 0.57f, 1.36f, 4.41f, -2.16f};
    static const double weights[3][4] = {
        {0.5, -0.25, 0.75, 1}, {1, 0.5, -0.5, 0.25}, {2, 1, 0, -1}};
    static const struct {
        int row_dim, col_dim, ndim;
        bool causal;
    } given[] = {{0, 1, 2, false}, {0, 1, 2, true},   {1, 2, 3, false},
                 {1, 2, 3, true},  {-2, -1, 2, true}, {-2, -1, 3, false}};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        HEED_SCOPE(scope);
        const bool batch = given[i].ndim == 3;
        grade_case("self_attention_new(2, %d, %d), x %s, %s mask", given[i].row_dim,
                   given[i].col_dim, batch ? "(2, 3, 2)" : "(3, 2)",
                   given[i].causal ? "a causal" : "no");
        struct self_attention *self = make(2, given[i].row_dim, given[i].col_dim, false);
        for (int n = 0; n < 3; n++) {
            heed_copy_into(heed_state(self, names[n]), heed_from_f64(weights[n], HEED_SHAPE(2, 2)));
        }
        heed_tensor *x = heed_to(heed_from_f32(encodings, HEED_SHAPE(3, 2)), HEED_F64);
        x = batch ? heed_stack((heed_tensor *[]){x, heed_neg(x)}, 2, 0) : x;
        check(self, x, given[i].causal ? heed_causal_block_mask(3) : NULL, given[i].row_dim != 0);
        heed_module_free(self);
    }
}

static void check_random(void)
{
    heed_manual_seed(4);
    for (int i = 0; i < 24; i++) {
        HEED_SCOPE(scope);
        const int64_t T = 1 + i % 7, d = 1 + (i * 3 + 2) % 5, B = 1 + i % 3;
        const int ndim = 2 + i % 3, kind = i / 2 % 3; /* no mask, causal, padding */
        const bool f32 = i % 4 == 3, negative = ndim == 4 || i % 2 == 0;
        heed_shape shape = ndim == 2   ? HEED_SHAPE(T, d)
                           : ndim == 3 ? HEED_SHAPE(B, T, d)
                                       : HEED_SHAPE(2, B, T, d);
        const int row_dim = negative ? -2 : ndim - 2, col_dim = negative ? -1 : ndim - 1;
        grade_case("%s, d_model %d, x of %d dims, %d tokens, dims %d and %d, %s",
                   f32 ? "f32" : "f64", (int)d, ndim, (int)T, row_dim, col_dim,
                   kind == 0   ? "no mask"
                   : kind == 1 ? "causal"
                               : "a mask of padding");
        struct self_attention *self = make(d, row_dim, col_dim, f32);
        heed_tensor *x = heed_to(heed_randn(shape, HEED_F64), f32 ? HEED_F32 : HEED_F64);
        /* (1, T) or, for a batch, (B, 1, T): the last tokens are padding, in each sentence others
         */
        int64_t lengths[] = {T, 1, 1 + T / 2};
        heed_tensor *padding =
            heed_padding_block_mask(ndim > 2 ? heed_from_i64(lengths, HEED_SHAPE(B))
                                             : heed_scalar(1 + (double)(T / 2), HEED_I64),
                                    T);
        check(self, x,
              kind == 0   ? NULL
              : kind == 1 ? heed_causal_block_mask(T)
                          : padding,
              row_dim != 0);
        heed_module_free(self);
    }
}

/* Scores below -14000: a number that is low enough for other scores is not for these. */
static void check_low(void)
{
    HEED_SCOPE(scope);
    grade_case("scores below -14000, a causal mask");
    struct self_attention *self = make(2, -2, -1, false);
    for (int n = 0; n < 3; n++) {
        heed_tensor *one = heed_eye(2, 2, HEED_F64);
        heed_copy_into(heed_state(self, names[n]), heed_mul_scalar(one, n == Q ? -1e4 : 1));
    }
    check(self, heed_from_f64((double[]){1, 2, 3, 1, 1, 1}, HEED_SHAPE(3, 2)),
          heed_causal_block_mask(3), true);
    heed_module_free(self);
}

/* ---- dims, gradients ---- */

/* A module whose dims x does not have. */
static void check_dims(void)
{
    HEED_SCOPE(scope);
    grade_case("self_attention_new(4, 1, 2), x (3, 4), which has no dim 2");
    struct self_attention *self = make(4, 1, 2, false);
    self_attention_forward(self, heed_randn(HEED_SHAPE(3, 4), HEED_F64), NULL);
    if (heed_error_pending() == HEED_OK) {
        grade_fail("ignored");
    }
    heed_error();
    heed_module_free(self);
}

static heed_tensor *without_mask(heed_tensor *x, void *self)
{
    return self_attention_forward(self, x, NULL);
}

static heed_tensor *causal(heed_tensor *x, void *self)
{
    return self_attention_forward(self, x, heed_causal_block_mask(heed_size(x, -2)));
}

static void check_attention(int row_dim, int col_dim, bool unbatched, bool is_causal)
{
    HEED_SCOPE(scope);
    heed_attention_report report = {0};
    grade_case("heed_attention_check, d_model 6, dims %d and %d, %s", row_dim, col_dim,
               is_causal ? "causal" : "no mask");
    struct self_attention *self = make(6, row_dim, col_dim, true);
    heed_attention_check(is_causal ? causal : without_mask, self, .d_model = 6, .causal = is_causal,
                         .unbatched = unbatched, .module = self, .report = &report);
    for (int i = 0; i < HEED_ATTENTION_CHECKS; i++) {
        if (report.checks[i].verdict == HEED_VERDICT_FAILED) {
            grade_fail("check", report.checks[i].text);
        }
    }
    grade_no_error();
    heed_module_free(self);
}

/* Neither gap is filled. */
static bool is_empty(void)
{
    HEED_SCOPE(scope);
    struct self_attention *self = self_attention_new(2, 0, 1);
    const bool empty =
        self == NULL ||
        (heed_parameters(self).count == 0 &&
         self_attention_forward(self, heed_ones(HEED_SHAPE(1, 2), HEED_F32), NULL) == NULL);
    return heed_error() == HEED_OK && empty;
}

static void grade(void)
{
    grade_case("self_attention_new(2, 0, 1), x (1, 2)");
    if (is_empty()) {
        grade_not_begun("The class has no layer, and self_attention_forward returns NULL.");
    }
    check_given();
    check_random();
    check_low();
    check_dims();
    for (int i = 0; i < 2; i++) {
        check_attention(0, 1, true, i == 1);
        check_attention(1, 2, false, i == 1);
        check_attention(-2, -1, false, i == 1);
    }
}

const struct task task = {4, grade};
