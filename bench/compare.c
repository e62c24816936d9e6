/* Compares Heed with its peers: requests the same workloads from each, one chunk at a time and in
 * turn, so that disturbances affect all alike, and prints a table.
 *
 *   bench_compare TSV HEED PEAK [NAME COMMAND]...     (bench/run.sh finds the peers)
 *
 * HEED is the command of bench_heed, PEAK that of bench_peak. Environment variables: THREADS
 * (default "1 2"), ROUNDS (default 15) and WORKLOADS (prefixes of names, such as "w4 w5.nn";
 * default all). Ratios compare the minima over all rounds. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/runner.h"

enum { HEED, MACHINE, PEERS, MOST_RUNNERS = 16 };
enum { MOST_WORKLOADS = 256, MOST_ROUNDS = 1000, MOST_BOUNDS = 8, MOST_BEHIND = 1000 };
enum { ROUNDS_ALONE = 3, ROUNDS_LONG = 5 };
static const double LONG = 1; /* seconds; beyond this sum ROUNDS_LONG rounds suffice */

/* A workload listed by bench_heed; see serve.h. */
struct listed {
    char name[48], unit[16], bound[24];
    int kind;
    double scale, bound_times;
};

/* The figures of one runner for one workload. */
struct score {
    int count;
    double figures[MOST_ROUNDS];
    struct answer last;
};

static struct runner runners[MOST_RUNNERS] = {{.name = "Heed"}, {.name = "the machine"}};
static int runner_count = PEERS, rounds, failures;
static struct listed workloads[MOST_WORKLOADS];
static int workload_count;
static struct score scores[MOST_RUNNERS];
static FILE *tsv;

/* ---- settings ---- */

static const char *setting(const char *name, const char *otherwise)
{
    const char *value = getenv(name);
    return value != NULL && *value != '\0' ? value : otherwise;
}

/* True if `name` is one of the words, or begins with one of them and a dot. */
static bool is_wanted(const char *name)
{
    char words[512];
    snprintf(words, sizeof words, "%s", setting("WORKLOADS", ""));
    char *word = strtok(words, " ,");
    if (word == NULL) {
        return true;
    }
    for (; word != NULL; word = strtok(NULL, " ,")) {
        const size_t length = strlen(word);
        if (strncmp(name, word, length) == 0 && (name[length] == '.' || name[length] == '\0')) {
            return true;
        }
    }
    return false;
}

static void take_workload(const char *line)
{
    struct listed w;
    if (sscanf(line, "%47s %d %15s %lf %23s %lf", w.name, &w.kind, w.unit, &w.scale, w.bound,
               &w.bound_times) != 6) {
        fprintf(stderr, "compare: cannot parse \"%s\"\n", line);
        exit(EXIT_FAILURE);
    }
    if (is_wanted(w.name) && workload_count < MOST_WORKLOADS) {
        workloads[workload_count++] = w;
    }
}

/* ---- requests ---- */

static void note(struct score *s, struct answer a)
{
    s->last = a;
    if (a.kind == FIGURE) {
        s->figures[s->count++] = a.figure;
    }
}

/* True if another round is useful. */
static bool goes_on(const struct score *s, int kind)
{
    double spent = 0;
    for (int i = 0; i < s->count; i++) {
        spent += s->figures[i];
    }
    const bool enough = kind == TIMED && spent > LONG && s->count >= ROUNDS_LONG;
    return s->last.kind == FIGURE && !enough;
}

/* Bounds of the machine: the minimum over the whole run. */
static struct bound {
    char name[24];
    double least;
} bounds[MOST_BOUNDS];
static int bound_count;

static struct bound *bound_of(const struct listed *w)
{
    for (int i = 0; i < bound_count; i++) {
        if (strcmp(bounds[i].name, w->bound) == 0) {
            return &bounds[i];
        }
    }
    if (w->bound_times <= 0 || bound_count == MOST_BOUNDS) {
        return NULL;
    }
    struct bound *b = &bounds[bound_count++];
    snprintf(b->name, sizeof b->name, "%s", w->bound);
    b->least = HUGE_VAL;
    return b;
}

