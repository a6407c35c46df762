#include "cli/files/ignore.h"

#include <ctype.h>
#include <string.h>

struct ignore_pattern {
    const char *text;
    bool negated;        /* "!text": includes again what an earlier line left out */
    bool directory_only; /* text/ */
    bool anchored;       /* has a slash before its end: is compared with whole paths, otherwise with last components */
};

/* ---- reading the lines ------------------------------------------------------------------------------------------- */

static size_t trim_blanks(const char *line, size_t n)
{
    /* blanks at the end count only if the last of them is escaped */
    size_t keep = 0;
    for (size_t i = 0; i < n; i++) {
        if (line[i] == '\\' && i + 1 < n)
            keep = ++i + 1;
        else if (line[i] != ' ')
            keep = i + 1;
    }
    return keep;
}

static void add_pattern(struct ignore *ig, const char *line, size_t n)
{
    struct ignore_pattern p = {0};
    if (n && line[n - 1] == '\r')
        n--;
    if (n == 0 || line[0] == '#')
        return;
    n = trim_blanks(line, n);
    if (n && line[0] == '!') {
        p.negated = true;
        line++;
        n--;
    }
    if (n && line[n - 1] == '/') {
        p.directory_only = true;
        n--;
    }
    p.anchored = memchr(line, '/', n) != NULL;
    if (n && line[0] == '/') {
        line++;
        n--;
    }
    if (n == 0)
        return;
    p.text = arena_strndup(&ig->arena, line, n);
    if (ig->n == ig->cap) {
        size_t cap = ig->cap ? ig->cap * 2 : 16;
        struct ignore_pattern *longer = arena_array(&ig->arena, struct ignore_pattern, cap);
        if (ig->n)
            memcpy(longer, ig->pattern, ig->n * sizeof(*longer));
        ig->pattern = longer;
        ig->cap = cap;
    }
    ig->pattern[ig->n++] = p;
}

void ignore_add_file(struct ignore *ig, const char *text, size_t n)
{
    if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) { /* a byte order mark does not belong to the first pattern */
        text += 3;
        n -= 3;
    }
    while (n > 0) {
        const char *end = memchr(text, '\n', n);
        size_t line_n = end ? (size_t)(end - text) : n;
        add_pattern(ig, text, line_n);
        size_t step = line_n + (end != NULL);
        text += step;
        n -= step;
    }
}

void ignore_release(struct ignore *ig)
{
    arena_release(&ig->arena);
    *ig = (struct ignore)IGNORE_INIT;
}

/* ---- matching, as git's wildmatch does it ------------------------------------------------------------------------ */

/* DEAD and DEAD_SEGMENT are failures that avoid useless tries. DEAD: no later start in the text can match.
 * DEAD_SEGMENT: no later start in this component can match; only a double star before it may move on. */
enum match { MATCH, NO_MATCH, DEAD, DEAD_SEGMENT };

static bool class_has(const char *name, size_t n, unsigned char c)
{
    static const struct {
        const char *name;
        int (*is)(int);
    } class[] = {
        {"alnum", isalnum}, {"alpha", isalpha}, {"blank", isblank}, {"cntrl", iscntrl},
        {"digit", isdigit}, {"graph", isgraph}, {"lower", islower}, {"print", isprint},
        {"punct", ispunct}, {"space", isspace}, {"upper", isupper}, {"xdigit", isxdigit},
    };
    for (size_t i = 0; i < sizeof(class) / sizeof(class[0]); i++)
        if (strlen(class[i].name) == n && memcmp(class[i].name, name, n) == 0)
            return class[i].is(c);
    return false;
}

static bool class_known(const char *name, size_t n)
{
    for (int c = 0; c < 128; c++)
        if (class_has(name, n, (unsigned char)c))
            return true;
    return false;
}

/* Reads [:name:] at p and moves past it. False: the brackets do not form a class. An unknown name sets *ret_dead. */
static bool take_class(const char **p, unsigned char c, bool *matched, bool *ret_dead)
{
    const char *name = *p + 2, *end = strchr(name, ']');
    if (!end) {
        *ret_dead = true;
        return true;
    }
    if (end == name || end[-1] != ':')
        return false;
    size_t n = (size_t)(end - 1 - name);
    *ret_dead = !class_known(name, n);
    *matched = *matched || class_has(name, n, c);
    *p = end;
    return true;
}

