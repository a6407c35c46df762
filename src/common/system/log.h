/* Log lines of our programs: an event name plus key=value pairs, one line each, grep-able and stable.
 *
 *     log_info("trial.exit", "exp=%d trial=%d code=%d restarts=%d/%d", …);
 *     2026-11-21T07:12:01.123456Z info trial.exit exp=4 trial=17 code=137 restarts=2/5
 *
 * error: someone should act; warning: went on regardless; info: life of an object; debug: the rest. Values with blanks
 * are quoted by the caller with "%s" through log_quote(). Secrets are never logged. Lines go to stderr (to the
 * systemd journal, if that is what it is, with its "<priority>" in the time's place) and to the sink, if one is set.
 * Thread-safe: one write(2) a line. */
#ifndef DET_COMMON_SYSTEM_LOG_H
#define DET_COMMON_SYSTEM_LOG_H

#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_TRACE, LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERROR, LOG_FATAL, LOG_LEVEL_NR };

typedef void log_sink_fn(void *ctx, int64_t now_us, enum log_level level, const char *line);

void log_init(const char *program, enum log_level level, int color);
void log_set_json(bool json); /* writes each line as a JSON object {time, level, program, event, fields, text} */
/* The level and the color may be set and asked for at any time, from any thread. */
void log_set_level(enum log_level level);
void log_set_color(bool color); /* color has an effect on a terminal only */
enum log_level log_level_now(void);
bool log_color_now(void);
void log_set_sink(log_sink_fn *fn, void *ctx);
int log_level_parse(const char *name, enum log_level *ret); /* "trace" … "fatal"; -1 if unknown */
const char *log_level_name(enum log_level level);
void log_write(enum log_level level, const char *event, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* the text, quoted if needed; in one of a few thread-local buffers, cut at 1 KiB */
const char *log_quote(const char *s);

#define log_trace(...) log_write(LOG_TRACE, __VA_ARGS__)
#define log_debug(...) log_write(LOG_DEBUG, __VA_ARGS__)
#define log_info(...) log_write(LOG_INFO, __VA_ARGS__)
#define log_warning(...) log_write(LOG_WARNING, __VA_ARGS__)
#define log_error(...) log_write(LOG_ERROR, __VA_ARGS__)

#endif
