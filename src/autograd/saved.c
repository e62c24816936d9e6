/* Saved values: held, checked and released. What an operation's derivative reads is declared in
 * heed_op.saves; the rest of a graph's values may be freed as soon as their scope ends. */
#include "saved.h"

#include "../tensor/core.h"

/* Whose values the derivatives of those inputs read that require a gradient: bit i for input i. */
static unsigned values_read(const heed_tensor *node)
{
    unsigned read = 0;
    for (int i = 0; i < node->input_count && i < HEED_SAVES; i++) {
        if (node->inputs[i]->requires_grad) {
            read |= node->op->saves[i];
        }
    }
    return read;
}

static uint32_t sum_of_versions(const heed_tensor *node)
{
    uint32_t sum = node->saved & HEED_SAVED_OUTPUT ? node->storage->version : 0;
    for (int i = 0; i < node->input_count; i++) {
        if (heed_saves_input(node, i)) {
            sum += node->inputs[i]->storage->version;
        }
    }
    return sum;
}

void heed_save_values(heed_tensor *y)
{
    y->saved = (uint8_t)values_read(y);
    if (y->saved == 0) {
        return;
    }
    for (int i = 0; i < y->input_count; i++) {
        if (heed_saves_input(y, i)) {
            heed_add_use(y->inputs[i]);
        }
    }
    if (y->saved & HEED_SAVED_OUTPUT) {
        heed_add_use(y);
    }
    y->saved_version = sum_of_versions(y);
}

static heed_status fail_changed(const char *function, const heed_tensor *node)
{
    const heed_tensor *last = node->inputs[node->input_count - 1];
    return heed_fail(HEED_ERR_VERSION,
                     "%s: a value that the derivative of %s reads (of %s%s%s -> %s) was changed "
                     "in place since; change a heed_clone of it, or after the backward",
                     function, node->op->name, HEED_TEXT(node->inputs[0]),
                     node->input_count > 1 ? ", " : "",
                     node->input_count > 1 ? HEED_TEXT(last) : "", HEED_TEXT(node));
}

static heed_status fail_not_saved(const char *function, const heed_tensor *node)
{
    int i = 0;
    while (!node->inputs[i]->requires_grad || (node->op->saves[i] & ~node->saved) == 0) {
        i++;
    }
    return heed_fail(HEED_ERR_GRAPH,
                     "%s: input %d %s of %s began to require a gradient after it was used; "
                     "heed_set_requires_grad comes first",
                     function, i, HEED_TEXT(node->inputs[i]), node->op->name);
}

heed_status heed_saved_intact(const char *function, const heed_tensor *node)
{
    if ((values_read(node) & ~(unsigned)node->saved) != 0) {
        return fail_not_saved(function, node);
    }
    return sum_of_versions(node) == node->saved_version ? HEED_OK : fail_changed(function, node);
}

void heed_release_saved(heed_tensor *node)
{
    const unsigned saved = node->saved;
    node->used_up = true;
    for (int i = 0; i < node->input_count && saved != 0; i++) {
        if (heed_saves_input(node, i)) {
            heed_drop_use(node->inputs[i]);
        }
    }
    node->saved = 0;
    if (saved & HEED_SAVED_OUTPUT) {
        heed_drop_use(node);
    }
}
