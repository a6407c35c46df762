#include "store/logs/log_filter.h"

#include <string.h>

#include "store/logs/log_find.h"
#include "store/logs/log_masks.h"
#include "store/logs/log_regex.h"
#include "store/logs/log_words.h"

/* ---- preparing the filter ---------------------------------------------------------------------------------------- */

static struct store_texts copy_texts(struct arena *a, struct store_texts t)
{
    const char **copy = arena_array(a, const char *, t.n + 1);
    for (size_t i = 0; i < t.n; i++)
        copy[i] = arena_strdup(a, t.text[i]);
    return (struct store_texts){copy, t.n};
}

static struct store_ints copy_ints(struct arena *a, struct store_ints t)
{
    return (struct store_ints){t.n ? arena_dup(a, t.value, t.n * sizeof(*t.value)) : NULL, t.n};
}

static void copy_filter(struct log_filter *f, const struct store_log_filter *from)
{
    struct arena *a = &f->arena;
    f->wanted = *from;
    f->wanted.task_id = arena_strdup(a, from->task_id);
    f->wanted.allocation_ids = copy_texts(a, from->allocation_ids);
    f->wanted.agent_ids = copy_texts(a, from->agent_ids);
    f->wanted.container_ids = copy_texts(a, from->container_ids);
    f->wanted.stdtypes = copy_texts(a, from->stdtypes);
    f->wanted.sources = copy_texts(a, from->sources);
    f->wanted.rank_ids = copy_ints(a, from->rank_ids);
    f->wanted.levels = copy_ints(a, from->levels);
    f->wanted.search = from->search && *from->search ? arena_strdup(a, from->search) : NULL;
}

static void add_field(struct log_filter *f, enum log_words_field field, struct store_texts t)
{
    if (t.n == 0)
        return;
    uint64_t *key = arena_array(&f->arena, uint64_t, t.n);
    for (size_t i = 0; i < t.n; i++)
        key[i] = log_words_field_key(field, t.text[i]);
    f->field[f->field_n++] = (struct log_keys){key, t.n};
}

static void make_masks(struct log_filter *f)
{
    const struct store_log_filter *w = &f->wanted;
    for (size_t i = 0; i < w->levels.n; i++)
        f->levels |= log_level_bit(w->levels.value[i]);
    for (size_t i = 0; i < w->rank_ids.n; i++)
        f->ranks |= log_rank_bit(w->rank_ids.value[i]);
    add_field(f, LOG_WORDS_ALLOCATION, w->allocation_ids);
    add_field(f, LOG_WORDS_AGENT, w->agent_ids);
    add_field(f, LOG_WORDS_CONTAINER, w->container_ids);
    add_field(f, LOG_WORDS_SOURCE, w->sources);
    add_field(f, LOG_WORDS_STDTYPE, w->stdtypes);
}

static int make_search(struct log_filter *f, struct error *err)
{
    const struct store_log_filter *w = &f->wanted;
    if (!w->search)
        return 0;
    if (w->regex && log_regex_new(w->search, &f->regex, err) < 0)
        return -1;
    f->needs = w->regex ? log_regex_needs(f->regex) : copy_texts(&f->arena, (struct store_texts){&w->search, 1});
    f->need_key = arena_array(&f->arena, struct log_keys, f->needs.n + 1);
    for (size_t i = 0; i < f->needs.n; i++) {
        uint64_t *key;
        size_t n = log_words_text_keys(f->needs.text[i], strlen(f->needs.text[i]), &f->arena, &key);
        f->need_key[i] = (struct log_keys){key, n};
    }
    return 0;
}

int log_filter_init(struct log_filter *f, const struct store_log_filter *wanted, struct error *err)
{
    *f = (struct log_filter){0};
    copy_filter(f, wanted);
    make_masks(f);
    return make_search(f, err);
}

void log_filter_release(struct log_filter *f)
{
    log_regex_free(f->regex);
    arena_release(&f->arena);
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

static bool holds_all(const void *words, size_t n, struct log_keys keys)
{
    for (size_t i = 0; i < keys.n; i++)
        if (!log_words_may_hold(words, n, keys.key[i]))
            return false;
    return true;
}

static bool holds_any(const void *words, size_t n, struct log_keys keys)
{
    for (size_t i = 0; i < keys.n; i++)
        if (log_words_may_hold(words, n, keys.key[i]))
            return true;
    return false;
}

bool log_filter_may_be_in(const struct log_filter *f, const void *words, size_t n)
{
    for (size_t i = 0; i < f->field_n; i++)
        if (!holds_any(words, n, f->field[i]))
            return false;
    for (size_t i = 0; i < f->needs.n; i++)
        if (holds_all(words, n, f->need_key[i]))
            return true;
    return f->needs.n == 0;
}

bool log_filter_may_match_text(const struct log_filter *f, const char *text, size_t n)
{
    return log_find_any(text, n, f->needs);
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

/* Returns lines that follow one another in memory, each with its newline, as one text; NULL if the lines do not. */
static const char *as_one_text(const struct store_log_line *line, size_t n, size_t *ret_n)
{
    const char *end = line->text;
    for (size_t i = 0; i < n; end += line[i].text_n, i++)
        if (line[i].text != end || line[i].text_n == 0 || end[line[i].text_n - 1] != '\n')
            return NULL;
    *ret_n = (size_t)(end - line->text);
    return line->text;
}

bool log_filter_may_match_any(const struct log_filter *f, const struct store_log_line *line, size_t n)
{
    size_t text_n;
    const char *text = f->wanted.search ? as_one_text(line, n, &text_n) : NULL;
    if (!text)
        return true;
    return f->regex ? log_regex_may_match(f->regex, text, text_n) : log_find_any(text, text_n, f->needs);
}

static bool is_among(struct store_texts t, const char *s)
{
    for (size_t i = 0; i < t.n; i++)
        if (s && strcmp(t.text[i], s) == 0)
            return true;
    return t.n == 0;
}

static bool among_ints(struct store_ints t, int32_t v)
{
    for (size_t i = 0; i < t.n; i++)
        if (t.value[i] == v)
            return true;
    return t.n == 0;
}

int log_filter_matches(const struct log_filter *f, const struct store_log_line *l, struct error *err)
{
    const struct store_log_filter *w = &f->wanted;
    bool fits = among_ints(w->levels, l->level) && among_ints(w->rank_ids, l->has_rank ? l->rank : -1) &&
                (!w->before_us || l->time_us <= w->before_us) && (!w->after_us || l->time_us > w->after_us) &&
                is_among(w->allocation_ids, l->allocation_id) && is_among(w->agent_ids, l->agent_id) &&
                is_among(w->container_ids, l->container_id) && is_among(w->stdtypes, l->stdtype) &&
                is_among(w->sources, l->source);
    if (!fits || !w->search)
        return fits;
    return f->regex ? log_regex_matches(f->regex, l->text, l->text_n, l->id, err)
                    : log_find_any(l->text, l->text_n, f->needs);
}
