/* The list of runs: planned from the command line, read from and written to CSV, executed. */
#include "examples/lab/toys/runs.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "examples/lab/common/console.h"
#include "examples/lab/common/text.h"

/* ---- planning ---- */

/* A setting, exactly, in few digits. */
static flag_value cell_of(const flag_row *f, const toys_settings *s)
{
    const flag_value exact = flags_text(f, s), rounded = flags_rounded(f, s);
    return strtod(exact.text, NULL) == strtod(rounded.text, NULL) ? rounded : exact;
}

/* "task,length,...", the cells that say what was run. */
static void write_key(toys_point *p)
{
    size_t length = (size_t)snprintf(p->key, sizeof p->key, "%s", p->task->name);
    for (int i = 0; i < toys_setting_flags.count; i++) {
        const flag_value value = cell_of(&toys_setting_flags.flags[i], &p->settings);
        length += (size_t)snprintf(p->key + length, sizeof p->key - length, ",%s", value.text);
    }
}

static int64_t add_point(toys_runs *r, const toys_task *task, const toys_settings *s)
{
    toys_point *points =
        list_grow(r->points, &r->point_capacity, (size_t)r->point_count + 1, sizeof *points);
    if (points == NULL) {
        return -1;
    }
    r->points = points;
    points[r->point_count] = (toys_point){.task = task, .settings = *s};
    write_key(&points[r->point_count]);
    for (int64_t i = 0; i < r->point_count; i++) {
        if (strcmp(points[i].key, points[r->point_count].key) == 0) {
            heed_fail(HEED_ERR_VALUE, "--sweep: a value or a setting is given twice");
            return -1;
        }
    }
    return r->point_count++;
}

static toys_record *add_record(toys_runs *r, int64_t point, int64_t seed)
{
    toys_record *records =
        list_grow(r->records, &r->capacity, (size_t)r->count + 1, sizeof *records);
    if (records == NULL) {
        return NULL;
    }
    r->records = records;
    records[r->count] = (toys_record){.point = point, .seed = seed};
    return &records[r->count++];
}

/* The setting that a sweep names, with _ instead of -; "": none. */
static flag_name setting_of(const char *sweep)
{
    flag_name name = {""};
    const size_t length = strcspn(sweep, "=");
    if (length < sizeof name.text && sweep[length] == '=' && sweep[length + 1] != '\0') {
        snprintf(name.text, sizeof name.text, "%.*s", (int)length, sweep);
    }
    for (char *c = name.text; (c = strchr(c, '-')) != NULL;) {
        *c = '_';
    }
    return name;
}

/* Sets the settings of sweeps from `sweep` on to each of their values, and adds the points. */
static void add_points(toys_runs *r, const toys_options *o, const toys_task *task, int sweep,
                       const toys_settings *s)
{
    if (sweep == o->sweep_count) {
        toys_settings_check(s, task);
        const int64_t point = heed_error_pending() ? -1 : add_point(r, task, s);
        for (int64_t i = 0; i < o->seeds && !heed_error_pending(); i++) {
            add_record(r, point, o->seed + i);
        }
        return;
    }
    const flag_name name = setting_of(o->sweeps[sweep]);
    for (int i = 0; i < sweep && !heed_error_pending(); i++) {
        if (strcmp(setting_of(o->sweeps[i]).text, name.text) == 0) {
            heed_fail(HEED_ERR_VALUE, "--sweep: a value or a setting is given twice");
        }
    }
    if (*name.text == '\0' && !heed_error_pending()) {
        heed_fail(HEED_ERR_VALUE, "--sweep: '%s' is not NAME=VALUE,VALUE,...", o->sweeps[sweep]);
    }
    const char *at = strchr(o->sweeps[sweep], '=');
    while (!heed_error_pending() && *at != '\0') {
        flag_value value;
        const int size = (int)strcspn(at + 1, ",");
        toys_settings with = *s;
        snprintf(value.text, sizeof value.text, "%.*s", size, at + 1);
        flags_set(&toys_setting_flags, &with, name.text, value.text);
        if (!heed_error_pending()) {
            add_points(r, o, task, sweep + 1, &with);
        }
        at += 1 + size;
    }
}

void toys_runs_plan(toys_runs *r, const toys_options *o, const toys_task *task)
{
    *r = (toys_runs){.count = 0};
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->changed, NULL);
    if (task != NULL) {
        add_points(r, o, task, 0, &o->settings);
    }
}

