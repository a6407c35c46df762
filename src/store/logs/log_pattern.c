#include "store/logs/log_pattern.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/strbuf.h"
#include "common/base/utf8.h"

enum {
    NEEDS_MAX = 4, /* searching for more texts takes longer than matching the pattern */
    DEPTH_MAX = 50,
};

struct scan {
    const char *p;
    struct arena *a;
    int depth;     /* how many groups the current place is within */
    bool caseless; /* letters may match without regard to case from here on */
    bool beyond;   /* the pattern may match the end of a line, or look at it */
    bool give_up;
};

/* ---- texts of which every match contains one --------------------------------------------------------------------- */

struct needs {
    const char *text[NEEDS_MAX];
    size_t n; /* 0: no such texts are known */
};

static size_t shortest(const struct needs *v)
{
    size_t least = 0;
    for (size_t i = 0; i < v->n; i++)
        least = i == 0 || strlen(v->text[i]) < least ? strlen(v->text[i]) : least;
    return least;
}

/* Keeps the better one of two sets of texts, each of which every match needs: the one whose shortest text is longer,
 * which is found less often. */
static void take_better(struct needs *best, const struct needs *v)
{
    if (shortest(v) > shortest(best))
        *best = *v;
}

/* Unites the needs of two alternatives: a match contains a text of one or of the other. */
static void unite(struct needs *all, const struct needs *v)
{
    if (all->n == 0 || v->n == 0 || all->n + v->n > NEEDS_MAX) {
        all->n = 0;
    } else {
        memcpy(all->text + all->n, v->text, v->n * sizeof(*v->text));
        all->n += v->n;
    }
}

/* ---- repetitions ------------------------------------------------------------------------------------------------- */

enum times { ONCE, MAYBE, AT_LEAST_ONCE };

/* Reads a repetition such as "{2}", "{2,}" or "{0,3}", and those that only some versions of PCRE2 take as one:
 * "{,3}", "{ 2 }". */
static bool braces(struct scan *s, enum times *ret)
{
    size_t n = 1 + strspn(s->p + 1, "0123456789, ");
    if (s->p[n] != '}' || n == 1)
        return false;
    *ret = strtol(s->p + 1, NULL, 10) > 0 && !memchr(s->p, ' ', n) ? AT_LEAST_ONCE : MAYBE;
    s->p += n + 1;
    return true;
}

static enum times take_times(struct scan *s)
{
    enum times times = ONCE;
    if (*s->p == '*' || *s->p == '?')
        times = MAYBE;
    else if (*s->p == '+')
        times = AT_LEAST_ONCE;
    else if (*s->p != '{' || !braces(s, &times))
        return ONCE;
    else
        s->p--;
    s->p++;
    /* a possessive repetition never gives back what it took, so the text after the line decides what it takes */
    if (*s->p == '+')
        s->beyond = true;
    s->p += *s->p == '+' || *s->p == '?';
    return times;
}

/* ---- a sequence: its parts one after the other ------------------------------------------------------------------- */

struct sequence {
    struct strbuf run; /* the characters so far that stand for themselves */
    struct needs best;
};

static void end_run(struct scan *s, struct sequence *q)
{
    struct needs run = {{strbuf_str(&q->run)}, 1};
    if (q->run.n > shortest(&q->best)) {
        run.text[0] = arena_strdup(s->a, run.text[0]);
        q->best = run;
    }
    strbuf_reset(&q->run);
}

/* Whether a character matches only itself. Without regard to case k also matches the Kelvin sign and s the long s,
 * and there are more such pairs beyond ASCII. */
static bool stands_for_itself(const struct scan *s, char c)
{
    return !s->caseless || ((unsigned char)c < 0x80 && !strchr("kKsS", c));
}

static void take_character(struct scan *s, struct sequence *q)
{
    const char *from = s->p++;
    bool itself = stands_for_itself(s, *from);
    while (utf8_is_tail(*s->p))
        s->p++;
    s->beyond |= *from == '\n';
    size_t n = (size_t)(s->p - from);
    enum times times = take_times(s);
    if (times == MAYBE || !itself) {
        end_run(s, q);
        return;
    }
    strbuf_add(&q->run, from, n);
    if (times == AT_LEAST_ONCE)
        end_run(s, q);
}

static void take_unknown(struct scan *s, struct sequence *q)
{
    end_run(s, q);
    take_times(s);
}

/* Takes what follows a backslash. A letter or digit there has a meaning of its own, and may be followed by parts
 * that this code does not know. */
