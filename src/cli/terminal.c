#include "cli/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <termios.h>
#include <unistd.h>

#include "common/cleanup.h"

/* One line from the stream, without its newline. */
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

int terminal_ask_password(struct cli *cli, const char *prompt, const char **ret, struct error *err)
{
    cleanup_fclose FILE *tty = NULL;
    int fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
    struct termios before;
    if (fd >= 0 && !(tty = fdopen(fd, "r+")))
        close(fd);
    if (!tty || tcgetattr(fileno(tty), &before) < 0) {
        fputs(prompt, cli->err);
        fflush(cli->err);
        return read_line(cli, cli->in, ret, err);
    }
    struct termios hidden = before;
    hidden.c_lflag &= ~(tcflag_t)ECHO;
    hidden.c_lflag |= ICANON | ISIG;
    tcsetattr(fileno(tty), TCSAFLUSH, &hidden);
    fputs(prompt, tty);
    fflush(tty);
    int rc = read_line(cli, tty, ret, err);
    tcsetattr(fileno(tty), TCSAFLUSH, &before);
    fputc('\n', tty);
    return rc;
}

int terminal_ask_line(struct cli *cli, const char *prompt, const char **ret, struct error *err)
{
    fputs(prompt, cli->out);
    fflush(cli->out);
    return read_line(cli, cli->in, ret, err);
}

bool terminal_ask_yes(struct cli *cli, const char *question)
{
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

void progress_draw(struct progress *p, size_t done, size_t total)
{
    enum { WIDTH = 40 };
    if (!p->cli->err_terminal || total == 0)
        return;
    size_t tenths = done >= total ? 1000 : (size_t)((double)done / (double)total * 1000);
    if (tenths < p->drawn_tenths + 5 && tenths != 1000)
        return;
    p->drawn_tenths = tenths;
    int full = (int)(tenths * WIDTH / 1000);
    fprintf(p->cli->err, "\r%s [%.*s%*s] %3zu%% of %s", p->what, full, "########################################",
            WIDTH - full, "", tenths / 10, format_size(&p->cli->arena, (double)total));
    fflush(p->cli->err);
}

void progress_end(struct progress *p)
{
    if (p->drawn_tenths > 0) {
        fputs("\r\x1b[K", p->cli->err);
        fflush(p->cli->err);
    }
}
