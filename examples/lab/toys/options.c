/* The table of flags, the defaults of a task, and the help. */
#include "examples/lab/toys/options.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "examples/lab/common/console.h"
#include "examples/lab/toys/model.h"

/* clang-format off */
#define SETTING_ROW(kind, field, ...) FLAG_ROW(toys_settings, kind, field, __VA_ARGS__)
#define OPTION_ROW(kind, field, ...)  FLAG_ROW(toys_options, kind, field, __VA_ARGS__)
static const flag_row setting_rows[] = {TOYS_SETTINGS(SETTING_ROW)};
static const flag_row option_rows[] = {TOYS_FLAGS(OPTION_ROW)};
/* clang-format on */

enum {
    SETTINGS = sizeof setting_rows / sizeof *setting_rows,
    OPTIONS = sizeof option_rows / sizeof *option_rows
};
const flag_table toys_setting_flags = {setting_rows, SETTINGS};
const flag_table toys_option_flags = {option_rows, OPTIONS};

/* ---- reading ---- */

/* Moves "--sweep X" and "--sweep=X" from the arguments to the options: flags are given once, but
 * --sweep once per setting. Returns the number of other arguments. */
static int take_sweeps(toys_options *o, int argc, char **argv)
{
    static const char name[] = "--sweep";
    const size_t length = strlen(name);
    int count = 0;
    for (int i = 0; i < argc; i++) {
        const bool joined = strncmp(argv[i], name, length) == 0 && argv[i][length] == '=';
        if (!joined && (strcmp(argv[i], name) != 0 || i + 1 == argc)) {
            argv[count++] = argv[i];
        } else if (o->sweep_count < TOYS_SWEEPS) {
            char *sweep = joined ? argv[i] + length + 1 : argv[++i];
            o->sweeps[o->sweep_count++] = sweep;
            while (*(sweep += strcspn(sweep, "-=")) == '-') {
                *sweep = '_'; /* weight-decay is weight_decay */
            }
        } else {
            heed_fail(HEED_ERR_VALUE, "--sweep: at most %d settings", TOYS_SWEEPS);
            break;
        }
    }
    return count;
}

toys_options toys_options_read(int argc, char **argv)
{
    toys_options o = {.help = false};
    const int count = take_sweeps(&o, argc, argv);
    o.help = flags_read(&toys_option_flags, &o, count, argv);
    return o;
}

/* ---- settings ---- */

/* Sets what `text` says, "layers=2 heads=4". */
static void set_all(toys_settings *s, const char *text)
{
    char name[32], value[32];
    int length = 0;
    while (sscanf(text, " %31[^=]=%31s%n", name, value, &length) == 2) {
        flags_set(&toys_setting_flags, s, name, value);
        text += length;
    }
}

toys_settings toys_defaults(const struct toys_task *task)
{
    toys_settings s = {.length = 0};
    set_all(&s, task->defaults);
    flags_complete(&toys_setting_flags, &s);
    return s;
}

void toys_options_settle(toys_options *o, const struct toys_task *task)
{
    const int before = OPTIONS - SETTINGS; /* the settings are the last rows of the options */
    o->settings = toys_defaults(task);
    for (int i = 0; i < SETTINGS; i++) {
        const flag_row *f = &option_rows[before + i];
        if (flags_given(f, o)) {
            flags_set(&toys_setting_flags, &o->settings, f->name, flags_text(f, o).text);
        }
    }
    flags_complete(&toys_option_flags, o);
    if (!o->given.jobs) {
        const long cores = sysconf(_SC_NPROCESSORS_ONLN);
        o->jobs = cores < 1 ? 1 : cores > 256 ? 256 : cores;
    }
}

static void check_length(const toys_settings *s, const struct toys_task *task, const char *flag,
                         int64_t length)
{
    HEED_SCOPE_NO_GRAD(scope);
    const toys_shape shape = task->shape(s, length);
    if (toys_scored(&shape) < 1) {
        heed_fail(HEED_ERR_VALUE, "%s %lld: too short for %s", flag, (long long)length, task->name);
    } else if (task->draw != NULL) {
        toys_draw(task, s, length, 1);
    }
}

heed_status toys_settings_check(const toys_settings *s, const struct toys_task *task)
{
    if (s->width % s->heads != 0) {
        heed_fail(HEED_ERR_VALUE, "--width %lld: not divisible by --heads %lld",
                  (long long)s->width, (long long)s->heads);
    } else if (s->positions == POSITIONS_ROTARY && s->width / s->heads % 2 != 0) {
        heed_fail(HEED_ERR_VALUE, "--width %lld: rotary positions need heads of even width",
                  (long long)s->width);
    } else if (s->warmup >= s->steps && s->warmup > 0) {
        heed_fail(HEED_ERR_VALUE, "--warmup %lld: must be less than --steps %lld",
                  (long long)s->warmup, (long long)s->steps);
    } else {
        check_length(s, task, "--length", s->length);
    }
    if (s->longer > 0 && !heed_error_pending()) {
        check_length(s, task, "--longer", s->longer);
    }
    return heed_error_pending();
}

/* ---- help ---- */

static const char introduction[] =
    "usage: toys TASK [--FLAG VALUE | --FLAG=VALUE] ...\n"
    "       toys list\n"
    "\n"
    "  toys induction --attention --scores --ablate --attribution\n"
    "  toys recall --sweep width=8,16,32 --sweep heads=1,2,4 --seeds 5 --csv runs.csv\n"
    "\n"
    "Trains small attention models on tasks with known answers, once or with many seeds, and\n"
    "looks inside them. toys list describes the tasks; toys TASK --help shows the defaults of a\n"
    "task. Ctrl-C keeps the runs that have ended in --csv; --resume does the rest. Exit status: 0\n"
    "on success or Ctrl-C, 2 for invalid flags or files, 1 for other errors.\n"
    "\n";

void toys_help(FILE *stream, const struct toys_task *task)
{
    flag_row shown[OPTIONS];
    memcpy(shown, option_rows, sizeof shown);
    if (task != NULL) {
        const toys_settings s = toys_defaults(task);
        for (int i = 0; i < SETTINGS; i++) {
            shown[OPTIONS - SETTINGS + i].standard =
                strtod(flags_text(&setting_rows[i], &s).text, NULL);
        }
    }
    fputs(introduction, stream);
    flags_help(&(flag_table){shown, OPTIONS}, stream);
}
