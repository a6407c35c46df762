#include "cli/args.h"

#include <errno.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/suggest.h"
#include "common/base/strbuf.h"

bool cli_command_is_child(const struct cli_command *parent, const struct cli_command *child)
{
    size_t n = strlen(parent->path);
    const char *rest = child->path;
    if (n > 0) {
        if (strncmp(child->path, parent->path, n) != 0 || child->path[n] != ' ')
            return false;
        rest += n + 1;
    }
    return *rest && !strchr(rest, ' ');
}

const char *cli_command_word(const struct cli_command *c)
{
    const char *space = strrchr(c->path, ' ');
    return space ? space + 1 : c->path;
}

bool cli_command_is_planned(const struct cli_command *c)
{
    size_t n = strlen(c->path);
    bool served = c->run != NULL;
    for (size_t i = 0; c->group && i < cli_command_n && !served; i++)
        served = cli_commands[i].run && strncmp(cli_commands[i].path, c->path, n) == 0 &&
                 (n == 0 || cli_commands[i].path[n] == ' ');
    return !served;
}

bool cli_param_is_positional(const struct cli_param *p)
{
    return !p->flag[0];
}

/* The name by which errors call the parameter: "EXPERIMENT_ID", "-o/--output-dir". */
static const char *param_label(const struct cli_param *p, struct arena *a)
{
    if (cli_param_is_positional(p))
        return p->metavar ? p->metavar : p->name;
    return p->flag[1] ? arena_printf(a, "%s/%s", p->flag[0], p->flag[1]) : p->flag[0];
}

/* A command's words and options while they are read. */
struct parser {
    struct arena *arena;
    const struct cli_command *command;
    char *args;      /* the command's options struct */
    bool *given;     /* by parameter: whether it was given */
    size_t position; /* number of the next positional parameter to fill */
    const char *const *word;
    size_t word_n, at;
    bool options_ended;
    bool help;
};

static const struct cli_command *find_child(const struct cli_command *parent, const char *word)
{
    for (size_t i = 0; i < cli_command_n; i++) {
        const struct cli_command *c = &cli_commands[i];
        if (!cli_command_is_child(parent, c))
            continue;
        if (strcmp(cli_command_word(c), word) == 0)
            return c;
        for (size_t k = 0; k < sizeof(c->alias) / sizeof(c->alias[0]) && c->alias[k]; k++)
            if (strcmp(c->alias[k], word) == 0)
                return c;
    }
    return NULL;
}

static int usage_error(const struct parser *p, const struct cli_param *param, const char *what, const char *value,
                       struct error *err)
{
    return error_set(err, ERR_USAGE, "argument %s: %s%s%s%s", param_label(param, p->arena), what, value ? " '" : "",
                     value ? value : "", value ? "'" : "");
}

/* Accepts a choice in upper or lower case: *text becomes the choice as it is written in the table. */
static int check_choice(const struct parser *p, const struct cli_param *param, const char **text, struct error *err)
{
    struct strbuf all = STRBUF_INIT;
    struct suggestion near = {.word = *text};
    for (const char *const *c = param->choice; *c; c++) {
        if (strcasecmp(*c, *text) == 0) {
            *text = *c;
            strbuf_release(&all);
            return 0;
        }
        suggestion_try(&near, *c);
        strbuf_addf(&all, "%s'%s'", all.n ? ", " : "", *c);
    }
    error_set(err, ERR_USAGE, "argument %s: invalid choice: '%s' (%schoose from %s)", param_label(param, p->arena),
              *text, suggestion_text(&near, p->arena), strbuf_str(&all));
    strbuf_release(&all);
    return -1;
}

static int parse_bool(const char *text, bool *ret)
{
    static const char *const yes[] = {"true", "yes", "y", "t", "on", "1"}, *const no[] = {"false", "no",  "n",
                                                                                          "f",     "off", "0"};
    for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
        if (strcasecmp(text, yes[i]) == 0 || strcasecmp(text, no[i]) == 0) {
            *ret = strcasecmp(text, yes[i]) == 0;
            return 0;
        }
    }
    return -1;
}

static int parse_int(const char *text, int64_t *ret)
{
    char *end;
    errno = 0;
    long long v = strtoll(text, &end, 10);
    if (end == text || *end || errno)
        return -1;
    *ret = v;
    return 0;
}

static int parse_float(const char *text, double *ret)
{
    char *end;
    *ret = strtod(text, &end);
    return end == text || *end ? -1 : 0;
}

static void append_value(struct parser *p, const struct cli_param *param, const char *text)
{
    const char ***list = (const char ***)(p->args + param->offset);
    size_t *n = (size_t *)(p->args + param->second);
    const char **longer = arena_array(p->arena, const char *, *n + 1);
    if (*n)
        memcpy(longer, *list, *n * sizeof(*longer));
    longer[(*n)++] = text;
    *list = longer;
}

