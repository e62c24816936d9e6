/* Chooses the kernels: once, at the first tensor, by what the machine can do and HEED_ISA says. */
#include "isa.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"

#define DECLARE(isa)                                                                               \
    extern const heed_kernels heed_kernels_##isa##_f32, heed_kernels_##isa##_f64,                  \
        heed_kernels_##isa##_i64, heed_kernels_##isa##_bool;                                       \
    static const heed_kernels *const isa##_tables[HEED_DTYPES] = {                                 \
        &heed_kernels_##isa##_f32, &heed_kernels_##isa##_f64, &heed_kernels_##isa##_i64,           \
        &heed_kernels_##isa##_bool};

DECLARE(baseline)

static bool always(void)
{
    return true;
}

#ifdef __x86_64__
DECLARE(v3)
DECLARE(v4)

/* By name, because clang 14 knows no "x86-64-v4". */
static bool has_v3(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi2");
}

static bool has_v4(void)
{
    return has_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}
#endif

static const struct isa {
    const char *name;
    bool (*present)(void);
    const heed_kernels *const *tables;
} isas[] = {
    {"baseline", always, baseline_tables},
#ifdef __x86_64__
    {"v3", has_v3, v3_tables},
    {"v4", has_v4, v4_tables},
#endif
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const struct isa *chosen; /* written once, before heed_chosen_kernels */
const heed_kernels *const *heed_chosen_kernels;

static void choose(void)
{
    const char *wanted = getenv("HEED_ISA");
    const struct isa *found = NULL;
    for (size_t i = 0; i < sizeof isas / sizeof *isas; i++) {
        bool fits = wanted == NULL || *wanted == '\0' || strcmp(wanted, isas[i].name) == 0;
        if (fits && isas[i].present()) {
            found = &isas[i]; /* the last that fits is the widest */
        }
    }
    chosen = found;
    __atomic_store_n(&heed_chosen_kernels, found != NULL ? found->tables : NULL, __ATOMIC_RELEASE);
}

heed_status heed_choose_isa(void)
{
    pthread_once(&once, choose);
    if (chosen == NULL) {
        return heed_fail(HEED_ERR_VALUE,
                         "HEED_ISA=%s: not an instruction set of this build and machine; leave it "
                         "unset, or take one of baseline, v3, v4",
                         getenv("HEED_ISA"));
    }
    return HEED_OK;
}

const char *heed_isa(void)
{
    return !heed_error_pending() && heed_choose_isa() == HEED_OK ? chosen->name : "";
}
