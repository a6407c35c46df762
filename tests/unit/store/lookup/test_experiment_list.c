/* Tests the list of experiments: its filters, orders and pages. All of them are compared with a reference that looks
 * at one experiment after the other. */
#include "store/fixture.h"

#include <strings.h>

#include "common/base/rng.h"
#include "store/lookup/lookup.h"
#include "store/metrics/metrics.h"

/* Returns the ids of the page in their order: "3 1 2 (total 3)". */
static const char *ids(struct fixture *f, const struct store_experiment_filter *filter)
{
    struct lookup_found found;
    cleanup_strbuf struct strbuf b = STRBUF_INIT;
    OK(f, store_experiment_find(f->st, filter, &f->a, &found, &f->err));
    for (size_t i = 0; i < found.ids.n; i++)
        strbuf_addf(&b, "%d ", found.ids.value[i]);
    strbuf_addf(&b, "(total %d)", found.window.total);
    return arena_strdup(&f->a, b.s);
}

#define LIST(...) ids(f, &(struct store_experiment_filter){__VA_ARGS__})

/* Makes three experiments: 1 is admin's and has digits in its name; 2 is "Mnist 50%", with labels, completed and
 * archived; 3 is ada's. */
static void three(struct fixture *f)
{
    fixture_user(f, 2, "ada");
    fixture_experiment(f, 2);
    fixture_experiment(f, 3);
    OK(f, store_experiment_patch(f->st, 2,
                                 &(struct store_experiment_patch){.name = "Mnist 50%",
                                                                  .labels = "[\"a\",\"b\"]",
                                                                  .description = "Long run"},
                                 &f->err));
    OK(f, store_experiment_patch(f->st, 3, &(struct store_experiment_patch){.labels = "[\"b\"]"}, &f->err));
    OK(f, store_experiment_set_state(f->st, 2, "COMPLETED", T0 + DAY_US, &f->err));
    OK(f, store_experiment_set_archived(f->st, 2, true, &f->err));
    fixture_give(f, 3, 2);
}

static void test_list__filters(void **state)
{
    struct fixture *f = *state;
    const char *ab[] = {"a", "b"}, *completed[] = {"COMPLETED", "ERROR"}, *ada[] = {"ada"},
               *nobody[] = {"nobody", "ad"};
    const int32_t one[] = {1}, two_three[] = {3, 2, 2, 77, -1, 0};
    three(f);
    assert_string_equal(LIST(0), "1 2 3 (total 3)");
    assert_string_equal(LIST(.name = "mnist"), "2 (total 1)");
    assert_string_equal(LIST(.name = "%"), "2 (total 1)"); /* % is no wildcard */
    assert_string_equal(LIST(.name = "", .description = ""), "1 2 3 (total 3)");
    assert_string_equal(LIST(.description = "LONG"), "2 (total 1)");
    assert_string_equal(LIST(.labels = {ab, 1}), "2 (total 1)");
    assert_string_equal(LIST(.labels = {ab + 1, 1}), "2 3 (total 2)");
    assert_string_equal(LIST(.labels = {ab, 2}), "2 (total 1)"); /* an experiment must have both labels */
    assert_string_equal(LIST(.has_archived = true, .archived = true), "2 (total 1)");
    assert_string_equal(LIST(.has_archived = true), "1 3 (total 2)");
    assert_string_equal(LIST(.states = {completed, 2}), "2 (total 1)");
    assert_string_equal(LIST(.only_live = true), "1 3 (total 2)");
    assert_string_equal(LIST(.only_over = true), "2 (total 1)");
    assert_string_equal(LIST(.usernames = {ada, 1}), "3 (total 1)");
    assert_string_equal(LIST(.usernames = {nobody, 2}), "(total 0)");
    assert_string_equal(LIST(.usernames = {ada, 1}, .user_ids = {one, 1}), "1 2 3 (total 3)");
    assert_string_equal(LIST(.project_id = 2), "(total 0)");
    assert_string_equal(LIST(.id = {.has_gt = true, .gt = 1, .has_lte = true, .lte = 2}), "2 (total 1)");
    assert_string_equal(LIST(.id = {.has_gte = true, .gte = 2, .has_lt = true, .lt = 3}), "2 (total 1)");
    assert_string_equal(LIST(.id = {.incl = {two_three, 6}}), "2 3 (total 2)");
    assert_string_equal(LIST(.id = {.not_in = {two_three, 6}}), "1 (total 1)");
    assert_string_equal(LIST(.name = "digits", .has_archived = true, .user_ids = {one, 1}), "1 (total 1)");
}