/* Compares c with a bracket expression; *pattern is behind its '[' and is moved to its ']'. DEAD if there is no ']'. */
static enum match match_bracket(const char **pattern, unsigned char c, bool slash_is_special)
{
    const char *p = *pattern;
    bool negated = *p == '!' || *p == '^', matched = false, first = true, dead = false;
    unsigned char previous = 0;
    p += negated;
    for (; first || *p != ']'; p++, first = false) {
        unsigned char now = (unsigned char)*p;
        if (!now)
            return DEAD;
        if (now == '-' && previous && p[1] && p[1] != ']') {
            unsigned char high = (unsigned char)*++p;
            if (high == '\\' && !(high = (unsigned char)*++p))
                return DEAD;
            matched = matched || (c >= previous && c <= high);
            previous = 0;
            continue;
        }
        if (now == '[' && p[1] == ':' && take_class(&p, c, &matched, &dead)) {
            if (dead)
                return DEAD;
            previous = 0;
            continue;
        }
        if (now == '\\' && !(now = (unsigned char)*++p))
            return DEAD;
        matched = matched || now == c;
        previous = now;
    }
    *pattern = p;
    return matched == negated || (slash_is_special && c == '/') ? NO_MATCH : MATCH;
}

static enum match match_here(const char *start, const char *p, const char *t, bool slash_is_special);

/* Matches one or more stars at p; `start` is the beginning of the whole pattern. */
static enum match match_stars(const char *start, const char *p, const char *t, bool slash_is_special)
{
    const char *stars = p;
    bool crosses = !slash_is_special;
    while (*p == '*')
        p++;
    if (p - stars > 1 && slash_is_special) {
        /* two stars that fill a component match any number of components; elsewhere they count as one star */
        bool opens = stars == start || stars[-1] == '/';
        crosses = opens && (*p == '\0' || *p == '/' || (p[0] == '\\' && p[1] == '/'));
        if (crosses && *p == '/' && match_here(start, p + 1, t, true) == MATCH)
            return MATCH;
    }
    if (*p == '\0')
        return crosses || !strchr(t, '/') ? MATCH : DEAD_SEGMENT;
    if (!crosses && *p == '/') {
        t = strchr(t, '/');
        return t ? match_here(start, p, t, slash_is_special) : NO_MATCH;
    }
    for (; *t; t++) {
        enum match m = match_here(start, p, t, slash_is_special);
        if (m == NO_MATCH && !crosses && *t == '/')
            return DEAD_SEGMENT;
        if (m != NO_MATCH && !(crosses && m == DEAD_SEGMENT))
            return m;
    }
    return DEAD;
}

static enum match match_here(const char *start, const char *p, const char *t, bool slash_is_special)
{
    for (; *p; p++, t++) {
        if (*p == '*')
            return match_stars(start, p, t, slash_is_special);
        if (*t == '\0')
            return DEAD;
        if (*p == '?') {
            if (slash_is_special && *t == '/')
                return NO_MATCH;
        } else if (*p == '[') {
            p++;
            enum match m = match_bracket(&p, (unsigned char)*t, slash_is_special);
            if (m != MATCH)
                return m;
        } else {
            if (*p == '\\')
                p++;
            if (*p != *t)
                return NO_MATCH;
        }
    }
    return *t ? NO_MATCH : MATCH;
}

static bool pattern_matches(const struct ignore_pattern *p, const char *path, const char *name)
{
    const char *t = p->anchored ? path : name;
    return match_here(p->text, p->text, t, p->anchored) == MATCH;
}

bool ignore_matches(const struct ignore *ig, const char *path, bool is_directory)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    for (size_t i = ig->n; i-- > 0;) { /* the last line that matches decides */
        const struct ignore_pattern *p = &ig->pattern[i];
        if ((is_directory || !p->directory_only) && pattern_matches(p, path, name))
            return !p->negated;
    }
    return false;
}

bool ignore_always(const char *name)
{
    size_t n = strlen(name);
    return strcmp(name, "__pycache__") == 0 || strcmp(name, ".git") == 0 ||
           (n >= 4 && strcmp(name + n - 4, ".pyc") == 0);
}
