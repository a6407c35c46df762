/* Any list of files as a model definition, "PATH\nTYPE CONTENT\n" again and again: what the master makes an archive of,
 * an agent must be able to unpack, whole. */
#include <fcntl.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/task/untar.h"
#include "api/experiments/model_archive.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define FILES_MAX 32

static char place[64];

static void require(int holds)
{
    if (!holds)
        abort();
}

static char *cut_line(char **rest)
{
    char *line = *rest, *end = strchr(line, '\n');
    *rest = end ? end + 1 : line + strlen(line);
    if (end)
        *end = '\0';
    return line;
}

static size_t read_files(char *rest, struct wire_util_file file[FILES_MAX])
{
    size_t n = 0;
    while (*rest && n < FILES_MAX) {
        file[n].path = cut_line(&rest);
        char *content = cut_line(&rest);
        file[n].type = *content == 'd' ? 53 : *content == 'x' ? 50 : 48;
        file[n].mode = *content == 'w' ? 07777 : 0644;
        file[n].content = (struct wire_bytes){(const void *)content, strlen(content)};
        file[n].mtime = *content == 'm' ? INT64_MIN : 5;
        n++;
    }
    return n;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    return remove(path);
}

static bool is_there(int dir, const struct wire_util_file *f)
{
    struct stat st;
    return fstatat(dir, f->path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Unpacks the archive. An archive in which one name is both a file and a directory has no single meaning; the agent
 * refuses it. */
static void unpack_archive(const struct strbuf *tgz, const struct wire_util_file *file, size_t n)
{
    struct account owner = {.uid = geteuid(), .gid = getegid(), .name = "", .home = "", .shell = ""};
    struct error err cleanup_error = ERROR_INIT;
    require(mkdir(place, 0700) == 0);
    int dir = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (untar(tgz->s, tgz->n, dir, &owner, &err) == 0)
        for (size_t i = 0; i < n; i++)
            require(is_there(dir, &file[i]));
    else
        require(n > 1 && strlen(error_msg(&err)) > 0);
    close(dir);
    nftw(place, remove_one, 16, FTW_PHYS | FTW_DEPTH);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct wire_util_file file[FILES_MAX] = {0};
    struct error err cleanup_error = ERROR_INIT;
    struct strbuf text cleanup_strbuf = STRBUF_INIT, tgz cleanup_strbuf = STRBUF_INIT;
    if (!*place)
        snprintf(place, sizeof(place), "%s/det-fuzz-model-%d", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp",
                 getpid());
    strbuf_add(&text, data, n);
    size_t file_n = read_files(text.n ? text.s : (char[1]){0}, file);
    if (archive_build(file, file_n, &tgz, &err) == 0)
        unpack_archive(&tgz, file, file_n);
    else
        require(err.kind == ERR_INVALID || err.kind == ERR_TOO_LARGE);
    return 0;
}
