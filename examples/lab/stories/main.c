/* Writes short stories to train on, or a quiz about held-out stories.
 *
 *     build/stories > build/stories.txt        build/stories --quiz 300 > build/quiz.tsv
 */
#include <stdio.h>

#include "examples/lab/common/console.h"
#include "examples/lab/common/flags.h"
#include "examples/lab/stories/grammar.h"

#define OPTIONS(X) X(WHOLE, quiz, "N", 1, 1e9, FLAG_NONE, "write N questions instead of a text")

typedef struct options {
    FLAG_FIELDS(OPTIONS);
} options;

#define ROW(kind, field, ...) FLAG_ROW(options, kind, field, __VA_ARGS__)
static const flag_row rows[] = {OPTIONS(ROW)};
static const flag_table table = {rows, 1};

static const char introduction[] =
    "usage: stories [--quiz N] > FILE\n"
    "\n"
    "Writes a megabyte of short stories for gpt train --text FILE. With --quiz it writes\n"
    "questions about other stories, for gpt train --quiz FILE and gpt eval --quiz FILE. Each line\n"
    "contains a kind (pronoun, who or where), a context, the right answer and wrong ones,\n"
    "separated by tabs. The bytes are the same on every machine.\n"
    "\n";

static const char program[] = "stories";

int main(int argc, char **argv)
{
    options o = {.quiz = 0};
    console_begin(argv[0]);
    if (*heed_isa() == '\0') {
        return console_complain(program, 1); /* HEED_ISA names an unsupported set */
    }
    if (console_version(argc, argv)) {
        return console_finish(program);
    }
    const bool help = flags_read(&table, &o, argc, argv);
    if (heed_error_pending()) {
        return console_misused(program, NULL);
    }
    if (help) {
        fputs(introduction, stdout);
        flags_help(&table, stdout);
    } else if (o.given.quiz) {
        stories_quiz(stdout, 1, o.quiz);
    } else {
        stories_text(stdout, 1, 1000000);
    }
    return heed_error_pending() ? console_complain(program, 1) : console_finish(program);
}
