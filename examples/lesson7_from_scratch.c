/* Lesson 7: everything from scratch. A tensor, a tape, seven operations with their derivatives,
 * self-attention and Adam, in plain C without Heed. The model built from them learns what *it*
 * is from the sentences of lesson 3.
 *
 *     build/lesson7_from_scratch
 *
 * Read it from top to bottom: each part uses only the parts above it. Each operation consists of
 * two functions. One computes the result and records it on the tape; the other, above it, computes
 * the gradients of the inputs from the gradient of the result. The comment at the end of the file
 * lists where each part is found in Heed, and what Heed adds.
 *
 * Sources: Andrej Karpathy's micrograd (https://github.com/karpathy/micrograd) does the same for
 * scalars. The attention is that of Vaswani et al., "Attention Is All You Need", 2017,
 * arXiv:1706.03762; the optimiser that of Kingma and Ba, "Adam: A Method for Stochastic
 * Optimization", 2014, arXiv:1412.6980. */
#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* ---- a tensor, and the tape ---- */

/* A matrix of rows * cols numbers, stored row by row, and how it was computed. */
typedef struct tensor tensor;
struct tensor {
    int rows, cols;
    double *value;
    double *grad;                      /* d loss / d value */
    const tensor *a, *b;               /* the inputs; NULL where there is none */
    double factor;                     /* additional argument of scale */
    const int *ids;                    /* another argument of embedding and cross_entropy */
    void (*backward)(const tensor *y); /* adds to the gradients of the inputs; NULL for a leaf */
};

/* All tensors, in the order in which they were computed: each comes after its inputs. The model's
 * parameters come first. `numbers` is the memory of all values and gradients. */
enum { MOST_TENSORS = 64, MOST_NUMBERS = 1 << 16 };
static struct {
    tensor tensors[MOST_TENSORS];
    int count;
    double numbers[MOST_NUMBERS];
    int used;
} tape;

static double *zeros(int count)
{
    assert(tape.used + count <= MOST_NUMBERS);
    double *numbers = &tape.numbers[tape.used];
    tape.used += count;
    memset(numbers, 0, (size_t)count * sizeof(double));
    return numbers;
}

static tensor *record(int rows, int cols, const tensor *a, const tensor *b,
                      void (*backward)(const tensor *y))
{
    assert(tape.count < MOST_TENSORS);
    tensor *t = &tape.tensors[tape.count++];
    *t = (tensor){.rows = rows, .cols = cols, .a = a, .b = b, .backward = backward};
    t->value = zeros(rows * cols);
    t->grad = zeros(rows * cols);
    return t;
}

/* Drops all tensors but the first `count`, and frees their memory. */
static void rewind_tape(int count)
{
    if (count < tape.count) {
        tape.used = (int)(tape.tensors[count].value - tape.numbers);
        tape.count = count;
    }
}

/* Computes d loss / dx for every tensor x on the tape. All uses of a tensor come after it, so when
 * the tape is walked backwards, its gradient is complete before it is passed on to its inputs. */
static void backward(const tensor *loss)
{
    assert(loss->rows == 1 && loss->cols == 1);
    loss->grad[0] = 1;
    for (int i = tape.count - 1; i >= 0; i--) {
        const tensor *y = &tape.tensors[i];
        if (y->backward != NULL) {
            y->backward(y);
        }
    }
}

/* The index of element (i, j) in value and grad. */
static int at(const tensor *t, int i, int j)
{
    return i * t->cols + j;
}

/* ---- the operations ----
 *
 * da stands for d loss / da. Derivatives add (+=), because a tensor that is used twice receives a
 * gradient from each use. */

/* y = a b:  da = dy b^T,  db = a^T dy */
static void matmul_backward(const tensor *y)
{
    const tensor *a = y->a, *b = y->b;
    for (int i = 0; i < y->rows; i++) {
        for (int j = 0; j < y->cols; j++) {
            const double dy = y->grad[at(y, i, j)];
            for (int k = 0; k < a->cols; k++) {
                a->grad[at(a, i, k)] += dy * b->value[at(b, k, j)];
                b->grad[at(b, k, j)] += dy * a->value[at(a, i, k)];
            }
        }
    }
}