/* A label matches only as a whole, whatever bytes it has: not if it is a part of another label. */
static void test_list__labels_are_whole(void **state)
{
    struct fixture *f = *state;
    const char *comma[] = {","}, *unit[] = {"x\x1fy"}, *part[] = {"y"}, *quote[] = {"\"", "a"};
    fixture_experiment(f, 2);
    fixture_experiment(f, 3);
    OK(f, store_experiment_patch(f->st, 1, &(struct store_experiment_patch){.labels = "[\"x\\u001fy\"]"}, &f->err));
    OK(f, store_experiment_patch(f->st, 2, &(struct store_experiment_patch){.labels = "[\"a\",\",\"]"}, &f->err));
    OK(f, store_experiment_patch(f->st, 3, &(struct store_experiment_patch){.labels = "[\"a\",\"\\\"\"]"}, &f->err));
    assert_string_equal(LIST(.labels = {unit, 1}), "1 (total 1)");
    assert_string_equal(LIST(.labels = {part, 1}), "(total 0)");
    assert_string_equal(LIST(.labels = {comma, 1}), "2 (total 1)");
    assert_string_equal(LIST(.labels = {quote, 2}), "3 (total 1)");
    static const char *many[257];
    struct lookup_found found;
    for (size_t i = 0; i < 257; i++)
        many[i] = "a";
    assert_string_equal(LIST(.labels = {many, 256}), "2 3 (total 2)");
    FAILS(f, ERR_INVALID, "labels: 257 are asked for, at most 256 can be",
          store_experiment_find(f->st, &(struct store_experiment_filter){.labels = {many, 257}}, &f->a, &found,
                                &f->err));
}

static void test_list__sorts_with_missing_values_last(void **state)
{
    struct fixture *f = *state;
    struct lookup_found found;
    three(f);
    assert_string_equal(LIST(.descending = true), "3 2 1 (total 3)");
    assert_string_equal(LIST(.sort_by = 5), "2 1 3 (total 3)"); /* end time */
    /* experiments without an end time come last again */
    assert_string_equal(LIST(.sort_by = 5, .descending = true), "2 3 1 (total 3)");
    assert_string_equal(LIST(.sort_by = 10), "3 1 2 (total 3)");                    /* by user: ada before admin */
    assert_string_equal(LIST(.sort_by = 6, .descending = true), "2 3 1 (total 3)"); /* state */
    FAILS(f, ERR_INVALID, "sort_by 7 is not one of this list's",
          store_experiment_find(f->st, &(struct store_experiment_filter){.sort_by = 7}, &f->a, &found, &f->err));
}

static void test_list__pages(void **state)
{
    struct fixture *f = *state;
    three(f);
    assert_string_equal(LIST(.page = {1, 1}), "2 (total 3)");
    assert_string_equal(LIST(.page = {0, -1}), "1 2 3 (total 3)");
    assert_string_equal(LIST(.page = {0, -2}), "(total 3)");
    assert_string_equal(LIST(.page = {30, 10}), "(total 3)");
}

static void test_page__is_read_in_its_order_and_without_who_is_gone(void **state)
{
    struct fixture *f = *state;
    struct store_experiment *x;
    size_t n;
    const int32_t page[] = {3, 77, 1, 2};
    three(f);
    OK(f, store_experiments_shown(f->st, (struct store_ints){page, 4}, &f->a, &x, &n, &f->err));
    assert_int_equal(n, 3);
    assert_int_equal(x[0].id, 3);
    assert_int_equal(x[1].id, 1);
    assert_string_equal(x[2].name, "Mnist 50%");
    assert_string_equal(x[2].config, "{\"name\":\"digits\"}");
}

/* ---- comparison with a reference --------------------------------------------------------------------------------- */

enum { MANY = 80, LABELS = 3, QUESTIONS = 3000 };

