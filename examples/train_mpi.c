/* Data-parallel training over MPI: every rank has the whole model and a share of each batch;
 * gradients are averaged before each step.
 *
 *     make mpi
 *     mpirun -np 4 build/train_mpi FILE [STEPS [BATCH]]
 *
 * A small GPT predicts the next byte of FILE. All ranks draw the same numbers from the same seed,
 * so they start with the same weights, know the whole batch, take their own rows of it, and take
 * the same step. The mean of their gradients is the gradient of the whole batch, so any number of
 * ranks gives the same losses up to rounding. (Not with dropout: each rank drops different
 * elements.)
 *
 * All communication during training is in train_step; the rest reads arguments and the file. */
#include <errno.h>
#include <limits.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "heed.h"

enum { CONTEXT = 64, PRINT_EVERY = 10 };

static int rank, ranks;

typedef struct run {
    const char *path;
    int64_t steps, batch;
    unsigned char *text;
    int length; /* MPI counts in int */
} run;

/* ---- training ---- */

/* This rank's rows of the next batch, each a window of the text: (batch / ranks, CONTEXT + 1).
 * Positions are drawn for all rows, so that the generators of all ranks stay in the same state. */
static heed_tensor *draw_share(const run *r)
{
    const int64_t share = r->batch / ranks;
    heed_tensor *starts = heed_randint(0, r->length - CONTEXT, HEED_SHAPE(r->batch), HEED_I64);
    heed_tensor *rows = heed_empty(HEED_SHAPE(share, CONTEXT + 1), HEED_I64);
    const int64_t *start = heed_const_data_i64(starts) + rank * share;
    int64_t *to = heed_data_i64(rows);
    for (int64_t i = 0; i < rows->numel; i++) {
        to[i] = r->text[start[i / (CONTEXT + 1)] + i % (CONTEXT + 1)];
    }
    return rows;
}

/* Returns the loss of the whole batch. */
static double train_step(const run *r, struct heed_gpt *model, heed_optimizer *adamw)
{
    HEED_SCOPE(step);
    heed_tensor *rows = draw_share(r);
    heed_tensor *tokens = heed_narrow(rows, 1, 0, CONTEXT);
    heed_tensor *targets = heed_narrow(rows, 1, 1, CONTEXT); /* the byte after each token */
    heed_tensor *loss = heed_gpt_loss(model, tokens, targets);
    heed_backward(loss);

    /* One tensor; each .grad becomes a view of it. */
    heed_tensor *grads = heed_flatten_grads(heed_parameters(model));
    MPI_Allreduce(MPI_IN_PLACE, heed_data_f32(grads), (int)grads->numel, MPI_FLOAT, MPI_SUM,
                  MPI_COMM_WORLD);
    heed_scale_into(grads, 1.0 / ranks);

    heed_clip_grad_norm(heed_parameters(model), 1);
    heed_optimizer_step(adamw);
    heed_zero_grad(model);
    double mean = heed_item(loss) / ranks;
    MPI_Allreduce(MPI_IN_PLACE, &mean, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return mean;
}

static void train(const run *r)
{
    const heed_gpt_config config = {
        .vocab_size = 256, .block_size = CONTEXT, .n_layer = 2, .n_head = 4, .n_embd = 64};
    heed_manual_seed(42);
    struct heed_gpt *model = heed_gpt_new(config);
    heed_optimizer *adamw = heed_adamw_new(heed_parameters(model), 1e-3, 0.01);
    const double begin = MPI_Wtime();
    for (int64_t i = 1; i <= r->steps; i++) {
        const double loss = train_step(r, model, adamw);
        if (rank == 0 && (i == 1 || i == r->steps || i % PRINT_EVERY == 0)) {
            printf("step %5lld   loss %.6f\n", (long long)i, loss);
            fflush(stdout);
        }
    }
    if (rank == 0) {
        printf("%d rank%s: %.0f tokens/s\n", ranks, ranks > 1 ? "s" : "",
               (double)(r->steps * r->batch * CONTEXT) / (MPI_Wtime() - begin));
    }
    heed_optimizer_free(adamw);
    heed_module_free(model);
}

/* ---- arguments and text ---- */

/* All ranks reject the same input; the first one prints why. */
static bool refuse(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (rank == 0) {
        fputs("train_mpi: ", stderr);
        vfprintf(stderr, format, arguments);
    }
    va_end(arguments);
    return false;
}

static bool read_number(const char *name, const char *text, int64_t *number)
{
    char *end;
    *number = strtoll(text, &end, 10);
    return (*text >= '0' && *text <= '9' && *end == '\0' && *number > 0 && *number <= 1000000000) ||
           refuse("%s: '%s' is not a whole number from 1 to 1000000000, written in digits\n", name,
                  text);
}

static bool read_arguments(int argc, char **argv, run *r)
{
    *r = (run){.steps = 100, .batch = 16};
    if (argc < 2 || argc > 4) {
        return refuse("usage: mpirun -np RANKS train_mpi FILE [STEPS [BATCH]]\n");
    }
    r->path = argv[1];
    return (argc <= 2 || read_number("STEPS", argv[2], &r->steps)) &&
           (argc <= 3 || read_number("BATCH", argv[3], &r->batch)) &&
           (r->batch % ranks == 0 ||
            refuse("BATCH: %lld is not divisible by %d ranks; try %lld\n", (long long)r->batch,
                   ranks, (long long)(r->batch / ranks + 1) * ranks));
}

/* Reads the file. On failure it prints why, and the length stays 0. */
static void read_file(run *r)
{
    struct stat about;
    FILE *file = fopen(r->path, "rb");
    if (file == NULL || fstat(fileno(file), &about) != 0) {
        refuse("cannot read %s: %s\n", r->path, strerror(errno));
    } else if (!S_ISREG(about.st_mode) || about.st_size > INT_MAX) {
        refuse("%s is not a regular file, or is larger than 2 GB\n", r->path);
    } else if (about.st_size <= CONTEXT) {
        refuse("%s has %d bytes; a context of %d needs %d\n", r->path, (int)about.st_size, CONTEXT,
               CONTEXT + 1);
    } else {
        r->length = (int)about.st_size;
        r->text = heed_alloc((size_t)r->length);
        if (fread(r->text, 1, (size_t)r->length, file) != (size_t)r->length) {
            heed_fail(HEED_ERR_FILE, "%s became shorter while it was being read", r->path);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
}

/* The first rank reads the text and sends it to all, so only its machine needs the file. */
static bool share_text(run *r)
{
    if (rank == 0) {
        read_file(r);
    }
    MPI_Bcast(&r->length, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (r->length == 0) {
        return false;
    }
    r->text = rank == 0 ? r->text : heed_alloc((size_t)r->length);
    MPI_Bcast(r->text, r->length, MPI_BYTE, 0, MPI_COMM_WORLD);
    return true;
}

/* An error on one rank ends all ranks: the others would wait for it forever. */
static void abort_all(heed_status status, const char *message)
{
    fprintf(stderr, "train_mpi: rank %d: %s: %s\n", rank, heed_status_name(status), message);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv)
{
    run r;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    heed_on_error(abort_all);
    int status = 2;
    if (read_arguments(argc, argv, &r) && share_text(&r)) {
        train(&r);
        heed_free(r.text);
        status = fflush(stdout) != 0 || ferror(stdout);
    }
    MPI_Finalize();
    return status;
}
