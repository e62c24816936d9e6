/* The machine's peak rates: fused multiply-adds in registers, and copies between arrays of n
 * floats, split among PEAK_THREADS threads. Compiled with -march=native and the widest vectors. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/serve.h"

#if defined __AVX512F__
#define WIDTH 64
#elif defined __AVX__
#define WIDTH 32
#else
#define WIDTH 16
#endif
typedef float vector __attribute__((vector_size(WIDTH)));

enum { LANES = WIDTH / 4, CHAINS = 12, SHIFT = 512, TURNS = 1 << 18, MOST_THREADS = 64 };
static const double COPIED = 1e8; /* bytes copied per thread and call */

struct piece {
    int64_t count; /* floats per array; 0: multiply and add */
    long turns;
    float *from, *to;
    float sum;
};

static int threads = 1;
static struct piece pieces[MOST_THREADS];

/* 12 independent sums hide the latency of two FMA units. */
static float multiply_add(long turns)
{
    vector sums[CHAINS], a = {0}, b = {0}, all = {0};
    for (int i = 0; i < LANES; i++) {
        a[i] = 0.5f;
        b[i] = (float)i;
        for (int j = 0; j < CHAINS; j++) {
            sums[j][i] = (float)j; /* different values, or the compiler would merge the chains */
        }
    }
    for (long t = 0; t < turns; t++) {
#pragma GCC unroll 12
        for (int i = 0; i < CHAINS; i++) {
            sums[i] = sums[i] * a + b;
        }
    }
    for (int i = 0; i < CHAINS; i++) {
        all += sums[i];
    }
    return all[0] + all[LANES - 1];
}

static void copy(const struct piece *p)
{
    for (long t = 0; t < p->turns; t++) {
        const vector *from = (const vector *)(const void *)p->from;
        vector *to = (vector *)(void *)p->to;
        for (int64_t i = 0; i < p->count / LANES; i++) {
            to[i] = from[i];
        }
        __asm__ volatile(
            "" ::
                : "memory"); /* keeps the compiler from dropping turns whose results are unused */
    }
}

static void *work(void *argument)
{
    struct piece *p = argument;
    if (p->count > 0) {
        copy(p);
    } else {
        p->sum = multiply_add(p->turns);
    }
    return NULL;
}

static void run(void)
{
    pthread_t others[MOST_THREADS];
    for (int i = 1; i < threads; i++) {
        if (pthread_create(&others[i], NULL, work, &pieces[i]) != 0) {
            fputs("peak: cannot start a thread\n", stderr);
            exit(EXIT_FAILURE);
        }
    }
    work(&pieces[0]);
    for (int i = 1; i < threads; i++) {
        pthread_join(others[i], NULL);
    }
}

static float *array(int64_t count)
{
    const size_t size = ((size_t)count * sizeof(float) + 4095) / 4096 * 4096;
    void *room = NULL;
    if (posix_memalign(&room, 4096, size) != 0) {
        fputs("peak: out of memory\n", stderr);
        exit(EXIT_FAILURE);
    }
    memset(room, 1, size);
    return room;
}

/* One call has many turns, so that the time to start threads is negligible. */
static long turns_of(const struct workload *w)
{
    const double turns = COPIED * threads / (8 * (double)w->size[0]);
    return w->size[0] == 0 ? TURNS : turns < 1 ? 1 : (long)turns;
}

static const char *prepare(const struct workload *w)
{
    for (int i = 0; i < threads; i++) {
        struct piece *p = &pieces[i];
        *p = (struct piece){.count = w->size[0] / threads, .turns = turns_of(w)};
        if (p->count > 0) {
            p->from = array(p->count);
            p->to = array(p->count + SHIFT) + SHIFT; /* not a multiple of 4096 bytes apart */
        }
    }
    return NULL;
}

static void finish(void)
{
    for (int i = 0; i < threads; i++) {
        free(pieces[i].from);
        free(pieces[i].to != NULL ? pieces[i].to - SHIFT : NULL);
    }
}

static struct workload all[] = {
    {.name = "fma", .unit = "GFLOP/s", .scale = 1e-9}, {.name = "copy.1024", .size = {1 << 10}},
    {.name = "copy.65536", .size = {1 << 16}},         {.name = "copy.1048576", .size = {1 << 20}},
    {.name = "copy.16777216", .size = {1 << 24}},
};
enum { COUNT = sizeof all / sizeof *all };

int main(int argc, char **argv)
{
    const char *wish = getenv("PEAK_THREADS");
    const int wished = wish != NULL ? atoi(wish) : 1;
    threads = wished < 1 ? 1 : wished > MOST_THREADS ? MOST_THREADS : wished;
    for (int i = 0; i < COUNT; i++) {
        struct workload *w = &all[i];
        w->prepare = prepare;
        w->run = run;
        w->finish = finish;
        const double operations = 2.0 * CHAINS * LANES * TURNS * threads;
        w->per = w->size[0] == 0 ? operations : (double)turns_of(w);
        if (w->size[0] > 0) { /* read and write */
            w->unit = "GB/s";
            w->scale = 8e-9 * (double)w->size[0];
        }
    }
    return serve(&(struct workloads){.all = all, .count = COUNT}, argc, argv);
}
