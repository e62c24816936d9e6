#!/bin/sh
# package/heed-gdb.py shows tensors in gdb, without calling the program: tests/package/gdb.sh [BUILD]
set -eu
cd "$(dirname "$0")/../.."
build=${1:-build}
. tests/common/expect.sh

cat > "$scratch/tensors.c" << 'END'
#include <math.h>
#include "heed.h"
void stop(void) {}
int main(void)
{
    HEED_SCOPE(scope);
    static int garbage[100];
    heed_tensor *f32 = heed_reshape(heed_arange(0, 6, 1, HEED_F32), HEED_SHAPE(2, 3));
    heed_tensor *half = heed_full(HEED_SHAPE(1), -0.5, HEED_F32);
    heed_tensor *f64 = heed_scalar(1.0 / 3, HEED_F64);
    heed_tensor *i64 = heed_arange(-1, 999, 1, HEED_I64);
    heed_tensor *flags = heed_gt_scalar(f32, 2);
    heed_tensor *view = heed_transpose(f32, 0, 1);
    heed_tensor *column = heed_slice(f32, 1, 1, 2, 1);
    heed_tensor *empty = heed_zeros(HEED_SHAPE(2, 0), HEED_F32);
    heed_tensor *leaf = heed_set_requires_grad(heed_full(HEED_SHAPE(2), HUGE_VAL, HEED_F32), true);
    heed_tensor *result, *freed, *none = NULL, *wrong = (heed_tensor *)garbage;
    {
        HEED_SCOPE(inner);
        freed = heed_add(leaf, leaf); /* no derivative reads its value */
        result = heed_scope_keep(&inner, heed_exp(freed));
    }
    heed_tensor value = *f32;
    garbage[0] = value.ndim;
    for (int i = 1; i < 100; i++) {
        garbage[i] = 0x7f7f7f7f;
    }
    stop();
    return f64 == half || i64 == flags || view == column || empty == none || wrong == freed;
}
END
${CC:-cc} -g -O0 -Isrc "$scratch/tensors.c" "$build/libheed.a" -lm -pthread -o "$scratch/tensors"

# The pairs of lines: an expression, and what print shows for it
cat > "$scratch/wanted" << 'END'
f32
tensor(shape=(2, 3), f32, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
value
tensor(shape=(2, 3), f32, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
half
tensor(shape=(1,), f32, [-0.5])
f64
tensor(shape=(), f64, [0.333333])
i64
tensor(shape=(1000,), i64, [-1, 0, 1, 2, 3, 4, ...])
flags
tensor(shape=(2, 3), bool, [false, false, false, true, true, true])
view
tensor(shape=(3, 2), strides=(1, 3), f32, [0.0, 3.0, 1.0, 4.0, 2.0, 5.0])
column
tensor(shape=(2, 1), strides=(3, 1), f32, [1.0, 4.0])
empty
tensor(shape=(2, 0), f32, [])
leaf
tensor(shape=(2,), f32, [inf, inf], requires_grad)
result
tensor(shape=(2,), f32, [inf, inf], made by exp)
freed
tensor(shape=(2,), f32, the value has been freed, made by add)
none
NULL
wrong
<not a tensor>
(heed_tensor *)1
<not a tensor: Cannot access memory at address 0x...>
END
{
    echo "source package/heed-gdb.py"
    echo "break stop"
    echo "run"
    echo "up"
    awk 'NR % 2 == 1 { print "print " $0 }' "$scratch/wanted"
} > "$scratch/commands"
gdb -nx -batch -x "$scratch/commands" "$scratch/tensors" > "$scratch/out" 2> "$scratch/err" < /dev/null ||
    { cat "$scratch/out" "$scratch/err"; exit 1; }
sed -n -e "s/0x[0-9a-f]*/0x.../" -e "s/^\\$[0-9]* = //p" "$scratch/out" > "$scratch/shown"
awk 'NR % 2 == 0' "$scratch/wanted" > "$scratch/lines"
diff "$scratch/lines" "$scratch/shown" || { cat "$scratch/err"; exit 1; }
echo "gdb: tensors are shown"
