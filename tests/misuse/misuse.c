/* Every misuse, one row of misuse.def or operations.def at a time: each gives its status and a
 * message that explains it, leaks nothing, blocks further calls until the error is read, and leaves
 * everything usable. */
#include <stdio.h>
#include <string.h>

#include "tensor/tensor.h"
#include "tests/common/test_util.h"
#include "tests/misuse/calls.h"
#include "tests/ops/table.h"

/* ---- the rows ---- */

typedef struct row {
    const char *subject, *name;
    void (*provoke)(heed_tensor *w);
    heed_status status;
    const char *words;
} row;

/* Each row becomes a function and a table entry. */
#define FUNCTION(name, call)                                                                       \
    static void misuse_##name(heed_tensor *w)                                                      \
    {                                                                                              \
        (void)w;                                                                                   \
        (void)(call);                                                                              \
    }
#define MISUSE(name, call, status, words)           FUNCTION(name, call)
#define MISUSE_OF_MODULE(name, call, status, words) FUNCTION(name, call)
#define UNSCOPED(name, call)                        FUNCTION(unscoped_##name, call)
#include "tests/misuse/misuse.def"

#define MISUSE(name, call, status, words) FUNCTION(name, call)
#include "tests/ops/operations.def"

#define LINE(name, call, status, words) {SUBJECT, #name, misuse_##name, HEED_ERR_##status, words},
#define MISUSE                          LINE
static const row rows[] = {
#include "tests/ops/operations.def"
#define SUBJECT "misuse"
#define MISUSE  LINE
#include "tests/misuse/misuse.def"
};

#define MISUSE_OF_MODULE LINE
static const row rows_of_nn[] = {
#include "tests/misuse/misuse.def"
};

#define UNSCOPED(name, call)                                                                       \
    {SUBJECT, #name, misuse_unscoped_##name, HEED_ERR_SCOPE,                                       \
     #name ": no scope is open to own the result; begin one: HEED_SCOPE(name);"},
static const row unscoped[] = {
#include "tests/misuse/misuse.def"
};

/* ---- what each row checks ---- */

/* Does the message begin with the words, in which "..." matches anything? */
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
    if (too_large_for_32_bits()) {
        heed_error();
        return;
    }
    ck_assert_msg(heed_error_pending() == r->status, "%s: %s instead of %s: %s", r->name,
                  heed_status_name(heed_error_pending()), heed_status_name(r->status),
                  heed_error_message());
    ck_assert_msg(heed_self.unread != 0, "%s: began a scope while the error was pending", r->name);
    ck_assert_msg(says(heed_error_message(), r->words), "%s: \"%s\" does not match \"%s\"", r->name,
                  heed_error_message(), r->words);
    ck_assert_ptr_null(F32(2)); /* a pending error blocks all calls */
    ck_assert_int_eq(heed_fail(HEED_ERR_GRADCHECK, "another"), r->status);
    ck_assert(says(heed_error_message(), r->words));
    ck_assert_int_eq(heed_error(), r->status);
    ck_assert(heed_is_grad_enabled());
}

/* Correct calls still work: sum(x x) and its gradient. */
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
    nn.linear = heed_linear_new(3, 4);
    nn.embedding = heed_embedding_new(5, 3);
    nn.position = heed_position_encoding_new(3, 4);
    nn.attention = heed_self_attention_new(4, 0, 1);
    nn.heads = heed_multi_head_new(4, 2, 0, 1);
    nn.multi = heed_multihead_attention_new(4, 2);
    nn.norm = heed_layer_norm_new(HEED_SHAPE(4));
    nn.cross = heed_self_attention_new(4, -2, -1, .kv_dim = 5);
    nn.feed = heed_feed_forward_new(4, 6);
    heed_parameters(nn.linear); /* the lists are allocated once, and kept */
    heed_state_dict(nn.linear);
    heed_state_dict(nn.attention);
}

static void free_modules(void)
{
    heed_module_free(nn.linear);
    heed_module_free(nn.embedding);
    heed_module_free(nn.position);
    heed_module_free(nn.attention);
    heed_module_free(nn.heads);
    heed_module_free(nn.multi);
    heed_module_free(nn.norm);
    heed_module_free(nn.cross);
    heed_module_free(nn.feed);
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

/* Tests says(): it must reject messages with a missing word or another beginning. */
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

/* ---- the table itself ---- */

static bool begins_with(const row *r, int count, const char *name)
{
    const size_t length = strlen(name);
    for (int i = 0; i < count; i++) {
        if (strncmp(r[i].words, name, length) == 0 && r[i].words[length] == ':') {
            return true;
        }
    }
    return false;
}

/* Is there a row whose message begins with this operation? Messages of the forms _dim and _weights
 * begin with the plain name. */
bool is_misused(const char *form)
{
    char name[64];
    snprintf(name, sizeof name, "%s", form);
    char *form_of = strstr(name, "_dim") != NULL ? strstr(name, "_dim") : strstr(name, "_weights");
    if (form_of != NULL) {
        *form_of = '\0';
    }
    return begins_with(rows, (int)(sizeof rows / sizeof *rows), name) ||
           begins_with(rows_of_nn, (int)(sizeof rows_of_nn / sizeof *rows_of_nn), name) ||
           begins_with(unscoped, (int)(sizeof unscoped / sizeof *unscoped), name);
}

static const char *name_of_module_row(int i)
{
    return rows_of_nn[i].name;
}

static const char *name_of_unscoped_row(int i)
{
    return unscoped[i].name;
}

void add_misuse_rows(Suite *suite, const char *subject)
{
    TCase *tests = heed_case(suite, "misuse");
    for (int i = 0; i < (int)(sizeof rows / sizeof *rows); i++) {
        if (strcmp(rows[i].subject, subject) == 0) {
            add_row(tests, is_refused, i, rows[i].name);
        }
    }
}

void add_misuse_cases(Suite *suite)
{
    TCase *tests = heed_case(suite, "modules"), *bare = tcase_create("without a scope");
    add_misuse_rows(suite, "misuse");
    tcase_add_test(tests, sentences_are_told_apart);
    add_rows(tests, is_refused_by_modules, (int)(sizeof rows_of_nn / sizeof *rows_of_nn),
             name_of_module_row);
    add_rows(bare, is_refused_without_a_scope, (int)(sizeof unscoped / sizeof *unscoped),
             name_of_unscoped_row);
    suite_add_tcase(suite, bare);
}
