/* Heat maps, and the terminals that they are made for. */
#define _XOPEN_SOURCE 700 /* posix_openpt */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "nn/nn.h"
#include "tests/common/test_util.h"

static char printed[1 << 16];

static FILE *begin(void)
{
    FILE *stream = fmemopen(printed, sizeof printed, "w");
    ck_assert_ptr_nonnull(stream);
    return stream;
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

/* ---- heat maps ---- */

static const char *heat_map(const char *const *labels, const char *columns, heed_color color)
{
    heed_tensor *weights =
        heed_from_f32((float[]){1, 0, 0, 0.25f, 0.75f, 0, 0.1f, 0.07f, 0.83f}, HEED_SHAPE(3, 3));
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
    ck_assert_str_eq(heat_map(labels, "14", HEED_COLOR_NEVER), "     a   b   c\n"
                                                               "a █100   ·   ·\n"
                                                               "b ░ 25▓ 75   ·\n"
                                                               "c   10   7█ 83\n");
    ck_assert_str_eq(heat_map(labels, "13", HEED_COLOR_NEVER), "   a b c\n"
                                                               "a ██    \n"
                                                               "b ░░▓▓  \n"
                                                               "c ░░░░██\n");
    ck_assert_str_eq(heat_map(labels, "7", HEED_COLOR_NEVER), "  abc\n"
                                                              "a █  \n"
                                                              "b ░▓ \n"
                                                              "c ░░█\n");
    ck_assert_str_eq(heat_map(labels, "7", HEED_COLOR_ALWAYS) + 6,
                     "a \033[48;5;158m\033[38;5;16m \033[0m"
                     "\033[48;5;233m\033[38;5;252m \033[0m\033[48;5;233m\033[38;5;252m \033[0m\n"
                     "b \033[48;5;23m\033[38;5;252m \033[0m\033[48;5;79m\033[38;5;16m \033[0m"
                     "\033[48;5;233m\033[38;5;252m \033[0m\n"
                     "c \033[48;5;233m\033[38;5;252m \033[0m\033[48;5;233m\033[38;5;252m \033[0m"
                     "\033[48;5;121m\033[38;5;16m \033[0m\n");
}
END_TEST

/* What is no share has the color of the nearest one. The longest label decides the width. */
START_TEST(heat_maps_take_any_number)
{
    setenv("COLUMNS", "80", 1);
    FILE *stream = begin();
    heed_heat_map(stream, heed_from_f32((float[]){-0.25f, 1.5f}, HEED_SHAPE(2, 1)),
                  (const char *const[]){"longest", "b"}, (const char *const[]){"x"},
                  HEED_COLOR_ALWAYS);
    fclose(stream);
    ck_assert_str_eq(strchr(printed, '\n') + 1, "longest \033[48;5;233m\033[38;5;252m -25\033[0m\n"
                                                "      b \033[48;5;158m\033[38;5;16m 150\033[0m\n");
}
END_TEST

/* The first of LC_ALL, LC_CTYPE and LANG that is set decides. */
START_TEST(heat_maps_use_ascii_without_utf8)
{
    static const struct {
        const char *all, *type, *lang;
        bool is_utf8;
    } cases[] = {
        {"C.UTF-8", "C", "C", true}, {"", "C.utf8", "C", true},   {"", "", "de_DE.UTF-8", true},
        {"C", "", "C.UTF-8", false}, {"", "C", "C.UTF-8", false}, {"", "", "", false},
    };
    static const char *const labels[] = {"\u65E5", "k\u00E4", "e"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setenv("LC_ALL", cases[i].all, 1);
        setenv("LC_CTYPE", cases[i].type, 1);
        setenv("LANG", cases[i].lang, 1);
        ck_assert_str_eq(heat_map(labels, "80", HEED_COLOR_NEVER), cases[i].is_utf8
                                                                       ? "          k    \n"
                                                                         "      日   ä   e\n"
                                                                         " 日 █100   ·   ·\n"
                                                                         "kä ░ 25▓ 75   ·\n"
                                                                         " e   10   7█ 83\n"
                                                                       : "          k    \n"
                                                                         "      ?   ?   e\n"
                                                                         " ? @100   .   .\n"
                                                                         "k? : 25# 75   .\n"
                                                                         " e   10   7# 83\n");
    }
    ck_assert_str_eq(heat_map(NULL, "7", HEED_COLOR_NEVER), " @@    \n"
                                                            " ==##  \n"
                                                            " ::::@@\n");
}
END_TEST

/* Controls, directional marks and invalid bytes are replaced, in rows and in columns. */
START_TEST(labels_are_safe_and_short)
{
    static const char *const labels[] = {"a\x1b[2J\n\x7f\xff", "\u202Ex\xC2\x9B\u2066\u2069",
                                         "the longest label of all"};
    setenv("LC_ALL", "C.UTF-8", 1);
    const char *text = heat_map(labels, "80", HEED_COLOR_NEVER);
    ck_assert_ptr_nonnull(strstr(text, "\n        a?[2J??? █100"));
    ck_assert_ptr_nonnull(strstr(text, "\n           ?x??? ░ 25"));
    ck_assert_ptr_nonnull(strstr(text, "\nthe longest lab…   10"));
    ck_assert_ptr_nonnull(strstr(text, "    a       e\n"));
    ck_assert_ptr_nonnull(strstr(text, "    ?   ?   …\n"));
    ck_assert_ptr_null(strpbrk(text, "\033\x7f"));
}
END_TEST

void add_heat_map_cases(Suite *suite)
{
    TCase *tests = heed_case(suite, "heat_map");
    tcase_add_test(tests, terminals_have_colors);
    tcase_add_test(tests, terminals_have_a_size);
    tcase_add_test(tests, heat_maps_fit_the_terminal);
    tcase_add_test(tests, heat_maps_take_any_number);
    tcase_add_test(tests, heat_maps_use_ascii_without_utf8);
    tcase_add_test(tests, labels_are_safe_and_short);
}
