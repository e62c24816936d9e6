/* Everything that can be done wrong, one row of misuse.def at a time: each gives its error with a
 * sentence that says what happened, leaks nothing, blocks until it is read, and harms nothing. */
#include <math.h>
#include <string.h>

#include "tests/test_util.h"

Suite *misuse_suite(void);

/* ---- what the rows are written with ---- */

#define F32(...)     heed_ones(HEED_SHAPE(__VA_ARGS__), HEED_F32)
#define F64(...)     heed_ones(HEED_SHAPE(__VA_ARGS__), HEED_F64)
#define I64(...)     heed_ones(HEED_SHAPE(__VA_ARGS__), HEED_I64)
#define BOOL(...)    heed_ones(HEED_SHAPE(__VA_ARGS__), HEED_BOOL)
#define LIST(...)    ((heed_tensor *[]){__VA_ARGS__})
#define HUGE_SIZE    (INT64_C(1) << 60)
#define NOT_A_NUMBER ((double)NAN)
#define INFINITE     ((double)INFINITY)

static double room[4];
static heed_tensor *no_grads[1], *parts[4];
static const int64_t some_class = 1;
static const heed_sgd_step sgd = {.lr = 0.1};
static const heed_adam_step adam = {.lr = 0.1, .beta1 = 0.9, .beta2 = 0.9, .t = 1};

static const heed_adam_options no_options = {0};

static struct {
    struct heed_linear *linear;
    struct heed_embedding *embedding;
    struct heed_position_encoding *position;
    struct heed_self_attention *attention;
    struct heed_multi_head *heads;
} nn;

static heed_tensor *leaf(heed_tensor *x)
{
    return heed_set_requires_grad(x, true);
}

static void cat_too_much(void)
{
    heed_tensor *list[64], *huge = heed_expand(F32(1), HEED_SHAPE(HUGE_SIZE / 8));
    for (int i = 0; i < 64; i++) {
        list[i] = huge;
    }
    heed_cat(list, 64, 0);
}

static void stack_too_much(void)
{
    heed_tensor *list[64], *huge = heed_expand(F32(1), HEED_SHAPE(INT64_MAX / 32));
    for (int i = 0; i < 64; i++) {
        list[i] = huge;
    }
    heed_stack(list, 64, 0);
}

static void backward_of_no_grad(void)
{
    heed_scope scope;
    heed_scope_begin_no_grad(&scope);
    heed_backward(heed_sum(leaf(F32(2))));
    heed_scope_end(&scope);
}

static void backward_twice(bool first_by_grad)
{
    heed_tensor *x = leaf(F32(2)), *y = heed_sum(heed_exp(x)), *dx;
    if (first_by_grad) {
        heed_grad(y, &x, 1, &dx, false);
    } else {
        heed_backward(y);
    }
    heed_backward(y);
}

/* Changes an operand, or the result, that a derivative will read. */
static void move(bool output)
{
    heed_tensor *x = leaf(F32(2)), *c = F32(2);
    heed_tensor *y = output ? heed_exp(x) : heed_mul(x, c);
    heed_fill_into(output ? y : c, 3);
    heed_backward(heed_sum(y));
}

static void require_late(void)
{
    heed_tensor *x = leaf(F32(2)), *b = F32(2), *y = heed_sum(heed_mul(x, b));
    heed_set_requires_grad(b, true);
    heed_backward(y);
}

static void grad_by(heed_tensor *x)
{
    heed_tensor *dx = x;
    heed_grad(heed_sum(leaf(F32(2))), &x, 1, &dx, false);
    ck_assert_ptr_null(dx);
}

static heed_tensor *square(heed_tensor *const *inputs, void *context)
{
    (void)context;
    return heed_mul(inputs[0], inputs[0]);
}

static heed_tensor *gives_nothing(heed_tensor *const *inputs, void *context)
{
    (void)inputs, (void)context;
    return NULL;
}

typedef heed_status checker(heed_function *f, void *context, heed_tensor *const *inputs, int count,
                            heed_gradcheck_options options);

static void check(checker *gradcheck, heed_tensor *x)
{
    gradcheck(square, NULL, &x, 1, (heed_gradcheck_options){0});
}

static void end_twice(void)
{
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_scope_end(&scope);
    heed_scope_end(&scope);
}

static void leave_open(void)
{
    heed_scope outer, inner, innermost;
    heed_scope_begin(&outer);
    heed_scope_begin_no_grad(&inner);
    heed_scope_begin(&innermost);
    F32(100);
    heed_scope_end(&outer);
}

