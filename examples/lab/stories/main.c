/* Writes short stories to train on, or a quiz about held-out stories.
 *
 *     build/stories --bytes 1000000 > build/stories.txt        build/stories --help
 *     build/stories --quiz 300 > build/quiz.tsv
 */
#include <stdio.h>

#include "examples/lab/common/console.h"
#include "examples/lab/common/flags.h"
#include "examples/lab/stories/grammar.h"

/* clang-format off */
#define OPTIONS(X)                                                                                 \
    X(WHOLE, bytes, "N", STORY_MOST_BYTES, INT64_MAX, (1000000),                                   \
      "maximum size of the text, in whole stories")                                                \
    X(WHOLE, quiz,  "N", 1,                1e9,       (FLAG_NONE),                                 \
      "write N questions instead of a text")                                                       \
    X(WHOLE, seed,  "N", 0,                INT64_MAX, (1),                                         \
      "random seed")
/* clang-format on */

typedef struct options {
    FLAG_FIELDS(OPTIONS);
} options;

#define ROW(kind, field, ...) FLAG_ROW(options, kind, field, __VA_ARGS__)
static const flag_row rows[] = {OPTIONS(ROW)};
static const flag_table table = {rows, sizeof rows / sizeof *rows};

static const char introduction[] =
    "usage: stories [--bytes N | --quiz N] [--seed N] > FILE\n"
    "\n"
    "Writes short stories for gpt train --text FILE. With --quiz it writes questions about\n"
    "held-out stories, for gpt train --quiz FILE and gpt eval --quiz FILE: no quiz story\n"
    "occurs in a text, whatever the seeds. The same flags give the same bytes on every machine.\n"
    "\n";

static const char conclusion[] =
    "\n"
    "A line of a quiz contains a kind (pronoun, who or where), a context, the right answer and\n"
    "wrong ones, separated by tabs.\n"
    "\n"
    "stories --version prints the version, the compiler and the instruction set.\n"
    "\n"
    "  stories > stories.txt\n"
    "  stories --quiz 300 > quiz.tsv\n"
    "  gpt train --text stories.txt --quiz quiz.tsv --save stories.safetensors\n";

static const char program[] = "stories";

int main(int argc, char **argv)
{
    options o = {.quiz = 0};
    console_begin(argv[0]);
    if (*heed_isa() == '\0') {
        /* HEED_ISA names an unsupported instruction set. */
        return console_complain(program, 1);
    }
    if (console_version(argc, argv)) {
        return console_finish(program);
    }
    const bool help = flags_read(&table, &o, argc, argv);
    flags_complete(&table, &o);
    if (o.given.bytes && o.given.quiz) {
        heed_fail(HEED_ERR_VALUE,
                  "--bytes and --quiz: choose one; a text and a quiz are separate files");
    }
    if (heed_error_pending()) {
        return console_misused(program, NULL);
    }
    if (help) {
        console_put_help(stdout, program, introduction);
        flags_help(&table, stdout);
        console_put_help(stdout, program, conclusion);
    } else if (o.given.quiz) {
        stories_quiz(stdout, (uint64_t)o.seed, o.quiz);
    } else {
        stories_text(stdout, (uint64_t)o.seed, o.bytes);
    }
    return heed_error_pending() ? console_complain(program, 1) : console_finish(program);
}
