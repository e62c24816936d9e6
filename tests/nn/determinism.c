/* Training is bit-identical for any number of threads: checkpoints after 50 steps are compared byte
 * for byte. All sizes are odd, and large enough for several threads; most of the work is in the
 * kernels that tensor/tensor.h names. */
#include "examples/lab/gpt/model.h"
#include "tests/common/files_util.h"

enum { STEPS = HAS_TSAN ? 3 : 50, BATCH = 7 };

typedef struct model {
    void *module;
    heed_tensor *(*loss)(void *module); /* of a batch that it draws */
} model;

static heed_tensor *ids(int64_t below, heed_shape shape)
{
    return heed_randint(0, below, shape);
}

/* ---- a GPT ---- */

enum { VOCAB = 37, CONTEXT = 41 };

static heed_tensor *loss_of_gpt(void *module)
{
    heed_tensor *tokens = ids(VOCAB, HEED_SHAPE(BATCH, CONTEXT + 1));
    return gpt_loss(module, heed_narrow(tokens, 1, 0, CONTEXT), heed_narrow(tokens, 1, 1, CONTEXT));
}

static model new_gpt(void)
{
    struct gpt *m = gpt_new((gpt_config){.vocab_size = VOCAB,
                                         .block_size = CONTEXT,
                                         .n_layer = 1,
                                         .n_head = 5,
                                         .n_embd = 75,
                                         .dropout = 0.1});
    return (model){m, loss_of_gpt};
}

/* ---- an MLP ---- */

enum { IN = 37, HIDDEN = 53, CLASSES = 11, ROWS_OF_BATCH = 1153 };

struct mlp {
    heed_module module;
    struct heed_linear *in, *out;
    struct heed_layer_norm *norm;
};
static const heed_module_kind mlp_kind = {.name = "MLP", .size = sizeof(struct mlp)};

static heed_tensor *mlp_loss(void *module)
{
    heed_tensor *x = heed_randn(HEED_SHAPE(ROWS_OF_BATCH, IN), HEED_F32);
    struct mlp *m = module;
    heed_tensor *h = heed_layer_norm_forward(m->norm, heed_gelu(heed_linear_forward(m->in, x)));
    return heed_cross_entropy(heed_linear_forward(m->out, h),
                              ids(CLASSES, HEED_SHAPE(ROWS_OF_BATCH)));
}

static model new_mlp(void)
{
    struct mlp *m = heed_module_new(&mlp_kind);
    HEED_CHILD(m, in, heed_linear_new(IN, HIDDEN));
    HEED_CHILD(m, norm, heed_layer_norm_new(HEED_SHAPE(HIDDEN)));
    HEED_CHILD(m, out, heed_linear_new(HIDDEN, CLASSES));
    return (model){m, mlp_loss};
}

/* ---- one head over many tokens: threads share its gradient ---- */

enum { TOKENS = 601, WIDTH = 19 };

static heed_tensor *head_loss(void *module)
{
    heed_tensor *x = heed_randn(HEED_SHAPE(TOKENS, 1, WIDTH), HEED_F32);
    return heed_mse_loss(heed_multihead_attention_forward(module, x, x, x, .is_causal = true),
                         heed_flip(x, HEED_DIMS(0)));
}

static model new_head(void)
{
    return (model){heed_multihead_attention_new(WIDTH, 1), head_loss};
}

/* ---- training ---- */

static void train(model (*make)(void), const char *path)
{
    HEED_SCOPE(run);
    heed_manual_seed(5);
    const model m = make();
    heed_optimizer *adamw = heed_adamw_new(heed_parameters(m.module), 1e-2, 0.1);
    for (int64_t i = 0; i < STEPS; i++) {
        HEED_SCOPE(step);
        heed_optimizer_zero_grad(adamw);
        heed_backward(m.loss(m.module));
        heed_clip_grad_norm(heed_parameters(m.module), 1);
        heed_optimizer_step(adamw);
    }
    heed_save_checkpoint(m.module, adamw, path, NULL);
    heed_optimizer_free(adamw);
    heed_module_free(m.module);
    expect_no_error();
}

static model (*const models[])(void) = {new_gpt, new_mlp, new_head};
enum { MODELS = sizeof models / sizeof *models };

START_TEST(training_does_not_depend_on_threads)
{
    const char *goal = in_folder("goal"), *found = in_folder("found");
    heed_set_num_threads(1);
    train(models[_i], goal);
    for (int i = 0; i < 3; i++) {
        heed_set_num_threads((const int[]){2, 3, 8}[i]);
        train(models[_i], found);
        expect_same_files(found, goal);
    }
}
END_TEST

void add_determinism_cases(Suite *suite)
{
    TCase *tests = files_case(suite, "determinism");
    tcase_add_loop_test(tests, training_does_not_depend_on_threads, 0, MODELS);
}
