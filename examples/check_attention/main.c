/* Shows what heed_attention_check says of wrong attention classes: a menu of attentions.c.
 *
 *     build/check_attention                    a menu
 *     build/check_attention merged_by_view     the report of one class
 *     build/check_attention --list             the names
 *     build/check_attention --verdicts 7       all classes with seed 7: a line each, tab-separated:
 *                                              name, passed or wrong, a letter per check, the
 * mistake
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symptoms.h"

static bool is_right(const attention_entry *entry)
{
    return entry->named != NULL && *entry->named == '\0';
}

/* The report of one class, to `stream` unless it is NULL. A wrong class is no error of this
 * program: what it says is printed already. */
static heed_attention_report examine(const attention_entry *entry, uint64_t seed, FILE *stream)
{
    heed_attention_report report = {0};
    heed_manual_seed(seed);
    struct attention *m = attention_new(entry);
    if (m != NULL) {
        heed_attention_check_args args = attention_args(m);
        args.seed = seed;
        args.stream = stream;
        args.report = &report;
        if ((heed_attention_check)(args) == HEED_ERR_CHECK) {
            heed_error();
        }
    }
    if (heed_error_pending()) {
        fprintf(stderr, "check_attention: %s: %s\n", entry->name, heed_error_message());
        exit(2);
    }
    heed_module_free(m);
    return report;
}

static void print_verdicts(uint64_t seed)
{
    static const char letters[] = {[HEED_VERDICT_SKIPPED] = '-',
                                   [HEED_VERDICT_PASSED] = 'o',
                                   [HEED_VERDICT_FAILED] = 'W',
                                   [HEED_VERDICT_UNKNOWN] = '?'};
    for (int i = 0; i < attention_count; i++) {
        const heed_attention_report report = examine(&attention_catalogue[i], seed, NULL);
        printf("%s\t%s\t", attention_catalogue[i].name, report.passed ? "passed" : "wrong");
        for (int check = 0; check < HEED_ATTENTION_CHECKS; check++) {
            putchar(letters[report.checks[check].verdict]);
        }
        printf("\t%s\n", report.mistake);
    }
}

/* Losses of both tasks (symptoms.h) after 300 steps. */
static void print_symptoms(void)
{
    puts("                                 symbol   next\n"
         "                                 before   symbol   (chance: 2.77)");
    for (int i = 0; i < attention_count; i++) {
        const attention_entry *entry = &attention_catalogue[i];
        if (entry->options.causal && entry->options.step == NULL) {
            printf("  %-30s", entry->name);
            for (int task = PREVIOUS; task <= NEXT; task++) {
                const double loss = symptom_loss(entry, (symptom_task)task, 300, 1);
                printf(heed_error() == HEED_OK ? " %6.2f" : "      -", loss);
            }
            putchar('\n');
            fflush(stdout);
        }
    }
}

static void print_list(void)
{
    for (int i = 0; i < attention_count; i++) {
        const attention_entry *entry = &attention_catalogue[i];
        if (i == 0 || is_right(entry) != is_right(entry - 1)) {
            printf("%s%s\n\n", i == 0 ? "" : "\n", is_right(entry) ? "right" : "wrong");
        }
        printf("  %2d  %-30s%s\n", i + 1, entry->name, entry->what);
    }
}

/* The entry of that name or number; NULL if there is none. */
static const attention_entry *find(const char *text)
{
    char *end;
    const long number = strtol(text, &end, 10);
    if (end != text && *end == '\0') {
        return number >= 1 && number <= attention_count ? &attention_catalogue[number - 1] : NULL;
    }
    for (int i = 0; i < attention_count; i++) {
        if (strcmp(attention_catalogue[i].name, text) == 0) {
            return &attention_catalogue[i];
        }
    }
    return NULL;
}

static void show(const attention_entry *entry)
{
    printf("%s: %s\n\n", entry->name, entry->what);
    examine(entry, 1, stdout);
}

static void menu(void)
{
    char line[100];
    print_list();
    for (;;) {
        printf("\nname or number (q: quit): ");
        fflush(stdout);
        if (fgets(line, sizeof line, stdin) == NULL || strcmp(line, "q\n") == 0) {
            putchar('\n');
            return;
        }
        line[strcspn(line, "\n")] = '\0';
        const attention_entry *entry = find(line);
        if (entry == NULL) {
            printf("no class is called \"%.40s\"\n", line);
        } else {
            putchar('\n');
            show(entry);
        }
    }
}

int main(int argc, char **argv)
{
    const attention_entry *entry = argc == 2 ? find(argv[1]) : NULL;
    if (argc == 1) {
        menu();
    } else if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        print_list();
    } else if (argc == 2 && strcmp(argv[1], "--train") == 0) {
        print_symptoms();
    } else if (argc == 3 && strcmp(argv[1], "--verdicts") == 0 && atoi(argv[2]) > 0) {
        print_verdicts((uint64_t)atoi(argv[2]));
    } else if (entry != NULL) {
        show(entry);
    } else {
        fputs("usage: check_attention [NAME | NUMBER | --list | --train | --verdicts SEED]\n"
              "check_attention --list prints the names; without arguments it asks\n",
              stderr);
        return 2;
    }
    return fflush(stdout) != 0 || ferror(stdout);
}
