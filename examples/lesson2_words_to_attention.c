/* Lesson 2: from words to attention, and a bug in a notebook.
 *
 *     build/lesson2_words_to_attention                     "love apple phones", as in the notebook
 *     build/lesson2_words_to_attention "any other words"   with random embeddings
 *
 * The notebook's softmax normalises the columns instead of the rows. The lesson computes both, and
 * shows the difference.
 *
 * Sources: a notebook without title or author, cells [1] to [60], from the tokens of "love apple
 * phones" to multi-head attention; [...] below are its cell numbers. Position encoding, attention
 * and several heads are from Vaswani et al., "Attention Is All You Need", 2017,
 * arXiv:1706.03762, sections 3.5, 3.2.1 and 3.2.2. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heed.h"

enum { SEQ_LEN = 3, d_model = 8, d_k = 4, d_v = 4, HEADS = 2 };

/* The notebook draws these at random without a seed, prints 8 decimals of the embeddings and of
 * W_k, and does not print W_q and W_v. These numbers have the same 8 decimals and two more, and W_q
 * and W_v lie in [0, 1), all chosen so that they reproduce the notebook's later output. */
static const double EMBEDDINGS[SEQ_LEN][d_model] = {
    {0.7822575348, 0.9884757048, 0.4164472149, 0.7174969221, 0.5066631351, 0.8412538183,
     0.8855062348, 0.1797517552},
    {0.5174520200, 0.3893790329, 0.1727122882, 0.2372319651, 0.0338776718, 0.1851924844,
     0.7580396949, 0.2641261448},
    {0.3262938649, 0.6374708417, 0.3145780141, 0.2648669248, 0.9246796851, 0.4978383748,
     0.4252298462, 0.7850025648},
};
static const double WEIGHT_K[d_model][d_k] = {
    {0.0058135752, 0.7450977351, 0.2228916651, 0.6798389151},
    {0.6751081548, 0.8975415949, 0.9544339896, 0.7910833449},
    {0.9153960149, 0.5215565351, 0.6624405249, 0.2319917451},
    {0.9217902249, 0.7434832331, 0.0958952251, 0.8325117652},
    {0.3851972648, 0.5664680549, 0.4486717849, 0.1380553244},
    {0.1812258049, 0.0049432951, 0.4305794589, 0.7973734349},
    {0.5700618349, 0.7443707851, 0.2164187951, 0.6390385944},
    {0.1831522257, 0.3527059451, 0.6248656152, 0.9158008451},
};
static const double WEIGHT_Q[d_model][d_k] = {
    {0.3086558566, 0.3372656759, 0.3234242464, 0.2431356761},
    {0.8697198537, 0.9339418673, 0.0273108031, 0.8492712278},
    {0.8185287961, 0.9746233567, 0.5236549762, 0.1488334912},
    {0.6293234974, 0.4254281017, 0.0157368956, 0.8506986285},
    {0.4547925318, 0.3269949831, 0.5970824501, 0.4436380207},
    {0.3861542147, 0.9348954452, 0.6390846587, 0.1409424446},
    {0.1667764291, 0.9059747870, 0.3372012534, 0.2349785198},
    {0.2596896928, 0.8057377949, 0.7007892062, 0.3056671437},
};
static const double WEIGHT_V[d_model][d_v] = {
    {0.9351704972, 0.6952684097, 0.5465995033, 0.9255288674},
    {0.9757084876, 0.7750010558, 0.1188912000, 0.4217586528},
    {0.8392595974, 0.7230723165, 0.3075854713, 0.9438783959},
    {0.4547732284, 0.6928692371, 0.7463495705, 0.7611786792},
    {0.2178210402, 0.1707400364, 0.6550287250, 0.4836339380},
    {0.6251465415, 0.5168585859, 0.3647981672, 0.4741791572},
    {0.6925386026, 0.3760689928, 0.8102247508, 0.2173691996},
    {0.2689242255, 0.2228819653, 0.5632338603, 0.4737326958},
};