/* Checks the text by the parameter's type and stores it. For lists, the checked texts are stored. */
static int store_value(struct parser *p, const struct cli_param *param, const char *text, struct error *err)
{
    char *x = p->args + param->offset;
    int64_t number = 0;
    double real = 0;
    bool yes = false;
    if (param->choice && check_choice(p, param, &text, err) < 0)
        return -1;
    if (param->type == CLI_INT && parse_int(text, &number) < 0)
        return usage_error(p, param, "invalid int value:", text, err);
    if (param->type == CLI_INT && (number < INT32_MIN || number > INT32_MAX)) /* no id of the master is larger */
        return usage_error(p, param, "out of range:", text, err);
    if (param->type == CLI_INT && number < param->min)
        return usage_error(p, param, arena_printf(p->arena, "must be at least %d, not", param->min), text, err);
    if (param->type == CLI_FLOAT && parse_float(text, &real) < 0)
        return usage_error(p, param, "invalid float value:", text, err);
    if (param->type == CLI_BOOL && parse_bool(text, &yes) < 0)
        return usage_error(p, param, "invalid bool value (true or false):", text, err);
    if (param->type == CLI_FILE && strcmp(text, "-") != 0 && access(text, R_OK) < 0)
        return error_set(err, ERR_USAGE, "argument %s: can't open '%s': %s", param_label(param, p->arena), text,
                         strerror(errno));
    if (param->attr & (CLI_LIST | CLI_SEVERAL)) {
        append_value(p, param, text);
        return 0;
    }
    switch (param->type) {
    case CLI_INT:
        *(int64_t *)x = number;
        break;
    case CLI_FLOAT:
        *(double *)x = real;
        break;
    case CLI_BOOL:
        *(bool *)x = yes;
        break;
    case CLI_FLAG:
        *(bool *)x = strcmp(text, "true") == 0;
        break;
    default:
        *(const char **)x = text;
        break;
    }
    if (param->second)
        *(bool *)(p->args + param->second) = true;
    return 0;
}

static int parser_init(struct parser *p, struct arena *a, const struct cli_command *c, struct error *err)
{
    *p = (struct parser){.arena = a, .command = c};
    p->args = arena_alloc(a, c->args_size ? c->args_size : 1);
    p->given = arena_array(a, bool, c->param_n ? c->param_n : 1);
    for (size_t i = 0; i < c->param_n; i++)
        if (c->param[i].def && store_value(p, &c->param[i], c->param[i].def, err) < 0)
            return -1;
    return 0;
}

static int unrecognized_word(const struct parser *p, const char *name, size_t n, struct error *err)
{
    struct suggestion near = {.word = arena_strndup(p->arena, name, n)};
    for (size_t i = 0; i < p->command->param_n; i++)
        for (size_t k = 0; k < 2 && p->command->param[i].flag[k]; k++)
            suggestion_try(&near, p->command->param[i].flag[k]);
    return error_set(err, ERR_USAGE, "unrecognized arguments: %.*s%s%s%s", (int)n, name,
                     near.nearest ? "; did you mean " : "", near.nearest ? near.nearest : "", near.nearest ? "?" : "");
}

static int find_long(const struct parser *p, const char *name, size_t n, const struct cli_param **ret,
                     struct error *err)
{
    const struct cli_param *found = NULL;
    const char *found_flag = NULL;
    for (size_t i = 0; i < p->command->param_n; i++) {
        const struct cli_param *param = &p->command->param[i];
        for (size_t k = 0; k < 2 && param->flag[k]; k++) {
            if (strncmp(param->flag[k], name, n) != 0 || param->flag[k][1] != '-')
                continue;
            if (param->flag[k][n] == '\0') {
                *ret = param;
                return 0;
            }
            if (found && found != param)
                return error_set(err, ERR_USAGE, "ambiguous option: %.*s could match %s, %s", (int)n, name, found_flag,
                                 param->flag[k]);
            found = param;
            found_flag = param->flag[k];
        }
    }
    /* accept both --detail and --details */
    if (!found && n > 3 && name[n - 1] == 's')
        return find_long(p, name, n - 1, ret, err);
    if (!found)
        return unrecognized_word(p, name, n, err);
    *ret = found;
    return 0;
}

static const struct cli_param *find_short(const struct parser *p, char letter)
{
    for (size_t i = 0; i < p->command->param_n; i++) {
        const struct cli_param *param = &p->command->param[i];
        for (size_t k = 0; k < 2 && param->flag[k]; k++)
            if (param->flag[k][0] == '-' && param->flag[k][1] == letter && !param->flag[k][2])
                return param;
    }
    return NULL;
}

