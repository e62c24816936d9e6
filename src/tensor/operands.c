/* Runs element-wise kernels: at once where all operands lie ready, else by a walk. */

#include "operands.h"

#include <math.h>

#include "shape.h"

/* AT_ONCE: as many elements are not worth looking for anything to share out or to gather.
 * REPEATED: for as many, a number is written so often rather than walked on a stride of 0. */
enum { AT_ONCE = 256, REPEATED = 32 };

/* A number, as an element of some dtype; perhaps repeated. */
typedef union elements {
    float f32[REPEATED];
    double f64[REPEATED];
    int64_t i64[REPEATED];
} elements;

static void set_number(elements *e, int64_t times, double number, heed_dtype dtype)
{
    for (int64_t i = 0; i < times; i++) {
        if (dtype == HEED_F32) {
            e->f32[i] = (float)number;
        } else if (dtype == HEED_I64) {
            e->i64[i] = isinf(number) ? (number < 0 ? INT64_MIN : INT64_MAX) : (int64_t)number;
        } else {
            e->f64[i] = number;
        }
    }
}

/* Does t lie as `out` does, which has elements of `as`, or results of such, one behind the other? */
static bool lies_as(const heed_tensor *t, heed_dtype as, const heed_tensor *out)
{
    return t->dtype == as && t->numel == out->numel &&
           (t->numel == 1 || (heed_has_sizes(t, out->ndim, out->shape) && heed_is_row_major(t)));
}

/* False, with nothing done: some operand must be walked. */
static bool map_at_once(heed_kernel *kernel, const heed_input *in, int count, heed_dtype as,
                        elements *room, heed_tensor *out)
{
    const void *from[HEED_MAX_OPERANDS];
    for (int k = 0; k < count; k++) {
        const heed_tensor *t = in[k].tensor;
        if (t != NULL ? !lies_as(t, as, out) : out->numel > REPEATED) {
            return false;
        }
        if (t == NULL) {
            set_number(&room[k], out->numel, in[k].number, as);
        }
        from[k] = t != NULL ? t->data : &room[k];
    }
    kernel(out->numel, from, out->data);
    return true;
}

void heed_map_inputs(heed_kernel *kernel, const heed_input *in, int count, heed_dtype as,
                     heed_tensor *out)
{
    elements room[HEED_MAX_OPERANDS];
    if (out->numel <= AT_ONCE && map_at_once(kernel, in, count, as, room, out)) {
        return;
    }
    heed_operand operands[HEED_MAX_OPERANDS];
    for (int k = 0; k < count; k++) {
        if (in[k].tensor != NULL) {
            operands[k] = heed_operand_of(in[k].tensor, out->ndim, out->shape, as);
        } else {
            set_number(&room[k], 1, in[k].number, as);
            operands[k] = heed_constant_operand(&room[k], as);
        }
    }
    heed_map(kernel, operands, count, out);
}
