/* Compares Heed with its peers: requests the same workloads from each, one chunk at a time and in
 * turn, so that disturbances affect all alike, and prints a table.
 *
 *   bench_compare TSV HEED PEAK [NAME COMMAND]...     (bench/run.sh finds the peers)
 *
 * HEED is the command of bench_heed, PEAK that of bench_peak. Environment variables: THREADS
 * (default "1 2"), ROUNDS (default 15) and WORKLOADS (prefixes of names, such as "w4 w5.nn";
 * default all). Each round gives a ratio, of a peer's time to Heed's in the same round; the table
 * shows their median and its confidence interval. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/runner.h"

enum { HEED, MACHINE, PEERS, MOST_RUNNERS = 16 };
enum { MOST_WORKLOADS = 256, MOST_ROUNDS = 1000, MOST_BOUNDS = 8, MOST_BEHIND = 1000 };
enum { NAME = 38, UNIT = 12 }; /* widths of columns */
enum { ROUNDS_ALONE = 3, ROUNDS_LONG = 5 };
static const double LONG = 1;     /* seconds; beyond this sum ROUNDS_LONG rounds suffice */
static const double DOUBT = 0.05; /* maximum probability that a median is outside its interval */

/* A workload listed by bench_heed; see serve.h. */
struct listed {
    char name[48], unit[16], bound[24];
    int kind;
    double scale, bound_times;
};

