/* Prints what heed_attention_check found: one line a check, the reach as a picture, the mistake. */

#include <string.h>

#include "check.h"

static const char *const names[HEED_ATTENTION_CHECKS] = {"repeat",     "batch", "reach",  "values",
                                                         "order",      "equal", "length", "padding",
                                                         "parameters", "cache", "formula"};

/* Strength of an effect, in quarters of the largest. */
static char shade(double effect)
{
    return effect > 0.5 ? '#' : effect > 0.2 ? '*' : effect > 0.05 ? '+' : '-';
}

enum { INDENT = 20, COLUMNS = 80 };

/* Words of a text that begins after INDENT blanks, in lines that do. */
static void print_words(FILE *stream, const char *text)
{
    int column = INDENT;
    while (*text != '\0') {
        const int length = (int)strcspn(text, " ");
        if (column > INDENT && column + 1 + length > COLUMNS) {
            fprintf(stream, "\n%*s", INDENT, "");
            column = INDENT;
        } else if (column > INDENT) {
            fputc(' ', stream);
            column++;
        }
        fprintf(stream, "%.*s", length, text);
        column += length;
        text += length;
        text += strspn(text, " ");
    }
    fputc('\n', stream);
}

static void print_reach(FILE *stream, const heed_attention_report *r)
{
    bool leaks = false, dead = false;
    fprintf(stream, "\n  effect of token (column) on output (row):\n\n     ");
    for (int j = 0; j < r->tokens; j++) {
        fprintf(stream, " %d", j);
    }
    fputc('\n', stream);
    for (int i = 0; i < r->tokens; i++) {
        fprintf(stream, "  %2d ", i);
        for (int j = 0; j < r->tokens; j++) {
            const double effect = r->reach[i][j];
            const bool has = !(effect <= 1e-8);
            const bool leak = has && r->expected[i][j] == '.';
            const bool none = !has && r->expected[i][j] == '#';
            leaks = leaks || leak;
            dead = dead || none;
            fprintf(stream, " %c", leak ? '!' : none ? 'x' : has ? shade(effect) : '.');
        }
        fputc('\n', stream);
    }
    fputs("\n  as expected: . no effect, - to # an effect\n", stream);
    fputs(leaks ? "  wrong:       ! an effect that should not be\n" : "", stream);
    fputs(dead ? "  wrong:       x no effect where one should be\n" : "", stream);
}

void heed_attention_report_print(FILE *stream, const heed_attention_report *report)
{
    static const char *const verdicts[] = {[HEED_VERDICT_SKIPPED] = "-",
                                           [HEED_VERDICT_PASSED] = "ok",
                                           [HEED_VERDICT_FAILED] = "WRONG",
                                           [HEED_VERDICT_UNKNOWN] = "?"};
    int failed = 0, passed = 0;
    fputs("attention check\n\n", stream);
    if (report->assumed[0] != '\0') {
        fputs("  assumed           ", stream);
        print_words(stream, report->assumed);
        fputc('\n', stream);
    }
    for (int i = 0; i < HEED_ATTENTION_CHECKS; i++) {
        const heed_verdict verdict = report->checks[i].verdict;
        failed += verdict == HEED_VERDICT_FAILED;
        passed += verdict == HEED_VERDICT_PASSED;
        fprintf(stream, "  %-11s%-7s", names[i], verdicts[verdict]);
        print_words(stream, report->checks[i].text);
    }
    if (report->checks[HEED_CHECK_REACH].verdict != HEED_VERDICT_SKIPPED) {
        print_reach(stream, report);
    }
    if (report->mistake[0] != '\0') {
        fputs("\n  likely mistake    ", stream);
        print_words(stream, report->mistake);
    }
    if (!report->passed) {
        fprintf(stream, "\nWRONG: %d checks passed, %d failed\n", passed, failed);
        return;
    }
    fprintf(stream, "\npassed: %d checks", passed);
    const char *between = "; not checked: ";
    for (int i = 0; i < HEED_ATTENTION_CHECKS; i++) {
        if (i != HEED_CHECK_FORMULA && report->checks[i].verdict == HEED_VERDICT_UNKNOWN) {
            fprintf(stream, "%s%s", between, names[i]);
            between = ", ";
        }
    }
    if (report->checks[HEED_CHECK_FORMULA].verdict != HEED_VERDICT_PASSED) {
        fprintf(stream, "%sthe scale and the projections (%s)", between,
                report->checks[HEED_CHECK_FORMULA].text);
    }
    fputc('\n', stream);
}
