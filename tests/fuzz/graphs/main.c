/* Checks random graphs of operations:
 *
 *   - values and gradients are the same with leaves that are views (transposed, with gaps,
 * expanded) and with contiguous leaves,
 *   - first and second derivatives agree with finite differences,
 *   - f32 agrees with f64, loosely,
 *   - results are bit-identical with 1, 2 and 3 threads,
 *   - nothing leaks.
 *
 *   fuzz_graphs SEED COUNT [SECONDS]   graphs SEED, SEED + 1, ...; stops after SECONDS
 *   fuzz_graphs --broken SEED COUNT    succeeds if it finds an operation whose backward is wrong
 *
 * A graph is determined by its seed: `fuzz_graphs SEED 1` repeats it. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "autograd/autograd.h"
#include "tests/fuzz/graphs/graph.h"

/* ---- findings ---- */

static int findings, checks;

static void found(const graph *g, const char *what, double amount)
{
    findings++;
    printf("seed %" PRIu64 ": %s", g->seed, what);
    if (!isnan(amount)) {
        printf(" (%g)", amount);
    }
    printf("%s%s\n", heed_error_pending() ? ": " : "",
           heed_error_pending() ? heed_error_message() : "");
    heed_error();
    graph_print(stdout, g);
    fflush(stdout);
}

/* ---- the operations that graphs contained ---- */

enum { MAX_OPERATIONS = 300 };
static const heed_op *seen[MAX_OPERATIONS];
static int seen_count;

static bool is_seen(const heed_op *op)
{
    for (int i = 0; i < seen_count; i++) {
        if (seen[i] == op) {
            return true;
        }
    }
    return false;
}

/* Visits up to `most` nodes: a value that is used twice is visited twice. */
static int see(const heed_tensor *y, int most)
{
    if (y->op != NULL && !is_seen(y->op) && seen_count < MAX_OPERATIONS) {
        seen[seen_count++] = y->op;
    }
    for (int i = 0; i < y->input_count && most > 0; i++) {
        most = see(y->inputs[i], most - 1);
    }
    return most;
}

/* Every operation with a derivative must occur, except the broken one, and those that are
 * themselves derivatives, which second derivatives run. */
static void require_all_operations(void)
{
    for (const heed_op *op = heed_first_operation(); op != NULL; op = op->next) {
        const bool exempt =
            strcmp(op->name, "broken_square") == 0 || strstr(op->name, "_backward") != NULL;
        if (op->backward != NULL && !exempt && !is_seen(op)) {
            printf("no graph contained %s: add a RULE or RANDOM row to tests/ops/\n", op->name);
            findings++;
        }
    }
}

/* ---- leaves ---- */

typedef enum storage { DENSE, REVERSED, GAPS, EXPANDED, STORAGES } storage;

static heed_tensor *leaf_tensor(const graph_leaf *leaf, storage how, heed_dtype dtype)
{
    heed_tensor *x = heed_to(heed_from_f64(leaf->values, leaf->shape), dtype);
    const int ndim = leaf->shape.ndim;
    if (how == REVERSED && ndim > 1) {
        heed_dims dims = {.count = ndim};
        for (int i = 0; i < ndim; i++) {
            dims.dim[i] = ndim - 1 - i;
        }
        x = heed_permute(heed_contiguous(heed_permute(x, dims)), dims);
    } else if (how == GAPS && ndim > 0) {
        heed_shape wide = leaf->shape;
        wide.size[ndim - 1] = 2 * wide.size[ndim - 1] + 3;
        heed_tensor *all = heed_full(wide, (double)NAN, dtype);
        heed_tensor *part = heed_slice(all, -1, 3, INT64_MAX, 2);
        heed_copy_into(part, x);
        x = part;
    } else if (how == EXPANDED && leaf->constant_dim >= 0) {
        x = heed_expand(heed_contiguous(heed_narrow(x, leaf->constant_dim, 0, 1)), leaf->shape);
    }
    return heed_set_requires_grad(heed_detach(x), true);
}

/* ---- a run: the result, then the gradients of all leaves, as doubles ---- */

typedef struct run {
    int64_t count, values; /* numbers; those of the result */
    double *numbers;
} run;