void toys_runs_free(toys_runs *r)
{
    if (r->csv != NULL) {
        fclose(r->csv);
    }
    pthread_mutex_destroy(&r->lock);
    pthread_cond_destroy(&r->changed);
    heed_free(r->points);
    heed_free(r->records);
}

/* ---- CSV ---- */

static const char result_names[] =
    "seed,steps_taken,learned_at,train_loss,test_loss,score,longer_score,best_loss,simple_loss,"
    "seconds";

enum { RESULTS = 10, MOST_HEADER = 1024 };

static void write_header(char header[MOST_HEADER])
{
    int length = snprintf(header, MOST_HEADER, "task");
    for (int i = 0; i < toys_setting_flags.count; i++) {
        length += snprintf(header + length, (size_t)(MOST_HEADER - length), ",%s",
                           toys_setting_flags.flags[i].name);
    }
    snprintf(header + length, (size_t)(MOST_HEADER - length), ",%s", result_names);
}

static void write_record(FILE *file, const toys_runs *r, const toys_record *record)
{
    const toys_result *x = &record->result;
    fprintf(file, "%s,%lld,%lld,%lld,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g,%.3f\n",
            r->points[record->point].key, (long long)record->seed, (long long)x->steps,
            (long long)x->learned_at, x->train_loss, x->test.loss, x->test.score, x->longer,
            x->best, x->simple, x->seconds);
}

/* Splits off the next cell. */
static char *take_cell(char **line)
{
    char *cell = *line, *comma = strchr(cell, ',');
    *line = comma != NULL ? comma + 1 : cell + strlen(cell);
    if (comma != NULL) {
        *comma = '\0';
    }
    return cell;
}

/* The numbers after the key. */
static bool read_results(char *cells, toys_record *record)
{
    double x[RESULTS];
    for (int i = 0; i < RESULTS; i++) {
        char *end, *cell = take_cell(&cells);
        x[i] = strtod(cell, &end);
        const bool fits = i > 2 || (x[i] >= -1 && x[i] <= 0x1p53); /* seed, steps, learned_at */
        if (*cell == '\0' || *end != '\0' || !fits) {
            return false;
        }
    }
    record->seed = (int64_t)x[0];
    record->done = true;
    record->result = (toys_result){.steps = (int64_t)x[1],
                                   .learned_at = (int64_t)x[2],
                                   .train_loss = x[3],
                                   .test = {x[4], x[5]},
                                   .longer = x[6],
                                   .best = x[7],
                                   .simple = x[8],
                                   .seconds = x[9]};
    return *cells == '\0';
}

/* The point of a line, which is new unless it is one of the known; *results: the cells after the
 * key. -1: not such a line. */
static int64_t read_key(toys_runs *r, char *line, char **results)
{
    char *cells = line;
    toys_settings s = {.length = 0};
    const toys_task *task = toys_task_named(take_cell(&cells));
    for (int i = 0; i < toys_setting_flags.count && !heed_error_pending(); i++) {
        flags_set(&toys_setting_flags, &s, toys_setting_flags.flags[i].name, take_cell(&cells));
    }
    if (heed_error_pending()) {
        return -1;
    }
    toys_point wanted = {.task = task, .settings = s};
    write_key(&wanted);
    *results = cells;
    for (int64_t i = r->point_count - 1; i >= 0; i--) {
        if (strcmp(r->points[i].key, wanted.key) == 0) {
            return i;
        }
    }
    return add_point(r, task, &s);
}

/* The planned record of a point and a seed: points have the same seeds. NULL: none. */
static toys_record *planned(const toys_runs *r, int64_t point, int64_t seed)
{
    const int64_t seeds = r->count / r->point_count, at = seed - r->records[0].seed;
    return at >= 0 && at < seeds ? &r->records[point * seeds + at] : NULL;
}

/* Adds what a line says. resume: it must be a planned run, which becomes done. */
static void read_line(toys_runs *r, const char *path, int64_t number, char *line, bool resume)
{
    char *results;
    const int64_t known = r->point_count, point = read_key(r, line, &results);
    toys_record read = {.point = point}, *to = NULL;
    if (point < 0 || !read_results(results, &read)) {
        if (heed_error() != HEED_ERR_MEMORY) {
            heed_fail(HEED_ERR_VALUE, "%s: line %lld is damaged", path, (long long)number);
        } else {
            heed_fail(HEED_ERR_MEMORY, "toys: out of memory");
        }
        return;
    }
    to = !resume         ? add_record(r, point, read.seed)
         : point < known ? planned(r, point, read.seed)
                         : NULL;
    if (to == NULL && !heed_error_pending()) {
        heed_fail(HEED_ERR_VALUE, "--resume: line %lld of %s is of other settings or another seed",
                  (long long)number, path);
    }
    if (to != NULL && !to->done) {
        *to = read;
        r->done++;
    }
}

