/* What trials have reported of their metrics, as lines of a chart (cli/terminal/chart.h). */
#ifndef DET_CLI_CMD_METRIC_LINES_H
#define DET_CLI_CMD_METRIC_LINES_H

#include "cli/connection/api.h"
#include "cli/terminal/chart.h"

struct metric_line {
    int32_t trial_id;
    const char *group, *name; /* "validation", "loss" */
    const char *id;           /* "validation.loss" */
    const char *label;        /* what the chart's legend calls the line: the id, unless the caller sets another */
    struct chart_point *point;
    int64_t *time_us; /* when each point was reported */
    size_t point_n;
};

struct metric_line metric_line_of(struct arena *a, int32_t trial_id, const char *group, const char *name);
/* The metrics that the trial has reported, by its summary; the lines have no points yet. */
struct metric_line *metric_lines_reported(struct arena *a, const struct wire_trial *trial, size_t *ret_n);
/* Fetches the points: at most `most` of each metric, which the master chooses so that the line looks the same. Values
 * that are not numbers become NaN. */
int metric_lines_fetch(struct cli *cli, struct metric_line *line, size_t n, int32_t most, struct error *err);
/* Draws the lines: as the terminal can show them, and in its colours. */
struct chart_size {
    size_t width, height;
};
void metric_lines_draw(const struct cli *cli, const struct metric_line *line, size_t n, struct chart_size size,
                       struct strbuf *to);

#endif
