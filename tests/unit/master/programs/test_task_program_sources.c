/* What a TensorBoard shows: experiments and trials, read from the store. */
#include "store/fixture.h"

#include "master/programs/task_program.h"

/* An experiment whose storage has its number in its path. */
static void add_experiment(struct fixture *f, int32_t id)
{
    struct store_experiment x = fixture_experiment_row(id);
    char job[32], config[128];
    snprintf(job, sizeof(job), "job-%d", id);
    snprintf(config, sizeof(config), "{\"checkpoint_storage\":{\"type\":\"directory\",\"container_path\":\"/c%d\"}}",
             id);
    x.job_id = job;
    x.config = config;
    OK(f, store_experiment_insert(f->st, &x, "tgz", 3, &f->err));
}

static int set_up(void **state)
{
    if (fixture_setup(state) < 0)
        return -1;
    struct fixture *f = *state;
    fixture_user(f, 1, "admin");
    for (int32_t id = 1; id <= 3; id++) {
        add_experiment(f, id);
        fixture_trial(f, 10 * id, id);
        fixture_trial(f, 10 * id + 1, id);
    }
    return 0;
}

/* Describes the sources as "EXPERIMENT:STORAGE:TRIALS ". */
static void expect_sources(struct fixture *f, const char *experiments, const char *trials, const char *expected)
{
    cleanup_strbuf struct strbuf found = STRBUF_INIT;
    struct task_program_source *s;
    size_t n;
    OK(f, task_program_sources(f->st, experiments, trials, &f->a, &s, &n, &f->err));
    for (size_t i = 0; i < n; i++) {
        strbuf_addf(&found, "%d:%s:", s[i].experiment_id, strstr(s[i].storage, "/c"));
        for (size_t j = 0; j < s[i].trial_n; j++)
            strbuf_addf(&found, "%s%d", j ? "," : "", s[i].trial_id[j]);
        strbuf_addc(&found, ' ');
    }
    assert_string_equal(strbuf_str(&found), expected);
}

static void test_sources__are_sorted_and_each_experiment_is_there_once(void **state)
{
    struct fixture *f = *state;
    expect_sources(f, "[3,1,3]", NULL, "1:/c1\"}: 3:/c3\"}: ");
    expect_sources(f, NULL, "[31,10,30]", "1:/c1\"}:10 3:/c3\"}:31,30 ");
    expect_sources(f, "[2]", "[20,10]", "1:/c1\"}:10 2:/c2\"}: "); /* the whole experiment has its trial */
    expect_sources(f, NULL, "[]", "");
}

static void test_sources__of_what_does_not_exist_are_an_error(void **state)
{
    struct fixture *f = *state;
    struct task_program_source *s;
    size_t n;
    FAILS(f, ERR_NOT_FOUND, "9", task_program_sources(f->st, "[9]", NULL, &f->a, &s, &n, &f->err));
    FAILS(f, ERR_NOT_FOUND, "99", task_program_sources(f->st, "[1]", "[99]", &f->a, &s, &n, &f->err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_sources__are_sorted_and_each_experiment_is_there_once, set_up,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(test_sources__of_what_does_not_exist_are_an_error, set_up, fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
