/* Plots of curves and attention weights, as text, SVG and CSV. */
#define _XOPEN_SOURCE 700 /* posix_openpt */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tests/common/test_util.h"
#include "tools/plot/curves.h"
#include "tools/plot/terminal.h"

enum { MOST = 1 << 22 };

/* ---- capturing output ---- */

static char printed[MOST];

static FILE *begin(void)
{
    FILE *stream = fmemopen(printed, sizeof printed, "w");
    ck_assert_ptr_nonnull(stream);
    return stream;
}

static const char *text_of(const heed_curve *curves, int count, heed_plot_options options)
{
    FILE *stream = begin();
    heed_plot_text(stream, curves, count, options);
    fclose(stream);
    expect_no_error();
    return printed;
}

static const char *svg_of(const heed_curve *curves, int count, heed_plot_options options)
{
    FILE *stream = begin();
    heed_plot_svg(stream, curves, count, options);
    fclose(stream);
    expect_no_error();
    return printed;
}

static const char *csv_of(const heed_curve *curves, int count)
{
    FILE *stream = begin();
    heed_plot_csv(stream, curves, count);
    fclose(stream);
    expect_no_error();
    return printed;
}

typedef heed_status attention_plot(FILE *stream, heed_tensor *weights,
                                   heed_attention_plot_options options);

static const char *picture_of(attention_plot *plot, heed_tensor *weights,
                              heed_attention_plot_options options)
{
    FILE *stream = begin();
    plot(stream, weights, options);
    fclose(stream);
    expect_no_error();
    return printed;
}

static int count_of(const char *text, const char *words)
{
    int count = 0;
    while ((text = strstr(text, words)) != NULL) {
        count++;
        text += strlen(words);
    }
    return count;
}

static void expect_has(const char *text, const char *words)
{
    ck_assert_msg(strstr(text, words) != NULL, "no \"%s\" in:\n%.3000s", words, text);
}

/* ---- XML: tags nest, attributes are quoted and unique, characters are allowed ---- */

static const char *skip_name(const char *at)
{
    ck_assert_msg(isalpha((unsigned char)*at), "a name is missing at \"%.40s\"", at);
    while (isalnum((unsigned char)*at) || *at == '-' || *at == ':') {
        at++;
    }
    return at;
}

