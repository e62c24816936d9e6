/* The engine of the page (examples/page), natively: training as next_token's, exact steps back,
 * recorded passes, breaks, masks, files. tests/page/page.sh tests the page in a browser. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/lab/next_token/toy.h"
#include "examples/page/engine.h"
#include "examples/page/forward.h"
#include "tests/oom/oom.h"

static toy_language language; /* too large for a stack */

enum { D_MODEL = 32, CONTEXT = TOY_LENGTH - 1, BATCH = 32 };

/* ---- helpers ---- */

/* The engine has no pending error. */
static void expect_well(void)
{
    const char *message = page_error();
    ck_assert_msg(message == NULL, "%s", message);
}

/* The pending error contains `words`. */
static void expect_sentence(const char *words)
{
    const char *message = page_error();
    ck_assert_msg(message != NULL, "no error, instead of: %s", words);
    ck_assert_msg(strstr(message, words) != NULL, "\"%s\" does not contain \"%s\"", message, words);
}

static void start(int heads, int steps, unsigned breaks)
{
    page_start(0, heads, 0.02, steps, breaks);
    expect_well();
}

static void take_steps(int count)
{
    for (int i = 0; i < count; i++) {
        page_step();
    }
    expect_well();
}

/* Copies the hash, as page_hash overwrites it. */
typedef struct hash {
    char hex[17];
} hash;

static hash now(void)
{
    hash h;
    const char *hex = page_hash();
    expect_well();
    strcpy(h.hex, hex);
    return h;
}

static hash hash_of_model(struct token_model *m)
{
    hash h;
    uint64_t sum = FNV_BASIS;
    const heed_tensor_list parameters = heed_parameters(m);
    for (int i = 0; i < parameters.count; i++) {
        const heed_tensor *t = parameters.tensors[i];
        sum = fnv(t->data, (size_t)t->numel * sizeof(float), sum);
    }
    snprintf(h.hex, sizeof h.hex, "%016llx", (unsigned long long)sum);
    return h;
}

static void expect_hash(hash expected)
{
    ck_assert_str_eq(now().hex, expected.hex);
}

/* Ends the engine before the fixture looks for leaks. */
static void end_page(void)
{
    page_end();
}

/* The pizza sentence without <eos>. */
static const int32_t *pizza(void)
{
    static int32_t tokens[TOY_LENGTH];
    toy_language_make(&language, 0);
    for (int i = 0; i < TOY_LENGTH; i++) {
        tokens[i] = (int32_t)language.held_out[0].token[i];
    }
    return tokens;
}

/* ---- JSON ---- */

typedef struct json_text {
    const char *at;
} json_text;

static bool next_is(json_text *j, char c)
{
    j->at += strspn(j->at, " \n");
    const bool is = *j->at == c;
    j->at += is;
    return is;
}

static void take(json_text *j, char c)
{
    ck_assert_msg(next_is(j, c), "'%c' is expected at: %.40s", c, j->at);
}

static bool has_more(json_text *j, char end, bool *first)
{
    const bool is_first = *first;
    *first = false;
    if (next_is(j, end)) {
        return false;
    }
    if (!is_first) {
        take(j, ',');
    }
    return true;
}

/* A string without escape sequences. */
static void read_text(json_text *j, char *to, size_t size)
{
    take(j, '"');
    const size_t length = strcspn(j->at, "\"");
    ck_assert_uint_lt(length, size);
    memcpy(to, j->at, length);
    to[length] = '\0';
    j->at += length + 1;
    ck_assert_ptr_null(strchr(to, '\\'));
}

static void take_key(json_text *j, const char *expected)
{
    char key[40];
    read_text(j, key, sizeof key);
    ck_assert_str_eq(key, expected);
    take(j, ':');
}

static void take_end(json_text *j)
{
    ck_assert_str_eq(j->at + strspn(j->at, " \n"), "");
}

/* ---- reading a pass ---- */

typedef struct pass_tensor {
    char dtype[8];
    int ndim;
    int64_t shape[HEED_MAX_DIMS], strides[HEED_MAX_DIMS], numel;
    const void *at;
} pass_tensor;

/* A mark or a leaf; or an entry, whose name is its operation and whose tensor is its result. */
typedef struct pass_item {
    char name[40], args[200];
    int head, tensor, gradient, fused, inputs[16], input_count;
    bool backward;
} pass_item;

enum { MOST_ITEMS = 2000 };

static struct {
    int loss, mark_count, leaf_count, entry_count, tensor_count;
    pass_item marks[MOST_ITEMS], leaves[MOST_ITEMS], entries[MOST_ITEMS];
    pass_tensor tensors[MOST_ITEMS];
} pass;

/* A number in the form of JSON. */
static double read_real(json_text *json)
{
    char *end;
    const double value = strtod(json->at, &end);
    ck_assert_ptr_ne(end, json->at);
    json->at += end - json->at;
    return value;
}

static int read_index(json_text *json)
{
    return (int)read_real(json);
}

static int read_numbers(json_text *json, int64_t *to, int most)
{
    int count = 0;
    take(json, '[');
    for (bool first = true; has_more(json, ']', &first); count++) {
        ck_assert_int_lt(count, most);
        to[count] = (int64_t)read_real(json);
    }
    return count;
}

static pass_item read_item(json_text *json)
{
    pass_item item = {.tensor = -2, .gradient = -2, .fused = -2};
    char path[200];
    int64_t inputs[16];
    take(json, '{');
    for (bool first = true; has_more(json, '}', &first);) {
        char key[20];
        read_text(json, key, sizeof key);
        take(json, ':');
        if (strcmp(key, "name") == 0 || strcmp(key, "op") == 0) {
            read_text(json, item.name, sizeof item.name);
        } else if (strcmp(key, "args") == 0) {
            read_text(json, item.args, sizeof item.args);
        } else if (strcmp(key, "path") == 0) {
            read_text(json, path, sizeof path);
        } else if (strcmp(key, "backward") == 0) {
            item.backward = strncmp(json->at, "true", 4) == 0;
            json->at += item.backward ? strlen("true") : strlen("false");
        } else if (strcmp(key, "inputs") == 0) {
            item.input_count = read_numbers(json, inputs, 16);
            for (int i = 0; i < item.input_count; i++) {
                item.inputs[i] = (int)inputs[i];
            }
        } else {
            int *to = strcmp(key, "head") == 0       ? &item.head
                      : strcmp(key, "gradient") == 0 ? &item.gradient
                      : strcmp(key, "fused") == 0    ? &item.fused
                                                     : &item.tensor;
            ck_assert(to != &item.tensor || strcmp(key, "tensor") == 0 ||
                      strcmp(key, "result") == 0);
            *to = read_index(json);
        }
    }
    return item;
}

