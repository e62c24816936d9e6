/* The module: parameters, buffers and children by name, as torch.nn.Module.
 *
 * A module is a struct whose first member is heed_module. Its constructor makes the struct,
 * registers what it holds, and is ready:
 *
 *     struct gate {
 *         heed_module module;
 *         heed_tensor *scale;
 *         struct heed_linear *project;
 *     };
 *     static const heed_module_kind gate_kind = {
 *         .name = "Gate", .size = sizeof(struct gate), .forward = gate_forward};
 *
 *     struct gate *gate_new(int64_t d)
 *     {
 *         struct gate *m = heed_module_new(&gate_kind);
 *         if (m == NULL) {
 *             return NULL;
 *         }
 *         heed_add_parameter(m, "scale", &m->scale, heed_ones(HEED_SHAPE(d), HEED_F32));
 *         heed_add_child(m, "project", &m->project, heed_linear_new(d, d));
 *         return heed_module_ready(m);
 *     }
 *
 * From that come the parameters with torch's names ("project.weight"), training and evaluation
 * mode, casting, files (nn/files/checkpoint.h), printing, freeing and, for kinds with a forward,
 * heed_forward and a place in a Sequential. Constructors need no open scope.
 * Several threads may use one module at once, but for keep_weights and whatever changes it. Modules
 * are structs without a typedef, because functions bear the plain names: `struct heed_linear`,
 * heed_linear_new.
 */
#ifndef HEED_NN_MODULE_H
#define HEED_NN_MODULE_H

#include <stdio.h>

#include "../tensor/scope.h"
#include "tensor_list.h"

HEED_BEGIN_DECLS

typedef struct heed_module_kind {
    const char *name; /* "Linear" */
    size_t size;      /* of the whole struct */
    /* Writes what stands between the parentheses of a printed module; NULL: nothing. */
    void (*describe)(const void *module, char *text, size_t size);
    /* Frees what is neither parameter, buffer nor child; NULL: nothing. */
    void (*destroy)(void *module);
    /* The forward of modules that make one tensor of one, for heed_forward and Sequential; NULL:
     * there is none, or it takes more. It is called without an error pending. */
    heed_tensor *(*forward)(void *module, heed_tensor *x);
} heed_module_kind;

/* What was registered under one name: a tensor or a module. */
typedef struct heed_module_entry {
    char *name;
    heed_tensor *tensor; /* a parameter or buffer, retained; or NULL */
    bool is_buffer;
    struct heed_module *child; /* or NULL */
} heed_module_entry;

enum { HEED_MODULE_LISTS = 4 };

typedef struct heed_module {
    const heed_module_kind *kind;
    bool training;              /* true at first, as in torch */
    bool was_training;          /* while heed_gpt_generate evaluates */
    struct heed_module *owner;  /* of a child: the module that frees it */
    heed_module_entry *entries; /* what was registered, in order */
    int count, capacity;
    int64_t changes; /* how often something was added or set */
    struct {
        heed_named_tensors named;
        int64_t changes;        /* of the whole tree, when the list was made */
    } lists[HEED_MODULE_LISTS]; /* of heed_parameters and the like */
    heed_scope scope;           /* open while the constructor runs */
} heed_module;

/* ---- for constructors; `module` is a pointer to any module ---- */

/* heed_module_new: a struct of the kind's size, zero but for its module; NULL on error. Opens a
 * scope, so that tensors can be made; heed_module_ready ends it and returns the module, or NULL
 * and frees all that was registered if an error is pending. */
void *heed_module_new(const heed_module_kind *kind);
void *heed_module_ready(void *module);

/* heed_add_parameter: registers a tensor to train: retains it, has gradients collected for it,
 * shares it between threads, and sets *field. heed_add_buffer: one that is saved but not trained.
 * heed_add_child: takes a module over and sets *field, which is any pointer to a module; on error
 * it frees it, but for a module that has an owner or holds this one. Each may be called with NULL
 * for an error that is pending; then *field becomes NULL. No field: NULL.
 *
 * HEED_ERR_NULL: no module, name or value. HEED_ERR_VALUE: a name that is taken, or holds a '.', or
 * a child that has an owner or holds this module. */
heed_status heed_add_parameter(void *module, const char *name, heed_tensor **field,
                               heed_tensor *value);
