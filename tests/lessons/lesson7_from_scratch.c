/* Trains the model of lesson 7 and the same model built from Heed's modules, from the same weights:
 * every loss and every gradient must agree. Compiled and run by tests/programs/lesson7.sh. */
int lesson7_main(void);
#define main lesson7_main
#include "examples/lesson7_from_scratch.c"
#undef main

#include <stdlib.h>

#include "heed.h"

enum { TRAINED = 24 };

struct twin {
    heed_module module;
    struct heed_embedding *we;
    struct heed_self_attention *self_attention;
    struct heed_linear *fc;
};
static const heed_module_kind twin_kind = {.name = "Twin", .size = sizeof(struct twin)};

static struct twin *twin_new(void)
{
    struct twin *m = heed_module_new(&twin_kind);
    heed_add_child(m, "we", &m->we, heed_embedding_new(WORDS, D_MODEL));
    heed_add_child(m, "self_attention", &m->self_attention, heed_self_attention_new(D_MODEL, 1, 2));
    heed_add_child(m, "fc", &m->fc, heed_linear_new(D_MODEL, WORDS, .no_bias = true));
    heed_module_to(m, HEED_F64);
    return m;
}

/* All sentences in one batch, (24, LENGTH). */
static heed_tensor *twin_loss(struct twin *m, heed_tensor *words, heed_tensor *verbs)
{
    heed_tensor *attended = heed_self_attention_forward(
        m->self_attention, heed_embedding_forward(m->we, words), heed_causal_block_mask(LENGTH));
    return heed_cross_entropy(heed_linear_forward(m->fc, heed_select(attended, 1, LENGTH - 1)),
                              verbs);
}

/* Ends the program unless the numbers agree to 1e-6 of the largest. (Once *it* attends to the food
 * with 100%, the gradients of W_q and W_k are mere rounding errors, far below 1e-12.) */
static void compare(const char *what, int step, const double *lesson, const double *heed, int count)
{
    double largest = 0;
    for (int i = 0; i < count; i++) {
        largest = fmax(largest, fabs(heed[i]));
    }
    for (int i = 0; i < count; i++) {
        if (!(fabs(lesson[i] - heed[i]) <= 1e-6 * largest + 1e-12)) {
            printf("step %d: number %d of %s is %.17g in the lesson, %.17g with Heed\n", step, i,
                   what, lesson[i], heed[i]);
            exit(1);
        }
    }
}

int main(void)
{
    heed_on_error(heed_die);
    HEED_SCOPE(scope);
    const model lesson = model_new(42);
    adam lessons_optimizer = adam_new(0.02);

    struct twin *m = twin_new();
    const heed_tensor_list parameters = heed_parameters(m); /* in the lesson's order */
    heed_optimizer *optimizer = heed_adam_new(parameters, 0.02);
    for (int p = 0; p < PARAMETERS; p++) {
        const tensor *t = &tape.tensors[p];
        heed_copy_into(parameters.tensors[p],
                       heed_from_f64(t->value, HEED_SHAPE(t->rows, t->cols)));
    }
    int64_t words[TRAINED][LENGTH], verbs[TRAINED];
    int count = 0;
    for (int number = 0; number < SENTENCES; number++) {
        const sentence s = sentence_new(number);
        if (s.training) {
            for (int i = 0; i < LENGTH; i++) {
                words[count][i] = s.words[i];
            }
            verbs[count++] = s.verb;
        }
    }
    heed_tensor *input = heed_from_i64(&words[0][0], HEED_SHAPE(TRAINED, LENGTH));
    heed_tensor *targets = heed_from_i64(verbs, HEED_SHAPE(TRAINED));

    const int steps = 60;
    for (int step = 0; step < steps; step++) {
        HEED_SCOPE(of_step);
        heed_tensor *loss = twin_loss(m, input, targets);
        heed_optimizer_zero_grad(optimizer);
        heed_backward(loss);
        const double lessons_loss = compute_gradients(&lesson), heeds_loss = heed_item(loss);
        compare("the loss", step, &lessons_loss, &heeds_loss, 1);
        for (int p = 0; p < PARAMETERS; p++) {
            const heed_tensor *gradient = parameters.tensors[p]->grad;
            compare(parameters.names[p], step, tape.tensors[p].grad, heed_const_data_f64(gradient),
                    (int)gradient->numel);
        }
        adam_step(&lessons_optimizer);
        heed_optimizer_step(optimizer);
    }
    printf("lesson7_from_scratch: %d losses and all their gradients match Heed's\n", steps);
    heed_optimizer_free(optimizer);
    heed_module_free(m);
    return 0;
}
