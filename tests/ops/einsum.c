/* einsum: many dims, dtypes, and which tensors are copied. parity/einsum.def tests equations from
 * papers and edge cases; here are random ones and malformed ones. */
#include <string.h>

#include "tests/common/reference.h"

/* ---- many dims ---- */

static void check_product_of_8(const char *equation, heed_shape a, heed_shape b, heed_shape y,
                               heed_tensor *(*twin)(heed_tensor *a, heed_tensor *b))
{
    heed_tensor *x1 = noise(a, HEED_F64, ROTATED, 1), *x2 = noise(b, HEED_F64, COLUMNS, 2);
    heed_tensor *product = heed_einsum(equation, x1, x2);
    expect_kind(product, HEED_F64, y);
    expect_close(product, twin(x1, x2), 1e-12);
}

static heed_tensor *sum_of_product(heed_tensor *a, heed_tensor *b)
{
    return heed_sum_dim(heed_mul(a, b), -1, false);
}

/* Up to 6 batch dims, which matmul has besides rows and columns. */
START_TEST(einsum_of_8_dims)
{
    const heed_shape a = HEED_SHAPE(2, 3, 2, 2, 2, 2, 3), some = HEED_SHAPE(2, 1, 2, 1, 2, 2, 3);
    const heed_shape y = HEED_SHAPE(2, 3, 2, 2, 2, 2);
    check_product_of_8("abcdefk,abcdefk->abcdef", a, a, y, sum_of_product);
    check_product_of_8("...k,...k->...", a, a, y, sum_of_product);
    check_product_of_8("...k,...k->...", a, some, y, sum_of_product);
    check_product_of_8("abcdefk,abcdefk->abcdef", some, a, y, sum_of_product);
    check_product_of_8("...,...", a, some, a, heed_mul);
    check_product_of_8("...k,...k", some, some, HEED_SHAPE(2, 1, 2, 1, 2, 2), sum_of_product);
    /* 15 letters, 8 in each operand. */
    heed_tensor *x = heed_ones(HEED_SHAPE(2, 2, 2, 2, 2, 2, 2, 3), HEED_F32);
    heed_tensor *sum = heed_einsum("abcdefgh,ijklmnoh->", x, x);
    EXPECT_VALUES(sum, 0, 128 * 128 * 3);
    EXPECT_VALUES(heed_einsum("abcdefgh,ijklmnop->ai", x, x), 0, 36864, 36864, 36864, 36864);
    ck_assert_ptr_null(heed_einsum("abcdefgh,ijklmnoh->abcdijklm", x, x));
    expect_error(HEED_ERR_SHAPE, "the result would have 9 dims; at most 8");
    ck_assert_ptr_null(heed_einsum("abcdefgh,ijklmnop", x, x));
    expect_error(HEED_ERR_SHAPE, "the result would have 16 dims; at most 8");
    heed_tensor *b = heed_ones(HEED_SHAPE(1, 3), HEED_F32);
    expect_kind(heed_einsum("...h,ih->i...", heed_select(x, 0, 0), b), HEED_F32,
                HEED_SHAPE(1, 2, 2, 2, 2, 2, 2));
    ck_assert_ptr_null(heed_einsum("abcdefgh,abcdefgh->abcdefg", x, x));
    expect_error(HEED_ERR_SHAPE, "7 dims of a batch; at most 6 are allowed");
}
END_TEST

/* ---- what is copied ---- */

/* The first matmul in the graph of y. */
static const heed_tensor *find_matmul(const heed_tensor *y)
{
    while (y->op == NULL || strcmp(y->op->name, "matmul") != 0) {
        EXPECT(y->op != NULL, "no matmul");
        y = y->inputs[0];
    }
    return y;
}

