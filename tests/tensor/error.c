/* The pending error: the first one stays, nothing computes, and what handlers and messages promise.
 */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/common/test_util.h"

/* ---- what holds while an error is pending ---- */

START_TEST(the_first_error_stays)
{
    heed_tensor *x = heed_ones(HEED_SHAPE(2, 3), HEED_F32);
    heed_tensor *y = heed_softmax(heed_matmul(heed_add(x, NULL), x), 9);
    ck_assert_ptr_null(y);
    ck_assert_int_eq(heed_fail(HEED_ERR_VALUE, "a later one"), HEED_ERR_NULL);
    for (int i = 0; i < 3; i++) { /* looking leaves it */
        ck_assert_int_eq(heed_error_pending(), HEED_ERR_NULL);
    }
    ck_assert_str_eq(heed_error_message(), "add: input 1 is NULL");
    ck_assert_int_eq(heed_error(), HEED_ERR_NULL);
    ck_assert_int_eq(heed_error_pending(), HEED_OK);
    ck_assert_int_eq(heed_error(), HEED_OK);
    ck_assert_str_eq(heed_error_message(), "add: input 1 is NULL"); /* until the next */
    heed_size(x, 2);
    expect_error(HEED_ERR_DIM, "size: dim 2 is outside [-2, 2)");
}
END_TEST

static void expect_no_tensors(heed_tensor *x, heed_tensor *y)
{
    const heed_shape s = {1, {2}};
    heed_tensor *made[] = {
        heed_empty(s, HEED_F32),
        heed_full(s, 1, HEED_I64),
        heed_scalar(1, HEED_F64),
        heed_rand(s, HEED_F32),
        heed_randperm(3),
        heed_from_f32((float[]){1, 2}, s),
        heed_exp(x),
        heed_add(x, y),
        heed_mul_scalar(x, 2),
        heed_eq(x, y),
        heed_where(heed_eq(x, y), x, y),
        heed_tril(x, 0),
        heed_transpose(x, 0, 0),
        heed_reshape(x, s),
        heed_expand(x, s),
        heed_squeeze(x, 0),
        heed_slice(x, 0, 0, 1, 1),
        heed_detach(x),
        heed_clone(x),
        heed_contiguous(x),
        heed_to(x, HEED_F32),
        heed_sum(x),
        heed_mean_dim(x, 0, true),
        heed_sum_to_size(x, s),
        heed_softmax(x, 0),
        heed_matmul(x, y),
        heed_cat(&x, 1, 0),
        heed_mse_loss(x, y),
        heed_retain(x),
        heed_retain_grad(x),
        heed_set_requires_grad(x, false),
    };
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        ck_assert_msg(made[i] == NULL, "call %zu gave a tensor", i);
    }
}

static void expect_no_numbers(heed_tensor *x, heed_tensor *y)
{
    ck_assert(isnan(heed_item(y)) && isnan(heed_at(x, HEED_INDEX(0))));
    ck_assert_int_eq(heed_item_i64(heed_full(HEED_SCALAR, 1, HEED_I64)), 0);
    ck_assert_int_eq(heed_size(x, 0), 0);
    ck_assert_int_eq(heed_shape_of_tensor(x).ndim, 0);
    ck_assert(!heed_is_contiguous(x) && !heed_equal(x, x) && !heed_allclose(x, x, 1, 1, true));
    ck_assert(heed_data_f32(x) == NULL && heed_const_data_f32(x) == NULL);
    ck_assert_uint_eq(heed_snprint(NULL, 0, x), 0);
}

static void expect_no_effects(heed_tensor *x, heed_tensor *y)
{
    heed_tensor *dx = x;
    float room[2] = {9, 9};
    const heed_status statuses[] = {
        heed_backward(y),          heed_backward_retain(y),   heed_grad(y, &x, 1, &dx, false),
        heed_copy_into(x, y),      heed_fill_into(x, 3),      heed_uniform_into(x, 5, 6),
        heed_normal_into(x, 5, 1), heed_copy_out(x, room, 2), heed_print(x),
    };
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        ck_assert_msg(statuses[i] == HEED_ERR_VALUE, "call %zu gave %d", i, (int)statuses[i]);
    }
    ck_assert_ptr_null(dx);
    ck_assert(room[0] == 9.0f && room[1] == 9.0f);
}