/* As printed in the notebook, which then multiplies by another one, drawn later and not printed. */
static const double WEIGHT_O[d_model][d_model] = {
    {0.0581876408, 0.147190614, 0.254777067, 0.831229393, 0.272155422, 0.773214221, 0.174398622,
     0.400250267},
    {0.104187043, 0.215469075, 0.602959357, 0.226095797, 0.823316733, 0.615700419, 0.269758278,
     0.8645365},
    {0.617497537, 0.404103518, 0.882961718, 0.303137457, 0.263691187, 0.880932353, 0.464046835,
     0.628353976},
    {0.616391016, 0.652444226, 0.423397142, 0.12533018, 0.30931196, 0.421122019, 0.786015737,
     0.0003629267},
    {0.576615409, 0.844129911, 0.288604904, 0.880840913, 0.783247161, 0.597249404, 0.506151501,
     0.3096873},
    {0.326017136, 0.668449682, 0.838887965, 0.394920585, 0.390236305, 0.983827641, 0.82838332,
     0.35111189},
    {0.290245148, 0.515568155, 0.970275721, 0.82971922, 0.17618921, 0.631311639, 0.565782863,
     0.460448641},
    {0.985958149, 0.465051727, 0.578449038, 0.904220429, 0.686995671, 0.789685412, 0.461571607,
     0.538128121},
};

/* ---- printing ---- */

/* Prints 8 decimals, as numpy does, and the shape. */
static void show(const char *name, const heed_tensor *t)
{
    printf("\n%s\n", name);
    heed_fprint(stdout, t, .precision = 8, .linewidth = 86);
    printf("\n%s\n", heed_shape_text(t->ndim, t->shape).text);
}

/* The number of characters in a UTF-8 word: bytes that are not continuation bytes. */
static int width_of(const char *word)
{
    int width = 0;
    for (; *word != '\0'; word++) {
        width += ((unsigned char)*word & 0xC0) != 0x80;
    }
    return width;
}

/* Prints a square table with labels: rows are queries, columns are keys. */
static void show_table(const char *name, heed_tensor *t, char *const *vocab)
{
    const int64_t n = heed_size(t, 0);
    int widest = 8;
    for (int64_t i = 0; i < n; i++) {
        widest = width_of(vocab[i]) > widest ? width_of(vocab[i]) : widest;
    }
    const int column = widest < 12 ? 16 : widest + 4;
    printf("\n%s\n%*s", name, widest + 4, "");
    for (int64_t j = 0; j < n; j++) {
        printf("%*s%s", column - width_of(vocab[j]), "K_", vocab[j]);
    }
    for (int64_t i = 0; i < n; i++) {
        printf("\n  Q_%s%*s", vocab[i], widest - width_of(vocab[i]), "");
        for (int64_t j = 0; j < n; j++) {
            printf("%*.8g", column, heed_at(t, HEED_INDEX(i, j)));
        }
    }
    putchar('\n');
}

/* ---- [3] tokens: words, whose ids are their positions ---- */

/* Splits `text` in place and returns the number of tokens. As in the notebook, a word that occurs
 * twice becomes two tokens, each with its own embedding. A real vocabulary contains each word
 * once. */
static int tokenizer(char *text, char **vocab)
{
    static const char blanks[] = " \t\n\v\f\r";
    int count = 0;
    for (char *token = strtok(text, blanks); token != NULL; token = strtok(NULL, blanks)) {
        vocab[count++] = token;
    }
    return count;
}

/* ---- [7] position encoding: sines and cosines, whose frequency falls from pair to pair ---- */

static heed_tensor *every_second(heed_tensor *t, int64_t start)
{
    return heed_slice(t, 1, start, INT64_MAX, 2); /* t[:, start::2] */
}

static heed_tensor *sinusoidal_positional_encoding(int64_t seq_len)
{
    heed_tensor *positions = heed_unsqueeze(heed_arange(0, (double)seq_len, 1, HEED_F64), 1);
    heed_tensor *dims = heed_unsqueeze(heed_arange(0, d_model, 1, HEED_F64), 0);
    heed_tensor *pairs = heed_mul_scalar(heed_floor(heed_div_scalar(dims, 2)), 2); /* 0 0 2 2 ... */
    heed_tensor *div_term = heed_pow(heed_scalar(10000, HEED_F64), heed_div_scalar(pairs, d_model));
    heed_tensor *angle = heed_div(positions, div_term); /* (seq_len, 1) / (1, d_model) */

    heed_tensor *pe = heed_zeros(HEED_SHAPE(seq_len, d_model), HEED_F64);
    heed_copy_into(every_second(pe, 0), heed_sin(every_second(angle, 0)));
    heed_copy_into(every_second(pe, 1), heed_cos(every_second(angle, 1)));
    return pe;
}

/* ---- [34] two softmaxes ---- */

/* The notebook's np.exp(x) / sum(np.exp(x)). Iterating over a matrix yields its rows, so Python's
 * sum() adds the rows: the result is one row, which holds the sums of the columns. */
static heed_tensor *softmax_of_the_notebook(heed_tensor *x)
{
    heed_tensor *e = heed_exp(x);
    return heed_div(e, heed_sum_dim(e, 0, true));
}

