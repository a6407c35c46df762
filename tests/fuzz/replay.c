/* Runs a fuzz target over kept inputs, so that each build checks what a fuzzer once found: replay DIRECTORY… */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>

#include "common/base/cleanup.h"
#include "common/system/files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static int replay_directory(const char *path, struct error *err)
{
    int n = 0;
    DIR *dir = opendir(path);
    if (!dir)
        return error_errno(err, "opening %s", path);
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (entry->d_name[0] == '.')
            continue;
        struct strbuf input cleanup_strbuf = STRBUF_INIT;
        cleanup_free char *file = path_join(path, entry->d_name);
        if (file_read(file, 1 << 24, &input, err) < 0)
            break;
        LLVMFuzzerTestOneInput((const uint8_t *)strbuf_str(&input), input.n);
        n++;
    }
    closedir(dir);
    return err->kind == ERR_NONE ? n : -1;
}

int main(int argc, char **argv)
{
    struct error err cleanup_error = ERROR_INIT;
    for (int i = 1; i < argc; i++) {
        int n = replay_directory(argv[i], &err);
        if (n <= 0) {
            fprintf(stderr, "replay: %s\n", n == 0 ? "no inputs" : error_msg(&err));
            return 1;
        }
    }
    return 0;
}
