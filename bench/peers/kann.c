/* KANN's side of the benchmark: the perceptron. Compiled with KANN's own sources. RMSprop stands in
 * for Adam, which KANN does not have. With HAVE_CBLAS, OpenBLAS computes its products. */
#include <kann.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/serve.h"

enum { INPUTS = 784, HIDDEN = 64, CLASSES = 10, BATCH = 64, TRAINED = 20 };
enum { SGD, RMSPROP };

static kann_t *net;
static float x[BATCH * INPUTS], truth[BATCH * CLASSES], *squares; /* squares: RMSprop's state */
static int optimiser;

static float uniform(void)
{
    return (float)rand() / (float)RAND_MAX;
}

/* Returns the loss before the step. */
static double train(void)
{
    const float loss = kann_cost(net, 0, 1);
    const int count = kann_size_var(net);
    if (optimiser == RMSPROP) {
        kann_RMSprop(count, 1e-3f, NULL, 0.9f, net->g, net->x, squares);
    } else {
        for (int i = 0; i < count; i++) {
            net->x[i] -= 1e-3f * net->g[i];
        }
    }
    return (double)loss;
}

static void step(void)
{
    train();
}

static const char *prepare(const struct workload *w)
{
    float *inputs = x, *truths = truth;
    kad_node_t *hidden = kad_relu(kann_layer_dense(kann_layer_input(INPUTS), HIDDEN));
    net = kann_new(kann_layer_cost(hidden, CLASSES, KANN_C_CEM), 0);
    optimiser = w->variant;
    memset(truth, 0, sizeof truth);
    for (int i = 0; i < BATCH; i++) {
        truth[i * CLASSES + rand() % CLASSES] = 1;
        for (int j = 0; j < INPUTS; j++) {
            x[i * INPUTS + j] = uniform();
        }
    }
    kann_set_batch_size(net, BATCH);
    kann_feed_bind(net, KANN_F_IN, 0, &inputs);
    kann_feed_bind(net, KANN_F_TRUTH, 0, &truths);
    squares = calloc((size_t)kann_size_var(net), sizeof *squares);
    const double first = train();
    double last = first;
    for (int i = 0; i < TRAINED; i++) {
        last = train();
    }
    return squares == NULL ? "out of memory" : last < first ? NULL : "the loss does not fall";
}

static void finish(void)
{
    kann_delete(net);
    free(squares);
}

int main(int argc, char **argv)
{
    static const struct workload all[] = {
        {.name = "mlp.sgd",
         .unit = "us",
         .scale = 1e6,
         .variant = SGD,
         .prepare = prepare,
         .run = step,
         .finish = finish},
        {.name = "mlp.adam",
         .unit = "us",
         .scale = 1e6,
         .variant = RMSPROP,
         .prepare = prepare,
         .run = step,
         .finish = finish},
    };
    return serve(&(struct workloads){.all = all, .count = 2}, argc, argv);
}
