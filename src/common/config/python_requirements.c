#include "common/config/python_requirements.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "common/base/cleanup.h"

#define SHOWN_MAX 80 /* bytes of a line that a message repeats */

static bool has_control_character(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)s[i] < ' ' && s[i] != '\t')
            return true;
    return false;
}

int python_interpreter_check(const char *path, struct error *err)
{
    if (path[0] != '/')
        return error_set(err, ERR_INVALID,
                         "must be the absolute path of a Python interpreter, or of the directory of a conda or virtual "
                         "environment, found \"%.*s\"; requirements are given as a list",
                         SHOWN_MAX, path);
    if (has_control_character(path, strlen(path)))
        return error_set(err, ERR_INVALID, "the path of an interpreter may not hold line breaks or control characters");
    return 0;
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

struct line {
    const char *s;
    size_t n;
};

static struct line trimmed(const char *s, size_t n)
{
    while (n > 0 && isspace((unsigned char)*s))
        s++, n--;
    while (n > 0 && isspace((unsigned char)s[n - 1]))
        n--;
    return (struct line){s, n};
}

/* The next line of the text, without spaces at its ends and without a comment. Returns false after the last one. */
static bool next_line(const char **at, struct line *ret)
{
    if (!**at)
        return false;
    size_t n = strcspn(*at, "\n");
    const char *s = *at;
    *at += n + ((*at)[n] == '\n');
    *ret = trimmed(s, n);
    for (size_t i = 0; i < ret->n; i++) /* as in pip: a comment begins a line, or follows a space */
        if (ret->s[i] == '#' && (i == 0 || isspace((unsigned char)ret->s[i - 1]))) {
            *ret = trimmed(ret->s, i);
            break;
        }
    return true;
}

void python_requirements_normalize(const char *text, struct strbuf *ret)
{
    struct line l;
    while (next_line(&text, &l))
        if (l.n > 0) {
            strbuf_add(ret, l.s, l.n);
            strbuf_addc(ret, '\n');
        }
}

/* ---- what a line may say ----------------------------------------------------------------------------------------- */

struct option {
    const char *name;
    bool url; /* the option's value must be an address */
};

/* The options of a requirements file that concern where packages come from, and nothing else on the agent's machine. */
static const struct option options[] = {
    {"--index-url", true},
    {"-i", true},
    {"--extra-index-url", true},
    {"--find-links", true},
    {"-f", true},
    {"--hash", false},
    {"--pre", false},
    {"--no-binary", false},
    {"--only-binary", false},
    {"--no-index", false},
    {"--prefer-binary", false},
    {"--require-hashes", false},
};

static bool begins_with(const struct line *l, const char *word)
{
    size_t n = strlen(word);
    return l->n >= n && strncasecmp(l->s, word, n) == 0;
}

static const struct option *option_of(const struct line *l, struct line *ret_value)
{
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        size_t n = strlen(options[i].name);
        if (begins_with(l, options[i].name) && (l->n == n || strchr("= \t", l->s[n]))) {
            *ret_value = trimmed(l->s + n, l->n - n);
            if (ret_value->n > 0 && ret_value->s[0] == '=')
                *ret_value = trimmed(ret_value->s + 1, ret_value->n - 1);
            return &options[i];
        }
    }
    return NULL;
}

static bool is_url(const struct line *l)
{
    return begins_with(l, "http://") || begins_with(l, "https://");
}

static int check_option(const struct line *l, struct error *err)
{
    struct line value;
    const struct option *o = option_of(l, &value);
    int shown = l->n > SHOWN_MAX ? SHOWN_MAX : (int)l->n;
    if (!o)
        return error_set(err, ERR_INVALID,
                         "the line \"%.*s\" has an option that is not allowed here; allowed are --index-url, "
                         "--extra-index-url, --find-links, --hash, --pre, --no-binary, --only-binary, --prefer-binary, "
                         "--no-index and --require-hashes",
                         shown, l->s);
    if (o->url && !is_url(&value))
        return error_set(err, ERR_INVALID,
                         "the line \"%.*s\" must name an address that begins with http:// or https://, as the agent's "
                         "machine does not have your files",
                         shown, l->s);
    return 0;
}

/* Whether the line names a file or directory in place of a package. */
static bool names_a_file(const struct line *l)
{
    if (l->s[0] == '.' || l->s[0] == '/' || l->s[0] == '~' || begins_with(l, "file:"))
        return true;
    const char *at = memchr(l->s, '@', l->n);
    if (!at)
        return false;
    struct line address = trimmed(at + 1, l->n - (size_t)(at + 1 - l->s));
    return begins_with(&address, "file:") || begins_with(&address, "/") || begins_with(&address, ".");
}

static int check_line(const struct line *l, struct error *err)
{
    int shown = l->n > SHOWN_MAX ? SHOWN_MAX : (int)l->n;
    if (has_control_character(l->s, l->n))
        return error_set(err, ERR_INVALID, "requirements may not hold control characters");
    if (l->s[0] == '-')
        return check_option(l, err);
    if (names_a_file(l))
        return error_set(
            err, ERR_INVALID,
            "the line \"%.*s\" names a file, which the agent's machine does not have; name a package of an "
            "index, or an address",
            shown, l->s);
    return 0;
}

int python_requirements_check(const char *text, struct error *err)
{
    size_t packages = 0;
    struct line l;
    while (next_line(&text, &l)) {
        if (l.n == 0)
            continue;
        if (check_line(&l, err) < 0)
            return -1;
        packages += l.s[0] != '-';
    }
    return packages ? 0 : error_set(err, ERR_INVALID, "names no package; leave it out if the task needs none");
}