static tensor *matmul(const tensor *a, const tensor *b)
{
    assert(a->cols == b->rows);
    tensor *y = record(a->rows, b->cols, a, b, matmul_backward);
    for (int i = 0; i < y->rows; i++) {
        for (int j = 0; j < y->cols; j++) {
            for (int k = 0; k < a->cols; k++) {
                y->value[at(y, i, j)] += a->value[at(a, i, k)] * b->value[at(b, k, j)];
            }
        }
    }
    return y;
}

/* y = a^T:  da = dy^T */
static void transpose_backward(const tensor *y)
{
    for (int i = 0; i < y->rows; i++) {
        for (int j = 0; j < y->cols; j++) {
            y->a->grad[at(y->a, j, i)] += y->grad[at(y, i, j)];
        }
    }
}

static tensor *transpose(const tensor *a)
{
    tensor *y = record(a->cols, a->rows, a, NULL, transpose_backward);
    for (int i = 0; i < y->rows; i++) {
        for (int j = 0; j < y->cols; j++) {
            y->value[at(y, i, j)] = a->value[at(a, j, i)];
        }
    }
    return y;
}

/* y = factor a:  da = factor dy */
static void scale_backward(const tensor *y)
{
    for (int i = 0; i < y->rows * y->cols; i++) {
        y->a->grad[i] += y->factor * y->grad[i];
    }
}

static tensor *scale(const tensor *a, double factor)
{
    tensor *y = record(a->rows, a->cols, a, NULL, scale_backward);
    y->factor = factor;
    for (int i = 0; i < y->rows * y->cols; i++) {
        y->value[i] = factor * a->value[i];
    }
    return y;
}

/* y = a up to the diagonal and -inf above it, where word j follows word i:  da = dy up to the
 * diagonal */
static void mask_backward(const tensor *y)
{
    for (int i = 0; i < y->rows; i++) {
        for (int j = 0; j <= i; j++) {
            y->a->grad[at(y, i, j)] += y->grad[at(y, i, j)];
        }
    }
}

static tensor *mask(const tensor *a)
{
    assert(a->rows == a->cols);
    tensor *y = record(a->rows, a->cols, a, NULL, mask_backward);
    for (int i = 0; i < y->rows; i++) {
        for (int j = 0; j < y->cols; j++) {
            y->value[at(y, i, j)] = j <= i ? a->value[at(a, i, j)] : -(double)INFINITY;
        }
    }
    return y;
}

/* y = softmax(a): in each row, exp(a) / sum(exp(a)). Subtracting the largest a of the row changes
 * nothing and keeps exp from overflowing.  da = y (dy - sum(y dy)), summed over the row */
static void softmax_backward(const tensor *y)
{
    for (int i = 0; i < y->rows; i++) {
        double sum = 0;
        for (int j = 0; j < y->cols; j++) {
            sum += y->value[at(y, i, j)] * y->grad[at(y, i, j)];
        }
        for (int j = 0; j < y->cols; j++) {
            y->a->grad[at(y, i, j)] += y->value[at(y, i, j)] * (y->grad[at(y, i, j)] - sum);
        }
    }
}

static tensor *softmax(const tensor *a)
{
    tensor *y = record(a->rows, a->cols, a, NULL, softmax_backward);
    for (int i = 0; i < y->rows; i++) {
        double largest = a->value[at(a, i, 0)], sum = 0;
        for (int j = 1; j < y->cols; j++) {
            largest = fmax(largest, a->value[at(a, i, j)]);
        }
        for (int j = 0; j < y->cols; j++) {
            y->value[at(y, i, j)] = exp(a->value[at(a, i, j)] - largest);
            sum += y->value[at(y, i, j)];
        }
        for (int j = 0; j < y->cols; j++) {
            y->value[at(y, i, j)] /= sum;
        }
    }
    return y;
}

