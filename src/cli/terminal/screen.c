#include "cli/terminal/screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "cli/terminal/table_internal.h"
#include "cli/terminal/terminal.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"

/* ---- the terminal's settings ------------------------------------------------------------------------------------- */

/* Signal handlers need these. */
static struct {
    bool keys;             /* standard input is a terminal, whose settings were changed */
    struct termios before; /* the terminal's settings before */
    volatile sig_atomic_t resized;
} state;

static void write_all(const char *data, size_t n)
{
    while (n > 0) {
        ssize_t written = write(STDOUT_FILENO, data, n);
        if (written < 0 && errno != EINTR)
            return;
        data += written > 0 ? written : 0;
        n -= written > 0 ? (size_t)written : 0;
    }
}

/* Only calls functions that a signal handler may call. */
static void restore_terminal(void)
{
    /* no colour, long lines are broken again, the cursor, the terminal's own screen */
    static const char leave[] = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l";
    write_all(leave, sizeof(leave) - 1);
    if (state.keys)
        tcsetattr(STDIN_FILENO, TCSANOW, &state.before);
}

static void on_interrupt(int signo)
{
    (void)signo;
    restore_terminal();
    interrupt_end();
}

/* Ends as the signal ends a program that does not catch it. */
static void on_end(int signo)
{
    restore_terminal();
    signal(signo, SIG_DFL);
    raise(signo);
}

static void on_resize(int signo)
{
    (void)signo;
    state.resized = 1;
}

static const int ending_signal[] = {SIGTERM, SIGHUP, SIGQUIT};
enum { ENDING_SIGNALS = sizeof(ending_signal) / sizeof(ending_signal[0]) };

/* SIGWINCH is only let through while screen_run() waits, so that it interrupts no call to the master. */
static void hold_resize(int how)
{
    sigset_t resize;
    sigemptyset(&resize);
    sigaddset(&resize, SIGWINCH);
    sigprocmask(how, &resize, NULL);
}

static void open_screen(void)
{
    /* another screen, no cursor, long lines are cut, nothing on the screen */
    static const char enter[] = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J";
    state.keys = tcgetattr(STDIN_FILENO, &state.before) == 0;
    state.resized = 0;
    signal(SIGINT, on_interrupt);
    for (size_t i = 0; i < ENDING_SIGNALS; i++)
        signal(ending_signal[i], on_end);
    hold_resize(SIG_BLOCK);
    signal(SIGWINCH, on_resize);
    if (state.keys) {
        struct termios raw = state.before;
        raw.c_lflag &= ~(tcflag_t)(ECHO | ICANON);
        raw.c_cc[VMIN] = 1;
        raw.c_cc[VTIME] = 0;
        raw.c_cc[VSUSP] = _POSIX_VDISABLE; /* Ctrl-Z would leave the shell on this screen */
        tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    }
    write_all(enter, sizeof(enter) - 1);
}

static void close_screen(void)
{
    restore_terminal();
    for (size_t i = 0; i < ENDING_SIGNALS; i++)
        signal(ending_signal[i], SIG_DFL);
    signal(SIGWINCH, SIG_DFL);
    hold_resize(SIG_UNBLOCK);
    interrupt_install();
}

/* ---- pictures ---------------------------------------------------------------------------------------------------- */

/* The number of bytes of the code of a colour that begins here, such as ESC [ 3 6 m; 0: none begins here. */
static size_t color_bytes(const char *s, size_t n)
{
    if (n < 2 || s[0] != '\x1b' || s[1] != '[')
        return 0;
    size_t i = 2 + strspn(s + 2, "0123456789;");
    return i < n && s[i] == 'm' ? i + 1 : 0;
}

/* Texts of users may hold control characters, which would spoil the picture. */
static void add_character(struct strbuf *to, const char *s, size_t n)
{
    if ((unsigned char)*s >= ' ' && *s != 0x7f)
        strbuf_add(to, s, n);
    else
        strbuf_addc(to, *s == '\t' ? ' ' : '?');
}

static void compose_line(const char *line, size_t n, size_t width, struct strbuf *to)
{
    bool colored = false;
    size_t used = 0;
    for (size_t i = 0, m; i < n; i += m) {
        m = color_bytes(line + i, n - i);
        if (m) {
            colored = true;
            strbuf_add(to, line + i, m);
            continue;
        }
        m = text_character(line + i, n - i);
        unsigned char first = (unsigned char)line[i];
        size_t columns = first < ' ' || first == 0x7f ? 1 : text_width(line + i, m);
        if (used + columns > width)
            break;
        used += columns;
        add_character(to, line + i, m);
    }
    if (colored)
        strbuf_adds(to, "\x1b[0m");
    strbuf_adds(to, "\x1b[K"); /* removes what the picture before had to the right */
}