static bool is_option(const struct parser *p, const char *word)
{
    if (p->options_ended || word[0] != '-' || word[1] == '\0')
        return false;
    double number;
    return parse_float(word, &number) < 0; /* "-1" is a value: no option of det is a number */
}

static int mark_given(struct parser *p, const struct cli_param *param, struct error *err)
{
    for (size_t i = 0; param->exclusive && i < p->command->param_n; i++) {
        const struct cli_param *other = &p->command->param[i];
        if (p->given[i] && other != param && other->exclusive == param->exclusive)
            return error_set(err, ERR_USAGE, "argument %s: not allowed with argument %s", param_label(param, p->arena),
                             param_label(other, p->arena));
    }
    p->given[param - p->command->param] = true;
    return 0;
}

/* Reads an option's value. `inline_value` is what followed '=' or a short flag; NULL: the next word is the value. */
static int take_option(struct parser *p, const struct cli_param *param, const char *inline_value, struct error *err)
{
    if (mark_given(p, param, err) < 0)
        return -1;
    if (param->type == CLI_FLAG) {
        if (inline_value)
            return usage_error(p, param, "ignored explicit argument", inline_value, err);
        *(bool *)(p->args + param->offset) = param->value;
        return 0;
    }
    if (inline_value)
        return store_value(p, param, inline_value, err);
    size_t taken = 0;
    while (p->at < p->word_n && !is_option(p, p->word[p->at]) && (taken == 0 || param->attr & CLI_SEVERAL)) {
        if (store_value(p, param, p->word[p->at++], err) < 0)
            return -1;
        taken++;
    }
    return taken ? 0 : usage_error(p, param, "expected one argument", NULL, err);
}

static int read_long(struct parser *p, const char *word, struct error *err)
{
    const char *equals = strchr(word, '=');
    size_t n = equals ? (size_t)(equals - word) : strlen(word);
    if (n >= 3 && strncmp("--help", word, n) == 0) {
        const struct cli_param *own;
        struct error none = ERROR_INIT;
        bool is_help = find_long(p, word, n, &own, &none) < 0;
        error_release(&none);
        if (is_help) {
            p->help = true;
            return 0;
        }
    }
    const struct cli_param *param;
    if (find_long(p, word, n, &param, err) < 0)
        return -1;
    return take_option(p, param, equals ? equals + 1 : NULL, err);
}

static int read_short(struct parser *p, const char *word, struct error *err)
{
    for (const char *c = word + 1; *c; c++) {
        const struct cli_param *param = find_short(p, *c);
        if (!param && *c == 'h') {
            p->help = true;
            return 0;
        }
        if (!param)
            return error_set(err, ERR_USAGE, "unrecognized arguments: %s", word);
        if (param->type != CLI_FLAG)
            return take_option(p, param, c[1] ? c + 1 + (c[1] == '=') : NULL, err);
        if (take_option(p, param, NULL, err) < 0)
            return -1;
    }
    return 0;
}

static const struct cli_param *next_positional(const struct parser *p)
{
    size_t seen = 0;
    for (size_t i = 0; i < p->command->param_n; i++)
        if (cli_param_is_positional(&p->command->param[i]) && seen++ == p->position)
            return &p->command->param[i];
    return NULL;
}

static int read_positional(struct parser *p, const char *word, struct error *err)
{
    const struct cli_param *param = next_positional(p);
    if (!param)
        return error_set(err, ERR_USAGE, "unrecognized arguments: %s", word);
    if (!(param->attr & CLI_LIST))
        p->position++;
    if (mark_given(p, param, err) < 0)
        return -1;
    /* what follows belongs to the rest, even if this was the argument before it: `det dev curl PATH -X POST` */
    const struct cli_param *next = next_positional(p);
    if (param->attr & CLI_REST || (next && next->attr & CLI_REST))
        p->options_ended = true;
    return store_value(p, param, word, err);
}

static int check_complete(const struct parser *p, struct error *err)
{
    struct strbuf missing = STRBUF_INIT;
    for (size_t i = 0; i < p->command->param_n; i++) {
        const struct cli_param *param = &p->command->param[i];
        bool needed = cli_param_is_positional(param) ? !(param->attr & CLI_OPTIONAL)
                                                     : (param->attr & CLI_REQUIRED) != 0;
        if (needed && !p->given[i])
            strbuf_addf(&missing, "%s%s", missing.n ? ", " : "", param_label(param, p->arena));
    }
    int rc = missing.n ? error_set(err, ERR_USAGE, "the following arguments are required: %s", strbuf_str(&missing))
                       : 0;
    strbuf_release(&missing);
    return rc;
}

