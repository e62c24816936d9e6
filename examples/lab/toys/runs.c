/* The list of runs: planned from the command line, read from and written to CSV, executed. */
#include "examples/lab/toys/runs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
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

/* Adds the runs of a task with these settings, one per seed. */
static void add_point(toys_runs *r, const toys_options *o, const toys_point *point)
{
    for (int64_t i = 0; i < r->point_count; i++) {
        if (strcmp(r->points[i].key, point->key) == 0) {
            heed_fail(HEED_ERR_VALUE, "--sweep: a value or a setting is given twice");
            return;
        }
    }
    const size_t points = (size_t)r->point_count + 1, records = (size_t)(r->count + o->seeds);
    toys_point *all = list_grow(r->points, &r->point_capacity, points, sizeof *all);
    r->points = all != NULL ? all : r->points;
    toys_record *of = list_grow(r->records, &r->capacity, records, sizeof *of);
    r->records = of != NULL ? of : r->records;
    if (heed_error_pending()) {
        return;
    }
    for (int64_t i = 0; i < o->seeds; i++) {
        of[r->count++] = (toys_record){.point = r->point_count, .seed = o->seed + i};
    }
    all[r->point_count++] = *point;
}

/* Sets the settings of sweeps from `sweep` on to each of their values, and adds the points. */
static void add_points(toys_runs *r, const toys_options *o, const toys_task *task, int sweep,
                       const toys_settings *s)
{
    if (sweep == o->sweep_count) {
        toys_point point = {.task = task, .settings = *s};
        toys_settings_check(s, task);
        write_key(&point);
        if (!heed_error_pending()) {
            add_point(r, o, &point);
        }
        return;
    }
    char name[32];
    const char *at = strchr(o->sweeps[sweep], '=');
    if (at == NULL || at[1] == '\0' || sscanf(o->sweeps[sweep], "%31[^=]", name) != 1) {
        heed_fail(HEED_ERR_VALUE, "--sweep: '%s' is not NAME=VALUE,VALUE,...", o->sweeps[sweep]);
    }
    for (int i = 0; i < sweep && !heed_error_pending(); i++) {
        if (strncmp(o->sweeps[i], o->sweeps[sweep], (size_t)(at + 1 - o->sweeps[sweep])) == 0) {
            heed_fail(HEED_ERR_VALUE, "--sweep: %s is given twice", name);
        }
    }
    while (!heed_error_pending() && *at != '\0') {
        flag_value value;
        const int size = (int)strcspn(at + 1, ",");
        toys_settings with = *s;
        snprintf(value.text, sizeof value.text, "%.*s", size, at + 1);
        flags_set(&toys_setting_flags, &with, name, value.text);
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
    add_points(r, o, task, 0, &o->settings);
}

void toys_runs_free(toys_runs *r)
{
    if (r->csv != NULL) {
        fclose(r->csv);
    }
    pthread_mutex_destroy(&r->lock);
    heed_free(r->points);
    heed_free(r->records);
}

/* ---- CSV ---- */

enum { MOST_LINE = 2 * TOYS_MOST_KEY };

static void write_header(char header[MOST_LINE])
{
    int length = snprintf(header, MOST_LINE, "task");
    for (int i = 0; i < toys_setting_flags.count; i++) {
        length += snprintf(header + length, (size_t)(MOST_LINE - length), ",%s",
                           toys_setting_flags.flags[i].name);
    }
    snprintf(header + length, (size_t)(MOST_LINE - length), "%s",
             ",seed,steps_taken,learned_at,train_loss,test_loss,score,longer_score,best_loss,"
             "simple_loss,seconds\n");
}

static void write_record(FILE *file, const toys_runs *r, const toys_record *record)
{
    const toys_result *x = &record->result;
    fprintf(file, "%s,%lld,%lld,%lld,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g,%.3f\n",
            r->points[record->point].key, (long long)record->seed, (long long)x->steps,
            (long long)x->learned_at, x->train_loss, x->test.loss, x->test.score, x->longer,
            x->best, x->simple, x->seconds);
}

/* Reads the numbers after the key. */
static bool read_results(const char *cells, int64_t *seed, toys_result *x)
{
    long long n[3] = {0};
    int end = 0;
    const int count = sscanf(cells, ",%lld,%lld,%lld,%lf,%lf,%lf,%lf,%lf,%lf,%lf\n%n", &n[0], &n[1],
                             &n[2], &x->train_loss, &x->test.loss, &x->test.score, &x->longer,
                             &x->best, &x->simple, &x->seconds, &end);
    *seed = n[0];
    x->steps = n[1];
    x->learned_at = n[2];
    return count == 10 && cells[end] == '\0';
}

static void add_result(toys_runs *r, toys_record *to, const toys_result *result)
{
    r->done += !to->done;
    r->learned += !to->done && result->learned_at >= 0;
    to->done = true;
    to->result = *result;
}

/* Marks the run of a line as done. Points have the same seeds. */
static void read_line(toys_runs *r, const char *path, int64_t number, const char *line)
{
    const int64_t seeds = r->count / r->point_count;
    toys_result result;
    int64_t seed = 0, point = 0;
    size_t length = 0;
    for (; point < r->point_count; point++) {
        length = strlen(r->points[point].key);
        if (strncmp(line, r->points[point].key, length) == 0 && line[length] == ',') {
            break;
        }
    }
    if (point < r->point_count && !read_results(line + length, &seed, &result)) {
        heed_fail(HEED_ERR_VALUE, "%s: line %lld is damaged", path, (long long)number);
    } else if (point == r->point_count || seed < r->records[0].seed ||
               seed >= r->records[0].seed + seeds) {
        heed_fail(HEED_ERR_VALUE, "--resume: line %lld of %s is of other settings or another seed",
                  (long long)number, path);
    } else {
        add_result(r, &r->records[point * seeds + seed - r->records[0].seed], &result);
    }
}

/* Returns the bytes up to the last line that is complete. */
static long read_lines(toys_runs *r, const char *path, FILE *file)
{
    char line[MOST_LINE], header[MOST_LINE];
    long whole = 0;
    write_header(header);
    for (int64_t number = 1; !heed_error_pending() && fgets(line, sizeof line, file) != NULL &&
                             strchr(line, '\n') != NULL;
         number++) {
        whole += (long)strlen(line);
        if (number > 1) {
            read_line(r, path, number, line);
        } else if (strcmp(line, header) != 0) {
            heed_fail(HEED_ERR_VALUE, "%s: not written by --csv of this version", path);
        }
    }
    return whole;
}

heed_status toys_runs_open(toys_runs *r, const char *path, bool resume)
{
    /* A file has one writer. The lock ends with the process; some file systems grant all. */
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char header[MOST_LINE];
    const int descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    r->path = path;
    r->csv = descriptor >= 0 ? fdopen(descriptor, "r+") : NULL;
    if (r->csv != NULL && fcntl(descriptor, F_SETLK, &all) != 0 &&
        (errno == EACCES || errno == EAGAIN)) {
        return heed_fail(HEED_ERR_VALUE, "--csv: another process is writing %s", path);
    }
    const long whole = r->csv != NULL && resume ? read_lines(r, path, r->csv) : 0;
    if (heed_error_pending()) {
        return heed_error_pending();
    }
    write_header(header);
    if (r->csv == NULL || (ftruncate(descriptor, whole) != 0 && errno != EINVAL) || /* a device */
        (fseek(r->csv, whole, SEEK_SET) != 0 && errno != ESPIPE) ||
        (whole == 0 && (fputs(header, r->csv) < 0 || fflush(r->csv) != 0))) {
        heed_fail(HEED_ERR_VALUE, "--csv: cannot write %s: %s", path, strerror(errno));
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

void toys_runs_put(toys_runs *r, int64_t record, const toys_result *result)
{
    pthread_mutex_lock(&r->lock);
    r->taken--;
    if (result != NULL) {
        add_result(r, &r->records[record], result);
    }
    if (result != NULL && r->csv != NULL) {
        write_record(r->csv, r, &r->records[record]);
        if (fflush(r->csv) != 0) {
            heed_fail(HEED_ERR_FILE, "--csv: cannot write %s: %s", r->path, strerror(errno));
        }
    }
    const heed_status error = heed_error();
    if (error != HEED_OK && !r->stop) {
        r->stop = true;
        r->error = error;
        snprintf(r->message, sizeof r->message, "%s", heed_error_message());
    }
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
        toys_runs_put(r, record, toys_runs_one(r, record, &result) ? &result : NULL);
    }
    return NULL;
}

/* Shows each run that has ended, until all have. shown: those before the threads started. */
static void attend(toys_runs *r, int64_t shown, toys_ranks *ranks, heed_watch *w, report *page)
{
    for (bool more = true; more;) {
        pthread_mutex_lock(&r->lock);
        more = runs_left(r) || r->taken > 0;
        const int64_t done = r->done;
        const double share = (double)r->learned / (double)(done > 0 ? done : 1);
        pthread_mutex_unlock(&r->lock);
        if (more && shown == done) {
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        }
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
    const int64_t done = r->done, left = r->count - done;
    r->next = 0;
    r->stop = heed_error_pending() != HEED_OK; /* other processes get nothing to do */
    while (!r->stop && started < jobs && started < left &&
           pthread_create(&threads[started], NULL, work, r) == 0) {
        started++;
    }
    if (started == 0 && left > 0 && !r->stop) {
        heed_fail(HEED_ERR_MEMORY, "toys: out of memory: no thread can be started");
    }
    if (!heed_error_pending()) {
        attend(r, done, ranks, w, page);
    }
    for (int i = 0; i < started; i++) {
        pthread_join(threads[i], NULL);
    }
    r->stop = true;
    if (ranks != NULL) {
        ranks->finish(ranks, r);
    }
    if (r->error != HEED_OK && !heed_error_pending()) {
        heed_fail(r->error, "%s", r->message);
    }
    return heed_error_pending();
}