static void ask_machine(const struct listed *w)
{
    struct bound *b = bound_of(w);
    const struct answer a =
        b != NULL ? ask(&runners[MACHINE], b->name) : (struct answer){.kind = NONE};
    if (a.kind == FIGURE) {
        b->least = fmin(b->least, a.figure);
    }
    failures += a.kind == FAILED;
}

/* Each round begins with a different runner. A runner that failed or lacks the workload is not
 * asked again. */
static void ask_all(const struct listed *w)
{
    const int most = w->kind == TIMED ? rounds : rounds < ROUNDS_ALONE ? rounds : ROUNDS_ALONE;
    for (int i = 0; i < runner_count; i++) {
        scores[i].count = 0;
        scores[i].last.kind = FIGURE;
    }
    for (int round = 0; round < most; round++) {
        ask_machine(w);
        for (int i = 0; i < runner_count; i++) {
            const int who = (i + round) % runner_count;
            struct score *s = &scores[who];
            if (who == MACHINE || !goes_on(s, w->kind)) {
                continue;
            }
            if (w->kind == TIMED) {
                note(s, ask(&runners[who], w->name));
            } else if (w->kind == START || round == 0) {
                note(s, ask_alone(&runners[who], w->name, w->kind));
            }
        }
    }
    for (int i = 0; i < runner_count; i++) {
        qsort(scores[i].figures, (size_t)scores[i].count, sizeof(double), compare_doubles);
        failures += scores[i].last.kind == FAILED;
    }
}

/* ---- the table ---- */

static bool has_figures(int i)
{
    return scores[i].last.kind == FIGURE && scores[i].count > 0;
}

static double least(int i)
{
    return has_figures(i) ? scores[i].figures[0] : (double)NAN;
}

static double median(int i)
{
    return has_figures(i) ? scores[i].figures[scores[i].count / 2] : (double)NAN;
}

/* The fastest peer. */
static int strongest(void)
{
    int best = -1;
    for (int i = PEERS; i < runner_count; i++) {
        if (has_figures(i) && (best < 0 || least(i) < least(best))) {
            best = i;
        }
    }
    return best;
}

static void print_head(int threads)
{
    printf("\n%d thread%s; * marks the strongest peer; ratio of the minima: above 1, Heed is "
           "ahead\n\n",
           threads, threads == 1 ? "" : "s");
    printf("%-36s %-12s %9s %9s %7s  %-40s %9s %9s %7s\n", "workload", "unit", "Heed min", "median",
           "bound", "peer", "min", "median", "ratio");
}

static void print_heed(const struct listed *w)
{
    char bound[16] = "";
    const struct bound *b = bound_of(w);
    if (b != NULL && has_figures(HEED)) {
        snprintf(bound, sizeof bound, "%.0f %%", 100 * w->bound_times * b->least / least(HEED));
    }
    printf("%-36s %-12s %9.4g %9.4g %7s", w->name, w->unit, in_unit(w->unit, w->scale, least(HEED)),
           in_unit(w->unit, w->scale, median(HEED)), bound);
}

static void print_peer(const struct listed *w, int threads, int i, bool is_strongest)
{
    char name[LONGEST_ANSWER + 64];
    const char *said = scores[i].last.text;
    const double ratio = least(i) / least(HEED);
    snprintf(name, sizeof name, "%s%s%s%s%s", is_strongest ? "*" : "", runners[i].name,
             *said != '\0' ? " (" : "", said, *said != '\0' ? ")" : "");
    if (has_figures(i)) {
        printf("  %-40s %9.4g %9.4g %7.3g", name, in_unit(w->unit, w->scale, least(i)),
               in_unit(w->unit, w->scale, median(i)), ratio);
    } else {
        printf("  %s: %s", runners[i].name, said);
    }
    fprintf(tsv, "%s\t%d\t%.6g\t%s\t%s\t%.6g\t%.4g\n", w->name, threads,
            in_unit(w->unit, w->scale, least(HEED)), w->unit, runners[i].name,
            in_unit(w->unit, w->scale, least(i)), ratio);
}