START_TEST(while_an_error_is_pending_nothing_computes)
{
    heed_tensor *x = heed_set_requires_grad(heed_ones(HEED_SHAPE(2), HEED_F32), true);
    heed_tensor *y = heed_sum(heed_mul(x, x));
    const int64_t tensors = heed_live_tensors(), bytes = heed_live_bytes();
    const uint32_t version = x->storage->version;
    heed_generator before = heed_get_generator(), after;
    heed_fail(HEED_ERR_VALUE, "a test of %s, %d", "errors", 7);
    expect_no_tensors(x, y);
    expect_no_numbers(x, y);
    expect_no_effects(x, y);
    ck_assert_int_eq(heed_live_tensors(), tensors);
    ck_assert_int_eq(heed_live_bytes(), bytes);
    expect_error(HEED_ERR_VALUE, "a test of errors, 7");
    after = heed_get_generator();
    ck_assert_mem_eq(before.state, after.state, sizeof before.state);
    ck_assert_int_eq(before.next, after.next);
    ck_assert_uint_eq(x->storage->version, version);
    ck_assert(x->requires_grad && x->grad == NULL && x->retains == 0);
    EXPECT_VALUES(x, 0, 1, 1);
    ck_assert_int_eq(heed_backward(y), HEED_OK); /* and everything works again */
    EXPECT_VALUES(x->grad, 0, 2, 2);
}
END_TEST

START_TEST(scopes_and_releases_work_while_an_error_is_pending)
{
    const int64_t tensors = heed_live_tensors();
    heed_scope outer, inner;
    heed_scope_begin(&outer);
    heed_tensor *x = heed_retain(heed_ones(HEED_SHAPE(2), HEED_F32));
    heed_set_requires_grad(x, true);
    heed_backward(heed_sum(x));
    heed_fail(HEED_ERR_INDEX, "a test");
    heed_error_message(); /* read, so it is not printed */
    heed_scope_begin(&inner);
    heed_set_grad_enabled(false);
    ck_assert(!heed_is_grad_enabled());
    ck_assert_int_eq(heed_scope_end(&inner), HEED_ERR_INDEX);
    ck_assert(heed_is_grad_enabled());
    ck_assert_int_eq(heed_clear_grad(x), HEED_ERR_INDEX);
    ck_assert_ptr_null(x->grad);
    ck_assert_int_eq(heed_release(x), HEED_ERR_INDEX);
    ck_assert_int_eq(heed_release(NULL), HEED_ERR_INDEX);
    heed_empty_cache();
    ck_assert_int_eq(heed_scope_end(&outer), HEED_ERR_INDEX);
    ck_assert_int_eq(heed_live_tensors(), tensors);
    expect_error(HEED_ERR_INDEX, "a test");
}
END_TEST

/* ---- handlers ---- */

static int handled;
static heed_status handled_status;
static char handled_message[1024];

static void note(heed_status status, const char *message)
{
    handled++;
    handled_status = status;
    strncpy(handled_message, message, sizeof handled_message - 1);
}

static void note_and_read(heed_status status, const char *message)
{
    note(status, message);
    heed_error();
}

START_TEST(a_handler_is_called_once_for_each_error)
{
    heed_on_error(note);
    heed_tensor *x = heed_ones(HEED_SHAPE(2), HEED_F32);
    ck_assert_int_eq(handled, 0);
    heed_exp(heed_neg(heed_tril(x, 0)));
    ck_assert_int_eq(handled, 1);
    ck_assert_int_eq(handled_status, HEED_ERR_SHAPE);
    ck_assert_ptr_nonnull(strstr(handled_message, "tril: x (2) must have 2 dims or more"));
    expect_error(HEED_ERR_SHAPE, handled_message);
    heed_exp(NULL);
    ck_assert_int_eq(handled, 2);
    heed_error();
    heed_on_error(NULL);
    heed_exp(NULL);
    ck_assert_int_eq(handled, 2);
    expect_error(HEED_ERR_NULL, "exp: input 0 is NULL");
}
END_TEST

START_TEST(an_error_is_pending_though_its_handler_has_read_it)
{
    heed_on_error(note_and_read);
    ck_assert_ptr_null(heed_add(heed_ones(HEED_SHAPE(2), HEED_F32), NULL));
    heed_on_error(NULL);
    ck_assert_int_eq(handled, 1);
    expect_error(HEED_ERR_NULL, "add: input 1 is NULL");
}
END_TEST

/* In a child: what heed_die writes, and its exit status. */
START_TEST(die_ends_the_program_with_the_sentence)
{
    int ends[2], status = 0;
    char text[200] = "";
    ck_assert_int_eq(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        heed_on_error(heed_die);
        heed_transpose(heed_ones(HEED_SHAPE(2), HEED_F32), 0, 1);
        _exit(77);
    }
    close(ends[1]);
    ck_assert_int_gt(child, 0);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), EXIT_FAILURE);
    ck_assert_int_gt(read(ends[0], text, sizeof text - 1), 0);
    close(ends[0]);
    ck_assert_str_eq(text, "HEED_ERR_DIM: transpose: dim 1 is outside [-1, 1) for a tensor with 1 "
                           "dims\n");
}
END_TEST

START_TEST(die_exits)
{
    ck_assert_ptr_nonnull(freopen("/dev/null", "w", stderr));
    heed_die(HEED_ERR_VALUE, "a test");
}
END_TEST

/* ---- sentences ---- */