/* Skips text up to `end`, which must not contain < or unknown entities. */
static const char *skip_text(const char *at, char end)
{
    static const char *const entities[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#92;"};
    for (; *at != end && *at != '\0'; at++) {
        ck_assert_msg(*at != '<', "< in text at \"%.40s\"", at);
        bool is_known = *at != '&';
        for (int i = 0; i < 5; i++) {
            is_known = is_known || strncmp(at, entities[i], strlen(entities[i])) == 0;
        }
        ck_assert_msg(is_known, "an unknown entity at \"%.40s\"", at);
    }
    return at;
}

static const char *skip_attributes(const char *at)
{
    const char *const first = at;
    while (*at == ' ') {
        const char *name = ++at;
        at = skip_name(at);
        const size_t length = (size_t)(at - name);
        for (const char *c = first; c + 1 < name; c++) { /* duplicate? */
            ck_assert(*c != ' ' || strncmp(c + 1, name, length + 2) != 0);
        }
        ck_assert_msg(at[0] == '=' && at[1] == '"', "no value at \"%.40s\"", at);
        at = skip_text(at + 2, '"') + 1;
    }
    return at;
}

static void expect_xml(const char *xml)
{
    const char *open[16];
    int depth = 0;
    bool has_root = false;
    for (const char *c = xml; *c != '\0'; c++) {
        ck_assert_msg((unsigned char)*c >= ' ' || *c == '\n', "control character %d", *c);
        ck_assert(*c != 0x7F);
    }
    for (const char *at = xml; *at != '\0';) {
        if (*at != '<') {
            ck_assert_msg(depth > 0 || *at == '\n', "text outside of the root: \"%.40s\"", at);
            at = skip_text(at, '<');
        } else if (at[1] == '/') {
            ck_assert_int_gt(depth, 0);
            const char *name = at + 2;
            at = skip_name(name);
            ck_assert_msg(strncmp(open[--depth], name, (size_t)(at - name)) == 0 && *at == '>',
                          "</%.20s> ends <%.20s", name, open[depth]);
            at++;
        } else {
            ck_assert_msg(depth > 0 || !has_root, "a second root");
            has_root = true;
            ck_assert_int_lt(depth, 16);
            open[depth++] = at + 1;
            at = skip_attributes(skip_name(at + 1));
            depth -= *at == '/';
            at += *at == '/';
            ck_assert_msg(*at == '>', "no > at \"%.40s\"", at);
            at++;
        }
    }
    ck_assert_int_eq(depth, 0);
    ck_assert(has_root);
    ck_assert_ptr_null(strstr(xml, " id=")); /* would clash on a page with several pictures */
}

/* The columns of the first line of `text`; *end: its end. */
static int columns_of_line(const char *text, const char **end)
{
    char line[8192];
    const size_t length = strcspn(text, "\n");
    ck_assert_uint_lt(length, sizeof line);
    memcpy(line, text, length);
    line[length] = '\0';
    *end = text + length + (text[length] == '\n');
    return heed_label_columns(line, 100000, 0);
}

/* ---- curves ---- */

static const double steps[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
static const double rising[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
static const double falling[] = {10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0};

static heed_curve curve(const char *name, int64_t count, const double *y)
{
    return (heed_curve){.name = name, .count = count, .x = steps, .y = y};
}

START_TEST(numbers_have_a_point_in_all_locales)
{
    const double x[] = {1, 2}, y[] = {0.25, 0.75};
    const heed_curve curve = {.name = "loss", .count = 2, .x = x, .y = y};
    use_comma_locale();
    ck_assert_ptr_nonnull(strstr(svg_of(&curve, 1, (heed_plot_options){0}), "from 0.25 to 0.75"));
    ck_assert_str_eq(csv_of(&curve, 1), "step,loss\n1,0.25\n2,0.75\n");
    ck_assert_ptr_nonnull(strstr(text_of(&curve, 1, (heed_plot_options){0}), "loss 0.75"));
    char text[8];
    snprintf(text, sizeof text, "%.1f", 0.5); /* the program's locale is restored */
    ck_assert_int_eq(text[1], *localeconv()->decimal_point);
    setlocale(LC_NUMERIC, "C");
}
END_TEST

START_TEST(text_has_points_at_their_places)
{
    const heed_curve c = curve("loss", 11, rising);
    setenv("LC_ALL", "C", 1);
    ck_assert_str_eq(text_of(&c, 1, (heed_plot_options){.width = 16, .height = 9, .title = "a"}),
                     "a\n"
                     "10 |          **\n"
                     "   |        **\n"
                     " 5 |    ****\n"
                     "   |  **\n"
                     " 0 |**\n"
                     "   +------------\n"
                     "    0   step  10\n"
                     "loss 10\n");
    setenv("LC_ALL", "C.UTF-8", 1);
    ck_assert_str_eq(text_of(&c, 1, (heed_plot_options){.width = 16, .height = 6}),
                     "10 ┤       ⢀⡠⠤⠒⠉\n"
                     " 5 ┤    ⣀⡠⠔⠁\n"
                     " 0 ┤⡠⠤⠒⠉\n"
                     "   └────────────\n"
                     "    0   step  10\n"
                     "loss 10\n");
}
END_TEST

/* Averages of several steps have fractions, which only a short range shows. */
START_TEST(text_ends_of_long_ranges_are_whole)
{
    const heed_plot_options how = {.width = 40};
    heed_curve c = curve("loss", 2, rising);
    c.x = (const double[]){-0.25, 2998.5};
    ck_assert_ptr_nonnull(strstr(text_of(&c, 1, how), " 0 "));
    ck_assert_ptr_nonnull(strstr(text_of(&c, 1, how), " 2999\n"));
    c.x = (const double[]){0.25, 100.25};
    ck_assert_ptr_nonnull(strstr(text_of(&c, 1, how), " 0 "));
    ck_assert_ptr_nonnull(strstr(text_of(&c, 1, how), " 100\n"));
    c.x = (const double[]){1.5, 99.5};
    ck_assert_ptr_nonnull(strstr(text_of(&c, 1, how), " 1.5 "));
    ck_assert_ptr_nonnull(strstr(text_of(&c, 1, how), " 99.5\n"));
    c.x = (const double[]){1234567, 7654321}; /* both do not fit */
    const char *text = text_of(&c, 1, (heed_plot_options){.width = 16, .height = 6});
    ck_assert_msg(strstr(text, " 1234567\nloss ") != NULL, "%s", text);
}
END_TEST

START_TEST(svg_has_points_at_their_places)
{
    const heed_curve c = curve("loss", 11, rising);
    const char *svg = svg_of(&c, 1, (heed_plot_options){.width = 400, .height = 200});
    expect_xml(svg);
    expect_has(svg, "width=\"400\" height=\"200\"");
    /* the plot area: two letters to the left, the legend above, the labels below */
    expect_has(svg, "d=\"M30.1 162.0 65.5 149.6 ");
    expect_has(svg, " 348.6 50.4 384.0 38.0\"");
    expect_has(svg, "<circle cx=\"384.0\" cy=\"38.0\" r=\"2\"><title>loss at step 10: 10</title>");
    ck_assert_int_eq(count_of(svg, "<circle"), 11);
    expect_has(svg, "<desc>loss: step 0 to 10, from 0 to 10, last 10. </desc>");
    expect_has(svg, ">loss 10</text>");
    expect_has(svg, ">step</text>");
    expect_has(svg_of(&c, 1, (heed_plot_options){.width = 20000}), "width=\"10000\"");
}
END_TEST

START_TEST(axes_have_round_numbers)
{
    for (int e = -290; e <= 290; e += 29) {
        for (int k = 1; k < 100; k++) {
            const double low = k % 3 * 1.7 * pow(10, e), high = low + 0.37 * k * pow(10, e);
            const heed_axis a =
                heed_axis_new(low, high, (heed_axis_options){.ticks = 5, .widen = true});
            ck_assert_msg(a.count >= 3 && a.count <= 5, "%d ticks from %g to %g", a.count, low,
                          high);
            const double margin = 1e-6 * (high - low);
            ck_assert(a.low <= low + margin && a.high >= high - margin);
            ck_assert(heed_axis_at(&a, a.low) == 0 && heed_axis_at(&a, a.high) == 1);
            char digits[40];
            snprintf(digits, sizeof digits, "%.0e", a.step);
            ck_assert(strchr("125", *digits) != NULL && fabs(a.step / atof(digits) - 1) < 1e-9);
        }
    }
    const heed_axis_options log = {.ticks = 5, .widen = true, .log = true};
    heed_axis a = heed_axis_new(0.9, 11, log);
    ck_assert(a.low <= 0.9 && a.high >= 11 && a.count >= 3);
    ck_assert_double_eq_tol(heed_axis_at(&a, sqrt(a.low * a.high)), 0.5, 1e-12);
    a = heed_axis_new(1e-300, 1e300, log);
    ck_assert(a.count == 3 && a.ticks[1] == 1);
    a = heed_axis_new(2.1, 2.9, log); /* within a decade: ticks as on a linear axis */
    ck_assert(a.count >= 3 && fabs(a.ticks[0] - 2.2) < 1e-9);
    a = heed_axis_new(1, 3, (heed_axis_options){.ticks = 8, .least = 1}); /* steps */
    ck_assert(a.count == 3 && a.step == 1);
    a = heed_axis_new(-0.3, 0.3, (heed_axis_options){.ticks = 5, .widen = true});
    for (int i = 0; i < a.count; i++) {
        ck_assert_str_ne(heed_axis_label(&a, a.ticks[i]).text, "-0.0");
    }
    a = heed_axis_new(0, 1, (heed_axis_options){.ticks = 5, .widen = true});
    ck_assert_str_eq(heed_axis_label(&a, a.ticks[2]).text, "1.0"); /* after 0.0 and 0.5 */
    a = heed_axis_new(0, 4e8, (heed_axis_options){.ticks = 5, .widen = true});
    ck_assert_str_eq(heed_axis_label(&a, a.ticks[1]).text, "1e+08");
}
END_TEST

START_TEST(text_fits_any_size)
{
    static const double spikes[] = {5};
    heed_curve curves[] = {curve("loss of the training part", 11, rising),
                           curve("損失 of the other", 11, falling), curve("c", 3, rising)};
    curves[0].spikes = spikes;
    curves[0].spike_count = 1;
    curves[0].per_point = 8;
    for (int ascii = 0; ascii < 2; ascii++) {
        setenv("LC_ALL", ascii ? "C" : "C.UTF-8", 1);
        for (int width = 20; width <= 200; width++) {
            const int height = 10 + width % 30;
            const char *at = text_of(curves, 3,
                                     (heed_plot_options){.title = "How the loss fell",
                                                         .y_label = "nats per token",
                                                         .width = width,
                                                         .height = height});
            ck_assert(strchr(at, '!') != NULL);
            int lines = 0;
            for (; *at != '\0'; lines++) {
                const char *line = at;
                const int columns = columns_of_line(at, &at);
                ck_assert_msg(columns <= width, "%d columns, not %d: %.300s", columns, width, line);
            }
            ck_assert_int_eq(lines, height);
            for (const char *c = printed; ascii && *c != '\0'; c++) {
                ck_assert_int_ge(*c, 0);
            }
        }
    }
    setenv("LC_ALL", "C.UTF-8", 1);
    setenv("COLUMNS", "33", 1);
    const char *end = text_of(curves, 1, (heed_plot_options){.height = 8});
    while (strstr(end, "─") != NULL) {
        const char *line = end;
        const int columns = columns_of_line(line, &end);
        ck_assert(strstr(line, "└") != line + 3 || columns == 33);
    }
    unsetenv("COLUMNS");
}
END_TEST

/* Keys and colors repeat, but all curves are drawn and named. */
START_TEST(many_curves_are_drawn)
{
    enum { CURVES = 300 };
    heed_curve curves[CURVES];
    for (int i = 0; i < CURVES; i++) {
        curves[i] = curve("c", 11, i % 2 ? rising : falling);
    }
    const heed_plot_options options = {.smoothing = 0.1};
    ck_assert_int_eq(count_of(text_of(curves, CURVES, options), "c 0, smoothed with weight"),
                     CURVES / 2);
    expect_has(printed, "9 c 10, smoothed");
    expect_xml(svg_of(curves, CURVES, options));
    ck_assert_int_eq(count_of(printed, "<g class=\"heed-c5\""), CURVES / 6);
}
END_TEST

static int dots_in(const char *text)
{
    int dots = 0;
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++) {
        if (c[0] == 0xE2 && c[1] >= 0xA0 && c[1] <= 0xA3) { /* braille: a bit for each dot */
            dots += __builtin_popcount((unsigned)(c[1] - 0xA0)) + __builtin_popcount(c[2] & 63u);
        }
    }
    return dots;
}

/* Without color, each curve has its number on it, and only lines are drawn, not the points that an
 * average smooths. */
START_TEST(smoothed_curves_show_their_numbers)
{
    enum { POINTS = 200 };
    double x[POINTS], y[2][POINTS];
    for (int i = 0; i < POINTS; i++) {
        x[i] = i;
        y[0][i] = i + 20 * (i % 2); /* they cross */
        y[1][i] = POINTS - i + 20 * (i % 2);
    }
    const heed_curve curves[] = {{.name = "A", .count = POINTS, .x = x, .y = y[0]},
                                 {.name = "B", .count = POINTS, .x = x, .y = y[1]}};
    const heed_plot_options how = {.smoothing = 0.9, .width = 80, .height = 20};
    char *smooth = strdup(text_of(curves, 2, how));
    const char *end = strrchr(smooth, '\n');
    int digits[2] = {0};
    for (const char *at = strstr(smooth, "│"); at < end; at++) {
        for (int c = 0; c < 2; c++) {
            digits[c] += *at == '1' + c && (at[1] & 0x80) != 0 && (at[-1] & 0x80) != 0;
        }
    }
    ck_assert_msg(digits[0] >= 2 && digits[1] >= 2, "%s", smooth);
    ck_assert_int_le(dots_in(smooth), 80 * 8);
    free(smooth);
}
END_TEST

/* Without colors, curves differ in dashes and numbers, or in characters. */
START_TEST(curves_can_be_told_apart)
{
    const heed_curve curves[] = {curve("up", 11, rising), curve("down", 11, falling)};
    const heed_plot_options options = {.width = 40, .height = 8};
    const char *text = text_of(curves, 2, options);
    expect_has(text, "1\n");
    expect_has(text, "2\n");
    expect_has(text, "1 up 10   2 down 0\n");
    ck_assert_ptr_null(strchr(text, '\033'));
    static const char *const titles[] = {"12345678901", "123456789012"};
    static const char *const lines[] = {"12345678901 (n\u2026)\n", "123456789012\n"};
    for (int i = 0; i < 2; i++) { /* a label needs 5 columns */
        text = text_of(curves, 1, (heed_plot_options){titles[i], .y_label = "nats", .width = 16});
        ck_assert(strncmp(text, lines[i], strlen(lines[i])) == 0);
    }
    expect_has(text_of(curves, 2, (heed_plot_options){.width = 18}), "\n1 up 10   2 down 0\n");
    expect_has(text_of(curves, 2, (heed_plot_options){.width = 17}), "\n1 up 10\n2 down 0\n");
    const heed_curve low[] = {curves[1], curves[1], curves[1]}; /* numbered upwards from the end */
    text = text_of(low, 3, options);
    ck_assert_ptr_nonnull(strstr(strstr(strstr(text, "3\n"), "2\n"), "1\n"));
    const heed_curve second[] = {curve("none", 0, NULL), curve("up", 11, rising)};
    const int solid = dots_in(text_of(curves, 1, options));
    ck_assert_int_lt(3 * dots_in(text_of(second, 2, options)), 2 * solid);
    setenv("LC_ALL", "C", 1);
    expect_has(text_of(curves, 2, options), "* up 10   o down 0\n");
    setenv("LC_ALL", "C.UTF-8", 1);
    const heed_curve twice[] = {curves[0], curves[0]}; /* each takes 78 pixels of the legend */
    expect_has(svg_of(twice, 2, (heed_plot_options){.width = 10 + 2 * 78}), "<text x=\"118.0\"");
    svg_of(twice, 2, (heed_plot_options){.width = 10 + 2 * 78 - 1});
    ck_assert_int_eq(count_of(printed, "<text x=\"40.0\""), 2);
    const char *svg = svg_of(curves, 2, (heed_plot_options){.title = "t"});
    expect_xml(svg);
    expect_has(svg, "<g class=\"heed-c0\"");
    expect_has(svg, "<g class=\"heed-c1\"");
    expect_has(svg, "stroke-dasharray=\"none\"");
    expect_has(svg, "stroke-dasharray=\"7 3\"");
}
END_TEST

/* What a terminal receives. */
static const char *shown_by_terminal(void (*draw)(FILE *stream))
{
    const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    ck_assert(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
    FILE *stream = fopen(ptsname(terminal), "w");
    ck_assert_ptr_nonnull(stream);
    draw(stream);
    fclose(stream);
    int64_t length = 0, part; /* a read returns only the bytes received so far */
    while ((part = read(terminal, printed + length, sizeof printed - 1 - (size_t)length)) > 0) {
        length += part;
    }
    ck_assert_int_gt(length, 0);
    printed[length] = '\0';
    close(terminal);
    return printed;
}

static void draw_two(FILE *stream)
{
    const heed_curve curves[] = {curve("up", 11, rising), curve("down", 11, falling)};
    heed_plot_text(stream, curves, 2, (heed_plot_options){.width = 30, .height = 7});
}

static heed_color heat_color;

static void draw_heat(FILE *stream)
{
    heed_heat_map(stream, heed_full(HEED_SHAPE(1, 2), 0.5, HEED_F32), NULL, NULL, heat_color);
}

START_TEST(terminals_have_colors)
{
    setenv("TERM", "xterm", 1);
    const char *text = shown_by_terminal(draw_two);
    expect_has(text, "\033[38;5;39m1\033[0m up 10");
    expect_has(text, "\033[38;5;208m2\033[0m down 0");
    ck_assert_int_lt(count_of(text, "\033"), 30); /* one per run of cells */
    ck_assert_int_eq(count_of(text, "\033[0m"), count_of(text, "\033[38;5;"));
    static const heed_color colors[] = {HEED_COLOR_AUTO, HEED_COLOR_ALWAYS, HEED_COLOR_NEVER};
    for (int i = 0; i < 3; i++) {
        heat_color = colors[i];
        ck_assert((strchr(shown_by_terminal(draw_heat), '\033') != NULL) == (i < 2));
    }
    setenv("NO_COLOR", "", 1); /* as if it were not set */
    ck_assert_ptr_nonnull(strchr(shown_by_terminal(draw_two), '\033'));
    setenv("NO_COLOR", "1", 1);
    ck_assert_ptr_null(strchr(shown_by_terminal(draw_two), '\033'));
    unsetenv("NO_COLOR");
    setenv("TERM", "", 1);
    ck_assert_ptr_null(strchr(shown_by_terminal(draw_two), '\033'));
    setenv("TERM", "dumb", 1);
    ck_assert_ptr_null(strchr(shown_by_terminal(draw_two), '\033'));
}
END_TEST

/* COLUMNS and LINES go before the size of the terminal. */
START_TEST(terminals_have_a_size)
{
    const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    FILE *stream = fdopen(terminal, "r+");
    const struct winsize size = {.ws_row = 33, .ws_col = 77};
    ck_assert_int_eq(ioctl(terminal, TIOCSWINSZ, &size), 0);
    ck_assert_int_eq(heed_terminal_columns(stream, 80), 77);
    ck_assert_int_eq(heed_terminal_lines(stream, 24), 33);
    static const struct {
        const char *set;
        int columns, lines;
    } cases[] = {{"1", 1, 1}, {"2", 2, 2}, {"0", 77, 33}, {"-5", 77, 33}, {"20000", 10000, 10000}};
    for (int i = 0; i < 5; i++) {
        setenv("COLUMNS", cases[i].set, 1);
        ck_assert_int_eq(heed_terminal_columns(stream, 80), cases[i].columns);
        unsetenv("COLUMNS");
        setenv("LINES", cases[i].set, 1);
        ck_assert_int_eq(heed_terminal_lines(stream, 24), cases[i].lines);
        unsetenv("LINES");
    }
    fclose(stream);
    stream = begin();
    ck_assert_int_eq(heed_terminal_columns(stream, 80), 80);
    ck_assert_int_eq(heed_terminal_lines(stream, 24), 24);
    fclose(stream);
}
END_TEST

/* The average has TensorBoard's bias correction; the legend tells which curves are smoothed. */
START_TEST(smoothing_is_as_in_tensorboard)
{
    heed_smoother s = {.weight = 0.5};
    ck_assert_double_eq_tol(heed_smooth(&s, 1), 1, 1e-15);
    ck_assert_double_eq_tol(heed_smooth(&s, 2), 5 / 3.0, 1e-15);
    ck_assert_double_eq_tol(heed_smooth(&s, 3), 17 / 7.0, 1e-15);
    heed_curve curves[] = {curve("loss", 11, rising), curve("val", 3, rising)};
    curves[0].per_point = 4;
    const heed_plot_options options = {.smoothing = 0.6, .width = 700};
    const char *svg = svg_of(curves, 2, options);
    expect_has(svg, "loss 10, smoothed with weight 0.60, mean of 4 values</text>");
    expect_has(svg, "val 2</text>"); /* too few points */
    const heed_curve few = curve("few", 7, rising), enough = curve("enough", 8, rising);
    ck_assert(heed_curve_smoothing(&few, 0.5) == 0 && heed_curve_smoothing(&enough, 0.5) == 0.5);
    ck_assert_int_eq(count_of(svg, "stroke-opacity=\".35\""), 1);
    static const double weights[] = {0.75, 0.9, 0.99, 0.9925};
    static const char *const shown[] = {"0.75", "0.90", "0.99", "0.9925"};
    const double many[1000] = {0};
    const heed_curve long_one = {.name = "c", .count = 1000, .x = many, .y = many};
    for (int i = 0; i < 4; i++) {
        const heed_text legend =
            heed_curve_legend(&long_one, (heed_plot_options){.smoothing = weights[i]}, 100);
        expect_has(legend.text, " 0, smoothed with weight ");
        ck_assert_str_eq(legend.text + 25, shown[i]);
    }
    expect_has(text_of(curves, 2, (heed_plot_options){.smoothing = 0.6}),
               "1 loss 10, smoothed with weight 0.60, mean of 4 values   2 val 2\n");
    FILE *stream = begin();
    static const double bad[] = {1, -0.1, (double)NAN};
    for (int i = 0; i < 3; i++) {
        heed_plot_svg(stream, curves, 2, (heed_plot_options){.smoothing = bad[i]});
        expect_error(HEED_ERR_VALUE, "plot_svg: smoothing is");
    }
    fclose(stream);
}
END_TEST

START_TEST(spikes_are_marked_at_the_nearest_point)
{
    static const double spikes[] = {5.2, (double)NAN};
    heed_curve c = curve("loss", 11, rising);
    c.spikes = spikes;
    c.spike_count = 2;
    static const double values[] = {1, 2, 3, (double)INFINITY, 5},
                        near[] = {1.4, 2.6, -1e300, 1e300};
    static const double places[][2] = {{1, 2}, {3, 9}, {0, 1}, {4, 5}};
    heed_curve other = curve("c", 5, values);
    other.spikes = near;
    double x, y;
    for (int i = 0; i < 4; i++) {
        ck_assert(heed_curve_spike(&other, i, false, 9, &x, &y));
        ck_assert(x == places[i][0] && y == places[i][1]);
    }
    const char *svg = svg_of(&c, 1, (heed_plot_options){.width = 400, .height = 200});
    expect_xml(svg);
    expect_has(svg, "d=\"M207.0 97.0l-5 -9h10z\"><title>loss: spike at step 5.2</title>");
    ck_assert_int_eq(count_of(svg, "spike at"), 1);
    expect_has(text_of(&c, 1, (heed_plot_options){.width = 16, .height = 6}), "!");
    c.count = 0;
    expect_xml(svg_of(&c, 1, (heed_plot_options){0}));
    text_of(&c, 1, (heed_plot_options){0});
}
END_TEST

/* Any values can be drawn: the XML is valid, and no coordinate is NaN or off the page. */
START_TEST(any_values_can_be_drawn)
{
    static const double inf = (double)INFINITY, nan_ = (double)NAN;
    static const double sets[][2][6] = {
        {{0, 1, 2, 3, 4, 5}, {nan_, nan_, nan_, nan_, nan_, nan_}},
        {{0, 1, 2, 3, 4, 5}, {1, inf, 2, -inf, nan_, 3}},
        {{0, 1, 2, 3, 4, 5}, {2.5, 2.5, 2.5, 2.5, 2.5, 2.5}},
        {{0, 1, 2, 3, 4, 5}, {0, 0, 0, 0, 0, 0}},
        {{0, 1, 2, 3, 4, 5}, {1, 1 + 1e-15, 1, 1, 1, 1}},
        {{0, 1, 2, 3, 4, 5}, {1e300, -1e300, 1e308, -1e308, 0, 1e-300}},
        {{0, 1, 2, 3, 4, 5}, {1e-300, 2e-300, 5e-324, 0, 1e-310, 1e-300}},
        {{0, 1, 2, 3, 4, 5}, {1e-300, 1e300, 1, 10, 100, 1e-5}},
        {{-50, -40, -30, -20, -10, -1}, {1, 2, 3, 2, 1, -2}},
        {{nan_, inf, 2, 3, -inf, 5}, {1, 2, 3, 4, 5, 6}},
        {{7, 7, 7, 7, 7, 7}, {1, 2, 3, 4, 5, 6}},
        {{1e18, 2e18, 3e18, 4e18, 5e18, 6e18}, {1, 2, 3, 4, 5, 6}},
        {{5, 4, 3, 2, 1, 0}, {1, 2, 3, 4, 5, 6}}, /* x not in order: drawn in the given order */
    };
    const int count = sizeof sets / sizeof *sets;
    for (int i = 0; i < count * 14; i++) {
        const int set = i / 14, points = i % 7;
        const heed_plot_options options = {
            .log_y = i / 7 % 2, .smoothing = i % 3 == 0 ? 0.1 : 0, .width = 300, .height = 200};
        heed_curve c = {.name = "c", .count = points, .x = sets[set][0], .y = sets[set][1]};
        c.spikes = sets[set][0];
        c.spike_count = points;
        const char *svg = svg_of(&c, 1, options);
        expect_xml(svg);
        for (const char *d = svg; (d = strstr(d, " d=\"M")) != NULL;) {
            char *next;
            const double x = strtod(d += 5, &next), y = strtod(next, NULL);
            ck_assert_msg(x >= 0 && x <= 300 && y >= 0 && y <= 200, "set %d: %.60s", set, d);
        }
        ck_assert(strstr(svg, "nan") == NULL && strstr(svg, "inf") == NULL);
        const char *at = text_of(&c, 1, (heed_plot_options){options.title, .log_y = options.log_y});
        ck_assert(strstr(at, "nan") == NULL && strstr(at, "inf") == NULL);
        csv_of(&c, 1);
    }
    heed_curve c = {.name = "c", .count = 6, .x = sets[1][0], .y = sets[1][1]};
    expect_has(svg_of(&c, 1, (heed_plot_options){0}), ">c 3, 3 not finite</text>");
    expect_has(svg_of(&c, 1, (heed_plot_options){0}), "h0M"); /* isolated points are dots */
    c.y = sets[3][1];
    expect_has(svg_of(&c, 1, (heed_plot_options){.log_y = true}),
               ">c: no points, 6 not finite or not above 0</text>");
    expect_xml(svg_of(NULL, 0, (heed_plot_options){0}));
    text_of(NULL, 0, (heed_plot_options){0});
    ck_assert_str_eq(csv_of(NULL, 0), "step\n");
    for (int size = -1; size < 200; size += 3) {
        expect_xml(
            svg_of(&c, 1, (heed_plot_options){"t", "x", "y", .width = size, .height = size}));
    }
}
END_TEST

START_TEST(names_may_have_any_bytes)
{
    char name[256];
    for (int i = 0; i < 255; i++) {
        name[i] = (char)(i + 1);
    }
    name[255] = '\0';
    static const char *const others[] = {"<&\">",        "]]>",
                                         "a\xC3",        "\xED\xA0\x80",
                                         "\xEF\xBF\xBF", "\xF4\x90\x80\x80",
                                         "\u202Eabc",    "\u0301",
                                         "100%s%n",      ""};
    for (int i = -1; i < 10; i++) {
        const char *text = i < 0 ? name : others[i];
        const heed_curve c = curve(text, 11, rising);
        const heed_plot_options options = {text, text, text, .width = 60};
        expect_xml(svg_of(&c, 1, options));
        const char *plot = text_of(&c, 1, options);
        for (const char *at = plot; *at != '\0'; at++) {
            ck_assert((unsigned char)*at >= ' ' || *at == '\n');
        }
        const char *tokens[] = {text, text};
        heed_tensor *w = heed_full(HEED_SHAPE(1, 2, 2), 0.5, HEED_F32);
        const heed_attention_plot_options labels = {.title = text, .queries = tokens};
        expect_xml(picture_of(heed_attention_svg, w, labels));
        picture_of(heed_attention_text, w, labels);
        picture_of(heed_attention_csv, w, labels);
    }
    const heed_curve c = curve("<&\">", 11, rising);
    expect_has(svg_of(&c, 1, (heed_plot_options){0}), ">&lt;&amp;&quot;&gt; 10</text>");
}
END_TEST

/* The first of LC_ALL, LC_CTYPE and LANG that is set decides. */
START_TEST(the_locale_decides_about_utf8)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    static const struct {
        const char *values[3];
        bool is_utf8;
    } cases[] = {
        {{NULL, NULL, NULL}, false},          {{NULL, NULL, "C.UTF-8"}, true},
        {{NULL, NULL, "de_DE.utf8"}, true},   {{NULL, "C.utf-8", "C"}, true},
        {{NULL, "C", "C.UTF-8"}, false},      {{"C.UTF8", "C", "C"}, true},
        {{"C", "C.UTF-8", "C.UTF-8"}, false}, {{"", "", "C.UTF-8"}, true},
        {{"", "C", "C.UTF-8"}, false},        {{NULL, NULL, "C.UTF-16"}, false},
        {{NULL, NULL, "de_DE.UT"}, false},    {{NULL, NULL, "C.ISO8859-8"}, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int j = 0; j < 3; j++) {
            cases[i].values[j] != NULL ? setenv(names[j], cases[i].values[j], 1)
                                       : unsetenv(names[j]);
        }
        ck_assert_uint_eq(heed_label_terminal(), cases[i].is_utf8 ? 0 : HEED_LABEL_ASCII);
    }
    unsetenv("LC_CTYPE");
    unsetenv("LANG");
    setenv("LC_ALL", "C.UTF-8", 1);
}
END_TEST

START_TEST(labels_know_their_columns)
{
    ck_assert_int_eq(heed_label_columns("k\u00E4se", 100, 0), 4);
    ck_assert_int_eq(heed_label_columns("ka\u0308se", 100, 0), 4);
    ck_assert_int_eq(heed_label_columns("\u65E5\u672C", 100, 0), 4);
    ck_assert_int_eq(heed_label_columns("\u65E5\u672C", 100, HEED_LABEL_ASCII), 2);
    ck_assert_int_eq(heed_label_columns("\U0001F355", 100, 0), 2);
    ck_assert_int_eq(heed_label_columns(NULL, 100, 0), 0);
    ck_assert_int_eq(heed_label_columns("k", 0, 0), 0);
    heed_glyph glyphs[16];
    ck_assert_int_eq(heed_label_glyphs("ka\u0308se", glyphs, 16, 0), 4);
    static const struct {
        const char *label;
        int most;
        unsigned style;
        const char *shown;
    } cases[] = {
        {"attention", 5, 0, "atte\u2026"},
        {"attention", 5, HEED_LABEL_ASCII, "atte."},
        {"atten", 5, 0, "atten"},
        {"\u65E5\u672C\u8A9E", 4, 0, "\u65E5\u2026"},
        {" a b\n", 9, HEED_LABEL_TOKEN, "\u2423a b\u21B5"},
        {"  \t", 9, HEED_LABEL_TOKEN, "\u2423\u2423\u21E5"},
        {" a\n", 9, HEED_LABEL_TOKEN | HEED_LABEL_ASCII, " a?"},
        {"a\x1b[2J\x7f\xff", 9, 0, "a?[2J??"},
        {"\u202Ex", 9, 0, "?x"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        FILE *stream = begin();
        heed_label_put(stream, cases[i].label, cases[i].most, cases[i].style);
        fclose(stream);
        ck_assert_str_eq(printed, cases[i].shown);
    }
}
END_TEST

/* ---- the page around SVG ---- */

START_TEST(svg_follows_the_theme)
{
    const heed_curve c = curve("loss", 11, rising);
    const char *svg = svg_of(&c, 1, (heed_plot_options){.title = "a <title>"});
    expect_has(svg, "role=\"img\"");
    expect_has(svg, "<title>a &lt;title&gt;</title>\n<desc>");
    expect_has(svg, "@media (prefers-color-scheme:dark){:root:not([data-theme=light]) .heed-page{");
    expect_has(svg, ":root[data-theme=dark] .heed-page{");
    for (const char *at = svg; (at = strstr(at, "class=\"")) != NULL; at += 7) {
        ck_assert(strncmp(at + 7, "heed-", 5) == 0);
    }
    ck_assert_int_lt((int)strlen(svg), 8000);
}
END_TEST

START_TEST(long_curves_have_one_tooltip)
{
    enum { POINTS = 201 };
    double x[POINTS], y[POINTS];
    for (int i = 0; i < POINTS; i++) {
        x[i] = i;
        y[i] = sin(i);
    }
    heed_curve c = {.name = "c", .count = POINTS, .x = x, .y = y};
    ck_assert_int_eq(count_of(svg_of(&c, 1, (heed_plot_options){0}), "<circle"), 0);
    expect_has(printed, "<title>c -0.8733</title>");
    c.count = POINTS - 1;
    ck_assert_int_eq(count_of(svg_of(&c, 1, (heed_plot_options){0}), "<circle"), POINTS - 1);
}
END_TEST

/* ---- CSV ---- */

START_TEST(csv_has_a_row_for_each_step)
{
    static const double x[] = {1, 2.5, 4}, y[] = {0.1, (double)NAN, 1e-300};
    const heed_curve curves[] = {curve("a,b", 5, falling),
                                 {.name = "say \"hi\"", .count = 3, .x = x, .y = y}};
    ck_assert_str_eq(csv_of(curves, 2), "step,\"a,b\",\"say \"\"hi\"\"\"\n"
                                        "0,10,\n"
                                        "1,9,0.1\n"
                                        "2,8,\n"
                                        "2.5,,nan\n"
                                        "3,7,\n"
                                        "4,6,1e-300\n");
    static const char *const names[] = {"a\rb", "a\nb", "a,b", "a b"}; /* the last is not quoted */
    static const char *const headers[] = {"step,\"a\rb\"\n0", "step,\"a\nb\"\n0", "step,\"a,b\"\n0",
                                          "step,a b\n0"};
    for (int i = 0; i < 4; i++) {
        const heed_curve named = curve(names[i], 5, falling);
        const char *text = csv_of(&named, 1);
        ck_assert_msg(strncmp(text, headers[i], strlen(headers[i])) == 0, "%s", text);
    }
    const double value = 0.1 + 0.2;
    const heed_curve c = {.name = "c", .count = 1, .x = &value, .y = &value};
    ck_assert_str_eq(csv_of(&c, 1), "step,c\n0.30000000000000004,0.30000000000000004\n");
    const heed_curve large = {.name = "c",
                              .count = 2,
                              .x = (const double[]){1, 2},
                              .y = (const double[]){999999999999999, 1e15}};
    ck_assert_str_eq(csv_of(&large, 1), "step,c\n1,999999999999999\n2,1e+15\n");
}
END_TEST

/* ---- attention ---- */

static heed_tensor *causal(int64_t heads)
{
    return heed_expand(
        heed_from_f32((float[]){1, 0, 0, 0.25f, 0.75f, 0, 0.1f, 0.07f, 0.83f}, HEED_SHAPE(1, 3, 3)),
        HEED_SHAPE(heads, 3, 3));
}

static const char *const words[] = {"the", " cow", "\n"};

START_TEST(attention_svg_has_a_cell_for_each_weight)
{
    const char *svg = picture_of(heed_attention_svg, causal(2),
                                 (heed_attention_plot_options){.title = "a", .queries = words});
    expect_xml(svg);
    expect_has(svg, "<path fill-opacity=\"0.83\" d=\"M44 44h22v22h-22z\"><title>head 2: \u21B5 "
                    "attends to \u21B5: 83.0 %</title></path>");
    ck_assert_int_eq(count_of(svg, " attends to "), 2 * 6);
    expect_has(svg, "head 1: \u2423cow attends to the: 25.0 %");
    expect_has(svg, ">query looks</text>");
    expect_has(svg, ">key is seen</text>");
    expect_has(svg, "<text x=\"204\" y=\"42.0\">100 %</text>"); /* after 20 steps of 8 pixels */
    svg = picture_of(heed_attention_svg, heed_select(causal(1), 0, 0),
                     (heed_attention_plot_options){0});
    expect_xml(svg);
    expect_has(svg, "<title>query 3 attends to key 2: 7.0 %</title>");
    ck_assert_ptr_null(strstr(svg, "head 1"));
}
END_TEST

/* Every label of every token of a sentence is there, in cells that are as high as its letters; four
 * heads are side by side. A long context has at least every second label. */
START_TEST(attention_labels_can_be_read)
{
    static const char *const letters[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i",
                                          "j", "k", "l", "m", "n", "o", "p", "q", "r",
                                          "s", "t", "u", "v", "w", "x", "y", "z", "."};
    enum { LETTERS = 27, LONG = 64, LEAST_CELL = 12 };
    const char *labels[LONG];
    for (int i = 0; i < LONG; i++) {
        labels[i] = letters[i % LETTERS];
    }
    const int counts[] = {LETTERS, LONG};
    for (int i = 0; i < 2; i++) {
        const int n = counts[i];
        heed_tensor *w = heed_full(HEED_SHAPE(4, n, n), 1.0 / n, HEED_F64);
        const char *svg =
            picture_of(heed_attention_svg, w, (heed_attention_plot_options){.queries = labels});
        expect_xml(svg);
        const int each = n == LETTERS ? 1 : 2, rows = count_of(svg, ">query looks<");
        ck_assert_int_eq(rows, each);
        if (n == LETTERS) { /* as key of each head, and as query */
            ck_assert_int_eq(count_of(svg, ">b</text>"), 4 + rows);
        }
        const char *cell = strstr(svg, "d=\"M0 0h");
        ck_assert_ptr_nonnull(cell);
        ck_assert_double_ge(strtod(cell + 8, NULL) * each, LEAST_CELL);
        ck_assert_double_le(strtod(strstr(svg, " width=\"") + 8, NULL), 1440.0);
    }
}
END_TEST

/* Panels wrap evenly to fit the width. */
START_TEST(attention_svg_wraps)
{
    const heed_attention_plot_options narrow = {.queries = words, .width = 250};
    expect_xml(picture_of(heed_attention_svg, causal(5), narrow));
    expect_has(printed, "width=\"250\"");
    const int lines = count_of(printed, ">query looks<");
    ck_assert_int_ge(lines, 2);
    double first = -1, last = -1;
    for (const char *at = printed; (at = strstr(at, "\" transform=\"translate(")) != NULL;) {
        last = strtod(strchr(at += 22, ' '), NULL); /* y of a panel */
        first = first < 0 ? last : first;
    }
    ck_assert_double_ge(last - first, 100 * (lines - 1));
    picture_of(heed_attention_svg, causal(4), (heed_attention_plot_options){.width = 2000});
    ck_assert_int_eq(count_of(printed, ">query looks<"), 1);
}
END_TEST

START_TEST(attention_of_any_size_is_drawn)
{
    static const int64_t sizes[][3] = {{1, 1, 1}, {0, 3, 3}, {2, 0, 3},  {2, 3, 0},
                                       {1, 1, 7}, {3, 7, 1}, {1, 5, 300}};
    for (int i = 0; i < 7; i++) {
        const int64_t *n = sizes[i];
        heed_tensor *w =
            heed_full(HEED_SHAPE(n[0], n[1], n[2]), 1 / fmax((double)n[2], 1), HEED_F64);
        expect_xml(picture_of(heed_attention_svg, w, (heed_attention_plot_options){0}));
        picture_of(heed_attention_text, w, (heed_attention_plot_options){.width = 60});
        for (const char *at = printed; *at != '\0';) {
            ck_assert_int_le(columns_of_line(at, &at), 60);
        }
        picture_of(heed_attention_csv, w, (heed_attention_plot_options){0});
        ck_assert_int_eq(count_of(printed, "\n"), 1 + (int)(n[0] * n[1] * n[2]));
    }
    /* with fewer query labels than keys, keys have no labels */
    picture_of(heed_attention_svg, heed_full(HEED_SHAPE(3, 9), 1 / 9.0, HEED_F64),
               (heed_attention_plot_options){.queries = words});
    expect_has(printed, "the attends to key 9");
}
END_TEST

START_TEST(attention_csv_lists_all_weights)
{
    ck_assert_str_eq(picture_of(heed_attention_csv, heed_narrow(causal(1), 1, 1, 1),
                                (heed_attention_plot_options){.queries = words + 1, .keys = words}),
                     "head,query,key,query_label,key_label,weight\n"
                     "1,1,1, cow,the,0.25\n"
                     "1,1,2, cow, cow,0.75\n"
                     "1,1,3, cow,\"\n\",0\n");
    heed_tensor *w = heed_from_f32((float[]){0.1f, 0.9f}, HEED_SHAPE(1, 2));
    picture_of(heed_attention_csv, w, (heed_attention_plot_options){0});
    expect_has(printed, "1,1,1,,,0.1\n"); /* the fewest digits that a float needs */
}
END_TEST

START_TEST(attention_text_has_heads_side_by_side)
{
    picture_of(heed_attention_text, causal(2),
               (heed_attention_plot_options){.title = "a", .queries = words, .width = 60});
    ck_assert_str_eq(printed, "a\n"
                              "rows: queries; columns: keys\n"
                              "     head 1        head 2\n"
                              "            ␣             ␣    \n"
                              "        t   c         t   c    \n"
                              "        h   o         h   o    \n"
                              "        e   w   ↵     e   w   ↵\n"
                              " the █100   ·   ·  █100   ·   ·\n"
                              "␣cow ░ 25▓ 75   ·  ░ 25▓ 75   ·\n"
                              "   ↵   10   7█ 83    10   7█ 83\n");
    picture_of(heed_attention_text, causal(2), (heed_attention_plot_options){.width = 20});
    expect_has(printed, "\n\n head 2\n"); /* one below the other */
}
END_TEST

START_TEST(attention_must_be_weights)
{
    FILE *stream = begin();
    attention_plot *const plots[] = {heed_attention_text, heed_attention_svg, heed_attention_csv};
    static const char *const names[] = {"attention_text: ", "attention_svg: ", "attention_csv: "};
    for (int i = 0; i < 3; i++) {
        const heed_attention_plot_options none = {0};
        plots[i](stream, heed_full(HEED_SHAPE(2, 2), 0.7, HEED_F32), none);
        expect_error(HEED_ERR_VALUE, "head 0, query 0 (from 0) sum to 1.4");
        plots[i](stream, heed_full(HEED_SHAPE(2, 2), (double)NAN, HEED_F32), none);
        expect_error(HEED_ERR_VALUE, "nan");
        plots[i](stream, heed_zeros(HEED_SHAPE(2, 2), HEED_I64), none);
        expect_error(HEED_ERR_DTYPE, "weights are i64");
        plots[i](stream, heed_zeros(HEED_SHAPE(2, 2, 2, 2), HEED_F32), none);
        expect_error(HEED_ERR_SHAPE, "4 dims");
        plots[i](stream, NULL, none);
        expect_error(HEED_ERR_NULL, names[i]);
        plots[i](stream, heed_zeros(HEED_SHAPE(2, 2), HEED_F32), none); /* fully masked */
        plots[i](stream, heed_full(HEED_SHAPE(2, 1), 1e-3, HEED_F64), none);
        plots[i](stream, heed_full(HEED_SHAPE(2, 1), 1.00099, HEED_F64), none);
        expect_no_error();
        plots[i](stream, heed_full(HEED_SHAPE(2, 1), 1.0011, HEED_F64), none);
        expect_error(HEED_ERR_VALUE, "sum to 1.0011");
        plots[i](stream, heed_full(HEED_SHAPE(2, 1), 0.0011, HEED_F64), none);
        expect_error(HEED_ERR_VALUE, "sum to 0.0011");
    }
    fclose(stream);
}
END_TEST

/* ---- heat maps ---- */

static const char *heat_map(heed_tensor *weights, const char *const *labels, const char *columns,
                            heed_color color)
{
    FILE *stream = begin();
    setenv("COLUMNS", columns, 1);
    heed_heat_map(stream, weights, labels, labels, color);
    unsetenv("COLUMNS");
    fclose(stream);
    expect_no_error();
    return printed;
}

START_TEST(heat_maps_fit_the_terminal)
{
    static const char *const labels[] = {"a", "b", "c"};
    heed_tensor *w = heed_select(causal(1), 0, 0);
    ck_assert_str_eq(heat_map(w, labels, "14", HEED_COLOR_NEVER), "     a   b   c\n"
                                                                  "a █100   ·   ·\n"
                                                                  "b ░ 25▓ 75   ·\n"
                                                                  "c   10   7█ 83\n");
    ck_assert_str_eq(heat_map(w, labels, "13", HEED_COLOR_NEVER), "   a b c\n"
                                                                  "a ██    \n"
                                                                  "b ░░▓▓  \n"
                                                                  "c ░░░░██\n");
    ck_assert_str_eq(heat_map(w, labels, "7", HEED_COLOR_NEVER), "  abc\n"
                                                                 "a █  \n"
                                                                 "b ░▓ \n"
                                                                 "c ░░█\n");
    ck_assert_str_eq(heat_map(w, labels, "4", HEED_COLOR_NEVER), "  ab\n"
                                                                 "a █ \n"
                                                                 "b ░▓\n"
                                                                 "c ░░\n"
                                                                 "\n"
                                                                 "  c\n"
                                                                 "a  \n"
                                                                 "b  \n"
                                                                 "c █\n");
    ck_assert_str_eq(heat_map(w, labels, "7", HEED_COLOR_ALWAYS) + 6,
                     "a \033[48;5;158m\033[38;5;16m \033[0m"
                     "\033[48;5;233m\033[38;5;252m \033[0m\033[48;5;233m\033[38;5;252m \033[0m\n"
                     "b \033[48;5;23m\033[38;5;252m \033[0m\033[48;5;79m\033[38;5;16m \033[0m"
                     "\033[48;5;233m\033[38;5;252m \033[0m\n"
                     "c \033[48;5;233m\033[38;5;252m \033[0m\033[48;5;233m\033[38;5;252m \033[0m"
                     "\033[48;5;121m\033[38;5;16m \033[0m\n");
}
END_TEST

START_TEST(heat_maps_use_ascii_without_utf8)
{
    static const char *const labels[] = {"\u65E5", "k\u00E4", "e\u0301"};
    heed_tensor *w = heed_select(causal(1), 0, 0);
    ck_assert_str_eq(heat_map(w, labels, "80", HEED_COLOR_NEVER), "          k    \n"
                                                                  "     日   ä   e\u0301\n"
                                                                  "日 █100   ·   ·\n"
                                                                  "kä ░ 25▓ 75   ·\n"
                                                                  " e\u0301   10   7█ 83\n");
    setenv("LC_ALL", "C", 1);
    ck_assert_str_eq(heat_map(w, labels, "80", HEED_COLOR_NEVER), "          k    \n"
                                                                  "      ?   ?   e\n"
                                                                  " ? @100   .   .\n"
                                                                  "k? : 25# 75   .\n"
                                                                  " e   10   7# 83\n");
    ck_assert_str_eq(heat_map(w, NULL, "7", HEED_COLOR_NEVER), " @@    \n"
                                                               " ==##  \n"
                                                               " ::::@@\n");
    setenv("LC_ALL", "C.UTF-8", 1);
}
END_TEST

/* ---- errors ---- */

START_TEST(failing_streams_are_reported)
{
    const heed_curve c = curve("loss", 11, rising);
    FILE *stream = fopen("/dev/null", "r"); /* not writable */
    ck_assert_ptr_nonnull(stream);
    heed_tensor *w = causal(1);
    for (int i = 0; i < 6; i++) {
        const heed_plot_options curves = {0};
        const heed_attention_plot_options heads = {0};
        const heed_status status = i == 0   ? heed_plot_text(stream, &c, 1, curves)
                                   : i == 1 ? heed_plot_svg(stream, &c, 1, curves)
                                   : i == 2 ? heed_plot_csv(stream, &c, 1)
                                   : i == 3 ? heed_attention_text(stream, w, heads)
                                   : i == 4 ? heed_attention_svg(stream, w, heads)
                                            : heed_attention_csv(stream, w, heads);
        ck_assert_int_eq(status, HEED_ERR_FILE);
        /* A later call does not know why an earlier one failed. */
        expect_file_error("stream: cannot write", EIO);
        clearerr(stream);
    }
    fclose(stream);
    stream = fopen("/dev/full", "w"); /* fails when flushed */
    if (stream != NULL) {
        heed_plot_csv(stream, &c, 1);
        expect_file_error("plot_csv: stream: cannot write", ENOSPC);
        fclose(stream);
    }
}
END_TEST

START_TEST(curves_must_be_whole)
{
    FILE *stream = begin();
    heed_curve c = curve(NULL, 11, rising);
    heed_plot_csv(stream, &c, 1);
    expect_error(HEED_ERR_NULL, "plot_csv: curve 0 has no name");
    c = curve("c", 11, NULL);
    heed_plot_text(stream, &c, 1, (heed_plot_options){0});
    expect_error(HEED_ERR_NULL, "plot_text: curve 0");
    heed_plot_svg(NULL, &c, 0, (heed_plot_options){0});
    expect_error(HEED_ERR_NULL, "plot_svg: stream");
    heed_plot_svg(stream, NULL, 1, (heed_plot_options){0});
    expect_error(HEED_ERR_NULL, "plot_svg: ");
    fclose(stream);
}
END_TEST

void add_plot_cases(Suite *suite)
{
    TCase *curves = heed_case(suite, "curves");
    tcase_add_test(curves, text_has_points_at_their_places);
    lacking(has_comma_locale() ? NULL : "no locale has a decimal comma");
    tcase_add_test(curves, numbers_have_a_point_in_all_locales);
    lacking(NULL);
    tcase_add_test(curves, svg_has_points_at_their_places);
    tcase_add_test(curves, axes_have_round_numbers);
    tcase_add_test(curves, text_fits_any_size);
    tcase_add_test(curves, many_curves_are_drawn);
    tcase_add_test(curves, smoothed_curves_show_their_numbers);
    tcase_add_test(curves, curves_can_be_told_apart);
    required(has_terminals(), "this machine has no pseudo-terminals; mount /dev/pts");
    tcase_add_test(curves, terminals_have_colors);
    tcase_add_test(curves, terminals_have_a_size);
    lacking(NULL);
    tcase_add_test(curves, smoothing_is_as_in_tensorboard);
    tcase_add_test(curves, spikes_are_marked_at_the_nearest_point);
    tcase_add_test(curves, text_ends_of_long_ranges_are_whole);
    tcase_add_test(curves, any_values_can_be_drawn);
    tcase_add_test(curves, names_may_have_any_bytes);
    tcase_add_test(curves, the_locale_decides_about_utf8);
    tcase_add_test(curves, labels_know_their_columns);
    tcase_add_test(curves, svg_follows_the_theme);
    tcase_add_test(curves, long_curves_have_one_tooltip);
    tcase_add_test(curves, csv_has_a_row_for_each_step);
    TCase *attention = heed_case(suite, "attention_pictures");
    tcase_add_test(attention, attention_svg_has_a_cell_for_each_weight);
    tcase_add_test(attention, attention_labels_can_be_read);
    tcase_add_test(attention, attention_svg_wraps);
    tcase_add_test(attention, attention_of_any_size_is_drawn);
    tcase_add_test(attention, attention_csv_lists_all_weights);
    tcase_add_test(attention, attention_text_has_heads_side_by_side);
    tcase_add_test(attention, attention_must_be_weights);
    tcase_add_test(attention, heat_maps_fit_the_terminal);
    tcase_add_test(attention, heat_maps_use_ascii_without_utf8);
    tcase_add_test(attention, failing_streams_are_reported);
    tcase_add_test(attention, curves_must_be_whole);
}
