/* Threads: small stacks, shared parameters, and memory that a thread leaves when it ends.
 *
 * Check's assertions end a test from the main thread only, so threads record their results. */
#include <pthread.h>
#include <sys/resource.h>

#include "examples/lab/gpt/generate.h"
#include "tests/common/files_util.h"

enum { THREADS = 4 };

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
        heed_tensor *tokens = heed_randint(0, vocab, HEED_SHAPE(4, length), HEED_I64);
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

/* Repeats 2 x - x: a traversal without marks would take 2^100000 steps. */
static void *run_comb(void *argument)
{
    chain *c = argument;
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *x = heed_set_requires_grad(heed_scalar(1, HEED_F64), true), *y = x;
    for (int i = 0; i < CHAIN / 10; i++) {
        y = heed_sub(heed_mul_scalar(y, 2), y);
    }
    c->y = heed_item(y);
    heed_backward(y);
    c->dx = heed_item(x->grad);
    c->status = heed_scope_end(&scope);
    return NULL;
}

START_TEST(reused_nodes_are_counted_once)
{
    chain c = {0};
    run_in_threads(1, run_comb, &c);
    ck_assert_int_eq(c.status, HEED_OK);
    ck_assert_double_eq(c.y, 1.0);
    ck_assert_double_eq(c.dx, 1.0);
}
END_TEST

/* ---- shared parameters ---- */

enum { STEPS = 50 };

typedef struct model {
    heed_tensor *w, *b, *table; /* (3, 4), (4), (5, 3) */
    int failures;
} model;

/* loss = sum((table[ids] w + b)) of integers, so that sums are exact in any order. */
static void *train(void *argument)
{
    model *m = argument;
    for (int i = 0; i < STEPS; i++) {
        heed_scope scope;
        heed_scope_begin(&scope);
        heed_tensor *ids = heed_from_i64((int64_t[]){0, 2, 2, 4}, HEED_SHAPE(4));
        heed_tensor *h = heed_matmul(heed_embedding(ids, m->table), m->w);
        heed_tensor *y = heed_add(h, heed_expand(m->b, HEED_SHAPE(4, 4)));
        heed_tensor *view = heed_transpose(m->w, 0, 1);
        heed_backward(heed_add(heed_sum(y), heed_sum(heed_mul(view, view))));
        heed_release(heed_retain(m->w));
        if (heed_scope_end(&scope) != HEED_OK) {
            __atomic_add_fetch(&m->failures, 1, __ATOMIC_RELAXED);
        }
    }
    return NULL;
}

static heed_tensor *parameter(heed_shape shape, double value)
{
    heed_tensor *t = heed_full(shape, value, HEED_F32);
    return heed_share(heed_retain(heed_set_requires_grad(t, true)));
}

START_TEST(threads_train_one_model)
{
    heed_scope scope;
    heed_scope_begin(&scope);
    model m = {.w = parameter(HEED_SHAPE(3, 4), 2),
               .b = parameter(HEED_SHAPE(4), 1),
               .table = parameter(HEED_SHAPE(5, 3), 3)};
    heed_scope_end(&scope);
    run_in_threads(THREADS, train, &m);
    ck_assert_int_eq(m.failures, 0);
    const double n = THREADS * STEPS, dw = n * (4 * 3 + 2 * 2), db = n * 4, dt = n * 4 * 2;
    EXPECT_VALUES(m.w->grad, 0, dw, dw, dw, dw, dw, dw, dw, dw, dw, dw, dw, dw);
    EXPECT_VALUES(m.b->grad, 0, db, db, db, db);
    EXPECT_VALUES(m.table->grad, 0, dt, dt, dt, 0, 0, 0, 2 * dt, 2 * dt, 2 * dt, 0, 0, 0, dt, dt,
                  dt);
    heed_tensor *all[] = {m.w, m.b, m.table};
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(all[i]->references, 1);
        ck_assert_int_eq(all[i]->uses, 1);
        ck_assert_int_eq(all[i]->storage->references, 1);
        heed_release(all[i]);
    }
}
END_TEST

enum { PARTS = 4, LENGTH = 5000 };