/* Returns the bytes up to the last line that is complete. */
static long read_lines(toys_runs *r, const char *path, FILE *file, bool resume)
{
    char *line = NULL, header[MOST_HEADER];
    size_t size = 0;
    long whole = 0;
    write_header(header);
    for (int64_t number = 1; !heed_error_pending(); number++) {
        errno = 0;
        const ssize_t length = getline(&line, &size, file);
        if (length <= 0 || line[length - 1] != '\n') {
            if (length < 0 && errno == ENOMEM) {
                heed_fail(HEED_ERR_MEMORY, "toys: out of memory");
            }
            break;
        }
        whole += length;
        line[length - 1] = '\0';
        if (number > 1) {
            read_line(r, path, number, line, resume);
        } else if (strcmp(line, header) != 0) {
            heed_fail(HEED_ERR_VALUE, "%s: not written by --csv of this version", path);
        }
    }
    free(line);
    return whole;
}

static int compare_records(const void *a, const void *b)
{
    const toys_record *x = a, *y = b;
    return x->point != y->point ? (x->point > y->point) - (x->point < y->point)
                                : (x->seed > y->seed) - (x->seed < y->seed);
}

/* Runs that are in two files, or twice in one, count once. */
static void drop_duplicates(toys_runs *r)
{
    int64_t count = 0;
    if (r->count > 0) {
        qsort(r->records, (size_t)r->count, sizeof *r->records, compare_records);
    }
    for (int64_t i = 0; i < r->count; i++) {
        if (count == 0 || compare_records(&r->records[count - 1], &r->records[i]) != 0) {
            r->records[count++] = r->records[i];
        }
    }
    r->count = r->done = count;
}

heed_status toys_runs_read(toys_runs *r, const char *path)
{
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return heed_fail(HEED_ERR_VALUE, "cannot read %s: %s", path, strerror(errno));
    }
    if (read_lines(r, path, file, false) == 0 && !heed_error_pending()) {
        heed_fail(HEED_ERR_VALUE, "%s: no lines of --csv", path);
    }
    fclose(file);
    drop_duplicates(r);
    return heed_error_pending();
}

/* A file has one writer. The lock ends with the process; file systems without locks grant all. */
static void lock(int descriptor, const char *path)
{
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(descriptor, F_SETLK, &all) != 0 && (errno == EACCES || errno == EAGAIN)) {
        heed_fail(HEED_ERR_VALUE, "--csv: another process is writing %s", path);
    }
}

static void fail_to_write(const char *path, heed_status status)
{
    heed_fail(status, "--csv: cannot write %s: %s", path, strerror(errno));
}

heed_status toys_runs_open(toys_runs *r, const char *path, bool resume)
{
    char header[MOST_HEADER];
    struct stat about;
    long whole = 0;
    const int descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    r->path = path;
    r->csv = descriptor >= 0 ? fdopen(descriptor, "r+") : NULL;
    if (r->csv == NULL) {
        fail_to_write(path, HEED_ERR_VALUE);
        return heed_error_pending();
    }
    lock(descriptor, path);
    if (resume && !heed_error_pending()) {
        whole = read_lines(r, path, r->csv, true);
    }
    if (!heed_error_pending() && fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode) &&
        (ftruncate(descriptor, whole) != 0 || fseek(r->csv, whole, SEEK_SET) != 0)) {
        fail_to_write(path, HEED_ERR_VALUE);
    }
    if (!heed_error_pending() && whole == 0) {
        write_header(header);
        if (fprintf(r->csv, "%s\n", header) < 0 || fflush(r->csv) != 0) {
            fail_to_write(path, HEED_ERR_FILE);
        }
    }
    return heed_error_pending();
}

/* ---- taking and putting ---- */

/* Whether a run is left that may be taken. With the lock held. */
static bool runs_left(toys_runs *r)
{
    while (r->next < r->count && r->records[r->next].done) {
        r->next++;
    }
    return r->next < r->count && !r->stop && !interrupted();
}

int64_t toys_runs_take(toys_runs *r)
{
    pthread_mutex_lock(&r->lock);
    const bool more = runs_left(r);
    const int64_t record = more ? r->next++ : -1;
    r->taken += more;
    pthread_mutex_unlock(&r->lock);
    return record;
}