heed_status heed_add_buffer(void *module, const char *name, heed_tensor **field,
                            heed_tensor *value);
heed_status heed_add_child(void *module, const char *name, void *field, void *child);

/* heed_set_parameter: has a registered parameter be another tensor, as torch's m.weight = value:
 * retains it, releases the old one, and sets *field, which may be NULL. So weights are tied:
 *
 *     heed_set_parameter(lm_head, "weight", &lm_head->weight, embedding->weight);
 *
 * From then on it is one parameter under two names, in training, casts and files. To be done before
 * an optimiser is made, which would go on with the old one. On an error nothing has changed.
 *
 * HEED_ERR_VALUE: no parameter of this module (not of its children) has that name. HEED_ERR_SHAPE,
 * HEED_ERR_DTYPE: value differs from the old one in these. HEED_ERR_GRAPH: value has a graph.
 * HEED_ERR_NULL: no module or value. */
heed_status heed_set_parameter(void *module, const char *name, heed_tensor **field,
                               heed_tensor *value);

/* heed_module_free: frees a module and all that it holds; NULL is fine.
 * HEED_ERR_VALUE: a child, which its owner frees. */
heed_status heed_module_free(void *module);

/* heed_forward_check: for the first line of a forward: the module is there, and a scope is open to
 * own the result. heed_module_check: for other functions: the module is there. `function` is the
 * name in the sentence.
 * HEED_ERR_NULL: the module is NULL. HEED_ERR_SCOPE: no scope is open. */
heed_status heed_forward_check(const char *function, const void *module);
heed_status heed_module_check(const char *function, const void *module);

/* ---- for users ---- */

/* heed_forward: the forward of a module of any kind whose forward takes one tensor, as torch's
 * m(x): the same as heed_linear_forward(m, x) for a Linear, and so on. Modules that may take more
 * are given nothing else: the tutorial's attention gets no mask.
 * HEED_ERR_VALUE: its kind has no such forward. HEED_ERR_NULL, HEED_ERR_SCOPE: as
 * heed_forward_check. */
heed_tensor *heed_forward(void *module, heed_tensor *x);

/* The lists below belong to the module, and hold until it changes or is freed.
 *
 * heed_parameters: all parameters, each once, own ones before the children's, as torch's
 * named_parameters(). heed_state_dict: parameters and buffers under every name they have, as
 * torch's state_dict(). Empty on error. */
heed_tensor_list heed_parameters(void *module);
heed_tensor_list heed_state_dict(void *module);

/* heed_decay_parameters, heed_no_decay_parameters: the parameters with 2 dims or more, which weight
 * decay is for, and the others: biases, and the weights of norms. See nn/optim/optimizer.h. */
heed_tensor_list heed_decay_parameters(void *module);
heed_tensor_list heed_no_decay_parameters(void *module);

/* heed_state: the parameter or buffer of that name, as state_dict()[name].
 * HEED_ERR_VALUE: there is none. */
heed_tensor *heed_state(void *module, const char *name);

/* heed_zero_grad: forgets all gradients, as torch's zero_grad(set_to_none=True). */
heed_status heed_zero_grad(void *module);

/* heed_train, heed_eval: set the training flag here and in all children. */
heed_status heed_train(void *module);
heed_status heed_eval(void *module);

/* heed_module_to: casts all floating-point parameters and buffers, as torch's module.to(dtype): the
 * tensors stay the same ones, so optimisers and tied parameters hold; gradients are forgotten.
 * HEED_ERR_DTYPE: neither f32 nor f64. */
heed_status heed_module_to(void *module, heed_dtype dtype);

/* heed_module_print: the tree, as torch prints it. */
heed_status heed_module_print(FILE *stream, void *module);

/* ---- a list of modules, as torch.nn.ModuleList: its children are named 0, 1, 2, ... ---- */

struct heed_module_list {
    heed_module module;
};
struct heed_module_list *heed_module_list_new(void);
heed_status heed_module_list_append(struct heed_module_list *list, void *child);
int heed_module_list_count(const struct heed_module_list *list);

/* heed_module_list_at: HEED_ERR_INDEX outside [0, count). */
void *heed_module_list_at(const struct heed_module_list *list, int i);

HEED_END_DECLS
#endif
