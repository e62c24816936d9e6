/* Matches tensors by name and lists all mismatches in one error message. */

#include "match_tensors.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../autograd/ops/operations.h"
#include "../tensor/alloc.h"
#include "../tensor/create.h"
#include "../tensor/read.h"
#include "../tensor/scope.h"
#include "../tensor/shape.h"
#include "../tensor/text.h"
#include "arguments.h"

/* ---- the message ---- */

typedef struct mentions {
    int count, shown;
    char text[2400]; /* about 80 names; a message has space for three lists */
} mentions;

/* Counts an item, and appends it if the text has room for it. */
HEED_PRINTF(2, 3)
static void mention(mentions *m, const char *format, ...)
{
    char item[sizeof m->text] = "";
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(item, sizeof item, format, arguments);
    va_end(arguments);
    const size_t used = strlen(m->text), left = sizeof m->text - used;
    if (m->shown == m->count && (m->count == 0 || (size_t)length + 2 < left)) {
        snprintf(m->text + used, left, "%s%.*s", used > 0 ? ", " : "", (int)left - 3, item);
        m->shown++;
    }
    m->count++;
}

/* Appends "; 3 missing: a, b and 1 more". */
static void tell(char *text, size_t size, const mentions *m, const char *what)
{
    const size_t used = strlen(text);
    char more[32] = "";
    if (m->count > m->shown) {
        snprintf(more, sizeof more, " and %d more", m->count - m->shown);
    }
    if (m->count > 0) {
        snprintf(text + used, size - used, "%s%d %s: %s%s", used > 0 ? "; " : "", m->count, what,
                 m->text, more);
    }
}

/* ---- comparing ---- */

static void compare(mentions *different, const char *name, const heed_tensor *here,
                    const heed_offer *there)
{
    const heed_text shown = heed_show_name(name);
    if (!heed_has_shape(here, &there->shape)) {
        mention(different, "%s is %s there, %s here", shown.text,
                heed_shape_text(there->shape.ndim, there->shape.size).text,
                heed_shape_text(here->ndim, here->shape).text);
    } else if (here->dtype != there->dtype &&
               !(heed_is_float(here->dtype) && heed_is_float(there->dtype))) {
        mention(different, "%s is %s there, %s here", shown.text, there->dtype_name,
                heed_dtype_name(here->dtype));
    } else if (heed_is_expanded(here)) {
        mention(different, "%s is expanded here: its elements share memory", shown.text);
    }
}

/* ---- tensors with several names ---- */

typedef struct owner {
    const heed_tensor *tensor;
    int name;
} owner;

static int by_tensor(const void *a, const void *b)
{
    const owner *x = a, *y = b;
    const uintptr_t p = (uintptr_t)x->tensor, q = (uintptr_t)y->tensor;
    return p != q ? (p < q ? -1 : 1) : x->name - y->name;
}

/* For each name of a list, the index of the first name of its tensor. Free the result; NULL:
 * HEED_ERR_MEMORY. */
static int *find_first_names(heed_tensor_list list)
{
    const size_t count = (size_t)list.count;
    int *first = heed_alloc(count * sizeof *first);
    owner *owners = heed_alloc(count * sizeof *owners);
    for (int i = 0; i < list.count && !heed_error_pending(); i++) {
        owners[i] = (owner){list.tensors[i], i};
    }
    if (heed_error_pending()) {
        heed_free(first);
        first = NULL;
    } else {
        qsort(owners, count, sizeof *owners, by_tensor);
        for (size_t i = 0; i < count; i++) {
            const bool again = i > 0 && owners[i].tensor == owners[i - 1].tensor;
            first[owners[i].name] = again ? first[owners[i - 1].name] : owners[i].name;
        }
    }
    heed_free(owners);
    return first;
}

static bool same_values(heed_tensor *a, heed_tensor *b, heed_dtype dtype)
{
    heed_scope scope;
    heed_scope_begin_no_grad(&scope);
    const heed_tensor *x = heed_contiguous(heed_to(a, dtype));
    const heed_tensor *y = heed_contiguous(heed_to(b, dtype));
    const bool same = x != NULL && y != NULL &&
                      memcmp(x->data, y->data, (size_t)x->numel * heed_dtype_size(dtype)) == 0;
    heed_scope_end(&scope);
    return same;
}

/* The values given for several names of one tensor must be the same: only one can be loaded.
 * first: see find_first_names. */
static heed_status check_tied(const heed_match *m, heed_tensor_list wanted, const int *first,
                              heed_tensor *const *values)
{
    int *given = heed_alloc((size_t)wanted.count * sizeof *given); /* by first name; -1: none yet */
    for (int i = 0; i < wanted.count && !heed_error_pending(); i++) {
        int *other = &given[first[i]];
        *other = first[i] == i ? -1 : *other;
        if (values[i] == NULL) {
            continue;
        }
        if (*other >= 0 && !same_values(values[*other], values[i], wanted.tensors[i]->dtype)) {
            heed_fail(HEED_ERR_VALUE,
                      "%s: %s has different values for %s and %s, which are one tensor in this "
                      "%s%s%s",
                      m->function, m->there, heed_show_name(wanted.names[*other]).text,
                      heed_show_name(wanted.names[i]).text, m->here,
                      m->if_untied != NULL ? "; " : "", m->if_untied != NULL ? m->if_untied : "");
        }
        *other = i;
    }
    heed_free(given);
    return heed_error_pending();
}

