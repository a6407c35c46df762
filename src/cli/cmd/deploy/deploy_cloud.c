/* Clusters in a cloud: prints or writes a Terraform module, and says which commands use it. Calls no cloud. */
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/cmd/deploy/deploy.h"
#include "cli/terminal/output.h"
#include "common/base/cleanup.h"
#include "common/base/strbuf.h"
#include "common/system/files.h"

/* The file that Terraform reads values of variables from. */
static const char values_file[] = "terraform.tfvars.json";

static const struct deploy_file *files_of(const char *cloud)
{
    const struct deploy_module *m = deploy_modules;
    while (strcmp(m->name, cloud) != 0)
        m++;
    return m->file;
}

static const char *text_of(const struct deploy_file *f, const char *name)
{
    while (strcmp(f->name, name) != 0)
        f++;
    return f->text;
}

/* ---- options as variables ---------------------------------------------------------------------------------------- */

static bool has_variable(const struct deploy_file *file, const char *name)
{
    struct strbuf line = STRBUF_INIT;
    strbuf_addf(&line, "variable \"%s\" {", name);
    bool found = false;
    for (; file->name && !found; file++)
        found = strstr(file->text, strbuf_str(&line)) != NULL;
    strbuf_release(&line);
    return found;
}

static struct json_object *list_value(const char *const *item, size_t n)
{
    struct json_object *list = json_object_new_array();
    for (size_t i = 0; i < n; i++)
        json_object_array_add(list, json_object_new_string(item[i]));
    return list;
}

/* The option's value as JSON; NULL: it was not given. The caller puts it. */
static struct json_object *value_of(const struct cli_param *p, const void *args)
{
    const char *at = (const char *)args + p->offset;
    bool given = p->second && *(const bool *)((const char *)args + p->second);
    if (p->attr & CLI_LIST) {
        size_t n = *(const size_t *)((const char *)args + p->second);
        return n ? list_value(*(const char *const *const *)at, n) : NULL;
    }
    switch (p->type) {
    case CLI_INT:
        return given ? json_object_new_int64(*(const int64_t *)at) : NULL;
    case CLI_BOOL:
        return given ? json_object_new_boolean(*(const bool *)at) : NULL;
    case CLI_FLAG: /* of two flags for one field, the one that is off by default says nothing */
        return *(const bool *)at && p->value ? json_object_new_boolean(true) : NULL;
    default:
        return *(const char *const *)at ? json_object_new_string(*(const char *const *)at) : NULL;
    }
}

static bool is_default(const struct cli_param *p, struct json_object *value)
{
    return p->def && strcmp(p->def, json_object_get_string(value)) == 0;
}

/* Options that det itself heeds. */
static bool is_ours(const char *name)
{
    static const char *const ours[] = {
        "yes", "dry_run", "local_state_path", "master_config_template_path", "output_dir", "json", "csv"};
    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
        if (strcmp(name, ours[i]) == 0)
            return true;
    return false;
}

/* The values of the module's variables; names the options that the module does not have. The caller puts *ret. */
static struct json_object *variables_of(struct cli *cli, const struct deploy_file *file, const void *args)
{
    struct json_object *all = json_object_new_object();
    const struct cli_command *c = cli->command;
    for (size_t i = 0; i < c->param_n; i++) {
        const struct cli_param *p = &c->param[i];
        struct json_object *value = is_ours(p->name) ? NULL : value_of(p, args);
        if (!value)
            continue;
        if (has_variable(file, p->name)) {
            json_object_object_add(all, p->name, value);
            continue;
        }
        if (!is_default(p, value))
            cli_say(cli, CLI_YELLOW, "%s has no effect: the Terraform module has no such variable.", p->flag[0]);
        json_object_put(value);
    }
    return all;
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

/* A file that is there with another text may have been changed by the user: it is kept, unless they said yes. */
static int check_file(const char *path, const char *text, struct error *err)
{
    enum { MODULE_MAX = 1 << 22 };
    cleanup_strbuf struct strbuf there = STRBUF_INIT;
    if (access(path, F_OK) < 0)
        return 0;
    if (file_read(path, MODULE_MAX, &there, err) < 0)
        return -1;
    if (strcmp(strbuf_str(&there), text) == 0)
        return 0;
    return error_set(err, ERR_CONFLICT, "%s is there already, with another text; --yes replaces it", path);
}

static int write_file(const char *path, const char *text, struct error *err)
{
    cleanup_fclose FILE *to = NULL;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600); /* passwords may be among the values */
    if (fd < 0)
        return error_errno(err, "%s", path);
    if (!(to = fdopen(fd, "w"))) {
        close(fd);
        return error_errno(err, "%s", path);
    }
    fputs(text, to);
    return fflush(to) == EOF ? error_errno(err, "%s", path) : 0;
}

