/* Small models: the toy (W1) and models of build/toys, one at a time, and SEEDS of them side by
 * side as build/toys --seeds trains them: each thread trains one model after another. */
#include "bench/heed/toys.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "bench/heed/tables.h"
#include "bench/heed/training.h"

enum { ADAM, SGD, MOST_THREADS = 256 };

/* ---- a model ---- */

static const heed_module_kind kind = {.name = "W1", .size = sizeof(struct w1)};

static struct w1 *w1_new(void)
{
    struct w1 *m = heed_module_new(&kind);
    HEED_CHILD(m, we, heed_embedding_new(5, 2));
    HEED_CHILD(m, pe, heed_position_encoding_new(2, 5));
    HEED_CHILD(m, attention, heed_self_attention_new(2, 0, 1));
    HEED_CHILD(m, fc, heed_linear_new(2, 5));
    return m;
}

void toy_begin(struct toy *t, const struct toy_size *size, uint64_t seed)
{
    *t = (struct toy){.size = size};
    heed_manual_seed(seed);
    if (size->task == NULL) {
        t->model = w1_new();
        t->mask = heed_causal_block_mask(5);
        t->batch.inputs = heed_from_i64((int64_t[]){0, 1, 2, 3, 4}, HEED_SHAPE(5));
        t->batch.targets = heed_from_i64((int64_t[]){1, 2, 3, 4, 0}, HEED_SHAPE(5));
    } else {
        toys_settings s = toys_defaults(size->task);
        s.width = size->width;
        s.length = size->length;
        t->model = toys_model_new(&s, size->task->shape(&s, s.length));
        t->batch = toys_draw(size->task, &s, s.length, size->batch);
    }
    t->adam = heed_adam_new(heed_parameters(t->model), 1e-3);
}

static heed_tensor *w1_loss(const struct toy *t)
{
    const struct w1 *m = t->model;
    heed_tensor *e =
        heed_position_encoding_forward(m->pe, heed_embedding_forward(m->we, t->batch.inputs));
    heed_tensor *attended = heed_self_attention_forward(m->attention, e, t->mask);
    return heed_cross_entropy(heed_linear_forward(m->fc, heed_add(attended, e)), t->batch.targets);
}

heed_tensor *toy_loss(const struct toy *t)
{
    return t->size->task == NULL
               ? w1_loss(t)
               : toys_loss(t->model, &t->batch, toys_forward(t->model, &t->batch));
}

void toy_step(const struct toy *t)
{
    HEED_SCOPE(scope);
    heed_optimizer_zero_grad(t->adam);
    heed_backward(toy_loss(t));
    heed_optimizer_step(t->adam);
}

void toy_end(const struct toy *t)
{
    heed_optimizer_free(t->adam);
    heed_module_free(t->model);
}

/* ---- one model ---- */

static struct toy one;

static heed_tensor *loss_of_one(void)
{
    return toy_loss(&one);
}

static struct training train_one(const struct toy_size *size, int optimizer)
{
    toy_begin(&one, size, 0);
    if (optimizer == SGD) {
        heed_optimizer_free(one.adam);
        one.adam = heed_sgd_new(heed_parameters(one.model), 1e-3);
    }
    return (struct training){.loss = loss_of_one, .optimizer = one.adam, .modules = {one.model}};
}

static const char *prepare_one(const struct workload *w)
{
    return begin_training(train_one(&toy_sizes[w->size[0]], w->variant));
}

void first_toy_step(void)
{
    HEED_SCOPE(scope);
    start_training(train_one(&toy_sizes[0], ADAM));
    training_step();
    end_training();
}

/* ---- many seeds ---- */

static struct toy toys[SEEDS];
static int threads;

struct thread {
    pthread_t thread;
    int number;
    void (*work)(int number);
};

static void *begin_thread(void *thread)
{
    const struct thread *t = thread;
    t->work(t->number);
    return NULL;
}

void run_threads(int count, void (*work)(int number))
{
    struct thread others[MOST_THREADS];
    for (int i = 1; i < count; i++) {
        others[i] = (struct thread){.number = i, .work = work};
        if (pthread_create(&others[i].thread, NULL, begin_thread, &others[i]) != 0) {
            fputs("no thread can be started\n", stderr);
            exit(EXIT_FAILURE);
        }
    }
    work(0);
    for (int i = 1; i < count; i++) {
        pthread_join(others[i].thread, NULL);
    }
}

static void train_share(int number)
{
    for (int i = number; i < SEEDS; i += threads) {
        for (int step = 0; step < toys[i].size->steps; step++) {
            toy_step(&toys[i]);
        }
    }
}