START_TEST(einsum_multiplies_views)
{
    static const struct {
        const char *equation;
        heed_shape a, b;
        bool copies_a, copies_b;
    } rows[] = {
        {"bqd,bkd->bqk", {3, {2, 3, 4}}, {3, {2, 5, 4}}, false, false},
        {"bhqd,bhkd->bhqk", {4, {2, 3, 4, 5}}, {4, {2, 3, 6, 5}}, false, false},
        {"bhqk,bhkd->bhqd", {4, {2, 3, 4, 5}}, {4, {2, 3, 5, 6}}, false, false},
        {"bqhd,bkhd->bhqk", {4, {2, 3, 4, 5}}, {4, {2, 6, 4, 5}}, false, false},
        {"bhqk,bkhd->bqhd", {4, {2, 3, 4, 5}}, {4, {2, 5, 3, 6}}, false, false},
        {"bhqd,bhkd->bhqk", {4, {2, 3, 4, 5}}, {4, {2, 1, 6, 5}}, false, false},
        {"ij,jk", {2, {3, 4}}, {2, {4, 5}}, false, false},
        {"ji,kj", {2, {3, 4}}, {2, {5, 3}}, false, false},
        {"ij,ij->", {2, {3, 4}}, {2, {3, 4}}, false, false},
        {"...ij,...jk->...ik", {4, {2, 1, 3, 4}}, {3, {5, 4, 6}}, false, false},
        {"bqhd,bkhd->bqk", {4, {2, 3, 4, 5}}, {4, {2, 6, 4, 5}}, false, false},
        /* h and e cannot be merged without a copy in (h, d, e), nor d and h in both. */
        {"nld,hde->nhle", {3, {2, 3, 4}}, {3, {5, 4, 6}}, false, true},
        {"qhd,dhk->qk", {3, {9, 2, 3}}, {3, {3, 2, 4}}, false, true},
        {"qhd,dhk->qk", {3, {4, 2, 3}}, {3, {3, 2, 9}}, true, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        heed_tensor *a = heed_set_requires_grad(heed_ones(rows[i].a, HEED_F32), true);
        heed_tensor *b = heed_set_requires_grad(heed_ones(rows[i].b, HEED_F32), true);
        const heed_tensor *product = find_matmul(heed_einsum(rows[i].equation, a, b));
        ck_assert_msg((product->inputs[0]->storage != a->storage) == rows[i].copies_a, "%s: a",
                      rows[i].equation);
        ck_assert_msg((product->inputs[1]->storage != b->storage) == rows[i].copies_b, "%s: b",
                      rows[i].equation);
    }
}
END_TEST

/* Intermediate tensors are freed: only the result and what its derivative reads remain. */
START_TEST(einsum_leaves_nothing_behind)
{
    heed_tensor *a = noise(HEED_SHAPE(2, 3, 4), HEED_F32, ROWS, 1);
    heed_tensor *b = noise(HEED_SHAPE(5, 4, 6), HEED_F32, ROWS, 2);
    const int64_t tensors = heed_live_tensors();
    heed_einsum("nld,hde->nhle", a, b);
    ck_assert_int_eq(heed_live_tensors(), tensors + 1);
}
END_TEST

/* ---- dtypes ---- */

START_TEST(einsum_dtypes)
{
    heed_tensor *ids = heed_from_i64((int64_t[]){3, -2}, HEED_SHAPE(2));
    heed_tensor *mask = heed_from_bool((bool[]){1, 0}, HEED_SHAPE(2));
    heed_tensor *x = heed_from_f32((float[]){0.5f, 4}, HEED_SHAPE(2));
    heed_tensor *d = heed_to(x, HEED_F64);
    /* No shared letter is summed over, so the dtypes are those of heed_mul; a sum of bools counts
     * them. */
    expect_kind(heed_einsum("i,j->ij", ids, x), HEED_F32, HEED_SHAPE(2, 2));
    expect_kind(heed_einsum("i,i->i", mask, mask), HEED_BOOL, HEED_SHAPE(2));
    expect_kind(heed_einsum("i,j->j", mask, mask), HEED_I64, HEED_SHAPE(2));
    EXPECT_VALUES(heed_einsum("i,i->i", mask, x), 0, 0.5, 0);
    EXPECT_VALUES(heed_einsum("i,i->", ids, ids), 0, 13);
    ck_assert_ptr_null(heed_einsum("i,i->", ids, x));
    expect_error(HEED_ERR_DTYPE, "einsum: i64 with f32; cast");
    ck_assert_ptr_null(heed_einsum("i,i->", mask, mask));
    expect_error(HEED_ERR_DTYPE, "einsum: bool with bool; cast");
    ck_assert_ptr_null(heed_einsum("i,j->ij", x, d));
    expect_error(HEED_ERR_DTYPE, "einsum: f32 with f64; cast");
}
END_TEST

/* ---- failing allocations ---- */

/* Sums, copies and a product, forward and backward, with each allocation failing in
 * turn. */
START_TEST(einsum_without_memory)
{
    heed_tensor *a = heed_set_requires_grad(noise(HEED_SHAPE(3, 2, 4, 2), HEED_F64, ROWS, 3), true);
    heed_tensor *b = heed_set_requires_grad(noise(HEED_SHAPE(2, 4, 5), HEED_F64, ROTATED, 4), true);
    const int64_t tensors = heed_live_tensors(), bytes = heed_live_bytes();
    int64_t n = 0;
    for (heed_status status = HEED_ERR_MEMORY; status != HEED_OK; n++) {
        heed_tensor *grads[2] = {NULL, NULL};
        heed_scope scope;
        heed_scope_begin(&scope);
        heed_fail_allocation(n);
        heed_tensor *y = heed_einsum("ijkl,jkm->mi", a, b);
        heed_grad(heed_sum(heed_mul(y, y)), (heed_tensor *[]){a, b}, 2, grads, true);
        heed_fail_allocation(-1);
        heed_scope_end(&scope);
        ck_assert_int_eq(heed_live_tensors(), tensors);
        ck_assert_int_eq(heed_live_bytes(), bytes);
        status = heed_error_pending();
        if (status != HEED_OK) {
            expect_error(HEED_ERR_MEMORY, "out of memory: ");
        }
    }
    ck_assert_int_gt(n, 30);
}
END_TEST

/* ---- a long equation ---- */

START_TEST(einsum_of_a_long_text)
{
    char text[5000];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    heed_tensor *x = heed_ones(HEED_SHAPE(2), HEED_F32);
    ck_assert_ptr_null(heed_einsum(text, x, x));
    expect_error(HEED_ERR_VALUE, "1 operand; heed_einsum takes two");
    text[2500] = ',';
    ck_assert_ptr_null(heed_einsum(text, x, x));
    expect_error(HEED_ERR_VALUE, "a appears twice in one operand");
    memcpy(text + 1000, "->", 2);
    text[1] = ',';
    ck_assert_ptr_null(heed_einsum(text, x, x));
    expect_error(HEED_ERR_VALUE, "','");
}
END_TEST

/* ---- random equations ---- */

/* An equation before it is written: one label per dim; the ellipsis is capitals up to Z. */
enum { OF_ELLIPSIS = 3, MOST_DIMS = 5, LABELS = 'z' + 1 };
typedef struct puzzle {
    char a[MOST_DIMS + 1], b[MOST_DIMS + 1], y[HEED_MAX_DIMS + 1], text[64];
    int64_t size[LABELS];
    heed_shape shape_a, shape_b, shape_y;
} puzzle;

static uint64_t state;

static int draw(int below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)below);
}

