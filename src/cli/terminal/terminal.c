#include "cli/terminal/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "cli/terminal/table_internal.h"
#include "common/base/cleanup.h"
#include "common/base/strbuf.h"

void terminal_measure(struct cli *cli)
{
    enum { WIDTH = 80, HEIGHT = 24, WIDTH_MIN = 40 };
    struct winsize size = {0};
    const char *columns = getenv(
        "COLUMNS"); /* as in other programs, COLUMNS has precedence over the terminal's own size */
    cli->in_terminal = isatty(STDIN_FILENO);
    cli->out_terminal = isatty(STDOUT_FILENO);
    cli->err_terminal = isatty(STDERR_FILENO);
    if (!cli->out_terminal)
        return;
    ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    long wish = columns ? strtol(columns, NULL, 10) : 0;
    cli->out_width = wish > 0 && wish < 10000 ? (size_t)wish : size.ws_col ? size.ws_col : WIDTH;
    cli->out_width = cli->out_width < WIDTH_MIN ? WIDTH_MIN : cli->out_width;
    cli->out_height = size.ws_row ? size.ws_row : HEIGHT;
}

bool terminal_is_utf8(void)
{
    static const char *const name[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof(name) / sizeof(name[0]); i++) {
        const char *v = getenv(name[i]);
        if (v && *v)
            return strcasestr(v, "utf-8") || strcasestr(v, "utf8");
    }
    return false;
}

/* The number of bytes of the line that fit into `room` columns; the line is cut at a blank if it has one. */
static size_t fitting_bytes(const char *line, size_t n, size_t room)
{
    size_t keep = n;
    if (text_width(line, n) <= room)
        return n;
    while (keep > 0 && (line[keep] != ' ' || text_width(line, keep) > room))
        keep--;
    if (keep == 0)
        keep = text_fitting(line, n, room);
    return keep > 0 ? keep : 1;
}

void terminal_wrap(FILE *to, const char *text, size_t column, size_t width)
{
    size_t room = width == 0 ? SIZE_MAX : width > column + 20 ? width - column : 20;
    if (!text)
        text = "";
    for (;;) {
        size_t n = strcspn(text, "\n"), keep = fitting_bytes(text, n, room);
        fprintf(to, "%.*s\n", (int)keep, text);
        text += keep;
        if (*text == '\n')
            text++;
        else
            text += strspn(text, " ");
        if (!*text)
            return;
        fprintf(to, "%*s", (int)column, "");
    }
}

/* Ctrl-C ends a command at once, with a message and the exit code that scripts know. */
static const char *volatile hint;

void interrupt_hint(const char *text)
{
    hint = text;
}

static void write_text(const char *text)
{
    ssize_t ignored = write(STDERR_FILENO, text, strlen(text));
    (void)ignored;
}

/* What a signal must undo. */
static volatile sig_atomic_t bar_is_drawn;
static struct {
    volatile sig_atomic_t on; /* a question has changed the terminal's settings */
    int fd;
    struct termios before;
} hidden_input;

/* Only calls functions that a signal handler may call. */
static void restore_terminal(void)
{
    if (hidden_input.on)
        tcsetattr(hidden_input.fd, TCSANOW, &hidden_input.before);
    if (bar_is_drawn)
        write_text("\r\x1b[K");
}

void interrupt_end(void)
{
    restore_terminal();
    write_text("\nInterrupted.\n");
    if (hint)
        write_text(hint);
    _exit(CLI_EXIT_INTERRUPTED);
}

static void on_interrupt(int signo)
{
    (void)signo;
    interrupt_end();
}

/* Ends as the signal ends a program that does not catch it. */
static void on_end(int signo)
{
    restore_terminal();
    signal(signo, SIG_DFL);
    raise(signo);
}

void interrupt_install(void)
{
    static const int ending[] = {SIGTERM, SIGHUP};
    signal(SIGINT, on_interrupt);
    for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++)
        if (signal(ending[i], on_end) == SIG_IGN) /* by nohup, for example */
            signal(ending[i], SIG_IGN);
}

/* Reads one line from the stream, without its newline. */
static int read_line(struct cli *cli, FILE *from, const char **ret, struct error *err)
{
    cleanup_free char *line = NULL;
    size_t cap = 0;
    ssize_t n = getline(&line, &cap, from);
    if (n < 0)
        return error_set(err, ERR_INVALID, "no answer: the input has ended");
    while (n > 0 && (line[n - 1] == '\n' || line[n - 1] == '\r'))
        line[--n] = '\0';
    *ret = arena_strndup(&cli->arena, line, (size_t)n);
    explicit_bzero(line, (size_t)n);
    return 0;
}

/* Reads a line while the terminal does not show what is typed. Ctrl-Z does nothing meanwhile: the shell would get a
 * terminal that shows nothing. */
