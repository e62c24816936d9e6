/* How a command begins and ends. */
#include "examples/gpt/commands.h"

#include "examples/common/console.h"
#include "examples/gpt/options.h"

int gpt_end(bool ready)
{
    const heed_status error = heed_error_pending();
    if (error != HEED_OK) {
        return console_complain("gpt", "--batch, --context or --n-embd",
                                ready || error == HEED_ERR_MEMORY ? 1 : 2);
    }
    return console_finish("gpt");
}

bool gpt_begin(const flag_table *flags, void *options, int argc, char **argv, int *status)
{
    const bool help = flags_read(flags, options, argc, argv);
    if (help) {
        gpt_help(argv[0], stdout);
    }
    *status = help || heed_error_pending() ? gpt_end(false) : 0;
    return !help && *status == 0;
}
