/* Chooses the kernels once, when the first tensor is made, according to CPU features and
 * HEED_ISA. */
#include "processor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "thread.h"

#define DECLARE(isa) extern const heed_kernels heed_kernels_##isa##_f32, heed_kernels_##isa##_f64;
HEED_ISAS(DECLARE)
extern const heed_kernels heed_kernels_baseline_i64, heed_kernels_baseline_bool;

/* Integers and bool have baseline kernels only. */
#define TABLES(isa)                                                                                \
    {#isa,                                                                                         \
     {[HEED_F32] = &heed_kernels_##isa##_f32,                                                      \
      [HEED_F64] = &heed_kernels_##isa##_f64,                                                      \
      [HEED_I64] = &heed_kernels_baseline_i64,                                                     \
      [HEED_BOOL] = &heed_kernels_baseline_bool}},
static const struct isa {
    const char *name;
    const heed_kernels *tables[HEED_DTYPES];
} isas[] = {HEED_ISAS(TABLES)};

/* Tests features by name, because clang 14 does not know "x86-64-v4". */
static bool runs_here(const char *isa)
{
    bool v3 = false, v4 = false;
#ifdef __x86_64__
    v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi2");
    v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
#endif
    return strcmp(isa, "v4") == 0 ? v4 : strcmp(isa, "v3") == 0 ? v3 : true;
}

static const struct isa *chosen; /* written once, under HEED_LOCK_ISA */
const heed_kernels *const *heed_chosen_kernels;
int heed_chosen_isa;

static void choose(void)
{
    const char *wanted = getenv("HEED_ISA");
    const struct isa *found = NULL;
    for (size_t i = 0; i < sizeof isas / sizeof *isas; i++) {
        bool fits = wanted == NULL || *wanted == '\0' || strcmp(wanted, isas[i].name) == 0;
        if (fits && runs_here(isas[i].name)) {
            found = &isas[i];
        }
    }
    if (found != NULL) {
        chosen = found;
        heed_chosen_isa = (int)(found - isas);
        __atomic_store_n(&heed_chosen_kernels, found->tables, __ATOMIC_RELEASE);
    }
}

static bool choose_once(void)
{
    pthread_mutex_lock(&heed_locks[HEED_LOCK_ISA]);
    if (chosen == NULL) {
        choose();
    }
    pthread_mutex_unlock(&heed_locks[HEED_LOCK_ISA]);
    return chosen != NULL;
}

heed_status heed_choose_isa(void)
{
    if (!choose_once()) {
        const char *wanted = getenv("HEED_ISA");
        if (wanted == NULL || *wanted == '\0') {
            return heed_fail(HEED_ERR_VALUE,
                             "this build has kernels for %s only, which this machine does not "
                             "support",
                             isas[0].name);
        }
        return heed_fail(HEED_ERR_VALUE,
                         "HEED_ISA=%s: not supported by this build and machine; unset it, or use "
                         "baseline, v3 or v4",
                         wanted);
    }
    return HEED_OK;
}

heed_text heed_isas_text(void)
{
    heed_text text;
    int length = snprintf(text.text, sizeof text.text, "%s (of",
                          choose_once() ? chosen->name : "no instruction set");
    for (size_t i = 0; i < sizeof isas / sizeof *isas; i++) {
        length +=
            snprintf(text.text + length, sizeof text.text - (size_t)length, " %s", isas[i].name);
    }
    snprintf(text.text + length, sizeof text.text - (size_t)length, ")");
    return text;
}

const char *heed_isa(void)
{
    return !heed_error_pending() && heed_choose_isa() == HEED_OK ? chosen->name : "";
}
