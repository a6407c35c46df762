#include "cli/cmd/experiment.h"
#include "cli/cmd/show.h"
#include "cli/terminal/output.h"

enum { LIST_PAGE = 200 };

static void experiment_row(struct table *t, const struct wire_experiment *e, const struct experiment_list_form *form)
{
    if (form->show_project) {
        table_text(t, e->workspace_name);
        table_text(t, e->project_name);
    }
    table_int(t, e->id);
    table_text(t, e->username);
    table_text(t, e->name);
    table_text(t, e->has_forked_from ? arena_printf(&t->arena, "%d", e->forked_from) : NULL);
    table_text(t, state_text(&wire_enum_experiment_state, (int32_t)e->state));
    if (form->failure)
        table_text(t, e->failure);
    table_percent(t, e->has_progress, e->progress);
    table_time(t, e->has_start_time, e->start_time);
    table_time(t, e->has_end_time, e->end_time);
    table_text(t, e->resource_pool);
    if (form->archived)
        table_bool(t, e->archived);
}

static void experiment_columns(struct table *t, const struct experiment_list_form *form)
{
    if (form->show_project)
        table_columns(t, (const char *const[]){"Workspace", "Project", NULL});
    table_columns(t, (const char *const[]){"ID", "Owner", "Name", "Parent ID", "State", NULL});
    if (form->failure)
        table_column(t, "Reason");
    table_columns(t, (const char *const[]){"Progress", "Started", "Ended", "Resource Pool", NULL});
    if (form->archived)
        table_column(t, "Archived");
}

/* ---- states that the master does not store ----------------------------------------------------------------------- */

static bool is_live(enum wire_experiment_state s)
{
    return s == WIRE_EXPERIMENT_STATE_QUEUED || s == WIRE_EXPERIMENT_STATE_PULLING ||
           s == WIRE_EXPERIMENT_STATE_STARTING || s == WIRE_EXPERIMENT_STATE_RUNNING;
}

/* What was selected for printing so far. */
struct choice {
    const struct experiment_list_form *form;
    size_t seen, taken;
};

static bool is_full(const struct choice *c)
{
    return c->form->most && c->taken == c->form->most;
}

static bool takes_experiment(struct choice *c, enum wire_experiment_state state)
{
    const struct experiment_list_form *f = c->form;
    size_t i = 0;
    while (i < f->shown_n && f->shown[i] != state && !(f->shown[i] == WIRE_EXPERIMENT_STATE_ACTIVE && is_live(state)))
        i++;
    if ((f->shown_n && i == f->shown_n) || is_full(c) || c->seen++ < f->skip)
        return false;
    c->taken++;
    return true;
}

static enum wire_experiment_state state_of_document(struct json_object *e)
{
    int32_t number = 0;
    codec_enum_number(&wire_enum_experiment_state, json_object_get_string(json_object_object_get(e, "state")), &number);
    return (enum wire_experiment_state)number;
}

static int print_documents(struct cli *cli, struct wire_get_experiments_request *in,
                           const struct experiment_list_form *form, struct error *err)
{
    cleanup_json struct json_object *list = NULL, *chosen = json_object_new_array();
    struct choice choice = {.form = form};
    if (documents_fetch(cli, ROUTE_ID_GET_EXPERIMENTS, in, &in->offset, "experiments", form->pages, &list, err) < 0)
        return -1;
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        struct json_object *e = json_object_array_get_idx(list, i);
        if (takes_experiment(&choice, state_of_document(e)))
            json_object_array_add(chosen, json_object_get(e));
    }
    output_json(cli, chosen);
    return 0;
}