static void *add_parts(void *argument)
{
    heed_tensor *x = argument, *parts[PARTS];
    for (int i = 0; i < STEPS; i++) {
        heed_scope scope;
        heed_scope_begin(&scope);
        heed_tensor *sum = heed_scalar(0, x->dtype);
        for (int k = 0; k < heed_chunk(x, PARTS, 0, parts); k++) {
            sum = heed_add(sum, heed_mul_scalar(heed_sum(parts[k]), k + 1));
        }
        heed_backward(sum);
        heed_scope_end(&scope);
    }
    return NULL;
}

/* Several threads add to a .grad that is already there. */
START_TEST(threads_add_to_one_given_gradient)
{
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *x =
        heed_share(heed_set_requires_grad(heed_ones(HEED_SHAPE(PARTS, LENGTH), HEED_F64), true));
    heed_tensor *flat = heed_zeros(HEED_SHAPE(PARTS, LENGTH), HEED_F64), *ends[2];
    heed_set_grad(x, heed_share(flat));
    const heed_tensor *given = x->grad;
    run_in_threads(THREADS, add_parts, x);
    const double n = THREADS * STEPS;
    ck_assert_ptr_eq(x->grad, given);
    ends[0] = heed_amin_dim(flat, 1, false);
    ends[1] = heed_amax_dim(flat, 1, false);
    for (int i = 0; i < 2; i++) {
        EXPECT_VALUES(ends[i], 0, n, 2 * n, 3 * n, 4 * n);
    }
    heed_scope_end(&scope);
}
END_TEST

/* A thread that has returned a .grad keeps no view of it, which would raise the reference count. */
START_TEST(threads_add_to_parts_of_one_gradient)
{
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *x = parameter(HEED_SHAPE(PARTS, 1), 1);
    heed_scope_end(&scope);
    for (int i = 0; i < 60; i++) {
        run_in_threads(THREADS, add_parts, x);
    }
    ck_assert_int_eq(x->grad->references, 1);
    ck_assert_int_eq(x->grad->storage->references, 1);
    const double n = 60 * THREADS * STEPS;
    EXPECT_VALUES(x->grad, 0, n, 2 * n, 3 * n, 4 * n);
    heed_release(x);
}
END_TEST

typedef struct generation {
    struct gpt *model;
    int64_t tokens[THREADS][24];
    int threads;
} generation;

static void *generate(void *argument)
{
    generation *g = argument;
    const int thread = __atomic_fetch_add(&g->threads, 1, __ATOMIC_RELAXED);
    HEED_SCOPE(scope);
    heed_manual_seed(3);
    heed_tensor *prompt = heed_zeros(HEED_SHAPE(1, 4), HEED_I64);
    heed_copy_out(gpt_generate(g->model, prompt, 20, (gpt_generation){0}), g->tokens[thread], 24);
    return NULL;
}

START_TEST(threads_generate_from_one_model)
{
    generation g = {.model = gpt_new((gpt_config){.vocab_size = 31,
                                                  .block_size = 17,
                                                  .n_layer = 1,
                                                  .n_head = 2,
                                                  .n_embd = 10,
                                                  .dropout = 0.5})};
    heed_eval(g.model);
    run_in_threads(THREADS, generate, &g);
    for (int i = 1; i < THREADS; i++) {
        ck_assert_mem_eq(g.tokens[i], g.tokens[0], sizeof g.tokens[0]);
    }
    ck_assert(!g.model->module.training);
    heed_module_free(g.model);
}
END_TEST

/* ---- per-thread state ---- */

typedef struct scope_of_another {
    heed_scope *scope;
    heed_tensor *x, *kept;
    heed_status ended, keep;
    int64_t tensors;
    bool grad_enabled;
} scope_of_another;

static void *meddle(void *argument)
{
    scope_of_another *s = argument;
    heed_scope mine, inner;
    s->grad_enabled = heed_is_grad_enabled();
    heed_scope_begin(&mine);
    heed_scope_begin(&inner); /* as deep as the other thread's */
    s->ended = heed_scope_end(s->scope);
    heed_error();
    heed_scope_keep(s->scope, s->x);
    s->keep = heed_error();
    s->kept = heed_scope_keep(&inner, s->x); /* not in this scope: returned unchanged */
    heed_scope_end(&inner);
    heed_scope_end(&mine);
    s->tensors = heed_live_tensors();
    return NULL;
}