/* ---- matching ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const heed_offer *)a)->name, ((const heed_offer *)b)->name);
}

const heed_offer *heed_offer_named(const heed_offers *offered, const char *name)
{
    const heed_offer wanted = {.name = name};
    return offered->count == 0
               ? NULL
               : bsearch(&wanted, offered->offers, (size_t)offered->count, offered->size, by_name);
}

/* found[i]: the offer for wanted[i], or NULL. first: see find_first_names. */
static heed_status match(const heed_match *m, const heed_offers *offered, heed_tensor_list wanted,
                         const int *first, const heed_offer **found)
{
    mentions missing = {0}, unexpected = {0}, different = {0};
    const char *const offers = offered->offers;
    bool *used = heed_alloc_zeroed((size_t)offered->count);
    bool *has = heed_alloc_zeroed((size_t)wanted.count); /* by first name */
    if (used == NULL || has == NULL) {
        heed_free(used);
        heed_free(has);
        return heed_error_pending();
    }
    for (int i = 0; i < wanted.count; i++) {
        found[i] = heed_offer_named(offered, wanted.names[i]);
        if (found[i] != NULL) {
            used[(size_t)((const char *)found[i] - offers) / offered->size] = has[first[i]] = true;
            compare(&different, wanted.names[i], wanted.tensors[i], found[i]);
        }
    }
    for (int i = 0; i < wanted.count && !m->no_strict; i++) {
        if (!has[first[i]]) {
            mention(&missing, "%s", heed_show_name(wanted.names[i]).text);
        }
    }
    for (int i = 0; i < offered->count && !m->no_strict; i++) {
        const char *name = ((const heed_offer *)(offers + (size_t)i * offered->size))->name;
        if (!used[i] && (m->passes_over == NULL || !m->passes_over(name))) {
            mention(&unexpected, "%s", heed_show_name(name).text);
        }
    }
    heed_free(used);
    heed_free(has);
    if (missing.count + unexpected.count + different.count == 0) {
        return HEED_OK;
    }
    char text[3 * sizeof missing.text + 300] = "";
    tell(text, sizeof text, &different, "with a different shape or dtype");
    tell(text, sizeof text, &missing, "missing");
    tell(text, sizeof text, &unexpected, "unexpected");
    return heed_fail(HEED_ERR_VALUE, "%s: %s does not fit this %s: %s", m->function, m->there,
                     m->here, text);
}

heed_status heed_match_offers(const heed_match *m, const heed_offers *offered,
                              heed_tensor_list wanted, heed_tensor **values)
{
    const heed_offer **found = heed_alloc((size_t)wanted.count * sizeof(heed_offer *));
    int *first = find_first_names(wanted);
    if (found != NULL && first != NULL && match(m, offered, wanted, first, found) == HEED_OK) {
        for (int i = 0; i < wanted.count && !heed_error_pending(); i++) {
            values[i] = found[i] != NULL ? offered->read(offered->context, found[i]) : NULL;
        }
        check_tied(m, wanted, first, values);
    }
    heed_free(found);
    heed_free(first);
    return heed_error_pending();
}

heed_status heed_match_load(const heed_match *m, const heed_offers *offered,
                            heed_tensor_list wanted)
{
    heed_tensor **values = heed_alloc((size_t)wanted.count * sizeof(heed_tensor *));
    if (values == NULL) {
        return heed_error_pending();
    }
    heed_scope scope;
    heed_scope_begin_no_grad(&scope);
    heed_match_offers(m, offered, wanted, values);
    for (int i = 0; i < wanted.count && !heed_error_pending(); i++) {
        if (values[i] != NULL) {
            heed_copy_into(wanted.tensors[i], values[i]);
        }
    }
    heed_free(values);
    return heed_scope_end(&scope);
}

bool heed_name_ends_in(const char *name, const char *end)
{
    const size_t length = strlen(name), of_end = strlen(end);
    return length >= of_end && strcmp(name + length - of_end, end) == 0;
}

/* ---- lists ---- */

heed_status heed_check_named(const char *function, heed_tensor_list list)
{
    return list.count < 0 || (list.count > 0 && (list.tensors == NULL || list.names == NULL))
               ? heed_fail(HEED_ERR_NULL, "%s: the list has no tensors or no names", function)
               : heed_error_pending();
}

typedef struct listed {
    heed_offer offer;
    heed_tensor *tensor;
} listed;

static heed_tensor *tensor_of(const void *context, const heed_offer *offer)
{
    (void)context;
    return ((const listed *)offer)->tensor;
}

static heed_status check_offered(const heed_match *m, heed_tensor_list offered)
{
    if (heed_check_named(m->function, offered) != HEED_OK) {
        return heed_error_pending();
    }
    for (int i = 0; i < offered.count; i++) {
        const heed_tensor *t = offered.tensors[i];
        if (t == NULL || offered.names[i] == NULL || t->storage == NULL) {
            return heed_fail(HEED_ERR_NULL, "%s: tensor %d of the list is NULL, unnamed or freed",
                             m->function, i);
        }
    }
    return HEED_OK;
}

heed_status heed_match_list(const heed_match *m, heed_tensor_list offered, heed_tensor_list wanted,
                            heed_tensor **values)
{
    if (check_offered(m, offered) != HEED_OK) {
        return heed_error_pending();
    }
    const size_t count = (size_t)offered.count;
    listed *offers = heed_alloc(count * sizeof *offers);
    if (offers == NULL) {
        return heed_error_pending();
    }
    for (size_t i = 0; i < count; i++) {
        heed_tensor *t = offered.tensors[i];
        offers[i] = (listed){
            {offered.names[i], heed_dtype_name(t->dtype), t->dtype, heed_shape_of_tensor(t)}, t};
    }
    qsort(offers, count, sizeof *offers, by_name);
    const heed_offers all = {offers, offered.count, sizeof *offers, tensor_of, NULL};
    heed_match_offers(m, &all, wanted, values);
    heed_free(offers);
    return heed_error_pending();
}