/* Prints the sum of each row (dim 0) or column (dim 1). */
static void show_sums(const char *name, heed_tensor *t, int dim)
{
    printf("the %s sum to", name);
    for (int64_t i = 0; i < heed_size(t, dim); i++) {
        printf(" %.8g", heed_item(heed_sum(heed_select(t, dim, i))));
    }
    putchar('\n');
}

/* Prints the probabilities, their sums, and the new vector of each word. */
static void show_attention(heed_tensor *similarity_prob_matrix, heed_tensor *V, char *const *vocab)
{
    show_table("similarity_prob_matrix", similarity_prob_matrix, vocab);
    show_sums("rows", similarity_prob_matrix, 0);
    show_sums("columns", similarity_prob_matrix, 1);
    heed_tensor *attention = heed_matmul(similarity_prob_matrix, V);
    show("[38] attention = similarity_prob_matrix @ V", attention);
    printf("\n[39] each row is a new vector for its word\n");
    for (int64_t i = 0; i < heed_size(attention, 0); i++) {
        printf("new %s:", vocab[i]);
        for (int64_t j = 0; j < d_v; j++) {
            printf(" %.8f", heed_at(attention, HEED_INDEX(i, j)));
        }
        putchar('\n');
    }
}

/* ---- [58] several heads ---- */

struct weights {
    heed_tensor *W_q, *W_k, *W_v;
};

/* softmax(Q K^T / sqrt(d_k)) V, the softmax along the rows */
static heed_tensor *one_head(heed_tensor *embeddings, struct weights w)
{
    heed_tensor *Q = heed_matmul(embeddings, w.W_q);
    heed_tensor *K = heed_matmul(embeddings, w.W_k);
    heed_tensor *V = heed_matmul(embeddings, w.W_v);
    heed_tensor *sim_matrix = heed_div_scalar(heed_matmul(Q, heed_transpose(K, 0, 1)), sqrt(d_k));
    return heed_matmul(heed_softmax(sim_matrix, -1), V);
}

/* Heed's module with these weights. A Linear stores its weight as (out, in), so they are
 * transposed. */
static struct heed_multi_head *load(const struct weights heads[HEADS], heed_tensor *W_o)
{
    struct heed_multi_head *m = heed_multi_head_new(d_model, HEADS, 0, 1, .head_dim = d_k);
    heed_module_to(m, HEED_F64);
    for (int i = 0; i < HEADS; i++) {
        struct heed_self_attention *head = heed_multi_head_head(m, i);
        heed_copy_into(head->W_q->weight, heed_transpose(heads[i].W_q, 0, 1));
        heed_copy_into(head->W_k->weight, heed_transpose(heads[i].W_k, 0, 1));
        heed_copy_into(head->W_v->weight, heed_transpose(heads[i].W_v, 0, 1));
    }
    heed_copy_into(m->W_o->weight, heed_transpose(W_o, 0, 1));
    return m;
}

static void multi_head_attention(heed_tensor *embeddings, struct weights first)
{
    heed_tensor *W_o = heed_from_f64(&WEIGHT_O[0][0], HEED_SHAPE(d_model, d_model));
    show("[42] W_o", W_o);

    printf(
        "\nThe notebook draws two new heads and a new W_o, prints none of them, and repeats the\n"
        "bug: its last numbers cannot be reproduced. Here the first head is the one above, the\n"
        "second is drawn from seed 42, W_o is the printed one, and softmax is along the rows.\n");
    struct weights heads[HEADS] = {first};
    heed_manual_seed(42);
    heads[1].W_k = heed_rand(HEED_SHAPE(d_model, d_k), HEED_F64);
    heads[1].W_q = heed_rand(HEED_SHAPE(d_model, d_k), HEED_F64);
    heads[1].W_v = heed_rand(HEED_SHAPE(d_model, d_v), HEED_F64);
    heed_tensor *outputs[HEADS];
    for (int i = 0; i < HEADS; i++) {
        outputs[i] = one_head(embeddings, heads[i]);
    }
    heed_tensor *Z = heed_cat(outputs, HEADS, 1);
    heed_tensor *res = heed_matmul(Z, W_o);
    show("[60] Z = np.concatenate(attention_res, axis=1)", Z);
    show("[60] res = Z @ W_o", res);

    struct heed_multi_head *m = load(heads, W_o);
    heed_tensor *same = heed_multi_head_forward(m, embeddings, NULL);
    printf("\nheed_multi_head_forward with these weights gives the same: %s\n",
           heed_allclose(res, same, 1e-12, 0, false) ? "yes" : "no");
    heed_module_free(m);
}

/* ---- the notebook, from top to bottom ---- */

