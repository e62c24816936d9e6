/* The graders' main program: runs the grader in a process of its own, and says how that ended. */
#define GRADER
#include "grade.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

/* SECONDS of processor time for each case; WAITING is on the clock, for code that does not compute
 */
enum { SECONDS = 3, WAITING = 60, MOST_OUTPUT = 1000000, SHOWN = 10 };
enum { GUARD = 64, MOST_ARRAYS = 32, TEXT = 400 };
/* How the learner's process ends; its own exit(1) is none of these. */
enum { DONE, WRONG = 81, NOT_BEGUN, CLOSED, ASAN_EXIT = 86 };

/* ---- the learner's process: cases ---- */

static char current[TEXT]; /* the text of the case */
static int cases;
static int messages; /* a pipe to the parent: "c" and the text of a case, "d" and their number */

static void tell(char kind, const char *text)
{
    char line[TEXT + 2];
    const int length = snprintf(line, sizeof line, "%c%s\n", kind, text);
    if (write(messages, line, (size_t)length) != length) {
        _exit(CLOSED);
    }
}

static struct {
    double *memory;
    int n;
} arrays[MOST_ARRAYS];
static int used;

static void free_arrays(void)
{
    while (used > 0) {
        free(arrays[--used].memory);
    }
}

/* From now on: SECONDS of processor time, of all threads together. */
static void limit_time(void)
{
    const struct itimerval limit = {.it_value = {.tv_sec = SECONDS}};
    setitimer(ITIMER_PROF, &limit, NULL);
}

void grade_case(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(current, sizeof current, format, args);
    va_end(args);
    cases++;
    tell('c', current);
    free_arrays();
    grade_forget();
    limit_time();
}

static _Noreturn void end(int status)
{
    const bool lost = fflush(stdout) != 0 || fcntl(STDOUT_FILENO, F_GETFD) < 0;
    _exit(lost ? CLOSED : status);
}

_Noreturn void grade_fail(const char *sentence, ...)
{
    va_list args;
    va_start(args, sentence);
    printf("\n  Case %d: %s.\n  ", cases, current);
    vprintf(grade_sentence(sentence), args);
    printf("\n");
    va_end(args);
    end(WRONG);
}

_Noreturn void grade_not_begun(const char *seen)
{
    printf("\n  %s Nothing is written yet: put your code where the file says so.\n", seen);
    end(NOT_BEGUN);
}

_Noreturn heed_tensor *grade_forbidden(const char *function)
{
    grade_fail("Your code calls %s, which is what this task builds. Do it without.", function);
}

/* ---- numbers ---- */

/* What array number `a` and its guard zones hold: a NaN with a payload of its own, so that a NaN
 * copied from another array is seen. */
