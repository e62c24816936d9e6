/* Hundreds of random einsum equations compared with plain loops over all their letters, and
 * malformed equations. */
#include <stdio.h>
#include <string.h>

#include "tests/common/ops_cases.h"

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
        if (i < count) {
            *to++ = (char)((draw(2) ? 'a' : 'A') + draw(letters));
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
        const char *earlier = memchr(labels, labels[i], (size_t)i);
        shape.size[i] = earlier != NULL ? shape.size[earlier - labels]
                        : draw(6)       ? p->size[(int)labels[i]]
                                        : 1;
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

void add_equation_cases(Suite *suite)
{
    TCase *equations = heed_case(suite, "equations");
    tcase_add_loop_test(equations, einsum_of_any_equation, 0, 5);
    tcase_add_test(equations, einsum_of_garbage);
}
