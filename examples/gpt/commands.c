/* How a command begins and ends. */
#include "examples/gpt/commands.h"

#include "examples/common/console.h"
#include "examples/gpt/options.h"

/* The flags of the command that ask for more or less memory. */
static const char *needs_less;

int gpt_end(bool ready)
{
    const heed_status error = heed_error_pending();
    if (error != HEED_OK) {
        return console_complain("gpt", needs_less, ready || error == HEED_ERR_MEMORY ? 1 : 2);
    }
    return console_finish("gpt");
}

bool gpt_begin(const flag_table *flags, void *options, int argc, char **argv, int *status)
{
    needs_less = flags == &gpt_train_flags  ? "--batch, --context or --n-embd"
                 : flags == &gpt_eval_flags ? "--batch"
                                            : NULL;
    const bool help = flags_read(flags, options, argc, argv);
    if (help) {
        gpt_help(argv[0], stdout);
    }
    *status = help || heed_error_pending() ? gpt_end(false) : 0;
    return !help && *status == 0;
}
