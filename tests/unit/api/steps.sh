#!/bin/sh
# Tests that the type of a step says what the step may use (src/api/pipeline/handler.h): a step at a place for which it was not written must
# not compile, and neither must a step that reaches the core or the store through its request. steps.sh SOURCE-DIR BUILD-DIR COMPILER…
set -u
source=$1 build=$2
shift 2

# try TEXT COMPILER…: whether TEXT compiles as the body of a file that includes everything that a handler includes
try() {
    text=$1
    shift
    printf '%s\n' "$text" | cat "$prelude" - | "$@" -std=gnu17 -D_GNU_SOURCE -Wall -Werror -Wno-unused-function \
        -I "$source/src" -I "$build/src" -include "$source/src/common/base/banned.h" -fsyntax-only -x c - >"$said" 2>&1
}

prelude=$(mktemp) said=$(mktemp)
trap 'rm -f "$prelude" "$said"' EXIT
cat >"$prelude" <<'END'
#include "api/pipeline/internal.h"
#include "api/accounts/password_lane.h"
#include "api/pipeline/stream.h"
#include "api/pipeline/wait.h"
#include "core/core.h"
#include "store/experiments/experiments.h"

static int on_loop(struct req *r, struct core *core, struct error *err) { return (int)core_agent_n(core); }
static int with_store(struct req *r, struct store *db, struct error *err)
{
    struct store_experiment_brief x;
    return store_experiment_brief(db, 1, &x, err);
}
static int with_neither(struct req *r, struct error *err) { return 0; }
static int fetch(struct req *r, struct store *db, enum stream_next *ret_next, struct error *err) { return 0; }
static int fetch_bytes(struct req *r, enum stream_next *ret_next, struct error *err) { return 0; }
END

bad=0
compiles() {
    text=$1
    shift
    if ! try "$text" "$@"; then
        echo "this must compile: $text"
        cat "$said"
        bad=1
    fi
}
refused() {
    text=$1
    shift
    if try "$text" "$@"; then
        echo "this must not compile: $text"
        bad=1
    fi
}

# Each place takes the type of step that was written for it.
for right in 'req_then_loop(r, on_loop)' 'req_then_next_turn(r, on_loop)' 'req_then_read(r, with_store)' \
    'req_then_lookup(r, with_store)' 'req_then_write(r, with_store)' 'req_then_work(r, with_neither)' \
    'req_then_transfer(r, with_neither)' 'req_wait_topic(r, "topic", 0, on_loop)' 'req_stream(r, "topic", fetch)' \
    'req_stream_bytes(r, NULL, fetch_bytes)' 'password_lane_run(r, with_store, on_loop, NULL)' \
    '(req_resume_loop(r, on_loop), req_resume_read(r, with_store), req_resume_write(r, with_store), 0)'; do
    compiles "int step(struct req *r); int step(struct req *r) { return $right; }" "$@"
done
# Each place refuses all other types.
for wrong in 'req_then_loop(r, with_store)' 'req_then_loop(r, with_neither)' 'req_then_next_turn(r, with_store)' \
    'req_then_read(r, on_loop)' 'req_then_read(r, with_neither)' 'req_then_lookup(r, on_loop)' 'req_then_write(r, on_loop)' \
    'req_then_write(r, with_neither)' 'req_then_work(r, on_loop)' 'req_then_work(r, with_store)' \
    'req_then_transfer(r, with_store)' 'req_wait_topic(r, "topic", 0, with_store)' 'req_stream(r, "topic", fetch_bytes)' \
    'req_stream_bytes(r, NULL, fetch)' 'password_lane_run(r, on_loop, on_loop, NULL)' \
    'password_lane_run(r, with_store, with_store, NULL)' '(req_resume_loop(r, with_store), 0)' \
    '(req_resume_read(r, on_loop), 0)' '(req_resume_write(r, on_loop), 0)'; do
    refused "int step(struct req *r); int step(struct req *r) { return $wrong; }" "$@"
done

# Handlers must have the prototypes that are made from contract/served.json.
handler='#include "gen/handlers.h"
int api_%s(struct req *r, struct %s, const struct wire_%s_request *in, struct wire_%s_response *ret, struct error *err) { return 0; }'
handler_of() { printf "$handler" "$1" "$2" "$1" "$1"; }
compiles "$(handler_of kill_experiment 'core *core')" "$@"
compiles "$(handler_of archive_experiment 'store *db')" "$@"
refused "$(handler_of kill_experiment 'store *db')" "$@"
refused "$(handler_of archive_experiment 'core *core')" "$@"

# A step cannot reach what its type does not give it.
in_step() { printf 'int step(struct req *r, struct error *err); int step(struct req *r, struct error *err) { %s }' "$1"; }
compiles "$(in_step 'return r->api->sharing_open;')" "$@"
refused "$(in_step 'return store_experiment_set_archived(r->db, 1, true, err);')" "$@"
refused "$(in_step 'return (int)core_agent_n(r->api->core);')" "$@"
refused "$(in_step 'return (int)core_agent_n(r->api->live->core);')" "$@"
refused "$(in_step 'struct core_event ev = {0}; return req_core_step(r, &ev, NULL, err);')" "$@"
# A step that has the store cannot send an event to the core.
step_with_store='int step(struct req *r, struct store *db, struct error *err);
int step(struct req *r, struct store *db, struct error *err) { struct core_event ev = {0}; return req_core_step(r, db, &ev, NULL, err); }'
refused "$step_with_store" "$@"
exit $bad
