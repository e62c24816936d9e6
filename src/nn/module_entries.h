/* What a module holds, for the files that make up the module (internal to nn). */
#ifndef HEED_NN_MODULE_ENTRIES_H
#define HEED_NN_MODULE_ENTRIES_H

#include "module.h"

typedef enum heed_entry_kind { HEED_PARAMETER, HEED_BUFFER, HEED_CHILD } heed_entry_kind;

typedef struct heed_module_entry {
    heed_entry_kind kind;
    char *name;
    heed_tensor *tensor; /* of a parameter or buffer, retained */
    heed_module *child;
} heed_module_entry;

/* heed_forget_lists: frees what heed_parameters and heed_state_dict have built. */
void heed_forget_lists(heed_module *module);

/* The training flags of a tree, to go back to. heed_modes_begin_eval: keeps them, and sets all to false.
 * heed_modes_end: sets them as they were, with an error pending as well. HEED_ERR_MEMORY: no room. */
typedef struct heed_modes {
    heed_module *module;
    bool *flags;
    size_t count;
} heed_modes;
heed_status heed_modes_begin_eval(heed_modes *modes, void *module);
void heed_modes_end(heed_modes *modes);

#endif
