/* x[1:, ::2], given as a string: one select, slice or unsqueeze per part. */

#include <stdlib.h>
#include <string.h>

#include "../../tensor/check.h"
#include "../../tensor/scope.h"
#include "../../tensor/shape.h"
#include "../../tensor/thread.h"
#include "operations.h"

/* One part of the string, between commas. */
typedef struct part {
    enum { ONE_INDEX, RANGE, ELLIPSIS, NEW_DIM } kind;
    int64_t start, end, step; /* an index is in `start` */
} part;

/* ---- reading ---- */

/* Reads a number, if there is one, and the spaces around it. Numbers beyond int64_t become its
 * limits: ranges are clipped anyway. */
static bool read_number(const char **at, int64_t *number)
{
    *at += strspn(*at, " ");
    if (strspn(*at + (**at == '-'), "0123456789") == 0) {
        return false;
    }
    char *end;
    *number = strtoll(*at, &end, 10);
    *at = end + strspn(end, " ");
    return true;
}

/* Reads a part and moves *at to the comma after it, or to the end of the string. False on a
 * mistake, to which it moves *at. */
static bool read_part(const char **at, part *p)
{
    *p = (part){.kind = ONE_INDEX, .end = INT64_MAX, .step = 1};
    int64_t *const limits[] = {&p->end, &p->step};
    bool found = read_number(at, &p->start);
    for (int i = 0; i < 2 && **at == ':'; i++) {
        found = true;
        p->kind = RANGE;
        ++*at;
        read_number(at, limits[i]);
    }
    if (!found) {
        const bool is_ellipsis = strncmp(*at, "...", 3) == 0;
        if (!is_ellipsis && strncmp(*at, "None", 4) != 0) {
            return false;
        }
        p->kind = is_ellipsis ? ELLIPSIS : NEW_DIM;
        *at += is_ellipsis ? 3 : 4;
        *at += strspn(*at, " ");
    }
    return **at == ',' || **at == '\0';
}

/* Moves *at from the end of a part to the next part. False if none follows: the last part may end
 * with a comma, as in Python. */
static bool next_part(const char **at)
{
    *at += **at == ',';
    *at += strspn(*at, " ");
    return **at != '\0';
}

/* The number of dims that an ellipsis before `at` leaves to the parts after it. */
static int dims_after(const char *at)
{
    int count = 0;
    part p;
    while (next_part(&at) && read_part(&at, &p)) {
        count += p.kind == ONE_INDEX || p.kind == RANGE;
    }
    return count;
}

/* ---- applying ---- */

#define REFUSE(status, at, format, ...)                                                            \
    heed_fail(status, "index: \"%.100s\" of %s, column %d: " format, text, HEED_TEXT(x),           \
              (int)((at)-text) + 1, __VA_ARGS__)

/* Checks that all of the text can be read: a mistake must not shift the dims of other parts. */
static heed_status check_text(const heed_tensor *x, const char *text)
{
    if (text == NULL) {
        return heed_fail(HEED_ERR_NULL, "index: text is NULL");
    }
    const char *at = text + strspn(text, " ");
    part p;
    do {
        if (!read_part(&at, &p)) {
            return REFUSE(HEED_ERR_VALUE, at, "expected %s",
                          "an index, a range such as 1:9:2, '...' or None");
        }
    } while (next_part(&at));
    return HEED_OK;
}

heed_tensor *heed_index(heed_tensor *x, const char *text)
{
    if (heed_check_operand("index", "x", x) != HEED_OK || check_text(x, text) != HEED_OK) {
        return NULL;
    }
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *y = x;
    const char *at = text + strspn(text, " ");
    int dim = 0, from = 0; /* the next dim of y, which is dim `from` of x */
    do {
        part p;
        const char *start = at;
        read_part(&at, &p);
        if (p.kind == NEW_DIM) {
            y = heed_unsqueeze(y, dim++);
        } else if (p.kind == ELLIPSIS) {
            const int left = x->ndim - from - dims_after(at);
            if (left > 0) {
                dim += left;
                from += left;
            }
        } else if (from == x->ndim) {
            REFUSE(HEED_ERR_DIM, start, "x has only %d dims", x->ndim);
        } else if (p.step < 1) {
            REFUSE(HEED_ERR_VALUE, start, "step is %lld; it must be 1 or more", (long long)p.step);
        } else if (p.kind == RANGE) {
            const bool whole = p.start == 0 && p.end == INT64_MAX && p.step == 1;
            y = whole ? y : heed_slice(y, dim, p.start, p.end, p.step);
            dim++;
            from++;
        } else if (p.start < -x->shape[from] || p.start >= x->shape[from]) {
            REFUSE(HEED_ERR_INDEX, start, "index %.*s is outside dim %d",
                   (int)strspn(start, " -0123456789"), start, from);
        } else {
            y = heed_select(y, dim, p.start);
            from++;
        }
    } while (heed_self.error == HEED_OK && next_part(&at));
    return heed_scope_end_with(&scope, y);
}
