/* Heat maps, and the terminals and labels that they are made for. */
#define _XOPEN_SOURCE 700 /* posix_openpt */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "nn/terminal.h"
#include "tests/common/test_util.h"

static char printed[1 << 16];

static FILE *begin(void)
{
    FILE *stream = fmemopen(printed, sizeof printed, "w");
    ck_assert_ptr_nonnull(stream);
    return stream;
}

static heed_tensor *causal(int64_t heads)
{
    return heed_expand(
        heed_from_f32((float[]){1, 0, 0, 0.25f, 0.75f, 0, 0.1f, 0.07f, 0.83f}, HEED_SHAPE(1, 3, 3)),
        HEED_SHAPE(heads, 3, 3));
}

/* ---- terminals ---- */

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

static heed_color heat_color;

static void draw_heat(FILE *stream)
{
    heed_heat_map(stream, heed_full(HEED_SHAPE(1, 2), 0.5, HEED_F32), NULL, NULL, heat_color);
}

START_TEST(terminals_have_colors)
{
    static const heed_color colors[] = {HEED_COLOR_AUTO, HEED_COLOR_ALWAYS, HEED_COLOR_NEVER};
    setenv("TERM", "xterm", 1);
    for (int i = 0; i < 3; i++) {
        heat_color = colors[i];
        ck_assert((strchr(shown_by_terminal(draw_heat), '\033') != NULL) == (i < 2));
    }
    heat_color = HEED_COLOR_AUTO;
    setenv("NO_COLOR", "", 1); /* as if it were not set */
    ck_assert_ptr_nonnull(strchr(shown_by_terminal(draw_heat), '\033'));
    setenv("NO_COLOR", "1", 1);
    ck_assert_ptr_null(strchr(shown_by_terminal(draw_heat), '\033'));
    unsetenv("NO_COLOR");
    setenv("TERM", "dumb", 1);
    ck_assert_ptr_null(strchr(shown_by_terminal(draw_heat), '\033'));
}
END_TEST

/* COLUMNS goes before the size of the terminal. */
START_TEST(terminals_have_a_size)
{
    const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    FILE *stream = fdopen(terminal, "r+");
    const struct winsize size = {.ws_row = 33, .ws_col = 77};
    ck_assert_int_eq(ioctl(terminal, TIOCSWINSZ, &size), 0);
    ck_assert_int_eq(heed_terminal_columns(stream, 80), 77);
    static const struct {
        const char *set;
        int columns;
    } cases[] = {{"1", 1}, {"2", 2}, {"0", 77}, {"-5", 77}, {"20000", 10000}};
    for (int i = 0; i < 5; i++) {
        setenv("COLUMNS", cases[i].set, 1);
        ck_assert_int_eq(heed_terminal_columns(stream, 80), cases[i].columns);
        unsetenv("COLUMNS");
    }
    fclose(stream);
    stream = begin();
    ck_assert_int_eq(heed_terminal_columns(stream, 80), 80);
    fclose(stream);
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

void add_heat_map_cases(Suite *suite)
{
    TCase *tests = heed_case(suite, "heat_map");
    required(has_terminals(), "this machine has no pseudo-terminals; mount /dev/pts");
    tcase_add_test(tests, terminals_have_colors);
    tcase_add_test(tests, terminals_have_a_size);
    lacking(NULL);
    tcase_add_test(tests, the_locale_decides_about_utf8);
    tcase_add_test(tests, labels_know_their_columns);
    tcase_add_test(tests, heat_maps_fit_the_terminal);
    tcase_add_test(tests, heat_maps_use_ascii_without_utf8);
}
