/* Profiles of trials in the older releases' form: series of samples, each with its batch and time, of a name on an agent
 * or GPU. They are kept as all metrics are: what a machine does in the groups gpu, cpu, memory, disk and network, as
 * agents report it, and what the training loop measures in the group timings. So either form shows both; the older
 * one's units are translated on the way. */
#ifndef DET_API_PROFILER_H
#define DET_API_PROFILER_H

#include <stdbool.h>

#include "gen/wire.h"

#define PROFILER_TYPE(name) WIRE_TRIAL_PROFILER_METRIC_LABELS_PROFILER_METRIC_TYPE_##name
#define PROFILER_TIMINGS "timings"
#define PROFILER_SPEED "samples_per_second"

/* What machines report; a value of the older form times its unit is what is kept. */
struct profiler_measure {
    const char *name, *group, *kept;
    double unit;
};
const struct profiler_measure *profiler_measure_named(const char *name);                    /* NULL: none */
const struct profiler_measure *profiler_measure_kept(const char *group, const char *kept); /* NULL: none */
bool profiler_is_of_gpu(const char *group);

#endif