/* With the lock held. */
static void stop(toys_runs *r, heed_status error, const char *message)
{
    if (!r->stop) {
        r->stop = true;
        r->error = error;
        snprintf(r->message, sizeof r->message, "%s", message);
    }
}

void toys_runs_put(toys_runs *r, int64_t record, const toys_result *result)
{
    pthread_mutex_lock(&r->lock);
    r->taken--;
    if (result != NULL) {
        r->records[record].result = *result;
        r->records[record].done = true;
        r->done++;
    }
    if (result != NULL && r->csv != NULL) {
        write_record(r->csv, r, &r->records[record]);
        if (fflush(r->csv) != 0) {
            char message[512];
            snprintf(message, sizeof message, "--csv: cannot write %s: %s", r->path,
                     strerror(errno));
            stop(r, HEED_ERR_FILE, message);
        }
    }
    pthread_cond_signal(&r->changed);
    pthread_mutex_unlock(&r->lock);
}

void toys_runs_fail(toys_runs *r)
{
    const heed_status error = heed_error();
    pthread_mutex_lock(&r->lock);
    stop(r, error, heed_error_message());
    pthread_cond_signal(&r->changed);
    pthread_mutex_unlock(&r->lock);
}

/* ---- executing ---- */

bool toys_runs_one(const toys_runs *r, int64_t record, toys_result *result)
{
    const toys_record *what = &r->records[record];
    const toys_point *point = &r->points[what->point];
    toys_run run;
    toys_run_begin(&run, point->task, &point->settings, (uint64_t)what->seed);
    while (!interrupted() && toys_run_step(&run)) {
    }
    const bool done = !interrupted() && !heed_error_pending();
    if (done) {
        *result = toys_run_end(&run);
    }
    toys_run_free(&run);
    return done && !heed_error_pending();
}

static void *work(void *context)
{
    toys_runs *r = context;
    heed_set_flush_denormal(true); /* of this thread */
    for (int64_t record; (record = toys_runs_take(r)) >= 0;) {
        toys_result result;
        const bool done = toys_runs_one(r, record, &result);
        if (!done && heed_error_pending()) {
            toys_runs_fail(r);
        }
        toys_runs_put(r, record, done ? &result : NULL);
    }
    return NULL;
}

static double share_learned(const toys_runs *r)
{
    double learned = 0, done = 0;
    for (int64_t i = 0; i < r->count; i++) {
        done += r->records[i].done;
        learned += r->records[i].done && r->records[i].result.learned_at >= 0;
    }
    return done > 0 ? learned / done : 0;
}

/* Waits until something changes, or a while. With the lock held. */
static void wait_a_while(toys_runs *r, bool serves)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += serves ? 1000000 : 200000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&r->changed, &r->lock, &until);
}

/* Shows each run that has ended, until all have. shown: those before the threads started. */
static void attend(toys_runs *r, int64_t shown, toys_ranks *ranks, heed_watch *w, report *page)
{
    bool more = true;
    while (more) {
        pthread_mutex_lock(&r->lock);
        more = runs_left(r) || r->taken > 0;
        if (more && shown == r->done) {
            wait_a_while(r, ranks != NULL);
        }
        const int64_t done = r->done;
        const double share = share_learned(r);
        pthread_mutex_unlock(&r->lock);
        for (; shown < done; shown++) {
            report_value(page, w, "learned", share);
            heed_watch_step(w);
            report_step(page);
        }
        if (ranks != NULL) {
            ranks->serve(ranks, r);
        }
    }
}

heed_status toys_runs_execute(toys_runs *r, int jobs, toys_ranks *ranks, heed_watch *w,
                              report *page)
{
    pthread_t threads[256];
    int started = 0;
    const bool failed = heed_error_pending() != HEED_OK;
    const int64_t done = r->done;
    r->next = 0;
    r->stop = failed; /* other processes get nothing to do */
    for (; started < jobs && started < r->count - done && !failed; started++) {
        if (pthread_create(&threads[started], NULL, work, r) != 0) {
            break;
        }
    }
    if (started == 0 && done < r->count && !failed) {
        heed_fail(HEED_ERR_MEMORY, "toys: out of memory: no thread can be started");
    }
    if (!heed_error_pending()) {
        attend(r, done, ranks, w, page);
    }
    r->stop = r->stop || heed_error_pending();
    for (int i = 0; i < started; i++) {
        pthread_join(threads[i], NULL);
    }
    if (ranks != NULL) {
        ranks->finish(ranks, r);
    }
    if (r->error != HEED_OK && !heed_error_pending()) {
        heed_fail(r->error, "%s", r->message);
    }
    return heed_error_pending();
}
