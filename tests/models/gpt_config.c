/* config.json: optional keys, alternative forms, settings that heed_gpt does not support, and
 * malformed files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/common/gpt_files_util.h"

#define SIZES "\"vocab_size\":40,\"n_positions\":12,\"n_embd\":8,\"n_layer\":2,\"n_head\":2"
#define ALIASES                                                                                    \
    "{\"vocab_size\":40,\"max_position_embeddings\":12,\"hidden_size\":8,"                         \
    "\"num_hidden_layers\":2,\"num_attention_heads\":2}"
#define WITH(more) "{" SIZES "," more "}"

/* Loads a folder with this config and the weights of the fixture `tied`. */
static struct heed_gpt *load_with(const char *config, size_t size)
{
    write_bytes(in_folder("config.json"), config, size);
    if (access(in_folder("model.safetensors"), F_OK) != 0) {
        size_t room;
        char *bytes = read_bytes("tests/fixtures/gpt2/tied/model.safetensors", &room);
        write_bytes(in_folder("model.safetensors"), bytes, room);
        free(bytes);
    }
    return heed_gpt_from_pretrained(in_folder(""));
}

/* ---- accepted ---- */

static const char *const fine[] = {
    "{" SIZES "}",
    " \n{" SIZES "}\t\r\n",
    WITH("\"reorder_and_upcast_attn\":true"),
    WITH("\"n_inner\":32"),
    WITH("\"n_inner\":null,\"n_ctx\":12,\"pad_token_id\":null"),
    WITH("\"model_type\":\"gpt\\u0032\""),
    WITH("\"task_specific_params\":{\"a\":{\"n_embd\":[1,2,{\"n_embd\":\"x\"}]}},\"id2label\":{}"),
    WITH("\"tie_word_embeddings\":true,\"scale_attn_weights\":true"),
    WITH("\"attn_pdrop\":1,\"resid_pdrop\":1.0,\"embd_pdrop\":10e-1"),
    ALIASES,
};

START_TEST(is_taken)
{
    struct heed_gpt *m = load_with(fine[_i], strlen(fine[_i]));
    expect_no_error();
    ck_assert_int_eq(m->config.n_layer, 2);
    heed_module_free(m);
}
END_TEST

START_TEST(activations_have_transformers_names)
{
    static const struct {
        const char *name;
        heed_activation_function *function;
    } rows[] = {{"gelu_new", heed_gelu_tanh}, {"gelu_pytorch_tanh", heed_gelu_tanh},
                {"gelu", heed_gelu},          {"relu", heed_relu},
                {"silu", heed_silu},          {"swish", heed_silu},
                {"tanh", heed_tanh},          {"sigmoid", heed_sigmoid}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[300];
        snprintf(text, sizeof text, WITH("\"activation_function\":\"%s\""), rows[i].name);
        struct heed_gpt *m = load_with(text, strlen(text));
        expect_no_error();
        ck_assert(m->config.activation == rows[i].function);
        heed_module_free(m);
    }
}
END_TEST

START_TEST(numbers_keep_their_bits)
{
    static const double rows[] = {1e-5, 1e-12, 0.1,    1.0 / 3,   0.1 + 0.2,
                                  0.25, 1,     1e-300, 0x1p-1074, 123456.5};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        heed_gpt_config config = {.vocab_size = 2,
                                  .block_size = 1,
                                  .n_layer = 1,
                                  .n_head = 1,
                                  .n_embd = 1,
                                  .layer_norm_eps = rows[i]};
        config.dropout = rows[i] <= 1 ? rows[i] : 0;
        struct heed_gpt *m = heed_gpt_new(config);
        ck_assert_int_eq(heed_gpt_save_pretrained(m, in_folder("")), HEED_OK);
        heed_module_free(m);
        m = heed_gpt_from_pretrained(in_folder(""));
        expect_no_error();
        ck_assert_msg(m->config.layer_norm_eps == rows[i] && m->config.dropout == config.dropout,
                      "%.17g came back as %.17g", rows[i], m->config.layer_norm_eps);
        heed_module_free(m);
    }
}
END_TEST

/* ---- rejected ---- */

typedef struct row {
    const char *config;
    heed_status status;
    const char *words;
} row;

