#!/bin/sh
# The reports of a debug build, each provoked by a small program. Then the suites of derivatives in this build:
# every operation declares in .saves what its derivative reads.
set -eu
cd "$(dirname "$0")/../.."
make DEBUG=1 build/debug/libheed.a build/debug/test_heed
. tests/common/expect.sh

# run STATUS: compiles and runs $scratch/main, where "main:" begins the body of main; prints into $scratch/out
run() {
    {
        echo '#include <stdio.h>'
        echo '#include "heed.h"'
        sed 's/^main:$/int main(void) {/' "$scratch/main"
        echo '}'
    } > "$scratch/program.c"
    ${CC:-cc} -g -rdynamic -Isrc "$scratch/program.c" build/debug/libheed.a -lm -pthread -o "$scratch/program"
    status=0
    "$scratch/program" > "$scratch/out" 2>&1 || status=$?
    [ "$status" -eq "$1" ] || { cat "$scratch/out"; echo "status $status, not $1"; exit 1; }
}

# says WORDS: the last program printed them
says() {
    grep -qF -- "$1" "$scratch/out" || { cat "$scratch/out"; echo "^ does not say: $1"; exit 1; }
}

# ---- the first error prints a backtrace, which names the functions of the program; a second one does not ----

cat > "$scratch/main" << 'END'
heed_tensor *multiply_wrongly(heed_tensor *x) { return heed_matmul(x, x); }
main:
    HEED_SCOPE(scope);
    multiply_wrongly(heed_ones(HEED_SHAPE(2, 3), HEED_F32));
    heed_error();
    heed_exp(NULL);
    heed_error();
    return 5;
END
run 5
says "heed: the first error, HEED_ERR_SHAPE: matmul: inner sizes differ"
says "multiply_wrongly"
says "heed_apply"
check [ "$(grep -c "heed:" "$scratch/out")" -eq 1 ]

# ---- a tensor used after its scope ----

cat > "$scratch/main" << 'END'
heed_tensor *leaked(void) { HEED_SCOPE(scope); return heed_randn(HEED_SHAPE(2, 3), HEED_F32); }
main:
    HEED_SCOPE(scope);
    heed_tensor *x = leaked();
    for (int i = 0; i < 100; i++) { heed_ones(HEED_SHAPE(2, 3), HEED_F32); } /* would reuse its handle */
    heed_exp(x);
    printf("%s\n", heed_error_message());
    heed_error();
    return 0;
END
run 0
says "exp: the value of input 0 (2, 3) has been freed; randn made it in a scope that has ended: move it to the enclosing scope with"

# ---- freed memory holds NaN ----

cat > "$scratch/main" << 'END'
main:
    const float *data;
    { HEED_SCOPE(scope); data = heed_const_data_f32(heed_ones(HEED_SHAPE(1000), HEED_F32)); }
    printf("freed: %f\n", data[500]);
    return 0;
END
run 0
says "nan"

# ---- a derivative that reads what .saves does not declare ----

cat > "$scratch/main" << 'END'
static heed_status conv_forward(const heed_call *call, heed_tensor *y)
{
    for (int64_t i = 0; i < y->numel; i++) {
        heed_data_f32(y)[i] = heed_const_data_f32(call->inputs[0])[i] * heed_const_data_f32(call->inputs[0])[i];
    }
    return HEED_OK;
}
static void conv_backward(const heed_vjp *vjp)
{
    vjp->grads[0] = heed_mul(vjp->g, heed_mul_scalar(vjp->inputs[0], 2));
}
HEED_OPERATION(causal_conv) = {.name = "causal_conv", .inputs = 1, .names = HEED_NAMES("x"),
                               .forward = conv_forward, .backward = conv_backward};
main:
    HEED_SCOPE(scope);
    heed_tensor *x = heed_set_requires_grad(heed_ones(HEED_SHAPE(3), HEED_F32), true);
    heed_backward(heed_sum(heed_apply(&op_causal_conv, &x, 1, NULL, 0)));
    printf("%s\n", heed_error_message());
    return heed_error() == HEED_ERR_GRAPH ? 0 : 1;
END
run 0
says "backward of causal_conv: it reads x; declare it in .saves"

# ---- a derivative that passes on an input which .saves does not declare ----

sed -e 's/heed_mul(vjp->g, heed_mul_scalar(vjp->inputs\[0\], 2))/vjp->inputs[0]/' -i "$scratch/main"
run 0
says "backward of causal_conv: it reads x; declare it in .saves"

# ---- anomaly mode prints a backtrace of the forward call whose derivative failed ----

cat > "$scratch/main" << 'END'
heed_tensor *root_of(heed_tensor *x) { return heed_sqrt(x); }
main:
    HEED_SCOPE(scope);
    heed_set_detect_anomaly(true);
    heed_tensor *x = heed_set_requires_grad(heed_zeros(HEED_SHAPE(3), HEED_F32), true);
    heed_backward(heed_sum(root_of(x)));
    return heed_error() == HEED_ERR_ANOMALY ? 0 : 1;
END
run 0
says "heed: the first error, HEED_ERR_ANOMALY: backward of sqrt: inf in the gradient of input 0 (3)"
says "heed: the forward of this sqrt was called here:"
says "root_of"

# ---- a training loop without a scope gets one warning; one with a scope gets none ----

for scope in ';' 'HEED_SCOPE(step);'; do
    cat > "$scratch/main" << END
main:
    HEED_SCOPE(program);
    struct heed_linear *m = heed_linear_new(3, 1);
    heed_optimizer *adam = heed_adam_new(heed_parameters(m), 1e-2);
    for (int i = 0; i < 200; i++) {
        $scope
        heed_tensor *loss = heed_mean(heed_linear_forward(m, heed_randn(HEED_SHAPE(4, 3), HEED_F32)));
        heed_optimizer_zero_grad(adam);
        heed_backward(loss);
        heed_optimizer_step(adam);
    }
    heed_optimizer_free(adam);
    heed_module_free(m);
    return heed_error_pending();
END
    run 0
    if [ "$scope" = ';' ]; then
        says "heed: the number of live tensors has grown in each of the last 50 backward passes"
        says "begin a scope in each training step, so that its tensors are freed: HEED_SCOPE(step);"
        check [ "$(wc -l < "$scratch/out")" -eq 1 ]
    else
        check [ ! -s "$scratch/out" ]
    fi
done

# ---- other values of DEBUG are rejected ----

! make DEBUG=-g -n all > "$scratch/out" 2>&1
says "DEBUG=-g: use DEBUG=1 for a debug build"

# The suites error and unread compare stderr, where the first error prints its backtrace.
build/debug/test_heed -error -unread

# The rooms, with the calls that only debug builds make.
python3 tests/source/layers.py build/debug
