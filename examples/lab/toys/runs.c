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
    char name[32], value[64];
    const char *text = o->sweeps[sweep], *equals = strchr(text, '=');
    const int length = equals != NULL ? (int)(equals - text) : 0;
    if (length == 0 || length >= (int)sizeof name || equals[1] == '\0') {
        heed_fail(HEED_ERR_VALUE, "--sweep: '%s' is not NAME=VALUE,VALUE,...", text);
        return;
    }
    snprintf(name, sizeof name, "%.*s", length, text);
    for (char *c = name; (c = strchr(c, '-')) != NULL;) {
        *c = '_';
    }
    for (const char *at = equals; *at != '\0' && !heed_error_pending();) {
        const int size = (int)strcspn(at + 1, ",");
        toys_settings with = *s;
        snprintf(value, sizeof value, "%.*s", size, at + 1);
        flags_set(&toys_setting_flags, &with, name, value);
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

static void write_header(FILE *file)
{
    fputs("task", file);
    for (int i = 0; i < toys_setting_flags.count; i++) {
        fprintf(file, ",%s", toys_setting_flags.flags[i].name);
    }
    fprintf(file, ",%s\n", result_names);
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
    double x[10];
    for (int i = 0; i < 10; i++) {
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

/* Reads the lines. planned: they must be among the records, which become done; else they are
 * added. *whole: bytes up to the last line that is complete. */
static void read_lines(toys_runs *r, const char *path, FILE *file, bool planned, long *whole)
{
    char *line = NULL, *header = NULL, *results;
    size_t size = 0, header_size = 0;
    FILE *expected = open_memstream(&header, &header_size);
    if (expected == NULL) {
        heed_fail(HEED_ERR_MEMORY, "toys: out of memory");
        return;
    }
    write_header(expected);
    fclose(expected);
    *whole = 0;
    for (int64_t number = 1; !heed_error_pending(); number++) {
        const ssize_t length = getline(&line, &size, file);
        if (length <= 0 || line[length - 1] != '\n') {
            break;
        }
        *whole += length;
        line[length - 1] = '\0';
        if (number == 1) {
            if (strncmp(header, line, header_size - 1) != 0 || line[header_size - 1] != '\0') {
                heed_fail(HEED_ERR_VALUE, "%s: not written by --csv of this version", path);
            }
            continue;
        }
        const int64_t known = r->point_count, point = read_key(r, line, &results);
        toys_record read = {.point = point};
        if (point < 0 || !read_results(results, &read)) {
            heed_error();
            heed_fail(HEED_ERR_VALUE, "%s: line %lld is damaged", path, (long long)number);
        } else if (!planned) {
            toys_record *record = add_record(r, point, read.seed);
            if (record != NULL) {
                *record = read;
                r->done++;
            }
        } else {
            toys_record *record = point < known ? r->records : NULL;
            for (int64_t i = 0; record != NULL && i < r->count; i++, record++) {
                if (record->point == point && record->seed == read.seed) {
                    break;
                }
            }
            if (record == NULL || record == r->records + r->count) {
                heed_fail(HEED_ERR_VALUE,
                          "--resume: line %lld of %s is of other settings or another seed",
                          (long long)number, path);
            } else {
                r->done += !record->done;
                *record = read;
            }
        }
    }
    free(line);
    free(header);
}

heed_status toys_runs_read(toys_runs *r, const char *path)
{
    long whole;
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return heed_fail(HEED_ERR_VALUE, "cannot read %s: %s", path, strerror(errno));
    }
    read_lines(r, path, file, false, &whole);
    fclose(file);
    if (whole == 0 && !heed_error_pending()) {
        heed_fail(HEED_ERR_VALUE, "%s: no lines of --csv", path);
    }
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

static bool is_file(int descriptor)
{
    struct stat about;
    return fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode);
}

heed_status toys_runs_open(toys_runs *r, const char *path, bool resume)
{
    long whole = 0;
    const int descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    FILE *file = descriptor >= 0 ? fdopen(descriptor, "r+") : NULL;
    if (file == NULL) {
        return heed_fail(HEED_ERR_VALUE, "--csv: cannot write %s: %s", path, strerror(errno));
    }
    r->csv = file;
    lock(descriptor, path);
    if (resume && !heed_error_pending()) {
        read_lines(r, path, file, true, &whole);
    }
    if (!heed_error_pending() && is_file(descriptor) &&
        (ftruncate(descriptor, whole) != 0 || fseek(file, whole, SEEK_SET) != 0)) {
        heed_fail(HEED_ERR_VALUE, "--csv: cannot write %s: %s", path, strerror(errno));
    }
    if (!heed_error_pending() && whole == 0) {
        write_header(file);
        if (fflush(file) != 0) {
            heed_fail(HEED_ERR_FILE, "--csv: cannot write %s: %s", path, strerror(errno));
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
            stop(r, HEED_ERR_FILE, "--csv: cannot be written");
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

/* Shows each run that has ended, until all have. */
static void attend(toys_runs *r, toys_ranks *ranks, heed_watch *w, report *page)
{
    int64_t shown = r->done;
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
            heed_watch_value(w, "learned", share);
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
    r->next = 0;
    r->stop = failed; /* other processes get nothing to do */
    for (; started < jobs && started < r->count - r->done && !failed; started++) {
        if (pthread_create(&threads[started], NULL, work, r) != 0) {
            break;
        }
    }
    if (started == 0 && r->done < r->count && !failed) {
        heed_fail(HEED_ERR_MEMORY, "toys: out of memory: no thread can be started");
    }
    if (!heed_error_pending()) {
        attend(r, ranks, w, page);
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
