/* llm.c's side of the benchmark: GPTs with tied weights. Includes llm.c's own train_gpt2.c; TESTING
 * leaves out its main. llm.c reads models only from files, so a file of random weights is written
 * first. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench/gpt_sizes.h"
#include "bench/serve.h"

#define TESTING
#define printf(...) (void)0 /* stdout is for answers */
#include "train_gpt2.c"
#undef printf

enum { MAGIC = 20240326, VERSION = 3, HEADER = 256, TRAINED = 5 };

static GPT2 model;
static const struct gpt_size *size;
static int *inputs, *targets, steps;

static int *random_ids(void)
{
    const int count = size->batch * size->context;
    int *ids = malloc((size_t)count * sizeof *ids);
    for (int i = 0; i < count; i++) {
        ids[i] = rand() % size->vocabulary;
    }
    return ids;
}

/* Embeddings and the last LayerNorm; in each layer two LayerNorms and four Linears. */
static long weights_in_model(void)
{
    const long width = size->width, layers = size->layers;
    return (size->vocabulary + size->context + 2) * width +
           layers * (12 * width * width + 13 * width);
}

/* Uniform weights with GPT-2's standard deviation, 0.02. Those of LayerNorm are near 0 too, which
 * takes the same time. */
static int write_model(FILE *file)
{
    const int header[HEADER] = {MAGIC,        VERSION,     size->context, size->vocabulary,
                                size->layers, size->heads, size->width,   size->vocabulary};
    size_t written = fwrite(header, sizeof header, 1, file);
    for (long i = 0; i < weights_in_model(); i++) {
        const float weight = 0.07f * ((float)rand() / (float)RAND_MAX - 0.5f);
        written += fwrite(&weight, sizeof weight, 1, file);
    }
    return written == 1 + (size_t)weights_in_model();
}

static void step(void)
{
    gpt2_forward(&model, inputs, targets, (size_t)size->batch, (size_t)size->context);
    gpt2_zero_grad(&model);
    gpt2_backward(&model);
    gpt2_update(&model, 1e-3f, 0.9f, 0.999f, 1e-8f, 0.01f, ++steps);
}

static const char *prepare(const struct workload *w)
{
    char path[] = "/tmp/bench_llm_c.XXXXXX";
    const int number = mkstemp(path);
    FILE *file = number >= 0 ? fdopen(number, "wb") : NULL;
    size = &gpt_sizes[w->variant];
    const int ready = file != NULL && write_model(file) && fclose(file) == 0;
    if (ready) {
        gpt2_build_from_checkpoint(&model, path);
    }
    unlink(path);
    if (!ready) {
        return "cannot write a model to /tmp";
    }
    inputs = random_ids();
    targets = random_ids();
    steps = 0;
    step();
    const float first = model.mean_loss;
    for (int i = 0; i < TRAINED; i++) {
        step();
    }
    return isfinite(model.mean_loss) && model.mean_loss < first ? NULL : "the loss does not fall";
}

static void finish(void)
{
    gpt2_free(&model);
    free(inputs);
    free(targets);
}

int main(int argc, char **argv)
{
    static struct workload all[GPT_SIZES];
    int count = 0;
    for (int i = 0; i < GPT_SIZES; i++) {
        if (gpt_sizes[i].kind == TIED) { /* llm.c has neither exact GELU nor decay groups */
            all[count] = (struct workload){.unit = "ms",
                                           .scale = 1e3,
                                           .variant = i,
                                           .prepare = prepare,
                                           .run = step,
                                           .finish = finish};
            snprintf(all[count++].name, sizeof all->name, "%s", gpt_sizes[i].name);
        }
    }
    return serve(&(struct workloads){.all = all, .count = count}, argc, argv);
}
