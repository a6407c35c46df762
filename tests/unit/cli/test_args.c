#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "cli/args.h"
#include "cli/commands.h"

struct line {
    struct arena arena;
    struct cli_parsed p;
    struct error err;
    int rc;
};

static struct line parse_line(const char *const *word)
{
    struct line l = {0};
    int n = 0;
    while (word[n])
        n++;
    l.rc = args_parse(n, word, &l.arena, &l.p, &l.err);
    return l;
}
#define PARSE(...) parse_line((const char *const[]){"det", __VA_ARGS__, NULL})

static void release_parsed(struct line *l)
{
    arena_release(&l->arena);
    error_release(&l->err);
}

static void expect_usage_error(struct line l, const char *text)
{
    assert_int_equal(l.rc, -1);
    assert_int_equal(l.err.kind, ERR_USAGE);
    if (!strstr(error_msg(&l.err), text))
        fail_msg("expected '%s' within '%s'", text, error_msg(&l.err));
    release_parsed(&l);
}

static void test_args__takes_options_and_arguments_in_any_order(void **state)
{
    struct line l = PARSE("e", "create", "--config", "a=1", "/dev/null", "-f", "--config=b=2", "dir", "--project_id",
                          "3");
    assert_int_equal(l.rc, 0);
    assert_string_equal(l.p.command->path, "experiment create");
    const struct args_experiment_create *args = l.p.args;
    assert_string_equal(args->config_file, "/dev/null");
    assert_string_equal(args->model_def, "dir");
    assert_int_equal(args->config_n, 2);
    assert_string_equal(args->config[1], "b=2");
    assert_true(args->follow_first_trial && args->has_project_id && args->project_id == 3 && !args->paused);
    release_parsed(&l);
}

static void test_args__joins_short_flags_and_shortens_long_ones(void **state)
{
    struct line l = PARSE("exp", "create", "-fi/tmp", "--templ=t", "/dev/null");
    const struct args_experiment_create *args = l.p.args;
    assert_int_equal(l.rc, 0);
    assert_true(args->follow_first_trial);
    assert_string_equal(args->include[0], "/tmp");
    assert_int_equal(args->template_n, 1);
    assert_string_equal(args->template[0], "t");
    release_parsed(&l);
    expect_usage_error(PARSE("e", "create", "/dev/null", "--p"), "ambiguous option: --p could match");
    expect_usage_error(PARSE("e", "create", "/dev/null", "--nonsense"), "unrecognized arguments: --nonsense");
}

static void test_args__says_what_was_meant_by_a_mistyped_word(void **state)
{
    expect_usage_error(PARSE("experimnt", "list"), "invalid choice: 'experimnt' (did you mean 'experiment'?)");
    expect_usage_error(PARSE("e", "lsit"), "did you mean 'list'?");
    expect_usage_error(PARSE("e", "list", "--lable", "x"), "unrecognized arguments: --lable; did you mean --label?");
    expect_usage_error(PARSE("e", "list", "--state", "RUNING"), "did you mean 'RUNNING'?");
    expect_usage_error(PARSE("zzz"), "invalid choice: 'zzz' (choose from agent, ");
}

static void test_args__takes_choices_in_any_case_and_numbers_in_their_range(void **state)
{
    struct line l = PARSE("e", "list", "--state", "running");
    const struct args_experiment_list *args = l.p.args;
    assert_int_equal(l.rc, 0);
    assert_string_equal(args->states[0], "RUNNING");
    release_parsed(&l);
    expect_usage_error(PARSE("trial", "logs", "1", "--tail", "-5"), "argument --tail: must be at least 1, not '-5'");
}

static void test_args__help_names_the_command_that_follows_it(void **state)
{
    struct line l = PARSE("help", "e", "create");
    assert_int_equal(l.rc, 0);
    assert_true(l.p.help);
    assert_string_equal(l.p.command->path, "experiment create");
    release_parsed(&l);
    expect_usage_error(PARSE("help", "experimnt"), "did you mean 'experiment'?");
}

static void test_args__keeps_defaults_and_knows_what_was_given(void **state)
{
    struct line l = PARSE("experiment", "list");
    const struct args_experiment_list *args = l.p.args;
    assert_false(args->has_limit || args->reverse || args->csv);
    assert_null(args->pages);
    release_parsed(&l);
    l = PARSE("deploy", "local", "cluster-up", "--no-gpu");
    assert_false(((const struct args_deploy_local_cluster_up *)l.p.args)->gpu);
    assert_int_equal(((const struct args_deploy_local_cluster_up *)l.p.args)->agents, 1);
    release_parsed(&l);
}

static void test_args__runs_the_default_command_of_a_bare_group(void **state)
{
    struct line l = PARSE("-u", "ada", "-m", "h:1", "a");
    assert_string_equal(l.p.command->path, "agent list");
    assert_string_equal(((const struct args_root *)l.p.root)->user, "ada");
    release_parsed(&l);
    l = PARSE("e", "--csv");
    assert_string_equal(l.p.command->path, "experiment list");
    assert_true(((const struct args_experiment_list *)l.p.args)->csv);
    release_parsed(&l);
    l = PARSE("trial");
    assert_true(l.p.help);
    release_parsed(&l);
    l = PARSE("e", "help");
    assert_true(l.p.help);
    assert_string_equal(l.p.command->path, "experiment");
    release_parsed(&l);
}