/* Row i of y is row ids[i] of a:  row i of dy is added to row ids[i] of da */
static void embedding_backward(const tensor *y)
{
    for (int i = 0; i < y->rows; i++) {
        for (int j = 0; j < y->cols; j++) {
            y->a->grad[at(y->a, y->ids[i], j)] += y->grad[at(y, i, j)];
        }
    }
}

static tensor *embedding(const tensor *a, const int *ids, int count)
{
    tensor *y = record(count, a->cols, a, NULL, embedding_backward);
    y->ids = ids;
    for (int i = 0; i < y->rows; i++) {
        assert(ids[i] >= 0 && ids[i] < a->rows);
        memcpy(&y->value[at(y, i, 0)], &a->value[at(a, ids[i], 0)],
               (size_t)y->cols * sizeof(double));
    }
    return y;
}

/* y = the mean over the rows of -log(p[i, ids[i]]), where p = softmax(a) and ids are the right
 * answers:  da = dy (p - 1 at the right answer) / rows */
static void cross_entropy_backward(const tensor *y)
{
    const tensor *a = y->a, *p = y->b;
    for (int i = 0; i < a->rows; i++) {
        for (int j = 0; j < a->cols; j++) {
            const double right = j == y->ids[i] ? 1 : 0;
            a->grad[at(a, i, j)] += y->grad[0] * (p->value[at(p, i, j)] - right) / a->rows;
        }
    }
}

static tensor *cross_entropy(const tensor *a, const int *ids)
{
    const tensor *p = softmax(a); /* its own gradient stays 0 */
    tensor *y = record(1, 1, a, p, cross_entropy_backward);
    y->ids = ids;
    for (int i = 0; i < a->rows; i++) {
        assert(ids[i] >= 0 && ids[i] < a->cols);
        y->value[0] -= log(p->value[at(p, i, ids[i])]) / a->rows;
    }
    return y;
}

/* ---- the sentences of lesson 3 ---- */

/* Word ids: six foods, a verb for each of them, three places, and the other words. */
enum { FOODS = 6, VERB = FOODS, PLACE = 2 * FOODS, PLACES = 3 };
enum { THE = PLACE + PLACES, CAME, OUT, OF, AND, IT, WORDS };
static const char *const vocabulary[WORDS] = {
    "pizza",   "bread",  "cake",   "pie",      "cookie",  "potato", "tasted",
    "smelled", "looked", "cooled", "crumbled", "steamed", "oven",   "kitchen",
    "box",     "the",    "came",   "out",      "of",      "and",    "it"};
enum { LENGTH = 9, SENTENCES = 2 * FOODS * PLACES };

typedef struct sentence {
    int words[LENGTH]; /* up to *it* */
    int food_at;       /* index of the food */
    int verb;          /* the word to predict */
    bool training;     /* 24 are for training, the other 12 for testing */
} sentence;

static sentence sentence_new(int number)
{
    const int food = number / 2 % FOODS, i = number / 2 / FOODS, place = PLACE + i;
    const bool training = (food + i) % PLACES != 0;
    if (number % 2 == 0) {
        return (sentence){
            {THE, food, CAME, OUT, OF, THE, place, AND, IT}, 1, VERB + food, training};
    }
    return (sentence){{OUT, OF, THE, place, CAME, THE, food, AND, IT}, 6, VERB + food, training};
}

/* ---- the model: which word follows *it*? ---- */

enum { D_MODEL = 32, PARAMETERS = 5 };

/* The model of lesson 3 without positions or biases, which these sentences do not require. Weights
 * are stored as (out, in), as in torch.nn.Linear. */
typedef struct model {
    tensor *we;              /* (WORDS, D_MODEL), the embeddings */
    tensor *W_q, *W_k, *W_v; /* (D_MODEL, D_MODEL) */
    tensor *fc;              /* (WORDS, D_MODEL) */
} model;