/* clang-format off */
static const row rows[] = {
    /* unsupported settings */
    {WITH("\"scale_attn_weights\":false"), HEED_ERR_VALUE, "config.json: 'scale_attn_weights' is false, which a heed_gpt does not support"},
    {WITH("\"scale_attn_by_inverse_layer_idx\":true"), HEED_ERR_VALUE, "'scale_attn_by_inverse_layer_idx' is true, which a heed_gpt does not support"},
    {WITH("\"add_cross_attention\":true"), HEED_ERR_VALUE, "'add_cross_attention' is true, which a heed_gpt does not support"},
    {WITH("\"n_inner\":16"), HEED_ERR_VALUE, "'n_inner' is 16; a heed_gpt supports only 4 n_embd, 32"},
    {WITH("\"n_inner\":0"), HEED_ERR_VALUE, "'n_inner' is 0; a heed_gpt supports only 4 n_embd"},
    {WITH("\"activation_function\":\"gelu_10\""), HEED_ERR_VALUE, "'activation_function' is 'gelu_10'; Heed supports gelu_new, gelu_pytorch_tanh, gelu, relu, silu, swish, tanh, sigmoid"},
    {WITH("\"activation_function\":\"\""), HEED_ERR_VALUE, "'activation_function' is ''; Heed supports"},
    {WITH("\"model_type\":\"gpt_neo\""), HEED_ERR_VALUE, "'model_type' is 'gpt_neo', not 'gpt2'"},
    {WITH("\"attn_pdrop\":0"), HEED_ERR_VALUE, "'attn_pdrop' is 0, resid_pdrop 0.1 and embd_pdrop 0.1; a heed_gpt has a single dropout"},
    {WITH("\"embd_pdrop\":0.2"), HEED_ERR_VALUE, "'attn_pdrop' is 0.1, resid_pdrop 0.1 and embd_pdrop 0.2"},
    {WITH("\"attn_pdrop\":1.5,\"resid_pdrop\":1.5,\"embd_pdrop\":1.5"), HEED_ERR_VALUE, "'attn_pdrop' is 1.5, which is outside [0, 1]"},
    {WITH("\"attn_pdrop\":-0.1"), HEED_ERR_VALUE, "'attn_pdrop' is -0.1, which is outside [0, 1]"},
    {WITH("\"layer_norm_epsilon\":0"), HEED_ERR_VALUE, "'layer_norm_epsilon' is 0; it must be above 0"},
    {WITH("\"layer_norm_epsilon\":-1e-5"), HEED_ERR_VALUE, "'layer_norm_epsilon' is -1e-05"},
    {WITH("\"tie_word_embeddings\":false"), HEED_ERR_VALUE, "model.safetensors does not fit this GPT: 1 missing: lm_head.weight"},
    /* invalid sizes, or sizes that differ from the weights' */
    {"{}", HEED_ERR_VALUE, "config.json has vocab_size 50257 and n_embd 768, but transformer.wte.weight is (40, 8) in model.safetensors"},
    {"{\"vocab_size\":40}", HEED_ERR_VALUE, "has vocab_size 40 and n_embd 768, but transformer.wte.weight is (40, 8)"},
    {"{\"vocab_size\":41,\"n_positions\":12,\"n_embd\":8,\"n_layer\":2,\"n_head\":2}", HEED_ERR_VALUE, "has vocab_size 41 and n_embd 8, but transformer.wte.weight is (40, 8)"},
    {"{\"vocab_size\":40,\"n_positions\":13,\"n_embd\":8,\"n_layer\":2,\"n_head\":2}", HEED_ERR_VALUE, "has n_positions 13 and n_embd 8, but transformer.wpe.weight is (12, 8)"},
    {"{\"vocab_size\":40,\"n_positions\":12,\"n_embd\":8,\"n_layer\":3,\"n_head\":2}", HEED_ERR_VALUE, "has n_layer 3 and n_embd 8, but transformer.h.2.attn.c_attn.weight is missing in model.safetensors"},
    {"{\"vocab_size\":40,\"n_positions\":12,\"n_embd\":8,\"n_layer\":1,\"n_head\":2}", HEED_ERR_VALUE, "12 unexpected: transformer.h.1.attn.c_attn.bias"},
    {"{\"vocab_size\":40,\"n_positions\":12,\"n_embd\":8,\"n_layer\":2,\"n_head\":3}", HEED_ERR_VALUE, "'n_head' 3 does not divide n_embd 8"},
    {"{\"vocab_size\":40,\"n_positions\":12,\"n_embd\":8,\"n_layer\":0,\"n_head\":2}", HEED_ERR_VALUE, "'n_layer' is 0; it must be from 1 to 2147483647"},
    {"{\"vocab_size\":9223372036854775807}", HEED_ERR_VALUE, "'vocab_size' is 9223372036854775807; it must be"},
    {"{\"vocab_size\":2147483647,\"n_embd\":2147483640,\"n_layer\":2147483647}", HEED_ERR_VALUE, "has vocab_size 2147483647 and n_embd 2147483640, but transformer.wte.weight is (40, 8)"},
    /* values of the wrong type */
    {WITH("\"n_inner\":\"32\""), HEED_ERR_FORMAT, "config.json: 'n_inner': at byte 78: a non-negative integer is expected"},
    {WITH("\"n_inner\":-32"), HEED_ERR_FORMAT, "'n_inner': at byte 78: a non-negative integer"},
    {WITH("\"n_inner\":nul"), HEED_ERR_FORMAT, "'n_inner': at byte 78: a non-negative integer"},
    {"{\"n_layer\":2.0}", HEED_ERR_FORMAT, "'n_layer': at byte 12: a non-negative integer"},
    {"{\"n_layer\":2e0}", HEED_ERR_FORMAT, "'n_layer': at byte 12: a non-negative integer"},
    {"{\"n_layer\":null}", HEED_ERR_FORMAT, "'n_layer': at byte 11: a non-negative integer"},
    {"{\"n_layer\":99999999999999999999}", HEED_ERR_FORMAT, "'n_layer': at byte 30: a number is larger than 2^63 - 1"},
    {"{\"n_layer\":[2]}", HEED_ERR_FORMAT, "'n_layer': at byte"},
    {"{\"tie_word_embeddings\":1}", HEED_ERR_FORMAT, "'tie_word_embeddings': at byte 23: true or false is expected"},
    {"{\"tie_word_embeddings\":null}", HEED_ERR_FORMAT, "true or false is expected"},
    {"{\"activation_function\":null}", HEED_ERR_FORMAT, "'activation_function': at byte 23: a string is expected"},
    {"{\"attn_pdrop\":\"0.1\"}", HEED_ERR_FORMAT, "'attn_pdrop': at byte 14: a number is expected"},
    {"{\"attn_pdrop\":NaN}", HEED_ERR_FORMAT, "a number is expected"},
    {"{\"attn_pdrop\":1e999}", HEED_ERR_FORMAT, "a number is too large"},
    {"{\"n_head\":2,\"n_head\":2}", HEED_ERR_FORMAT, "'n_head': at byte 21: 'n_head' appears twice, perhaps under a synonym"},
    {"{\"n_head\":2,\"num_attention_heads\":2}", HEED_ERR_FORMAT, "'num_attention_heads' appears twice, perhaps"},
    /* malformed JSON */
    {"", HEED_ERR_FORMAT, "config.json: at byte 0: an object is expected"},
    {"[]", HEED_ERR_FORMAT, "at byte 0: an object is expected"},
    {"\xef\xbb\xbf{}", HEED_ERR_FORMAT, "at byte 0: an object is expected"},
    {"{", HEED_ERR_FORMAT, "at byte 1: a string is expected"},
    {"{\"n_head\"", HEED_ERR_FORMAT, "'n_head': at byte 9: ':' is expected"},
    {"{\"n_head\":", HEED_ERR_FORMAT, "'n_head': at byte 10: a non-negative integer"},
    {"{\"n_head\":2", HEED_ERR_FORMAT, "at byte 11: ',' or '}' is expected"},
    {"{\"n_head\":2,}", HEED_ERR_FORMAT, "at byte 12: a string is expected"},
    {"{\"n_head\":2 \"n_embd\":8}", HEED_ERR_FORMAT, "',' or '}' is expected"},
    {"{\"n_head\":2}}", HEED_ERR_FORMAT, "at byte 12: something follows the closing '}'"},
    {"{'n_head':2}", HEED_ERR_FORMAT, "a string is expected"},
    {"{n_head:2}", HEED_ERR_FORMAT, "a string is expected"},
    {"{\"n_head\":2, // heads\n\"n_embd\":8}", HEED_ERR_FORMAT, "a string is expected"},
    {"{\"x\":[1,{\"y\":}]}", HEED_ERR_FORMAT, "'x': at byte 13: a value is expected"},
    {"{\"x\":undefined}", HEED_ERR_FORMAT, "'x': at byte 5: a value is expected"},
    {"{\"x\":truex}", HEED_ERR_FORMAT, "at byte 9: ',' or '}' is expected"},
    {"{\"x\xff\":1}", HEED_ERR_FORMAT, "invalid UTF-8"},
};
/* clang-format on */

