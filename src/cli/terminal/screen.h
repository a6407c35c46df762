/* One screen of a terminal that is drawn again and again, for commands that show how things are now (`det top`).
 *
 * The screen is the terminal's alternate one, so that what was there before is there again afterwards. However the
 * command ends (q, Ctrl-C, a signal, an error), the terminal gets its own screen, its cursor and its settings back. */
#ifndef DET_CLI_TERMINAL_SCREEN_H
#define DET_CLI_TERMINAL_SCREEN_H

#include <stdbool.h>

#include "cli/cli.h"
#include "common/base/strbuf.h"

/* Prints one picture to cli->out, for a terminal of cli->out_width columns and cli->out_height lines (0: no terminal).
 * It may fetch with api_call(): what it puts into cli->arena is gone when the next picture is drawn. Sets *ret_over
 * when no further picture is needed. */
typedef int screen_draw_fn(struct cli *cli, void *ctx, bool *ret_over, struct error *err);

/* Draws every `pause_ms`, and at once when the terminal's size changes, until q is pressed or a picture was the last.
 * Where there is no terminal (a pipe, TERM=dumb), draws once and returns. While the master does not answer, the last
 * picture stays, and its first line says so. ret_left: q was pressed before the last picture. */
int screen_run(struct cli *cli, screen_draw_fn *draw, void *ctx, int pause_ms, bool *ret_left, struct error *err);

/* Appends the lines of the text, as many as the terminal has and each cut to its width, with the codes that overwrite
 * the picture before. Codes of colours have no width. */
void screen_compose(const char *text, size_t width, size_t height, struct strbuf *to);

#endif
