/* Whole pictures of curves, attention and graphs, compared with tests/fixtures/pictures. After a
 * change that is meant, HEED_DRAW=1 make test SUITE=pictures draws them again: look at them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/common/files_util.h"

/* ---- curves ---- */

enum { POINTS = 24 };

static double steps[POINTS], halves[POINTS], falls[POINTS], waves[POINTS], holes[POINTS];

static void fill(void)
{
    for (int i = 0; i < POINTS; i++) {
        steps[i] = 10 * i;
        halves[i] = 0.5 + i;
        falls[i] = 4.0 * POINTS / (POINTS + 13 * i);
        waves[i] = 2 + (i * i % 11 - 5) / 4.0;
        holes[i] = i % 5 == 2 ? (double)NAN : i == 0 || i == 8 ? -0.5 : 0.1 + 0.03 * i * i;
    }
}

static const double spikes[] = {71, 118, (double)INFINITY};

static const heed_curve three[] = {
    {.name = "loss of the training text", .count = POINTS, .x = steps, .y = falls, .per_point = 10},
    {.name = "<waves> & a name of more than forty columns",
     .count = POINTS,
     .x = steps,
     .y = waves,
     .spikes = spikes,
     .spike_count = 3},
    {.name = "holes", .count = 19, .x = halves, .y = holes, .spikes = spikes, .spike_count = 1},
};

static void curves_svg(FILE *stream)
{
    heed_plot_svg(stream, three, 3,
                  (heed_plot_options){.title = "Three \"curves\"",
                                      .y_label = "nats per token, an axis whose label is long",
                                      .smoothing = 0.6,
                                      .width = 460,
                                      .height = 260});
}

static void curves_log_svg(FILE *stream)
{
    heed_plot_svg(stream, three, 3,
                  (heed_plot_options){.x_label = "batch", .log_y = true, .smoothing = 0.895});
}

/* More lines of the legend than fit into the height; labels that leave no width. */
static void curves_small_svg(FILE *stream)
{
    static const double x[] = {1, 2, 3}, y[] = {123456700, 123456825, 123456950};
    const heed_curve curves[] = {
        {.name = "far", .count = 3, .x = x, .y = y},
        {.name = "none", .count = 0},
        {.name = "one", .count = 1, .x = x, .y = y},
        {.name = "a fourth that needs a whole line", .count = 2, .x = x, .y = y},
        {.name = "fifth", .count = 2, .x = x, .y = y},
        {.name = "sixth", .count = 2, .x = x, .y = y},
        {.name = "seventh", .count = 2, .x = x, .y = y},
    };
    heed_plot_svg(stream, curves, 7, (heed_plot_options){.y_label = "y", .width = 1, .height = 1});
}

/* Text at several widths and heights, as UTF-8 and as ASCII. */
static void curves_txt(FILE *stream)
{
    static const heed_plot_options options[] = {
        {.title = "Three curves", .y_label = "nats", .smoothing = 0.6, .width = 79, .height = 22},
        {.y_label = "nats", .log_y = true, .width = 60, .height = 16},
        {.title = "A title that is wider than the plot", .y_label = "nats", .width = 24},
        {.x_label = "batch", .width = 1, .height = 1},
    };
    for (int ascii = 0; ascii < 2; ascii++) {
        setenv("LC_ALL", ascii ? "C" : "C.UTF-8", 1);
        for (int i = 0; i < 4; i++) {
            for (int count = 3; count > 0; count -= 2) {
                heed_plot_text(stream, three, count, options[i]);
                fputc('\n', stream);
            }
        }
    }
    setenv("LC_ALL", "C.UTF-8", 1);
}

/* All dashes and keys, and the numbers at the ends of curves that end close together. */
static void dashes_txt(FILE *stream)
{
    static const double x[] = {0, 50, 100};
    double y[11][3];
    heed_curve curves[11];
    for (int i = 0; i < 11; i++) {
        memcpy(y[i], (double[]){i, 10 - i, 3 + i / 10.0}, sizeof y[i]);
        curves[i] = (heed_curve){.name = "c", .count = 3, .x = x, .y = y[i]};
    }
    for (int ascii = 0; ascii < 2; ascii++) {
        setenv("LC_ALL", ascii ? "C" : "C.UTF-8", 1);
        heed_plot_text(stream, curves, 11, (heed_plot_options){.width = 60, .height = 20});
    }
    setenv("LC_ALL", "C.UTF-8", 1);
}

/* Ticks and labels of axes of many ranges, linear and logarithmic. */
static void axes_txt(FILE *stream)
{
    static const double ranges[][2] = {
        {0, 1},        {-3, 14},       {0.001, 0.0042}, {12345, 12349}, {1e7, 3e7},   {-2e-7, 5e-7},
        {0.2, 70},     {0.03, 5},      {1e-9, 1e-3},    {2e-5, 4e11},   {1, 1},       {0, 0},
        {-1e308, 1e9}, {1e-12, 1e250}, {1.5, 9},        {0.7, 8},       {6e-7, 2e-6}, {1000, 1300},
    };
    for (int i = 0; i < 18; i++) {
        for (int log_y = 0; log_y < 2; log_y++) {
            const double x[] = {ranges[i][0] * 7, ranges[i][1] * 7};
            const heed_curve c = {.name = "c", .count = 2, .x = x, .y = ranges[i]};
            heed_plot_text(stream, &c, 1,
                           (heed_plot_options){.log_y = log_y, .width = 40, .height = 11});
        }
    }
}

/* ---- attention ---- */

static const char *const words[] = {"the", " cow", "\n", "jumped over the moon", "日本"};
static const char *const letters[] = {"a", "b", "c", "d", "e"};