/* A link of a graph whose value nothing was going to read. */
static heed_tensor *without_value(void)
{
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *sum = heed_sum(heed_add_scalar(leaf(F32(2)), 1));
    return heed_scope_end_with(&scope, sum)->inputs[0];
}

/* Saves one tensor, and the same again under another name if there is one. Such a folder is not. */
static void save_in(const char *name, const char *other, heed_tensor *x, const heed_metadata *about)
{
    const char *const names[] = {name, other};
    heed_save_file("/heed-none/file", (heed_tensor_list){1 + (other != NULL), LIST(x, x), names},
                   about);
}

/* Saves a bit of metadata and nothing else. */
static void save_about(const char *key, const char *value, const char *other)
{
    save_in("x", NULL, F32(2), (heed_metadata[]){{key, value}, {other, ""}, {NULL, NULL}});
}

static heed_safetensors *of_pytorch(void)
{
    return heed_safetensors_open("tests/fixtures/attention.safetensors");
}

static void read_tensor(const char *name)
{
    heed_safetensors *file = of_pytorch();
    heed_safetensors_tensor(file, name);
    heed_safetensors_close(file);
}

static void read_name(int i)
{
    heed_safetensors *file = of_pytorch();
    heed_safetensors_name(file, i);
    heed_safetensors_close(file);
}

static void read_metadata(const char *key)
{
    heed_safetensors *file = of_pytorch();
    heed_safetensors_metadata(file, key);
    heed_safetensors_close(file);
}

/* ---- the rows ---- */

typedef struct row {
    const char *name;
    void (*provoke)(heed_tensor *w);
    heed_status status;
    const char *words;
} row;

/* Each row becomes a function, and then a line of a table. */
#define FUNCTION(name, call)                                                                       \
    static void misuse_##name(heed_tensor *w)                                                      \
    {                                                                                              \
        (void)w;                                                                                   \
        (void)(call);                                                                              \
    }
#define MISUSE(name, call, status, words)           FUNCTION(name, call)
#define MISUSE_OF_MODULE(name, call, status, words) FUNCTION(name, call)
#define UNSCOPED(name, call)                        FUNCTION(unscoped_##name, call)
#include "tests/misuse.def"

#define LINE(name, status, words)         {#name, misuse_##name, HEED_ERR_##status, words},
#define MISUSE(name, call, status, words) {#name, misuse_##name, HEED_ERR_##status, words},
static const row rows[] = {
#include "tests/misuse.def"
};