START_TEST(is_refused)
{
    const row *r = &rows[_i];
    const int64_t bytes = heed_live_bytes();
    ck_assert_ptr_null(load_with(r->config, strlen(r->config)));
    ck_assert_ptr_nonnull(strstr(heed_error_message(), "gpt_from_pretrained: /tmp/heed-test-"));
    expect_error(r->status, r->words);
    ck_assert_int_eq(heed_live_bytes(), bytes);
}
END_TEST

START_TEST(zeros_and_long_files_are_refused)
{
    ck_assert_ptr_null(load_with("{}\0", 3));
    expect_error(HEED_ERR_FORMAT, "at byte 2: something follows");
    ck_assert_ptr_null(load_with("{\"a\0\":1}", 8));
    expect_error(HEED_ERR_FORMAT, "a control character inside a string");
    ck_assert_int_eq(truncate(in_folder("config.json"), 16000001), 0);
    ck_assert_ptr_null(heed_gpt_from_pretrained(in_folder("")));
    expect_error(HEED_ERR_FORMAT, "config.json: it is too long for a config.json (16000001 bytes)");
}
END_TEST

/* Either a model loads, or the error names the function and the file. */
static void expect_either(const char *config, size_t size, int *taken)
{
    struct heed_gpt *m = load_with(config, size);
    if (m == NULL) {
        ck_assert_ptr_nonnull(strstr(heed_error_message(), "gpt_from_pretrained: /tmp/heed-test-"));
        const heed_status status = heed_error();
        ck_assert(status == HEED_ERR_FORMAT || status == HEED_ERR_VALUE);
    } else {
        expect_no_error();
        heed_module_free(m);
        ++*taken;
    }
}

