/* Evaluation mode for the length of a call (internal). */
#ifndef HEED_NN_EVAL_MODE_H
#define HEED_NN_EVAL_MODE_H

#include "module.h"

/* The modes of a module and its descendants when the call began. All zero: of none. */
typedef struct heed_eval_mode {
    struct heed_mode {
        heed_module *module;
        bool training;
    } * modes;
    int64_t count, capacity;
} heed_eval_mode;

/* heed_eval_begin: puts the modules into evaluation mode. heed_eval_end: returns each to its own
 * mode, even while an error is pending. Both write only what differs, as other threads may be
 * reading. HEED_ERR_MEMORY: no mode has changed. */
heed_status heed_eval_begin(heed_eval_mode *mode, void *module);
void heed_eval_end(heed_eval_mode *mode);

#endif