START_TEST(long_shapes_are_cut_and_end)
{
    const int64_t m = INT64_MIN, n = INT64_MAX - 10;
    heed_zeros(HEED_SHAPE(m, m, m, m, m, m, m, m), HEED_F32);
    ck_assert_uint_lt(strlen(heed_error_message()), 512);
    expect_error(HEED_ERR_SHAPE, "zeros: negative size in (-9223372036854775808, -9223");
    heed_randn(HEED_SHAPE(n, n, n, n, n, n, n, n), HEED_F64);
    ck_assert_uint_lt(strlen(heed_error_message()), 512);
    expect_error(HEED_ERR_OVERFLOW, "randn: (9223372036854775797, 9223372036854775797, ");
    heed_tensor *wide = heed_ones(HEED_SHAPE(1, 1, 1, 1, 1, 1, 1, 1), HEED_F32);
    heed_reshape(wide, HEED_SHAPE(n, n, n, n, n, n, n, n));
    expect_error(HEED_ERR_SHAPE, "reshape: (1, 1, 1, 1, 1, 1, 1, 1) has 1 elements, which do not");
    heed_expand(wide, HEED_SHAPE(n, m, n, m, n, m, n, m));
    expect_error(HEED_ERR_SHAPE, "expand: (1, 1, 1, 1, 1, 1, 1, 1) does not expand to (92233720");
    heed_sum_to_size(wide, (heed_shape){.ndim = 1000000});
    expect_error(HEED_ERR_SHAPE, "sum_to_size: (0, ");
}
END_TEST

START_TEST(long_sentences_are_cut_and_end)
{
    char text[20000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    heed_fail(HEED_ERR_VALUE, "%s", text);
    const size_t length = strlen(heed_error_message());
    ck_assert_uint_gt(length, 4000);
    ck_assert_uint_lt(length, 10000);
    ck_assert_uint_eq(strspn(heed_error_message(), "x"), length);
    ck_assert_int_eq(heed_error(), HEED_ERR_VALUE);
}
END_TEST

START_TEST(every_status_has_a_name)
{
    ck_assert_str_eq(heed_status_name(HEED_OK), "HEED_OK");
    ck_assert_str_eq(heed_status_name(HEED_ERR_NULL), "HEED_ERR_NULL");
    ck_assert_str_eq(heed_status_name(HEED_ERR_GRADCHECK), "HEED_ERR_GRADCHECK");
    ck_assert_str_eq(heed_status_name(HEED_ERR_FILE), "HEED_ERR_FILE");
    ck_assert_str_eq(heed_status_name(HEED_ERR_FORMAT), "HEED_ERR_FORMAT");
    for (int i = HEED_OK + 1; i <= HEED_ERR_FORMAT; i++) {
        ck_assert_int_eq(strncmp(heed_status_name((heed_status)i), "HEED_ERR_", 9), 0);
        for (int j = HEED_OK; j < i; j++) {
            ck_assert_str_ne(heed_status_name((heed_status)i), heed_status_name((heed_status)j));
        }
    }
    ck_assert_ptr_nonnull(heed_status_name((heed_status)(HEED_ERR_FORMAT + 1)));
    ck_assert_ptr_nonnull(heed_status_name((heed_status)-1));
}
END_TEST

/* ---- threads ---- */

static void *fail_in_a_thread(void *sees)
{
    const bool clean = heed_error_pending() == HEED_OK && *heed_error_message() == '\0';
    heed_size(NULL, 0);   /* left pending at the thread's end */
    heed_error_message(); /* read, so it is not printed */
    *(bool *)sees = clean && heed_error_pending() == HEED_ERR_NULL;
    return NULL;
}

START_TEST(errors_belong_to_their_thread)
{
    pthread_t thread;
    bool sees = false;
    heed_fail(HEED_ERR_GRAPH, "mine");
    ck_assert_int_eq(pthread_create(&thread, NULL, fail_in_a_thread, &sees), 0);
    pthread_join(thread, NULL);
    ck_assert(sees);
    expect_error(HEED_ERR_GRAPH, "mine");
}
END_TEST

void add_error_cases(Suite *suite)
{
    TCase *tests = heed_case(suite, "error");
    tcase_add_test(tests, the_first_error_stays);
    tcase_add_test(tests, while_an_error_is_pending_nothing_computes);
    tcase_add_test(tests, scopes_and_releases_work_while_an_error_is_pending);
    tcase_add_test(tests, a_handler_is_called_once_for_each_error);
    tcase_add_test(tests, an_error_is_pending_though_its_handler_has_read_it);
    tcase_add_test(tests, die_ends_the_program_with_the_sentence);
    tcase_add_exit_test(tests, die_exits, EXIT_FAILURE);
    tcase_add_test(tests, long_shapes_are_cut_and_end);
    tcase_add_test(tests, long_sentences_are_cut_and_end);
    tcase_add_test(tests, every_status_has_a_name);
    tcase_add_test(tests, errors_belong_to_their_thread);
}