void screen_compose(const char *text, size_t width, size_t height, struct strbuf *to)
{
    strbuf_adds(to, "\x1b[H");
    for (size_t row = 0; row < height && *text; row++) {
        size_t n = strcspn(text, "\n");
        strbuf_adds(to, row ? "\r\n" : "");
        compose_line(text, n, width, to);
        text += n + (text[n] == '\n');
    }
    strbuf_adds(to, "\x1b[J"); /* removes what the picture before had below */
}

/* Draws into memory: results and messages. */
static int draw_text(struct cli *cli, screen_draw_fn *draw, void *ctx, bool *ret_over, char **ret, struct error *err)
{
    FILE *out = cli->out, *messages = cli->err;
    char *text = NULL;
    size_t n = 0;
    FILE *memory = open_memstream(&text, &n);
    if (!memory)
        return error_errno(err, "drawing the screen");
    cli->out = cli->err = memory;
    int rc = draw(cli, ctx, ret_over, err);
    cli->out = out;
    cli->err = messages;
    fclose(memory);
    if (rc < 0) {
        free(text);
        return -1;
    }
    *ret = text;
    return 0;
}

static void show(const struct cli *cli, const char *problem, const char *text)
{
    struct strbuf all = STRBUF_INIT, composed = STRBUF_INIT;
    if (problem) /* instead of the first line */
        strbuf_addf(&all, "The master does not answer; trying again: %s\n", problem);
    strbuf_adds(&all, problem && strchr(text, '\n') ? strchr(text, '\n') + 1 : text);
    screen_compose(strbuf_str(&all), cli->out_width, cli->out_height, &composed);
    write_all(strbuf_str(&composed), composed.n);
    strbuf_release(&all);
    strbuf_release(&composed);
}

/* Draws anew. What the picture needs is released at once: the screen may stay for days. */
static int redraw(struct cli *cli, screen_draw_fn *draw, void *ctx, bool *ret_over, char **text, struct error *err)
{
    struct arena kept = cli->arena;
    cleanup_error struct error why = ERROR_INIT;
    char *drawn = NULL;
    cli->arena = (struct arena)ARENA_INIT;
    int rc = draw_text(cli, draw, ctx, ret_over, &drawn, &why);
    arena_release(&cli->arena);
    cli->arena = kept;
    if (rc == 0) {
        free(*text);
        *text = drawn;
    } else if (error_pass_unless(&why, ERR_UNAVAILABLE, err)) {
        return -1;
    }
    show(cli, rc < 0 ? error_msg(&why) : NULL, *text);
    return 0;
}

/* ---- waiting ----------------------------------------------------------------------------------------------------- */

/* Returns false if q was pressed, or if there is nobody any more who could press it. */
static bool wait_for_key(struct cli *cli, int pause_ms)
{
    int64_t end_us = clock_monotonic_us() + (int64_t)pause_ms * 1000;
    sigset_t while_waiting;
    sigprocmask(SIG_BLOCK, NULL, &while_waiting);
    sigdelset(&while_waiting, SIGWINCH);
    for (;;) {
        struct pollfd key = {.fd = state.keys ? STDIN_FILENO : -1, .events = POLLIN};
        int64_t left_us = end_us - clock_monotonic_us();
        char pressed;
        if (left_us <= 0)
            return true;
        struct timespec left = {.tv_sec = left_us / 1000000, .tv_nsec = left_us % 1000000 * 1000};
        int n = ppoll(&key, 1, &left, &while_waiting);
        if (state.resized) {
            state.resized = 0;
            terminal_measure(cli);
            return true;
        }
        if (n > 0 && (read(STDIN_FILENO, &pressed, 1) != 1 || pressed == 'q' || pressed == 'Q'))
            return false;
    }
}

int screen_run(struct cli *cli, screen_draw_fn *draw, void *ctx, int pause_ms, bool *ret_left, struct error *err)
{
    const char *kind = getenv("TERM");
    bool over = false, left = false, silent = cli->silent;
    char *text = NULL;
    *ret_left = false;
    if (!cli->out_terminal || !kind || strcmp(kind, "dumb") == 0)
        return draw(cli, ctx, &over, err);
    /* The first picture is drawn before the screen is there: det may have to ask for a password, or have an error. */
    if (draw_text(cli, draw, ctx, &over, &text, err) < 0)
        return -1;
    cli->silent = true;
    open_screen();
    show(cli, NULL, text);
    int rc = 0;
    while (rc == 0 && !over && !left) {
        left = !wait_for_key(cli, pause_ms);
        if (!left)
            rc = redraw(cli, draw, ctx, &over, &text, err);
    }
    close_screen();
    cli->silent = silent;
    if (rc == 0 && !left)
        fputs(text, cli->out); /* the last picture stays to be read */
    free(text);
    *ret_left = left;
    return rc;
}
