/* Any bytes as a context, packed by gzip as it stands: whatever the archive says, nothing appears beside the directory
 * into which it is unpacked, and nothing in there belongs to somebody else. */
#include <fcntl.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/task/untar.h"
#include "common/base/strbuf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static char outer[64];

static void require(int holds)
{
    if (!holds)
        abort();
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    return remove(path);
}

/* Makes the directory. libFuzzer's processes end without cleaning up, so they leave it empty. */
static void make_directory(void)
{
    snprintf(outer, sizeof(outer), "%s/det-fuzz-tar-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    require(mkdtemp(outer) != NULL);
}

/* One stored block (RFC 1951 3.2.4) within gzip: what is fuzzed is the archive, not the compression. libarchive does
 * not look at the check sum. */
static void gzip_data(const uint8_t *data, size_t n, struct strbuf *ret)
{
    static const char head[] = "\x1f\x8b\x08\0\0\0\0\0\0\x03";
    uint16_t size = (uint16_t)n;
    strbuf_add(ret, head, sizeof(head) - 1);
    strbuf_addc(ret, 1); /* a flag: this is the last block */
    strbuf_add(ret, (char[]){(char)size, (char)(size >> 8), (char)~size, (char)(~size >> 8)}, 4);
    strbuf_add(ret, data, n);
    strbuf_add(ret, (char[8]){0}, 8);
}

static int check_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    require(S_ISREG(st->st_mode) || S_ISDIR(st->st_mode) || S_ISLNK(st->st_mode));
    require(st->st_uid == geteuid() && !(st->st_mode & (S_ISUID | S_ISGID)));
    if (S_ISLNK(st->st_mode)) {
        char target[4096];
        ssize_t n = readlink(path, target, sizeof(target) - 1);
        require(n > 0 && target[0] != '/');
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct account owner = {.uid = geteuid(), .gid = getegid(), .name = "", .home = "", .shell = ""};
    struct error err cleanup_error = ERROR_INIT;
    struct strbuf tgz cleanup_strbuf = STRBUF_INIT;
    if (!*outer)
        make_directory();
    if (n > UINT16_MAX)
        return 0;
    char inner[80];
    snprintf(inner, sizeof(inner), "%s/inner", outer);
    require(mkdir(inner, 0700) == 0);
    int dir = open(inner, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    gzip_data(data, n, &tgz);
    if (untar(tgz.s, tgz.n, dir, &owner, &err) < 0)
        require(err.kind != ERR_NONE && strlen(error_msg(&err)) > 0);
    close(dir);
    nftw(inner, check_one, 16, FTW_PHYS);
    nftw(inner, remove_one, 16, FTW_PHYS | FTW_DEPTH);
    require(rmdir(inner) < 0);                             /* all of it could be removed */
    require(rmdir(outer) == 0 && mkdir(outer, 0700) == 0); /* and there was nothing beside it */
    return 0;
}
