/* Matches offered tensors to wanted ones by name, for all loading functions (internal). One error
 * message lists all mismatches.
 */
#ifndef HEED_NN_MATCH_TENSORS_H
#define HEED_NN_MATCH_TENSORS_H

#include "tensor_list.h"

/* Options of one match: the names in its error messages, and which names may stay unmatched. */
typedef struct heed_match {
    const char *function;                  /* the public function */
    const char *there;                     /* the source: "a/file", "the state" */
    const char *here;                      /* the destination: "Linear" */
    bool no_strict;                        /* ignore names that only one side has */
    bool (*passes_over)(const char *name); /* true for offered names to ignore; or NULL */
    const char *if_untied; /* advice if tied tensors differ in the source; or NULL */
} heed_match;

/* A tensor of the source. */
typedef struct heed_offer {
    const char *name;
    const char *dtype_name; /* in the source */
    heed_dtype dtype;       /* of the tensor that `read` returns */
    heed_shape shape;
} heed_offer;

/* The source: `count` structs of `size` bytes that begin with a heed_offer, sorted by name. */
typedef struct heed_offers {
    const void *offers;
    int count;
    size_t size;
    /* The tensor of an offer, in the innermost scope; NULL: an error is pending. */
    heed_tensor *(*read)(const void *context, const heed_offer *offer);
    const void *context;
} heed_offers;

/* heed_match_offers: sets values[i] to the tensor offered for wanted tensor i, or to NULL if there
 * is none. A tensor with several names needs only one of them in the source. Names, shapes and
 * dtypes are compared before the first tensor is read.
 * heed_match_list: the same with the tensors of a list, which are not copied.
 * heed_match_load: copies the offered tensors into the wanted ones, which may be views. Everything
 * is compared and read before the first tensor changes.
 *
 * HEED_ERR_VALUE: names are missing or unexpected, or shapes or dtypes differ. One message lists
 * them all: for each kind, up to 2400 characters and the number of further names. Also if the
 * source has different values for two names of one tensor. */
heed_status heed_match_offers(const heed_match *match, const heed_offers *offered,
                              heed_tensor_list wanted, heed_tensor **values);
heed_status heed_match_list(const heed_match *match, heed_tensor_list offered,
                            heed_tensor_list wanted, heed_tensor **values);
heed_status heed_match_load(const heed_match *match, const heed_offers *offered,
                            heed_tensor_list wanted);

/* heed_offer_named: the offer of that name, or NULL. heed_name_ends_in: true if the name ends in
 * `end`, such as "c_attn.weight". heed_check_named: HEED_ERR_NULL if a non-empty list has no
 * tensors or no names. */
const heed_offer *heed_offer_named(const heed_offers *offered, const char *name);
bool heed_name_ends_in(const char *name, const char *end);
heed_status heed_check_named(const char *function, heed_tensor_list list);

#endif