START_TEST(no_damage_does_harm)
{
    size_t size;
    int taken = 0;
    uint32_t state = 1;
    char *config = read_bytes("tests/fixtures/gpt2/tied/config.json", &size);
    for (size_t i = 0; i < size; i++) {
        const char byte = config[i], likely[] = "{}[],:\"\\0-e. n";
        for (int j = 0; j < 4; j++) {
            state = state * 1664525 + 1013904223;
            config[i] = j < 2 ? likely[(state >> 8) % (sizeof likely - 1)] : (char)(state >> 24);
            expect_either(config, size, &taken);
        }
        config[i] = byte;
        if (i < size - 2) { /* the last two bytes are } and the newline */
            int whole = 0;
            expect_either(config, i, &whole);
            ck_assert_int_eq(whole, 0);
        }
    }
    ck_assert_int_gt(taken, 100); /* damage inside strings that are ignored */
    free(config);
}
END_TEST

#define COUNT(list) (int)(sizeof(list) / sizeof *(list))

void add_gpt_config_cases(Suite *suite)
{
    TCase *tests = files_case(suite, "config.json");
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, is_taken, 0, COUNT(fine));
    tcase_add_test(tests, activations_have_transformers_names);
    tcase_add_test(tests, numbers_keep_their_bits);
    tcase_add_loop_test(tests, is_refused, 0, COUNT(rows));
    tcase_add_test(tests, zeros_and_long_files_are_refused);
    tcase_add_test(tests, no_damage_does_harm);
}