START_TEST(a_scope_belongs_to_its_thread)
{
    heed_scope scope;
    heed_scope_begin_no_grad(&scope); /* affects this thread only */
    heed_tensor *x = heed_share(heed_scalar(5, HEED_F32));
    scope_of_another s = {.scope = &scope, .x = x};
    run_in_threads(1, meddle, &s);
    ck_assert(s.grad_enabled);
    ck_assert_int_eq(s.ended, HEED_ERR_SCOPE);
    ck_assert_int_eq(s.keep, HEED_ERR_SCOPE);
    ck_assert_ptr_eq(s.kept, x);
    ck_assert_int_eq(s.tensors, heed_live_tensors()); /* counts tensors of all threads */
    EXPECT_VALUES(x, 0, 5);
    ck_assert_int_eq(heed_scope_end(&scope), HEED_OK);
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
        *(heed_tensor **)result = heed_share(heed_retain(heed_mul_scalar(heed_add(x, x), 1)));
    }
    heed_scope_end(&scope);
    return NULL;
}

START_TEST(a_thread_hands_its_memory_to_those_who_come_after_it)
{
    if (!heed_allocator_keeps_blocks()) {
        return;
    }
    heed_tensor *small = heed_ones(HEED_SHAPE(1), HEED_F32); /* so that this thread has a slab */
    run_in_threads(1, use_memory, NULL);
    const int64_t requests = heed_system_requests();
    heed_tensor *x = heed_zeros(HEED_SHAPE(BIG), HEED_F32);
    ck_assert_int_eq(heed_system_requests(), requests);
    heed_zeros(HEED_SHAPE(BIG), HEED_F32); /* only one such block was free */
    ck_assert_int_eq(heed_system_requests(), requests + 1);
    EXPECT_VALUES(heed_slice(x, 0, BIG - 2, BIG, 1), 0, 0, 0);
    EXPECT_VALUES(small, 0, 1);
}
END_TEST

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

/* ---- one tensor, retained and released by many threads ---- */

static void *hold(void *argument)
{
    heed_tensor *t = argument;
    for (int i = 0; i < 2000; i++) {
        heed_scope scope;
        heed_scope_begin(&scope);
        heed_retain(t);
        heed_reshape(t, HEED_SHAPE(2, 3));
        heed_release(t);
        heed_scope_end(&scope);
    }
    heed_release(t);
    return NULL;
}

START_TEST(the_last_thread_lets_a_shared_tensor_go)
{
    const int64_t tensors = heed_live_tensors(), bytes = heed_live_bytes();
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *t = heed_share(heed_ones(HEED_SHAPE(6), HEED_F64));
    for (int i = 0; i < THREADS; i++) {
        heed_retain(t); /* one for each thread */
    }
    heed_scope_end(&scope);
    ck_assert_int_eq(heed_live_tensors(), tensors + 1);
    run_in_threads(THREADS, hold, t);
    ck_assert_int_eq(heed_live_tensors(), tensors);
    ck_assert_int_eq(heed_live_bytes(), bytes);
}
END_TEST

/* ---- one thread allocates, another frees ---- */

enum { ROUNDS = 4000, AT_ONCE = 50 };
typedef struct relay {
    heed_tensor *batch[AT_ONCE];
    pthread_barrier_t barrier;
} relay;

static void *let_batches_go(void *context)
{
    relay *r = context;
    for (int round = 0; round < ROUNDS / AT_ONCE; round++) {
        pthread_barrier_wait(&r->barrier);
        for (int i = 0; i < AT_ONCE; i++) {
            heed_release(r->batch[i]);
        }
        pthread_barrier_wait(&r->barrier);
    }
    return NULL;
}

/* 4,000 batches of 16 KiB pass between threads; blocks are reused, so far less memory is
 * requested. */
START_TEST(memory_goes_round_between_threads)
{
    static relay r;
    pthread_t consumer;
    pthread_barrier_init(&r.barrier, NULL, 2);
    ck_assert_int_eq(pthread_create(&consumer, NULL, let_batches_go, &r), 0);
    const int64_t before = heed_system_requests();
    for (int round = 0; round < ROUNDS / AT_ONCE; round++) {
        heed_scope scope;
        heed_scope_begin(&scope);
        for (int i = 0; i < AT_ONCE; i++) {
            r.batch[i] = heed_retain(heed_share(heed_ones(HEED_SHAPE(64, 64), HEED_F32)));
        }
        heed_scope_end(&scope);
        pthread_barrier_wait(&r.barrier);
        pthread_barrier_wait(&r.barrier);
    }
    ck_assert_int_eq(pthread_join(consumer, NULL), 0);
    ck_assert(heed_system_requests() - before < ROUNDS / 2 || !heed_allocator_keeps_blocks());
}
END_TEST