struct plan {
    const char *cloud, *directory; /* directory NULL: the module is printed */
    const char *master_template;   /* a file of the user's, instead of the module's; NULL: the module's */
    bool yes;
};

/* The module's files with the user's template and the values. *ret ends with a file without a name. */
static int make_files(struct cli *cli, const struct plan *plan, const void *args, struct deploy_file **ret,
                      struct error *err)
{
    enum { TEMPLATE_MAX = 1 << 20 };
    const struct deploy_file *from = files_of(plan->cloud);
    cleanup_json struct json_object *values = variables_of(cli, from, args);
    size_t n = 0;
    while (from[n].name)
        n++;
    struct deploy_file *all = arena_array(&cli->arena, struct deploy_file, n + 2);
    memcpy(all, from, n * sizeof(*all));
    for (size_t i = 0; plan->master_template && i < n; i++) {
        cleanup_strbuf struct strbuf text = STRBUF_INIT;
        if (strcmp(all[i].name, "master.yaml.tftpl") != 0)
            continue;
        if (file_read(plan->master_template, TEMPLATE_MAX, &text, err) < 0)
            return -1;
        all[i].text = arena_strdup(&cli->arena, strbuf_str(&text));
    }
    all[n] = (struct deploy_file){values_file, arena_printf(&cli->arena, "%s\n", output_dumps(&cli->arena, values))};
    *ret = all;
    return 0;
}

static int write_files(struct cli *cli, const struct plan *plan, const struct deploy_file *file, struct error *err)
{
    if (dir_make(plan->directory, 0700, err) < 0)
        return -1;
    for (const struct deploy_file *f = file; f->name && !plan->yes; f++)
        if (check_file(arena_printf(&cli->arena, "%s/%s", plan->directory, f->name), f->text, err) < 0)
            return -1;
    for (const struct deploy_file *f = file; f->name; f++) {
        const char *path = arena_printf(&cli->arena, "%s/%s", plan->directory, f->name);
        if (write_file(path, f->text, err) < 0)
            return -1;
        fprintf(cli->out, "%s\n", path);
    }
    return 0;
}

static void print_files(struct cli *cli, const struct deploy_file *file)
{
    for (const struct deploy_file *f = file; f->name; f++)
        fprintf(cli->out, "# ---- %s ----\n%s%s", f->name, f->text, f[1].name ? "\n" : "");
}

/* ---- commands ---------------------------------------------------------------------------------------------------- */

static void tell_commands(struct cli *cli, const struct plan *plan)
{
    const char *directory = plan->directory ? plan->directory : "DIRECTORY";
    cli_say(cli, CLI_PLAIN,
            "\ndet calls no cloud: nothing was started and nothing was changed. With an account and "
            "Terraform, these commands do it:");
    if (!plan->directory)
        cli_say(cli, CLI_PLAIN, "  det %s --output-dir DIRECTORY …   (writes these files)", cli->command->path);
    cli_say(cli, CLI_PLAIN,
            "  terraform -chdir=%s init\n  terraform -chdir=%s apply   (asks for what has no value yet, such as "
            "package_url)",
            directory, directory);
}

static int deploy_up(struct cli *cli, const struct plan *plan, const void *args, struct error *err)
{
    struct deploy_file *file;
    if (make_files(cli, plan, args, &file, err) < 0)
        return -1;
    if (plan->directory && write_files(cli, plan, file, err) < 0)
        return -1;
    if (!plan->directory)
        print_files(cli, file);
    tell_commands(cli, plan);
    return 0;
}

