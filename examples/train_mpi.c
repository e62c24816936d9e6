/* Data-parallel training over MPI: every rank has the whole model and a share of each batch, and the
 * gradients are averaged before each step.
 *
 *     make mpi
 *     mpirun -np 4 build/train_mpi FILE [STEPS [BATCH]]
 *
 * A small GPT learns which byte of FILE follows. All ranks draw the same numbers from the same seed: so
 * they begin with the same weights, know the whole batch, take their rows of it, and make the same
 * step. The mean of their gradients is that of the whole batch, and any number of ranks gives the losses
 * of one, but for rounding. (With dropout it would not: ranks would drop other elements.)
 *
 * What is special about all this stands in train_step; the rest reads arguments and a file. */
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

typedef struct job {
    const char *path;
    int64_t steps, batch;
    unsigned char *text;
    int length; /* MPI counts in int */
} job;

/* ---- training ---- */

/* This rank's rows of the next batch, each a piece of the text: (batch / ranks, CONTEXT + 1). The places
 * are drawn for all rows, so that the generators of all ranks stay alike. */
static heed_tensor *draw_share(const job *j)
{
    const int64_t share = j->batch / ranks;
    heed_tensor *places = heed_randint(0, j->length - CONTEXT, HEED_SHAPE(j->batch));
    heed_tensor *rows = heed_empty(HEED_SHAPE(share, CONTEXT + 1), HEED_I64);
    const int64_t *place = heed_const_data_i64(places) + rank * share;
    int64_t *to = heed_data_i64(rows);
    for (int64_t i = 0; i < rows->numel; i++) {
        to[i] = j->text[place[i / (CONTEXT + 1)] + i % (CONTEXT + 1)];
    }
    return rows;
}

/* Returns the loss of the whole batch. */
static double train_step(const job *j, struct heed_gpt *model, heed_optimizer *adamw)
{
    heed_scope step;
    heed_scope_begin(&step);
    heed_tensor *rows = draw_share(j);
    heed_tensor *tokens = heed_narrow(rows, 1, 0, CONTEXT);
    heed_tensor *targets = heed_narrow(rows, 1, 1, CONTEXT); /* what follows each */
    heed_tensor *loss = heed_gpt_loss(model, tokens, targets);
    heed_backward(loss);

    /* One tensor, of which each .grad is a view from now on. */
    heed_tensor *grads = heed_flatten_grads(heed_parameters(model));
    MPI_Allreduce(MPI_IN_PLACE, heed_data_f32(grads), (int)grads->numel, MPI_FLOAT, MPI_SUM,
                  MPI_COMM_WORLD);
    heed_scale_into(grads, 1.0 / ranks);

    heed_clip_grad_norm(heed_parameters(model), 1);
    heed_optimizer_step(adamw);
    heed_zero_grad(model);
    double mean = heed_item(loss) / ranks;
    MPI_Allreduce(MPI_IN_PLACE, &mean, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    heed_scope_end(&step);
    return mean;
}

static void train(const job *j)
{
    const heed_gpt_config config = {
        .vocab_size = 256, .block_size = CONTEXT, .n_layer = 2, .n_head = 4, .n_embd = 64};
    heed_manual_seed(42);
    struct heed_gpt *model = heed_gpt_new(config);
    heed_optimizer *adamw = heed_adamw_new(heed_parameters(model), 1e-3, 0.01);
    const double begin = MPI_Wtime();
    for (int64_t i = 1; i <= j->steps; i++) {
        const double loss = train_step(j, model, adamw);
        if (rank == 0 && (i == 1 || i == j->steps || i % PRINT_EVERY == 0)) {
            printf("step %5lld   loss %.6f\n", (long long)i, loss);
            fflush(stdout);
        }
    }
    if (rank == 0) {
        printf("%d rank%s: %.0f tokens/s\n", ranks, ranks > 1 ? "s" : "",
               (double)(j->steps * j->batch * CONTEXT) / (MPI_Wtime() - begin));
    }
    heed_optimizer_free(adamw);
    heed_module_free(model);
}

/* ---- what is asked for ---- */

/* What all ranks see alike is refused by all of them, and said by the first. */
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
           refuse("%s: '%s' is not a whole number from 1 to 1000000000\n", name, text);
}

static bool read_arguments(int argc, char **argv, job *j)
{
    *j = (job){.steps = 100, .batch = 16};
    if (argc < 2 || argc > 4) {
        return refuse("usage: mpirun -np RANKS train_mpi FILE [STEPS [BATCH]]\n");
    }
    j->path = argv[1];
    return (argc <= 2 || read_number("STEPS", argv[2], &j->steps)) &&
           (argc <= 3 || read_number("BATCH", argv[3], &j->batch)) &&
           (j->batch % ranks == 0 ||
            refuse("BATCH: %lld rows do not divide among %d ranks; take %lld, say\n",
                   (long long)j->batch, ranks, (long long)(j->batch / ranks + 1) * ranks));
}

/* Reads the file, and says why if it cannot; the length is then 0. */
static void read_file(job *j)
{
    struct stat about;
    FILE *file = fopen(j->path, "rb");
    if (file == NULL || fstat(fileno(file), &about) != 0) {
        refuse("cannot read %s: %s\n", j->path, strerror(errno));
    } else if (!S_ISREG(about.st_mode) || about.st_size > INT_MAX) {
        refuse("%s is no file, or has more than 2 GB\n", j->path);
    } else if (about.st_size <= CONTEXT) {
        refuse("%s has %d bytes; a context of %d needs %d\n", j->path, (int)about.st_size, CONTEXT,
               CONTEXT + 1);
    } else {
        j->length = (int)about.st_size;
        j->text = heed_alloc((size_t)j->length);
        if (fread(j->text, 1, (size_t)j->length, file) != (size_t)j->length) {
            heed_fail(HEED_ERR_FILE, "%s became shorter while it was read", j->path);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
}

/* The first rank reads the text and gives it to all, so that it need lie on one machine only. */
static bool share_text(job *j)
{
    if (rank == 0) {
        read_file(j);
    }
    MPI_Bcast(&j->length, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (j->length == 0) {
        return false;
    }
    j->text = rank == 0 ? j->text : heed_alloc((size_t)j->length);
    MPI_Bcast(j->text, j->length, MPI_BYTE, 0, MPI_COMM_WORLD);
    return true;
}

/* An error on one rank ends all, which would else wait for it. */
static void abort_all(heed_status status, const char *message)
{
    fprintf(stderr, "train_mpi: rank %d: %s: %s\n", rank, heed_status_name(status), message);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv)
{
    job j;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    heed_on_error(abort_all);
    int status = 2;
    if (read_arguments(argc, argv, &j) && share_text(&j)) {
        train(&j);
        heed_free(j.text, (size_t)j.length);
        status = fflush(stdout) != 0 || ferror(stdout);
    }
    MPI_Finalize();
    return status;
}