static void take_escape(struct scan *s, struct sequence *q)
{
    char c = *s->p;
    if (c == '\0' || !isalnum((unsigned char)c)) {
        s->give_up |= c == '\0';
        if (c)
            take_character(s, q);
        return;
    }
    s->give_up |= !strchr("dDwWsSbBAzZntrefahHvVRX", c);
    s->beyond |= !strchr("dwShVbtrefa", c); /* \\B also matches after the newline of a line */
    s->p++;
    take_unknown(s, q);
}

/* Whether the name in "[:alpha:]" within a class is one that matches no control character. */
static bool is_plain_set(const char *name, size_t n)
{
    static const char *const plain[] = {"alnum", "alpha", "digit", "lower", "punct", "upper", "xdigit"};
    for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++)
        if (strlen(plain[i]) == n && memcmp(plain[i], name, n) == 0)
            return true;
    return false;
}

static void take_class_part(struct scan *s)
{
    const char *end = *s->p == '[' && s->p[1] == ':' ? strchr(s->p + 2, ']') : NULL;
    if (*s->p == '\\' && s->p[1]) {
        s->beyond |= isalnum((unsigned char)s->p[1]) && (!strchr("dwSht", s->p[1]) || s->p[2] == '-');
        s->p += 2;
    } else if (end && end > s->p + 2 && end[-1] == ':') {
        s->beyond |= !is_plain_set(s->p + 2, (size_t)(end - s->p - 3));
        s->p = end + 1;
    } else {
        s->beyond |= (unsigned char)*s->p < ' ';
        s->p++;
    }
}

/* Takes a class, from after its '[' to after its ']'. The first character of a class may be a ']' itself. */
static void take_class(struct scan *s, struct sequence *q)
{
    bool is_not = *s->p == '^';
    s->p += is_not;
    s->beyond |= is_not;
    s->p += *s->p == ']';
    while (*s->p && *s->p != ']')
        take_class_part(s);
    s->p += *s->p == ']';
    take_unknown(s, q);
}

static struct needs take_alternatives(struct scan *s);

/* Takes what follows "(?": options or the kind of the group. Returns true if the rest can be read as an ordinary
 * group. */
static bool take_group_kind(struct scan *s)
{
    size_t options = strspn(s->p, "ims");
    if (memchr(s->p, 'i', options))
        s->caseless = true;
    if (memchr(s->p, 's', options))
        s->beyond = true;
    s->p += options;
    if (*s->p == ':' || (*s->p == ')' && options)) {
        s->p += *s->p == ':';
        return true;
    }
    s->give_up = true; /* lookarounds, conditions, names, verbs and others */
    return false;
}

static void take_group(struct scan *s, struct sequence *q)
{
    end_run(s, q);
    if (*s->p == '*' || ++s->depth > DEPTH_MAX)
        s->give_up = true;
    if (*s->p == '?') {
        s->p++;
        if (!take_group_kind(s))
            return;
    }
    struct needs within = take_alternatives(s);
    s->depth--;
    s->give_up |= *s->p != ')';
    if (s->give_up)
        return;
    s->p++;
    if (take_times(s) != MAYBE)
        take_better(&q->best, &within);
}

static void take_part(struct scan *s, struct sequence *q)
{
    char c = *s->p;
    s->p += strchr("\\[(.^$", c) != NULL;
    if (c == '\\')
        take_escape(s, q);
    else if (c == '[')
        take_class(s, q);
    else if (c == '(')
        take_group(s, q);
    else if (strchr(".^$", c))
        take_unknown(s, q);
    else if (strchr("*+?", c) || (c == '{' && strspn(s->p + 1, "0123456789, ") > 0))
        s->give_up = true; /* a repetition of something that this code does not know */
    else
        take_character(s, q);
}

static struct needs take_sequence(struct scan *s)
{
    struct sequence q = {.run = STRBUF_INIT};
    while (*s->p && *s->p != '|' && *s->p != ')' && !s->give_up)
        take_part(s, &q);
    end_run(s, &q);
    strbuf_release(&q.run);
    return q.best;
}

static struct needs take_alternatives(struct scan *s)
{
    struct needs all = take_sequence(s);
    while (*s->p == '|' && !s->give_up) {
        s->p++;
        struct needs more = take_sequence(s);
        unite(&all, &more);
    }
    return all;
}

struct log_pattern log_pattern_read(const char *pattern, struct arena *a)
{
    struct scan s = {.p = pattern, .a = a};
    struct needs needs = take_alternatives(&s);
    if (s.give_up || *s.p)
        return (struct log_pattern){0};
    const char **text = arena_dup(a, needs.text, sizeof(needs.text));
    return (struct log_pattern){.needs = {text, needs.n}, .within_lines = !s.beyond};
}
