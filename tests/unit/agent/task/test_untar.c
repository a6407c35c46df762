#include "cmocka_setup.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/task/untar.h"
#include "common/system/files.h"

struct member {
    char type;                  /* f file, d directory, l symbolic link, h hard link, p pipe, c device */
    const char *path, *content; /* or the link's target */
    int mode;
};

struct fixture {
    char path[64], inside[80];
    int dir;
    char archive[65536];
    size_t archive_n;
};

static int set_up(void **state)
{
    struct fixture *x = calloc(1, sizeof(*x));
    memcpy(x->path, "/tmp/det-untar-XXXXXX", 22);
    assert_non_null(mkdtemp(x->path));
    snprintf(x->inside, sizeof(x->inside), "%s/inside", x->path);
    assert_int_equal(mkdir(x->inside, 0755), 0);
    x->dir = open(x->inside, O_RDONLY | O_DIRECTORY);
    *state = x;
    return 0;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    return remove(path);
}

static int tear_down(void **state)
{
    struct fixture *x = *state;
    close(x->dir);
    nftw(x->path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    free(x);
    return 0;
}

static void set_type(struct archive_entry *e, const struct member *m)
{
    static const struct {
        char type;
        unsigned filetype;
    } row[] = {{'f', AE_IFREG}, {'d', AE_IFDIR}, {'l', AE_IFLNK}, {'p', AE_IFIFO}, {'c', AE_IFCHR}, {'h', AE_IFREG}};
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
        if (row[i].type == m->type)
            archive_entry_set_filetype(e, row[i].filetype);
    if (m->type == 'l')
        archive_entry_set_symlink(e, m->content);
    if (m->type == 'h')
        archive_entry_set_hardlink(e, m->content);
    if (m->type == 'f')
        archive_entry_set_size(e, (la_int64_t)strlen(m->content));
}

static void pack_member(struct fixture *x, const struct member *m)
{
    struct archive *out = archive_write_new();
    archive_write_add_filter_gzip(out);
    archive_write_set_format_gnutar(out);
    assert_int_equal(archive_write_open_memory(out, x->archive, sizeof(x->archive), &x->archive_n), ARCHIVE_OK);
    for (; m->path; m++) {
        struct archive_entry *e = archive_entry_new();
        archive_entry_set_pathname(e, m->path);
        archive_entry_set_perm(e, m->mode ? (mode_t)m->mode : 0644);
        set_type(e, m);
        assert_int_equal(archive_write_header(out, e), ARCHIVE_OK);
        if (m->type == 'f')
            archive_write_data(out, m->content, strlen(m->content));
        archive_entry_free(e);
    }
    archive_write_close(out);
    archive_write_free(out);
}

static int unpack_archive(struct fixture *x, struct error *err)
{
    struct account self = {.name = "self"};
    return untar(x->archive, x->archive_n, x->dir, &self, err);
}

/* What a file inside holds; "" if there is none. */
static char *file_content(struct fixture *x, const char *name)
{
    struct strbuf b = STRBUF_INIT;
    char *path = path_join(x->inside, name);
    file_read(path, 1 << 20, &b, NULL);
    free(path);
    return strbuf_detach(&b);
}

static void assert_holds(struct fixture *x, const char *name, const char *want)
{
    char *got = file_content(x, name);
    assert_string_equal(got, want);
    free(got);
}

static mode_t mode_of(struct fixture *x, const char *name)
{
    struct stat st = {0};
    fstatat(x->dir, name, &st, AT_SYMLINK_NOFOLLOW);
    return st.st_mode & 07777;
}

static void test_untar__brings_files_directories_and_inner_links(void **state)
{
    struct fixture *x = *state;
    pack_member(x, (struct member[]){{'d', "./", NULL, 0755},
                                     {'f', "a.py", "x = 1\n"},
                                     {'f', "./deep/er/b.py", "y = 2\n", 0755},
                                     {'l', "deep/link", "../a.py"},
                                     {'h', "hard", "a.py"},
                                     {'f', "gr\xc3\xbc\xc3\x9f", "utf8"},
                                     {0}});
    assert_int_equal(unpack_archive(x, NULL), 0);
    assert_holds(x, "a.py", "x = 1\n");
    assert_holds(x, "deep/er/b.py", "y = 2\n");
    assert_holds(x, "deep/link", "x = 1\n");
    assert_holds(x, "hard", "x = 1\n");
    assert_holds(x, "gr\xc3\xbc\xc3\x9f", "utf8");
    assert_int_equal(mode_of(x, "deep/er/b.py"), 0755);
}

static void test_untar__drops_set_user_id_and_keeps_the_owner_able_to_write(void **state)
{
    struct fixture *x = *state;
    pack_member(x, (struct member[]){{'f', "suid", "x", 06755},
                                     {'f', "none", "x", 01},
                                     {'d', "closed", NULL, 01},
                                     {'f', "closed/in", "x"},
                                     {0}});
    assert_int_equal(unpack_archive(x, NULL), 0);
    assert_int_equal(mode_of(x, "suid"), 0755);
    assert_int_equal(mode_of(x, "none"), 0601);
    assert_int_equal(mode_of(x, "closed"), 0701);
}

static void test_untar__takes_the_last_of_two_members_and_never_writes_through_a_link(void **state)
{
    struct fixture *x = *state;
    pack_member(x, (struct member[]){{'f', "target", "old"}, {'l', "twice", "target"}, {'f', "twice", "new"}, {0}});
    assert_int_equal(unpack_archive(x, NULL), 0);
    assert_holds(x, "target", "old");
    assert_holds(x, "twice", "new");
}

static void test_untar__refuses_whatever_leads_outside(void **state)
{
    struct fixture *x = *state;
    static const struct {
        struct member member[4];
        const char *word;
    } row[] = {
        {{{'f', "../escape", "x"}}, "../escape"},
        {{{'f', "a/../../escape", "x"}}, ".."},
        {{{'f', "/tmp/det-untar-escape", "x"}}, "absolute"},
        {{{'l', "link", "/etc/passwd"}}, "leads outside"},
        {{{'l', "link", "../escape"}}, "leads outside"},
        {{{'l', "a/link", "../../escape"}}, "leads outside"},
        {{{'l', "link", "a/../../escape"}}, "leads outside"},
        {{{'d', "a"}, {'l', "dir", "a"}, {'f', "dir/x", "x"}}, "not a directory"},
        {{{'f', "file", "x"}, {'f', "file/below", "x"}}, "not a directory"},
        {{{'h', "hard", "../escape"}}, ".."},
        {{{'h', "hard", "/etc/passwd"}}, "absolute"},
        {{{'h', "hard", "missing"}}, "not in the archive"},
        {{{'p', "pipe"}}, "device, pipe or socket"},
        {{{'c', "device"}}, "device, pipe or socket"},
    };
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        struct error err = ERROR_INIT;
        pack_member(x, row[i].member);
        assert_int_equal(unpack_archive(x, &err), -1);
        if (!strstr(error_msg(&err), row[i].word))
            fail_msg("row %zu: %s", i, error_msg(&err));
        error_release(&err);
        char *escape = path_join(x->path, "escape");
        assert_int_equal(access(escape, F_OK), -1);
        free(escape);
        tear_down(state);
        set_up(state);
        x = *state;
    }
}

static void test_untar__refuses_damaged_archives(void **state)
{
    struct fixture *x = *state;
    pack_member(x, (struct member[]){{'f', "a", "some content that is long enough to be cut somewhere within"}, {0}});
    size_t whole = x->archive_n;
    for (size_t n = 1; n < whole; n += 7) {
        x->archive_n = n;
        unpack_archive(x, NULL); /* some cuts leave a whole member; none may crash */
    }
    struct error err = ERROR_INIT;
    memcpy(x->archive, "this is no archive", 18);
    x->archive_n = 18;
    assert_int_equal(unpack_archive(x, &err), -1);
    assert_int_equal(err.kind, ERR_INVALID);
    error_release(&err);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_untar__brings_files_directories_and_inner_links),
        TEST(test_untar__drops_set_user_id_and_keeps_the_owner_able_to_write),
        TEST(test_untar__takes_the_last_of_two_members_and_never_writes_through_a_link),
        TEST(test_untar__refuses_whatever_leads_outside),
        TEST(test_untar__refuses_damaged_archives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
