#include "cmocka_setup.h"

#include "api/pipeline/topics.h"

struct sleeper {
    struct topic_member member; /* must be the first member */
    struct topics *topics;
    int woken;
    bool leave, join_again;
    struct topic_member *take_along;
};

static void on_wake(struct topic_member *m)
{
    struct sleeper *s = (struct sleeper *)m;
    s->woken++;
    if (s->take_along)
        topic_leave(s->topics, s->take_along);
    if (s->leave || s->join_again)
        topic_leave(s->topics, m);
    if (s->join_again)
        topic_join(s->topics, "t", m);
}

static struct sleeper make_sleeper(struct topics *t)
{
    return (struct sleeper){.member.wake = on_wake, .topics = t};
}

static void test_wake__reaches_each_member_of_the_topic_once(void **state)
{
    struct topics *t = topics_new();
    struct sleeper a = make_sleeper(t), b = make_sleeper(t), other = make_sleeper(t);
    topic_join(t, "t", &a.member);
    topic_join(t, "t", &b.member);
    topic_join(t, "u", &other.member);
    topics_wake(t, "t");
    topics_wake(t, "nobody");
    assert_int_equal(a.woken, 1);
    assert_int_equal(b.woken, 1);
    assert_int_equal(other.woken, 0);
    topic_leave(t, &a.member);
    topic_leave(t, &b.member);
    topic_leave(t, &b.member); /* leaving is allowed for one that is no member any more */
    topic_leave(t, &other.member);
    topics_free(t);
}

static void test_wake__members_may_leave_and_the_topic_goes_with_the_last(void **state)
{
    struct topics *t = topics_new();
    struct sleeper a = make_sleeper(t), b = make_sleeper(t);
    a.leave = b.leave = true;
    topic_join(t, "t", &a.member);
    topic_join(t, "t", &b.member);
    topics_wake(t, "t");
    topics_wake(t, "t");
    assert_int_equal(a.woken + b.woken, 2);
    topics_free(t);
}

static void test_wake__a_member_may_take_another_one_away(void **state)
{
    struct topics *t = topics_new();
    struct sleeper a = make_sleeper(t), b = make_sleeper(t);
    a.leave = b.leave = true;
    a.take_along = &b.member;
    b.take_along = &a.member;
    topic_join(t, "t", &a.member);
    topic_join(t, "t", &b.member);
    topics_wake(t, "t");
    assert_int_equal(a.woken + b.woken, 1);
    topics_free(t);
}

static void test_wake__who_joins_again_is_not_woken_twice(void **state)
{
    struct topics *t = topics_new();
    struct sleeper a = make_sleeper(t);
    a.join_again = true;
    topic_join(t, "t", &a.member);
    topics_wake(t, "t");
    assert_int_equal(a.woken, 1);
    topics_wake(t, "t");
    assert_int_equal(a.woken, 2);
    topic_leave(t, &a.member);
    topics_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wake__reaches_each_member_of_the_topic_once),
        cmocka_unit_test(test_wake__members_may_leave_and_the_topic_goes_with_the_last),
        cmocka_unit_test(test_wake__a_member_may_take_another_one_away),
        cmocka_unit_test(test_wake__who_joins_again_is_not_woken_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