static int read_hidden(struct cli *cli, FILE *tty, const char *prompt, const char **ret, struct error *err)
{
    struct termios hidden = hidden_input.before;
    hidden.c_lflag &= ~(tcflag_t)ECHO;
    hidden.c_lflag |= ICANON | ISIG;
    hidden.c_cc[VSUSP] = _POSIX_VDISABLE;
    hidden_input.fd = fileno(tty);
    hidden_input.on = 1;
    tcsetattr(fileno(tty), TCSAFLUSH, &hidden);
    fputs(prompt, tty);
    fflush(tty);
    int rc = read_line(cli, tty, ret, err);
    tcsetattr(fileno(tty), TCSAFLUSH, &hidden_input.before);
    hidden_input.on = 0;
    fputc('\n', tty);
    return rc;
}

int terminal_ask_password(struct cli *cli, const char *prompt, const char **ret, struct error *err)
{
    cleanup_fclose FILE *tty = NULL;
    if (cli->silent)
        return error_set(err, ERR_UNAUTHENTICATED, "there is no login, and det must not ask for one here");
    int fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (fd >= 0 && !(tty = fdopen(fd, "r+")))
        close(fd);
    if (tty && tcgetattr(fileno(tty), &hidden_input.before) == 0)
        return read_hidden(cli, tty, prompt, ret, err);
    fputs(prompt, cli->err);
    fflush(cli->err);
    return read_line(cli, cli->in, ret, err);
}

int terminal_ask_line(struct cli *cli, const char *prompt, const char **ret, struct error *err)
{
    fputs(prompt, cli->out);
    fflush(cli->out);
    return read_line(cli, cli->in, ret, err);
}

bool terminal_ask_yes(struct cli *cli, const char *question)
{
    if (cli->silent)
        return false;
    for (;;) {
        const char *answer;
        fprintf(cli->out, "%s [y/n]: ", question);
        fflush(cli->out);
        if (read_line(cli, cli->in, &answer, NULL) < 0)
            return false;
        if (strcasecmp(answer, "y") == 0 || strcasecmp(answer, "yes") == 0)
            return true;
        if (strcasecmp(answer, "n") == 0 || strcasecmp(answer, "no") == 0)
            return false;
        fputs("Please answer 'y' or 'n'.\n", cli->out);
    }
}

const char *format_size(struct arena *a, double bytes)
{
    static const char *const unit[] = {"", "K", "M", "G", "T", "P", "E", "Z"};
    for (size_t i = 0; i < sizeof(unit) / sizeof(unit[0]); i++) {
        if (bytes < 1024)
            return arena_printf(a, "%3.1f%sB", bytes, unit[i]);
        bytes /= 1024;
    }
    return arena_printf(a, "%.1fYB", bytes);
}

const char *format_bar(struct arena *a, double fraction, size_t width)
{
    double part = fraction > 1 ? 1 : fraction > 0 ? fraction : 0;
    size_t full = (size_t)(part * (double)width);
    char *bar = arena_alloc(a, width + sizeof("[]"));
    memset(bar, ' ', width + 2);
    memset(bar + 1, '#', full);
    bar[0] = '[';
    bar[width + 1] = ']';
    return bar;
}

void progress_show(struct progress *p, double fraction, const char *text)
{
    enum { WIDTH = 40, NARROW = 15, STEP = 5, ROOM = 80 };
    size_t tenths = fraction >= 1 ? 1000 : fraction > 0 ? (size_t)(fraction * 1000) : 0;
    bool same_text = strncmp(p->shown, text, sizeof(p->shown) - 1) == 0;
    if (!p->cli->err_terminal || (p->drawn && same_text && tenths < p->tenths + STEP && tenths != 1000))
        return;
    if (p->drawn && tenths == p->tenths && same_text)
        return;
    cleanup_strbuf struct strbuf line = STRBUF_INIT;
    struct arena a = ARENA_INIT;
    bool narrow = p->cli->out_width > 0 && p->cli->out_width < ROOM;
    bar_is_drawn = 1;
    p->drawn = true;
    p->tenths = tenths;
    snprintf(p->shown, sizeof(p->shown), "%s", text);
    strbuf_addf(&line, "\r%s %s %3zu%% %s\x1b[K", p->what, format_bar(&a, fraction, narrow ? NARROW : WIDTH),
                tenths / 10, p->shown);
    fputs(strbuf_str(&line), p->cli->err);
    fflush(p->cli->err);
    arena_release(&a);
}

void progress_draw(struct progress *p, size_t done, size_t total)
{
    struct arena a = ARENA_INIT;
    if (total > 0)
        progress_show(p, (double)done / (double)total, arena_printf(&a, "of %s", format_size(&a, (double)total)));
    arena_release(&a);
}

void progress_end(struct progress *p)
{
    if (p->drawn) {
        fputs("\r\x1b[K", p->cli->err);
        fflush(p->cli->err);
    }
    p->drawn = false;
    bar_is_drawn = 0;
}