static void train_seeds(void)
{
    run_threads(threads, train_share);
}

static double loss_of_seeds(void)
{
    double sum = 0;
    for (int i = 0; i < SEEDS; i++) {
        HEED_SCOPE_NO_GRAD(scope);
        sum += heed_item(toy_loss(&toys[i]));
    }
    return sum / SEEDS;
}

static const char *prepare_seeds(const struct workload *w)
{
    for (int i = 0; i < SEEDS; i++) {
        toy_begin(&toys[i], &toy_sizes[w->size[0]], (uint64_t)i);
    }
    threads = heed_get_num_threads();
    heed_set_num_threads(1);
    const double at_first = loss_of_seeds();
    train_seeds();
    return loss_of_seeds() < at_first ? NULL : "the losses do not fall";
}

static void end_seeds(void)
{
    for (int i = 0; i < SEEDS; i++) {
        toy_end(&toys[i]);
    }
    heed_set_num_threads(threads);
}

/* ---- tensors of all seeds ---- */

heed_tensor *toys_part(const struct toy *all, int count, int part)
{
    heed_tensor *parts[SEEDS];
    for (int i = 0; i < count; i++) {
        const heed_tensor_list parameters = heed_parameters(all[i].model);
        const int other = part - parameters.count;
        parts[i] = other < 0          ? parameters.tensors[part]
                   : other == INPUTS  ? all[i].batch.inputs
                   : other == TARGETS ? all[i].batch.targets
                                      : toy_loss(&all[i]);
    }
    return heed_stack(parts, count, 0);
}

/* For the peers: first weights, data and losses of the first `count` seeds. */
static void save(const struct toy_size *size, int count, const char *path)
{
    HEED_SCOPE_NO_GRAD(scope);
    heed_tensor *tensors[MOST_PARAMETERS + PARTS];
    const char *names[MOST_PARAMETERS + PARTS] = {NULL};
    char heads[16] = "1", steps[16];
    for (int i = 0; i < count; i++) {
        toy_begin(&toys[i], size, (uint64_t)i);
    }
    const heed_tensor_list parameters = heed_parameters(toys[0].model);
    const int n = parameters.count;
    for (int i = 0; i < n + PARTS; i++) {
        static const char *const others[PARTS] = {"inputs", "targets", "losses"};
        names[i] = i < n ? parameters.names[i] : others[i - n];
        tensors[i] = toys_part(toys, count, i);
    }
    if (size->task != NULL) {
        const struct toys_model *m = toys[0].model;
        snprintf(heads, sizeof heads, "%d", (int)m->settings.heads);
    }
    snprintf(steps, sizeof steps, "%d", size->steps);
    heed_save_file((heed_tensor_list){n + PARTS, tensors, names}, path,
                   (heed_metadata[]){{"heads", heads}, {"steps", steps}, {NULL, NULL}});
    for (int i = 0; i < count; i++) {
        toy_end(&toys[i]);
    }
}

int save_toys(const char *name, int count, const char *path)
{
    for (int i = 0; i < TOY_SIZES; i++) {
        if (strcmp(toy_sizes[i].name, name) == 0 && count > 0 && count <= SEEDS) {
            save(&toy_sizes[i], count, path);
            return EXIT_SUCCESS;
        }
    }
    fprintf(stderr, "no model %s, or not 1 to %d seeds\n", name, SEEDS);
    return EXIT_FAILURE;
}

/* ---- the table ---- */

void add_toys(struct table *table)
{
    struct workload w = {.unit = "us",
                         .scale = 1e6,
                         .prepare = prepare_one,
                         .run = training_step,
                         .finish = end_training};
    add_workload(table, w, "w1.adam");
    w.run = forward_step;
    add_workload(table, w, "w1.forward");
    w.run = training_step;
    w.variant = SGD;
    add_workload(table, w, "w1.sgd");
    w.variant = ADAM;
    for (int i = 1; i < TOY_SIZES; i++) {
        w.size[0] = i;
        add_workload(table, w, "toys.%s", toy_sizes[i].name);
    }
    w.prepare = prepare_seeds;
    w.run = train_seeds;
    w.finish = end_seeds;
    for (int i = 0; i < TOY_SIZES && toy_sizes[i].steps > 0; i++) {
        w.size[0] = i;
        w.per = SEEDS * toy_sizes[i].steps;
        add_workload(table, w, "seeds.%s", toy_sizes[i].name);
    }
}
