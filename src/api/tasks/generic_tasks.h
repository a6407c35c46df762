/* What GetTask shows of a generic task beside what it shows of every task. */
#ifndef DET_API_TASKS_GENERIC_TASKS_H
#define DET_API_TASKS_GENERIC_TASKS_H

#include "api/pipeline/handler.h"

int generic_task_show(struct req *r, struct store *db, const char *id, struct wire_task *ret, struct error *err);

#endif