static double filler(int a)
{
    const uint64_t bits = UINT64_C(0x7ff8000000000000) + (uint64_t)a + 1;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

double *grade_array(int n)
{
    double *memory = malloc((size_t)(n + 2 * GUARD) * sizeof *memory);
    if (memory == NULL || used == MOST_ARRAYS) {
        grade_fail("The grader has no memory for %d numbers.", n);
    }
    for (int i = 0; i < n + 2 * GUARD; i++) {
        memory[i] = filler(used);
    }
    arrays[used].memory = memory;
    arrays[used++].n = n;
    return memory + GUARD;
}

void grade_guards(void)
{
    for (int a = 0; a < used; a++) {
        const double fill = filler(a);
        for (int i = 0; i < arrays[a].n + 2 * GUARD; i++) {
            const bool inside = i >= GUARD && i < GUARD + arrays[a].n;
            if (!inside && memcmp(arrays[a].memory + i, &fill, sizeof fill) != 0) {
                grade_fail("Your code writes outside an array: element %d of %d.", i - GUARD,
                           arrays[a].n);
            }
        }
    }
}

bool grade_near(double yours, double expected)
{
    return yours == expected || (isnan(yours) && isnan(expected)) ||
           (isfinite(expected) && fabs(yours - expected) <= 1e-6 * fmax(1, fabs(expected)));
}

/* ---- tensors ---- */

bool grade_has_shape(const heed_tensor *x, heed_shape shape)
{
    bool same = x->ndim == shape.ndim;
    for (int i = 0; same && i < shape.ndim; i++) {
        same = heed_size(x, i) == shape.size[i];
    }
    return same;
}

void grade_no_error(void)
{
    if (heed_error_pending() != HEED_OK) {
        grade_fail("Heed reports an error in your code: %s", heed_error_message());
    }
}

void grade_answered(const char *what, const heed_tensor *yours)
{
    grade_no_error();
    if (yours == NULL && cases > 1) {
        grade_fail("%s: your code returns NULL. Is this gap still empty?", what);
    }
    if (yours == NULL) {
        char seen[TEXT];
        snprintf(seen, sizeof seen, "%s is NULL.", what);
        grade_not_begun(seen);
    }
    if (yours->references <= 0) { /* a freed handle keeps its fields until it is used again */
        grade_fail(
            "%s belongs to a scope that your code opens, and is freed with it when your code "
            "returns. The grader has a scope open: open none, or move the result out of your "
            "scope with heed_scope_keep.",
            what);
    }
}

void grade_returned(const char *what, const heed_tensor *yours, heed_shape shape)
{
    grade_answered(what, yours);
    if (!grade_has_shape(yours, shape)) {
        grade_fail("%s should have the shape %s; yours has %s.", what,
                   heed_shape_text(shape.ndim, shape.size).text,
                   heed_shape_text(yours->ndim, yours->shape).text);
    }
}

heed_tensor *grade_try(heed_tensor *t)
{
    if (t == NULL) {
        heed_error();
    }
    return t;
}

void grade_unchanged(const char *what, heed_tensor *x, heed_tensor *before)
{
    if (heed_error_pending() == HEED_OK && !heed_equal(x, before)) {
        grade_fail("Your code changes %s, which belongs to the caller.", what);
    }
}

const double *grade_numbers(heed_tensor *x)
{
    return heed_const_data_f64(heed_contiguous(heed_to(heed_detach(x), HEED_F64)));
}

bool grade_equal(heed_tensor *a, heed_tensor *b)
{
    HEED_SCOPE_NO_GRAD(scope);
    if (!grade_has_shape(a, heed_shape_of_tensor(b))) {
        return false;
    }
    const double *x = grade_numbers(a), *y = grade_numbers(b);
    for (int64_t i = 0; i < a->numel; i++) {
        if (!grade_near(x[i], y[i])) {
            return false;
        }
    }
    return true;
}

void grade_show_tensor(const char *title, heed_tensor *x, heed_tensor *expected)
{
    HEED_SCOPE_NO_GRAD(scope);
    enum { MOST_SHOWN = 4 };
    const int columns = x->ndim > 0 ? (int)heed_size(x, -1) : 1;
    const int rows = x->ndim > 1 ? (int)heed_size(x, -2) : 1;
    const int matrix = rows * columns, matrices = matrix > 0 ? (int)(x->numel / matrix) : 0;
    const double *here = grade_numbers(x);
    const double *there = expected != NULL ? grade_numbers(expected) : here;
    int first = 0; /* number that is wrong */
    while (first < x->numel && grade_near(here[first], there[first])) {
        first++;
    }
    const int m = first < x->numel ? first / matrix : 0;
    printf("\n  %s", title);
    if (matrices > 1) {
        printf(", sequence or head %d", m);
    }
    printf("%s\n", rows > MOST_SHOWN || columns > MOST_SHOWN ? ", its first rows and columns" : "");
    for (int r = 0; matrices > 0 && r < rows && r < MOST_SHOWN; r++) {
        printf("   ");
        for (int c = 0; c < columns && c < MOST_SHOWN; c++) {
            const int i = m * matrix + r * columns + c;
            const bool bad = !grade_near(here[i], there[i]);
            const double shown = isnan(here[i]) ? fabs(here[i]) : here[i]; /* not "-nan" */
            printf(" %c%8.4g%c", bad ? '[' : ' ', shown, bad ? ']' : ' ');
        }
        printf("\n");
    }
}

heed_tensor *grade_first_wrong(heed_tensor *x, heed_tensor *yours, heed_tensor *expected)
{
    const bool fits = grade_has_shape(yours, heed_shape_of_tensor(expected));
    while (x->ndim > 2) {
        int64_t i = 0;
        while (fits && i + 1 < heed_size(x, 0) &&
               grade_equal(heed_select(yours, 0, i), heed_select(expected, 0, i))) {
            i++;
        }
        x = heed_select(x, 0, i);
        if (fits) {
            yours = heed_select(yours, 0, i);
            expected = heed_select(expected, 0, i);
        }
    }
    return x;
}

bool grade_matches(const char *what, heed_tensor *yours, heed_tensor *expected)
{
    grade_answered(what, yours);
    if (yours->dtype != expected->dtype) {
        grade_fail("%s should have the dtype %s; yours has %s.", what,
                   heed_dtype_name(expected->dtype), heed_dtype_name(yours->dtype));
    }
    return grade_equal(yours, expected);
}

void grade_compare(const char *what, heed_tensor *yours, heed_tensor *expected,
                   const struct mistake *mistakes, const char *otherwise)
{
    if (grade_matches(what, yours, expected)) {
        return;
    }
    const bool fits = grade_has_shape(yours, heed_shape_of_tensor(expected));
    while (mistakes != NULL && mistakes->why != NULL &&
           !(mistakes->result != NULL && grade_equal(yours, mistakes->result))) {
        mistakes++;
    }
    const char *why = mistakes != NULL ? mistakes->why : NULL;
    if (!fits && why == NULL) {
        grade_returned(what, yours, heed_shape_of_tensor(expected));
    }
    char title[TEXT];
    snprintf(title, sizeof title, "%s, as your code computes it%s", what,
             fits ? " (wrong numbers in brackets)" : "");
    grade_show_tensor(title, yours, fits ? expected : NULL);
    snprintf(title, sizeof title, "%s, as it should be", what);
    grade_show_tensor(title, expected, fits ? yours : NULL);
    if (!fits) {
        grade_fail("%s should have the shape %s; yours has %s. %s", what,
                   heed_shape_text(expected->ndim, expected->shape).text,
                   heed_shape_text(yours->ndim, yours->shape).text, why);
    }
    grade_fail("%s", why != NULL ? why : otherwise);
}

/* ---- the parent ---- */

/* Where the task is compiled with AddressSanitizer, it ends with a status that the parent knows. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0:exitcode=86:hard_rss_limit_mb=2000:allocator_may_return_null=1";
}

/* Nothing is lost of a program that crashes, and files of a program that prints without end stay
 * small. */
static _Noreturn void child(FILE *output, FILE *errors)
{
    const struct rlimit most = {MOST_OUTPUT, MOST_OUTPUT};
    setrlimit(RLIMIT_FSIZE, &most);
    dup2(fileno(output), STDOUT_FILENO);
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    dup2(fileno(errors), STDERR_FILENO);
    alarm(WAITING);
    limit_time();
    task.grade();
    grade_guards();
    grade_no_error();
    char number[16];
    snprintf(number, sizeof number, "%d", cases);
    tell('d', number);
    end(DONE);
}

/* Copies what was printed to a file, or its first lines. */
static void copy(FILE *from, FILE *to, int lines)
{
    char line[1000];
    fflush(stdout);
    rewind(from);
    while (lines != 0 && fgets(line, sizeof line, from) != NULL) {
        /* Heed's word on an error that the grader reports itself */
        if (strncmp(line, "heed: this program continues", 28) != 0) {
            fputs(line, to);
        }
        lines -= strchr(line, '\n') != NULL;
    }
    fflush(to);
}

/* Explains AddressSanitizer's report, and shows its first line of the learner's file. */
static void explain_report(FILE *errors)
{
    static const struct {
        const char *word, *sentence;
    } reports[] = {
        {"Sanitizer: FPE", "divides a whole number by 0"},
        {"stack-overflow", "calls itself without end, or has a local array that is too large"},
        {"points to the zero page",
         "crashes: it uses memory that is not there. A pointer is NULL, or an index far off"},
        {"rss limit", "takes more than 2 GB of memory. Does a loop never end?"},
        {"double-free", "frees the same memory twice"},
        {"use-after-free", "uses memory that it has freed"},
        {"use-after-scope", "uses a variable after the { } that it belongs to"},
        {"buffer-overflow", "reads or writes outside an array"},
        {"buffer-underflow", "reads or writes before the beginning of an array"},
    };
    enum { REPORTS = sizeof reports / sizeof *reports };
    char line[1000], file[32], place[1000] = "";
    int found = REPORTS;
    snprintf(file, sizeof file, "/task%d_", task.number);
    rewind(errors);
    while (fgets(line, sizeof line, errors) != NULL) {
        for (int i = 0; i < found; i++) {
            found = strstr(line, reports[i].word) != NULL ? i : found;
        }
        if (place[0] == '\0' && strstr(line, file) != NULL) {
            snprintf(place, sizeof place, "%s", strstr(line, file) + 1);
        }
    }
    const char *why = found < REPORTS ? reports[found].sentence : "uses memory that is not its own";
    printf("  Your code %s%s\n", why, strchr(".?", why[strlen(why) - 1]) != NULL ? "" : ".");
    if (place[0] != '\0') {
        printf("  It happens in %s", place);
    }
}

static void explain_signal(int number)
{
    if (number == SIGPROF) {
        printf("  Your code still runs after %d seconds. Does a loop never end?\n", SECONDS);
    } else if (number == SIGALRM) {
        printf("  Your code still runs after %d seconds, and waits for something.\n", WAITING);
    } else if (number == SIGXFSZ) {
        printf("  Your code prints more than %d MB. Does a loop never end?\n",
               MOST_OUTPUT / 1000000);
    } else if (number == SIGFPE) {
        printf("  Your code divides a whole number by 0.\n");
    } else if (number == SIGSEGV || number == SIGBUS) {
        printf("  Your code crashes: it uses memory that is not there (%s). Is a pointer NULL, an "
               "index too large, or a recursion endless?\n",
               strsignal(number));
    } else {
        printf("  Your code is ended by a signal: %s.\n", strsignal(number));
    }
}

/* Runs the grader in another process; DONE, WRONG or NOT_BEGUN. */
static int run(void)
{
    int ends[2];
    FILE *output = tmpfile(), *errors = tmpfile();
    if (output == NULL || errors == NULL || pipe(ends) != 0) {
        perror("grade");
        exit(WRONG);
    }
    fflush(NULL);
    const pid_t pid = fork();
    if (pid < 0) {
        perror("grade: fork");
        exit(WRONG);
    }
    if (pid == 0) {
        close(ends[0]);
        messages = ends[1];
        child(output, errors);
    }
    int status; /* before the messages: a process that the learner's code leaves keeps them open */
    waitpid(pid, &status, WUNTRACED);
    if (WIFSTOPPED(status)) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
    }
    close(ends[1]);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    FILE *told = fdopen(ends[0], "r");
    char line[TEXT + 2], last[TEXT + 2] = "", done[TEXT + 2] = "";
    while (told != NULL && fgets(line, sizeof line, told) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        strcpy(line[0] == 'd' ? done : last, line + 1);
        cases += line[0] == 'c';
    }
    const bool asan = WIFEXITED(status) && WEXITSTATUS(status) == ASAN_EXIT;
    const bool flood = WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ;
    copy(output, stdout, flood ? SHOWN : -1);
    if (!asan) {
        copy(errors, stderr, flood ? SHOWN : -1);
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == DONE && done[0] != '\0') {
        printf("\n  Done: %s cases are right.\n", done);
        return DONE;
    }
    if (WIFEXITED(status) && (WEXITSTATUS(status) == WRONG || WEXITSTATUS(status) == NOT_BEGUN)) {
        return WEXITSTATUS(status); /* it has said why */
    }
    printf("\n  Case %d: %s.\n", cases, last);
    if (asan) {
        explain_report(errors);
    } else if (!WIFEXITED(status)) {
        explain_signal(WIFSTOPPED(status) ? WSTOPSIG(status) : WTERMSIG(status));
    } else if (WEXITSTATUS(status) == CLOSED) {
        printf("  Your code closes a file that is not its own: the grader writes to it.\n");
    } else {
        printf("  Your code ends the program before the cases are through. Return instead.\n");
    }
    return WRONG;
}