/* Uniform in [-limit, limit), drawn with the linear congruential generator of Knuth's MMIX. */
static tensor *parameter(int rows, int cols, double limit, uint64_t *seed)
{
    tensor *t = record(rows, cols, NULL, NULL, NULL);
    for (int i = 0; i < rows * cols; i++) {
        *seed = *seed * 6364136223846793005u + 1442695040888963407u;
        t->value[i] = limit * ((double)(*seed >> 11) * 0x1p-52 - 1);
    }
    return t;
}

static model model_new(uint64_t seed)
{
    const double limit = 1 / sqrt(D_MODEL); /* as in torch.nn.Linear */
    rewind_tape(0);
    model m;
    m.we = parameter(WORDS, D_MODEL, 0.2, &seed);
    m.W_q = parameter(D_MODEL, D_MODEL, limit, &seed);
    m.W_k = parameter(D_MODEL, D_MODEL, limit, &seed);
    m.W_v = parameter(D_MODEL, D_MODEL, limit, &seed);
    m.fc = parameter(WORDS, D_MODEL, limit, &seed);
    return m;
}

static tensor *linear(const tensor *x, const tensor *weight)
{
    return matmul(x, transpose(weight));
}

/* softmax(q k^T / sqrt(d_k)) v (Vaswani et al., section 3.2.1). Row i of attention_percent shows
 * how word i divides its attention. */
static tensor *self_attention(const model *m, const tensor *x, tensor **attention_percent)
{
    const tensor *q = linear(x, m->W_q);
    const tensor *k = linear(x, m->W_k);
    const tensor *v = linear(x, m->W_v);

    const tensor *sims = matmul(q, transpose(k));
    const tensor *scaled_sims = scale(sims, 1 / sqrt(k->cols));
    *attention_percent = softmax(mask(scaled_sims));
    return matmul(*attention_percent, v);
}

/* Returns the scores (1, WORDS) of the word after *it*. They depend on the other words only through
 * attention: of its result, only the row of *it* is read. */
static tensor *forward(const model *m, const sentence *s, tensor **attention_percent)
{
    static const int it[] = {LENGTH - 1};
    const tensor *encodings = embedding(m->we, s->words, LENGTH);
    const tensor *attended = self_attention(m, encodings, attention_percent);
    return linear(embedding(attended, it, 1), m->fc);
}

/* The loss of one sentence, divided by 24, so that the losses of all 24 add up to their mean. */
static tensor *loss_of(const model *m, const sentence *s)
{
    tensor *attention_percent;
    return scale(cross_entropy(forward(m, s, &attention_percent), &s->verb), 1.0 / 24);
}

/* ---- Adam ---- */

typedef struct adam {
    double lr, beta1, beta2, eps;
    int steps;
    double *m[PARAMETERS], *v[PARAMETERS]; /* running means of the gradients and of their squares */
} adam;

static adam adam_new(double lr)
{
    adam o = {.lr = lr, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8};
    for (int p = 0; p < PARAMETERS; p++) {
        const int count = tape.tensors[p].rows * tape.tensors[p].cols;
        o.m[p] = zeros(count);
        o.v[p] = zeros(count);
    }
    return o;
}

/* Algorithm 1 of Kingma and Ba. The means start at 0; dividing by 1 - beta^steps corrects that. */
static void adam_step(adam *o)
{
    o->steps++;
    for (int p = 0; p < PARAMETERS; p++) {
        const tensor *t = &tape.tensors[p];
        double *m = o->m[p], *v = o->v[p];
        for (int i = 0; i < t->rows * t->cols; i++) {
            m[i] = o->beta1 * m[i] + (1 - o->beta1) * t->grad[i];
            v[i] = o->beta2 * v[i] + (1 - o->beta2) * t->grad[i] * t->grad[i];
            const double m_hat = m[i] / (1 - pow(o->beta1, o->steps));
            const double v_hat = v[i] / (1 - pow(o->beta2, o->steps));
            t->value[i] -= o->lr * m_hat / (sqrt(v_hat) + o->eps);
        }
    }
}

