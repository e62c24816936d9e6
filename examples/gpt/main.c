/* Trains a GPT on a text of one's own, lets it write, and says how well it foresees.
 *
 *     build/gpt train --text FILE --save FILE        build/gpt --help
 *     build/gpt sample --load FILE --prompt TEXT
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "examples/common/console.h"
#include "examples/gpt/commands.h"
#include "examples/gpt/options.h"

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"train", gpt_train}, {"sample", gpt_sample}, {"eval", gpt_eval},
    {"info", gpt_info},   {"export", gpt_export},
};

/* gpt help, gpt help train, gpt --help */
static bool wants_help(const char *word)
{
    return strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* The text is mapped: if it is cut off in the moment in which it is read, the system says it so. */
static void text_is_cut(int number)
{
    static const char message[] = "gpt: --text: the file has become shorter while it was read\n";
    const ssize_t written = write(STDERR_FILENO, message, sizeof message - 1);
    (void)number;
    (void)written;
    _exit(1);
}

int main(int argc, char **argv)
{
    console_hold();
    signal(SIGBUS, text_is_cut);
    if (*heed_isa() == '\0') {
        return gpt_end(true); /* HEED_ISA asks for what there is not */
    }
    if (argc < 2) {
        gpt_usage(stderr);
        return 2;
    }
    if (wants_help(argv[1])) {
        if (!gpt_help(argc > 2 ? argv[2] : NULL, stdout)) {
            heed_fail(HEED_ERR_VALUE, "there is no command '%s'", argv[2]);
        }
        return gpt_end(false);
    }
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (strcmp(argv[1], commands[i].name) == 0) {
            return commands[i].run(argc - 1, argv + 1);
        }
    }
    heed_fail(HEED_ERR_VALUE, "there is no command '%s': it is train, sample, eval, info or export",
              argv[1]);
    return gpt_end(false);
}
