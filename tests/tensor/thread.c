/* Threads: small stacks, models of their own, and what a thread leaves when it ends.
 *
 * Check's assertions end a test from the main thread only, so threads record their results. */
#include <pthread.h>
#include <sys/resource.h>

#include "examples/lab/gpt/generate.h"
#include "tests/common/files_util.h"

enum { THREADS = 8 };

static void run_in_threads(int count, void *(*work)(void *), void *argument)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < count; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, work, argument), 0);
    }
    for (int i = 0; i < count; i++) {
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    }
}

/* ---- the smallest stack that docs/numerics.md guarantees ---- */

enum { CHAIN = 1000000, STACK = 128 * 1024 };

static void run_on_least_stack(void *(*work)(void *), void *argument)
{
    pthread_attr_t attributes;
    pthread_t thread;
    ck_assert_int_eq(pthread_attr_init(&attributes), 0);
    ck_assert_int_eq(pthread_attr_setstacksize(&attributes, STACK), 0);
    ck_assert_int_eq(pthread_create(&thread, &attributes, work, argument), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attributes);
}

typedef struct chain {
    double y, dx;
    int64_t nodes;
    heed_status status;
} chain;

/* Alternating x + 1 and -x. Each value is released once the next exists, so that only graph nodes
 * remain. */
static void *run_chain(void *argument)
{
    chain *c = argument;
    heed_scope scope, inner;
    heed_scope_begin(&scope);
    heed_tensor *x = heed_set_requires_grad(heed_scalar(1, HEED_F64), true), *y = x;
    const int64_t before = heed_live_tensors();
    for (int i = 0; i < CHAIN; i++) {
        heed_scope_begin(&inner);
        heed_tensor *next = i % 2 ? heed_add_scalar(y, 1) : heed_neg(y);
        y = heed_retain(next);
        heed_scope_end(&inner);
        if (i > 0) {
            heed_release(next->inputs[0]);
        }
    }
    c->nodes = heed_live_tensors() - before;
    c->y = heed_item(y);
    heed_backward(y);
    c->dx = heed_item(x->grad);
    heed_release(y);
    c->status = heed_scope_end(&scope);
    return NULL;
}

START_TEST(a_million_operations_need_no_stack)
{
    chain c = {0};
    run_on_least_stack(run_chain, &c);
    ck_assert_int_eq(c.status, HEED_OK);
    ck_assert_int_eq(c.nodes, CHAIN);
    ck_assert_double_eq(c.y, 1.0); /* negating and adding 1, twice, gives x */
    ck_assert_double_eq(c.dx, 1.0);
}
END_TEST

static heed_tensor *square(heed_tensor *const *inputs, void *context)
{
    (void)context;
    return heed_mul(inputs[0], inputs[0]);
}

/* Trains GPTs whose widths use all matrix product algorithms, and writes and reads all kinds of
 * files: these functions have the largest arrays on the stack. */
static void *train_and_save(void *status)
{
    for (int i = 0; i < 10; i++) {
        HEED_SCOPE(scope);
        const int64_t length = 33, vocab = 65, width = (int64_t)20 << i / 2;
        struct gpt *m = gpt_new((gpt_config){.vocab_size = vocab,
                                             .block_size = length,
                                             .n_layer = 1,
                                             .n_head = 4,
                                             .n_embd = width,
                                             .dropout = 0.1});
        heed_module_to(m, i % 2 ? HEED_F64 : HEED_F32);
        heed_optimizer *adamw = heed_adamw_new(heed_parameters(m), 1e-3, 0.1);
        heed_tensor *tokens = heed_randint(0, vocab, HEED_SHAPE(4, length));
        heed_backward(gpt_loss(m, tokens, tokens));
        heed_clip_grad_norm(heed_parameters(m), 1);
        heed_optimizer_step(adamw);
        gpt_generate(m, tokens, 2, (gpt_generation){0});
        heed_save_checkpoint(m, adamw, in_folder("checkpoint"), NULL);
        heed_load_checkpoint(m, adamw, in_folder("checkpoint"));
        heed_optimizer_free(adamw);
        heed_module_free(m);
    }
    HEED_SCOPE(scope);
    heed_tensor *x = heed_set_requires_grad(heed_randn(HEED_SHAPE(3), HEED_F64), true);
    heed_gradgradcheck(square, NULL, &x, 1);
    *(heed_status *)status = heed_error();
    return NULL;
}

