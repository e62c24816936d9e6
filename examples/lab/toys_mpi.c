/* toys on the processes of MPI, on one machine or several: all ranks take runs from one list.
 *
 *     make mpi
 *     mpirun -np 4 build/toys_mpi induction --seeds 1000 --jobs 1 --csv runs.csv
 *
 * The first rank has the list: its threads train, and its main thread answers the others, which ask
 * for a run, train it and send the result back. It writes each result to --csv at once, so if a
 * rank or a machine dies, --resume does the rest. A run does not depend on the rank that makes it,
 * so the table is that of build/toys. */
#include <mpi.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "examples/lab/toys/runs.h"

enum { TAG_ASK = 1, TAG_RUN, NO_RUN = -1 };

/* What a rank asks: it returns a result, if `record` is one, and wants another run. */
typedef struct request {
    int64_t record;
    int done; /* false: the run was interrupted */
    toys_result result;
} request;

typedef struct ranks {
    toys_ranks base; /* first, so that both have one address */
    int others;      /* that have not been told that there are no more runs */
} ranks;

/* ---- the first rank ---- */

/* Answers a request, if there is one. */
static bool answer(ranks *self, toys_runs *r)
{
    int there = 0;
    MPI_Status from;
    request asked;
    MPI_Iprobe(MPI_ANY_SOURCE, TAG_ASK, MPI_COMM_WORLD, &there, &from);
    if (!there) {
        return false;
    }
    MPI_Recv(&asked, sizeof asked, MPI_BYTE, from.MPI_SOURCE, TAG_ASK, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    if (asked.record != NO_RUN) {
        toys_runs_put(r, asked.record, asked.done ? &asked.result : NULL);
    }
    int64_t record = toys_runs_take(r);
    MPI_Send(&record, 1, MPI_INT64_T, from.MPI_SOURCE, TAG_RUN, MPI_COMM_WORLD);
    self->others -= record == NO_RUN;
    return true;
}

static void serve(toys_ranks *self, toys_runs *r)
{
    while (answer((ranks *)self, r)) {
    }
}

/* All runs have ended: the ranks that still ask get none. Sleeping leaves the core to those. */
static void finish(toys_ranks *self, toys_runs *r)
{
    ranks *all = (ranks *)self;
    while (all->others > 0) {
        if (!answer(all, r)) {
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        }
    }
}

/* ---- the other ranks ---- */

static FILE *errors; /* of runs */

/* The first rank alone prints what is wrong with the arguments, and help. */
static void be_silent(void)
{
    const int copy = dup(STDERR_FILENO);
    errors = copy >= 0 ? fdopen(copy, "w") : NULL;
    if (errors == NULL || freopen("/dev/null", "w", stdout) == NULL ||
        freopen("/dev/null", "w", stderr) == NULL) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void follow(toys_ranks *self, toys_runs *r)
{
    request asks = {.record = NO_RUN};
    int there = 0;
    (void)self;
    for (;;) {
        MPI_Send(&asks, sizeof asks, MPI_BYTE, 0, TAG_ASK, MPI_COMM_WORLD);
        for (there = 0; !there;) { /* MPI_Recv would keep a core busy */
            MPI_Iprobe(0, TAG_RUN, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
            if (!there) {
                nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
            }
        }
        MPI_Recv(&asks.record, 1, MPI_INT64_T, 0, TAG_RUN, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (asks.record == NO_RUN) {
            return;
        }
        asks.done = toys_runs_one(r, asks.record, &asks.result);
        if (heed_error_pending()) { /* the others would wait forever */
            fprintf(errors, "toys: %s\n", (heed_error(), heed_error_message()));
            fflush(errors);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
}

int main(int argc, char **argv)
{
    int rank, count, provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &count);
    if (rank > 0) {
        be_silent();
    }
    ranks all = {{.leads = rank == 0, .serve = serve, .follow = follow, .finish = finish},
                 count - 1};
    const int status = toys_program(argc, argv, &all.base);
    MPI_Finalize();
    return status;
}