static void append(run *r, heed_tensor *x)
{
    heed_tensor *numbers = heed_to(x, HEED_F64);
    if (numbers != NULL) {
        r->numbers =
            realloc(r->numbers, (size_t)(r->count + numbers->numel + 1) * sizeof *r->numbers);
        heed_copy_out(numbers, r->numbers + r->count, numbers->numel);
        r->count += numbers->numel;
    }
}

/* own: the leaves have this dtype; otherwise they are f64 and are cast to it. */
static run run_graph(const graph *g, storage how, heed_dtype dtype, bool own)
{
    run r = {.count = 0};
    heed_tensor *leaves[MAX_LEAVES], *inputs[MAX_LEAVES];
    HEED_SCOPE(scope);
    heed_manual_seed(g->seed);
    for (int i = 0; i < g->leaf_count; i++) {
        leaves[i] = leaf_tensor(&g->leaves[i], how == STORAGES ? (storage)(i % STORAGES) : how,
                                own ? dtype : HEED_F64);
        inputs[i] = own ? leaves[i] : heed_to(leaves[i], dtype);
    }
    heed_tensor *y = heed_error_pending() ? NULL : graph_evaluate(inputs, (void *)g);
    append(&r, y);
    r.values = r.count;
    if (y != NULL && y->requires_grad) {
        see(y, 1000);
        const double n = (double)y->numel;
        heed_tensor *u = heed_add_scalar(heed_div_scalar(heed_arange(0, n, 1, dtype), n + 1), 0.5);
        heed_backward(heed_sum(heed_mul(y, u)));
    }
    for (int i = 0; i < g->leaf_count && !heed_error_pending(); i++) {
        if (leaves[i]->grad != NULL) {
            append(&r, leaves[i]->grad);
        }
    }
    return r;
}

/* The largest difference of the first `count` numbers, relative to the largest number. NaN if one
 * is NaN, or if the runs have different lengths. */
static double difference(const run *a, const run *b, int64_t count)
{
    double largest = 1, worst = 0;
    if (a->count != b->count || a->values != b->values) {
        return (double)NAN;
    }
    for (int64_t i = 0; i < count; i++) {
        largest = fmax(largest, fabs(a->numbers[i]));
        const double gap = fabs(a->numbers[i] - b->numbers[i]);
        worst = gap <= worst ? worst : gap;
        if (isnan(gap)) {
            return gap;
        }
    }
    return worst / largest;
}

/* ---- the checks ---- */

static void check_storage(const graph *g, const run *dense)
{
    static const char *const names[] = {"", "leaves with reversed strides differ",
                                        "leaves with gaps differ", "expanded leaves differ",
                                        "leaves of mixed storage differ"};
    for (int how = REVERSED; how <= STORAGES; how++, checks++) {
        run r = run_graph(g, (storage)how, HEED_F64, true);
        /* rounding may select the other side of a kink, which large graphs do not avoid */
        const double gap = difference(dense, &r, g->large ? r.values : r.count);
        if (heed_error_pending() || !(gap < 1e-9)) {
            found(g, names[how], gap);
        }
        free(r.numbers);
    }
}

static void check_f32(const graph *g, const run *dense)
{
    run r = run_graph(g, DENSE, HEED_F32, false);
    const double gap = difference(dense, &r, r.values);
    if (heed_error_pending() || !(gap < 1e-2)) {
        found(g, "f32 differs from f64", gap);
    }
    free(r.numbers);
    checks++;
}

static void check_threads(const graph *g)
{
    const int threads = heed_get_num_threads();
    for (heed_dtype dtype = HEED_F32; dtype <= HEED_F64; dtype++) {
        run one = {.count = 0};
        for (int i = 1; i <= 3; i++, checks++) {
            heed_set_num_threads(i);
            run r = run_graph(g, STORAGES, dtype, true);
            const size_t size = (size_t)r.count * sizeof *r.numbers;
            if (i == 1) {
                one = r;
                continue;
            }
            if (heed_error_pending() || r.count != one.count ||
                (size > 0 && memcmp(r.numbers, one.numbers, size) != 0)) {
                found(g, "the bits depend on the number of threads", i);
            }
            free(r.numbers);
        }
        free(one.numbers);
    }
    heed_set_num_threads(threads);
}

