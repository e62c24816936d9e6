/* The floating-point mode of the calling thread: whether subnormal numbers are flushed to 0, the
 * rounding direction, and which exceptions trap (internal). A job of the pool runs in the mode of
 * its caller, however that was set, so that results do not depend on the number of threads. */
#ifndef HEED_TENSOR_FLOAT_MODE_H
#define HEED_TENSOR_FLOAT_MODE_H

#include <stdint.h>

/* FLUSH_MODE: the bits that flush subnormal operands and results to 0; 0: not supported.
 * heed_float_mode excludes the flags of past exceptions; heed_set_float_mode preserves them. */
#if defined __x86_64__
enum { FLUSH_MODE = 1 << 15 | 1 << 6, EXCEPTION_FLAGS = 0x3f }; /* FTZ and DAZ */
static inline uint64_t heed_float_mode(void)
{
    return __builtin_ia32_stmxcsr() & ~(unsigned)EXCEPTION_FLAGS;
}

static inline void heed_set_float_mode(uint64_t mode)
{
    const unsigned now = __builtin_ia32_stmxcsr();
    if ((now & ~(unsigned)EXCEPTION_FLAGS) != mode) {
        __builtin_ia32_ldmxcsr((unsigned)mode | (now & EXCEPTION_FLAGS));
    }
}
#elif defined __aarch64__
enum { FLUSH_MODE = 1 << 24 }; /* FZ */
static inline uint64_t heed_float_mode(void)
{
    uint64_t mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
    return mode;
}

static inline void heed_set_float_mode(uint64_t mode)
{
    if (heed_float_mode() != mode) {
        __asm__ volatile("msr fpcr, %0" : : "r"(mode));
    }
}
#else
enum { FLUSH_MODE = 0 };
static inline uint64_t heed_float_mode(void)
{
    return 0;
}

static inline void heed_set_float_mode(uint64_t mode)
{
    (void)mode;
}
#endif

#endif
