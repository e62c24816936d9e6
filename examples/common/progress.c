/* Progress of training: formats lines and decides when one is due. */
#include "examples/common/progress.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "heed.h"

enum { LINES = 10, SHORTEST_BAR = 8, LONGEST_BAR = 32 };
static const double between = 0.1; /* seconds between two updates of a bar */

bool progress_turn(int64_t step, int64_t steps, int64_t times)
{
    const double before = (double)(step - 1) * (double)times / (double)steps;
    return step == steps || floor((double)step * (double)times / (double)steps) != floor(before);
}

/* ---- the two lines ---- */

/* "4:05", "1:04:05" */
static void describe_time(char *text, size_t size, double seconds)
{
    const long long all = seconds < 359999 ? (long long)(seconds + 0.5) : 359999; /* 99:59:59 */
    if (all >= 3600) {
        snprintf(text, size, "%lld:%02lld:%02lld", all / 3600, all / 60 % 60, all % 60);
    } else {
        snprintf(text, size, "%lld:%02lld", all / 60, all % 60);
    }
}

static double rate(const progress_facts *f)
{
    return f->seconds > 0 ? f->tokens / f->seconds : 0;
}

static const char *name_of_held_out(const progress_facts *f)
{
    return f->held_out_name != NULL ? f->held_out_name : "held-out";
}

void progress_plain(char line[PROGRESS_LINE], const progress_facts *f)
{
    char held_out[40] = "";
    if (!isnan(f->held_out)) {
        snprintf(held_out, sizeof held_out, "   %s %.3f", name_of_held_out(f), f->held_out);
    }
    if (*f->more != '\0') {
        snprintf(line, PROGRESS_LINE, "step %5lld/%lld   loss %.3f%s   %s", (long long)f->step,
                 (long long)f->steps, f->loss, held_out, f->more);
    } else {
        snprintf(line, PROGRESS_LINE, "step %5lld/%lld   loss %.3f%s   %.0f tokens/s",
                 (long long)f->step, (long long)f->steps, f->loss, held_out, rate(f));
    }
}

/* Appends "  " and a part if the line then has at most `width` characters. */
static void append(char line[PROGRESS_LINE], int width, const char *part)
{
    const size_t length = strlen(line), gap = length > 0 ? 2 : 0;
    if (*part != '\0' && length + gap + strlen(part) <= (size_t)width) {
        snprintf(line + length, PROGRESS_LINE - length, "%s%s", gap > 0 ? "  " : "", part);
    }
}

static void draw_bar(char *bar, int64_t step, int64_t steps, int inside)
{
    const int done = (int)((double)inside * (double)step / (double)steps);
    bar[0] = '[';
    for (int i = 0; i < inside; i++) {
        bar[1 + i] = i < done ? '=' : i == done ? '>' : ' ';
    }
    strcpy(bar + 1 + inside, "]");
}

/* The facts as text. Parts that do not fit are dropped, from right to left: the bar before the
 * losses, and the remaining time last. */
static void put_words(char line[PROGRESS_LINE], const progress_facts *f, int width, bool ended)
{
    char step[64], loss[40], held_out[40] = "", speed[40], left[40] = "", time[24];
    const int digits = snprintf(NULL, 0, "%lld", (long long)f->steps);
    snprintf(step, sizeof step, "%s%*lld/%lld", ended ? "step " : "", digits, (long long)f->step,
             (long long)f->steps);
    snprintf(loss, sizeof loss, "loss %.3f", f->loss);
    snprintf(speed, sizeof speed, "%.1fk tokens/s", rate(f) / 1000);
    if (!isnan(f->held_out)) {
        snprintf(held_out, sizeof held_out, "%s %.3f", name_of_held_out(f), f->held_out);
    }
    if (!ended) {
        const double all = (double)(f->steps - f->before), done = (double)(f->step - f->before);
        describe_time(time, sizeof time, f->seconds * (all / done - 1));
        snprintf(left, sizeof left, "%s left", time);
    }
    const int room = width - (int)strlen(left) - (ended ? 0 : 2);
    const char *const parts[] = {step, loss, held_out, f->brief, speed};
    *line = '\0';
    for (int i = 0; i < 5; i++) {
        append(line, i < 3 || ended ? room : room - SHORTEST_BAR - 4, parts[i]);
    }
    append(line, width, left);
}

void progress_bar(char line[PROGRESS_LINE], const progress_facts *f, int columns, bool ended)
{
    char bar[LONGEST_BAR + 3] = "", words[PROGRESS_LINE];
    const int most = columns < PROGRESS_LINE ? columns : PROGRESS_LINE;
    const int width = most - (most > 20 ? 3 : 1); /* leaves space for a typed ^C */
    put_words(words, f, width, ended);
    const int room = width - (int)strlen(words) - 4;
    if (room >= SHORTEST_BAR && !ended) {
        draw_bar(bar, f->step, f->steps, room < LONGEST_BAR ? room : LONGEST_BAR);
    }
    *line = '\0';
    append(line, width, bar);
    append(line, width, words);
}

/* ---- timing ---- */

double progress_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The current width of the terminal: COLUMNS if set, else what the terminal reports. */
static int count_columns(FILE *stream)
{
    const char *columns = getenv("COLUMNS");
    long width = columns != NULL ? strtol(columns, NULL, 10) : 0;
#ifdef TIOCGWINSZ
    struct winsize window;
    if (width <= 0 && ioctl(fileno(stream), TIOCGWINSZ, &window) == 0) {
        width = window.ws_col;
    }
#endif
    return width > PROGRESS_MOST_COLUMNS ? PROGRESS_MOST_COLUMNS : width > 0 ? (int)width : 80;
}

progress progress_begin(FILE *stream)
{
    const char *term = getenv("TERM");
    const bool smart = term != NULL && *term != '\0' && strcmp(term, "dumb") != 0;
    return (progress){
        .stream = stream,
        .terminal = smart && isatty(fileno(stream)),
        .began = progress_clock(),
    };
}

static bool line_due(const progress *p, const progress_facts *f)
{
    return p->every == 0 ? progress_turn(f->step, f->steps, LINES)
                         : f->step % p->every == 0 || f->step == f->steps;
}

void progress_show(progress *p, progress_facts facts, bool always)
{
    const double now = progress_clock();
    char line[PROGRESS_LINE];
    facts.seconds = now - p->began;
    if (!p->terminal && line_due(p, &facts)) {
        progress_plain(line, &facts);
        fprintf(p->stream, "%s\n", line);
    } else if (p->terminal && (always || now - p->shown >= between)) {
        p->columns = count_columns(p->stream); /* the terminal may have been resized */
        progress_bar(line, &facts, p->columns, false);
        fprintf(p->stream, "\r%s\033[K", line);
        p->shown = now;
    }
    if (p->terminal) {
        progress_bar(p->last, &facts, p->columns, true);
    }
    fflush(p->stream);
}

void progress_pause(progress *p)
{
    if (p->terminal) {
        fputs("\r\033[K", p->stream);
        fflush(p->stream);
    }
}

void progress_end(progress *p)
{
    if (p->terminal && p->shown > 0) {
        fprintf(p->stream, "\r\033[K%s\n", p->last);
    }
    fflush(p->stream);
}
