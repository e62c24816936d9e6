/* The flags of next_token, and what its help says around them. */
#include "examples/next_token/options.h"

#define ROW(kind, field, ...) FLAG_ROW(options, kind, field, __VA_ARGS__)
static const flag_row flags[] = {OPTIONS(ROW)};
static const char *const tasks[TASKS + 1] = {"toy", "char", "word", NULL};
static const flag_table table = {flags, sizeof flags / sizeof *flags, tasks,
                                 "a text is --text FILE"};

options options_read(int argc, char **argv)
{
    options o = {.help = false};
    o.help = flags_read(&table, &o, argc, argv);
    return o;
}

void options_complete(options *o, options_task task)
{
    flags_complete(&table, o, (int)task);
}

static const char introduction[] =
    "usage: next_token [--text FILE] [--FLAG VALUE | --FLAG=VALUE] ...\n"
    "\n"
    "Trains a model with one self-attention to foresee the next token of a text of yours. Without\n"
    "--text it learns the toy: sentences such as \"the pizza came out of the oven and it tasted\n"
    "good\", and its attention is shown before and after.\n"
    "\n";

static const char conclusion[] =
    "\n"
    "The last tenth of a text is held out; without --prompt the model writes on after the "
    "beginning\n"
    "of it. Losses are in nats per token. A loaded model brings its level, vocabulary, d-model,\n"
    "heads and context; without --text it only writes. The same flags and files give the same\n"
    "output, word for word.\n"
    "\n"
    "What is shown goes to stdout, progress to stderr: a bar on a terminal, lines elsewhere\n"
    "and where TERM is dumb; NO_COLOR takes the colors away. Ctrl-C ends a "
    "training\n"
    "after the step at work, saves and draws; a second one ends the program at once.\n"
    "\n"
    "Exit status: 0, also after Ctrl-C; 2 if flags, or the files they name, are not as they "
    "should\n"
    "be; 1 for all else that fails.\n"
    "\n"
    "  next_token --text book.txt --save book.safetensors --plot book.svg\n"
    "  next_token --load book.safetensors --prompt \"It was\"\n"
    "  next_token --prompt \"the dragon was found near the castle and it\" --heads 2\n";

void options_help(FILE *stream)
{
    fputs(introduction, stream);
    flags_help(&table, stream);
    fputs(conclusion, stream);
}
