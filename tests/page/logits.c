/* Prints the logits of a GPT for a text, without the page's engine:
 *     page_logits FILE TEXT
 * One line for each token; each logit as the 8 hex digits of its bits. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "examples/lab/gpt/checkpoint.h"

int main(int argc, char **argv)
{
    gpt_loaded gpt;
    if (argc != 3 || gpt_load(&gpt, "page_logits", argv[1]) != HEED_OK) {
        return EXIT_FAILURE;
    }
    {
        HEED_SCOPE_NO_GRAD(scope);
        token_list list = tokenizer_encode(&gpt.record.tokenizer, "TEXT", argv[2], strlen(argv[2]));
        heed_tensor *ids = heed_from_i64(list.ids, HEED_SHAPE(list.count));
        heed_tensor *logits = gpt_forward(gpt.model, ids);
        for (int64_t i = 0; logits != NULL && i < logits->numel; i++) {
            uint32_t bits;
            memcpy(&bits, heed_const_data_f32(logits) + i, sizeof bits);
            printf("%08" PRIx32 "%c", bits, (i + 1) % logits->shape[1] == 0 ? '\n' : ' ');
        }
        token_list_free(&list);
    }
    gpt_loaded_free(&gpt);
    return heed_error_pending() ? EXIT_FAILURE : EXIT_SUCCESS;
}
