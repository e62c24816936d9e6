/* Quizzes of examples/lab/gpt: what is refused, what guessers reach, and the score of a model that
 * only knows which letter follows which. tests/programs/gpt.sh shows that asking leaves a
 * training run unchanged. */
#include <stdio.h>
#include <string.h>

#include "examples/lab/gpt/quiz.h"
#include "tests/common/files_util.h"

static const char alphabet[] = "abcdefgh ,.";
enum { LETTERS = 8, TOKENS = sizeof alphabet - 1, CONTEXT = 6 };

static tokenizer letters(void)
{
    return tokenizer_of_text(LEVEL_CHAR, "alphabet", alphabet, TOKENS, 0);
}

/* Opens a quiz with these lines. */
static void open_quiz(quiz *q, const tokenizer *t, const char *text)
{
    write_bytes(in_folder("quiz"), text, strlen(text));
    quiz_open(q, in_folder("quiz"), t);
}

START_TEST(wrong_lines_are_named)
{
    static const struct {
        const char *text, *error;
    } rows[] = {
        {"k\ta\tb\tc\nk\ta\tb\n", "quiz: line 2: 2 tabs; "},
        {"k\ta\tb\tc\n\nk\ta\tb\tc\n", "quiz: line 2: 0 tabs; "},
        {"\ta\tb\tc", "quiz: line 1: the kind is empty"},
        {"k\t\tb\tc", "quiz: line 1: the context is empty"},
        {"k\ta\tb\tc\t", "quiz: line 1: an answer is empty, or is a prefix of another"},
        {"k\ta\tbc\tbcd", "quiz: line 1: an answer is empty, or is a prefix of another"},
        {"k\ta\tb\tc\nk\ta\tbx\tc", "quiz: line 2: the character 'x'"},
        {"k\tax\tb\tc", "quiz: line 1: the character 'x'"},
        {"1\ta\tb\tc\n2\ta\tb\tc\n3\ta\tb\tc\n4\ta\tb\tc\n5\ta\tb\tc\n6\ta\tb\tc\n7\ta\tb\tc\n"
         "8\ta\tb\tc\n9\ta\tb\tc\n",
         "quiz: line 9: kind '9' is one too many"},
        {"", "quiz: empty"},
        {"k\ta\tb\t\xff", "not UTF-8"},
    };
    tokenizer t = letters();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        quiz q;
        open_quiz(&q, &t, rows[i].text);
        expect_error(HEED_ERR_VALUE, rows[i].error);
        quiz_close(&q);
    }
    tokenizer_free(&t);
}
END_TEST

/* Words count as wholes: "a" is not in "ab". */
START_TEST(guessers_are_counted)
{
    static const char text[] = "first\ta b, a\tb\ta\tc\n" /* recent: a */
                               "first\tab b ab\tb\ta\n"   /* b */
                               "first\tc.\ta\tb\tc\td\n"  /* c */
                               "other\td\te\tf\n"         /* none: 1/2 */
                               "first\tcab\ta\tb\n"       /* none: 1/2 */
                               "first\tb\tb\ta" /* b */;
    tokenizer t = letters();
    quiz q;
    open_quiz(&q, &t, text);
    expect_no_error();
    ck_assert_int_eq(q.kind_count, 2);
    ck_assert_str_eq(q.kinds[0].name, "first");
    ck_assert_int_eq(q.kinds[0].questions, 5);
    ck_assert_double_eq_tol(q.kinds[0].chance, 1.0 / 3 + 0.5 + 0.25 + 0.5 + 0.5, 1e-12);
    ck_assert_double_eq(q.kinds[0].frequent, 3);
    ck_assert_double_eq(q.kinds[0].recent, 2.5);
    ck_assert_int_eq(q.kinds[1].questions, 1);
    ck_assert_double_eq(q.kinds[1].recent, 0.5);
    quiz_close(&q);
    tokenizer_free(&t);
}
END_TEST

/* Its logits depend on the last token alone: there are no positions, and the blocks add 0. */
static struct gpt *bigram_model(double head)
{
    struct gpt *m = gpt_new((gpt_config){.vocab_size = TOKENS,
                                         .block_size = CONTEXT,
                                         .n_layer = 1,
                                         .n_head = 2,
                                         .n_embd = LETTERS,
                                         .untied = true});
    const struct gpt_block *block = gpt_block_at(m, 0);
    heed_normal_into(m->transformer->wte->weight, 0, 1);
    heed_normal_into(m->lm_head->weight, 0, head);
    heed_fill_into(m->transformer->wpe->weight, 0);
    heed_fill_into(block->attn->c_proj->weight, 0);
    heed_fill_into(block->mlp->c_proj->weight, 0);
    return m;
}