static void deploy_down(struct cli *cli, const char *directory)
{
    fprintf(cli->out, "terraform -chdir=%s destroy\n", directory);
    cli_say(cli, CLI_PLAIN,
            "det calls no cloud: nothing was removed. The command above removes the cluster; the "
            "directory is that of 'det deploy … up --output-dir'.");
}

/* Prints the commands of the cloud's own client that list the machines. */
static void deploy_list(struct cli *cli, const char *command)
{
    cleanup_json struct json_object *v = json_object_new_object();
    json_object_object_add(v, "command", json_object_new_string(command));
    if (cli->format)
        output_json(cli, v);
    else
        fprintf(cli->out, "%s\n", command);
    cli_say(cli, CLI_PLAIN, "det calls no cloud: the command above lists the clusters.");
}

int cmd_deploy_aws_up(struct cli *cli, const struct args_deploy_aws_up *args, struct error *err)
{
    struct plan plan = {"aws", args->output_dir, args->master_config_template_path, args->yes};
    return deploy_up(cli, &plan, args, err);
}

int cmd_deploy_aws_down(struct cli *cli, const struct args_deploy_aws_down *args, struct error *err)
{
    (void)args;
    (void)err;
    deploy_down(cli, "DIRECTORY");
    return 0;
}

int cmd_deploy_aws_list(struct cli *cli, const struct args_deploy_aws_list *args, struct error *err)
{
    (void)err;
    deploy_list(cli, arena_printf(&cli->arena,
                                  "aws ec2 describe-instances%s%s%s%s --filters Name=tag-key,Values=determined_cluster "
                                  "--query 'Reservations[].Instances[].[Tags,InstanceType,State.Name,PublicDnsName]'",
                                  args->region ? " --region " : "", args->region ? args->region : "",
                                  args->profile ? " --profile " : "", args->profile ? args->profile : ""));
    return 0;
}

int cmd_deploy_aws_dump_master_config_template(struct cli *cli,
                                               const struct args_deploy_aws_dump_master_config_template *args,
                                               struct error *err)
{
    (void)args; /* all deployment types have the same one */
    (void)err;
    fputs(text_of(files_of("aws"), "master.yaml.tftpl"), cli->out);
    return 0;
}

/* --local-state-path is where the released client kept Terraform's files. */
static const char *gcp_directory(const char *output_dir, const char *local_state_path)
{
    return output_dir ? output_dir : strcmp(local_state_path, "<cwd>") == 0 ? NULL : local_state_path;
}

int cmd_deploy_gcp_up(struct cli *cli, const struct args_deploy_gcp_up *args, struct error *err)
{
    struct plan plan = {"gcp", gcp_directory(args->output_dir, args->local_state_path),
                        args->master_config_template_path, args->yes};
    if (args->dry_run)
        plan.directory = NULL;
    return deploy_up(cli, &plan, args, err);
}

int cmd_deploy_gcp_down(struct cli *cli, const struct args_deploy_gcp_down *args, struct error *err)
{
    const char *directory = gcp_directory(NULL, args->local_state_path);
    (void)err;
    deploy_down(cli, directory ? directory : "DIRECTORY");
    return 0;
}

int cmd_deploy_gcp_list(struct cli *cli, const struct args_deploy_gcp_list *args, struct error *err)
{
    (void)err;
    deploy_list(cli, arena_printf(&cli->arena,
                                  "gcloud compute instances list --project %s --filter=labels.determined_cluster:*",
                                  args->project_id));
    return 0;
}

int cmd_deploy_gcp_dump_master_config_template(struct cli *cli, struct error *err)
{
    (void)err;
    fputs(text_of(files_of("gcp"), "master.yaml.tftpl"), cli->out);
    return 0;
}

int cmd_deploy_gke_experimental_up(struct cli *cli, const struct args_deploy_gke_experimental_up *args,
                                   struct error *err)
{
    struct plan plan = {"gke", args->output_dir, NULL, args->yes};
    return deploy_up(cli, &plan, args, err);
}

int cmd_deploy_gke_experimental_down(struct cli *cli, const struct args_deploy_gke_experimental_down *args,
                                     struct error *err)
{
    (void)args;
    (void)err;
    deploy_down(cli, "DIRECTORY");
    return 0;
}
