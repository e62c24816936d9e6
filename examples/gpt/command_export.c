/* gpt export: a model as others read it. */
#include <stdio.h>

#include "examples/common/preflight.h"
#include "examples/gpt/commands.h"
#include "examples/gpt/loaded.h"

static void check(const gpt_export_options *o)
{
    if (o->to == NULL) {
        heed_fail(HEED_ERR_VALUE, "no --to PATH for what is written");
    } else if (o->layout == GPT_EXPORT_NANOGPT) {
        const path_use files[] = {{.flag = "--load", .path = o->load},
                                  {.flag = "--to", .path = o->to, .written = true}};
        path_check_all(files, 2);
    } else if (path_same(o->to, o->load)) {
        heed_fail(HEED_ERR_VALUE, "--to is --load: it is a folder that is written");
    }
}

int gpt_export(int argc, char **argv)
{
    gpt_export_options o = {.load = NULL};
    gpt_loaded l = {.model = NULL};
    int status = 0;
    if (!gpt_begin(&gpt_export_flags, &o, argc, argv, &status)) {
        return status;
    }
    flags_complete(&gpt_export_flags, &o, 0);
    check(&o);
    if (!heed_error_pending()) {
        gpt_load(&l, "--load", o.load);
    }
    const bool ready = !heed_error_pending();
    if (ready && o.layout == GPT_EXPORT_GPT2) {
        gpt_loaded_export(&l, o.to);
    } else if (ready) {
        heed_gpt_save(l.model, o.to, HEED_GPT_LAYOUT_NANOGPT);
    }
    if (ready) {
        flags_blame("--to", HEED_ERR_FILE);
    }
    status = gpt_end(ready);
    gpt_loaded_free(&l);
    return status;
}
