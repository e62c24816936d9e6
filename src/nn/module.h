/* Modules: named parameters, buffers and children, as in torch.nn.Module.
 *
 * A module is a struct whose first member is a heed_module. Its constructor allocates the struct,
 * registers its members and returns it, and need not check for errors:
 *
 *     struct gate {
 *         heed_module module;
 *         heed_tensor *scale;
 *         struct heed_linear *project;
 *     };
 *     HEED_MODULE_KIND(gate_kind, struct gate, "Gate", NULL, gate_forward);
 *
 *     struct gate *gate_new(int64_t d)
 *     {
 *         struct gate *m = heed_module_new(&gate_kind);
 *         HEED_PARAMETER(m, scale, heed_ones(HEED_SHAPE(d), HEED_F32));
 *         HEED_CHILD(m, project, heed_linear_new(d, d));
 *         return m;
 *     }
 *
 * Such a module has parameters with torch's names ("project.weight"), a state dict and a training
 * mode. It can be cast, saved and loaded (nn/safetensors.h), printed and freed. If its kind has a
 * forward, heed_forward runs it. Constructors need no open scope. Module structs have no typedef,
 * because operations use the plain names: heed_linear is the function that a `struct heed_linear`
 * applies in its forward.
 *
 * If a registration fails, for example because memory runs out, the module is incomplete: it can be
 * freed, or added to a module, which frees it and is then incomplete itself; all other functions
 * refuse it. Constructors of the library return NULL instead.
 */
#ifndef HEED_NN_MODULE_H
#define HEED_NN_MODULE_H

#include <stdio.h>

#include "../autograd/hook.h"
#include "../tensor/scope.h"

HEED_BEGIN_DECLS

/* A list of named tensors: parameters, state dicts. Owns neither tensors nor names. names may be
 * NULL if the function does not use them. */
typedef struct heed_tensor_list {
    int count;
    heed_tensor *const *tensors;
    const char *const *names;
} heed_tensor_list;

/* A kind of modules: what a class is in Python. */
typedef struct heed_module_kind {
    const char *name; /* "Linear" */
    size_t size;      /* of the whole struct */
    /* Writes the text between the parentheses of a printed module; NULL: none. */
    void (*describe)(const void *module, char *text, size_t size);
    /* Frees everything except parameters, buffers and children; NULL: nothing to free. */
    void (*destroy)(void *module);
    /* The forward of modules that map one tensor to one tensor, for heed_forward; NULL if there is
     * none or it takes more than one tensor. Never called while an error is pending. */
    heed_tensor *(*forward)(void *module, heed_tensor *x);
} heed_module_kind;

/* A tensor or child module, registered under a name. */
typedef struct heed_module_entry {
    char *name;
    heed_tensor *tensor; /* a parameter or buffer, retained; or NULL */
    bool is_buffer;
    struct heed_module *child; /* or NULL */
} heed_module_entry;

/* HEED_MODULE_KIND: defines `kind` for a struct `type` whose forward takes one tensor. `forward` is
 * a function (type *, heed_tensor *), and `describe` is as above. Kinds without such a forward are
 * defined directly:
 *
 *     static const heed_module_kind kind = {.name = "Gate", .size = sizeof(struct gate)};
 */