START_TEST(training_fits_the_smallest_stack)
{
    heed_status status = HEED_ERR_NULL;
    run_on_least_stack(train_and_save, &status);
    ck_assert_msg(status == HEED_OK, "%s", heed_status_name(status));
}
END_TEST

/* ---- each thread trains a model of its own ---- */

enum { STEPS = 10, TOKENS = 17, VOCABULARY = 11 };

typedef struct training {
    struct gpt *model;
    heed_optimizer *adamw;
    double losses[2 * STEPS];
    int steps;
    heed_status status;
} training;

/* Trains for STEPS more steps, and uses all that belongs to a thread: the generator, scopes, the
 * grad mode, the pending error. */
static void *train(void *argument)
{
    training *t = argument;
    HEED_SCOPE(scope);
    if (t->model == NULL) {
        heed_manual_seed(3);
        t->model = gpt_new((gpt_config){.vocab_size = VOCABULARY,
                                        .block_size = TOKENS,
                                        .n_layer = 1,
                                        .n_head = 2,
                                        .n_embd = 32});
        t->adamw = heed_adamw_new(heed_parameters(t->model), 1e-2, 0.1);
    }
    for (int i = 0; i < STEPS; i++) {
        HEED_SCOPE(step);
        heed_manual_seed((uint64_t)t->steps);
        heed_tensor *tokens = heed_randint(0, VOCABULARY, HEED_SHAPE(24, TOKENS));
        heed_tensor *loss = gpt_loss(t->model, tokens, tokens);
        heed_backward(loss);
        heed_optimizer_step(t->adamw);
        t->losses[t->steps++] = heed_item(loss);
        heed_zero_grad(t->model);
    }
    HEED_SCOPE_NO_GRAD(generation);
    heed_eval(t->model);
    gpt_generate(t->model, heed_zeros(HEED_SHAPE(1, 4), HEED_I64), 5, (gpt_generation){0});
    heed_train(t->model);
    t->status = heed_error();
    heed_matmul(NULL, NULL);
    t->status = heed_error() == HEED_ERR_NULL ? t->status : HEED_ERR_VALUE;
    return NULL;
}

static void end_training(training *t)
{
    heed_optimizer_free(t->adamw);
    heed_module_free(t->model);
}

/* A finished model is used by another thread: its first thread has ended. */
START_TEST(threads_train_models_of_their_own)
{
    const int64_t tensors = heed_live_tensors(), bytes = heed_live_bytes();
    training alone = {0}, all[THREADS] = {0};
    train(&alone);
    train(&alone);
    ck_assert_int_eq(alone.status, HEED_OK);
    ck_assert_double_lt(alone.losses[2 * STEPS - 1], alone.losses[0]);
    end_training(&alone);
    heed_set_num_threads(2);
    for (int round = 0; round < 2; round++) {
        pthread_t threads[THREADS];
        for (int i = 0; i < THREADS; i++) {
            ck_assert_int_eq(pthread_create(&threads[i], NULL, train, &all[i]), 0);
        }
        for (int i = 0; i < THREADS; i++) {
            ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
        }
    }
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(all[i].status, HEED_OK);
        ck_assert_mem_eq(all[i].losses, alone.losses, sizeof alone.losses);
        end_training(&all[i]);
    }
    ck_assert_int_eq(heed_live_tensors(), tensors);
    ck_assert_int_eq(heed_live_bytes(), bytes);
}
END_TEST

/* ---- memory of threads that ended ---- */

enum { BIG = 777777 };

static void *use_memory(void *result)
{
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *x = heed_zeros(HEED_SHAPE(BIG), HEED_F32);
    if (result != NULL) {
        *(heed_tensor **)result = heed_retain(heed_mul_scalar(heed_add(x, x), 1));
    }
    heed_scope_end(&scope);
    return NULL;
}

