/* Shared by the tests of traces, recordings and pictures: their text, and small graphs. */
#ifndef HEED_TESTS_OBSERVE_UTIL_H
#define HEED_TESTS_OBSERVE_UTIL_H

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/common/test_util.h"

static inline heed_tensor *leaf(double value)
{
    return heed_set_requires_grad(heed_scalar(value, HEED_F32), true);
}

/* The text that `run` writes to a stream; free it. */
static inline char *written_by(void (*run)(FILE *stream))
{
    static char *text; /* static: gcc 12 believes that the result points to it */
    static size_t size;
    FILE *stream = open_memstream(&text, &size);
    run(stream);
    fclose(stream);
    return text;
}

static inline void expect_text(void (*run)(FILE *stream), const char *expected)
{
    char *text = written_by(run);
    ck_assert_str_eq(text, expected);
    free(text);
}

static inline void expect_words(void (*run)(FILE *stream), const char *words)
{
    char *text = written_by(run);
    ck_assert_msg(strstr(text, words) != NULL, "no \"%s\" in:\n%s", words, text);
    free(text);
}

/* How often `words` occur in `text`. */
static inline int count_words(const char *text, const char *words)
{
    int count = 0;
    for (const char *at = text; (at = strstr(at, words)) != NULL; at += strlen(words)) {
        count++;
    }
    return count;
}

static inline heed_status twice_forward(const heed_call *call, heed_tensor *y)
{
    return heed_copy_into(y, heed_add(call->inputs[0], call->inputs[0]));
}

static inline void twice_backward(const heed_vjp *v)
{
    v->grads[0] = heed_mul_scalar(v->g, 2);
}

static const heed_op twice = {
    .name = "twice", .inputs = 1, .forward = twice_forward, .backward = twice_backward};

static inline const heed_recorded *last_of(const heed_recording *r)
{
    expect_no_error();
    return heed_recording_at(r, heed_recording_count(r) - 1);
}

static inline heed_tensor *tutorial_input(void)
{
    return heed_from_f32((float[]){1.16f, 0.23f, 0.57f, 1.36f, 4.41f, -2.16f}, HEED_SHAPE(3, 2));
}

/* A pass on another thread, which writes to the stream if there is one. */
static inline void *operate(void *stream)
{
    HEED_SCOPE(scope);
    if (stream != NULL) {
        fputs("from the thread\n", stream);
    }
    heed_backward(heed_square(leaf(3)));
    return heed_error_pending() == HEED_OK && heed_trace(NULL) == NULL ? "done" : NULL;
}

static inline void run_thread(FILE *stream)
{
    pthread_t thread;
    void *result = NULL;
    ck_assert_int_eq(pthread_create(&thread, NULL, operate, stream), 0);
    pthread_join(thread, &result);
    ck_assert_ptr_nonnull(result);
}

#endif