/* The figures of one runner for one workload: figures[r] is that of round r. */
struct score {
    int count;
    double figures[MOST_ROUNDS];
    struct answer last;
    double least, median;
    struct interval {
        double low, median, high;
        int count;
    } ratio; /* of a peer's figures to Heed's */
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
    if (w->bound_times <= 0) {
        return NULL;
    }
    for (int i = 0; i < bound_count; i++) {
        if (strcmp(bounds[i].name, w->bound) == 0) {
            return &bounds[i];
        }
    }
    if (bound_count == MOST_BOUNDS) {
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

/* ---- statistics ---- */

static double median_of(const double *sorted, int count)
{
    return count == 0 ? (double)NAN : (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

/* The number of sorted values outside the interval at each end. Each value is below the true median
 * with probability 1/2. The median is below values[k] if at most k values are below it, which has
 * the probability P(B <= k) of the binomial distribution. Returns the largest k for which both ends
 * together have at most the probability DOUBT, or else 0, the whole range. */
static int count_outside(int count)
{
    double chance = pow(0.5, count), sum = chance; /* of exactly k, and of at most k */
    int k = 0;
    for (;; k++) {
        chance *= (double)(count - k) / (k + 1);
        sum += chance;
        if (2 * sum > DOUBT) {
            return k;
        }
    }
}

static struct interval interval_of(double *values, int count)
{
    qsort(values, (size_t)count, sizeof(double), compare_doubles);
    const int k = count_outside(count);
    const bool some = count > 0;
    return (struct interval){.low = some ? values[k] : (double)NAN,
                             .median = median_of(values, count),
                             .high = some ? values[count - 1 - k] : (double)NAN,
                             .count = count};
}

/* Compares figures of the same round, which share the machine's state. Disturbances of single
 * rounds, and peers that alternate between fast and slow, widen the interval. */
static void summarize(struct score *s, const struct score *heed)
{
    double values[MOST_ROUNDS];
    const int pairs = s->count < heed->count ? s->count : heed->count;
    for (int i = 0; i < pairs; i++) {
        values[i] = s->figures[i] / heed->figures[i];
    }
    s->ratio = interval_of(values, pairs);
    memcpy(values, s->figures, (size_t)s->count * sizeof *values);
    qsort(values, (size_t)s->count, sizeof *values, compare_doubles);
    s->least = s->count > 0 ? values[0] : (double)NAN;
    s->median = median_of(values, s->count);
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
        summarize(&scores[i], &scores[HEED]);
        failures += scores[i].last.kind == FAILED;
    }
}

/* ---- the table ---- */

static bool has_figures(int i)
{
    return scores[i].last.kind == FIGURE && scores[i].count > 0;
}

/* How Heed compares with a peer: AHEAD and BEHIND only if the interval excludes 1. */
enum verdict { AHEAD, LEVEL, BEHIND };
static const char *const verdicts[] = {"ahead", "level", "behind"};

static enum verdict verdict_on(int peer)
{
    const struct interval *r = &scores[peer].ratio;
    return r->low > 1 ? AHEAD : r->high < 1 ? BEHIND : LEVEL;
}

static bool is_compared(int peer)
{
    return has_figures(HEED) && has_figures(peer);
}

/* The peer with the lowest ratio, of all peers or of those that Heed is behind; -1: none. */
static int strongest(bool only_behind)
{
    int best = -1;
    for (int i = PEERS; i < runner_count; i++) {
        if (is_compared(i) && (!only_behind || verdict_on(i) == BEHIND) &&
            (best < 0 || scores[i].ratio.median < scores[best].ratio.median)) {
            best = i;
        }
    }
    return best;
}

static void print_head(int threads)
{
    printf(
        "\n%d thread%s; ratio: the peer's time (or memory) over Heed's, as the median over rounds "
        "with its interval;\nabove 1, Heed is ahead; * marks the strongest peer\n\n",
        threads, threads == 1 ? "" : "s");
    printf("%-*s %-*s %9s %9s %7s\n", NAME, "workload", UNIT, "unit", "min", "median", "bound");
    printf("  %-*s %9s %9s %7s  interval\n", NAME + UNIT - 1, "peer", "min", "median", "ratio");
}

/* The minimum and the median. */
static void print_figures(const struct listed *w, int i)
{
    printf(" %9.4g %9.4g", in_unit(w->unit, w->scale, scores[i].least),
           in_unit(w->unit, w->scale, scores[i].median));
}

static void print_heed(const struct listed *w)
{
    const struct bound *b = bound_of(w);
    printf("%-*s %-*s", NAME, w->name, UNIT, w->unit);
    if (has_figures(HEED)) {
        print_figures(w, HEED);
        if (b != NULL && isfinite(b->least)) {
            printf(" %5.0f %%", 100 * w->bound_times * b->least / scores[HEED].least);
        }
        putchar('\n');
    } else {
        printf("  Heed: %s\n", scores[HEED].last.text);
    }
}

static void print_peer(const struct listed *w, int i, bool is_strongest)
{
    char name[LONGEST_ANSWER + 64];
    const char *said = scores[i].last.text;
    const struct interval *r = &scores[i].ratio;
    if (!has_figures(i)) {
        printf("  %s: %s\n", runners[i].name, said);
        return;
    }
    snprintf(name, sizeof name, "%s%s%s%s", runners[i].name, *said != '\0' ? " (" : "", said,
             *said != '\0' ? ")" : "");
    printf("%c %-*s", is_strongest ? '*' : ' ', NAME + UNIT - 1, name);
    print_figures(w, i);
    if (is_compared(i)) {
        printf(" %7.3g  [%.3g, %.3g]%s", r->median, r->low, r->high,
               verdict_on(i) == BEHIND ? " behind" : "");
    }
    putchar('\n');
}

static void write_tsv(const struct listed *w, int threads, int i)
{
    const struct interval *r = &scores[i].ratio;
    fprintf(tsv, "%s\t%d\t%.6g\t%s\t", w->name, threads,
            in_unit(w->unit, w->scale, scores[HEED].least), w->unit);
    if (i == HEED) { /* no peers */
        fputs("-\t-\t-\t-\t-\t-\t-\n", tsv);
    } else {
        fprintf(tsv, "%s\t%.6g\t%.4g\t%.4g\t%.4g\t%d\t%s\n", runners[i].name,
                in_unit(w->unit, w->scale, scores[i].least), r->median, r->low, r->high, r->count,
                is_compared(i) ? verdicts[verdict_on(i)] : "failed");
    }
}

static void print_scores(const struct listed *w, int threads)
{
    const int best = strongest(false);
    bool is_alone = true;
    print_heed(w);
    for (int i = PEERS; i < runner_count; i++) {
        if (scores[i].last.kind != NONE) {
            print_peer(w, i, i == best);
            write_tsv(w, threads, i);
            is_alone = false;
        }
    }
    if (is_alone) {
        write_tsv(w, threads, HEED);
    }
    fflush(stdout);
    fflush(tsv);
}

/* ---- where Heed is behind ---- */

static struct {
    const char *workload, *peer;
    int threads;
    struct interval ratio;
} behind[MOST_BEHIND];
static int row_counts[BEHIND + 1];

/* The verdict on a row is the worst of those on its peers. */
static void note_row(const struct listed *w, int threads)
{
    enum verdict worst = AHEAD;
    for (int i = PEERS; i < runner_count; i++) {
        if (is_compared(i) && verdict_on(i) > worst) {
            worst = verdict_on(i);
        }
    }
    const int peer = strongest(worst == BEHIND);
    if (peer >= 0 && worst == BEHIND && row_counts[BEHIND] < MOST_BEHIND) {
        behind[row_counts[BEHIND]].workload = w->name;
        behind[row_counts[BEHIND]].peer = runners[peer].name;
        behind[row_counts[BEHIND]].threads = threads;
        behind[row_counts[BEHIND]].ratio = scores[peer].ratio;
    }
    row_counts[worst] += peer >= 0;
}

static void print_behind(void)
{
    const int count = row_counts[BEHIND];
    printf("\nHeed is ahead of all peers in %d rows, level in %d; %s\n", row_counts[AHEAD],
           row_counts[LEVEL], count == 0 ? "no row behind" : "behind:");
    for (int i = 0; i < count && i < MOST_BEHIND; i++) {
        const struct interval *r = &behind[i].ratio;
        printf("%-*s %d thread%s %7.3g  [%.3g, %.3g]  %s\n", NAME, behind[i].workload,
               behind[i].threads, behind[i].threads == 1 ? " " : "s", r->median, r->low, r->high,
               behind[i].peer);
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
}

static void show_progress(int done, int threads, double begin)
{
    fprintf(stderr, "%s, %d of %d with %d thread%s", workloads[done].name, done + 1, workload_count,
            threads, threads == 1 ? "" : "s");
    if (done > 0) {
        fprintf(stderr, ", about %.0f min left",
                ceil((seconds_now() - begin) * (workload_count - done) / done / 60));
    }
}

static void clear_progress(void)
{
    fputs("\r\033[K", stderr);
}

static void compare(int threads)
{
    const double begin = seconds_now();
    const bool is_terminal = isatty(STDERR_FILENO) != 0;
    use_threads(threads);
    bound_count = 0;
    print_head(threads);
    fflush(stdout);
    for (int i = 0; i < workload_count; i++) {
        if (is_terminal) {
            show_progress(i, threads, begin);
        }
        ask_all(&workloads[i]);
        if (is_terminal) {
            clear_progress();
        }
        print_scores(&workloads[i], threads);
        note_row(&workloads[i], threads);
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
    fprintf(tsv, "workload\tthreads\theed\tunit\tpeer\tpeer_value\tratio\tlow\thigh\t"
                 "rounds\tverdict\n");
    snprintf(threads, sizeof threads, "%s", setting("THREADS", "1 2"));
    for (char *number = strtok(threads, " ,"); number != NULL; number = strtok(NULL, " ,")) {
        compare(atoi(number) > 0 ? atoi(number) : 1);
    }
    if (row_counts[AHEAD] + row_counts[LEVEL] + row_counts[BEHIND] > 0) {
        print_behind();
    }
    if (failures > 0) {
        printf("\n%d failed; see above\n", failures);
    }
    return failures > 0 || fclose(tsv) != 0 || fflush(stdout) != 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
