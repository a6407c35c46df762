#include "cmocka_setup.h"

#include <string.h>

#include "common/base/sm.h"
#include "common/base/strbuf.h"

enum { DOOR_OPEN, DOOR_CLOSED, DOOR_BROKEN, DOOR_NR };

static const struct sm_state door_states[DOOR_NR] = {
    [DOOR_OPEN] = {"OPEN", SM_TO(DOOR_CLOSED) | SM_TO(DOOR_BROKEN), SM_INITIAL},
    [DOOR_CLOSED] = {"CLOSED", SM_TO(DOOR_OPEN), 0},
    [DOOR_BROKEN] = {"BROKEN", 0, SM_FINAL},
};

static const struct sm_type door_type = {"door", door_states, DOOR_NR};

static void test_sm__follows_its_table(void **state)
{
    struct sm sm;
    sm_init(&sm, &door_type, 17);
    assert_string_equal(sm_name(&sm), "OPEN");
    assert_int_equal(sm_move(&sm, DOOR_CLOSED, NULL), 0);
    assert_int_equal(sm_move(&sm, DOOR_OPEN, NULL), 0);
    assert_int_equal(sm_move(&sm, DOOR_BROKEN, NULL), 0);
    assert_int_equal(sm_move(&sm, DOOR_OPEN, NULL), -1); /* final */
}

static void test_sm__refuses_other_moves_and_says_which(void **state)
{
    struct error err cleanup_error = ERROR_INIT;
    struct sm sm;
    sm_restore(&sm, &door_type, 17, DOOR_CLOSED);
    assert_int_equal(sm_move(&sm, DOOR_BROKEN, &err), -1);
    assert_int_equal(err.kind, ERR_PRECONDITION);
    assert_string_equal(error_msg(&err), "door 17 cannot go from CLOSED to BROKEN");
    assert_int_equal(sm.state, DOOR_CLOSED);
    assert_int_equal(sm_move(&sm, DOOR_CLOSED, NULL), -1);
    assert_int_equal(sm_move(&sm, DOOR_NR, NULL), -1);
    assert_int_equal(sm_move(&sm, -1, NULL), -1);
}

/* A state that is a member of something else. */
static void test_sm__moves_are_checked_without_a_struct_sm(void **state)
{
    struct error err cleanup_error = ERROR_INIT;
    assert_true(sm_type_allows(&door_type, DOOR_CLOSED, DOOR_OPEN));
    assert_false(sm_type_allows(&door_type, DOOR_BROKEN, DOOR_OPEN));
    assert_false(sm_type_allows(&door_type, DOOR_NR, DOOR_OPEN));
    assert_int_equal(sm_check_move(&door_type, 17, DOOR_CLOSED, DOOR_OPEN, NULL), 0);
    assert_int_equal(sm_check_move(&door_type, 17, DOOR_OPEN, DOOR_OPEN, &err), -1);
    assert_string_equal(error_msg(&err), "door 17 cannot go from OPEN to OPEN");
}

static void write_down(void *ctx, const struct sm_type *type, int64_t id, int from, int to, bool refused)
{
    strbuf_addf(ctx, "%s %lld: %s -> %s%s\n", type->name, (long long)id, sm_type_name_of(type, from),
                sm_type_name_of(type, to), refused ? " refused" : "");
}

static void test_sm__traces_each_move(void **state)
{
    struct strbuf story cleanup_strbuf = STRBUF_INIT;
    struct sm sm;
    sm_set_trace(write_down, &story);
    sm_init(&sm, &door_type, 2);
    sm_move(&sm, DOOR_CLOSED, NULL);
    sm_move(&sm, DOOR_BROKEN, NULL);
    sm_set_trace(NULL, NULL);
    sm_move(&sm, DOOR_OPEN, NULL);
    assert_string_equal(story.s, "door 2: OPEN -> CLOSED\n"
                                 "door 2: CLOSED -> BROKEN refused\n");
}

static void test_sm__names_and_states_find_each_other(void **state)
{
    int found = -1;
    assert_int_equal(sm_type_state_of(&door_type, "CLOSED", &found), 0);
    assert_int_equal(found, DOOR_CLOSED);
    assert_int_equal(sm_type_state_of(&door_type, "AJAR", &found), -1);
    assert_null(sm_type_name_of(&door_type, 9));
}

static void assert_bad_table(const struct sm_state *rows, int n, const char *expected)
{
    struct error err cleanup_error = ERROR_INIT;
    struct sm_type type = {"thing", rows, n};
    assert_int_equal(sm_type_check(&type, &err), -1);
    assert_string_equal(error_msg(&err), expected);
}

static void test_sm__check_finds_faults_of_a_table(void **state)
{
    assert_int_equal(sm_type_check(&door_type, NULL), 0);
    assert_bad_table((struct sm_state[]){{"A", SM_TO(1), SM_INITIAL}, {"B", SM_TO(0), SM_FINAL}}, 2,
                     "thing: B is final, yet leads on");
    assert_bad_table((struct sm_state[]){{"A", SM_TO(1), SM_INITIAL}, {"B", 0, 0}}, 2,
                     "thing: B is not final, yet leads nowhere");
    assert_bad_table((struct sm_state[]){{"A", SM_TO(5), SM_INITIAL}}, 1, "thing: A leads to a state without a row");
    assert_bad_table((struct sm_state[]){{"A", 0, SM_FINAL}}, 1, "thing: needs exactly one initial state");
    assert_bad_table((struct sm_state[]){{"A", 0, SM_FINAL | SM_INITIAL}, {"B", 0, SM_FINAL}}, 2,
                     "thing: nothing leads to B");
    assert_bad_table((struct sm_state[]){{"A", SM_TO(1), SM_INITIAL}, {0}}, 2, "thing: state 1 has no row");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sm__follows_its_table),
        cmocka_unit_test(test_sm__refuses_other_moves_and_says_which),
        cmocka_unit_test(test_sm__moves_are_checked_without_a_struct_sm),
        cmocka_unit_test(test_sm__traces_each_move),
        cmocka_unit_test(test_sm__names_and_states_find_each_other),
        cmocka_unit_test(test_sm__check_finds_faults_of_a_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
