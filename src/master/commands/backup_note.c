#include "master/commands/backup_note.h"

#include <string.h>

#include "common/base/cleanup.h"
#include "common/system/files.h"
#include "master/commands/data_dir.h"
#include "net/tls/certificate.h"

int backup_note_make(const char *data_dir, const char *token, struct strbuf *ret, struct error *err)
{
    cleanup_free char *path = path_join(data_dir, DATA_DIR_AGENTS_CA);
    cleanup_strbuf struct strbuf authority = STRBUF_INIT;
    cleanup_error struct error missing = ERROR_INIT;
    strbuf_adds(ret, token);
    if (file_read(path, CERTIFICATE_TEXT_MAX, &authority, &missing) == 0)
        strbuf_addf(ret, "\n%s", strbuf_str(&authority));
    return error_pass_unless(&missing, ERR_NOT_FOUND, err) ? -1 : 0;
}

int backup_note_restore(const char *data_dir, const char *note, struct error *err)
{
    cleanup_free char *token_path = path_join(data_dir, DATA_DIR_AGENT_TOKEN),
                      *authority_path = path_join(data_dir, DATA_DIR_AGENTS_CA);
    size_t token_n = strcspn(note, "\n");
    const char *authority = note[token_n] ? note + token_n + 1 : "";
    if (*authority && file_write(authority_path, authority, strlen(authority), 0600, err) < 0)
        return -1;
    return file_write(token_path, note, token_n, 0600, err);
}