static bool is_of_ellipsis(char label)
{
    return label > 'Z' - OF_ELLIPSIS && label <= 'Z';
}

/* Random letters, possibly with an ellipsis between them. */
static void draw_operand(char *labels, int letters)
{
    const int ellipsis = draw(OF_ELLIPSIS + 1), count = draw(MOST_DIMS + 1 - ellipsis);
    const int place = draw(count + 1);
    char *to = labels;
    for (int i = 0; i <= count; i++) {
        for (int j = ellipsis; j > 0 && i == place; j--) {
            *to++ = (char)('Z' + 1 - j);
        }
        const char letter = (char)((draw(2) ? 'a' : 'A') + draw(letters));
        if (i < count && memchr(labels, letter, (size_t)(to - labels)) == NULL) {
            *to++ = letter;
        }
    }
    *to = '\0';
}

/* Writes the labels: "..." for the ellipsis, and random spaces. */
static char *write_labels(char *to, const char *labels)
{
    for (const char *at = labels; *at != '\0'; at++) {
        const bool first = is_of_ellipsis(*at) && (at == labels || !is_of_ellipsis(at[-1]));
        to += first                 ? sprintf(to, "...")
              : is_of_ellipsis(*at) ? 0
                                    : sprintf(to, draw(8) ? "%c" : " %c", *at);
    }
    return to;
}

