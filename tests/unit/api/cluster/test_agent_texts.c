/* Tests the cache of agents' texts: a text is found again while its agent has not changed, is valid as long as a
 * reader holds it, and is not kept for ever. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/cluster/agent_texts.h"

static struct agent_text_key key_of(uint64_t revision)
{
    return (struct agent_text_key){.revision = revision};
}

static void keep_text(struct agent_texts *all, uint64_t revision)
{
    struct wire_agent agent = {.id = "a"};
    struct agent_text *t = agent_text_make(key_of(revision), &agent);
    agent_texts_keep(all, t);
    agent_text_unref(t);
}

static bool knows_text(struct agent_texts *all, struct agent_text_key k)
{
    struct agent_text *t = agent_texts_get(all, k);
    agent_text_unref(t);
    return t != NULL;
}

static void test_a_text__is_of_one_revision_and_form(void **state)
{
    (void)state;
    struct agent_texts *all = agent_texts_new();
    keep_text(all, 7);
    keep_text(all, 7); /* the text was also made by another listing: the first one is kept */
    assert_int_equal(agent_texts_n(all), 1);
    assert_true(knows_text(all, key_of(7)));
    assert_false(knows_text(all, key_of(8)));
    assert_false(knows_text(all, (struct agent_text_key){.revision = 7, .without_slots = 1}));
    assert_false(knows_text(all, (struct agent_text_key){.revision = 7, .without_containers = 1}));
    assert_false(knows_text(all, (struct agent_text_key){.revision = 7, .certificate_us = 1}));
    agent_texts_free(all);
}

static void test_a_text_that_is_read__outlives_the_cache(void **state)
{
    (void)state;
    struct agent_texts *all = agent_texts_new();
    keep_text(all, 1);
    struct agent_text *t = agent_texts_get(all, key_of(1));
    agent_texts_free(all);
    assert_ptr_equal(strstr(agent_text_str(t).s, "{\"id\":\"a\","), agent_text_str(t).s);
    agent_text_unref(t);
}

/* Three agents that change from listing to listing, and one that does not. */
static void test_old_texts__go_when_there_are_two_for_each_agent(void **state)
{
    (void)state;
    struct agent_texts *all = agent_texts_new();
    keep_text(all, 1);
    for (uint64_t revision = 2; revision < 302; revision += 3) {
        for (uint64_t i = 0; i < 3; i++)
            keep_text(all, revision + i);
        assert_true(knows_text(all, key_of(1)));
        agent_texts_listed(all, 4);
        assert_in_range(agent_texts_n(all), 4, 8);
        assert_true(knows_text(all, key_of(revision)));
    }
    agent_texts_free(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_text__is_of_one_revision_and_form),
        cmocka_unit_test(test_a_text_that_is_read__outlives_the_cache),
        cmocka_unit_test(test_old_texts__go_when_there_are_two_for_each_agent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
