/* What a wrong attention looks like in training: a loss that says nothing, or too much. */
#ifndef CHECK_ATTENTION_SYMPTOMS_H
#define CHECK_ATTENTION_SYMPTOMS_H

#include "attentions.h"

/* Two tasks on sequences of 8 of 16 symbols, drawn at random for each step; chance is ln 16 = 2.77.
 * PREVIOUS: say the symbol before, which attention learns. NEXT: say the symbol after, which nobody
 * can know: a lower loss is a leak. */
typedef enum symptom_task { PREVIOUS, NEXT } symptom_task;

/* symptom_loss: the mean loss of the last 20 of `steps` steps of Adam on a model of embedding,
 * sines, this attention, a residual and an output layer. */
double symptom_loss(const attention_entry *entry, symptom_task task, int steps, uint64_t seed);

#endif
