/* The pending error: the first one stays, nothing computes, and what handlers and messages promise.
 * An error that nobody has read is printed to stderr once. */
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/common/test_util.h"

/* ---- what holds while an error is pending ---- */

START_TEST(the_first_error_stays)
{
    heed_tensor *x = heed_ones(HEED_SHAPE(2, 3), HEED_F32);
    ck_assert_ptr_null(heed_softmax(heed_matmul(heed_add(x, NULL), x), 9));
    ck_assert_int_eq(heed_fail(HEED_ERR_VALUE, "a later one"), HEED_ERR_NULL);
    ck_assert_int_eq(heed_error_pending(), HEED_ERR_NULL);
    ck_assert_int_eq(heed_error_pending(), HEED_ERR_NULL); /* looking leaves it */
    ck_assert_str_eq(heed_error_message(), "add: input 1 is NULL");
    ck_assert_int_eq(heed_error(), HEED_ERR_NULL);
    ck_assert_int_eq(heed_error_pending(), HEED_OK);
    ck_assert_int_eq(heed_error(), HEED_OK);
    ck_assert_str_eq(heed_error_message(), "add: input 1 is NULL"); /* until the next */
    heed_size(x, 2);
    expect_error(HEED_ERR_DIM, "size: dim 2 is outside [-2, 2)");
}
END_TEST

/* Every kind of function, while the error HEED_ERR_VALUE is pending. */
static void expect_nothing(heed_tensor *x, heed_tensor *y)
{
    const heed_shape s = {1, {2}};
    heed_tensor *dx = x;
    float values[2] = {9, 9};
    const heed_tensor *tensors[] = {heed_empty(s, HEED_F32),
                                    heed_full(s, 1, HEED_I64),
                                    heed_rand(s, HEED_F32),
                                    heed_randperm(3),
                                    heed_multinomial(x, 1),
                                    heed_from_f32(values, s),
                                    heed_add(x, y),
                                    heed_mul_scalar(x, 2),
                                    heed_transpose(x, 0, 0),
                                    heed_reshape(x, s),
                                    heed_detach(x),
                                    heed_contiguous(x),
                                    heed_to(x, HEED_F32),
                                    heed_cat(&x, 1, 0),
                                    heed_matmul(x, y),
                                    heed_mse_loss(x, y),
                                    heed_retain(x),
                                    heed_retain_grad(x),
                                    heed_set_requires_grad(x, false)};
    const heed_status statuses[] = {
        heed_backward(y),
        heed_backward_retain(y),
        heed_grad(y, &x, 1, &dx, false),
        heed_copy_into(x, y),
        heed_fill_into(x, 3),
        heed_uniform_into(x, 5, 6),
        heed_normal_into(x, 5, 1),
        heed_set_grad(x, x),
        heed_copy_out(x, values, 2),
        heed_print(x),
    };
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++) {
        ck_assert_msg(tensors[i] == NULL, "call %zu gave a tensor", i);
    }
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        ck_assert_msg(statuses[i] == HEED_ERR_VALUE, "call %zu gave %d", i, (int)statuses[i]);
    }
    ck_assert(dx == NULL && values[0] == 9.0f && values[1] == 9.0f);
    ck_assert(isnan(heed_item(y)) && isnan(heed_at(x, HEED_INDEX(0))));
    ck_assert(heed_item_i64(y) == 0 && heed_size(x, 0) == 0 && heed_snprint(NULL, 0, x) == 0);
    ck_assert_int_eq(heed_shape_of_tensor(x).ndim, 0);
    ck_assert(!heed_is_contiguous(x) && !heed_equal(x, x) && !heed_allclose(x, x, 1, 1, true));
    ck_assert(heed_data_f32(x) == NULL && heed_const_data_f32(x) == NULL);
}

