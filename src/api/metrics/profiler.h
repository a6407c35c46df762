/* Profiles of trials in the form of older releases: series of samples, each with its batch and time, of a named
 * value on an agent or GPU. They are stored like all metrics: what machines report in the groups gpu, cpu, memory,
 * disk and network, as agents of this platform do, and what training loops measure in the group timings. So both
 * forms show all values. Units of the older form are converted. */
#ifndef DET_API_METRICS_PROFILER_H
#define DET_API_METRICS_PROFILER_H

#include <stdbool.h>

#include "gen/wire.h"

#define PROFILER_TYPE(name) WIRE_TRIAL_PROFILER_METRIC_LABELS_PROFILER_METRIC_TYPE_##name
#define PROFILER_TIMINGS "timings"
#define PROFILER_SPEED "samples_per_second"

/* What machines report. The stored value is the value of the older form times `unit`. */
struct profiler_measure {
    const char *name, *group, *kept;
    double unit;
};
/* by the older name; NULL: there is none */
const struct profiler_measure *profiler_measure_named(const char *name);
/* by the stored name; NULL: there is none */
const struct profiler_measure *profiler_measure_kept(const char *group, const char *kept);
bool profiler_is_of_gpu(const char *group);

#endif