static void print_scores(const struct listed *w, int threads)
{
    const int best = strongest();
    bool is_first = true;
    print_heed(w);
    if (scores[HEED].last.kind == FAILED) {
        printf("  Heed: %s", scores[HEED].last.text);
    }
    for (int i = PEERS; i < runner_count; i++) {
        if (scores[i].last.kind != NONE) {
            if (!is_first) {
                printf("\n%-77s", "");
            }
            print_peer(w, threads, i, i == best);
            is_first = false;
        }
    }
    if (is_first) { /* no peers */
        fprintf(tsv, "%s\t%d\t%.6g\t%s\t-\t-\t-\n", w->name, threads,
                in_unit(w->unit, w->scale, least(HEED)), w->unit);
    }
    putchar('\n');
    fflush(stdout);
    fflush(tsv);
}

/* ---- where Heed is behind ---- */

static struct {
    const char *workload, *peer;
    int threads;
    double ratio;
} behind[MOST_BEHIND];
static int behind_count, compared_count;

static void note_if_behind(const struct listed *w, int threads, int best)
{
    const double ratio = best >= 0 ? least(best) / least(HEED) : (double)NAN;
    compared_count += ratio > 0;
    if (ratio < 1 && behind_count < MOST_BEHIND) {
        behind[behind_count].workload = w->name;
        behind[behind_count].peer = runners[best].name;
        behind[behind_count].threads = threads;
        behind[behind_count++].ratio = ratio;
    }
}

static void print_behind(void)
{
    printf("\nHeed is behind the strongest peer in %d of %d:\n", behind_count, compared_count);
    for (int i = 0; i < behind_count; i++) {
        printf("%-36s %d thread%s %7.3g  %s\n", behind[i].workload, behind[i].threads,
               behind[i].threads == 1 ? " " : "s", behind[i].ratio, behind[i].peer);
    }
}

/* ---- a run ---- */

static void use_threads(int threads)
{
    static const char *const names[] = {"HEED_NUM_THREADS", "PEAK_THREADS", "OMP_NUM_THREADS",
                                        "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"};
    char number[16];
    snprintf(number, sizeof number, "%d", threads);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        setenv(names[i], number, 1);
    }
    unsetenv("OPENBLAS_CORETYPE"); /* presets that slow down a peer */
    unsetenv("OPENBLAS_L2_SIZE");
}

static void compare(int threads)
{
    use_threads(threads);
    bound_count = 0;
    print_head(threads);
    for (int i = 0; i < workload_count; i++) {
        ask_all(&workloads[i]);
        print_scores(&workloads[i], threads);
        note_if_behind(&workloads[i], threads, strongest());
    }
    for (int i = 0; i < runner_count; i++) {
        stop(&runners[i]);
    }
}

int main(int argc, char **argv)
{
    char list[1024], threads[64];
    if (argc < 4 || argc % 2 != 0 || (argc - 4) / 2 > MOST_RUNNERS - PEERS) {
        fprintf(stderr, "usage: bench_compare TSV HEED PEAK [NAME COMMAND]...\n");
        return EXIT_FAILURE;
    }
    runners[HEED].command = argv[2];
    runners[MACHINE].command = argv[3];
    for (int i = 4; i < argc; i += 2) {
        runners[runner_count++] = (struct runner){.name = argv[i], .command = argv[i + 1]};
    }
    stop_all_on_signals(runners, runner_count);
    rounds = atoi(setting("ROUNDS", "15"));
    rounds = rounds < 1 ? 1 : rounds > MOST_ROUNDS ? MOST_ROUNDS : rounds;
    snprintf(list, sizeof list, "%s list", argv[2]);
    tsv = fopen(argv[1], "w");
    if (tsv == NULL || !read_lines(list, take_workload)) {
        fprintf(stderr, "compare: cannot write %s, or no workloads\n", argv[1]);
        return EXIT_FAILURE;
    }
    fprintf(tsv, "workload\tthreads\theed\tunit\tpeer\tpeer_value\tratio\n");
    snprintf(threads, sizeof threads, "%s", setting("THREADS", "1 2"));
    for (char *number = strtok(threads, " ,"); number != NULL; number = strtok(NULL, " ,")) {
        compare(atoi(number) > 0 ? atoi(number) : 1);
    }
    if (compared_count > 0) {
        print_behind();
    }
    if (failures > 0) {
        printf("\n%d failed; see above\n", failures);
    }
    return failures > 0 || fclose(tsv) != 0 || fflush(stdout) != 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