/* Row i of each head attends to keys 0 to i. */
static heed_tensor *heads(int64_t count, int64_t queries, int64_t keys)
{
    double weights[600] = {0};
    for (int64_t row = 0; row < count * queries; row++) {
        const int64_t seen = row % queries < keys ? row % queries + 1 : keys;
        double *w = weights + row * keys, sum = 0;
        for (int64_t j = 0; j < seen; j++) {
            w[j] = (double)(1 + (row / queries + row + 2 * j) % 4);
            sum += w[j];
        }
        for (int64_t j = 0; j < seen; j++) {
            w[j] /= sum;
        }
    }
    return heed_from_f64(weights, HEED_SHAPE(count, queries, keys));
}

static void heads_svg(FILE *stream)
{
    heed_attention_svg(stream, heads(5, 5, 5),
                       (heed_attention_plot_options){.title = "Five heads", .queries = words});
}

/* One panel below the other, with upright labels of the keys. */
static void narrow_svg(FILE *stream)
{
    heed_attention_svg(
        stream, heads(3, 2, 5),
        (heed_attention_plot_options){
            .title = "A title that is wider than the picture", .keys = letters, .width = 230});
}

/* Cells smaller than letters, and a width that not even the smallest fit. */
static void tiny_svg(FILE *stream)
{
    const char *keys[60];
    for (int i = 0; i < 60; i++) {
        keys[i] = letters[i % 5];
    }
    heed_attention_svg(stream, heads(2, 3, 60),
                       (heed_attention_plot_options){.keys = keys, .queries = words, .width = 90});
}

static void one_head_svg(FILE *stream)
{
    heed_attention_svg(stream, heed_select(heads(1, 3, 1), 0, 0),
                       (heed_attention_plot_options){.width = 20});
}

static void heads_txt(FILE *stream)
{
    for (int width = 8; width < 90; width += 16) {
        setenv("LC_ALL", width == 56 ? "C" : "C.UTF-8", 1);
        fprintf(stream, "%d columns\n", width);
        heed_attention_text(stream, heads(3, 5, 5),
                            (heed_attention_plot_options){
                                .title = "Three heads", .queries = words, .width = width});
    }
    heed_attention_text(stream, heads(2, 2, 1), (heed_attention_plot_options){0});
    heed_attention_text(stream, heads(1, 1, 1),
                        (heed_attention_plot_options){.title = "one column", .width = 1});
}

static void heat_txt(FILE *stream)
{
    heed_tensor *w = heed_select(heads(1, 4, 5), 0, 0);
    for (int width = 1; width < 34; width += 4) {
        char columns[12];
        snprintf(columns, sizeof columns, "%d", width);
        setenv("COLUMNS", columns, 1);
        fprintf(stream, "%s columns\n", columns);
        heed_heat_map(stream, w, words, words, HEED_COLOR_AUTO);
    }
    unsetenv("COLUMNS");
    double values[30];
    for (int i = 0; i < 30; i++) {
        values[i] = i == 11 ? (double)NAN : (i - 3) / 20.0;
    }
    heed_tensor *all = heed_from_f64(values, HEED_SHAPE(3, 10));
    for (int i = 0; i < 3; i++) {
        setenv("COLUMNS", i == 0 ? "50" : i == 1 ? "25" : "11", 1);
        for (int color = 0; color < 2; color++) {
            heed_heat_map(stream, all, letters, NULL, color ? HEED_COLOR_ALWAYS : HEED_COLOR_NEVER);
            setenv("LC_ALL", "C", 1);
            heed_heat_map(stream, all, letters, NULL, color ? HEED_COLOR_ALWAYS : HEED_COLOR_NEVER);
            setenv("LC_ALL", "C.UTF-8", 1);
        }
    }
    unsetenv("COLUMNS");
}

/* ---- comparing ---- */

static const struct {
    const char *name;
    void (*draw)(FILE *stream);
} pictures[] = {
    {"curves.svg", curves_svg},
    {"curves_log.svg", curves_log_svg},
    {"curves_small.svg", curves_small_svg},
    {"curves.txt", curves_txt},
    {"dashes.txt", dashes_txt},
    {"axes.txt", axes_txt},
    {"heads.svg", heads_svg},
    {"narrow.svg", narrow_svg},
    {"tiny.svg", tiny_svg},
    {"one_head.svg", one_head_svg},
    {"heads.txt", heads_txt},
    {"heat.txt", heat_txt},
};
enum { PICTURES = sizeof pictures / sizeof *pictures };

START_TEST(pictures_are_as_before)
{
    char path[100], *text, *expected;
    size_t size, expected_size, at = 0;
    fill();
    FILE *stream = open_memstream(&text, &size);
    pictures[_i].draw(stream);
    fclose(stream);
    expect_no_error();
    snprintf(path, sizeof path, "tests/fixtures/pictures/%s", pictures[_i].name);
    if (getenv("HEED_DRAW") != NULL) {
        write_bytes(path, text, size);
    }
    expected = read_bytes(path, &expected_size);
    while (at < size && at < expected_size && text[at] == expected[at]) {
        at++;
    }
    int line = 1;
    for (size_t i = 0; i < at; i++) {
        line += text[i] == '\n';
    }
    const size_t before = at < 60 ? at : 60;
    ck_assert_msg(size == expected_size && at == size,
                  "%s:%d has\n%.160s\nand not\n%.160s\nHEED_DRAW=1 draws it again", path, line,
                  text + at - before, expected + at - before);
    free(text);
    free(expected);
}
END_TEST

void add_pictures_cases(Suite *suite)
{
    tcase_add_loop_test(heed_case(suite, "pictures"), pictures_are_as_before, 0, PICTURES);
}
