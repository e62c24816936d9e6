/* Small models: the toy (W1) and models of build/toys, one at a time, and SEEDS of them side by
 * side as build/toys --seeds trains them: each thread trains one model after another. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/heed/bench.h"
#include "examples/lab/toys/model.h"
#include "examples/lab/toys/task.h"

enum { ADAM, SGD, SEEDS = 100, MOST_THREADS = 256 };

/* The toy of 5 tokens (W1), and models of build/toys. */
static const struct toy_size {
    const char *name;
    const toys_task *task; /* with its defaults, except for what follows; NULL: W1 */
    int64_t width, length, batch;
    int steps; /* of each seed, in a call of seeds.NAME */
} toy_sizes[] = {
    {"w1", NULL, 0, 0, 0, 20},
    {"induction", &toys_induction, 64, 32, 16, 1},
    {"recall", &toys_recall, 32, 8, 64, 1},
};
enum { TOY_SIZES = sizeof toy_sizes / sizeof *toy_sizes };

/* ---- a model ---- */

/* W1: 5 tokens, d_model 2, masked self-attention, a Linear. */
struct w1 {
    heed_module module;
    struct heed_embedding *we;
    struct heed_position_encoding *pe;
    struct heed_self_attention *attention;
    struct heed_linear *fc;
};

/* A model and what it trains on. */
struct toy {
    const struct toy_size *size;
    void *model;       /* struct w1, or struct toys_model */
    toys_batch batch;  /* of W1, only inputs and targets */
    heed_tensor *mask; /* of W1 */
    heed_optimizer *adam;
};

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

/* The model and the first batch of a seed; those of a model of build/toys are the ones that it has
 * too. */
static void toy_begin(struct toy *t, const struct toy_size *size, uint64_t seed)
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

static heed_tensor *toy_loss(const struct toy *t)
{
    return t->size->task == NULL
               ? w1_loss(t)
               : toys_loss(t->model, &t->batch, toys_forward(t->model, &t->batch));
}

static void toy_step(const struct toy *t)
{
    HEED_SCOPE(scope);
    heed_optimizer_zero_grad(t->adam);
    heed_backward(toy_loss(t));
    heed_optimizer_step(t->adam);
}

static void toy_end(const struct toy *t)
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

void start_w1(void)
{
    start_training(train_one(&toy_sizes[0], ADAM));
}

/* ---- many seeds ---- */

static struct toy toys[SEEDS];
static int threads;

/* Thread `number` trains its share of the toys. */
static void *train_share(void *number)
{
    for (int i = *(const int *)number; i < SEEDS; i += threads) {
        for (int step = 0; step < toys[i].size->steps; step++) {
            toy_step(&toys[i]);
        }
    }
    return NULL;
}

static void train_seeds(void)
{
    pthread_t others[MOST_THREADS];
    int numbers[MOST_THREADS];
    for (int i = threads - 1; i >= 0; i--) {
        numbers[i] = i;
        if (i == 0) {
            train_share(&numbers[i]);
        } else if (pthread_create(&others[i], NULL, train_share, &numbers[i]) != 0) {
            fputs("no thread can be started\n", stderr);
            exit(EXIT_FAILURE);
        }
    }
    for (int i = 1; i < threads; i++) {
        pthread_join(others[i], NULL);
    }
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

/* ---- what the peers begin with ---- */

/* Parameter `part` of `count` toys, stacked; or, counted from the number of parameters, their
 * INPUTS, TARGETS, or losses. */
enum { INPUTS, TARGETS, LOSSES, PARTS, MOST_PARAMETERS = 32 };
static heed_tensor *toys_part(int count, int part)
{
    heed_tensor *parts[SEEDS];
    for (int i = 0; i < count; i++) {
        const heed_tensor_list parameters = heed_parameters(toys[i].model);
        const int other = part - parameters.count;
        parts[i] = other < 0          ? parameters.tensors[part]
                   : other == INPUTS  ? toys[i].batch.inputs
                   : other == TARGETS ? toys[i].batch.targets
                                      : toy_loss(&toys[i]);
    }
    return heed_stack(parts, count, 0);
}

/* First weights, data and losses of the first `count` seeds. */
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
        tensors[i] = toys_part(count, i);
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

void add_toys(void)
{
    struct workload w = {.unit = "us",
                         .scale = 1e6,
                         .prepare = prepare_one,
                         .run = training_step,
                         .finish = end_training};
    add_workload(w, "w1.adam");
    w.variant = SGD;
    add_workload(w, "w1.sgd");
    w.variant = ADAM;
    for (w.size[0] = 1; w.size[0] < TOY_SIZES; w.size[0]++) {
        add_workload(w, "toys.%s", toy_sizes[w.size[0]].name);
    }
    w.prepare = prepare_seeds;
    w.run = train_seeds;
    w.finish = end_seeds;
    for (w.size[0] = 0; w.size[0] < TOY_SIZES; w.size[0]++) {
        w.per = SEEDS * toy_sizes[w.size[0]].steps;
        add_workload(w, "seeds.%s", toy_sizes[w.size[0]].name);
    }
}