START_TEST(while_an_error_is_pending_nothing_computes)
{
    heed_tensor *x = heed_set_requires_grad(heed_ones(HEED_SHAPE(2), HEED_F32), true);
    heed_tensor *y = heed_sum(heed_mul(x, x));
    const int64_t tensors = heed_live_tensors(), bytes = heed_live_bytes();
    const uint32_t version = x->storage->version;
    const heed_generator before = heed_get_generator();
    heed_fail(HEED_ERR_VALUE, "a test of %s, %d", "errors", 7);
    expect_nothing(x, y);
    ck_assert_int_eq(heed_live_tensors(), tensors);
    ck_assert_int_eq(heed_live_bytes(), bytes);
    expect_error(HEED_ERR_VALUE, "a test of errors, 7");
    const heed_generator after = heed_get_generator();
    ck_assert_mem_eq(before.state, after.state, sizeof before.state);
    ck_assert_int_eq(before.next, after.next);
    ck_assert_uint_eq(x->storage->version, version);
    ck_assert(x->requires_grad && x->grad == NULL && x->retains == 0);
    EXPECT_VALUES(x, 0, 1, 1);
    ck_assert_int_eq(heed_backward(y), HEED_OK); /* and everything works again */
    EXPECT_VALUES(x->grad, 0, 2, 2);
}
END_TEST

/* For code that checks its arguments and computes only if all are OK. */
START_TEST(a_check_of_a_good_tensor_returns_the_pending_error)
{
    const heed_tensor *x = heed_ones(HEED_SHAPE(2), HEED_F32);
    ck_assert_int_eq(heed_check_tensor("test", "x", x), HEED_OK);
    heed_fail(HEED_ERR_VALUE, "pending");
    ck_assert_int_eq(heed_check_tensor("test", "x", x), HEED_ERR_VALUE);
    ck_assert_int_eq(heed_check_tensor("test", "x", NULL), HEED_ERR_VALUE);
    expect_error(HEED_ERR_VALUE, "pending");
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
    ck_assert_int_eq(heed_scope_end(&inner), HEED_ERR_INDEX);
    ck_assert(heed_is_grad_enabled());
    ck_assert_int_eq(heed_clear_grad(x), HEED_ERR_INDEX);
    ck_assert_ptr_null(x->grad);
    ck_assert_int_eq(heed_release(x), HEED_ERR_INDEX);
    ck_assert_int_eq(heed_release(NULL), HEED_ERR_INDEX);
    ck_assert_int_eq(heed_scope_end(&outer), HEED_ERR_INDEX);
    ck_assert_int_eq(heed_live_tensors(), tensors);
    expect_error(HEED_ERR_INDEX, "a test");
}
END_TEST

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

/* ---- handlers and messages ---- */

static int handled;

static void note_and_read(heed_status status, const char *message)
{
    handled++;
    ck_assert_int_eq(status, HEED_ERR_SHAPE);
    ck_assert_ptr_nonnull(strstr(message, "tril: x (2) must have 2 dims or more"));
    heed_error();
}

START_TEST(a_handler_is_called_once_for_each_error)
{
    heed_on_error(note_and_read);
    heed_tensor *x = heed_ones(HEED_SHAPE(2), HEED_F32);
    ck_assert_int_eq(handled, 0);
    ck_assert_ptr_null(heed_exp(heed_neg(heed_tril(x, 0))));
    ck_assert_int_eq(handled, 1);
    heed_on_error(NULL);
    expect_error(HEED_ERR_SHAPE, "tril: x (2)"); /* pending, though the handler has read it */
    heed_exp(NULL);
    ck_assert_int_eq(handled, 1);
    expect_error(HEED_ERR_NULL, "exp: input 0 is NULL");
}
END_TEST

