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
    void (*provoke)(void);
    heed_status status;
    const char *words;
} row;

/* Each row becomes a function and a table entry. */
#define FUNCTION(name, call)                                                                       \
    static void misuse_##name(void)                                                                \
    {                                                                                              \
        (void)(call);                                                                              \
    }
#define MISUSE(name, call, status, words) FUNCTION(name, call)
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
}

START_TEST(is_refused)
{
    make_modules();
    const int64_t tensors = heed_live_tensors(), bytes = heed_live_bytes();
    heed_scope scope;
    heed_scope_begin(&scope);
    rows[_i].provoke();
    expect_refusal(&rows[_i]);
    ck_assert_int_eq(heed_scope_end(&scope), HEED_OK);
    ck_assert_int_eq(heed_live_tensors(), tensors);
    ck_assert_int_eq(heed_live_bytes(), bytes);
    expect_work();
    free_modules();
}
END_TEST

#define EXPECT_UNSCOPED(name, call)                                                                \
    do {                                                                                           \
        (void)(call);                                                                              \
        expect_error(HEED_ERR_SCOPE, name ": no scope is open to own the result; begin one: ");    \
    } while (0)

START_TEST(results_need_a_scope)
{
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *w = heed_retain(leaf(F32(2)));
    heed_scope_end(&scope);
    EXPECT_UNSCOPED("zeros", heed_zeros(HEED_SHAPE(2), HEED_F32));
    EXPECT_UNSCOPED("multinomial", heed_multinomial(w, 1));
    EXPECT_UNSCOPED("add", heed_add(w, w));
    EXPECT_UNSCOPED("chunk", heed_chunk(w, 2, 0, parts));
    EXPECT_UNSCOPED("cross_entropy", heed_cross_entropy(w, w));
    EXPECT_UNSCOPED("causal_block_mask", heed_causal_block_mask(3));
    ck_assert_int_eq(heed_release(w), HEED_OK);
    ck_assert_int_eq(heed_live_tensors(), 0);
}
END_TEST

/* Tests says(): it must reject messages with a missing word or another beginning. */
START_TEST(sentences_are_told_apart)
{
    ck_assert(says("add: shapes (2) and (3) differ", "add: shapes (2)"));
    ck_assert(says("add: shapes (2) and (3) differ", "add: ...(3) differ"));
    ck_assert(!says("add: shapes (2) and (3) differ", "shapes (2)"));
    ck_assert(!says("add: shapes (2) and (3) differ", "add: ...(3)...(2)"));
    ck_assert(!says("add: shapes (2) and (3) differ", "add: shapes (2) and (4)"));
}
END_TEST

/* ---- the table itself ---- */

/* Is there a row whose message begins with this operation? Messages of the forms _dim and _weights
 * begin with the plain name. */
bool is_misused(const char *form)
{
    const char *end =
        strstr(form, "_dim") != NULL ? strstr(form, "_dim") : strstr(form, "_weights");
    const size_t length = end != NULL ? (size_t)(end - form) : strlen(form);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strncmp(rows[i].words, form, length) == 0 && rows[i].words[length] == ':') {
            return true;
        }
    }
    return false;
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
    TCase *bare = tcase_create("without a scope");
    tcase_add_test(bare, sentences_are_told_apart);
    tcase_add_test(bare, results_need_a_scope);
    suite_add_tcase(suite, bare);
}