/* ---- a thread that gets no memory, not even for its own state ---- */

enum { ERRORS = 4 };

typedef struct failures {
    heed_tensor *shared;
    heed_status status[ERRORS];
    char text[ERRORS][200];
    heed_generator generator;
    double drawn, sum;
    bool text_stays;
} failures;

static void read_failure(failures *f, int i)
{
    strncpy(f->text[i], heed_error_message(), sizeof f->text[i] - 1);
    f->status[i] = heed_error();
}

static void *run_out_of_memory(void *argument)
{
    failures *f = argument;
    heed_fail_allocations(0, INT64_MAX);
    HEED_SCOPE(scope);
    heed_ones(HEED_SHAPE(1000), HEED_F32);
    read_failure(f, 0);
    heed_matmul(NULL, f->shared);
    read_failure(f, 1);
    heed_manual_seed(3);
    read_failure(f, 2);
    f->generator = heed_get_generator();
    heed_uniform_into(f->shared, 0, 1);
    read_failure(f, 3);
    heed_release(f->shared); /* the last reference */
    heed_fail_allocation(-1);
    f->sum = heed_item(heed_sum(heed_ones(HEED_SHAPE(1000), HEED_F32)));
    f->text_stays = strcmp(heed_error_message(), f->text[3]) == 0;
    f->drawn = heed_item(heed_rand(HEED_SCALAR, HEED_F32));
    return NULL;
}

START_TEST(errors_have_their_texts_without_memory)
{
    static const char *const expected[ERRORS] = {
        "out of memory: ", "matmul: ", "out of memory: ", "out of memory: "};
    const int64_t tensors = heed_live_tensors(), bytes = heed_live_bytes();
    heed_scope scope;
    heed_scope_begin(&scope);
    failures f = {.shared = heed_share(heed_retain(heed_zeros(HEED_SHAPE(5), HEED_F64)))};
    heed_scope_end(&scope);
    run_in_threads(1, run_out_of_memory, &f);
    for (int i = 0; i < ERRORS; i++) {
        ck_assert_int_eq(f.status[i], i == 1 ? HEED_ERR_NULL : HEED_ERR_MEMORY);
        ck_assert_msg(strstr(f.text[i], expected[i]) == f.text[i], "%s", f.text[i]);
    }
    ck_assert_msg(strstr(f.text[0], " bytes requested, ") != NULL &&
                      strstr(f.text[0], "end a scope earlier") != NULL,
                  "%s", f.text[0]);
    ck_assert(f.text_stays); /* when there is memory again */
    ck_assert_double_eq(f.sum, 1000);
    ck_assert_double_eq(f.drawn, 0x1.11b5d8p-2); /* of a fresh generator */
    ck_assert(f.generator.seeded && f.generator.flavor == HEED_RANDOM_TORCH_2);
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
    tcase_add_test(tests, reused_nodes_are_counted_once);
    tcase_add_test(tests, threads_train_one_model);
    tcase_add_test(tests, threads_add_to_one_given_gradient);
    tcase_add_test(tests, threads_add_to_parts_of_one_gradient);
    tcase_add_test(tests, threads_generate_from_one_model);
    tcase_add_test(tests, a_scope_belongs_to_its_thread);
    tcase_add_test(tests, counters_stay_right_when_threads_end);
    tcase_add_test(tests, the_last_thread_lets_a_shared_tensor_go);
    tcase_add_test(tests, memory_goes_round_between_threads);
    tcase_add_test(tests, errors_have_their_texts_without_memory);
    if (!HAS_SANITIZER) { /* sanitizers enlarge stack frames */
        tcase_add_test(files_case(suite, "smallest_stack"), training_fits_the_smallest_stack);
    }
    TCase *registered = heed_case(suite, "registered_threads"); /* see forks.c */
    tcase_add_test(registered, a_thread_hands_its_memory_to_those_who_come_after_it);
    if (!HAS_SANITIZER) { /* sanitizers keep freed blocks */
        tcase_add_test(registered, the_state_of_a_thread_is_freed);
    }
}
