/* Quizzes: reads the lines, scores each answer with the model, and computes the scores of
 * guessers. */
#include "examples/lab/gpt/quiz.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* ---- lines ---- */

static const char *after(const char *field)
{
    return field + strlen(field) + 1;
}

static int kind_named(quiz *q, const char *name)
{
    int kind = 0;
    while (kind < q->kind_count && strcmp(q->kinds[kind].name, name) != 0) {
        kind++;
    }
    if (kind == q->kind_count && kind < QUIZ_MOST_KINDS) {
        q->kinds[q->kind_count++] = (quiz_kind){.name = name};
    }
    return kind;
}

/* An answer that is a prefix of another would be at least as probable, whatever the model. */
static bool begins_another(const quiz_question *one)
{
    const char *a = after(one->context);
    for (int i = 0; i < one->answers; i++, a = after(a)) {
        const char *b = after(one->context);
        for (int j = 0; j < one->answers; j++, b = after(b)) {
            if (i != j && strncmp(a, b, strlen(a)) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* Adds the question of a line, whose `tabs` are replaced by NUL. */
static void add_question(quiz *q, const char *path, int64_t number, const char *line, int tabs)
{
    char where[512];
    const char *context = after(line), *answer = context;
    snprintf(where, sizeof where, "%s: line %lld", path, (long long)number);
    if (tabs < 3) {
        heed_fail(
            HEED_ERR_VALUE,
            "%s: %d tab%s; it takes at least 3, between kind, context, right and wrong answers",
            where, tabs, tabs == 1 ? "" : "s");
        return;
    }
    const quiz_question one = {kind_named(q, line), tabs - 1, context};
    if (*line == '\0' || *context == '\0') {
        heed_fail(HEED_ERR_VALUE, "%s: the %s is empty", where, *line == '\0' ? "kind" : "context");
    } else if (one.kind == QUIZ_MOST_KINDS) {
        heed_fail(HEED_ERR_VALUE, "%s: kind '%s' is one too many; a quiz has at most %d", where,
                  line, QUIZ_MOST_KINDS);
    } else if (one.answers > QUIZ_MOST_ANSWERS) {
        heed_fail(HEED_ERR_VALUE, "%s: %d answers; at most %d", where, one.answers,
                  QUIZ_MOST_ANSWERS);
    } else if (begins_another(&one)) {
        heed_fail(HEED_ERR_VALUE, "%s: an answer is empty, or is a prefix of another", where);
    }
    for (int i = 0; i <= one.answers && !heed_error_pending(); i++, answer = after(answer)) {
        token_list ids = tokenizer_encode(q->tokenizer, where, answer, strlen(answer));
        token_list_free(&ids);
    }
    quiz_question *all = heed_error_pending() ? NULL
                                              : list_grow(q->questions, &q->capacity,
                                                          (size_t)q->count + 1, sizeof *all);
    if (all != NULL) {
        q->questions = all;
        q->questions[q->count++] = one;
    }
}

/* ---- guessers ---- */

static bool same_answer(const quiz_question *a, const quiz_question *b)
{
    return a->kind == b->kind && strcmp(after(a->context), after(b->context)) == 0;
}

/* The last occurrence of a word in a text; NULL: none. */
static const char *last_place(const char *text, const char *word)
{
    const char *last = NULL;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at++) {
        const bool begins = at == text || !isalpha((unsigned char)at[-1]);
        last = begins && !isalpha((unsigned char)at[strlen(word)]) ? at : last;
    }
    return last;
}

/* The probability that the answer named last in the context is right. */
static double recent(const quiz_question *one)
{
    const char *answer = after(one->context), *last = NULL;
    int found = 0;
    for (int i = 0; i < one->answers; i++, answer = after(answer)) {
        const char *at = last_place(one->context, answer);
        found = at != NULL && (last == NULL || at > last) ? i : found;
        last = at != NULL && (last == NULL || at > last) ? at : last;
    }
    return last == NULL ? 1.0 / one->answers : found == 0;
}

/* The number of questions with the i-th's answer, or 0 if an earlier one has it. */
static double same_answers(const quiz *q, int64_t i)
{
    double count = 0;
    for (int64_t j = 0; j < i; j++) {
        if (same_answer(&q->questions[j], &q->questions[i])) {
            return 0;
        }
    }
    for (int64_t j = i; j < q->count; j++) {
        count += same_answer(&q->questions[j], &q->questions[i]);
    }
    return count;
}

static void guess(quiz *q)
{
    for (int64_t i = 0; i < q->count; i++) {
        const quiz_question *one = &q->questions[i];
        quiz_kind *kind = &q->kinds[one->kind];
        const double same = same_answers(q, i);
        kind->questions++;
        kind->chance += 1.0 / one->answers;
        kind->frequent = same > kind->frequent ? same : kind->frequent;
        kind->recent += recent(one);
    }
}

heed_status quiz_open(quiz *q, const char *path, const tokenizer *t)
{
    *q = (quiz){.tokenizer = t};
    if (heed_error_pending()) {
        return heed_error_pending();
    }
    q->text = text_read(path);
    if (heed_error_pending() || !text_check(path, q->text.bytes, q->text.length)) {
        return heed_error_pending();
    }
    text_append(&q->text, "", 1);
    int64_t number = 1;
    int tabs = 0;
    char *line = q->text.bytes;
    for (char *at = line; !heed_error_pending() && at < q->text.bytes + q->text.length; at++) {
        if (*at == '\t') {
            tabs++;
            *at = '\0';
        } else if (*at == '\n' || (*at == '\0' && at > line)) {
            *at = '\0';
            add_question(q, path, number++, line, tabs);
            line = at + 1;
            tabs = 0;
        }
    }
    if (!heed_error_pending()) {
        guess(q);
    }
    return heed_error_pending();
}

void quiz_close(quiz *q)
{
    text_free(&q->text);
    heed_free(q->questions);
    *q = (quiz){.count = 0};
}

/* ---- asking ---- */

/* The tokens of the context followed by each answer; the length of their common prefix and of the
 * longest. */
typedef struct quiz_rows {
    token_list ids[QUIZ_MOST_ANSWERS];
    int64_t common, longest;
} quiz_rows;

static void encode(const quiz *q, const quiz_question *one, quiz_rows *rows)
{
    const char *answer = after(one->context);
    rows->longest = 0;
    rows->common = INT64_MAX;
    for (int i = 0; i < one->answers; i++, answer = after(answer)) {
        text_buffer whole = {.length = 0};
        text_append(&whole, one->context, strlen(one->context));
        text_append(&whole, answer, strlen(answer));
        rows->ids[i] = tokenizer_encode(q->tokenizer, "quiz", whole.bytes, whole.length);
        text_free(&whole);
        const token_list *first = &rows->ids[0], *ids = &rows->ids[i];
        int64_t same = 0;
        while (same < ids->count && same < rows->common && first->ids[same] == ids->ids[same]) {
            same++;
        }
        rows->common = i > 0 ? same : first->count;
        rows->longest = ids->count > rows->longest ? ids->count : rows->longest;
    }
    rows->common = rows->common > 0 ? rows->common : 1; /* nothing predicts the first token */
}

/* Is the first row the most probable? */
static bool first_wins(struct gpt *m, const quiz_rows *rows, int count)
{
    const int64_t context = m->config.block_size, read = rows->longest - 1;
    const int64_t dropped = read > context ? read - context : 0, length = read - dropped;
    const int64_t first = rows->common - 1 - dropped; /* predicts the first token that differs */
    double right = 0;
    bool wins = true;
    if (first < 0 || first >= length) {
        return false; /* answers as long as the model's context, or the same tokens */
    }
    heed_tensor *idx = heed_zeros(HEED_SHAPE(count, length), HEED_I64);
    for (int64_t i = 0; i < count && !heed_error_pending(); i++) {
        const int64_t left = rows->ids[i].count - dropped;
        memcpy(heed_data_i64(idx) + i * length, rows->ids[i].ids + dropped,
               (size_t)(left < length ? left : length) * sizeof(int64_t));
    }
    heed_tensor *logits = heed_narrow(gpt_forward(m, idx), 1, first, length - first);
    heed_tensor *logs = heed_to(heed_log_softmax(logits, -1), HEED_F64);
    for (int i = 0; i < count && !heed_error_pending(); i++) {
        double sum = 0;
        for (int64_t at = rows->common; at < rows->ids[i].count; at++) {
            sum += heed_at(logs, HEED_INDEX(i, at - rows->common, rows->ids[i].ids[at]));
        }
        wins = wins && (i == 0 || right > sum);
        right = i == 0 ? sum : right;
    }
    return wins;
}

heed_status quiz_ask(quiz *q, struct gpt *m)
{
    const bool training = m->module.training;
    heed_eval(m);
    for (int i = 0; i < q->kind_count; i++) {
        q->kinds[i].right = 0;
    }
    for (int64_t i = 0; i < q->count && !heed_error_pending(); i++) {
        const quiz_question *one = &q->questions[i];
        quiz_rows rows;
        HEED_SCOPE_NO_GRAD(scope);
        encode(q, one, &rows);
        q->kinds[one->kind].right += first_wins(m, &rows, one->answers);
        for (int row = 0; row < one->answers; row++) {
            token_list_free(&rows.ids[row]);
        }
    }
    if (training) {
        heed_train(m);
    }
    return heed_error_pending();
}

/* ---- results ---- */

static double percent(const quiz_kind *kind, double right)
{
    return 100 * right / (double)kind->questions;
}

void quiz_print(const quiz *q, FILE *stream)
{
    fprintf(stream, "%-12s %9s %9s %9s %9s %9s\n", "quiz", "questions", "right", "chance",
            "frequent", "recent");
    for (int i = 0; i < q->kind_count; i++) {
        const quiz_kind *kind = &q->kinds[i];
        fprintf(stream, "%-12s %9lld %7.1f %% %7.1f %% %7.1f %% %7.1f %%\n", kind->name,
                (long long)kind->questions, percent(kind, (double)kind->right),
                percent(kind, kind->chance), percent(kind, kind->frequent),
                percent(kind, kind->recent));
    }
}
