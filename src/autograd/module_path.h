/* The module whose forward is running, by name: "GPT.transformer.h.0.attn.c_attn", the kind of the
 * outermost module followed by the names under which the modules are registered, as in a state
 * dict. Anomaly mode's errors and traces name it. Forwards set it with HEED_FORWARD
 * (nn/module.h). */
#ifndef HEED_AUTOGRAD_MODULE_PATH_H
#define HEED_AUTOGRAD_MODULE_PATH_H

#include "../tensor/tensor.h"

HEED_BEGIN_DECLS

/* A module's name and its owner's place. Every module contains one. */
typedef struct heed_place {
    const struct heed_place *outer; /* NULL: `name` is the kind of an outermost module */
    const char *name;
} heed_place;

/* heed_module_path: the path of the module that is running in this thread; "" if there is none. If
 * the path is too long, its first names are omitted. */
heed_text heed_module_path(void);

/* heed_enter_place: makes `place` (NULL: none) the current one, and returns the previous one.
 * heed_leave_place: restores it, as a cleanup function. heed_forget_place: must be called before
 * the memory of a place is freed. */
const heed_place *heed_enter_place(const heed_place *place);
void heed_leave_place(const heed_place **before);
void heed_forget_place(const heed_place *place);

HEED_END_DECLS
#endif