static void test_args__refuses_what_does_not_fit(void **state)
{
    expect_usage_error(PARSE("nonsense"), "invalid choice: 'nonsense'");
    expect_usage_error(PARSE("e", "kill"), "the following arguments are required: EXPERIMENT_ID");
    expect_usage_error(PARSE("e", "kill", "x"), "argument EXPERIMENT_ID: invalid int value: 'x'");
    expect_usage_error(PARSE("e", "config", "1", "2"), "unrecognized arguments: 2");
    expect_usage_error(PARSE("e", "create", "/no/such/file"), "No such file or directory");
    expect_usage_error(PARSE("e", "create", "/dev/null", "-f", "--paused"),
                       "not allowed with argument -f/--follow-first-trial");
    expect_usage_error(PARSE("cp", "set", "nonsense", "/dev/null"), "argument workload_type: invalid choice");
    expect_usage_error(PARSE("t", "download", "1"), "one of the arguments --best --latest --uuid is required");
    expect_usage_error(PARSE("e", "list", "--limit"), "argument --limit: expected one argument");
    expect_usage_error(PARSE("e", "list", "--csv=1"), "ignored explicit argument");
}

static void test_args__gives_the_rest_of_the_line_to_a_command(void **state)
{
    struct line l = PARSE("cmd", "run", "-d", "python3", "-c", "print(1)", "--detach");
    const struct args_command_run *args = l.p.args;
    assert_int_equal(l.rc, 0);
    assert_true(args->detach);
    assert_int_equal(args->entrypoint_n, 4);
    assert_string_equal(args->entrypoint[3], "--detach");
    release_parsed(&l);
}

static void test_args__help_wins_over_missing_arguments(void **state)
{
    struct line l = PARSE("e", "kill", "--help");
    assert_int_equal(l.rc, 0);
    assert_true(l.p.help);
    assert_string_equal(l.p.command->path, "experiment kill");
    release_parsed(&l);
}

static void test_args__takes_negative_numbers_as_values(void **state)
{
    struct line l = PARSE("e", "set", "max-slots", "1", "-1");
    assert_int_equal(l.rc, 0);
    assert_string_equal(((const struct args_experiment_set_max_slots *)l.p.args)->max_slots, "-1");
    release_parsed(&l);
}

static void test_args__takes_abbreviated_commands(void **state)
{
    static const struct {
        const char *group, *word, *path;
    } cases[] = {{"mod", "ls", "model list"},
                 {"exp", "desc", "experiment describe"},
                 {"reso", "raw", "resources raw"}, /* "res" is an alias of it, and not of resource-pool */
                 {"user-g", "add", "user-group add-user"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct line l = PARSE(cases[i].group, cases[i].word, "--help");
        assert_int_equal(l.rc, 0);
        assert_string_equal(l.p.command->path, cases[i].path);
        release_parsed(&l);
    }
    expect_usage_error(PARSE("experiment", "li"),
                       "ambiguous command: 'li' could match list, list-checkpoints, list-trials");
    expect_usage_error(PARSE("complete-i", "agent"), "invalid choice: 'complete-i'");
}

static void test_args__knows_the_format_that_was_asked_for(void **state)
{
    static const struct {
        const char *option;
        enum cli_format format;
        bool json, csv;
    } cases[] = {{"--json", CLI_FORMAT_JSON, true, false},
                 {"--yaml", CLI_FORMAT_YAML, true, false},
                 {"--csv", CLI_FORMAT_CSV, false, true},
                 {"--reverse", CLI_FORMAT_USUAL, false, false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct line l = PARSE("experiment", "list", cases[i].option);
        assert_int_equal(l.rc, 0);
        const struct args_experiment_list *args = l.p.args;
        assert_int_equal(l.p.format, cases[i].format);
        assert_true(args->json == cases[i].json && args->csv == cases[i].csv);
        release_parsed(&l);
    }
    expect_usage_error(PARSE("experiment", "list", "--json", "--yaml"), "not allowed with argument --json");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_args__takes_options_and_arguments_in_any_order),
        cmocka_unit_test(test_args__joins_short_flags_and_shortens_long_ones),
        cmocka_unit_test(test_args__says_what_was_meant_by_a_mistyped_word),
        cmocka_unit_test(test_args__takes_choices_in_any_case_and_numbers_in_their_range),
        cmocka_unit_test(test_args__help_names_the_command_that_follows_it),
        cmocka_unit_test(test_args__keeps_defaults_and_knows_what_was_given),
        cmocka_unit_test(test_args__runs_the_default_command_of_a_bare_group),
        cmocka_unit_test(test_args__refuses_what_does_not_fit),
        cmocka_unit_test(test_args__gives_the_rest_of_the_line_to_a_command),
        cmocka_unit_test(test_args__help_wins_over_missing_arguments),
        cmocka_unit_test(test_args__takes_negative_numbers_as_values),
        cmocka_unit_test(test_args__takes_abbreviated_commands),
        cmocka_unit_test(test_args__knows_the_format_that_was_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
