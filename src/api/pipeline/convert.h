/* Makes messages of the contract from rows of the store and from views of the core. All that is made is in the given
 * arena. */
#ifndef DET_API_PIPELINE_CONVERT_H
#define DET_API_PIPELINE_CONVERT_H

#include "common/base/arena.h"
#include "common/base/error.h"
#include "core/core.h"
#include "gen/wire.h"
#include "store/lists/page.h"
#include "store/store.h"

struct identity_user;
struct req;
struct store_checkpoint;
struct store_experiment;
struct store_template;
struct store_trial;
struct store_user;

/* The message's texts are the row's. */
const struct wire_user *user_to_wire(const struct store_user *u, struct arena *a);
const struct wire_user *identity_to_wire(const struct identity_user *u, struct arena *a);
void identity_of_store(const struct store_user *u, struct identity_user *ret);

/* The reply repeats offset and limit as they were asked for. */
const struct wire_pagination *pagination(struct page asked, struct page_window w, struct arena *a);
/* display: what the core shows for something live (DISPLAY_STORED: show the stored state). config and
 * original_config are set if the row has them, without their secrets if the one who asks may not see these
 * (access_sees_secrets). */
enum wire_experiment_state experiment_state_to_wire(const char *stored, enum display_state display);
void experiment_to_wire(struct req *r, const struct store_experiment *x, enum display_state display,
                        struct wire_experiment *ret);
/* wait: why the job waits; NULL if it does not. */
void job_summary_to_wire(const struct core_job_view *job, const struct core_wait_view *wait,
                         struct wire_job_summary *ret);
enum wire_trial_state trial_state_to_wire(enum run_state stored, enum display_state display);
void trial_to_wire(const struct store_trial *t, enum display_state display, int64_t now_us, struct arena *a,
                   struct wire_trial *ret);
/* If the one who asks may not see secrets, the credentials of a storage are null. Clients that download directly
 * then use the credentials of their own environment, and download through the master if there are none. */
void checkpoint_to_wire(struct req *r, const struct store_checkpoint *c, struct wire_checkpoint *ret);
const struct wire_template *template_to_wire(struct req *r, const struct store_template *s);
/* How something ended, in the words that scripts search for: "container failed with non-zero exit code (exit code 7)".
 * NULL for EXIT_NONE. */
const char *exit_to_text(enum exit_kind kind, int32_t code, struct arena *a);
void allocation_to_wire(const struct allocation_row *x, struct arena *a, struct wire_task_allocation *ret);
/* Makes map entries of a JSON object of paths and their sizes in bytes. */
void resources_to_wire(const char *json, struct arena *a, struct wire_map_int64 **ret, size_t *ret_n);

/* The name that the store keeps for an enum's number: without the prefix STATE_. "" if the number is unknown. */
const char *state_text(const struct codec_enum *e, int32_t number);
struct store_texts experiment_state_names(const enum wire_experiment_state *state, size_t n, struct arena *a);
/* The enum's number for a name that the store keeps; 0 if the name is unknown. */
int32_t state_number(const struct codec_enum *e, const char *text);

int string_list_of_json(const char *json, struct arena *a, const char ***ret, size_t *ret_n, struct error *err);
const char *json_of_string_list(const char *const *text, size_t n, struct arena *a);
/* The items of a JSON list, each as JSON text. */
int raw_list_of_json(const char *json, struct arena *a, const char ***ret, size_t *ret_n, struct error *err);
const char *json_of_raw_list(const char *const *json, size_t n, struct arena *a); /* NULL if there are no items */
/* keys sorted, without blanks */
int canonical_json(const char *json, struct arena *a, const char **ret, struct error *err);
const char *base64_in_arena(const void *data, size_t n, struct arena *a);
/* The decimal id in a path. The error is "experiment 'x' is not a number". */
int parse_id(const char *text, const char *what, int32_t *ret, struct error *err);

struct page page_of(int32_t offset, int32_t limit);

#endif
