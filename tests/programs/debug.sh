#!/bin/sh
# The reports of a debug build, each provoked by a small program. Then the suites in this build.
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
    ${CC:-cc} -g -Isrc "$scratch/program.c" build/debug/libheed.a -lm -pthread -o "$scratch/program"
    status=0
    "$scratch/program" > "$scratch/out" 2>&1 || status=$?
    [ "$status" -eq "$1" ] || { cat "$scratch/out"; echo "status $status, not $1"; exit 1; }
}

# says WORDS: the last program printed them
says() {
    grep -qF -- "$1" "$scratch/out" || { cat "$scratch/out"; echo "^ does not say: $1"; exit 1; }
}

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
says "exp: the value of input 0 (2, 3) has been freed; heed_retain it in its scope"

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

# ---- the suites ----

build/debug/test_heed

# The rooms, with the calls that only debug builds make.
python3 tests/source/layers.py build/debug
