/* Attention classes, wrong and right, that heed_attention_check must tell apart: the catalogue of
 * its tests and of the program check_attention. */
#ifndef CHECK_ATTENTION_ATTENTIONS_H
#define CHECK_ATTENTION_ATTENTIONS_H

#include "heed.h"

/* One class for all: each entry of the catalogue has another forward. */
struct attention {
    heed_module module;
    struct heed_linear *W_q, *W_k, *W_v, *W_o, *up, *down;
    struct heed_layer_norm *norm;
    struct attention *second;   /* of two layers */
    heed_tensor *extra;         /* of some: a parameter, or one that is not registered */
    heed_tensor *keys, *values; /* the cache */
    const struct attention_entry *entry;
    int heads;
};

typedef struct attention_entry {
    const char *name, *what;
    /* "": right; else words of the report that name the mistake, or NULL: rejected is enough */
    const char *named;
    heed_tensor *(*forward)(struct attention *m, heed_tensor *x);
    unsigned layers; /* of attention_layers: how the module is built */
    heed_attention_check_args options;
} attention_entry;

extern const attention_entry attention_catalogue[];
extern const int attention_count;

/* A module of 64 features, drawn from the generator. attention_args: what to
 * check it with, (heed_attention_check)(args). */
enum { ATTENTION_WIDTH = 64 };
struct attention *attention_new(const attention_entry *entry);
heed_tensor *attention_forward(heed_tensor *x, void *module);
heed_attention_check_args attention_args(struct attention *m);

#endif
