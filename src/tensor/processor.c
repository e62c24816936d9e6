/* Chooses the kernels once, when the first tensor is made, according to CPU features and
 * HEED_ISA. A value of HEED_ISA or HEED_NUM_THREADS that cannot be used is an error then. */
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

static const struct isa *chosen;                /* all are written once, under HEED_LOCK_ISA: */
const heed_kernels *const *heed_chosen_kernels; /* other threads may be reading */
int heed_chosen_isa;

static bool choose(bool for_tensors)
{
    const char *wanted = getenv("HEED_ISA");
    const bool any = wanted == NULL || *wanted == '\0';
    pthread_mutex_lock(&heed_locks[HEED_LOCK_ISA]);
    for (size_t i = sizeof isas / sizeof *isas; i-- > 0 && chosen == NULL;) { /* widest first */
        if ((any || strcmp(wanted, isas[i].name) == 0) && runs_here(isas[i].name)) {
            chosen = &isas[i];
            heed_chosen_isa = (int)i;
        }
    }
    if (for_tensors && chosen != NULL && heed_chosen_kernels == NULL) {
        __atomic_store_n(&heed_chosen_kernels, chosen->tables, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&heed_locks[HEED_LOCK_ISA]);
    return chosen != NULL;
}

heed_status heed_choose_isa(void)
{
    heed_text usable = {""};
    if (__atomic_load_n(&heed_chosen_kernels, __ATOMIC_ACQUIRE) != NULL ||
        (choose(false) && (heed_check_num_threads() != HEED_OK || choose(true)))) {
        return heed_error_pending();
    }
    for (size_t i = 0, length = 0; i < sizeof isas / sizeof *isas; i++) {
        if (runs_here(isas[i].name)) {
            const bool last = i + 1 == sizeof isas / sizeof *isas || !runs_here(isas[i + 1].name);
            length += (size_t)snprintf(usable.text + length, sizeof usable.text - length, "%s%s",
                                       length == 0 ? ""
                                       : last      ? " or "
                                                   : ", ",
                                       isas[i].name);
        }
    }
    if (usable.text[0] != '\0') {
        return heed_fail(HEED_ERR_VALUE, "HEED_ISA=%s: unset it, or use %s", getenv("HEED_ISA"),
                         usable.text);
    }
    return heed_fail(HEED_ERR_VALUE,
                     "this build has kernels for %s only, which this machine does not support",
                     isas[0].name);
}

const char *heed_isa_in_use(void)
{
    return choose(false) ? chosen->name : "no instruction set";
}

const char *heed_isa(void)
{
    return !heed_error_pending() && heed_choose_isa() == HEED_OK ? chosen->name : "";
}