/* grade [--state]: --state prints one line for the table. HINT=1, HINT=2: hints. */
int main(int argc, char **argv)
{
    grade_read_text();
    const bool state = argc > 1 && strcmp(argv[1], "--state") == 0;
    const char *hint = getenv("HINT");
    if (state) {
        FILE *table = fdopen(dup(STDOUT_FILENO), "w"), *quiet = freopen("/dev/null", "w", stdout);
        const int result = table != NULL && quiet != NULL ? run() : WRONG;
        fprintf(table != NULL ? table : stderr, "%2d  %-52s %s\n", task.number,
                grade_sentence("title"),
                result == DONE        ? "done"
                : result == NOT_BEGUN ? "not begun"
                                      : "not yet right");
        return table == NULL || fclose(table) != 0;
    }
    printf("Task %d: %s\n", task.number, grade_sentence("title"));
    const int result = run();
    if (result == DONE) {
        printf("\nAsk yourself:\n  - %s\n  - %s\n", grade_sentence("question 1"),
               grade_sentence("question 2"));
    } else if (hint == NULL || *hint == '\0' || *hint == '0') {
        printf("\nA hint: make task%d HINT=1\n", task.number);
    }
    for (int i = 0; hint != NULL && i < atoi(hint) && i < 2; i++) {
        printf("\nHint %d: %s\n", i + 1, grade_sentence(i == 0 ? "hint 1" : "hint 2"));
    }
    return result != DONE || fflush(stdout) != 0;
}