static heed_shape draw_shape(const puzzle *p, const char *labels)
{
    heed_shape shape = {.ndim = (int)strlen(labels)};
    for (int i = 0; i < shape.ndim; i++) {
        shape.size[i] = draw(6) ? p->size[(int)labels[i]] : 1;
    }
    return shape;
}

/* The result: some of the labels in random order, and the complete ellipsis or none of it. */
static void draw_result(puzzle *p)
{
    char ellipsis[OF_ELLIPSIS + 1] = "", *to = p->y;
    const bool keeps_ellipsis = draw(3) > 0;
    for (char label = 'Z' + 1 - OF_ELLIPSIS; label <= 'Z'; label++) {
        if (keeps_ellipsis && (strchr(p->a, label) || strchr(p->b, label))) {
            strncat(ellipsis, &label, 1);
        }
    }
    const int start = draw(6);
    bool placed = false;
    for (int i = 0; i < 52 && strlen(p->y) + strlen(ellipsis) < 6; i++) {
        const int letter = (start * 8 + i) % 52;
        const char label = (char)(letter < 26 ? 'a' + letter : 'A' + letter - 26);
        if (is_of_ellipsis(label) || !(strchr(p->a, label) || strchr(p->b, label)) || draw(2)) {
            continue;
        }
        if (!placed && draw(2)) {
            to = strcpy(to, ellipsis) + strlen(ellipsis);
            placed = true;
        }
        *to++ = label;
        *to = '\0';
    }
    strcpy(to, placed ? "" : ellipsis);
}

static puzzle draw_puzzle(void)
{
    puzzle p = {.a = ""};
    for (int i = 0; i < LABELS; i++) {
        p.size[i] = draw(30) ? 1 + draw(4) : 0;
    }
    draw_operand(p.a, 4);
    draw_operand(p.b, 4);
    draw_result(&p);
    p.shape_a = draw_shape(&p, p.a);
    p.shape_b = draw_shape(&p, p.b);
    for (int i = 0; i < LABELS; i++) { /* broadcast sizes */
        const char *in_a = i > 0 ? strchr(p.a, i) : NULL, *in_b = i > 0 ? strchr(p.b, i) : NULL;
        const int64_t a = in_a ? p.shape_a.size[in_a - p.a] : 1;
        p.size[i] = a != 1 || !in_b ? a : p.shape_b.size[in_b - p.b];
    }
    p.shape_y.ndim = (int)strlen(p.y);
    for (int i = 0; i < p.shape_y.ndim; i++) {
        p.shape_y.size[i] = p.size[(int)p.y[i]];
    }
    char *to = write_labels(p.text, p.a);
    to = write_labels(to + sprintf(to, ","), p.b);
    write_labels(to + sprintf(to, draw(2) ? "->" : " -> "), p.y);
    return p;
}

/* ---- plain loops ---- */

static double at_labels(const heed_tensor *t, const char *labels, const int64_t *index)
{
    heed_shape at = {.ndim = t->ndim};
    for (int i = 0; i < t->ndim; i++) {
        at.size[i] = index[(int)labels[i]];
    }
    return element(t, at);
}

