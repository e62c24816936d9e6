/* The formula of heed_attention_check: parameters found by their names, and mistakes named, each
 * where it can be made. */
#include <math.h>
#include <string.h>

#include "tests/common/test_util.h"

/* How `attend` differs from attention. */
typedef struct recipe {
    double divisor;              /* of scores; 0: sqrt(d_head) */
    double declared;             /* option .scale */
    double after, epsilon;       /* weights are divided by `after`, and by their sum + epsilon */
    double std;                  /* of all parameters; 0: as usual */
    int softmax_dim;             /* 0: the last */
    char turn_q, turn_k, turn_v; /* rotary positions: 'h'alves or 'p'airs */
    double base;                 /* of rotary positions; 0: 10000 */
    bool x_added, reversed;      /* reversed: rows in reverse order */
    bool tiled;                  /* kv heads */
    bool tied;                   /* W_k is W_q */
    bool k_for_v, q_for_k, no_bias;
    bool wide; /* q, k and v are twice as wide as x */
} recipe;

struct sizes {
    int d, heads, key_heads;
};

/* Projections under any names, and how `attend` uses them. */
typedef struct projections {
    heed_module module;
    struct heed_linear *q, *k, *v, *o; /* q is the only one if fused; without v, k has both */
    int heads, key_heads;
    bool fused;
    recipe how;
} projections;

static const heed_module_kind kind = {.name = "Projections", .size = sizeof(projections)};

/* names: of q, k, v and o, or NULL; the q of one name alone is fused. */
static projections *projections_new(struct sizes to, const char *const *names, recipe how)
{
    const int64_t d = to.d;
    projections *m = heed_module_new(&kind);
    const int64_t inner = how.wide ? 2 * d : d, kv = inner / to.heads * to.key_heads;
    m->how = how;
    m->heads = to.heads;
    m->key_heads = to.key_heads;
    m->fused = names[1] == NULL;
    struct heed_linear **const fields[] = {&m->q, &m->k, &m->v, &m->o};
    const int64_t widths[] = {m->fused ? 3 * d : inner, names[2] == NULL ? 2 * kv : kv, kv, d};
    for (int i = 0; i < 4; i++) {
        if (names[i] != NULL) {
            heed_add_child(m, names[i], fields[i],
                           heed_linear_new(i < 3 ? d : inner, widths[i], .no_bias = how.no_bias));
        }
        if (names[i] != NULL && how.std > 0) {
            heed_normal_into((*fields[i])->weight, 0, how.std);
        }
    }
    if (how.tied) {
        heed_set_parameter(m->k, "weight", &m->k->weight, m->q->weight);
    }
    return m;
}

/* (B, T, count * d) -> (B, heads, T, d) */
static heed_tensor *split(const projections *m, heed_tensor *t, int count)
{
    const int heads = m->heads, at = m->how.tiled ? 1 : 2;
    t = heed_transpose(heed_unflatten(t, -1, HEED_SHAPE(count, -1)), 1, 2);
    heed_shape shape = HEED_SHAPE(heed_size(t, 0), count, count, heed_size(t, 2), heed_size(t, 3));
    shape.size[at] = heads / count;
    return heed_flatten(heed_expand(heed_unsqueeze(t, at), shape), 1, 2);
}

static heed_tensor *turn(const projections *m, heed_tensor *t, char how)
{
    return how == 0 ? t : heed_rope(t, .interleaved = how == 'p', .base = m->how.base);
}

static heed_tensor *attend(heed_tensor *x, void *context)
{
    const projections *m = context;
    const recipe *how = &m->how;
    heed_tensor *parts[3] = {heed_linear_forward(m->q, x)};
    if (m->fused) {
        heed_chunk(parts[0], 3, -1, parts);
    } else if (m->v == NULL) {
        heed_chunk(heed_linear_forward(m->k, x), 2, -1, parts + 1);
    } else {
        parts[1] = how->q_for_k ? parts[0] : heed_linear_forward(m->k, x);
        parts[2] = heed_linear_forward(how->k_for_v ? m->k : m->v, x);
    }
    heed_tensor *q = turn(m, split(m, parts[0], m->heads), how->turn_q);
    heed_tensor *k = turn(m, split(m, parts[1], m->key_heads), how->turn_k);
    heed_tensor *v = turn(m, split(m, parts[2], m->key_heads), how->turn_v);
    const double root = sqrt((double)heed_size(q, -1));
    heed_tensor *scores = heed_div_scalar(heed_matmul(q, heed_transpose(k, -2, -1)),
                                          how->divisor > 0 ? how->divisor : root);
    heed_tensor *percents = heed_softmax(scores, how->softmax_dim == 0 ? -1 : how->softmax_dim - 1);
    percents = heed_div_scalar(percents, (how->after > 0 ? how->after : 1) * (1 + how->epsilon));
    heed_tensor *y = heed_flatten(heed_transpose(heed_matmul(percents, v), 1, 2), 2, 3);
    y = m->o != NULL ? heed_linear_forward(m->o, y) : y;
    y = how->reversed ? heed_flip(y, HEED_DIMS(1)) : y;
    return how->x_added ? heed_add(y, x) : y;
}