#define HEED_MODULE_KIND(kind, type, name, describe, forward)                                      \
    static heed_tensor *kind##_forward(void *module, heed_tensor *x)                               \
    {                                                                                              \
        return forward((type *)module, x);                                                         \
    }                                                                                              \
    static const heed_module_kind kind = {name, sizeof(type), describe, NULL, kind##_forward}

enum { HEED_ALIVE = 0x5eed };

/* The first member of every module. Change it only through the functions below. */
typedef struct heed_module {
    const heed_module_kind *kind;
    int alive;                  /* HEED_ALIVE until the module is freed */
    bool training;              /* initially true, as in torch */
    bool is_incomplete;         /* a registration failed, here or in a child */
    struct heed_module *owner;  /* of a child: the parent, which frees it */
    heed_place place;           /* its name in the parent */
    heed_module_entry *entries; /* in order of registration */
    int count;
    int64_t capacity;
    struct heed_named_tensors *lists[2]; /* heed_parameters, heed_state_dict; or NULL */
} heed_module;

/* ---- for constructors; `module` is a pointer to any module ---- */

/* heed_module_new: allocates a struct of the kind's size, zeroed except for its heed_module. NULL
 * if memory runs out; while another error is pending, a module to which nothing can be added. */
void *heed_module_new(const heed_module_kind *kind);

/* heed_add_tensor: registers and retains a parameter, which then requires a gradient, or a buffer,
 * which is saved but not trained, and sets *field. heed_add_child: takes ownership of a module and
 * sets *field, a pointer to a module of any type; on error it frees the child, unless the child has
 * an owner or contains this module. While an error is pending, value and child may be NULL. field
 * may be NULL. On error, *field becomes NULL, and the module incomplete, for good.
 *
 * HEED_ERR_NULL: no module, name or value. HEED_ERR_VALUE: the name is taken or contains a '.', the
 * child has an owner or contains this module, or either module is incomplete. */
heed_status heed_add_tensor(void *module, const char *name, heed_tensor **field, heed_tensor *value,
                            bool is_buffer);
heed_status heed_add_child(void *module, const char *name, void *field, void *child);

/* HEED_PARAMETER, HEED_BUFFER, HEED_CHILD: the same, as statements with the field's name. For
 * example, HEED_CHILD(m, project, child) is heed_add_child(m, "project", &m->project, child). m may
 * be NULL and is evaluated more than once. `value` is computed in a scope of its own, without a
 * graph. Overwriting a parameter, as with heed_normal_into(m->scale, 0, 0.02), needs no scope. */
#define HEED_PARAMETER(m, field, value)                                                            \
    HEED_IN_VALUE_SCOPE heed_add_tensor(m, #field, (m) != NULL ? &(m)->field : NULL, value, false)
#define HEED_BUFFER(m, field, value)                                                               \
    HEED_IN_VALUE_SCOPE heed_add_tensor(m, #field, (m) != NULL ? &(m)->field : NULL, value, true)
#define HEED_CHILD(m, field, child)                                                                \
    heed_add_child(m, #field, (m) != NULL ? &(m)->field : NULL, child)

/* For these macros: runs the next statement once, in a scope; in none while an error is pending. */
#define HEED_IN_VALUE_SCOPE                                                                        \
    for (HEED_SCOPE_FROM(heed_value_scope(&heed_scope_of_value), heed_scope_of_value),             \
         *heed_value_left = &heed_scope_of_value;                                                  \
         heed_value_left != NULL; heed_value_left = NULL)
heed_scope heed_value_scope(heed_scope *scope);

/* heed_module_free: frees a module, which may be incomplete, and everything it owns; NULL is a
 * no-op. HEED_ERR_VALUE: the module is a child, which its owner frees, or has already been freed,
 * where this can be detected. */
heed_status heed_module_free(void *module);

/* heed_forward_check: for forwards that users call directly; checks the module, and that a scope is
 * open to own the result. heed_module_check, for other functions, checks the module only.
 * `function` is the name in error messages. HEED_ERR_NULL: the module is NULL. HEED_ERR_VALUE: it
 * is incomplete, or has been freed, where this can be detected. HEED_ERR_SCOPE: no scope is open.
 */
heed_status heed_forward_check(const char *function, const void *module);
heed_status heed_module_check(const char *function, const void *module);

/* HEED_FORWARD(module): the first statement of a forward. Until its block ends, operations belong
 * to this module, so errors of anomaly mode can name it (autograd/hook.h):
 *
 *     static heed_tensor *gate_forward(struct gate *m, heed_tensor *x)
 *     {
 *         HEED_FORWARD(m);
 *         return heed_mul(heed_linear_forward(m->project, x), m->scale);
 *     }
 *
 * heed_forward does the same. Without either, they belong to the module whose forward called this
 * one. The paths of children do not depend on it. */
#define HEED_FORWARD(module)                                                                       \
    const heed_place *heed_place_before __attribute__((cleanup(heed_leave_place), unused)) =       \
        heed_begin_forward(module)

/* For this macro. `module` may be NULL. */
static inline const heed_place *heed_begin_forward(const void *module)
{
    return heed_enter_place(module != NULL ? &((const heed_module *)module)->place : NULL);
}

/* ---- for users ---- */

/* heed_forward: runs a module of any kind whose forward takes one tensor, like torch's m(x): for a
 * Linear, the same as heed_linear_forward(m, x). Optional arguments are omitted, so the tutorial's
 * attention gets no mask.
 * HEED_ERR_VALUE: the module's kind has no such forward. HEED_ERR_NULL, HEED_ERR_SCOPE: as
 * heed_forward_check. */
heed_tensor *heed_forward(void *module, heed_tensor *x);

/* heed_parameters: all parameters, each once, the module's own before its children's, like torch's
 * named_parameters(). The list belongs to the module and is valid until it changes or is freed.
 * Empty on error. */
heed_tensor_list heed_parameters(void *module);

/* heed_state_dict: parameters and buffers under all their names, like torch's state_dict().
 * The list belongs to the module and is valid until it changes or is freed. Empty on error. */
heed_tensor_list heed_state_dict(void *module);

/* heed_state: the parameter or buffer of that name, like state_dict()[name].
 * HEED_ERR_VALUE: no such name. */
heed_tensor *heed_state(void *module, const char *name);

/* heed_set_parameter: replaces a registered parameter with another tensor, like m.weight = value in
 * torch: retains the new tensor, releases the old one, and sets *field, which may be NULL. Use it
 * to tie weights:
 *
 *     heed_set_parameter(lm_head, "weight", &lm_head->weight, embedding->weight);
 *
 * Training, casts and files then treat it as one parameter with two names. Call this before
 * creating an optimiser; an existing one would keep updating the old tensor. On error nothing
 * changes.
 *
 * HEED_ERR_VALUE: this module has no parameter of that name; children are not searched.
 * HEED_ERR_SHAPE, HEED_ERR_DTYPE: value differs from the old tensor. HEED_ERR_GRAPH: value is not a
 * leaf. HEED_ERR_NULL: no module or value. */
heed_status heed_set_parameter(void *module, const char *name, heed_tensor **field,
                               heed_tensor *value);

/* heed_zero_grad: clears all gradients, like torch's zero_grad(set_to_none=True). Errors
 * are those of heed_module_check. */
heed_status heed_zero_grad(void *module);

/* heed_train, heed_eval: set or clear the training flag of the module and all its descendants, like
 * torch's m.train() and m.eval(). Errors are those of heed_module_check. */
heed_status heed_train(void *module);
heed_status heed_eval(void *module);

/* heed_module_to: casts all floating-point parameters and buffers, like torch's module.to(dtype).
 * The casts are in place, so tied parameters stay tied, and optimisers that have not stepped yet
 * stay valid (the state of the others keeps its dtype); gradients are cleared. HEED_ERR_DTYPE:
 * neither f32 nor f64. */
heed_status heed_module_to(void *module, heed_dtype dtype);

/* heed_module_print: prints the tree in torch's format. HEED_ERR_NULL: no stream or no module. For
 * stream errors, check ferror(stream). */
heed_status heed_module_print(FILE *stream, void *module);

HEED_END_DECLS
#endif