static const char *const words[] = {"", "a", "B", "ab", "Abc"};
static const char *const all_states[] = {"ACTIVE", "PAUSED",   "STOPPING_KILLED", "COMPLETED",
                                         "ERROR",  "CANCELED", "DELETE_FAILED"};
static const char *const users[] = {NULL, "admin", "ada", "zoe", "Bob"};
static const char *const shown[] = {NULL, "admin", "same", "same", "Bob"}; /* two users have the same display name */

struct fact {
    struct store_experiment x;
    unsigned labels;
};
struct asked {
    struct store_experiment_filter f;
    const char *label[LABELS], *state[3], *username[2];
    int32_t user[2], incl[5], not_in[5];
};

static const char *list_of_labels(unsigned labels, struct arena *a)
{
    return arena_printf(a, "[%s%s%s%s%s]", labels & 1 ? "\"a\"" : "", (labels & 1) && labels > 1 ? "," : "",
                        labels & 2 ? "\"b\"" : "", (labels & 2) && labels > 3 ? "," : "", labels & 4 ? "\"a b\"" : "");
}

static void make(struct fixture *f, struct rng *r, int32_t id, struct fact *x)
{
    x->labels = (unsigned)rng_int(r, 8);
    x->x = fixture_experiment_row(id);
    x->x.job_id = arena_printf(&f->a, "job-%d", id);
    x->x.name = words[rng_int(r, 5)];
    x->x.description = words[rng_int(r, 5)];
    x->x.state = all_states[rng_int(r, 7)];
    x->x.user_id = 1 + (int32_t)rng_int(r, 4);
    x->x.labels = list_of_labels(x->labels, &f->a);
    x->x.archived = rng_int(r, 3) == 0;
    x->x.has_parent = rng_int(r, 2) == 0;
    x->x.parent_id = x->x.has_parent ? 1 + (int32_t)rng_int(r, 4) : 0;
    x->x.has_progress = rng_int(r, 2) == 0;
    x->x.progress = x->x.has_progress ? (double)rng_int(r, 3) / 2 : 0;
    x->x.start_us = T0 + (int64_t)rng_int(r, 5);
    x->x.end_us = rng_int(r, 3) ? T0 + (int64_t)rng_int(r, 5) : 0;
    x->x.resource_pool = words[1 + rng_int(r, 4)];
    OK(f, store_experiment_insert(f->st, &x->x, "", 0, &f->err));
    if (rng_int(r, 2))
        fixture_trial(f, id, id);
    if (rng_int(r, 3) == 0)
        return;
    struct store_report_result result;
    struct trial_row t = fixture_trial_row(1000 + id, id);
    OK(f, store_trial_put(f->st, &t, true, &f->err));
    const struct store_report report = {.trial_id = 1000 + id,
                                        .run_id = 1,
                                        .group = "validation",
                                        .has_steps = true,
                                        .steps = 1,
                                        .report_us = T0,
                                        .avg_metrics = rng_int(r, 2) ? "{\"loss\":0.5}" : "{\"loss\":-3}"};
    OK(f, store_report_add(f->st, &report, &result, &f->err));
}

static bool contains(const char *all, const char *part)
{
    for (size_t n = strlen(part); strlen(all) >= n; all++)
        if (strncasecmp(all, part, n) == 0)
            return true;
    return false;
}

static bool has_id(struct store_ints list, int32_t id)
{
    for (size_t i = 0; i < list.n; i++)
        if (list.value[i] == id)
            return true;
    return false;
}

static bool has_text(struct store_texts list, const char *text)
{
    for (size_t i = 0; i < list.n; i++)
        if (strcmp(list.text[i], text) == 0)
            return true;
    return false;
}

static bool has_label(unsigned labels, const char *label)
{
    return strcmp(label, "a") == 0   ? labels & 1
           : strcmp(label, "b") == 0 ? labels & 2
                                     : strcmp(label, "a b") == 0 && labels & 4;
}

static bool id_is_within(const struct store_int_filter *f, int32_t id)
{
    return !(f->has_lt && id >= f->lt) && !(f->has_lte && id > f->lte) && !(f->has_gt && id <= f->gt) &&
           !(f->has_gte && id < f->gte) && (f->incl.n == 0 || has_id(f->incl, id)) && !has_id(f->not_in, id);
}