int experiment_list(struct cli *cli, struct wire_get_experiments_request *in, const struct experiment_list_form *how,
                    struct error *err)
{
    cleanup_table struct table t = TABLE_INIT;
    struct experiment_list_form on_terminal = *how, *form = &on_terminal;
    struct choice choice = {.form = form};
    form->failure = cli->out_width > 0 && !how->csv; /* scripts get the usual columns only */
    if (form->json)
        return print_documents(cli, in, form, err);
    experiment_columns(&t, form);
    for (;;) {
        struct wire_get_experiments_response out;
        if (api_call(cli, ROUTE_ID_GET_EXPERIMENTS, in, &out, err) < 0)
            return -1;
        for (size_t i = 0; i < out.experiments_n; i++)
            if (takes_experiment(&choice, out.experiments[i].state))
                experiment_row(&t, &out.experiments[i], form);
        if (is_full(&choice) || is_last_page(out.pagination, form->pages) || out.experiments_n == 0)
            break;
        in->offset = out.pagination->end_index;
    }
    table_show(cli, &t, form->csv);
    return 0;
}

static enum wire_experiment_state *states_of(struct cli *cli, const struct args_experiment_list *args)
{
    enum wire_experiment_state *state = arena_array(&cli->arena, enum wire_experiment_state, args->states_n + 1);
    for (size_t i = 0; i < args->states_n; i++) {
        int32_t number = 0; /* contract/cli.json lists the allowed states */
        codec_enum_number(&wire_enum_experiment_state, arena_printf(&cli->arena, "STATE_%s", args->states[i]), &number);
        state[i] = (enum wire_experiment_state)number;
    }
    return state;
}

/* If one of the wanted states is not stored, asks the master for ACTIVE experiments and filters the result here,
 * from its first page on. */
static void look_through(struct wire_get_experiments_request *in, struct experiment_list_form *form, struct arena *a)
{
    enum wire_experiment_state *stored = arena_array(a, enum wire_experiment_state, in->states_n + 1);
    bool any = false;
    for (size_t i = 0; i < in->states_n; i++) {
        any = any || is_live(in->states[i]);
        stored[i] = is_live(in->states[i]) ? WIRE_EXPERIMENT_STATE_ACTIVE : in->states[i];
    }
    if (!any)
        return;
    form->shown = in->states;
    form->shown_n = in->states_n;
    form->skip = (size_t)in->offset;
    form->most = strcmp(form->pages, "1") == 0 ? (size_t)in->limit : 0;
    form->pages = "all";
    in->states = stored;
    in->offset = 0;
    in->limit = LIST_PAGE;
}

/* On a terminal, or with --limit, the newest come first. A script that reads all gets the order of release 0.38.1. */
static enum wire_order_by order_of(const struct cli *cli, const struct args_experiment_list *args)
{
    bool newest_first = cli->out_terminal || (args->has_limit && !args->pages);
    return newest_first != args->reverse ? WIRE_ORDER_BY_DESC : WIRE_ORDER_BY_ASC;
}

int cmd_experiment_list(struct cli *cli, const struct args_experiment_list *args, struct error *err)
{
    const char *me;
    if (api_username(cli, &me, err) < 0)
        return -1;
    struct wire_get_experiments_request in = {.limit = args->has_limit ? (int32_t)args->limit : LIST_PAGE,
                                              .offset = (int32_t)args->offset,
                                              .sort_by = WIRE_GET_EXPERIMENTS_REQUEST_SORT_BY_ID,
                                              .order_by = order_of(cli, args),
                                              .name = args->name,
                                              .labels = args->labels,
                                              .labels_n = args->labels_n,
                                              .states = states_of(cli, args),
                                              .states_n = args->states_n};
    in.has_archived = !args->all; /* without --all: only the user's own experiments that are not archived */
    in.users = &me;
    in.users_n = args->all ? 0 : 1;
    struct experiment_list_form form = {.show_project = args->show_project,
                                        .archived = args->all,
                                        .csv = args->csv,
                                        .json = args->json,
                                        .pages = pages_of(args->pages, args->has_limit)};
    look_through(&in, &form, &cli->arena);
    return experiment_list(cli, &in, &form, err);
}
