/* Lesson 1: one attention head, computed step by step as in a numpy notebook.
 *
 *     build/lesson1_attention_head
 *
 * Each word of "My name is Grant" has a query (what it looks for), a key (what it can be found by)
 * and a value (what it contributes). Its output is a weighted mean of the values of the words that
 * it may attend to.
 *
 * Sources: a notebook without title or author, cells [149] to [160], which begins "Goes over how to
 * create a singular attention head and the math behind it"; [...] below are its cell numbers. Its
 * code is that of "Self Attention in Transformers" by Ajay Halthor
 * (https://github.com/ajhalthor/Transformer-Neural-Network). The formula is from Vaswani et al.,
 * "Attention Is All You Need", 2017, arXiv:1706.03762, section 3.2.1. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "heed.h"

/* The number of words; the sizes of a query or key and of a value. */
enum { L = 4, d_k = 8, d_v = 8 };

/* The notebook draws Q, K and V at random without a seed and prints 8 decimals of them. These
 * numbers have the same 8 decimals and two more, chosen so that they reproduce all later output of
 * the notebook. */
static const double Q[L][d_k] = {
    {-1.8216575956, 1.5763030054, -0.2077850557, -0.7695629644, 0.8582931031, -0.1929343542,
     1.3647830855, -1.1637958089},
    {0.1952642646, -1.1455688028, 0.8202297257, -0.1206546244, 0.5970349656, 1.3678710156,
     1.1080684956, 1.0466632957},
    {-0.3961599180, 0.4547235556, 0.3731152966, -0.9178620044, -0.2571510242, 0.3196648158,
     0.6531677254, 1.2323847314},
    {0.9751866556, 1.0072592957, 1.3737850756, 1.3572279346, 0.1290670742, -1.4690038242,
     -0.2785378042, -0.6674409597},
};
static const double K[L][d_k] = {
    {1.2780840756, 0.1081435057, -0.7198233845, 0.4255425666, -0.9594835044, 0.8888109056,
     -0.7372610479, 0.6828919540},
    {1.0518620670, 1.7709036254, -1.7146695643, -0.4797778742, 0.6847011156, -0.9440847676,
     -0.8938662846, 0.3646594054},
    {0.3204971258, -0.5114279944, 0.0788385820, -0.4399003856, -1.5247893242, -0.8888791872,
     0.8072207058, -2.0063503543},
    {1.3630539169, 0.8538250057, -0.9313731045, 1.1714877958, 0.6679662031, 0.4103090858,
     -0.2964209555, 1.8933765456},
};
static const double V[L][d_v] = {
    {0.8247065444, 1.0183205060, -0.0742798974, -1.0382901956, 1.4739732195, 1.1711968393,
     -0.9341532698, 0.8587348556},
    {2.6689627183, -0.0454967056, 1.4001935444, 0.4469701544, -0.7985427744, 0.0447452656,
     -0.6829644456, 1.9709855844},
    {-0.6402038244, -0.1091146356, 0.9584800344, -0.6924760306, -0.5103066312, -1.3565621744,
     -0.3217702574, 0.5592504644},
    {-0.3343080344, -0.6750188944, -0.4596270744, 0.2391160956, -1.6930516844, -1.5550713744,
     0.2447267656, -1.4224392744},
};
static const char *const words[L] = {"My", "name", "is", "Grant"};

/* Prints 8 decimals, with numpy's line breaks. */
static void show(const char *name, const heed_tensor *t)
{
    printf("\n%s\n", name);
    heed_fprint(stdout, t, .precision = 8, .linewidth = 86);
    putchar('\n');
}

/* Prints the variance over all elements. numpy divides by n, torch by n - 1. Like Python, prints
 * the fewest digits that identify the double. */
