/* Prints what heed_attention_check found: one line a check, the reach as a picture, the mistake. */

#include "../plot/terminal.h"
#include "attention_check.h"

static const char *const names[HEED_ATTENTION_CHECKS] = {
    "repeat", "batch",   "reach",      "values", "order",   "equal",
    "length", "padding", "parameters", "cache",  "formula", "derivative"};

/* Strength of an effect, in quarters of the largest. */
static const char *shade(double effect, bool is_ascii)
{
    static const char *const blocks[] = {"░", "▒", "▓", "█"}, *const letters[] = {"-", "+", "*",
                                                                                  "#"};
    const int level = effect > 0.5 ? 3 : effect > 0.2 ? 2 : effect > 0.05 ? 1 : 0;
    return is_ascii ? letters[level] : blocks[level];
}

static void print_reach(FILE *stream, const heed_attention_report *r)
{
    const bool is_ascii = (heed_label_terminal() & HEED_LABEL_ASCII) != 0;
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
            fprintf(stream, " %s", leak ? "!" : none ? "x" : has ? shade(effect, is_ascii) : ".");
        }
        fputc('\n', stream);
    }
    fprintf(stream, "\n  . no effect, as expected; %s to %s an effect, as expected%s%s\n",
            shade(0, is_ascii), shade(1, is_ascii), leaks ? "; ! an effect that should not be" : "",
            dead ? "; x no effect where one should be" : "");
}

void heed_attention_report_print(FILE *stream, const heed_attention_report *report)
{
    static const char *const verdicts[] = {[HEED_VERDICT_SKIPPED] = "-",
                                           [HEED_VERDICT_PASSED] = "ok",
                                           [HEED_VERDICT_FAILED] = "WRONG",
                                           [HEED_VERDICT_UNKNOWN] = "?"};
    int failed = 0, passed = 0;
    fputs("attention check\n\n", stream);
    for (int i = 0; i < HEED_ATTENTION_CHECKS; i++) {
        const heed_verdict verdict = report->checks[i].verdict;
        failed += verdict == HEED_VERDICT_FAILED;
        passed += verdict == HEED_VERDICT_PASSED;
        fprintf(stream, "  %-11s%-7s%s\n", names[i], verdicts[verdict], report->checks[i].text);
    }
    if (report->checks[HEED_CHECK_REACH].verdict != HEED_VERDICT_SKIPPED) {
        print_reach(stream, report);
    }
    if (report->mistake[0] != '\0') {
        fprintf(stream, "\n  likely mistake: %s.\n", report->mistake);
    }
    fprintf(stream, "\n%s: %d checks passed, %d failed\n", report->passed ? "passed" : "WRONG",
            passed, failed);
}
