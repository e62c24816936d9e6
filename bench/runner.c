/* Processes that answer requests through pipes and are suspended in between. */
#include "bench/runner.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif

enum { PATIENCE = 600 * 1000 }; /* milliseconds */

static struct runner *all;
static int all_count;
static struct runner alone; /* the process of ask_alone */

static _Noreturn void die(const char *what)
{
    perror(what);
    exit(EXIT_FAILURE);
}

/* Unused pipe ends are closed in every process, so that readers see the end of a stream. */
static void start(struct runner *r, const char *argument)
{
    int to[2], from[2];
    char command[4096];
    snprintf(command, sizeof command, "exec %s %s", r->command, argument);
    if (pipe(to) != 0 || pipe(from) != 0) {
        die("pipe");
    }
    fflush(NULL);
    r->pid = fork();
    if (r->pid < 0) {
        die("fork");
    }
    if (r->pid == 0) {
#ifdef __linux__
        prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
        dup2(to[0], STDIN_FILENO);
        dup2(from[1], STDOUT_FILENO);
        close(to[0]);
        close(to[1]);
        close(from[0]);
        close(from[1]);
        for (int i = 0; i < all_count; i++) {
            if (all[i].pid > 0 && &all[i] != r) {
                close(all[i].in);
                close(all[i].out);
            }
        }
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
    r->in = to[1];
    r->out = from[0];
}

/* Waits for a process to end; returns its status. */
static int bury(struct runner *r)
{
    int status = 0;
    if (r->in >= 0) {
        close(r->in);
    }
    close(r->out);
    while (waitpid(r->pid, &status, 0) < 0 && errno == EINTR) {
    }
    r->pid = 0;
    return status;
}

/* Closes the input of a runner that gets no requests, so that it does not wait for any. */
static void end_input(struct runner *r)
{
    close(r->in);
    r->in = -1;
}

void stop(struct runner *r)
{
    if (r->pid > 0) {
        kill(r->pid, SIGKILL);
        bury(r);
    }
}

static void on_signal(int number)
{
    for (int i = 0; i <= all_count; i++) {
        const pid_t pid = i < all_count ? all[i].pid : alone.pid;
        if (pid > 0) {
            kill(pid, SIGKILL);
            waitpid(pid, NULL, 0);
        }
    }
    signal(number, SIG_DFL);
    raise(number);
}

void stop_all_on_signals(struct runner *runners, int count)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    all = runners;
    all_count = count;
    for (int i = 0; i < 3; i++) {
        sigaction(numbers[i], &(struct sigaction){.sa_handler = on_signal}, NULL);
    }
    signal(SIGPIPE, SIG_IGN); /* a dead runner is detected by its missing answer */
}

enum { LINE, END, SILENCE };

/* Reads one line, without the newline. A runner prints one line per request. */
static int read_line(int from, char *line, int size)
{
    int length = 0;
    for (;;) {
        struct pollfd ready = {.fd = from, .events = POLLIN};
        const int count = poll(&ready, 1, PATIENCE);
        char c;
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0 || read(from, &c, 1) != 1) {
            return count == 0 ? SILENCE : END;
        }
        if (c == '\n') {
            line[length] = '\0';
            return LINE;
        }
        if (length < size - 1) {
            line[length++] = c;
        }
    }
}

static struct answer failure(const char *what, const char *more)
{
    struct answer a = {.kind = FAILED};
    snprintf(a.text, sizeof a.text, "%s%s", what, more);
    return a;
}

/* Ends a runner that did not answer; returns the failure. */
static struct answer bury_silent(struct runner *r, int how)
{
    if (how == SILENCE) {
        stop(r);
        return failure("no answer for ten minutes", "");
    }
    char number[16];
    const int status = bury(r);
    snprintf(number, sizeof number, "%d",
             WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    return failure(WIFSIGNALED(status) ? "killed by signal " : "exited with status ", number);
}

/* Parses "0.0012 remark", "none" or "wrong reason". */
static struct answer understand(const char *line)
{
    struct answer a = {.kind = FIGURE};
    char *end;
    if (strcmp(line, "none") == 0) {
        return (struct answer){.kind = NONE};
    }
    if (strncmp(line, "wrong ", 6) == 0) {
        return failure("wrong: ", line + 6);
    }
    a.figure = strtod(line, &end);
    if (end == line || (*end != '\0' && *end != ' ') || !(a.figure >= 0 && a.figure < HUGE_VAL)) {
        return failure("invalid answer: ", line);
    }
    snprintf(a.text, sizeof a.text, "%s", *end == ' ' ? end + 1 : "");
    return a;
}

struct answer ask(struct runner *r, const char *workload)
{
    char line[LONGEST_ANSWER];
    if (r->deaths == MOST_DEATHS) {
        return failure("failed too often; skipped", "");
    }
    if (r->pid == 0) {
        start(r, "");
    }
    kill(r->pid, SIGCONT);
    dprintf(r->in, "%s\n", workload);
    const int how = read_line(r->out, line, sizeof line);
    if (how != LINE) {
        r->deaths++;
        return bury_silent(r, how);
    }
    kill(r->pid, SIGSTOP);
    const struct answer a = understand(line);
    if (a.kind == FAILED && strncmp(line, "wrong ", 6) != 0) { /* its state is unknown */
        r->deaths++;
        stop(r);
    }
    return a;
}

struct answer ask_alone(const struct runner *r, const char *workload, enum workload_kind kind)
{
    char line[LONGEST_ANSWER];
    alone = (struct runner){.name = r->name, .command = r->command};
    const double begin = seconds_now();
    start(&alone, workload);
    end_input(&alone);
    const int how = read_line(alone.out, line, sizeof line);
    const double passed = seconds_now() - begin;
    if (how != LINE) {
        return bury_silent(&alone, how);
    }
    stop(&alone);
    struct answer a = understand(line);
    a.figure = kind == START ? passed : a.figure;
    return a;
}

bool read_lines(const char *command, void (*take)(const char *line))
{
    char line[LONGEST_ANSWER];
    alone = (struct runner){.name = command, .command = command};
    start(&alone, "");
    end_input(&alone);
    while (read_line(alone.out, line, sizeof line) == LINE) {
        take(line);
    }
    return bury(&alone) == 0;
}