START_TEST(counters_stay_right_when_threads_end)
{
    const int64_t tensors = heed_live_tensors(), bytes = heed_live_bytes();
    heed_tensor *made[THREADS];
    for (int i = 0; i < THREADS; i++) {
        run_in_threads(1, use_memory, &made[i]);
        ck_assert_int_eq(heed_live_tensors(), tensors + i + 1);
        ck_assert_int_gt(heed_live_bytes(), bytes + (i + 1) * 4 * BIG);
        ck_assert_int_lt(heed_live_bytes(), bytes + (i + 1) * (4 * BIG + 300));
    }
    for (int i = 0; i < THREADS; i++) {
        ck_assert_double_eq(heed_at(made[i], HEED_INDEX(-1)), 0.0);
        ck_assert_int_eq(heed_release(made[i]), HEED_OK);
    }
    ck_assert_int_eq(heed_live_tensors(), tensors);
    ck_assert_int_eq(heed_live_bytes(), bytes);
}
END_TEST

/* ---- a thread that gets no memory, not even for its own state ---- */

typedef struct failure {
    heed_status status[3];
    char text[3][100];
    double sum;
} failure;

static void *run_out_of_memory(void *argument)
{
    failure *f = argument;
    heed_fail_allocations(0, INT64_MAX);
    HEED_SCOPE(scope);
    for (int i = 0; i < 3; i++) {
        i == 0   ? (void)heed_ones(HEED_SHAPE(1000), HEED_F32)
        : i == 1 ? (void)heed_matmul(NULL, NULL)
                 : heed_manual_seed(3);
        strncpy(f->text[i], heed_error_message(), sizeof f->text[i] - 1);
        f->status[i] = heed_error();
    }
    heed_fail_allocation(-1);
    f->sum = heed_item(heed_sum(heed_ones(HEED_SHAPE(1000), HEED_F32)));
    return NULL;
}

START_TEST(a_thread_without_memory_has_errors)
{
    const int64_t tensors = heed_live_tensors(), bytes = heed_live_bytes();
    failure f = {.sum = 0};
    run_in_threads(1, run_out_of_memory, &f);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(f.status[i], i == 1 ? HEED_ERR_NULL : HEED_ERR_MEMORY);
        ck_assert_str_eq(f.text[i], "out of memory");
    }
    ck_assert_double_eq(f.sum, 1000); /* when there is memory again */
    ck_assert_int_eq(heed_live_tensors(), tensors);
    ck_assert_int_eq(heed_live_bytes(), bytes);
}
END_TEST

static void *draw(void *unused)
{
    heed_manual_seed(1);
    return unused;
}

START_TEST(the_state_of_a_thread_is_freed)
{
    enum { MANY_THREADS = 5000, KILOBYTES = 20000 }; /* of about 13 kilobytes each */
    struct rusage before, after;
    run_in_threads(THREADS, draw, NULL);
    ck_assert_int_eq(getrusage(RUSAGE_SELF, &before), 0);
    for (int i = 0; i < MANY_THREADS; i++) {
        run_in_threads(1, draw, NULL);
    }
    ck_assert_int_eq(getrusage(RUSAGE_SELF, &after), 0);
    ck_assert_int_lt(after.ru_maxrss - before.ru_maxrss, KILOBYTES);
}
END_TEST

void add_thread_cases(Suite *suite)
{
    TCase *tests = heed_case(suite, "threads");
    tcase_add_test(tests, a_million_operations_need_no_stack);
    tcase_add_test(tests, threads_train_models_of_their_own);
    tcase_add_test(tests, counters_stay_right_when_threads_end);
    tcase_add_test(tests, a_thread_without_memory_has_errors);
    if (!HAS_SANITIZER) { /* sanitizers enlarge stack frames, and keep freed blocks */
        tcase_add_test(files_case(suite, "smallest_stack"), training_fits_the_smallest_stack);
        tcase_add_test(tests, the_state_of_a_thread_is_freed);
    }
}