/* ---- training ---- */

/* Computes the gradients of the mean loss of the 24 sentences, and returns that loss. Each sentence
 * adds its part and is then removed from the tape. */
static double compute_gradients(const model *m)
{
    double mean = 0;
    for (int p = 0; p < PARAMETERS; p++) {
        const tensor *t = &tape.tensors[p];
        memset(t->grad, 0, (size_t)(t->rows * t->cols) * sizeof(double));
    }
    for (int number = 0; number < SENTENCES; number++) {
        const sentence s = sentence_new(number);
        if (s.training) {
            const tensor *loss = loss_of(m, &s);
            backward(loss);
            mean += loss->value[0];
            rewind_tape(PARAMETERS);
        }
    }
    return mean;
}

/* Prints the predictions for the 12 test sentences. Returns whether the model has learnt: each verb
 * is right, and each *it* attends to its food with a weight of at least 0.9. */
static bool show_reading(const model *m)
{
    bool learnt = true;
    for (int number = 0; number < SENTENCES; number++) {
        const sentence s = sentence_new(number);
        if (s.training) {
            continue;
        }
        tensor *attention_percent;
        const tensor *scores = forward(m, &s, &attention_percent);
        const double on_food =
            attention_percent->value[at(attention_percent, LENGTH - 1, s.food_at)];
        int verb = 0, width = 0;
        for (int word = 1; word < WORDS; word++) {
            verb = scores->value[word] > scores->value[verb] ? word : verb;
        }
        for (int i = 0; i < LENGTH; i++) {
            width += printf(" %s", vocabulary[s.words[i]]);
        }
        printf("%*s -> %-9s %3.0f%% of *it* on %s\n", 43 - width, "", vocabulary[verb],
               100 * on_food, vocabulary[s.words[s.food_at]]);
        learnt = learnt && verb == s.verb && on_food >= 0.9;
        rewind_tape(PARAMETERS);
    }
    return learnt;
}

int main(void)
{
    enum { STEPS = 60 };
    const model m = model_new(42);
    printf("The 12 test sentences, before training:\n\n");
    show_reading(&m);

    printf("\nTraining on the other 24 sentences: %d steps of Adam\n\n", STEPS);
    adam o = adam_new(0.02);
    for (int step = 0; step < STEPS; step++) {
        const double loss = compute_gradients(&m);
        adam_step(&o);
        if (step % 10 == 0) {
            printf("before step %2d: loss %.4f\n", step, loss);
        }
    }

    printf("\nThe 12 test sentences, after training:\n\n");
    const bool learnt = show_reading(&m);
    return !learnt || ferror(stdout) || fflush(stdout) != 0;
}

/* Where each part is found in Heed, and what Heed adds:
 *
 * tensor, record  src/tensor/tensor.h, src/autograd/apply.c: up to 8 dims, four dtypes, views. A
 *                 tensor points to its inputs, so the graph needs no tape.
 * rewind_tape     src/tensor/scope.c: reference counts; a scope frees the tensors created in it
 * backward        src/autograd/backward.c: second derivatives
 * matmul          src/autograd/ops/matmul.c, src/tensor/kernels/gemm.h: batches, SIMD, threads
 * transpose       src/autograd/ops/view.c: a view, which copies nothing
 * scale           src/tensor/kernels/ops.def: all element-wise operations, a few lines each
 * mask            src/autograd/ops/masking.c, src/nn/attention.c: masks of any kind
 * softmax         src/autograd/ops/softmax.c: along any dim
 * embedding       src/autograd/ops/index.c, src/nn/layers.c
 * cross_entropy   src/autograd/ops/loss.c: exact even where p underflows to 0
 * self_attention  src/nn/attention.c: batches, cross-attention, several heads
 * parameter       src/tensor/random/random.c: the numbers that PyTorch draws
 * adam            src/nn/optimizer.c: SGD and AdamW
 * assert          src/tensor/error.c: errors that a program can handle */
