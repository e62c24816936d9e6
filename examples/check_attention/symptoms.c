#include "symptoms.h"

enum { SYMBOLS = 16, LENGTH = 8, BATCH = 32, LAST = 20 };

typedef struct model {
    heed_module module;
    struct heed_embedding *embedding;
    struct heed_position_encoding *positions;
    struct attention *attention;
    struct heed_linear *output;
} model;
static const heed_module_kind model_kind = {.name = "Model", .size = sizeof(model)};

static model *model_new(const attention_entry *entry)
{
    model *m = heed_module_new(&model_kind);
    HEED_CHILD(m, embedding, heed_embedding_new(SYMBOLS, ATTENTION_WIDTH));
    HEED_CHILD(m, positions, heed_position_encoding_new(ATTENTION_WIDTH, LENGTH));
    HEED_CHILD(m, attention, attention_new(entry));
    HEED_CHILD(m, output, heed_linear_new(ATTENTION_WIDTH, SYMBOLS));
    return m;
}

/* A batch has one symbol more than the model sees. PREVIOUS: the model sees all but the first
 * symbol, and says the one before. */
static heed_tensor *loss_of(model *m, symptom_task task)
{
    heed_tensor *symbols = heed_randint(0, SYMBOLS, HEED_SHAPE(BATCH, LENGTH + 1));
    heed_tensor *first = heed_narrow(symbols, 1, 0, LENGTH);
    heed_tensor *last = heed_narrow(symbols, 1, 1, LENGTH);
    heed_tensor *seen = task == NEXT ? first : last, *said = task == NEXT ? last : first;
    heed_tensor *x = heed_embedding_forward(m->embedding, seen);
    x = heed_position_encoding_forward(m->positions, x);
    heed_tensor *y = heed_add(x, attention_forward(x, m->attention));
    heed_tensor *logits = heed_linear_forward(m->output, y);
    if (task == PREVIOUS) { /* nobody knows the symbol before the first */
        logits = heed_narrow(logits, 1, 1, LENGTH - 1);
        said = heed_narrow(said, 1, 1, LENGTH - 1);
    }
    return heed_cross_entropy(heed_flatten(logits, 0, 1), heed_flatten(said, 0, 1));
}

double symptom_loss(const attention_entry *entry, symptom_task task, int steps, uint64_t seed)
{
    double sum = 0;
    heed_manual_seed(seed);
    model *m = model_new(entry);
    heed_optimizer *adam = heed_adam_new(heed_parameters(m), 3e-3);
    for (int step = 0; step < steps && !heed_error_pending(); step++) {
        HEED_SCOPE(scope);
        heed_tensor *loss = loss_of(m, task);
        heed_backward(loss);
        heed_optimizer_step(adam);
        heed_optimizer_zero_grad(adam);
        sum += step >= steps - LAST ? heed_item(loss) / LAST : 0;
    }
    heed_optimizer_free(adam);
    heed_module_free(m);
    return sum;
}
