/* Tests pages of lists (docs/spec/wire.md#pages-of-lists), for each family of lists. */
#include "store/fixture.h"

#include "store/lists/page.h"

typedef int page_fn(struct page asked, int64_t total, struct page_window *ret, struct error *err);

struct page_case {
    page_fn *of;
    int32_t offset, limit;
    int64_t total;
    int32_t start, end; /* -1: an error is expected */
};

static const struct page_case cases[] = {
    {page_of_memory_list, 0, 0, 5, 0, 5}, /* limit 0: all rows */
    {page_of_memory_list, 2, 2, 5, 2, 4},         {page_of_memory_list, 4, 10, 5, 4, 5},
    {page_of_memory_list, -2, 0, 5, 3, 5}, /* a negative offset counts from the end */
    {page_of_memory_list, 5, 0, 5, 5, 5},         {page_of_memory_list, 0, 0, 0, 0, 0},
    {page_of_memory_list, 6, 0, 5, -1, -1},                                                 /* out of range */
    {page_of_memory_list, -6, 0, 5, -1, -1},      {page_of_memory_list, 0, -1, 5, -1, -1},  /* negative limit */
    {page_of_query_list, 0, 0, 250, 0, 100},                                                /* limit 0: 100 */
    {page_of_query_list, 200, 0, 250, 200, 250},  {page_of_query_list, 0, -1, 250, 0, 250}, /* all */
    {page_of_query_list, 0, -2, 250, 0, 0},                                                 /* counts only */
    {page_of_query_list, 300, 10, 250, 250, 250},                                           /* past the end: empty */
    {page_of_query_list, 0, 50, 250, 0, 50},      {page_of_query_list, 0, -3, 250, -1, -1},
    {page_of_query_list, -1, 0, 250, -1, -1},     {page_of_workloads, 0, 0, 250, 0, 250}, /* limit 0: all */
    {page_of_workloads, 0, 10, 250, 0, 10},
};

static void test_page__is_the_contracts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct page_case *c = &cases[i];
        struct page_window w = {-1, -1, -1};
        cleanup_error struct error err = ERROR_INIT;
        int rc = c->of((struct page){c->offset, c->limit}, c->total, &w, &err);
        if (rc != (c->start < 0 ? -1 : 0) || w.start != c->start || w.end != c->end)
            fail_msg("case %zu: rc %d, [%d, %d), expected [%d, %d)", i, rc, w.start, w.end, c->start, c->end);
        if (rc < 0)
            assert_int_equal(err.kind, ERR_INVALID);
        else
            assert_int_equal(w.total, c->total);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_page__is_the_contracts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
