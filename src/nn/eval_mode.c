#include "eval_mode.h"

#include "../tensor/alloc.h"

static void list(heed_eval_mode *mode, heed_module *m)
{
    struct heed_mode *grown =
        heed_grow(mode->modes, mode->count, &mode->capacity, sizeof *mode->modes);
    if (grown == NULL) {
        return;
    }
    mode->modes = grown;
    grown[mode->count++] = (struct heed_mode){m, m->training};
    for (int i = 0; i < m->count; i++) {
        if (m->entries[i].child != NULL) {
            list(mode, m->entries[i].child);
        }
    }
}

heed_status heed_eval_begin(heed_eval_mode *mode, void *module)
{
    list(mode, module);
    for (int64_t i = 0; i < mode->count && !heed_error_pending(); i++) {
        if (mode->modes[i].training) {
            mode->modes[i].module->training = false;
        }
    }
    return heed_error_pending();
}

void heed_eval_end(heed_eval_mode *mode)
{
    for (int64_t i = 0; i < mode->count; i++) {
        if (mode->modes[i].module->training != mode->modes[i].training) {
            mode->modes[i].module->training = mode->modes[i].training;
        }
    }
    heed_free(mode->modes);
}