static bool matches(const struct store_experiment_filter *f, const struct fact *x)
{
    for (size_t i = 0; i < f->labels.n; i++)
        if (!has_label(x->labels, f->labels.text[i]))
            return false;
    bool ended = strcmp(x->x.state, "COMPLETED") == 0 || strcmp(x->x.state, "ERROR") == 0 ||
                 strcmp(x->x.state, "CANCELED") == 0;
    bool live = !ended && strcmp(x->x.state, "DELETE_FAILED") != 0;
    return (!f->name || contains(x->x.name, f->name)) &&
           (!f->description || contains(x->x.description, f->description)) &&
           (!f->has_archived || f->archived == x->x.archived) &&
           (f->states.n == 0 || has_text(f->states, x->x.state)) && (!f->only_live || live) &&
           (!f->only_over || ended) &&
           ((f->usernames.n == 0 && f->user_ids.n == 0) || has_text(f->usernames, users[x->x.user_id]) ||
            has_id(f->user_ids, x->x.user_id)) &&
           (f->project_id == 0 || f->project_id == 1) && id_is_within(&f->id, x->x.id);
}

static int order_of(double a, double b)
{
    return a < b ? -1 : a > b;
}

/* Compares two values that may be missing. Missing ones come last in both directions. */
static int compare_known(bool a_known, double a, bool b_known, double b, bool descending)
{
    return a_known != b_known ? (a_known ? -1 : 1) : !a_known ? 0 : descending ? order_of(b, a) : order_of(a, b);
}

static int compare(const struct store_experiment_filter *f, const struct store_experiment *a,
                   const struct store_experiment *b)
{
    int sign = f->descending ? -1 : 1, found = 0;
    switch (f->sort_by) {
    case 2:
        found = sign * strcmp(a->description, b->description);
        break;
    case 4:
        found = sign * order_of((double)a->start_us, (double)b->start_us);
        break;
    case 5:
        found = compare_known(a->end_us != 0, (double)a->end_us, b->end_us != 0, (double)b->end_us, f->descending);
        break;
    case 6:
        found = sign * strcmp(a->state, b->state);
        break;
    case 8:
        found = sign * order_of(a->num_trials, b->num_trials);
        break;
    case 9:
        found = sign * order_of(a->progress, b->progress);
        break;
    case 10:
        found = sign * strcmp(shown[a->user_id], shown[b->user_id]);
        found = found ? found : sign * order_of(a->user_id, b->user_id);
        break;
    case 11:
        found = sign * strcmp(a->name, b->name);
        break;
    case 12:
        found = compare_known(a->has_parent, a->parent_id, b->has_parent, b->parent_id, f->descending);
        break;
    case 13:
        found = sign * strcmp(a->resource_pool, b->resource_pool);
        break;
    case 15:
        found = sign * order_of((double)a->checkpoint_size, (double)b->checkpoint_size);
        break;
    case 16:
        found = sign * order_of(a->checkpoint_count, b->checkpoint_count);
        break;
    case 17:
        found = compare_known(a->has_best, a->best_metric, b->has_best, b->best_metric, f->descending);
        break;
    default:
        break; /* the order is by id, since all are in one project */
    }
    return found ? found : sign * order_of(a->id, b->id);
}

static struct store_texts some_texts(struct rng *r, const char *const *from, unsigned from_n, const char **to,
                                     unsigned max)
{
    size_t n = rng_int(r, 4) ? 0 : 1 + rng_int(r, max);
    for (size_t i = 0; i < n; i++)
        to[i] = from[rng_int(r, from_n)];
    return (struct store_texts){to, n};
}

static struct store_ints some_ids(struct rng *r, int32_t *to, unsigned max, unsigned greatest)
{
    size_t n = rng_int(r, 4) ? 0 : 1 + rng_int(r, max);
    for (size_t i = 0; i < n; i++)
        to[i] = (int32_t)rng_int(r, greatest);
    return (struct store_ints){to, n};
}