static int read_items(json_text *json, pass_item *to)
{
    int count = 0;
    take(json, '[');
    for (bool first = true; has_more(json, ']', &first); count++) {
        ck_assert_int_lt(count, MOST_ITEMS);
        to[count] = read_item(json);
    }
    return count;
}

static int read_tensors(json_text *json)
{
    int count = 0;
    take(json, '[');
    for (bool first = true; has_more(json, ']', &first); count++) {
        ck_assert_int_lt(count, MOST_ITEMS);
        pass_tensor *t = &pass.tensors[count];
        *t = (pass_tensor){.numel = 1};
        take(json, '{');
        for (bool first_key = true; has_more(json, '}', &first_key);) {
            char key[20];
            read_text(json, key, sizeof key);
            take(json, ':');
            if (strcmp(key, "dtype") == 0) {
                read_text(json, t->dtype, sizeof t->dtype);
            } else if (strcmp(key, "shape") == 0) {
                t->ndim = read_numbers(json, t->shape, HEED_MAX_DIMS);
            } else if (strcmp(key, "strides") == 0) {
                ck_assert_int_eq(read_numbers(json, t->strides, HEED_MAX_DIMS), t->ndim);
            } else {
                ck_assert_str_eq(key, "at");
                t->at = (const void *)(uintptr_t)read_real(json);
            }
        }
        for (int d = 0; d < t->ndim; d++) {
            t->numel *= t->shape[d];
        }
    }
    return count;
}

static void check_index(int i)
{
    ck_assert(i >= -1 && i < pass.tensor_count);
}

static void check_items(const pass_item *items, int count)
{
    for (int i = 0; i < count; i++) {
        ck_assert_msg(items[i].tensor >= 0, "%s has no tensor", items[i].name);
        check_index(items[i].tensor);
        check_index(items[i].gradient);
        for (int j = 0; j < items[i].input_count; j++) {
            ck_assert_int_ge(items[i].inputs[j], 0);
            check_index(items[i].inputs[j]);
        }
    }
}

/* Reads the JSON of a pass strictly, and checks that every T is the index of a tensor. */
static void read_pass(const char *text)
{
    expect_well();
    json_text json = {text};
    take(&json, '{');
    for (bool first = true; has_more(&json, '}', &first);) {
        char key[20];
        read_text(&json, key, sizeof key);
        take(&json, ':');
        if (strcmp(key, "loss") == 0) {
            pass.loss = read_index(&json);
        } else if (strcmp(key, "marks") == 0) {
            pass.mark_count = read_items(&json, pass.marks);
        } else if (strcmp(key, "leaves") == 0) {
            pass.leaf_count = read_items(&json, pass.leaves);
        } else if (strcmp(key, "entries") == 0) {
            pass.entry_count = read_items(&json, pass.entries);
        } else {
            ck_assert_str_eq(key, "tensors");
            pass.tensor_count = read_tensors(&json);
        }
    }
    take_end(&json);
    check_items(pass.marks, pass.mark_count);
    check_items(pass.leaves, pass.leaf_count);
    check_items(pass.entries, pass.entry_count);
    check_index(pass.loss);
}

static heed_shape shape_of(int ndim, const int64_t *sizes)
{
    heed_shape shape = {.ndim = ndim};
    memcpy(shape.size, sizes, (size_t)ndim * sizeof *sizes);
    return shape;
}

/* A tensor of the pass as f32 or f64 values, in the innermost scope. */
static heed_tensor *values_of(int tensor)
{
    const pass_tensor *t = &pass.tensors[tensor];
    const bool is_f32 = strcmp(t->dtype, "f32") == 0;
    ck_assert(is_f32 || strcmp(t->dtype, "f64") == 0);
    heed_tensor *values = heed_empty(shape_of(t->ndim, t->shape), is_f32 ? HEED_F32 : HEED_F64);
    const size_t size = heed_dtype_size(values->dtype);
    for (int64_t i = 0; i < t->numel; i++) {
        int64_t offset = 0, rest = i;
        for (int d = t->ndim - 1; d >= 0; d--) {
            offset += rest % t->shape[d] * t->strides[d];
            rest /= t->shape[d];
        }
        memcpy((char *)values->data + (size_t)i * size, (const char *)t->at + (size_t)offset * size,
               size);
    }
    return values;
}

static const pass_item *find(const pass_item *items, int count, const char *name, int head)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(items[i].name, name) == 0 && items[i].head == head) {
            return &items[i];
        }
    }
    ck_abort_msg("the pass has no %s", name);
}

static heed_tensor *mark(const char *name, int head)
{
    return values_of(find(pass.marks, pass.mark_count, name, head)->tensor);
}

static heed_tensor *mark_gradient(const char *name, int head)
{
    return values_of(find(pass.marks, pass.mark_count, name, head)->gradient);
}

/* The gradient of a leaf. */
static heed_tensor *gradient(const char *leaf)
{
    return values_of(find(pass.leaves, pass.leaf_count, leaf, 0)->gradient);
}