typedef heed_status gradient_check(heed_gradcheck_args args);

/* A wrong derivative fails for every step size; an ill-conditioned one only for some. */
static void check_derivatives(const graph *g, gradient_check *check, const char *what)
{
    static const double steps[] = {1e-6, 1e-5, 1e-4, 1e-7};
    heed_tensor *leaves[MAX_LEAVES];
    HEED_SCOPE(scope);
    for (int i = 0; i < g->leaf_count; i++) {
        leaves[i] = leaf_tensor(&g->leaves[i], i % 2 == 0 ? DENSE : GAPS, HEED_F64);
    }
    heed_status status = HEED_ERR_GRADCHECK;
    for (int i = 0; status == HEED_ERR_GRADCHECK && i < 4; i++) {
        heed_error();
        heed_manual_seed(g->seed);
        status = check((heed_gradcheck_args){
            graph_evaluate, (void *)g, leaves, g->leaf_count, .eps = steps[i], .atol = 1e-6,
            .rtol = 1e-5, .unused = HEED_ALL_INPUTS, .linear = HEED_ALL_INPUTS, .end = 0});
    }
    if (status != HEED_OK) {
        found(g, what, (double)NAN);
    }
    checks++;
}

static int64_t elements(const graph *g)
{
    int64_t count = 0;
    for (int i = 0; i < g->leaf_count; i++) {
        int64_t numel = 1;
        for (int j = 0; j < g->leaves[i].shape.ndim; j++) {
            numel *= g->leaves[i].shape.size[j];
        }
        count += numel;
    }
    return count;
}

static void check_graph(const graph *g)
{
    run dense = run_graph(g, DENSE, HEED_F64, true);
    if (heed_error_pending()) {
        found(g, "it fails", (double)NAN);
    } else {
        check_storage(g, &dense);
        check_f32(g, &dense);
        if (g->large || g->seed % 16 == 0) {
            check_threads(g);
        }
        if (!g->large && elements(g) <= 120) {
            check_derivatives(g, heed_gradcheck, "gradcheck");
        }
        if (!g->large && elements(g) <= 24) {
            check_derivatives(g, heed_gradgradcheck, "gradgradcheck");
        }
    }
    free(dense.numbers);
}

/* ---- the program ---- */

enum { ENOUGH = 3000 }; /* graphs, to contain every operation */

int main(int argc, char **argv)
{
    const bool broken = argc > 1 && strcmp(argv[1], "--broken") == 0;
    argv += broken;
    argc -= broken;
    if (argc < 3) {
        fprintf(stderr, "usage: fuzz_graphs [--broken] SEED COUNT [SECONDS]\n");
        return 2;
    }
    const uint64_t first = strtoull(argv[1], NULL, 10);
    const int64_t count = atoll(argv[2]), seconds = argc > 3 ? atoll(argv[3]) : INT64_MAX;
    const time_t start = time(NULL);
    int64_t done = 0, nodes = 0;
    for (; done < count && time(NULL) - start < seconds && findings < 20; done++) {
        const int64_t tensors = heed_live_tensors(), bytes = heed_live_bytes();
        const uint64_t seed = first + (uint64_t)done;
        graph g = graph_new(seed, seed % 8 == 7, broken);
        if (heed_error_pending()) {
            found(&g, "the last node fails", (double)NAN);
        } else {
            check_graph(&g);
        }
        if (heed_live_tensors() != tensors || heed_live_bytes() != bytes) {
            found(&g, "bytes leak", (double)(heed_live_bytes() - bytes));
        }
        nodes += g.node_count;
        graph_free(&g);
        if (broken && findings > 0) {
            printf("found after %" PRId64 " graphs\n", done + 1);
            return EXIT_SUCCESS;
        }
    }
    if (done >= ENOUGH) {
        require_all_operations();
    }
    printf("%" PRId64 " graphs with %" PRId64 " nodes, %d checks, %d findings\n", done, nodes,
           checks, findings);
    return findings > 0 || broken ? EXIT_FAILURE : EXIT_SUCCESS;
}
