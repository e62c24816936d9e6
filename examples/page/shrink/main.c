/* Makes a model small enough to be inside the page:
 *
 *     page_shrink FROM TO
 *
 * copies a file of gpt train without the state of its optimiser. The weights are rounded to the
 * precision of bfloat16: the other bits are zeros, which gzip compresses. */
#include <math.h>
#include <stdlib.h>

#include "examples/lab/gpt/checkpoint.h"

enum { KEPT_BITS = 8 };

static void round_weights(void *module)
{
    const heed_tensor_list parameters = heed_parameters(module);
    for (int i = 0; i < parameters.count; i++) {
        float *weights = heed_data_f32(parameters.tensors[i]);
        for (int64_t at = 0; at < parameters.tensors[i]->numel; at++) {
            int exponent;
            const float fraction = frexpf(weights[at], &exponent);
            weights[at] = ldexpf(rintf(ldexpf(fraction, KEPT_BITS)), exponent - KEPT_BITS);
        }
    }
}

int main(int argc, char **argv)
{
    gpt_loaded gpt = {.model = NULL};
    if (argc != 3) {
        fprintf(stderr, "usage: page_shrink FROM TO\n");
        return EXIT_FAILURE;
    }
    if (gpt_load(&gpt, "page_shrink", argv[1]) == HEED_OK) {
        HEED_SCOPE_NO_GRAD(scope);
        round_weights(gpt.model);
        gpt_record_save(&gpt.record, gpt.model, NULL, "page_shrink", argv[2]);
    }
    gpt_loaded_free(&gpt);
    const bool done = !heed_error_pending();
    if (!done) {
        fprintf(stderr, "%s\n", heed_error_message());
        heed_error();
    }
    return done ? EXIT_SUCCESS : EXIT_FAILURE;
}