/* Of some groups one option must be given, for example --best, --latest or --uuid. */
static int check_exclusive(const struct parser *p, struct error *err)
{
    for (size_t i = 0; i < p->command->param_n; i++) {
        const struct cli_param *param = &p->command->param[i];
        if (!(param->attr & CLI_EXCLUSIVE_REQUIRED))
            continue;
        struct strbuf names = STRBUF_INIT;
        bool any = false;
        for (size_t k = 0; k < p->command->param_n; k++) {
            if (p->command->param[k].exclusive != param->exclusive)
                continue;
            any = any || p->given[k];
            strbuf_addf(&names, "%s%s", names.n ? " " : "", param_label(&p->command->param[k], p->arena));
        }
        int rc = any ? 0 : error_set(err, ERR_USAGE, "one of the arguments %s is required", strbuf_str(&names));
        strbuf_release(&names);
        return rc;
    }
    return 0;
}

/* Reads the options of a group (or of det itself) up to its subcommand. */
static int read_group(struct parser *p, struct error *err)
{
    while (p->at < p->word_n && !p->help && is_option(p, p->word[p->at])) {
        const char *word = p->word[p->at];
        /* `det experiment --csv`: an option that the group does not have belongs to its default subcommand */
        if (p->command->default_subcommand && strcmp(word, "-h") != 0 && strncmp(word, "--h", 3) != 0)
            break;
        p->at++;
        if ((word[1] == '-' ? read_long(p, word, err) : read_short(p, word, err)) < 0)
            return -1;
    }
    return 0;
}

static int read_leaf(struct parser *p, struct error *err)
{
    while (p->at < p->word_n && !p->help) {
        const char *word = p->word[p->at++];
        int rc;
        if (!p->options_ended && strcmp(word, "--") == 0) {
            p->options_ended = true;
            continue;
        }
        if (!is_option(p, word))
            rc = read_positional(p, word, err);
        else
            rc = word[1] == '-' ? read_long(p, word, err) : read_short(p, word, err);
        if (rc < 0)
            return -1;
    }
    if (p->help)
        return 0;
    return check_complete(p, err) < 0 || check_exclusive(p, err) < 0 ? -1 : 0;
}

static int invalid_command(const struct cli_command *group, const char *word, struct error *err)
{
    struct strbuf all = STRBUF_INIT;
    struct suggestion near = {.word = word};
    for (size_t i = 0; i < cli_command_n; i++) {
        const struct cli_command *c = &cli_commands[i];
        if (!cli_command_is_child(group, c) || c->hidden)
            continue;
        strbuf_addf(&all, "%s%s", all.n ? ", " : "", cli_command_word(c));
        suggestion_try(&near, cli_command_word(c));
        for (size_t k = 0; k < sizeof(c->alias) / sizeof(c->alias[0]) && c->alias[k]; k++)
            suggestion_try(&near, c->alias[k]);
    }
    if (near.nearest)
        error_set(err, ERR_USAGE, "invalid choice: '%s' (did you mean '%s'?)", word, near.nearest);
    else
        error_set(err, ERR_USAGE, "invalid choice: '%s' (choose from %s)", word, strbuf_str(&all));
    strbuf_release(&all);
    return -1;
}

/* `det help experiment create` */
static int read_help(const char *const *word, size_t n, struct cli_parsed *ret, struct error *err)
{
    for (size_t i = 0; i < n && ret->command->group; i++) {
        const struct cli_command *child = find_child(ret->command, word[i]);
        if (!child)
            return invalid_command(ret->command, word[i], err);
        ret->command = child;
    }
    ret->help = true;
    return 0;
}

int args_parse(int argc, const char *const *argv, struct arena *a, struct cli_parsed *ret, struct error *err)
{
    const char *const *word = argv + 1;
    size_t word_n = argc > 0 ? (size_t)argc - 1 : 0, at = 0;
    *ret = (struct cli_parsed){.command = &cli_commands[0]};
    for (;;) {
        struct parser p;
        if (parser_init(&p, a, ret->command, err) < 0)
            return -1;
        p.word = word;
        p.word_n = word_n;
        p.at = at;
        int rc = ret->command->group ? read_group(&p, err) : read_leaf(&p, err);
        at = p.at;
        if (ret->command == &cli_commands[0])
            ret->root = p.args;
        ret->args = p.args;
        ret->help = p.help;
        if (rc < 0 || p.help || !ret->command->group)
            return rc;
        const struct cli_command *child = NULL;
        bool named = at < word_n && !is_option(&p, word[at]);
        if (named && strcmp(word[at], "help") == 0)
            return read_help(word + at + 1, word_n - at - 1, ret, err);
        if (named) {
            child = find_child(ret->command, word[at]);
            if (!child)
                return invalid_command(ret->command, word[at], err);
            at++;
        } else if (!named && ret->command->default_subcommand) {
            child = find_child(ret->command, ret->command->default_subcommand);
        }
        if (!child) {
            ret->help = true;
            return 0;
        }
        ret->command = child;
    }
}