static void show_var(const char *name, heed_tensor *x)
{
    heed_tensor *mean = heed_mean(heed_mean_dim(x, 1, false)); /* of the rows' means, as in numpy */
    const double var = heed_item(heed_mean(heed_square(heed_sub(x, mean))));
    char text[32];
    int digits = 1;
    do {
        snprintf(text, sizeof text, "%.*g", digits++, var);
    } while (strtod(text, NULL) != var && digits <= 17);
    printf("%-28s %s\n", name, text);
}

/* exp(x) / (sum of exp(x) over the row): positive, and each row sums to 1. */
static heed_tensor *softmax(heed_tensor *x)
{
    heed_tensor *e = heed_exp(x);
    return heed_div(e, heed_sum_dim(e, -1, true));
}

/* To be added to the scores: 0 for the word itself and the words before it, -inf for the words
 * after it, because e^-inf is 0. */
static heed_tensor *make_mask(void)
{
    heed_tensor *mask = heed_tril(heed_ones(HEED_SHAPE(L, L), HEED_F64), 0);
    show("[155] mask = np.tril(np.ones((L,L)))", mask);

    heed_tensor *unseen = heed_eq_scalar(mask, 0), *seen = heed_eq_scalar(mask, 1);
    mask = heed_masked_fill(heed_masked_fill(mask, unseen, -(double)INFINITY), seen, 0);
    show("[156] mask[mask == 0] = -np.infty; mask[mask == 1] = 0", mask);
    return mask;
}

/* The dot product of each query with each key, divided by sqrt(d_k). The dot product of two vectors
 * of d_k independent numbers with variance 1 has variance d_k. With scores that large, softmax
 * gives nearly all weight to one word; the division brings the variance back to 1. */
static heed_tensor *scores(heed_tensor *q, heed_tensor *k)
{
    heed_tensor *products = heed_matmul(q, heed_transpose(k, 0, 1));
    show("[152] np.matmul(q, k.T)", products);
    printf("\n[153] why sqrt(d_k): the products have a larger variance\n");
    show_var("q.var()", q);
    show_var("k.var()", k);
    show_var("np.matmul(q, k.T).var()", products);

    heed_tensor *scaled = heed_div_scalar(products, sqrt(d_k));
    printf("\n[154] scaled = np.matmul(q, k.T) / math.sqrt(d_k): the variance divided by d_k\n");
    show_var("q.var()", q);
    show_var("k.var()", k);
    show_var("scaled.var()", scaled);
    return scaled;
}

int main(void)
{
    heed_on_error(heed_die);
    HEED_SCOPE(scope);

    heed_tensor *q = heed_from_f64(&Q[0][0], HEED_SHAPE(L, d_k));
    heed_tensor *k = heed_from_f64(&K[0][0], HEED_SHAPE(L, d_k));
    heed_tensor *v = heed_from_f64(&V[0][0], HEED_SHAPE(L, d_v));
    printf("The notebook's cells in C: one attention head for \"My name is Grant\".\n");
    show("[151] Q", q);
    show("[151] K", k);
    show("[151] V", v);

    heed_tensor *scaled = scores(q, k);
    scaled = heed_add(scaled, make_mask());
    show("[157] scaled += mask", scaled);

    heed_tensor *attention = softmax(scaled);
    show("[159] attention = softmax(scaled): row i shows how word i divides its attention",
         attention);

    heed_tensor *new_v = heed_matmul(attention, v);
    show("[160] New Values: new_v = np.matmul(attention, v)", new_v);
    show("[160] Old Values: v", v);

    printf("\nThe attention in percent. \"My\" attends only to itself and keeps its value.\n");
    heed_heat_map(stdout, attention, words, words, HEED_COLOR_AUTO);
    heed_tensor *in_one_line = heed_softmax(scaled, -1);
    printf("\nheed_softmax(scaled, -1) is the same in one line: %s\n",
           heed_allclose(attention, in_one_line, 0, 1e-14, false) ? "yes" : "no");
    return ferror(stdout) || fflush(stdout) != 0;
}