/* Checks and frees m. */
static heed_attention_report check(projections *m, int64_t d)
{
    heed_attention_report r = {0};
    heed_attention_check(attend, m, .d_model = d, .heads = m->heads, .module = m, .report = &r,
                         .scale = m->how.declared,
                         .positions = m->how.turn_q || m->how.turn_k ? HEED_POSITIONS_RELATIVE
                                                                     : HEED_POSITIONS_NONE);
    if (!r.passed) {
        expect_error(HEED_ERR_CHECK, "");
    }
    expect_no_error();
    heed_module_free(m);
    return r;
}

static const char *const tutorial[4] = {"W_q", "W_k", "W_v", "W_o"};
static const char *const without_o[4] = {"W_q", "W_k", "W_v"};

/* ---- names ---- */

/* Names tell roles, or outputs do. Rows from "w_qs" on are the names of popular repositories. */
START_TEST(parameters_are_found_by_any_names)
{
    static const char *const names[][4] = {
        {"W_q", "W_k", "W_v", "W_o"},
        {"W_q", "W_k", "W_v"},
        {"Q", "K", "V", "proj"},
        {"q_proj", "k_proj", "v_proj", "out_proj"},
        {"to_q", "to_k", "to_v", "to_out"},
        {"queries", "keys", "values", "output"},
        {"in_proj", NULL, NULL, "out_proj"},
        {"Wqkv"},
        {"c_attn", NULL, NULL, "c_proj"},
        {"to_q", "to_kv", NULL, "to_out"},
        {"query_old", "key", "value", "out"},
        {"W_q", "W_k", "first"},
        {"attend", NULL, NULL, "out_proj"},
        {"w_qs", "w_ks", "w_vs", "fc"},    /* jadore801120/attention-is-all-you-need-pytorch */
        {"fc_q", "fc_k", "fc_v", "fc_o"},  /* bentrevett/pytorch-seq2seq */
        {"w_q", "w_k", "w_v", "w_concat"}, /* hyunwoongko/transformer */
        {"toqueries", "tokeys", "tovalues", "unifyheads"},  /* pbloem/former */
        {"q_linear", "k_linear", "v_linear", "out"},        /* SamLynnEvans/Transformer */
        {"linear_q", "linear_k", "linear_v", "linear_out"}, /* espnet/espnet */
        {"query_projection", "key_projection", "value_projection", "out_projection"},
        {"query_layer", "key_layer", "value_layer", "dense"},
        {"linears0", "linears1", "linears2", "linears3"}, /* harvardnlp/annotated-transformer */
        {"qkv_linear", NULL, NULL, "out_lin"},
        {"a", "b", "c", "d"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        heed_attention_report r =
            check(projections_new((struct sizes){6, 2, 2}, names[i], (recipe){0}), 6);
        ck_assert(r.passed);
        ck_assert_str_eq(r.checks[HEED_CHECK_FORMULA].text,
                         "y is softmax(q k^T / sqrt(d_head)) v W_o^T");
        r = check(projections_new((struct sizes){6, 2, 2}, names[i], (recipe){.divisor = 1}), 6);
        ck_assert_msg(
            strncmp(r.mistake, "y equals attention with scores that are not scaled; ", 52) == 0,
            "%s: %s", names[i][0], r.mistake);
        r = check(projections_new((struct sizes){16, 4, 4}, names[i], (recipe){.std = 0.001}), 16);
        ck_assert_msg(r.passed, "%s: %s", names[i][0],
                      r.mistake); /* scores near 0 prove no roles */
    }
}
END_TEST

/* ---- shapes ---- */

static heed_tensor *mean_of_tokens(heed_tensor *x, void *context)
{
    (void)context;
    return heed_expand(heed_mean_dim(x, 1, true), heed_shape_of_tensor(x));
}

/* Parameters that are called as in attention and do not fit together are no attention's, and no
 * error. Only those that fit are compared with y. */
START_TEST(parameters_that_do_not_fit_are_left_alone)
{
    static const struct {
        heed_shape shapes[3]; /* of W_q, W_k and W_v; without dims: (8, 8) */
        const char *more;     /* another parameter, and its shape */
        heed_shape shape;
        heed_verdict verdict;
        heed_shape fused; /* in their place, "qkv" has this shape */
    } rows[] = {
        {.verdict = HEED_VERDICT_UNKNOWN},
        {.shapes = {{0}, {2, {4, 8}}, {2, {4, 8}}}, .verdict = HEED_VERDICT_UNKNOWN},
        {.more = "W_o", .shape = {2, {8, 8}}, .verdict = HEED_VERDICT_UNKNOWN},
        {.more = "W_o", .shape = {1, {8}}, .verdict = HEED_VERDICT_UNKNOWN},
        {.more = "W_o", .shape = {2, {8, 6}}},
        {.more = "q_bias", .shape = {1, {4}}, .verdict = HEED_VERDICT_UNKNOWN},
        {.shapes = {{2, {8, 7}}, {2, {8, 7}}, {2, {8, 7}}}},
        {.shapes = {{0}, {2, {6, 6}}, {0}}},
        {.shapes = {{2, {9, 8}}, {0}, {0}}},
        {.shapes = {{0}, {2, {6, 8}}, {2, {6, 8}}}},
        {.shapes = {{0}, {2, {4, 8}}, {0}}},
        {.shapes = {{2, {0, 8}}, {2, {0, 8}}, {2, {0, 8}}}},
        {.shapes = {{2, {1, 8}}, {2, {1, 8}}, {2, {1, 8}}}},
        {.shapes = {{3, {2, 4, 8}}, {0}, {0}}},
        {.fused = {2, {24, 8}}, .verdict = HEED_VERDICT_UNKNOWN},
        {.fused = {2, {8, 24}}, .verdict = HEED_VERDICT_UNKNOWN},
        {.fused = {2, {22, 8}}},
        {.fused = {2, {24, 8}},
         .more = "qkv_bias",
         .shape = {1, {24}},
         .verdict = HEED_VERDICT_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        heed_attention_report r;
        projections *m = heed_module_new(&kind);
        for (int w = 0; w < (rows[i].fused.ndim > 0 ? 1 : 3); w++) {
            heed_shape shape = rows[i].fused.ndim > 0 ? rows[i].fused : rows[i].shapes[w];
            shape = shape.ndim > 0 ? shape : HEED_SHAPE(8, 8);
            heed_add_tensor(m, rows[i].fused.ndim > 0 ? "qkv_weight" : without_o[w], NULL,
                            heed_randn(shape, HEED_F32), false);
        }
        if (rows[i].more != NULL) {
            heed_add_tensor(m, rows[i].more, NULL, heed_randn(rows[i].shape, HEED_F32), false);
        }
        expect_no_error();
        if (heed_attention_check(mean_of_tokens, m, .d_model = 8, .heads = 2, .module = m,
                                 .report = &r) != HEED_OK) {
            expect_error(HEED_ERR_CHECK, "it is not used");
        }
        ck_assert_msg(r.checks[HEED_CHECK_FORMULA].verdict == rows[i].verdict, "row %d: %s", (int)i,
                      r.checks[HEED_CHECK_FORMULA].text);
        ck_assert_str_eq(r.mistake, "");
        heed_module_free(m);
    }
}
END_TEST

/* ---- mistakes ---- */

/* With one head, some mistakes do not differ: only one of them is named. Where d_model and the
 * number of tokens are the same, two explanations are true. Two mistakes may be made at once, also
 * where queries have more heads than keys, so that W_q and W_k cannot be exchanged. */
START_TEST(mistakes_are_named)
{
    static const struct {
        struct sizes to;
        recipe how;
        const char *mistake;
    } rows[] = {
        {{9, 1, 1},
         {.divisor = 9},
         "y equals attention with scores divided by d_head itself = 9; a head is 9 wide, so divide "
         "by sqrt(9) = 3"},
        {{9, 1, 1},
         {.softmax_dim = 1}, /* dim 0 */
         "y equals attention with the softmax over the batch; apply it to the last dim of "
         "(queries, keys)"},
        {{9, 1, 1},
         {.x_added = true},
         "y equals attention with x added; if this residual is intended, set .block"},
        {{8, 2, 2},
         {.divisor = 2.8284271247461903},
         "y equals attention scaled by sqrt(d_model) = 2.828; a head is 4 wide, so divide by "
         "sqrt(4) = 2. Or scaled by the root of the number of tokens = 2.828; a head is 4 wide, so "
         "divide by sqrt(4) = 2"},
        {{6, 2, 1},
         {.divisor = 1, .x_added = true},
         "y equals attention with scores that are not scaled and with x added; a head is 3 wide, "
         "so divide by sqrt(3) = 1.732; if this residual is intended, set .block"},
        {{6, 2, 1},
         {.divisor = 5},
         "y equals attention with scores multiplied by 0.2; a head is 3 wide, so divide by sqrt(3) "
         "= 1.732"},
        {{6, 2, 2}, {.divisor = 5, .declared = 0.2}, NULL},
        {{6, 2, 2},
         {.declared = 0.2},
         "y equals attention with scores multiplied by 0.5774; .scale is 0.2"},
        {{6, 2, 2}, {.reversed = true}, ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const recipe how = rows[i].how;
        const char *const *names = how.x_added && rows[i].to.heads == 1 ? without_o : tutorial;
        projections *m = projections_new(rows[i].to, names, how);
        const heed_attention_report r = check(m, rows[i].to.d);
        ck_assert_str_eq(r.mistake, rows[i].mistake != NULL ? rows[i].mistake : "");
        ck_assert_int_eq(r.checks[HEED_CHECK_FORMULA].verdict,
                         rows[i].mistake == NULL ? HEED_VERDICT_PASSED
                         : *r.mistake != '\0'    ? HEED_VERDICT_FAILED
                                                 : HEED_VERDICT_UNKNOWN);
    }
}
END_TEST

/* Wrong and right classes as recipes, under names that say nothing where `names` is NULL. Words of
 * the mistake; "": right. The sources are OWNER/REPOSITORY, # an issue. */
static const char *const unknown[4] = {"a", "b", "c", "d"};
static const struct form {
    const char *what, *named;
    recipe how;
    const char *const *names;
    struct sizes sizes; /* 0: 8 features, two heads */
} forms[] = {
    {"scale of d_model", "scaled by sqrt(d_model)", .how = {.divisor = 2.8284271247461903}},
    {"d_model itself", "divided by d_model itself = 12", .how = {.divisor = 12},
     .sizes = {12, 3, 3}},
    {"root of d_model / kv heads", "by 0.2887", .how = {.divisor = 3.4641016151377544},
     .sizes = {24, 4, 2}},
    {"a constant", "multiplied by 0.1429", .how = {.divisor = 7}},
    {"muP's 1 / d_head, declared", "", .how = {.divisor = 4, .declared = 0.25}},
    {"divided after the softmax", "after the softmax", .how = {.divisor = 1, .after = 2}},
    {"kv heads tiled", "kv heads tiled", .how = {.tiled = true},
     .sizes = {16, 4, 2}}, /* ggml-org/llama.cpp */
    {"kv heads repeated", "", .how = {.no_bias = true}, .sizes = {16, 4, 2}},
    {"tied", "keys computed by W_q", .how = {.tied = true, .no_bias = true}, .names = tutorial},
    {"values by W_k", "values computed by W_k", .how = {.k_for_v = true}},
    {"keys by W_q", "keys computed by W_q", .how = {.q_for_k = true}},
    {"wide", "", .how = {.wide = true}}, /* and so is the bias of k, which cancels */
    {"small weights", "", .how = {.std = 0.01}, .sizes = {16, 4, 4}},
    {"tiny weights", "", .how = {.std = 0.001}, .names = tutorial, .sizes = {16, 4, 4}},
    {"an epsilon", "", .how = {.epsilon = 1e-9}, .sizes = {16, 4, 4}},
    {"rotary halves", "", .how = {.turn_q = 'h', .turn_k = 'h'}, .names = tutorial},
    {"rotary pairs", "", .how = {.turn_q = 'p', .turn_k = 'p'}, .names = tutorial},
    {"rotary, not scaled", "not scaled", .how = {.divisor = 1, .turn_q = 'p', .turn_k = 'p'},
     .names = tutorial},
    {"rotary of another base", "",
     .how = {.turn_q = 'h', .turn_k = 'h', .base = 50, .no_bias = true}},
    {"the same, not scaled", "not scaled",
     .how = {.divisor = 1, .turn_q = 'h', .turn_k = 'h', .base = 50, .no_bias = true}},
    {"rotary keys", "rotary positions on keys alone", .how = {.turn_k = 'h'}, .names = tutorial},
    {"rotary queries", "on queries alone", .how = {.turn_q = 'p'}, .names = tutorial},
    {"mixed", "pairs for the other", .how = {.turn_q = 'p', .turn_k = 'h'}, .names = tutorial},
    {"rotary values", "on values too", .how = {.turn_q = 'h', .turn_k = 'h', .turn_v = 'h'},
     .names = tutorial},
};

/* The last test prints how many were found: make check-attention. */
START_TEST(forms_are_told_apart)
{
    int wrong = 0, right = 0;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const struct form *form = &forms[i];
        for (int plain = 0; plain < (form->names == NULL ? 2 : 1); plain++) {
            const char *const *names = form->names != NULL ? form->names
                                       : plain             ? tutorial
                                                           : unknown;
            heed_manual_seed(i + 1);
            const struct sizes to = form->sizes.d > 0 ? form->sizes : (struct sizes){8, 2, 2};
            const heed_attention_report r = check(projections_new(to, names, form->how), to.d);
            const bool is_right = form->named[0] == '\0';
            ck_assert_msg(is_right ? r.passed &&
                                         r.checks[HEED_CHECK_FORMULA].verdict == HEED_VERDICT_PASSED
                                   : strstr(r.mistake, form->named) != NULL,
                          "%s, %s: %s: %s", form->what, names[0], r.checks[HEED_CHECK_FORMULA].text,
                          r.mistake);
            wrong += !is_right;
            right += is_right;
        }
    }
    printf("forms: %d of %d wrong ones named, 0 of %d right ones rejected\n", wrong, wrong, right);
}
END_TEST

/* A module per head, whose parameters may be those of the first. */
typedef struct of_heads {
    heed_module module;
    projections *heads[2];
} of_heads;

static const heed_module_kind of_heads_kind = {.name = "OfHeads", .size = sizeof(of_heads)};

static heed_tensor *attend_by_head(heed_tensor *x, void *context)
{
    const of_heads *m = context;
    heed_tensor *parts[2] = {attend(x, m->heads[0]), attend(x, m->heads[1])};
    return heed_cat(parts, 2, -1);
}

static heed_attention_report check_heads(bool shares_q, bool shares_kv)
{
    static const char *const names[] = {"first", "second"};
    heed_attention_report r;
    of_heads *m = heed_module_new(&of_heads_kind);
    for (int h = 0; h < 2; h++) {
        projections *head = heed_module_new(&kind);
        struct heed_linear **const fields[] = {&head->q, &head->k, &head->v};
        head->heads = head->key_heads = 1;
        for (int i = 0; i < 3; i++) {
            heed_add_child(head, without_o[i], fields[i], heed_linear_new(6, 3));
            if (h == 1 && (i == 0 ? shares_q : shares_kv)) {
                const struct heed_linear *first = (&m->heads[0]->q)[i];
                struct heed_linear *layer = *fields[i];
                heed_set_parameter(layer, "weight", &layer->weight, first->weight);
                heed_set_parameter(layer, "bias", &layer->bias, first->bias);
            }
        }
        heed_add_child(m, names[h], &m->heads[h], head);
    }
    /* each head alone is right, whatever it shares */
    const heed_attention_part parts[] = {{attend, m->heads[0]}, {attend, m->heads[1]}, {0}};
    heed_attention_check(attend_by_head, m, .d_model = 6, .heads = 2, .block = true, .module = m,
                         .parts = parts, .report = &r);
    ck_assert_str_eq(r.checks[HEED_CHECK_FORMULA].text,
                     "part 2: y is softmax(q k^T / sqrt(d_head)) v W_o^T");
    heed_attention_check(attend_by_head, m, .d_model = 6, .heads = 2, .module = m, .report = &r);
    heed_module_free(m);
    return r;
}

/* Heads may share keys and values, but not all parameters. */
START_TEST(heads_that_are_one_are_named)
{
    for (int shares = 0; shares < 3; shares++) {
        const heed_attention_report r = check_heads(shares % 2 == 1, shares / 2 == 1);
        expect_no_error();
        ck_assert_int_eq(r.checks[HEED_CHECK_FORMULA].verdict, HEED_VERDICT_PASSED);
    }
    const heed_attention_report r = check_heads(true, true);
    expect_error(HEED_ERR_CHECK, "with the parameters of one head for all heads");
    ck_assert_str_eq(r.mistake, "y equals attention with the parameters of one head for all heads; "
                                "each head has rows of W_q, W_k and W_v of its own");
}
END_TEST

void add_attention_mistakes_cases(Suite *suite)
{
    TCase *mistakes = heed_case(suite, "mistakes");
    tcase_add_test(mistakes, parameters_are_found_by_any_names);
    tcase_add_test(mistakes, parameters_that_do_not_fit_are_left_alone);
    tcase_add_test(mistakes, mistakes_are_named);
    tcase_add_test(mistakes, forms_are_told_apart);
    tcase_add_test(mistakes, heads_that_are_one_are_named);
}
