/* Prints scripts that complete det's command lines in bash, zsh and fish, made from the same table as help and
 * parser. The scripts ask `det complete-ids` (cluster/complete_ids.c) for ids and names that the master has. */
#include <string.h>

#include "cli/cli.h"

enum { ALIAS_MAX = sizeof(cli_commands[0].alias) / sizeof(cli_commands[0].alias[0]) };

static const struct cli_command *parent_of(const struct cli_command *c)
{
    for (size_t i = 0; i < cli_command_n; i++)
        if (cli_command_is_child(&cli_commands[i], c))
            return &cli_commands[i];
    return NULL;
}

static bool is_shown(const struct cli_command *parent, const struct cli_command *child)
{
    return cli_command_is_child(parent, child) && !child->hidden;
}

/* ---- the table as functions for both bash and zsh; each leaves its result in REPLY ------------------------------- */

/* Writes the words that may follow a command. */
static void shell_words(FILE *to, const struct cli_command *c)
{
    fprintf(to, "    \"%s\") REPLY=\"", c->path);
    for (size_t i = 0; c->group && i < cli_command_n; i++)
        if (is_shown(c, &cli_commands[i]))
            fprintf(to, "%s ", cli_command_word(&cli_commands[i]));
    for (size_t i = 0; i < c->param_n; i++)
        for (size_t k = 0; k < 2 && c->param[i].flag[k]; k++)
            fprintf(to, "%s ", c->param[i].flag[k]);
    fputs(c->group ? "help --help\" ;;\n" : "--help\" ;;\n", to);
}

/* Writes which command a word below another command names. */
static void shell_enter(FILE *to, const struct cli_command *c)
{
    const struct cli_command *parent = parent_of(c);
    if (!parent || c->hidden)
        return;
    fprintf(to, "    \"%s/%s\"", parent->path, cli_command_word(c));
    for (size_t k = 0; k < ALIAS_MAX && c->alias[k]; k++)
        fprintf(to, "|\"%s/%s\"", parent->path, c->alias[k]);
    fprintf(to, ") REPLY=\"%s\" ;;\n", c->path);
}

/* Writes "COMMAND/--option", or for an argument "COMMAND/" and its place among the command's words; a list matches
 * its own place and all later ones. */
static void shell_place(FILE *to, const struct cli_command *c, const struct cli_param *p)
{
    size_t place = 0;
    for (const struct cli_param *before = c->param; before < p; before++)
        place += cli_param_is_positional(before);
    fprintf(to, "    \"%s/", c->path);
    if (!cli_param_is_positional(p))
        fprintf(to, "%s\"%s%s%s%s%s", p->flag[0], p->flag[1] ? "|\"" : "", p->flag[1] ? c->path : "",
                p->flag[1] ? "/" : "", p->flag[1] ? p->flag[1] : "", p->flag[1] ? "\"" : "");
    else if (p->attr & CLI_LIST)
        fputs("\"[0-9]*", to);
    else
        fprintf(to, "%zu\"", place);
}

static void shell_values(FILE *to, const struct cli_command *c)
{
    for (size_t i = 0; i < c->param_n && !c->hidden; i++) {
        const struct cli_param *p = &c->param[i];
        if (!p->choice && !p->live)
            continue;
        shell_place(to, c, p);
        if (!p->choice)
            fprintf(to, ") _det_live %s ;;\n", p->live);
        for (const char *const *choice = p->choice; choice && *choice; choice++)
            fprintf(to, "%s%s", choice == p->choice ? ") REPLY=\"" : " ", *choice);
        fputs(p->choice ? "\" ;;\n" : "", to);
    }
}

static void shell_case(FILE *to, const char *function, const char *word,
                       void (*print)(FILE *, const struct cli_command *))
{
    fprintf(to, "%s() {\n    REPLY=\"\"\n    case \"%s\" in\n", function, word);
    for (size_t i = 0; i < cli_command_n; i++)
        if (!cli_commands[i].hidden)
            print(to, &cli_commands[i]);
    fputs("    esac\n}\n", to);
}

static void print_shell_functions(FILE *to)
{
    fputs("_det_live() { REPLY=\"$(command det complete-ids \"$1\" 2>/dev/null </dev/null)\"; }\n", to);
    shell_case(to, "_det_words", "$1", shell_words);
    shell_case(to, "_det_enter", "$1/$2", shell_enter);
    shell_case(to, "_det_values", "$1/$2", shell_values);
    /* Arguments: $1 is the word that is typed, $2 the word before it, then all words before these except det.
     * The variable is called `at`, because `path` has a meaning in zsh. */
    fputs("_det_answer() {\n"
          "    local at=\"\" place=0 now=\"$1\" last=\"$2\" word\n"
          "    shift 2\n"
          "    for word in \"$@\"; do\n"
          "        _det_enter \"$at\" \"$word\"\n"
          "        if [ -n \"$REPLY\" ]; then at=\"$REPLY\"; place=0\n"
          "        else case \"$word\" in -*) ;; *) place=$((place + 1)) ;; esac; fi\n"
          "    done\n"
          "    case \"$last\" in -*) _det_values \"$at\" \"$last\"; [ -z \"$REPLY\" ] || return 0 ;; esac\n"
          "    case \"$now\" in\n"
          "    -*) _det_words \"$at\" ;;\n"
          "    *) _det_values \"$at\" \"$place\"\n"
          "       [ -z \"$REPLY\" ] || return 0\n"
          "       _det_words \"$at\"; REPLY=\"${REPLY%% -*}\"\n"
          "       case \"$REPLY\" in -*) REPLY=\"\" ;; esac ;;\n"
          "    esac\n"
          "}\n",
          to);
}