static void ask(struct rng *r, struct asked *q)
{
    static const char *const labels[] = {"a", "b", "a b", "none"};
    *q = (struct asked){
        .f = {.name = rng_int(r, 4) ? NULL : words[rng_int(r, 5)],
              .description = rng_int(r, 4) ? NULL : words[rng_int(r, 5)],
              .has_archived = rng_int(r, 2),
              .archived = rng_int(r, 3) == 0,
              .only_live = rng_int(r, 8) == 0,
              .only_over = rng_int(r, 8) == 0,
              .project_id = (int32_t)rng_int(r, 12) / 5,
              .sort_by = (int32_t)rng_int(r, 18),
              .descending = rng_int(r, 2),
              .page = {.offset = rng_int(r, 2) ? (int32_t)rng_int(r, 40) : 0, .limit = (int32_t)rng_int(r, 30)}}};
    if (q->f.sort_by == 3 || q->f.sort_by == 7)
        q->f.sort_by = 0;
    q->f.labels = some_texts(r, labels, 4, q->label, LABELS);
    q->f.states = some_texts(r, all_states, 7, q->state, 3);
    q->f.usernames = some_texts(r, users + 1, 4, q->username, 2);
    q->f.user_ids = some_ids(r, q->user, 2, 6);
    q->f.id = (struct store_int_filter){.has_lt = rng_int(r, 8) == 0,
                                        .has_lte = rng_int(r, 8) == 0,
                                        .has_gt = rng_int(r, 8) == 0,
                                        .has_gte = rng_int(r, 8) == 0,
                                        .lt = (int32_t)rng_int(r, MANY),
                                        .lte = (int32_t)rng_int(r, MANY),
                                        .gt = (int32_t)rng_int(r, MANY),
                                        .gte = (int32_t)rng_int(r, MANY)};
    q->f.id.incl = some_ids(r, q->incl, 5, MANY);
    q->f.id.not_in = some_ids(r, q->not_in, 5, MANY);
}

static const char *judge(struct fixture *f, const struct fact *fact, const struct store_experiment_filter *filter)
{
    const struct store_experiment *found[MANY + 1];
    struct page_window window;
    cleanup_strbuf struct strbuf b = STRBUF_INIT;
    int n = 0;
    for (int i = 1; i <= MANY; i++) {
        if (!matches(filter, &fact[i]))
            continue;
        int at = n++;
        for (; at > 0 && compare(filter, &fact[i].x, found[at - 1]) < 0; at--)
            found[at] = found[at - 1];
        found[at] = &fact[i].x;
    }
    OK(f, page_of_query_list(filter->page, n, &window, &f->err));
    for (int32_t i = window.start; i < window.end; i++)
        strbuf_addf(&b, "%d ", found[i]->id);
    strbuf_addf(&b, "(total %d)", n);
    return arena_strdup(&f->a, b.s);
}

static void test_list__is_what_a_judge_of_rows_finds(void **state)
{
    struct fixture *f = *state;
    static struct fact fact[MANY + 1];
    struct rng rng;
    rng_init(&rng, 11);
    for (int32_t id = 1; id <= 4; id++) {
        const struct store_user u = {.id = id,
                                     .username = users[id],
                                     .active = true,
                                     .modified_us = T0,
                                     .display_name = strcmp(users[id], shown[id]) ? shown[id] : NULL};
        OK(f, store_user_insert(f->st, &u, &f->err));
    }
    OK(f, store_begin(f->st, &f->err));
    for (int32_t id = 1; id <= MANY; id++)
        make(f, &rng, id, &fact[id]);
    OK(f, store_commit(f->st, &f->err));
    for (int32_t id = 1; id <= MANY; id++) /* reads what the store itself keeps */
        OK(f, store_experiment_get(f->st, id, false, &f->a, &fact[id].x, &f->err));
    for (int i = 0; i < QUESTIONS; i++) {
        struct asked q;
        ask(&rng, &q);
        const char *found = ids(f, &q.f), *expected = judge(f, fact, &q.f);
        if (strcmp(found, expected) != 0)
            fail_msg("question %d, sorted by %d: found %s, expected %s", i, q.f.sort_by, found, expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_TRIAL(test_list__filters),
        TEST_TRIAL(test_list__labels_are_whole),
        TEST_TRIAL(test_list__sorts_with_missing_values_last),
        TEST_TRIAL(test_list__pages),
        TEST_TRIAL(test_page__is_read_in_its_order_and_without_who_is_gone),
        TEST(test_list__is_what_a_judge_of_rows_finds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