START_TEST(long_sentences_are_cut_and_end)
{
    const int64_t m = INT64_MIN;
    heed_zeros(HEED_SHAPE(m, m, m, m, m, m, m, m), HEED_F32);
    ck_assert_uint_lt(strlen(heed_error_message()), 512);
    expect_error(HEED_ERR_SHAPE, "zeros: negative size in (-9223372036854775808, -9223");
    char text[20000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    heed_fail(HEED_ERR_VALUE, "%s", text);
    const size_t length = strlen(heed_error_message());
    ck_assert(length > 4000 && length < 10000);
    ck_assert_uint_eq(strspn(heed_error_message(), "x"), length);
    ck_assert_int_eq(heed_error(), HEED_ERR_VALUE);
}
END_TEST

START_TEST(every_status_has_a_name)
{
    ck_assert_str_eq(heed_status_name(HEED_OK), "HEED_OK");
    ck_assert_str_eq(heed_status_name(HEED_ERR_CHECK), "HEED_ERR_CHECK");
    for (int i = HEED_OK; i <= HEED_ERR_CHECK; i++) {
        ck_assert_int_eq(strncmp(heed_status_name((heed_status)i), "HEED_", 5), 0);
    }
    ck_assert_str_eq(heed_status_name((heed_status)(HEED_ERR_CHECK + 1)), "unknown status");
    ck_assert_str_eq(heed_status_name((heed_status)-1), "unknown status");
}
END_TEST

/* ---- what is printed to stderr: each program runs in a child ---- */

enum { STATUS = 7, UNREAD = EXIT_FAILURE };

#define ENDED     "heed: this program ended with an error that it never read: "
#define THREAD    "heed: a thread ended with an error that it never read: "
#define CONTINUES "heed: this program continues after an error that it never read: "
#define NO_SCOPE  "randn: no scope is open to own the result; begin one: HEED_SCOPE(name);\n"
#define DIMS      "tril: x (2) must have 2 dims or more\n"

static void fail_without_scope(void)
{
    heed_randn(HEED_SHAPE(2, 3), HEED_F32);
}

static void fail_in_tril(void)
{
    heed_tril(heed_ones(HEED_SHAPE(2), HEED_F32), 0);
}

/* What the program has printed is not lost. */
static void print_and_fail(void)
{
    dup2(STDERR_FILENO, STDOUT_FILENO);
    puts("printed");
    fail_without_scope();
}

static void continue_and_read(void)
{
    {
        HEED_SCOPE(scope);
        fail_in_tril();
    }
    HEED_SCOPE(another);
    heed_error();
}

static void fail_and_die(void)
{
    HEED_SCOPE(scope);
    heed_on_error(heed_die);
    fail_in_tril();
}

static void *fail_in_thread(void *unused)
{
    fail_without_scope();
    return unused;
}

static void fail_in_two_threads(void)
{
    pthread_t thread;
    for (int i = 0; i < 2; i++) {
        pthread_create(&thread, NULL, fail_in_thread, NULL);
        pthread_join(thread, NULL);
    }
}

/* Each thread has its own pending error, and only the first unread one is printed. */
static void fail_in_thread_and_read_another(void)
{
    fail_in_two_threads();
    fail_without_scope();
    heed_error_message();
}

static void fail_in_thread_and_here(void)
{
    fail_in_two_threads();
    fail_without_scope();
}

static void train(void)
{
    for (int step = 0; step < 3; step++) {
        HEED_SCOPE(scope);
        fail_in_tril();
        dprintf(STDERR_FILENO, "step %d\n", step);
    }
}

/* After looking, the next error is unread again. */
static void read_one_of_two(void)
{
    HEED_SCOPE(scope);
    heed_exp(NULL);
    heed_error();
    fail_in_tril();
}

static void look_at_its_message(void)
{
    {
        HEED_SCOPE(scope);
        fail_in_tril();
        heed_error_message();
    }
    HEED_SCOPE(another);
}

static void ignore(heed_status status, const char *message)
{
    (void)status, (void)message;
}

static void handle_it(void)
{
    {
        HEED_SCOPE(scope);
        heed_on_error(ignore);
        fail_in_tril();
        heed_on_error(NULL);
    }
    HEED_SCOPE(another);
}

/* A function with a scope of its own, as an expression calls it. */
static heed_tensor *forward(heed_tensor *x)
{
    HEED_SCOPE(scope);
    return heed_scope_keep(&scope, heed_exp(x));
}

static void look_after_a_nested_expression(void)
{
    HEED_SCOPE(scope);
    if (forward(forward(heed_exp(NULL))) == NULL) {
        heed_error();
    }
}

/* Fails at the wider steps that heed_gradcheck takes after a mismatch. */
static heed_tensor *narrow(heed_tensor *const *in, void *context)
{
    (void)context;
    if (heed_item(heed_amax(heed_abs(in[0]))) > 5e-5) {
        heed_fail(HEED_ERR_VALUE, "narrow: x is too large");
    }
    return heed_relu(in[0]);
}

static void check_gradients(void)
{
    HEED_SCOPE(scope);
    heed_tensor *x = heed_set_requires_grad(heed_zeros(HEED_SHAPE(20), HEED_F64), true);
    exit(heed_gradcheck(narrow, NULL, &x, 1) == HEED_ERR_VALUE && heed_error() ? STATUS : 1);
}

static void fail_without_stderr(void)
{
    fclose(stderr);
    fail_without_scope();
}

static void fail_into_a_pipe_that_nobody_reads(void)
{
    int ends[2];
    if (pipe(ends) != 0) {
        exit(1);
    }
    close(ends[0]);
    dup2(ends[1], STDERR_FILENO);
    signal(SIGPIPE, SIG_DFL);
    fail_without_scope();
}

static const struct {
    void (*program)(void);
    int status;
    const char *text;
} programs[] = {
    {fail_without_scope, UNREAD, ENDED NO_SCOPE},
    {fail_and_die, EXIT_FAILURE, "HEED_ERR_SHAPE: " DIMS},
    {fail_in_two_threads, STATUS, THREAD NO_SCOPE}, /* once a process */
    {fail_in_thread_and_read_another, STATUS, THREAD NO_SCOPE},
    {fail_in_thread_and_here, UNREAD, THREAD NO_SCOPE},
    {train, UNREAD, "step 0\n" CONTINUES DIMS "step 1\nstep 2\n"},
    {read_one_of_two, UNREAD, ENDED DIMS},
    {print_and_fail, UNREAD, ENDED NO_SCOPE "printed\n"},
    {continue_and_read, STATUS, CONTINUES DIMS},
    {look_at_its_message, STATUS, ""},
    {handle_it, STATUS, ""},
    {look_after_a_nested_expression, STATUS, ""},
    {check_gradients, STATUS, ""},
    {fail_without_stderr, UNREAD, ""},
    {fail_into_a_pipe_that_nobody_reads, UNREAD, ""},
};
enum { PROGRAMS = sizeof programs / sizeof *programs };

START_TEST(unread_errors_are_printed_once)
{
    static char text[4096];
    int ends[2], status = 0;
    size_t length = 0;
    ck_assert_int_eq(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        programs[_i].program();
        exit(STATUS);
    }
    close(ends[1]);
    for (ssize_t got; (got = read(ends[0], text + length, sizeof text - 1 - length)) > 0;) {
        length += (size_t)got;
    }
    close(ends[0]);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == programs[_i].status, "status %x",
                  status);
    ck_assert_str_eq(text, programs[_i].text);
}
END_TEST

void add_error_cases(Suite *suite)
{
    TCase *tests = heed_case(suite, "error");
    tcase_add_test(tests, the_first_error_stays);
    tcase_add_test(tests, while_an_error_is_pending_nothing_computes);
    tcase_add_test(tests, a_check_of_a_good_tensor_returns_the_pending_error);
    tcase_add_test(tests, scopes_and_releases_work_while_an_error_is_pending);
    tcase_add_test(tests, errors_belong_to_their_thread);
    tcase_add_test(tests, a_handler_is_called_once_for_each_error);
    tcase_add_test(tests, long_sentences_are_cut_and_end);
    tcase_add_test(tests, every_status_has_a_name);
    TCase *unread = tcase_create("unread"); /* no scope is open, unlike in heed_case */
    tcase_add_loop_test(unread, unread_errors_are_printed_once, 0, PROGRAMS);
    suite_add_tcase(suite, unread);
}