#define MISUSE_OF_MODULE(name, call, status, words)                                                \
    {#name, misuse_##name, HEED_ERR_##status, words},
static const row rows_of_nn[] = {
#include "tests/misuse.def"
};

#define UNSCOPED(name, call)                                                                       \
    {#name, misuse_unscoped_##name, HEED_ERR_SCOPE,                                                \
     #name ": no scope is open to own the result; heed_scope_begin first"},
static const row unscoped[] = {
#include "tests/misuse.def"
};

/* ---- what each must do ---- */

/* Does the sentence begin with the words, in which "..." stands for anything? */
static bool says(const char *sentence, const char *words)
{
    const char *at = sentence;
    bool anchored = true;
    while (*words != '\0') {
        const char *dots = strstr(words, "...");
        const size_t length = dots != NULL ? (size_t)(dots - words) : strlen(words);
        char piece[256] = "";
        memcpy(piece, words, length < sizeof piece ? length : sizeof piece - 1);
        const char *found = strstr(at, piece);
        if (found == NULL || (anchored && found != sentence)) {
            return false;
        }
        anchored = false;
        at = found + length;
        words += length + (dots != NULL ? 3 : 0);
    }
    return true;
}

static void expect_refusal(const row *r)
{
    ck_assert_msg(heed_error_pending() == r->status, "%s: %s instead of %s: %s", r->name,
                  heed_status_name(heed_error_pending()), heed_status_name(r->status),
                  heed_error_message());
    ck_assert_msg(says(heed_error_message(), r->words), "%s: \"%s\" does not say \"%s\"", r->name,
                  heed_error_message(), r->words);
    ck_assert_ptr_null(F32(2)); /* it blocks */
    ck_assert_int_eq(heed_fail(HEED_ERR_GRADCHECK, "another"), r->status);
    ck_assert(says(heed_error_message(), r->words));
    ck_assert_int_eq(heed_error(), r->status);
    ck_assert(heed_grad_enabled());
}

/* The next correct call works: sum(x x) and its gradient, of known values. */
static void expect_work(void)
{
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *x = leaf(heed_from_f64((double[]){1, 2, 3, 4}, HEED_SHAPE(2, 2)));
    heed_tensor *y = heed_sum(heed_matmul(x, x));
    heed_backward(y);
    EXPECT_VALUES(y, 0, 54);
    EXPECT_VALUES(x->grad, 0, 7, 11, 9, 13);
    ck_assert_int_eq(heed_scope_end(&scope), HEED_OK);
}

static void try_row(const row *r)
{
    const int64_t tensors = heed_live_tensors(), bytes = heed_live_bytes();
    heed_scope scope;
    heed_scope_begin(&scope);
    r->provoke(NULL);
    expect_refusal(r);
    ck_assert_int_eq(heed_scope_end(&scope), HEED_OK);
    ck_assert_int_eq(heed_live_tensors(), tensors);
    ck_assert_int_eq(heed_live_bytes(), bytes);
    expect_work();
}

START_TEST(is_refused)
{
    try_row(&rows[_i]);
}
END_TEST

static void make_modules(void)
{
    nn.linear = heed_linear_new(3, 4, (heed_linear_options){0});
    nn.embedding = heed_embedding_new(5, 3);
    nn.position = heed_position_encoding_new(3, 4);
    nn.attention = heed_self_attention_new(4, 0, 1);
    nn.heads = heed_multi_head_new(4, 2, 0, 1, (heed_multi_head_options){0});
    heed_parameters(nn.linear); /* these lists are made once, and kept */
    heed_state_dict(nn.linear);
    heed_state_dict(nn.attention);
}

static void free_modules(void)
{
    heed_linear_free(nn.linear);
    heed_embedding_free(nn.embedding);
    heed_position_encoding_free(nn.position);
    heed_self_attention_free(nn.attention);
    heed_multi_head_free(nn.heads);
}

START_TEST(is_refused_by_modules)
{
    make_modules();
    try_row(&rows_of_nn[_i]);
    EXPECT_VALUES(heed_sum(heed_mul_scalar(heed_linear_forward(nn.linear, F32(2, 3)), 0)), 0, 0);
    free_modules();
}
END_TEST

START_TEST(is_refused_without_a_scope)
{
    const row *r = &unscoped[_i];
    heed_scope scope;
    make_modules();
    heed_scope_begin(&scope);
    heed_tensor *w = heed_retain(leaf(F32(2)));
    heed_scope_end(&scope);
    const int64_t tensors = heed_live_tensors(), bytes = heed_live_bytes();
    r->provoke(w);
    expect_refusal(r);
    ck_assert_int_eq(heed_live_tensors(), tensors);
    ck_assert_int_eq(heed_live_bytes(), bytes);
    expect_work();
    ck_assert_int_eq(heed_release(w), HEED_OK);
    free_modules();
    ck_assert_int_eq(heed_live_tensors(), 0);
}
END_TEST

/* The tester tested: a sentence that lacks a word, or begins with another, is told apart. */
START_TEST(sentences_are_told_apart)
{
    ck_assert(says("add: shapes (2) and (3) differ", "add: shapes (2)"));
    ck_assert(says("add: shapes (2) and (3) differ", "add: ...(3) differ"));
    ck_assert(says("add: shapes (2) and (3) differ", "...(2)...(3)"));
    ck_assert(!says("add: shapes (2) and (3) differ", "shapes (2)"));
    ck_assert(!says("add: shapes (2) and (3) differ", "add: ...(3)...(2)"));
    ck_assert(!says("add: shapes (2) and (3) differ", "add: shapes (2) and (4)"));
    ck_assert(!says("", "add"));
}
END_TEST

Suite *misuse_suite(void)
{
    Suite *suite = suite_create("misuse");
    TCase *tests = heed_case(suite, "misuse"), *bare = tcase_create("misuse without a scope");
    tcase_add_test(tests, sentences_are_told_apart);
    tcase_add_loop_test(tests, is_refused, 0, (int)(sizeof rows / sizeof *rows));
    tcase_add_loop_test(tests, is_refused_by_modules, 0,
                        (int)(sizeof rows_of_nn / sizeof *rows_of_nn));
    tcase_add_loop_test(bare, is_refused_without_a_scope, 0,
                        (int)(sizeof unscoped / sizeof *unscoped));
    suite_add_tcase(suite, bare);
    return suite;
}
