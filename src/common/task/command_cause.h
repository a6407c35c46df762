/* Why a command such as apptainer has failed, by what it has printed. */
#ifndef DET_COMMON_TASK_COMMAND_CAUSE_H
#define DET_COMMON_TASK_COMMAND_CAUSE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/strbuf.h"

/* Takes one line of the command's errors, without its newline. What stays in `cause` is the first line that begins with
 * FATAL or ERROR, and until there is one, the last line. */
void command_cause_take(struct strbuf *cause, const char *line, size_t n);
/* Adds "apptainer says: CAUSE (exit status 255)"; `status` is that of waitpid(). */
void command_cause_describe(const char *name, const struct strbuf *cause, int status, struct strbuf *out);
/* Whether the reason is a disk of this machine that has no room: by the words of an engine or a command, which have no
 * code for it. A registry or an image may say the same words (docs/security.md). */
bool cause_is_disk_full(const char *reason);

#endif
