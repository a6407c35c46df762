/* Which Python a command would run, from what lies in a few directories. */
#include "cmocka_setup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/system/files.h"
#include "task/python_facts.h"

struct fixture {
    struct arena a;
    char dir[32];
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    snprintf(f->dir, sizeof(f->dir), "/tmp/det-test-pythonXXXXXX");
    *state = f;
    return mkdtemp(f->dir) ? 0 : -1;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    tree_remove(f->dir, NULL);
    arena_release(&f->a);
    free(f);
    return 0;
}

static const char *path_in_root(struct fixture *f, const char *path)
{
    return arena_printf(&f->a, "%s/%s", f->dir, path);
}

static void make_directories(struct fixture *f, const char *path)
{
    for (const char *slash = strchr(path, '/');; slash = strchr(slash + 1, '/')) {
        mkdir(slash ? path_in_root(f, arena_strndup(&f->a, path, (size_t)(slash - path))) : path_in_root(f, path),
              0755);
        if (!slash)
            return;
    }
}

static void put_file(struct fixture *f, const char *dir, const char *name, const char *text, mode_t mode)
{
    make_directories(f, dir);
    const char *path = path_in_root(f, arena_printf(&f->a, "%s/%s", dir, name));
    assert_int_equal(file_write(path, text, strlen(text), mode, NULL), 0);
}

static const struct python_found *find_python(struct fixture *f, const char *command, const char *path,
                                              const char *python_path)
{
    const char *argv[] = {command};
    struct python_search s = {.argv = argv,
                              .argv_n = 1,
                              .path = path,
                              .python_path = python_path,
                              .work_dir = f->dir,
                              .user_base = path_in_root(f, "user")};
    struct python_found *found = arena_new(&f->a, struct python_found);
    return python_facts_find(&s, &f->a, found) ? found : NULL;
}

static const char *list_packages(struct fixture *f, const struct python_found *p)
{
    const char *all = "";
    for (size_t i = 0; i < p->package_n; i++)
        all = arena_printf(&f->a, "%s%s %s;", all, p->package[i].name, p->package[i].version);
    return all;
}

static void test_python_facts__of_a_virtual_environment(void **state)
{
    struct fixture *f = *state;
    put_file(f, "venv/bin", "python3", "", 0755);
    put_file(f, "venv", "pyvenv.cfg", "home = /usr/bin\nversion = 3.11.2\n", 0644);
    make_directories(f, "venv/lib/python3.11/site-packages/Some_Package-1.0.dist-info");
    make_directories(f, "venv/lib/python3.11/site-packages/old..name-2.1-py3.11.egg-info");
    make_directories(f, "venv/lib/python3.11/site-packages/torch-2.15.0+cu132.dist-info");
    make_directories(f, "venv/lib/python3.11/site-packages/odd.dist-info");
    make_directories(f, "venv/lib/python3.11/site-packages/not-1.0");
    make_directories(f, "user/lib/python3.11/site-packages/users-1.0.dist-info"); /* not visible to this interpreter */
    make_directories(f, "first/some.package-2.0.dist-info");
    const struct python_found *p = find_python(f, "./train.sh", "none:venv/bin", "first:gone");
    assert_string_equal(p->executable, path_in_root(f, "venv/bin/python3"));
    assert_string_equal(p->version, "3.11.2");
    assert_string_equal(list_packages(f, p), "old-name 2.1;some-package 2.0;torch 2.15.0+cu132;");
    put_file(f, "venv", "pyvenv.cfg", "version_info = 3.11.7.final.0", 0644);
    assert_string_equal(find_python(f, "true", path_in_root(f, "venv/bin"), NULL)->version, "3.11.7");
}

static void test_python_facts__of_a_whole_installation(void **state)
{
    struct fixture *f = *state;
    put_file(f, "usr/bin", "python3.12", "", 0755);
    assert_int_equal(symlink("python3.12", path_in_root(f, "usr/bin/python3")), 0);
    make_directories(f, "usr/lib/python3/dist-packages/numpy-1.0.dist-info");
    make_directories(f, "usr/local/lib/python3.12/dist-packages/numpy-2.0.dist-info");
    make_directories(f, "user/lib/python3.12/site-packages/numpy-3.0.dist-info");
    const struct python_found *p = find_python(f, "sleep 5", path_in_root(f, "usr/bin"), NULL);
    assert_string_equal(p->executable, path_in_root(f, "usr/bin/python3"));
    assert_string_equal(p->version, "3.12");
    assert_string_equal(list_packages(f, p), "numpy 3.0;");
}

