/* The task for several heads: sentences, model, training. */
#include "examples/page/story_heads.h"

#include "examples/page/story_train.h"

/* ---- sentences ---- */

const char *const heads_words[HEADS_WORDS] = {
    "the", ".",   "dog",  "cat", "bird", "duck", "frog", "horse",  "mouse",  "owl",    "bee",
    "cow", "pig", "goat", "fox", "bear", "wolf", "hare", "chased", "called", "watched"};

bool heads_held_out(int who, int whom)
{
    return (who + whom) % 4 == 3;
}

enum { SENTENCES = HEADS_ANIMALS * HEADS_ANIMALS * HEADS_VERBS };

/* Sentence number i of all: its words; who did it, and to whom. */
static void write_sentence(int64_t i, int64_t tokens[HEADS_LENGTH], int64_t answers[2])
{
    const int64_t pair = i / HEADS_VERBS, who = pair / HEADS_ANIMALS, whom = pair % HEADS_ANIMALS;
    const int64_t sentence[HEADS_LENGTH] = {
        0, HEADS_FIRST_ANIMAL + who,  HEADS_FIRST_ANIMAL + HEADS_ANIMALS + i % HEADS_VERBS,
        0, HEADS_FIRST_ANIMAL + whom, 1};
    for (int at = 0; at < HEADS_LENGTH; at++) {
        tokens[at] = sentence[at];
    }
    answers[0] = who;
    answers[1] = whom;
}

/* The numbers of all sentences that are held out, or not; returns how many. */
static int64_t choose(bool held_out, int64_t which[SENTENCES])
{
    int64_t count = 0;
    for (int64_t i = 0; i < SENTENCES; i++) {
        const int64_t pair = i / HEADS_VERBS;
        if (heads_held_out((int)(pair / HEADS_ANIMALS), (int)(pair % HEADS_ANIMALS)) == held_out) {
            which[count++] = i;
        }
    }
    return count;
}

/* Sentences as rows (count, T), with their answers (count, 2). */
static heed_tensor *rows_of(const int64_t *which, int64_t count, heed_tensor **answers)
{
    heed_tensor *rows = heed_empty(HEED_SHAPE(count, HEADS_LENGTH), HEED_I64);
    *answers = heed_empty(HEED_SHAPE(count, 2), HEED_I64);
    for (int64_t i = 0; i < count && !heed_error_pending(); i++) {
        write_sentence(which[i], heed_data_i64(rows) + i * HEADS_LENGTH,
                       heed_data_i64(*answers) + 2 * i);
    }
    return rows;
}

/* ---- the model ---- */

static const heed_module_kind kind = {.name = "Heads", .size = sizeof(struct heads_model)};

struct heads_model *heads_new(int heads)
{
    struct heads_model *m = heed_module_new(&kind);
    if (m == NULL) {
        return NULL;
    }
    HEED_CHILD(m, we, heed_embedding_new(HEADS_WORDS, HEADS_WIDE));
    HEED_CHILD(m, pe, heed_position_encoding_new(HEADS_WIDE, HEADS_LENGTH));
    HEED_CHILD(m, attention,
               heed_multi_head_new(HEADS_WIDE, heads, -2, -1, .head_dim = HEADS_WIDE / heads));
    HEED_CHILD(m, answers, heed_linear_new(HEADS_WIDE, (int64_t)2 * HEADS_WIDE, .no_bias = true));
    return m;
}

heed_tensor *heads_forward(struct heads_model *m, heed_tensor *tokens, heed_tensor **percents)
{
    heed_tensor *outputs[HEADS_MOST], *own[HEADS_MOST];
    if (heed_error_pending()) { /* the model may be incomplete */
        return NULL;
    }
    heed_tensor *x = heed_position_encoding_forward(m->pe, heed_embedding_forward(m->we, tokens));
    heed_tensor *stop = heed_slice(x, -2, HEADS_AT_STOP, HEADS_LENGTH, 1);
    const int heads = heed_module_list_count(m->attention->heads);
    for (int i = 0; i < heads; i++) {
        outputs[i] = story_look(heed_multi_head_head(m->attention, i), stop, x,
                                percents != NULL ? &percents[i] : &own[i]);
    }
    heed_tensor *mixed = heed_linear_forward(m->attention->W_o, heed_cat(outputs, heads, -1));
    heed_tensor *answers = heed_linear_forward(m->answers, heed_add(stop, mixed));
    heed_tensor *animals =
        heed_slice(m->we->weight, 0, HEADS_FIRST_ANIMAL, HEADS_FIRST_ANIMAL + HEADS_ANIMALS, 1);
    return heed_matmul(heed_reshape(answers, HEED_SHAPE(-1, 2, HEADS_WIDE)),
                       heed_transpose(animals, 0, 1));
}

/* ---- training ---- */

typedef struct lesson {
    struct heads_model *model;
    int64_t which[SENTENCES], count;
} lesson;

static heed_tensor *lesson_loss(void *context, int64_t batch)
{
    const lesson *l = context;
    heed_tensor *drawn = heed_randint(0, l->count, HEED_SHAPE(batch));
    heed_tensor *answers;
    for (int64_t i = 0; i < batch && !heed_error_pending(); i++) {
        heed_data_i64(drawn)[i] = l->which[heed_data_i64(drawn)[i]];
    }
    if (heed_error_pending()) {
        return NULL;
    }
    heed_tensor *logits =
        heads_forward(l->model, rows_of(heed_data_i64(drawn), batch, &answers), NULL);
    return heed_cross_entropy(heed_reshape(logits, HEED_SHAPE(-1, HEADS_ANIMALS)),
                              heed_reshape(answers, HEED_SHAPE(-1)));
}

struct heads_model *heads_train(int heads, uint64_t seed, int steps)
{
    const heed_generator before = heed_get_generator();
    heed_manual_seed(seed);
    lesson l = {.model = heads_new(heads)};
    l.count = choose(false, l.which);
    story_train(l.model, HEADS_STEPS, steps, lesson_loss, &l);
    heed_set_generator(&before);
    return l.model;
}

double heads_accuracy(struct heads_model *m, bool held_out)
{
    int64_t which[SENTENCES], right = 0;
    const int64_t count = choose(held_out, which);
    HEED_SCOPE_NO_GRAD(scope);
    heed_tensor *answers;
    heed_tensor *logits = heads_forward(m, rows_of(which, count, &answers), NULL);
    const int64_t *said = heed_data_i64(heed_argmax_dim(logits, -1, false));
    for (int64_t i = 0; i < count && !heed_error_pending(); i++) {
        right += said[2 * i] == heed_data_i64(answers)[2 * i] &&
                 said[2 * i + 1] == heed_data_i64(answers)[2 * i + 1];
    }
    return (double)right / (double)count;
}