static bool has_mark(const char *name)
{
    for (int i = 0; i < pass.mark_count; i++) {
        if (strcmp(pass.marks[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- training as in next_token ---- */

static const int some_heads[] = {1, 2, 3, 4, 16};
enum { SOME_HEADS = sizeof some_heads / sizeof *some_heads };

typedef struct losses {
    double of_step[200];
} losses;

static bool note(void *context, struct token_model *m, int64_t step, double loss)
{
    (void)m;
    ((losses *)context)->of_step[step - 1] = loss;
    return true;
}

/* next_token's model and training: --seed SEED --heads HEADS --steps STEPS, and --load. */
static struct token_model *train_as_program(uint64_t seed, int heads, int steps, const char *load,
                                            losses *found)
{
    toy_language_make(&language, seed);
    heed_manual_seed(seed);
    struct token_model *m = model_new((model_sizes){language.word_count, CONTEXT, D_MODEL, heads});
    if (load != NULL) {
        model_load(load, m);
    }
    heed_set_flush_denormal(true); /* as main does */
    train(m, &language, &(train_options){steps, BATCH, 0.02}, note, found);
    expect_no_error();
    return m;
}

START_TEST(training_is_that_of_next_token)
{
    enum { STEPS = 60 };
    const uint64_t seed = _i % 2 == 0 ? 0 : 7;
    losses expected;
    struct token_model *m = train_as_program(seed, some_heads[_i], STEPS, NULL, &expected);
    page_start((double)seed, some_heads[_i], 0.02, STEPS, 0);
    for (int i = 0; i < STEPS; i++) {
        if (i % 7 == 3) { /* passes do not change training */
            page_score();
            page_pass(pizza(), TOY_LENGTH);
        }
        const double loss = page_step();
        ck_assert_msg(loss == expected.of_step[i], "step %d: %a, not %a", i + 1, loss,
                      expected.of_step[i]);
    }
    expect_well();
    expect_hash(hash_of_model(m));
    heed_module_free(m);
}
END_TEST

START_TEST(steps_end)
{
    start(1, 3, 0);
    take_steps(3);
    ck_assert_int_eq(page_steps(), 3);
    ck_assert(isnan(page_step()));
    expect_sentence("the run has only 3 steps");
    ck_assert_int_eq(page_steps(), 3);
}
END_TEST

/* ---- back to a step ---- */

static const unsigned kept_breaks[] = {0, BREAK_NO_ZERO_GRAD, BREAK_LR_100, BREAK_SAME_KEYS};

START_TEST(every_step_can_be_reached_again)
{
    enum { STEPS = 120 };
    static hash hashes[STEPS + 1];
    static double loss_of[STEPS + 1];
    static const int path[] = {0, 1, 120, 119, 50, 49, 51, 0, 100, 99, 101, 50, 120, 3};
    start(_i == 0 ? 2 : 1, STEPS, kept_breaks[_i]);
    for (int i = 0; i <= STEPS; i++) {
        hashes[i] = now();
        loss_of[i] = i < STEPS ? page_step() : 0;
    }
    for (size_t i = 0; i < sizeof path / sizeof *path; i++) {
        ck_assert(page_go_to(path[i]));
        ck_assert_int_eq(page_steps(), path[i]);
        expect_hash(hashes[path[i]]);
    }
    ck_assert(page_step() == loss_of[3]);
    expect_hash(hashes[4]);
    ck_assert_str_ne(hashes[3].hex, hashes[4].hex);
    ck_assert(!page_go_to(-1) && !page_go_to(0)); /* the first error is pending */
    expect_sentence("step -1 is outside [0, 120]");
    ck_assert(!page_go_to(121));
    expect_sentence("step 121 is outside [0, 120]");
    expect_hash(hashes[4]);
}
END_TEST

/* ---- passes ---- */

static const float tutorial[] = {1.16f, 0.23f, 0.57f, 1.36f, 4.41f, -2.16f};

/* With seed 42: 36, 40 and 24 % of Pizza; PyTorch's numbers in f64, of weights drawn in f32. */
START_TEST(tutorial_has_its_numbers)
{
    page_alone(42, 2, 1);
    read_pass(page_pass_alone(tutorial, 3, NULL, 0));
    EXPECT_VALUES(mark("q", 0), 1e-14, 0.762095989486068, -0.0427626104214127, 1.1063376668682,
                  0.788972825304996, 1.11637848024937, -2.13358304374114);
    EXPECT_VALUES(mark("k", 0), 1e-14, -0.14690021832295, -0.303827375361099, 0.105745198448692,
                  0.368541979251873, -0.991444753786936, -2.41516646067436);
    EXPECT_VALUES(mark("attention_percents", 0), 1e-14, 0.3572721099019, 0.401141070066494,
                  0.241586820031606, 0.341042961759678, 0.604716345751138, 0.0542406924891842,
                  0.072179807905317, 0.0319513410290009, 0.895868851065682);
    EXPECT_VALUES(mark("attention_scores", 0), 1e-14, 1.01004043770596, 1.06407350974039,
                  0.204022076921285, 0.7057299868979, 3.49891788862219, 2.24271848159922);
    EXPECT_VALUES(gradient("W_q.weight"), 1e-12, -10.789481910529, 3.77182288308334,
                  -27.1708062928915, 9.47676038014758);
    EXPECT_VALUES(gradient("W_k.weight"), 1e-12, 13.1872355048234, -11.0459077747117,
                  -15.7115523408451, 12.6371569409406);
    ck_assert(!has_mark("masked_sims"));
    static const uint8_t causal[] = {0, 1, 1, 0, 0, 1, 0, 0, 0};
    read_pass(page_pass_alone(tutorial, 3, causal, 0));
    EXPECT_VALUES(mark("attention_scores", 0), 1e-14, 0.603766843951588, 0.743391354535806,
                  -0.00619611760118538, 0.607150718260957, 3.49891788862219, 2.24271848159922);
    EXPECT_VALUES(gradient("W_v.weight"), 1e-12, 29.751324303569, -12.855164430908,
                  20.8533993770693, -6.91168551004154);
    ck_assert(has_mark("masked_sims"));
    static const uint8_t none[] = {0, 1, 1, 1, 1, 1, 0, 0, 0}; /* nothing for the second token */
    read_pass(page_pass_alone(tutorial, 3, none, 0));
    EXPECT_VALUES(heed_select(mark("attention_scores", 0), 0, 1), 0, 0, 0);
}
END_TEST

/* The forward that marks each line has the bits of the module's, in f64. */
START_TEST(forward_is_that_of_the_modules)
{
    const int heads = some_heads[_i];
    const uint8_t blocked[] = {0, 1, 1, 0, 0, 1, 0, 0, 0};
    page_alone(5, 2, heads);
    heed_manual_seed(5);
    heed_tensor *x = heed_to(heed_from_f32(tutorial, HEED_SHAPE(3, 2)), HEED_F64);
    if (heads == 1) {
        struct heed_self_attention *m = heed_self_attention_new(2, -2, -1);
        heed_module_to(m, HEED_F64);
        read_pass(page_pass_alone(tutorial, 3, NULL, 0));
        expect_same_bits(mark("attention_scores", 0), heed_self_attention_forward(m, x, NULL));
        read_pass(page_pass_alone(tutorial, 3, blocked, 0));
        expect_same_bits(mark("attention_scores", 0),
                         heed_self_attention_forward(m, x, heed_causal_block_mask(3)));
        heed_module_free(m);
    } else {
        struct heed_multi_head *m = heed_multi_head_new(2, heads, -2, -1);
        heed_module_to(m, HEED_F64);
        read_pass(page_pass_alone(tutorial, 3, NULL, 0));
        expect_same_bits(mark("projected", 0), heed_multi_head_forward(m, x, NULL));
        read_pass(page_pass_alone(tutorial, 3, blocked, 0));
        expect_same_bits(mark("projected", 0),
                         heed_multi_head_forward(m, x, heed_causal_block_mask(3)));
        heed_module_free(m);
    }
}
END_TEST

/* Logits, loss and the gradients of training are those of the model; create_graph's are close. */
START_TEST(pass_is_that_of_the_model)
{
    enum { STEPS = 30 };
    const int heads = some_heads[_i], count = _i % 2 == 0 ? TOY_LENGTH : 5;
    losses unused;
    struct token_model *m = train_as_program(0, heads, STEPS, NULL, &unused);
    start(heads, STEPS, 0);
    take_steps(STEPS);
    const int32_t *words = pizza();
    int64_t tokens[TOY_LENGTH];
    for (int i = 0; i < TOY_LENGTH; i++) {
        tokens[i] = words[i];
    }
    read_pass(page_pass(words, count));
    const int seen = count < CONTEXT ? count : CONTEXT;
    expect_same_bits(mark("logits", 0), model_forward(m, heed_from_i64(tokens, HEED_SHAPE(seen))));
    heed_tensor *loss = model_loss(m, heed_from_i64(tokens, HEED_SHAPE(1, count)));
    expect_close(mark("loss", 0), loss, 1e-6);
    ck_assert_int_eq(pass.loss, find(pass.marks, pass.mark_count, "loss", 0)->tensor);
    heed_zero_grad(m);
    heed_backward(loss);
    const heed_tensor_list parameters = heed_parameters(m);
    ck_assert_int_eq(pass.leaf_count, parameters.count);
    for (int i = 0; i < parameters.count; i++) {
        const pass_item *leaf = &pass.leaves[i];
        ck_assert_str_eq(leaf->name, parameters.names[i]);
        expect_close(values_of(leaf->gradient), parameters.tensors[i]->grad, 2e-6);
        if (leaf->fused >= 0) {
            expect_close(values_of(leaf->fused), parameters.tensors[i]->grad, 2e-6);
        }
    }
    heed_module_free(m);
}
END_TEST

/* The gradients of training, bit for bit: the fused one where it is given, else the recorded one.
 */
START_TEST(gradients_are_those_of_backward)
{
    const int heads = _i + 1;
    page_alone(3, 2, heads);
    read_pass(page_pass_alone(tutorial, 3, NULL, 0));
    heed_manual_seed(3);
    heed_tensor *x = heed_to(heed_from_f32(tutorial, HEED_SHAPE(3, 2)), HEED_F64);
    heed_set_requires_grad(x, true);
    void *m = heads == 1 ? (void *)heed_self_attention_new(2, -2, -1)
                         : (void *)heed_multi_head_new(2, heads, -2, -1);
    heed_module_to(m, HEED_F64);
    heed_tensor *y =
        heads == 1 ? heed_self_attention_forward(m, x, NULL) : heed_multi_head_forward(m, x, NULL);
    heed_retain_grad(y);
    heed_backward(heed_sum(heed_square(y)));
    const heed_tensor_list parameters = heed_parameters(m);
    ck_assert_int_eq(pass.leaf_count, parameters.count + 1);
    for (int i = 0; i < pass.leaf_count; i++) {
        const pass_item *leaf = &pass.leaves[i];
        heed_tensor *grad = i < parameters.count ? parameters.tensors[i]->grad : x->grad;
        expect_same_bits(values_of(leaf->fused >= 0 ? leaf->fused : leaf->gradient), grad);
        expect_close(values_of(leaf->gradient), grad, 2e-14);
    }
    expect_same_bits(mark_gradient(heads == 1 ? "attention_scores" : "projected", 0), y->grad);
    heed_module_free(m);
}
END_TEST

/* Each mark of a pass has a gradient of its own shape, and those of q, k and v give those of the
 * weights: dW = dq^T x. */
START_TEST(marks_have_gradients)
{
    static const char *const names[] = {"q", "k", "v"};
    start(2, 10, 0);
    take_steps(10);
    read_pass(page_pass(pizza(), TOY_LENGTH));
    for (int i = 0; i < pass.mark_count; i++) {
        const pass_item *m = &pass.marks[i];
        ck_assert_msg(m->gradient >= 0, "%s has no gradient", m->name);
        ck_assert_str_eq(
            heed_shape_text(pass.tensors[m->gradient].ndim, pass.tensors[m->gradient].shape).text,
            heed_shape_text(pass.tensors[m->tensor].ndim, pass.tensors[m->tensor].shape).text);
    }
    EXPECT_VALUES(mark_gradient("loss", 0), 0, 1);
    heed_tensor *x = mark("token_encodings", 0);
    for (int head = 0; head < 2; head++) {
        for (int i = 0; i < 3; i++) {
            char leaf[60];
            snprintf(leaf, sizeof leaf, "multi_head.heads.%d.W_%s.weight", head, names[i]);
            const int dW = find(pass.leaves, pass.leaf_count, leaf, 0)->gradient;
            heed_tensor *dq = mark_gradient(names[i], head);
            expect_close(values_of(dW), heed_matmul(heed_transpose(dq, 0, 1), x), 1e-6);
        }
    }
}
END_TEST

/* page_losses: (f(w + h) - f(w - h)) / 2h in f64 is the gradient, up to f32's rounding of it. */
static void expect_quotients(void)
{
    static const double h = 1e-5;
    for (int leaf = 0; leaf < pass.leaf_count; leaf++) {
        const pass_item *item = &pass.leaves[leaf];
        const int64_t numel = pass.tensors[item->tensor].numel;
        heed_tensor *weight = heed_flatten(values_of(item->tensor), 0, -1);
        heed_tensor *gradient = heed_flatten(values_of(item->gradient), 0, -1);
        const double scale = fmax(1, heed_item(heed_amax(heed_abs(gradient))));
        for (int64_t cell = 0; cell<numel; cell += numel> 4 ? numel / 3 : 1) {
            const double w = heed_item(heed_select(weight, 0, cell));
            const double g = heed_item(heed_select(gradient, 0, cell));
            const double at[] = {w - h, w + h, w};
            double found[3];
            ck_assert(page_losses(leaf, (int)cell, at, 3, found));
            const double quotient = (found[1] - found[0]) / (2 * h);
            ck_assert_msg(fabs(quotient - g) <= 2e-6 * scale, "%s, %lld: %.10g, not %.10g",
                          item->name, (long long)cell, quotient, g);
            ck_assert_msg(fabs(found[2] - heed_item(values_of(pass.loss))) < 1e-5, "loss %g",
                          found[2]);
        }
    }
}

START_TEST(quotients_are_gradients)
{
    static const uint8_t blocked[] = {0, 1, 1, 0, 0, 1, 0, 0, 0};
    page_alone(42, 2, _i + 1);
    read_pass(page_pass_alone(tutorial, 3, _i == 0 ? NULL : blocked, 0));
    expect_quotients();
    start(_i + 1, 20, 0);
    take_steps(20);
    read_pass(page_pass(pizza(), TOY_LENGTH));
    const hash before = now();
    expect_quotients();
    expect_hash(before);
    double value = 0, loss;
    ck_assert(!page_losses(pass.leaf_count, 0, &value, 1, &loss));
    expect_sentence("has no element");
    ck_assert(!page_losses(0, -1, &value, 1, &loss));
    expect_sentence("leaf 0 has no element -1");
    ck_assert(!page_losses(-1, 0, &value, 1, &loss));
    expect_sentence("leaf -1");
    ck_assert(page_pass((const int32_t[]){1, 9999}, 2) == NULL && page_error() != NULL);
    ck_assert(!page_losses(0, 0, &value, 1, &loss));
    expect_sentence("there has been no pass");
    read_pass(page_pass(pizza(), TOY_LENGTH));
    start(1, 20, 0);
    ck_assert(!page_losses(0, 0, &value, 1, &loss));
    expect_sentence("there has been no pass");
}
END_TEST

/* ---- breaks ---- */

START_TEST(every_break_changes_the_numbers)
{
    const unsigned the_break = 1u << _i % 8;
    const int heads = _i < 8 ? 1 : 2;
    start(heads, 100, 0);
    take_steps(2);
    const hash healthy = now();
    read_pass(page_pass(pizza(), TOY_LENGTH));
    const double loss = heed_item(mark("loss", 0));
    start(heads, 100, the_break);
    take_steps(2);
    ck_assert_str_ne(now().hex, healthy.hex);
    read_pass(page_pass(pizza(), TOY_LENGTH));
    ck_assert(heed_item(mark("loss", 0)) != loss);
    ck_assert(page_score() != NULL);
    expect_well();
    ck_assert_int_eq(has_mark("unmasked_percents"), the_break == BREAK_MASK_AFTER);
    ck_assert_int_eq(has_mark("masked_sims"), the_break != BREAK_MASK_AFTER);
    heed_tensor *percents = mark("attention_percents", heads - 1);
    if (the_break == BREAK_WRONG_DIM) {
        EXPECT_VALUES(heed_sum_dim(percents, 0, false), 1e-6, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1);
    }
    if (the_break == BREAK_MASK_INVERTED) {
        EXPECT_VALUES(heed_sum_dim(heed_mul(percents, heed_eye(11, 11, HEED_F32)), 1, false), 1, 0,
                      0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    }
    if (the_break == BREAK_NO_SCALE) {
        expect_same_bits(mark("scaled_sims", 0), mark("sims", 0));
    }
    if (the_break == BREAK_NO_POSITIONS) {
        expect_same_bits(mark("token_encodings", 0), mark("embeddings", 0));
    }
}
END_TEST

/* A run whose weights are no longer finite still has valid JSON. */
START_TEST(scores_of_nan)
{
    page_start(0, 1, 1000, 10, BREAK_LR_100);
    take_steps(10);
    const char *score = page_score();
    expect_well();
    ck_assert_msg(strstr(score, "nan") == NULL && strstr(score, "inf") == NULL, "%s", score);
    page_pass(pizza(), TOY_LENGTH);
    expect_well();
}
END_TEST

/* As in WebAssembly, which cannot flush them: they would make matmul several times as slow. */
START_TEST(no_weight_is_subnormal)
{
    start(1, 2000, BREAK_LR_100);
    heed_set_flush_denormal(false);
    take_steps(600);
    read_pass(page_pass(pizza(), TOY_LENGTH));
    for (int i = 0; i < pass.leaf_count; i++) {
        const pass_tensor *leaf = &pass.tensors[pass.leaves[i].tensor];
        const float *weights = leaf->at;
        ck_assert_str_eq(leaf->dtype, "f32");
        for (int64_t at = 0; at < leaf->numel; at++) {
            ck_assert_int_ne(fpclassify(weights[at]), FP_SUBNORMAL);
        }
    }
    heed_set_flush_denormal(true);
}
END_TEST

/* ---- masks ---- */

START_TEST(masks)
{
    uint8_t open[CONTEXT * CONTEXT] = {0};
    const int32_t *words = pizza();
    start(1, 20, 0);
    const hash first = now();
    take_steps(10);
    const hash causal = now();
    ck_assert(page_set_mask(open)); /* passes only */
    expect_hash(causal);
    read_pass(page_pass(words, 5));
    EXPECT_VALUES(heed_gt_scalar(mark("attention_percents", 0), 0), 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                  1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1);
    take_steps(2);
    ck_assert(page_go_to(10));
    expect_hash(causal);
    ck_assert(page_set_mask(NULL));
    read_pass(page_pass(words, 3));
    EXPECT_VALUES(heed_gt_scalar(mark("attention_percents", 0), 0), 0, 1, 0, 0, 1, 1, 0, 1, 1, 1);
    ck_assert(page_go_to(0));
    expect_hash(first);
    ck_assert(page_set_mask(open)); /* training too */
    take_steps(10);
    const hash opened = now();
    ck_assert_str_ne(opened.hex, causal.hex);
    ck_assert(page_go_to(3) && page_go_to(10));
    expect_hash(opened);
}
END_TEST

/* ---- sentences ---- */

START_TEST(language_and_writing)
{
    start(1, 300, 0);
    take_steps(300);
    const char *text = page_language();
    expect_well();
    ck_assert_ptr_nonnull(strstr(text, "\"pizza\""));
    ck_assert_ptr_nonnull(strstr(text, "\"context\":11,\"it\":8,\"subject\":1,"));
    const int32_t *words = pizza();
    char expected[100];
    snprintf(expected, sizeof expected, "{\"words\":[%d,%d,%d]}\n", words[9], words[10], words[11]);
    ck_assert_str_eq(page_write(words, TOY_AT_IT + 1, 4), expected);
    ck_assert_str_eq(page_write(words, 2, 0), "{\"words\":[]}\n");
    text = page_attention(words, TOY_LENGTH);
    ck_assert_ptr_nonnull(strstr(text, "{\"heads\":1,\"tokens\":11,\"at\":"));
    const float *weights = (const float *)(uintptr_t)strtoull(strstr(text, "at\":") + 4, NULL, 10);
    ck_assert_msg(weights[TOY_AT_IT * CONTEXT + TOY_AT_SUBJECT] > 0.8f, "%g",
                  (double)weights[TOY_AT_IT * CONTEXT + TOY_AT_SUBJECT]);
    text = page_score();
    ck_assert_msg(strncmp(text, "{\"accuracy\":1,", 14) == 0, "%s", text);
}
END_TEST

START_TEST(misuse_gives_a_sentence)
{
    const int32_t unknown[] = {1, 9999}, negative[] = {1, -1};
    const uint8_t none[CONTEXT * CONTEXT] = {0};
    double value = 0;
    ck_assert(isnan(page_step()));
    expect_sentence("no run has been started");
    ck_assert(!page_go_to(0) && page_error() != NULL);
    ck_assert(page_hash() == NULL && page_error() != NULL);
    ck_assert(!page_set_mask(none) && page_error() != NULL);
    ck_assert(page_language() == NULL && page_error() != NULL);
    ck_assert(page_score() == NULL && page_error() != NULL);
    ck_assert(page_state() == NULL && page_error() != NULL);
    ck_assert(page_attention(unknown, 1) == NULL && page_error() != NULL);
    ck_assert(page_pass(unknown, 1) == NULL && page_error() != NULL);
    ck_assert(page_pass_alone(tutorial, 3, NULL, 0) == NULL);
    expect_sentence("no attention module");
    ck_assert(!page_losses(0, 0, &value, 1, &value) && page_error() != NULL);

    start(1, 10, 0);
    take_steps(3);
    const hash before = now();
    static const struct {
        double seed, lr;
        int heads, steps;
        unsigned breaks;
    } bad[] = {{-1, 1, 1, 1, 0},          {0.5, 1, 1, 1, 0},         {0x1p53, 1, 1, 1, 0},
               {(double)NAN, 1, 1, 1, 0}, {0, 1, 0, 1, 0},           {0, 1, 17, 1, 0},
               {0, -1, 1, 1, 0},          {0, (double)NAN, 1, 1, 0}, {0, 1001, 1, 1, 0},
               {0, 1, 1, 0, 0},           {0, 1, 1, 20001, 0},       {0, 1, 1, 1, BREAKS}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert(!page_start(bad[i].seed, bad[i].heads, bad[i].lr, bad[i].steps, bad[i].breaks));
        expect_sentence(i < 4 ? "the seed is a whole number below 2^53" : "heads are 1 to 16");
    }
    ck_assert_int_eq(page_steps(), 3);
    ck_assert(page_pass(pizza(), 1) == NULL);
    expect_sentence("the sentence has 1 words; it needs at least 2");
    ck_assert(page_pass(pizza(), 13) == NULL);
    expect_sentence("the sentence has 13 words; it needs 1 to 12");
    ck_assert(page_pass(unknown, 2) == NULL);
    expect_sentence("there is no word 9999");
    ck_assert(page_write(negative, 2, 3) == NULL);
    expect_sentence("there is no word -1");
    ck_assert(!page_alone(0, 0, 1));
    expect_sentence("widths up to 512");
    ck_assert(!page_alone(0, 513, 1) && page_error() != NULL);
    ck_assert(!page_alone(0, 2, 0) && page_error() != NULL);
    ck_assert(!page_alone(0, 2, INT_MIN) && page_error() != NULL);
    ck_assert(!page_alone(0, 2, 17) && page_error() != NULL);
    ck_assert(!page_alone(-1, 2, 1) && page_error() != NULL);
    page_alone(0, 2, 1);
    ck_assert(page_pass_alone(tutorial, 65, NULL, 0) == NULL && page_error() != NULL);
    ck_assert(page_pass_alone(tutorial, 3, NULL, BREAKS) == NULL && page_error() != NULL);
    expect_hash(before);
    expect_well();
}
END_TEST

/* ---- files ---- */

/* A model saved by next_token continues in the page as with --load; page_state saves what loads. */
START_TEST(models_continue)
{
    enum { STEPS = 20 };
    const int heads = some_heads[_i];
    losses found;
    struct token_model *m = train_as_program(0, heads, STEPS, NULL, &found);
    model_save(in_folder("file"), m, &language);
    const hash saved = hash_of_model(m);
    heed_module_free(m);

    start(1, STEPS, 0);
    take_steps(3);
    char expected[100];
    snprintf(expected, sizeof expected, "{\"kind\":\"model\",\"d_model\":32,\"head_dim\":%d,",
             32 / heads);
    const char *text = page_open(in_folder("file"));
    expect_well();
    ck_assert_msg(strncmp(text, expected, strlen(expected)) == 0, "%s", text);
    expect_hash(saved);
    ck_assert_int_eq(page_steps(), 0);

    m = train_as_program(0, heads, STEPS, in_folder("file"), &found);
    for (int i = 0; i < STEPS; i++) {
        ck_assert(page_step() == found.of_step[i]);
    }
    expect_hash(hash_of_model(m));
    ck_assert(page_go_to(0));
    expect_hash(saved);
    heed_module_free(m);
    read_pass(page_pass(pizza(), TOY_LENGTH));
}
END_TEST

/* The file that the page writes from page_state. */
static void save_state(const char *text)
{
    static char texts[300][2000];
    heed_tensor *tensors[100];
    const char *names[100];
    heed_metadata about[10] = {{NULL, NULL}};
    int count = 0, pairs = 0, used = 0;
    json_text json = {text};
    take(&json, '{');
    take_key(&json, "tensors");
    take(&json, '[');
    for (bool first = true; has_more(&json, ']', &first); count++) {
        int64_t shape[HEED_MAX_DIMS];
        take(&json, '{');
        take_key(&json, "name");
        read_text(&json, texts[used], sizeof *texts);
        names[count] = texts[used++];
        take(&json, ',');
        take_key(&json, "shape");
        const int ndim = read_numbers(&json, shape, HEED_MAX_DIMS);
        take(&json, ',');
        take_key(&json, "at");
        tensors[count] = heed_empty(shape_of(ndim, shape), HEED_F32);
        memcpy(tensors[count]->data, (const void *)(uintptr_t)read_real(&json),
               (size_t)tensors[count]->numel * sizeof(float));
        take(&json, '}');
    }
    take(&json, ',');
    take_key(&json, "metadata");
    take(&json, '{');
    for (bool first = true; has_more(&json, '}', &first); pairs++) {
        read_text(&json, texts[used], sizeof *texts);
        about[pairs].key = texts[used++];
        take(&json, ':');
        read_text(&json, texts[used], sizeof *texts);
        about[pairs].value = texts[used++];
    }
    take(&json, '}');
    take_end(&json);
    heed_save_file((heed_tensor_list){count, tensors, names}, in_folder("file"), about);
}

START_TEST(state_loads)
{
    const int heads = some_heads[_i];
    start(heads, 10, 0);
    take_steps(7);
    const hash before = now();
    save_state(page_state());
    toy_language_make(&language, 0);
    const model_sizes sizes = model_sizes_in(in_folder("file"), &language);
    expect_no_error();
    ck_assert_int_eq(sizes.heads, heads);
    struct token_model *m = model_new(sizes);
    model_load(in_folder("file"), m);
    expect_no_error();
    ck_assert_str_eq(hash_of_model(m).hex, before.hex);
    heed_module_free(m);
    start(1, 10, 0);
    page_open(in_folder("file"));
    expect_well();
    expect_hash(before);
    save_state(page_state()); /* of an opened model */
    start(2, 10, 0);
    page_open(in_folder("file"));
    expect_well();
    expect_hash(before);
}
END_TEST

START_TEST(modules_open)
{
    const float x[] = {1, 2, 3, -1, 0.5f, 0, 2, 2, -2, 0, 0, 1};
    heed_tensor *encodings = heed_to(heed_from_f32(x, HEED_SHAPE(4, 3)), HEED_F64);
    struct heed_self_attention *one = heed_self_attention_new(3, -2, -1, .head_dim = 5);
    heed_save_state_dict(one, in_folder("file"), NULL);
    ck_assert_str_eq(page_open(in_folder("file")),
                     "{\"kind\":\"self_attention\",\"d_model\":3,"
                     "\"head_dim\":5,\"heads\":1,\"concatenates\":false}\n");
    read_pass(page_pass_alone(x, 4, NULL, 0));
    expect_quotients();
    heed_module_to(one, HEED_F64);
    expect_same_bits(mark("attention_scores", 0),
                     heed_self_attention_forward(one, encodings, NULL));
    heed_module_free(one);

    for (int heads = 1; heads <= 16; heads += heads < 4 ? 1 : 12) {
        struct heed_multi_head *many = heed_multi_head_new(3, heads, -2, -1, .head_dim = 2);
        heed_save_state_dict(many, in_folder("file"), NULL);
        page_open(in_folder("file"));
        read_pass(page_pass_alone(x, 4, NULL, 0));
        heed_tensor *projected = mark("projected", 0), *all = mark("all_heads", 0);
        /* Without W_o, as in the tutorial. */
        const heed_tensor_list state = heed_state_dict(many);
        heed_save_file((heed_tensor_list){state.count - 1, state.tensors, state.names},
                       in_folder("file"), NULL);
        const char *text = page_open(in_folder("file"));
        expect_well();
        ck_assert_msg(strstr(text, "\"concatenates\":true") != NULL, "%s", text);
        read_pass(page_pass_alone(x, 4, NULL, 0));
        expect_same_bits(mark("all_heads", 0), all);
        ck_assert(!has_mark("projected"));
        ck_assert_int_eq(pass.leaf_count, state.count); /* the encodings, but no W_o */
        expect_quotients();
        heed_module_to(many, HEED_F64);
        expect_same_bits(projected, heed_multi_head_forward(many, encodings, NULL));
        heed_module_free(many);
    }
    page_end();
    page_open(in_folder("file")); /* needs no run */
    expect_well();
}
END_TEST

/* One tensor of a hostile file. */
typedef struct file_tensor {
    const char *name;
    int64_t rows, columns; /* columns 0: 1-D */
} file_tensor;

static const struct {
    const char *words;
    file_tensor tensors[6];
    const char *format, *heads, *vocabulary;
} hostile[] = {
    {"has no W_q.weight", {{"weight", 2, 2}}, NULL, NULL, NULL},
    {"must be (head_dim, d_model)", {{"W_q.weight", 4, 0}}, NULL, NULL, NULL},
    {"but no W_v.weight", {{"W_q.weight", 2, 2}, {"W_k.weight", 2, 2}}, NULL, NULL, NULL},
    {"widths up to 512", {{"W_q.weight", 2, 513}}, NULL, NULL, NULL},
    {"widths up to 512", {{"W_q.weight", 600, 2}}, NULL, NULL, NULL},
    {"W_k.weight",
     {{"W_q.weight", 2, 2}, {"W_k.weight", 3, 2}, {"W_v.weight", 2, 2}},
     NULL,
     NULL,
     NULL},
    {"has no W_q.weight", {{"heads.1.W_q.weight", 2, 2}}, NULL, NULL, NULL},
    {"but no heads.0.W_k.weight", {{"heads.0.W_q.weight", 2, 2}}, NULL, NULL, NULL},
    {"not a model written by --save", {{"we.weight", 2, 2}}, NULL, NULL, NULL},
    {"not a model written by --save", {{"we.weight", 2, 2}}, "heed next_token 1", "17", "a b"},
    {"not of the toy's sentences", {{"we.weight", 2, 2}}, "heed next_token 1", "1", "a b"},
    {"we.weight", {{"we.weight", 2, 2}}, "heed next_token 1", "1", NULL}};

START_TEST(hostile_files_change_nothing)
{
    start(2, 60, 0);
    take_steps(55);
    const hash before = now();
    page_alone(1, 2, 1);
    read_pass(page_pass_alone(tutorial, 3, NULL, 0));
    heed_tensor *scores = mark("attention_scores", 0);

    heed_tensor *tensors[6];
    const char *names[6];
    int count = 0;
    for (const file_tensor *t = hostile[_i].tensors; count < 6 && t->name != NULL; t++) {
        tensors[count] = heed_zeros(
            t->columns > 0 ? HEED_SHAPE(t->rows, t->columns) : HEED_SHAPE(t->rows), HEED_F32);
        names[count++] = t->name;
    }
    toy_language_make(&language, 0);
    const model_text words = model_words(&language);
    const heed_metadata about[] = {
        {"format", hostile[_i].format},
        {"task", "toy"},
        {"context", "11"},
        {"d_model", "32"},
        {"heads", hostile[_i].heads},
        {"vocabulary", hostile[_i].vocabulary != NULL ? hostile[_i].vocabulary : words.text},
        {NULL, NULL}};
    heed_save_file((heed_tensor_list){count, tensors, names}, in_folder("file"),
                   hostile[_i].format != NULL ? about : NULL);
    expect_no_error();

    ck_assert(page_open(in_folder("file")) == NULL);
    const char *message = page_error();
    ck_assert_msg(message != NULL && strstr(message, hostile[_i].words) != NULL, "%s", message);
    ck_assert_msg(strstr(message, "--load") == NULL, "%s", message);
    expect_hash(before);
    ck_assert_int_eq(page_steps(), 55);
    page_step();
    ck_assert(page_go_to(55));
    expect_hash(before);
    read_pass(page_pass_alone(tutorial, 3, NULL, 0));
    expect_same_bits(mark("attention_scores", 0), scores);
}
END_TEST

START_TEST(damaged_files_give_a_sentence)
{
    static const char *const contents[] = {"", "text", "12345678{}", "PK\x03\x04",
                                           "\xff\xff\xff\xff\xff\xff\xff\xff{}"};
    start(1, 10, 0);
    const hash before = now();
    write_bytes(in_folder("file"), contents[_i], strlen(contents[_i]));
    ck_assert(page_open(in_folder("file")) == NULL);
    ck_assert_ptr_nonnull(page_error());
    ck_assert(page_open("/no/such/file") == NULL);
    expect_sentence("No such file");
    expect_hash(before);
}
END_TEST

/* ---- out of memory ---- */

static uint64_t whole_page(const void *context)
{
    uint64_t sum = FNV_BASIS;
    page_start(0, 2, 0.02, 60, BREAK_NO_ZERO_GRAD);
    page_step();
    page_go_to(0);
    page_step();
    page_pass(pizza(), 6);
    double value = 0.5, loss = 0;
    page_losses(3, 1, &value, 1, &loss);
    page_alone(1, 2, 2);
    page_pass_alone(tutorial, 3, NULL, 0);
    page_open(context);
    page_write(pizza(), 3, 2);
    const char *hex = page_hash();
    const char *score = page_score();
    if (score != NULL) {
        sum = fnv(hex, strlen(hex), fnv(score, strlen(score), fnv(&loss, sizeof loss, sum)));
    }
    page_end();
    return sum;
}

START_TEST(out_of_memory)
{
    start(1, 10, 0);
    take_steps(1);
    save_state(page_state());
    expect_no_error();
    page_end();
    starve("page", whole_page, in_folder("file"), FEW);
}
END_TEST

void add_page_cases(Suite *suite)
{
    TCase *training = heed_case(suite, "training");
    tcase_add_checked_fixture(training, NULL, end_page);
    tcase_add_loop_test(training, training_is_that_of_next_token, 0, SOME_HEADS);
    tcase_add_test(training, steps_end);
    tcase_add_loop_test(training, every_step_can_be_reached_again, 0,
                        sizeof kept_breaks / sizeof *kept_breaks);
    tcase_add_test(training, masks);
    tcase_add_test(training, language_and_writing);
    tcase_add_test(training, misuse_gives_a_sentence);
    TCase *passes = heed_case(suite, "passes");
    tcase_add_checked_fixture(passes, NULL, end_page);
    tcase_add_test(passes, tutorial_has_its_numbers);
    tcase_add_loop_test(passes, forward_is_that_of_the_modules, 0, SOME_HEADS);
    tcase_add_loop_test(passes, pass_is_that_of_the_model, 0, SOME_HEADS);
    tcase_add_loop_test(passes, gradients_are_those_of_backward, 0, 3);
    tcase_add_test(passes, marks_have_gradients);
    tcase_add_loop_test(passes, quotients_are_gradients, 0, 2);
    tcase_add_loop_test(passes, every_break_changes_the_numbers, 0, 16);
    tcase_add_test(passes, scores_of_nan);
    tcase_add_test(passes, no_weight_is_subnormal);
    TCase *files = files_case(suite, "files");
    tcase_add_checked_fixture(files, NULL, end_page);
    tcase_add_loop_test(files, models_continue, 0, SOME_HEADS);
    tcase_add_loop_test(files, state_loads, 0, SOME_HEADS);
    tcase_add_test(files, modules_open);
    tcase_add_loop_test(files, hostile_files_change_nothing, 0, sizeof hostile / sizeof *hostile);
    tcase_add_loop_test(files, damaged_files_give_a_sentence, 0, 5);
    TCase *memory = oom_case(suite, "memory");
    tcase_add_checked_fixture(memory, NULL, end_page);
    tcase_add_test(memory, out_of_memory);
}