/* One element of the result: sums over all other labels. */
static double sum_at(const puzzle *p, const heed_tensor *a, const heed_tensor *b, heed_shape at)
{
    int64_t index[LABELS] = {0};
    char summed[2 * MOST_DIMS + 1] = "";
    for (int i = 0; i < p->shape_y.ndim; i++) {
        index[(int)p->y[i]] = at.size[i];
    }
    for (char label = 'A'; label <= 'z'; label++) {
        if ((strchr(p->a, label) || strchr(p->b, label)) && !strchr(p->y, label)) {
            strncat(summed, &label, 1);
            if (p->size[(int)label] == 0) {
                return 0;
            }
        }
    }
    double sum = 0;
    for (;;) {
        sum += at_labels(a, p->a, index) * at_labels(b, p->b, index);
        size_t i = 0;
        while (i < strlen(summed) && ++index[(int)summed[i]] == p->size[(int)summed[i]]) {
            index[(int)summed[i++]] = 0;
        }
        if (i == strlen(summed)) {
            return sum;
        }
    }
}

static void check_puzzle(const puzzle *p, heed_dtype dtype)
{
    heed_tensor *a = heed_to(noise(p->shape_a, HEED_I64, ROWS, (uint64_t)draw(1000)), dtype);
    heed_tensor *b = heed_to(noise(p->shape_b, HEED_I64, ROWS, (uint64_t)draw(1000)), dtype);
    heed_tensor *y = heed_einsum(p->text, a, b);
    EXPECT(y != NULL, "%s", heed_error_message());
    expect_kind(y, dtype, p->shape_y);
    for (heed_shape at = first_index(p->shape_y); at.ndim >= 0; next_index(p->shape_y, &at)) {
        expect_element(p->text, element(y, at), sum_at(p, a, b, at), 0, dtype);
    }
}

START_TEST(einsum_of_any_equation)
{
    state = (uint64_t)_i + 1;
    for (int i = 0; i < 400; i++) {
        heed_scope scope;
        heed_scope_begin(&scope);
        const puzzle p = draw_puzzle();
        check_puzzle(&p, (heed_dtype)draw(HEED_BOOL));
        heed_scope_end(&scope);
    }
}
END_TEST

/* ---- malformed ---- */

START_TEST(einsum_of_garbage)
{
    static const char alphabet[] = "ab..,,->> 1Z\xff";
    heed_tensor *a = heed_ones(HEED_SHAPE(2, 2), HEED_F32);
    heed_tensor *b = heed_ones(HEED_SHAPE(2), HEED_F32);
    int read = 0;
    state = 5;
    for (int i = 0; i < 20000; i++) {
        char text[16] = "";
        for (int j = 0, length = draw(12); j < length; j++) {
            text[j] = alphabet[draw((int)sizeof alphabet - 1)];
        }
        heed_scope scope;
        heed_scope_begin(&scope);
        heed_tensor *y = heed_einsum(text, a, b);
        read += y != NULL;
        if (y == NULL) {
            const heed_status status = heed_error();
            EXPECT(status == HEED_ERR_VALUE || status == HEED_ERR_SHAPE, "%s",
                   heed_status_name(status));
            EXPECT(strncmp(heed_error_message(), "einsum: '", 9) == 0 &&
                       strstr(heed_error_message(), "(2, 2)") != NULL,
                   "%s", heed_error_message());
        }
        heed_scope_end(&scope);
    }
    ck_assert_msg(read > 5 && read < 2000, "%d of 20000 were accepted", read);
}
END_TEST

void add_einsum_cases(Suite *suite)
{
    TCase *einsum = heed_case(suite, "einsum");
    tcase_add_test(einsum, einsum_of_8_dims);
    tcase_add_test(einsum, einsum_multiplies_views);
    tcase_add_test(einsum, einsum_leaves_nothing_behind);
    tcase_add_test(einsum, einsum_dtypes);
    tcase_add_test(einsum, einsum_without_memory);
    tcase_add_test(einsum, einsum_of_a_long_text);
    TCase *equations = heed_case(suite, "equations");
    tcase_add_loop_test(equations, einsum_of_any_equation, 0, 5);
    tcase_add_test(equations, einsum_of_garbage);
}
