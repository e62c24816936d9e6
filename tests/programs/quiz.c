/* Quizzes of examples/lab/gpt: what is refused, what guessers reach, the score of a bigram model
 * whose probabilities are computed here too, and that asking leaves a training run unchanged. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/lab/gpt/quiz.h"
#include "tests/common/files_util.h"
#include "tests/common/gpt_options.h"

static const char alphabet[] = "abcdefgh";
enum { LETTERS = sizeof alphabet - 1, CONTEXT = 6 };

static void write_quiz(const char *text)
{
    write_bytes(in_folder("quiz"), text, strlen(text));
}

static tokenizer letters(void)
{
    return tokenizer_of_text(LEVEL_CHAR, "alphabet", alphabet, LETTERS, 0);
}

/* ---- lines ---- */

static const struct {
    const char *text, *error;
} refused[] = {
    {"k\ta\tb\tc\nk\ta\tb\n", "quiz: line 2: 2 tabs; "},
    {"k\ta\tb\tc\n\nk\ta\tb\tc\n", "quiz: line 2: 0 tabs; "},
    {"ka b c", "quiz: line 1: 0 tabs; "},
    {"\ta\tb\tc", "quiz: line 1: the kind is empty"},
    {"k\t\tb\tc", "quiz: line 1: the context is empty"},
    {"k\ta\t\tc", "quiz: line 1: an answer is empty, or is a prefix of another"},
    {"k\ta\tb\tc\t", "quiz: line 1: an answer is empty, or is a prefix of another"},
    {"k\ta\tbc\tbcd", "quiz: line 1: an answer is empty, or is a prefix of another"},
    {"k\ta\tb\tb", "quiz: line 1: an answer is empty, or is a prefix of another"},
    {"k\ta\tb\tc\nk\ta\tbx\tc", "quiz: line 2: the character 'x'"},
    {"k\tax\tb\tc", "quiz: line 1: the character 'x'"},
    {"1\ta\tb\tc\n2\ta\tb\tc\n3\ta\tb\tc\n4\ta\tb\tc\n5\ta\tb\tc\n6\ta\tb\tc\n7\ta\tb\tc\n8\ta\tb\t"
     "c\n"
     "9\ta\tb\tc\n",
     "quiz: line 9: kind '9' is one too many"},
    {"", "quiz: empty"},
    {"k\ta\tb\t\xff", "not UTF-8"},
};

START_TEST(test_refused)
{
    quiz q;
    tokenizer t = letters();
    write_quiz(refused[_i].text);
    quiz_open(&q, in_folder("quiz"), &t);
    expect_error(HEED_ERR_VALUE, refused[_i].error);
    quiz_close(&q);
    tokenizer_free(&t);
}
END_TEST

START_TEST(test_no_file)
{
    quiz q;
    tokenizer t = letters();
    quiz_open(&q, in_folder("none"), &t);
    expect_error(HEED_ERR_VALUE, "cannot read");
    quiz_close(&q);
    char many[1000] = "k\ta";
    for (int i = 0; i <= QUIZ_MOST_ANSWERS; i++) {
        char answer[] = {'\t', alphabet[i / 8 % 8], alphabet[i % 8], alphabet[i / 64], '\0'};
        strcat(many, answer);
    }
    write_quiz(many);
    quiz_open(&q, in_folder("quiz"), &t);
    expect_error(HEED_ERR_VALUE, "line 1: 65 answers; at most 64");
    quiz_close(&q);
    tokenizer_free(&t);
}
END_TEST