static void test_python_facts__the_interpreter_that_the_command_names(void **state)
{
    struct fixture *f = *state;
    put_file(f, "a/bin", "python3", "#!/bin/sh", 0755); /* as the shims of pyenv are */
    put_file(f, "b/bin", "python3.9", "", 0755);
    put_file(f, "b/bin", "python3.8", "", 0644);
    const char *path = path_in_root(f, "a/bin");
    assert_string_equal(find_python(f, "cd x && b/bin/python3.9 train.py", path, NULL)->executable,
                        path_in_root(f, "b/bin/python3.9"));
    assert_string_equal(find_python(f, "b/bin/python3.9 train.py", path, NULL)->version, "3.9");
    assert_string_equal(find_python(f, "python3 train.py", path, NULL)->executable, path_in_root(f, "a/bin/python3"));
    assert_string_equal(find_python(f, "python3 train.py", path, NULL)->version, "");
    assert_string_equal(find_python(f, "b/bin/python3.8 pythonic b/bin/python-config", path, NULL)->executable,
                        path_in_root(f, "a/bin/python3"));
}

static void test_python_facts__nothing_is_told_of_what_is_not_there(void **state)
{
    struct fixture *f = *state;
    assert_null(find_python(f, "python3 train.py", path_in_root(f, "none"), NULL));
    assert_null(find_python(f, "", NULL, NULL));
    put_file(f, "shims", "python3", "#!/bin/sh", 0755);
    put_file(f, "shims", "wrapper", "#!/bin/sh", 0755);
    unlink(path_in_root(f, "shims/python3"));
    assert_int_equal(symlink("wrapper", path_in_root(f, "shims/python3")), 0);
    const struct python_found *p = find_python(f, "true", path_in_root(f, "shims"), NULL);
    assert_string_equal(p->executable, path_in_root(f, "shims/python3"));
    assert_string_equal(p->version, "");
    assert_int_equal(p->package_n, 0);
}

static void make_environment(struct fixture *f)
{
    put_file(f, "venv/bin", "python3", "", 0755);
    make_directories(f, "venv/lib/python3.11/site-packages/numpy-1.0.dist-info");
}

/* Each of these would block a program that reads files without precautions. */
static void test_python_facts__a_fifo_a_link_and_a_huge_file_in_the_place_of_pyvenv_cfg_are_passed_by(void **state)
{
    struct fixture *f = *state;
    make_environment(f);
    const char *config = path_in_root(f, "venv/pyvenv.cfg");
    assert_int_equal(mkfifo(config, 0600), 0);
    assert_string_equal(find_python(f, "true", path_in_root(f, "venv/bin"), NULL)->version, "");
    unlink(config);
    assert_int_equal(symlink("pyvenv.cfg", config), 0);
    assert_string_equal(find_python(f, "true", path_in_root(f, "venv/bin"), NULL)->version, "");
    unlink(config);
    assert_int_equal(symlink("/dev/zero", config), 0);
    assert_string_equal(find_python(f, "true", path_in_root(f, "venv/bin"), NULL)->version, "");
    unlink(config);
    put_file(f, "venv", "pyvenv.cfg", "version = 3.11.2\n", 0644);
    assert_int_equal(truncate(config, 1LL << 40), 0);
    assert_string_equal(find_python(f, "true", path_in_root(f, "venv/bin"), NULL)->version, "");
}

static void test_python_facts__what_is_told_is_understood(void **state)
{
    struct fixture *f = *state;
    struct strbuf text cleanup_strbuf = STRBUF_INIT;
    struct python_found found;
    make_environment(f);
    put_file(f, "venv", "pyvenv.cfg", "version = 3.11.2\n", 0644);
    python_found_encode(find_python(f, "true", path_in_root(f, "venv/bin"), NULL), &text);
    assert_int_equal(python_found_decode(text.s, text.n, &f->a, &found), 0);
    assert_string_equal(found.version, "3.11.2");
    assert_string_equal(list_packages(f, &found), "numpy 1.0;");
    for (size_t n = 0; n < text.n; n++)
        assert_int_equal(python_found_decode(text.s, n, &f->a, &found), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_python_facts__of_a_virtual_environment, setup, teardown),
        cmocka_unit_test_setup_teardown(test_python_facts__of_a_whole_installation, setup, teardown),
        cmocka_unit_test_setup_teardown(test_python_facts__the_interpreter_that_the_command_names, setup, teardown),
        cmocka_unit_test_setup_teardown(test_python_facts__nothing_is_told_of_what_is_not_there, setup, teardown),
        cmocka_unit_test_setup_teardown(
            test_python_facts__a_fifo_a_link_and_a_huge_file_in_the_place_of_pyvenv_cfg_are_passed_by, setup, teardown),
        cmocka_unit_test_setup_teardown(test_python_facts__what_is_told_is_understood, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
