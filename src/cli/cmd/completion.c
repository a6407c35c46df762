/* Scripts that complete det's command lines in bash, zsh and fish, from the same table as help and parser. */
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

/* ---- bash, and zsh by its bashcompinit ---- */

static void bash_words(FILE *to, const struct cli_command *c)
{
    fprintf(to, "    \"%s\") REPLY=\"", c->path);
    for (size_t i = 0; c->group && i < cli_command_n; i++)
        if (cli_command_is_child(c, &cli_commands[i]))
            fprintf(to, "%s ", cli_command_word(&cli_commands[i]));
    for (size_t i = 0; i < c->param_n; i++)
        for (size_t k = 0; k < 2 && c->param[i].flag[k]; k++)
            fprintf(to, "%s ", c->param[i].flag[k]);
    fputs(c->group ? "help --help\" ;;\n" : "--help\" ;;\n", to);
}

static void bash_enter(FILE *to, const struct cli_command *c)
{
    const struct cli_command *parent = parent_of(c);
    if (!parent)
        return;
    fprintf(to, "    \"%s/%s\"", parent->path, cli_command_word(c));
    for (size_t k = 0; k < ALIAS_MAX && c->alias[k]; k++)
        fprintf(to, "|\"%s/%s\"", parent->path, c->alias[k]);
    fprintf(to, ") REPLY=\"%s\" ;;\n", c->path);
}

static void bash_choices(FILE *to, const struct cli_command *c)
{
    for (size_t i = 0; i < c->param_n; i++) {
        const struct cli_param *p = &c->param[i];
        if (!p->choice)
            continue;
        if (cli_param_is_positional(p))
            fprintf(to, "    \"%s/\"", c->path);
        else
            fprintf(to, "    \"%s/%s\"%s%s%s%s%s", c->path, p->flag[0], p->flag[1] ? "|\"" : "", p->flag[1] ? c->path : "",
                    p->flag[1] ? "/" : "", p->flag[1] ? p->flag[1] : "", p->flag[1] ? "\"" : "");
        fputs(") REPLY=\"", to);
        for (const char *const *choice = p->choice; *choice; choice++)
            fprintf(to, "%s ", *choice);
        fputs("\" ;;\n", to);
    }
}

static void bash_case(FILE *to, const char *function, const char *word, void (*print)(FILE *, const struct cli_command *))
{
    fprintf(to, "%s() {\n    REPLY=\"\"\n    case \"%s\" in\n", function, word);
    for (size_t i = 0; i < cli_command_n; i++)
        print(to, &cli_commands[i]);
    fputs("    esac\n}\n", to);
}

static void print_bash(FILE *to)
{
    bash_case(to, "_det_words", "$1", bash_words);     /* what may follow a command */
    bash_case(to, "_det_enter", "$1/$2", bash_enter);  /* the command that a word below another one names */
    bash_case(to, "_det_choices", "$1/$2", bash_choices); /* the values of an option, or of a command's argument */
    fputs("_det() {\n"
          "    local REPLY path=\"\" word i\n"
          "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
          "        word=\"${COMP_WORDS[i]}\"\n"
          "        _det_enter \"$path\" \"$word\"\n"
          "        [ -n \"$REPLY\" ] && path=\"$REPLY\"\n"
          "    done\n"
          "    word=\"${COMP_WORDS[COMP_CWORD]}\"\n"
          "    _det_choices \"$path\" \"${COMP_WORDS[COMP_CWORD-1]}\"\n"
          "    if [ -z \"$REPLY\" ]; then\n"
          "        case \"$word\" in\n"
          "        -*) _det_words \"$path\" ;;\n"
          "        *) _det_choices \"$path\" \"\"; [ -n \"$REPLY\" ] || { _det_words \"$path\"; "
          "REPLY=\"${REPLY%% -*}\"; case \"$REPLY\" in -*) REPLY=\"\" ;; esac; } ;;\n"
          "        esac\n"
          "    fi\n"
          "    COMPREPLY=($(compgen -W \"$REPLY\" -- \"$word\"))\n"
          "}\n"
          "complete -o default -F _det det\n", to);
}

/* ---- fish ---- */

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
    if (!parent)
        return;
    fprintf(to, "            case '%s/%s'", parent->path, cli_command_word(c));
    for (size_t k = 0; k < ALIAS_MAX && c->alias[k]; k++)
        fprintf(to, " '%s/%s'", parent->path, c->alias[k]);
    fprintf(to, "\n                set path '%s'\n", c->path);
}

static void fish_param(FILE *to, const struct cli_command *c, const struct cli_param *p)
{
    fprintf(to, "complete -c det -n '__det_at \"%s\"'", c->path);
    for (size_t k = 0; k < 2 && p->flag[k]; k++)
        fprintf(to, p->flag[k][1] == '-' ? " -l %s" : " -s %s", p->flag[k] + (p->flag[k][1] == '-' ? 2 : 1));
    if (p->choice) {
        fputs(cli_param_is_positional(p) ? " -f -a '" : " -x -a '", to);
        for (const char *const *choice = p->choice; *choice; choice++)
            fprintf(to, "%s ", *choice);
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
    if (parent) {
        fprintf(to, "complete -c det -n '__det_at \"%s\"' -f -a %s -d ", parent->path, cli_command_word(c));
        fish_quoted(to, c->help);
        fputc('\n', to);
    }
    for (size_t i = 0; i < c->param_n; i++)
        if (!cli_param_is_positional(&c->param[i]) || c->param[i].choice)
            fish_param(to, c, &c->param[i]);
}

static void print_fish(FILE *to)
{
    fputs("function __det_at\n"
          "    set -l path ''\n"
          "    for word in (commandline -opc)[2..-1]\n"
          "        switch \"$path/$word\"\n", to);
    for (size_t i = 0; i < cli_command_n; i++)
        fish_enter(to, &cli_commands[i]);
    fputs("        end\n    end\n    test \"$path\" = \"$argv[1]\"\nend\n", to);
    for (size_t i = 0; i < cli_command_n; i++)
        fish_command(to, &cli_commands[i]);
}

int cmd_completion(struct cli *cli, const struct args_completion *args, struct error *err)
{
    (void)err;
    if (strcmp(args->shell, "fish") == 0) {
        print_fish(cli->out);
        return 0;
    }
    if (strcmp(args->shell, "zsh") == 0)
        fputs("autoload -U +X bashcompinit && bashcompinit\n", cli->out);
    print_bash(cli->out);
    return 0;
}