static void draw_word(char *word, int64_t length)
{
    for (int64_t i = 0; i < length; i++) {
        word[i] = alphabet[heed_item_i64(heed_randint(0, LETTERS, HEED_SHAPE(1)))];
    }
    word[length] = '\0';
}

/* The log probability of an answer after a letter; next: (TOKENS, TOKENS). */
static double score(heed_tensor *next, const tokenizer *t, char from, const char *answer)
{
    double sum = 0;
    char pair[] = {from, '\0'};
    for (; *answer != '\0'; pair[0] = *answer++) {
        pair[1] = *answer;
        token_list ids = tokenizer_encode(t, "pair", pair, 2);
        sum += heed_at(next, HEED_INDEX(ids.ids[0], ids.ids[1]));
        token_list_free(&ids);
    }
    return sum;
}

/* Contexts of 1 to 12 letters, with answers of different lengths: the first letters of a long one
 * are dropped, and the answers must be scored at the right places. */
START_TEST(answers_are_scored)
{
    enum { QUESTIONS = 200, ANSWERS = 3 };
    heed_manual_seed(3);
    struct gpt *m = bigram_model(1);
    heed_tensor *each = heed_reshape(heed_arange(0, TOKENS, 1, HEED_I64), HEED_SHAPE(TOKENS, 1));
    heed_tensor *next = heed_log_softmax(heed_select(heed_detach(gpt_forward(m, each)), 1, 0), -1);
    tokenizer t = letters();
    char text[QUESTIONS * 40] = "";
    int right = 0;
    for (int i = 0; i < QUESTIONS; i++) {
        char context[20], answers[ANSWERS][8];
        double scores[ANSWERS];
        draw_word(context, 1 + i % 12);
        strcat(strcat(text, "k\t"), context);
        for (int a = 0; a < ANSWERS; a++) {
            draw_word(answers[a], 1 + (i + a) % 4);
            answers[a][0] = alphabet[(i + 3 * a) % LETTERS]; /* none is a prefix of another */
            strcat(strcat(text, "\t"), answers[a]);
            scores[a] = score(next, &t, context[strlen(context) - 1], answers[a]);
        }
        strcat(text, "\n");
        right += scores[0] > scores[1] && scores[0] > scores[2];
    }
    quiz q;
    open_quiz(&q, &t, text);
    for (int twice = 0; twice < 2; twice++) {
        quiz_ask(&q, m);
        expect_no_error();
        ck_assert(m->module.training);
        ck_assert_int_eq(q.kinds[0].questions, QUESTIONS);
        ck_assert_int_eq(q.kinds[0].right, right);
        ck_assert(right > QUESTIONS / 10 && right < QUESTIONS / 2);
    }
    quiz_close(&q);
    tokenizer_free(&t);
    heed_module_free(m);
}
END_TEST

/* All letters are as probable: a tie is wrong. Answers that are longer than the context are too. */
START_TEST(ties_are_wrong)
{
    struct gpt *m = bigram_model(0);
    tokenizer t = letters();
    quiz q;
    open_quiz(&q, &t,
              "tie\ta\tb\tc\nshorter\ta\tb\tcc\tdd\nlonger\ta\tbb\tc\nhuge\ta\tbbbbbbbb\tccc\n");
    quiz_ask(&q, m);
    expect_no_error();
    for (int i = 0; i < q.kind_count; i++) {
        ck_assert_msg(q.kinds[i].right == (i == 1), "%s: %d", q.kinds[i].name,
                      (int)q.kinds[i].right);
    }
    quiz_close(&q);
    tokenizer_free(&t);
    heed_module_free(m);
}
END_TEST

void add_quiz_cases(Suite *suite)
{
    TCase *quizzes = files_case(suite, "quizzes");
    tcase_add_test(quizzes, wrong_lines_are_named);
    tcase_add_test(quizzes, guessers_are_counted);
    tcase_add_test(quizzes, answers_are_scored);
    tcase_add_test(quizzes, ties_are_wrong);
}