/* Words count as wholes: "a" is not in "ab". */
START_TEST(test_guessers)
{
    static const char text[] = "first\ta b, a\tb\ta\tc\n" /* recent: a */
                               "first\tab b ab\tb\ta\n"   /* b */
                               "first\tc.\ta\tb\tc\td\n"  /* c */
                               "other\td\te\tf\n"         /* none: 1/2 */
                               "first\tcab\ta\tb\n"       /* none: 1/2 */
                               "first\tb\tb\ta" /* b */;
    char both[LETTERS + 4];
    snprintf(both, sizeof both, "%s ,.", alphabet);
    tokenizer t = tokenizer_of_text(LEVEL_CHAR, "alphabet", both, strlen(both), 0);
    quiz q;
    write_quiz(text);
    quiz_open(&q, in_folder("quiz"), &t);
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

/* ---- scores ---- */

/* A model that only knows which letter follows which. The blocks add 0; tokens are one-hot, which
 * LayerNorm turns into `high` at the token and `low` elsewhere. */
static struct gpt *bigram_model(double next[LETTERS][LETTERS])
{
    struct gpt *m = gpt_new((gpt_config){.vocab_size = LETTERS,
                                         .block_size = CONTEXT,
                                         .n_layer = 1,
                                         .n_head = 2,
                                         .n_embd = LETTERS,
                                         .untied = true});
    struct gpt_transformer *t = m->transformer;
    double eye[LETTERS * LETTERS] = {0}, head[LETTERS * LETTERS];
    for (int i = 0; i < LETTERS * LETTERS; i++) {
        eye[i] = i % (LETTERS + 1) == 0;
        head[i] = 2 * (heed_item(heed_randn(HEED_SHAPE(1), HEED_F64)));
    }
    heed_copy_into(t->wte->weight,
                   heed_to(heed_from_f64(eye, HEED_SHAPE(LETTERS, LETTERS)), HEED_F32));
    heed_copy_into(t->wpe->weight, heed_zeros(HEED_SHAPE(CONTEXT, LETTERS), HEED_F32));
    heed_copy_into(m->lm_head->weight,
                   heed_to(heed_from_f64(head, HEED_SHAPE(LETTERS, LETTERS)), HEED_F32));
    struct gpt_block *block = gpt_block_at(m, 0);
    heed_copy_into(block->attn->c_proj->weight, heed_zeros(HEED_SHAPE(LETTERS, LETTERS), HEED_F32));
    heed_copy_into(block->mlp->c_proj->weight,
                   heed_zeros(HEED_SHAPE(LETTERS, 4 * LETTERS), HEED_F32));
    const double mean = 1.0 / LETTERS, deviation = sqrt(mean * (1 - mean) + 1e-5);
    const double high = (1 - mean) / deviation, low = -mean / deviation;
    for (int from = 0; from < LETTERS; from++) {
        double sum = 0;
        for (int to = 0; to < LETTERS; to++) {
            next[from][to] = 0;
            for (int i = 0; i < LETTERS; i++) {
                next[from][to] += head[to * LETTERS + i] * (i == from ? high : low);
            }
            sum += exp(next[from][to]);
        }
        for (int to = 0; to < LETTERS; to++) {
            next[from][to] -= log(sum);
        }
    }
    expect_no_error();
    return m;
}

static void draw_word(char *word, int64_t length)
{
    for (int64_t i = 0; i < length; i++) {
        word[i] = alphabet[heed_item_i64(heed_randint(0, LETTERS, HEED_SHAPE(1)))];
    }
    word[length] = '\0';
}

static double score(double next[LETTERS][LETTERS], char from, const char *answer)
{
    double sum = 0;
    for (; *answer != '\0'; from = *answer++) {
        sum += next[from - 'a'][*answer - 'a'];
    }
    return sum;
}

/* Contexts of 1 to 12 letters, with answers of different lengths: the first six letters of a long
 * one are dropped, and the answers must be scored at the right places. */
START_TEST(test_scores)
{
    enum { QUESTIONS = 200, ANSWERS = 3 };
    double next[LETTERS][LETTERS];
    heed_manual_seed(3);
    struct gpt *m = bigram_model(next);
    tokenizer t = letters();
    FILE *file = fopen(in_folder("quiz"), "w");
    int right = 0;
    for (int i = 0; i < QUESTIONS; i++) {
        char context[20], answers[ANSWERS][8];
        draw_word(context, 1 + i % 12);
        fprintf(file, "k\t%s", context);
        for (int a = 0; a < ANSWERS; a++) {
            draw_word(answers[a], 1 + (i + a) % 4);
            answers[a][0] = alphabet[(i + 3 * a) % LETTERS]; /* none is a prefix of another */
            fprintf(file, "\t%s", answers[a]);
        }
        fputc('\n', file);
        const double best = score(next, context[strlen(context) - 1], answers[0]);
        right += best > score(next, context[strlen(context) - 1], answers[1]) &&
                 best > score(next, context[strlen(context) - 1], answers[2]);
    }
    fclose(file);
    quiz q;
    quiz_open(&q, in_folder("quiz"), &t);
    quiz_ask(&q, m);
    expect_no_error();
    ck_assert(m->module.training);
    ck_assert_int_eq(q.kinds[0].questions, QUESTIONS);
    ck_assert_int_eq(q.kinds[0].right, right);
    ck_assert(right > QUESTIONS / 10 && right < QUESTIONS / 2);
    quiz_ask(&q, m);
    ck_assert_int_eq(q.kinds[0].right, right);
    quiz_close(&q);
    tokenizer_free(&t);
    heed_module_free(m);
}
END_TEST

/* All letters are as probable: a tie is wrong. Answers that are longer than the context are too. */
START_TEST(test_ties)
{
    double next[LETTERS][LETTERS];
    struct gpt *m = bigram_model(next);
    heed_copy_into(m->lm_head->weight, heed_zeros(HEED_SHAPE(LETTERS, LETTERS), HEED_F32));
    tokenizer t = letters();
    quiz q;
    write_quiz(
        "tie\ta\tb\tc\nshorter\ta\tb\tcc\tdd\nlonger\ta\tbb\tc\nhuge\ta\tbbbbbbbb\tcccccccc\n");
    quiz_open(&q, in_folder("quiz"), &t);
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

/* ---- training ---- */

/* A run with a quiz between its steps gives the same file as one without. */
START_TEST(test_training_is_unchanged)
{
    static const char sentence[] = "Ann has a drum. Who has the drum? Ann. ";
    char text[20 * sizeof sentence] = "", path[4096];
    for (int i = 0; i < 20; i++) {
        strcat(text, sentence);
    }
    write_bytes(in_folder("text"), text, strlen(text));
    strcpy(path, in_folder("text"));
    write_quiz("who\tAnn has a drum. Who has the drum? \tAnn\tdrum\nwhat\tAnn has a \tdrum\thas\n");
    for (int with_quiz = 0; with_quiz <= 1; with_quiz++) {
        gpt_train_options o = small_gpt(path, 2, 8, 16, 2, 9);
        o.level = _i;
        o.vocab = 280;
        o.dropout = 0.25;
        o.given.level = o.given.dropout = true;
        o.given.vocab = _i == LEVEL_BPE;
        gpt_run run;
        gpt_step now;
        quiz q = {.count = 0};
        gpt_run_prepare(&run, &o);
        if (with_quiz) {
            quiz_open(&q, in_folder("quiz"), &run.record.tokenizer);
            ck_assert_int_eq(q.count, 2);
        }
        for (int step = 0; step < 5; step++) {
            if (with_quiz) {
                quiz_ask(&q, run.model);
            }
            gpt_run_step(&run, &now);
            expect_no_error();
        }
        gpt_record_save(&run.record, run.model, run.optimizer, "--save",
                        in_folder(with_quiz ? "with" : "without"));
        expect_no_error();
        quiz_close(&q);
        gpt_run_free(&run);
    }
    expect_same_files(in_folder("without"), in_folder("with"));
}
END_TEST

#define ROWS(rows) (int)(sizeof(rows) / sizeof *(rows))

void add_quiz_cases(Suite *suite)
{
    TCase *quizzes = files_case(suite, "quizzes");
    tcase_add_loop_test(quizzes, test_refused, 0, ROWS(refused));
    tcase_add_test(quizzes, test_no_file);
    tcase_add_test(quizzes, test_guessers);
    tcase_add_test(quizzes, test_scores);
    tcase_add_test(quizzes, test_ties);
    tcase_add_loop_test(quizzes, test_training_is_unchanged, 0, 2);
}
