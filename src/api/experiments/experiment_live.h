/* What both lists of experiments do with their rows. They show how far ACTIVE experiments are: QUEUED, PULLING,
 * STARTING or RUNNING, as the page of a single experiment does. */
#ifndef DET_API_EXPERIMENTS_EXPERIMENT_LIVE_H
#define DET_API_EXPERIMENTS_EXPERIMENT_LIVE_H

#include "api/pipeline/handler.h"

/* A brief list of no more experiments than this is read on the lookup thread, which has found them: to wake a reader
 * for it costs as much. */
enum { EXPERIMENTS_READ_AT_ONCE = 100 };

struct store_experiment;

/* Leaves out what a list does not show: notes become the word "omitted", which clients expect where there are some.
 * With `brief` the configurations go, too. The web interface asks for its lists every few seconds, and shows no
 * configuration there; reading and hiding the secrets of a hundred is most of what a reply costs. */
void experiment_shorten(struct store_experiment *x, bool brief);

/* The last step of a list's handler, called on any thread but the loop. It asks the core on the loop, in parts, and
 * has the reply encoded by a worker. `experiment` are the experiments of the reply, whose states it sets. */
int experiments_show_live(struct req *r, struct wire_experiment **experiment, size_t n);

#endif