/* ---- bash -------------------------------------------------------------------------------------------------------- */

static void print_bash(FILE *to)
{
    print_shell_functions(to);
    fputs(
        "_det() {\n"
        "    local REPLY IFS=$' \\t\\n'\n"
        "    _det_answer \"${COMP_WORDS[COMP_CWORD]}\" \"${COMP_WORDS[COMP_CWORD-1]}\" \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"\n"
        "    COMPREPLY=($(compgen -W \"$REPLY\" -- \"${COMP_WORDS[COMP_CWORD]}\"))\n"
        "}\n"
        "complete -o default -F _det det\n",
        to);
}

/* ---- zsh: for the file _det in a directory of fpath, or for eval after compinit ---------------------------------- */

static void print_zsh(FILE *to)
{
    fputs("#compdef det\n", to);
    print_shell_functions(to);
    fputs("_det() {\n"
          "    local REPLY\n"
          "    local -a before\n"
          "    before=(\"${(@)words[2,CURRENT-1]}\")\n"
          "    _det_answer \"${words[CURRENT]}\" \"${words[CURRENT-1]}\" \"${(@)before}\"\n"
          "    if [ -n \"$REPLY\" ]; then compadd -- ${=REPLY}; else _files; fi\n"
          "}\n"
          "if [ \"$funcstack[1]\" = _det ]; then _det \"$@\"; else compdef _det det; fi\n",
          to);
}

/* ---- fish -------------------------------------------------------------------------------------------------------- */

static void fish_quoted(FILE *to, const char *text)
{
    fputc('\'', to);
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\')
            fputc('\\', to);
        fputc(*text, to);
    }
    fputc('\'', to);
}

static void fish_enter(FILE *to, const struct cli_command *c)
{
    const struct cli_command *parent = parent_of(c);
    if (!parent || c->hidden)
        return;
    fprintf(to, "            case '%s/%s'", parent->path, cli_command_word(c));
    for (size_t k = 0; k < ALIAS_MAX && c->alias[k]; k++)
        fprintf(to, " '%s/%s'", parent->path, c->alias[k]);
    fprintf(to, "\n                set path '%s'\n", c->path);
}

static void fish_values(FILE *to, const struct cli_param *p)
{
    if (p->live)
        fprintf(to, "(__det_live %s)", p->live);
    for (const char *const *choice = p->choice; choice && *choice; choice++)
        fprintf(to, "%s%s", choice == p->choice ? "" : " ", *choice);
}

static void fish_param(FILE *to, const struct cli_command *c, const struct cli_param *p)
{
    fprintf(to, "complete -c det -n '__det_at \"%s\"'", c->path);
    for (size_t k = 0; k < 2 && p->flag[k]; k++)
        fprintf(to, p->flag[k][1] == '-' ? " -l %s" : " -s %s", p->flag[k] + (p->flag[k][1] == '-' ? 2 : 1));
    if (p->choice || p->live) {
        fputs(cli_param_is_positional(p) ? " -f -a '" : " -x -a '", to);
        fish_values(to, p);
        fputc('\'', to);
    } else if (p->type != CLI_FLAG) {
        fputs(" -r", to);
    }
    fputs(" -d ", to);
    fish_quoted(to, p->help);
    fputc('\n', to);
}

static void fish_command(FILE *to, const struct cli_command *c)
{
    const struct cli_command *parent = parent_of(c);
    if (c->hidden)
        return;
    if (parent) {
        fprintf(to, "complete -c det -n '__det_at \"%s\"' -f -a %s -d ", parent->path, cli_command_word(c));
        fish_quoted(to, c->help);
        fputc('\n', to);
    }
    for (size_t i = 0; i < c->param_n; i++)
        if (!cli_param_is_positional(&c->param[i]) || c->param[i].choice || c->param[i].live)
            fish_param(to, c, &c->param[i]);
}

static void print_fish(FILE *to)
{
    fputs("function __det_live\n"
          "    command det complete-ids $argv[1] 2>/dev/null </dev/null\n"
          "end\n"
          "function __det_at\n"
          "    set -l path ''\n"
          "    for word in (commandline -opc)[2..-1]\n"
          "        switch \"$path/$word\"\n",
          to);
    for (size_t i = 0; i < cli_command_n; i++)
        fish_enter(to, &cli_commands[i]);
    fputs("        end\n    end\n    test \"$path\" = \"$argv[1]\"\nend\n", to);
    for (size_t i = 0; i < cli_command_n; i++)
        fish_command(to, &cli_commands[i]);
}

int cmd_completion(struct cli *cli, const struct args_completion *args, struct error *err)
{
    (void)err;
    if (strcmp(args->shell, "fish") == 0)
        print_fish(cli->out);
    else if (strcmp(args->shell, "zsh") == 0)
        print_zsh(cli->out);
    else
        print_bash(cli->out);
    return 0;
}
