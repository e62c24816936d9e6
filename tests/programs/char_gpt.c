/* A GPT on short stories, compared with its twin in examples/pytorch/char_gpt.py: the same weights,
 * the same first losses. tests/programs/gpt.sh compares more of them, with build/gpt. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "examples/lab/gpt/model.h"
#include "examples/lab/gpt/tokenizer.h"
#include "examples/lab/stories/grammar.h"
#include "tests/common/test_util.h"

struct drawn {
    const char *name;
    uint64_t sum;
};

#include "tests/fixtures/gpt/drawn.h"

enum { BATCH = 12, CONTEXT = 64, PARAMETERS = sizeof drawn / sizeof *drawn };

static double take_step(struct gpt *m, heed_optimizer *adamw, const token_list *text)
{
    HEED_SCOPE(step);
    int64_t inputs[BATCH * CONTEXT], targets[BATCH * CONTEXT];
    const int64_t learnt = (int64_t)(0.9 * (double)text->count);
    heed_tensor *starts = heed_randint(0, learnt - CONTEXT, HEED_SHAPE(BATCH));
    for (int i = 0; i < BATCH; i++) {
        const int64_t *from = text->ids + heed_const_data_i64(starts)[i];
        memcpy(inputs + i * CONTEXT, from, CONTEXT * sizeof *from);
        memcpy(targets + i * CONTEXT, from + 1, CONTEXT * sizeof *from);
    }
    heed_tensor *loss = gpt_loss(m, heed_from_i64(inputs, HEED_SHAPE(BATCH, CONTEXT)),
                                 heed_from_i64(targets, HEED_SHAPE(BATCH, CONTEXT)));
    heed_backward(loss);
    heed_clip_grad_norm(heed_parameters(m), 1);
    adamw->lr = heed_warmup_cosine_lr(adamw->steps, 1e-4, 100, 1000, 1e-5);
    heed_optimizer_step(adamw);
    heed_optimizer_zero_grad(adamw);
    return heed_item(loss);
}

/* Weights to the bit; losses to three units in the last place of a loss above 4. PyTorch itself
 * moves by one or two when 1e-7 is added to its weights; another gelu, norm to clip to or weight
 * decay move step 5 by four and more. */
START_TEST(weights_and_first_losses_are_torchs)
{
    const bool dropout = _i == 1;
    double theirs[5] = {0};
    int steps = 5;
    if (dropout) {
        steps = sizeof with_dropout / sizeof *with_dropout;
        memcpy(theirs, with_dropout, sizeof with_dropout);
    } else {
        FILE *losses = fopen("tests/fixtures/gpt/losses.csv", "r");
        ck_assert_ptr_nonnull(losses);
        ck_assert_int_eq(fscanf(losses, "step,loss\n"), 0);
        for (int i = 0; i < steps; i++) {
            ck_assert_int_eq(fscanf(losses, "%*d,%lf\n", &theirs[i]), 1);
        }
        fclose(losses);
    }
    size_t size;
    char *bytes = NULL;
    FILE *to = open_memstream(&bytes, &size);
    stories_text(to, 1, 1000000); /* the defaults of build/stories */
    fclose(to);
    tokenizer characters = tokenizer_of_text(LEVEL_CHAR, "stories", bytes, size, 0);
    token_list text = tokenizer_encode(&characters, "stories", bytes, size);
    heed_manual_seed(1337);
    struct gpt *m = gpt_new((gpt_config){.vocab_size = characters.count,
                                         .block_size = CONTEXT,
                                         .n_layer = 4,
                                         .n_head = 4,
                                         .n_embd = 128,
                                         .dropout = dropout ? 0.2 : 0});
    const heed_tensor_list list = heed_parameters(m);
    ck_assert_int_eq(list.count, PARAMETERS);
    for (int i = 0; i < list.count; i++) {
        const heed_tensor *t = list.tensors[i];
        const uint64_t sum =
            fnv(heed_const_data_f32(t), (size_t)t->numel * sizeof(float), FNV_BASIS);
        ck_assert_str_eq(list.names[i], drawn[i].name);
        ck_assert_msg(sum == drawn[i].sum, "%s: 0x%016llx", list.names[i], (unsigned long long)sum);
    }
    heed_optimizer *adamw =
        heed_adamw_new(list, 1e-4, 0.1, .betas = {0.9, 0.99}, .decay_matrices_only = true);
    for (int i = 0; i < (heed_allocator_keeps_blocks() ? steps : 1);
         i++) { /* sanitizers are slow */
        const double ours = take_step(m, adamw, &text);
        expect_no_error();
        ck_assert_msg(fabs(ours - theirs[i]) <= 1.5e-6, "step %d: loss %.9g, not %.9g", i + 1, ours,
                      theirs[i]);
    }
    heed_optimizer_free(adamw);
    heed_module_free(m);
    token_list_free(&text);
    tokenizer_free(&characters);
    free(bytes);
}
END_TEST

void add_char_gpt_cases(Suite *suite)
{
    TCase *training = heed_case(suite, "training");
    tcase_add_loop_test(training, weights_and_first_losses_are_torchs, 0, 2);
}
