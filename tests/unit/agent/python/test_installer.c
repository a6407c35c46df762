#include "cmocka_setup.h"

#include <string.h>

#include "agent/python/installer.h"
#include "common/base/cleanup.h"
#include "common/base/utf8.h"

static const char *const files[] = {"/c/k/work/requirements-1.txt"};

static struct python_settings settings(void)
{
    return (struct python_settings){.dir = "/c",
                                    .wheels = "",
                                    .index_url = "",
                                    .lists_dir = "",
                                    .http_proxy = "",
                                    .https_proxy = "",
                                    .no_proxy = ""};
}

static struct installer_job job(const struct python_settings *s, const char *uv)
{
    return (struct installer_job){.settings = s,
                                  .uv = uv,
                                  .python = "/usr/bin/python3",
                                  .environment = "/c/k/env",
                                  .work = "/c/k/work",
                                  .file = files,
                                  .file_n = 1};
}

static const char *joined(char *const *words, struct arena *a)
{
    const char *text = words[0];
    for (size_t i = 1; words[i]; i++)
        text = arena_printf(a, "%s %s", text, words[i]);
    return text;
}

static void test_commands__use_uv_where_it_is_installed(void **state)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct python_settings s = settings();
    struct installer_job j = job(&s, "/usr/bin/uv");
    assert_string_equal(joined(installer_make_command(&j, INSTALLER_UV, &a), &a),
                        "/usr/bin/uv venv --no-project --quiet --python /usr/bin/python3 /c/k/env");
    assert_string_equal(joined(installer_install_command(&j, INSTALLER_UV, &a), &a),
                        "/usr/bin/uv pip install --compile-bytecode --no-progress --python /c/k/env/bin/python -r "
                        "/c/k/work/requirements-1.txt");
}

static void test_commands__use_the_pip_of_the_environment_or_of_the_interpreter(void **state)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct python_settings s = settings();
    struct installer_job j = job(&s, NULL);
    assert_string_equal(joined(installer_make_command(&j, INSTALLER_VENV, &a), &a),
                        "/usr/bin/python3 -I -m venv --clear /c/k/env");
    assert_non_null(
        strstr(joined(installer_install_command(&j, INSTALLER_VENV, &a), &a), "/c/k/env/bin/python -m pip install "));
    assert_string_equal(joined(installer_make_command(&j, INSTALLER_VENV_WITHOUT_PIP, &a), &a),
                        "/usr/bin/python3 -I -m venv --clear --without-pip /c/k/env");
    assert_non_null(strstr(joined(installer_install_command(&j, INSTALLER_VENV_WITHOUT_PIP, &a), &a),
                           "/usr/bin/python3 -m pip --python /c/k/env/bin/python install "));
}

static void test_commands__ask_no_index_if_there_is_a_directory_of_wheels(void **state)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct python_settings s = settings();
    s.wheels = "/srv/wheels";
    s.only_wheels = true;
    struct installer_job j = job(&s, NULL);
    j.hashed = true;
    const char *text = joined(installer_install_command(&j, INSTALLER_VENV, &a), &a);
    assert_non_null(strstr(text, " --no-index --find-links /srv/wheels --only-binary :all: --require-hashes -r "));
}

static void test_environment__has_the_index_and_nothing_of_the_agent(void **state)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct python_settings s = settings();
    s.index_url = "https://ada:x@host/simple";
    s.https_proxy = "http://proxy:3128";
    struct installer_job j = job(&s, "/usr/bin/uv");
    char *inherited[] = {"PATH=/usr/bin",          "SECRET=1", "DET_TOKEN=t", "https_proxy=http://old",
                         "http_proxy=http://mine", NULL};
    const char *text = joined(installer_environment(&j, inherited, &a), &a);
    assert_null(strstr(text, "SECRET"));
    assert_null(strstr(text, "DET_"));
    assert_null(strstr(text, "http://old"));
    assert_non_null(strstr(text, "https_proxy=http://proxy:3128"));
    assert_non_null(strstr(text, "http_proxy=http://mine"));
    assert_non_null(strstr(text, "UV_DEFAULT_INDEX=https://ada:x@host/simple"));
    assert_null(strstr(joined(installer_install_command(&j, INSTALLER_UV, &a), &a), "ada"));
}