static heed_tensor *embed(char *const *vocab, int seq_len, bool of_the_notebook)
{
    printf("[3] tokens_map\n{");
    for (int id = 0; id < seq_len; id++) {
        printf("%d: '%s'%s", id, vocab[id], id + 1 < seq_len ? ", " : "}\n");
    }
    heed_manual_seed(0);
    heed_tensor *embeddings_matrix =
        of_the_notebook ? heed_from_f64(&EMBEDDINGS[0][0], HEED_SHAPE(SEQ_LEN, d_model))
                        : heed_rand(HEED_SHAPE(seq_len, d_model), HEED_F64);
    show("[5] embeddings_matrix", embeddings_matrix);

    heed_tensor *pos_matrix = sinusoidal_positional_encoding(seq_len);
    heed_tensor *embeddings = heed_add(embeddings_matrix, pos_matrix);
    show("[14] embeddings = np.add(embeddings_matrix, pos_matrix)", embeddings);
    return embeddings;
}

/* Explains the sums. For the reader's own words, states only what is true of any words. */
static void explain_bug(int64_t seq_len, bool of_the_notebook)
{
    printf("\nThis is the bug: sum() adds the rows, so the columns sum to 1. But row i shows how\n"
           "query i divides its attention among the keys, so each row should sum to 1.\n");
    if (seq_len == 1) {
        printf("(With a single word, row and column are the same.)\n");
    } else if (of_the_notebook) {
        printf("Above, the queries compete for each key instead: one wins almost all of it, and\n"
               "the new vectors of the others (\"new apple\") are almost 0.\n");
    } else {
        printf("Above, the queries compete for each key instead: one gains what others lose.\n");
    }
    printf("Now the same along the rows:\n");
}

static void attend(heed_tensor *embeddings, struct weights w, char *const *vocab,
                   bool of_the_notebook)
{
    heed_tensor *K = heed_matmul(embeddings, w.W_k);
    heed_tensor *Q = heed_matmul(embeddings, w.W_q);
    heed_tensor *V = heed_matmul(embeddings, w.W_v);
    show("[22] W_k", w.W_k);
    show("[26] K = embeddings @ W_k", K);

    heed_tensor *similarity_matrix =
        heed_div_scalar(heed_matmul(Q, heed_transpose(K, 0, 1)), sqrt(d_k));
    show("[29] similarity_matrix = (Q @ K.T) / np.sqrt(d_k)", similarity_matrix);
    show_table("[31] df_similarity", similarity_matrix, vocab);
    printf("Row i of Q @ K.T holds the products of query i with every key. The notebook swaps the\n"
           "labels: it calls the rows K_ and the columns Q_.\n"
           "\n[34] the notebook's softmax: np.exp(x) / sum(np.exp(x))\n");
    show_attention(softmax_of_the_notebook(similarity_matrix), V, vocab);
    explain_bug(heed_size(embeddings, 0), of_the_notebook);
    printf("\n[34] the correct softmax: heed_softmax(similarity_matrix, -1)\n");
    show_attention(heed_softmax(similarity_matrix, -1), V, vocab);
}

static void from_words_to_attention(char *const *vocab, int seq_len, bool of_the_notebook)
{
    printf("The notebook's cells in C: from words to attention, and a bug.\n\n");
    heed_tensor *embeddings = embed(vocab, seq_len, of_the_notebook);
    const struct weights w = {
        .W_q = heed_from_f64(&WEIGHT_Q[0][0], HEED_SHAPE(d_model, d_k)),
        .W_k = heed_from_f64(&WEIGHT_K[0][0], HEED_SHAPE(d_model, d_k)),
        .W_v = heed_from_f64(&WEIGHT_V[0][0], HEED_SHAPE(d_model, d_v)),
    };
    attend(embeddings, w, vocab, of_the_notebook);
    multi_head_attention(embeddings, w);
}

int main(int argc, char **argv)
{
    heed_on_error(heed_die);
    HEED_SCOPE(scope);

    char of_the_notebook[] = "love apple phones";
    char *sentence = argc > 1 ? argv[1] : of_the_notebook;
    const size_t size = (strlen(sentence) / 2 + 1) * sizeof(char *);
    char **vocab = heed_alloc(size);
    const int seq_len = tokenizer(sentence, vocab);
    const bool valid = argc <= 2 && seq_len > 0;
    if (valid) {
        from_words_to_attention(vocab, seq_len, argc < 2);
    } else {
        fprintf(stderr, "usage: lesson2_words_to_attention [\"one or more words, in quotes\"]\n");
    }
    heed_free(vocab);
    return valid ? ferror(stdout) || fflush(stdout) != 0 : 2;
}