static void check_hidden(const char *line, const char *expected)
{
    cleanup_strbuf struct strbuf shown = STRBUF_INIT;
    installer_hide_passwords(line, &shown);
    assert_string_equal(strbuf_str(&shown), expected);
}

static void test_passwords__are_hidden_in_every_address_of_a_line(void **state)
{
    check_hidden("no address", "no address");
    check_hidden("", "");
    check_hidden("from https://ada:s3@host/x and http://tok@b/", "from https://***@host/x and http://***@b/");
    check_hidden("https://ada:p@ss@host/", "https://***@host/");
    check_hidden("https://host/a@b", "https://host/a@b");
    check_hidden("'https://ada:x@h/simple'", "'https://***@h/simple'");
}

static void check_explained(const char *wheels, const char *output, const char *words)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    struct python_settings s = settings();
    s.wheels = wheels;
    struct installer_job j = job(&s, NULL);
    installer_explain(&j, output, &text);
    if (!strstr(strbuf_str(&text), words))
        fail_msg("\"%s\" is not in \"%s\"", words, strbuf_str(&text));
    assert_null(strchr(text.s, '\n'));
}

static void test_explain__names_the_cause_and_what_to_do(void **state)
{
    const char *uv =
        "Using Python 3.11.2 environment at: e\nerror: No solution found when resolving dependencies\n"
        "  cause: Because einops was not found in the package registry and you require einops, we can conclude "
        "that your requirements are unsatisfiable.\n";
    check_explained("", uv, "the requirements cannot be met: Because einops was not found");
    check_explained("", uv, "change the requirements of environment.python");
    check_explained("/srv/wheels", uv, "installs from the directory /srv/wheels only");
    check_explained(
        "", "ERROR: Could not find a version (from versions: none)\nERROR: No matching distribution found for x==9\n",
        "the requirements cannot be met: No matching distribution found for x==9;");
    check_explained("", "  cause: tcp connect error\n  cause: Connection refused (os error 111)\n",
                    "the package index cannot be reached (tcp connect error)");
    check_explained("",
                    "WARNING: Retrying after 'Failed to establish a new connection: [Errno 111]': /simple/x/\n"
                    "ERROR: No matching distribution found for x\n",
                    "the package index cannot be reached");
    check_explained("", "OSError: [Errno 28] No space left on device\n", "the disk of /c is full");
    check_explained("", "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.\n",
                    "does not have the hash");
    check_explained("", "line one\nerror: https://ada:pw@h/ broke\n\n",
                    "pip failed: https://***@h/ broke; see the lines above");
    check_explained("", "", "pip failed");
}

static void test_explain__cuts_a_long_line_between_two_characters(void **state)
{
    cleanup_strbuf struct strbuf output = STRBUF_INIT, text = STRBUF_INIT;
    struct python_settings s = settings();
    struct installer_job j = job(&s, NULL);
    strbuf_addf(&output, "error: %0399d\xc3\xbc and so on\n", 0);
    installer_explain(&j, strbuf_str(&output), &text);
    assert_int_equal(utf8_check(text.s, text.n), text.n);
    assert_non_null(strstr(text.s, "000; see the lines above"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_commands__use_uv_where_it_is_installed),
        cmocka_unit_test(test_commands__use_the_pip_of_the_environment_or_of_the_interpreter),
        cmocka_unit_test(test_commands__ask_no_index_if_there_is_a_directory_of_wheels),
        cmocka_unit_test(test_environment__has_the_index_and_nothing_of_the_agent),
        cmocka_unit_test(test_passwords__are_hidden_in_every_address_of_a_line),
        cmocka_unit_test(test_explain__names_the_cause_and_what_to_do),
        cmocka_unit_test(test_explain__cuts_a_long_line_between_two_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
