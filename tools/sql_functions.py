"""Functions of the store that do nothing but run one statement: what tools/gen-sql makes of `-- function:` below a `-- name:`.

    -- The comment above the name becomes the comment of the function.
    -- name: users_touch_auth with id: id, now_us: i64
    -- function: store_user_touch_auth
    -- missing: user $id
    UPDATE users SET last_auth_us = $now_us WHERE id = $id;

The parameters of the function are those of the statement: a record, if it has one, and then what is named after 'with'. What it
does follows its name:

    -- function: F                  runs the statement
    -- function: F sends            does not wait for its outcome (query_send)
    -- function: F returns changes  how many rows were written
    -- function: F returns i32      the first column of the first row: i32, i64, bool or text
    -- function: F returns ids      the first column of all rows: ids, i64s or texts
    -- function: F returns row      the record of the first row; all its fields are 0 when there is none
    -- function: F returns rows     the records of all rows

    -- missing: user $id            it is ERR_NOT_FOUND, with this name in its sentence, when no row was written or found
    -- conflict: "$name" is taken   the sentence of an ERR_CONFLICT
    -- unknown: no pool $pool_id    the same when a row that is referred to does not exist
    -- then: users_forget           another statement that is run after it, with the same parameters or some of them
"""
import re
import textwrap

import sql_lists
import sql_rows

HEAD = re.compile(r"(\w+)(?: (sends)| returns (\w+))?")
VALUES = {"changes": ("int64_t *ret_n", None), "i32": ("int32_t *ret", "query_i32"), "i64": ("int64_t *ret", "query_int"),
          "bool": ("bool *ret", "query_bool"), "text": ("const char **ret", "query_text"),
          "ids": ("int32_t **ret, size_t *ret_n", "query_ids"), "i64s": ("int64_t **ret, size_t *ret_n", "query_ints"),
          "texts": ("const char ***ret, size_t *ret_n", "query_texts")}
IN_ARENA = ("text", "ids", "i64s", "texts")
FORMATS = {"id": "%d", "i32": "%d", "text": "%s", "chars": "%s", "i64": "%lld", "us": "%lld"}
WIDTH = 125


def wrap_parameters(text):
    """A function's head in lines that end after a parameter."""
    lines, indent = [""], " " * (text.index("(") + 1)
    for part in text.split(", "):
        if lines[-1] and len(lines[-1]) + len(part) + 2 > WIDTH:
            lines.append(indent + part)
        else:
            lines[-1] += (", " if lines[-1] else "") + part
    return ",\n".join(lines)


def comment_text(comment):
    return "\n".join(textwrap.wrap(f"/* {comment} */", WIDTH, subsequent_indent=" * ")) + "\n" if comment else ""


def file_comment(path):
    """What a file of queries says of itself: the comment at its beginning, if an empty line follows it."""
    begin = path.read_text().partition("\n\n")[0]
    lines = [line.removeprefix("--").strip() for line in begin.splitlines()]
    is_title = all(line.startswith("-- ") and not re.match(r"-- \w+: ", line) for line in begin.splitlines())
    return comment_text(" ".join(lines)) + "\n" if is_title and not lines[0].startswith("----") else ""


class Function:
    """One function, of the statement that is named `name`."""
    def __init__(self, where, name, comment, marks, statement):
        self.where, self.name, self.statement, self.comment = where, name, statement, comment
        m = HEAD.fullmatch(marks["function"]) or sql_rows.fail(where, f"'{marks['function']}' is not FUNCTION [sends | returns WHAT]")
        self.function, self.sends, self.returns = m[1], bool(m[2]), m[3]
        self.missing, self.conflict, self.unknown = marks.get("missing"), marks.get("conflict"), marks.get("unknown")
        self.then = marks.get("then")
        if self.returns in ("row", "rows") and not statement.result:
            sql_rows.fail(where, f"{name} selects no row: its function can't return one")
        if self.returns not in (None, "row", "rows", *VALUES):
            sql_rows.fail(where, f"'{self.returns}' is nothing to return: row, rows, {', '.join(VALUES)}")

    def sentence(self, text):
        """A text with $parameters, as the arguments of printf."""
        values = []
        def value(m):
            kind = self.statement.extra.get(m[1])
            if kind:
                name = m[1]
            else:
                kind, name = self.statement.source.by_field(self.where, m[1]).type, f"x->{m[1]}"
            if kind.removesuffix("?") not in FORMATS:
                sql_rows.fail(self.where, f"${m[1]} is no text and no number: a sentence can't have it")
            form = FORMATS[kind.removesuffix("?")]
            values.append(f"(long long){name}" if form == "%lld" else name)
            return form
        form = re.sub(r"\$([a-z_]+)", value, text.replace("%", "%%").replace('"', '\\"'))
        return ", ".join([f'"{form}"'] + values)

    def resolve(self, statements):
        """Looks up the statement that follows, once all of them are read."""
        if self.then:
            name, self.then = self.then, statements.get(self.then)
            if not self.then or self.returns or not self.then.extra.items() <= self.statement.extra.items():
                sql_rows.fail(self.where, f"'{name}' is no statement that can follow: its parameters must be among those of this one, "
                              "which returns nothing")
            self.then.name = name

    def reads_arena(self):
        return self.returns in IN_ARENA or self.returns == "rows" or \
            self.returns == "row" and self.statement.result.needs_arena()

    def parameters(self):
        s = self.statement
        takes = ["struct store *st"]
        if s.source:
            takes.append(f"const struct {s.source.struct} *x")
        takes += [sql_rows.PARAMETERS[kind][0].replace("%s", name) for name, kind in s.extra.items()]
        if self.reads_arena():
            takes.append("struct arena *a")
        if self.returns in ("row", "rows"):
            takes.append(f"struct {s.result.struct} *" + ("ret" if self.returns == "row" else "*ret, size_t *ret_n"))
        elif self.returns:
            takes.append(VALUES[self.returns][0])
        return takes + ["struct error *err"]

    def head(self):
        text = f"int {self.function}({', '.join(self.parameters())})"
        return wrap_parameters(text)

    def declaration(self):
        return comment_text(self.comment) + self.head() + ";"

    def args(self, name, s):
        names = (["x"] if s.source else []) + [x for item in s.extra.items() for x in sql_rows.passed(*item)]
        names += ["a"] * s.binds_arena()
        return f"ARGS_{name.upper()}({', '.join(names)})" if s.arguments else "SQL_NO_ARGS"

    def run_text(self, name, s):
        q, args = f"Q_{name.upper()}", self.args(name, s)
        return f"query_send(st, {q}, {args}, err)" if self.sends else f"query_exec(st, {q}, {args}, NULL, err)"

    def call(self):
        """The expression that runs the statement: 0 or -1."""
        s, q, args = self.statement, f"Q_{self.name.upper()}", self.args(self.name, self.statement)
        arena = "a" if self.reads_arena() else "NULL"
        if self.returns == "row":
            call = f"get_{self.name}(st, {args}, {arena}, ret, err)"
            return f"query_found({call}, err, {self.sentence(self.missing)})" if self.missing else f"{call} < 0 ? -1 : 0"
        if self.returns == "rows":
            return f"list_{self.name}(st, {args}, a, ret, ret_n, err)"
        if self.returns == "changes":
            return f"query_exec(st, {q}, {args}, ret_n, err)"
        if self.returns:
            outputs = ("a, " if self.returns in IN_ARENA else "") + ("ret, ret_n" if self.returns.endswith("s") else "ret")
            return f"{VALUES[self.returns][1]}(st, {q}, {args}, {outputs}, err)"
        if self.missing:
            return f"query_exec_one(st, {q}, {args}, err, {self.sentence(self.missing)})"
        return self.run_text(self.name, s)

    def definition(self):
        lines = []
        if self.statement.binds_arena() and not self.reads_arena():
            lines += ["cleanup_arena struct arena own = ARENA_INIT;", "struct arena *a = &own;"]
        if self.returns == "row" and not self.missing:
            lines.append(f"*ret = (struct {self.statement.result.struct}){{0}};")
        if not self.conflict and not self.then:
            return self.with_body([*lines, f"return {self.call()};"])
        lines.append(f"if ({self.call()} < 0)" + (" {" if self.unknown else ""))
        if self.unknown:
            lines += ["    if (error_is_constraint(err, CONSTRAINT_FOREIGN_KEY, NULL))",
                      f"        return explain_conflict(err, {self.sentence(self.unknown)});"]
        lines.append(f"    return explain_conflict(err, {self.sentence(self.conflict)});" if self.conflict else "    return -1;")
        lines += ["}"] * bool(self.unknown)
        return self.with_body([*lines, f"return {self.run_text(self.then.name, self.then) if self.then else '0'};"])

    def with_body(self, lines):
        return f"{self.head()}\n{{\n" + "".join(f"    {line}\n" for line in lines) + "}\n"


def header(functions):
    """The functions that others call, in the order of queries/*.sql."""
    h = ["/* The functions of the store that run one statement each. The comments and the statements are in queries/NAME.sql. */\n"
         "#ifndef DET_STORE_FUNCTIONS_H\n#define DET_STORE_FUNCTIONS_H\n", '#include "store/lists/page.h"\n#include "store/rows.h"']
    results = [f.statement.result for f in functions if isinstance(f, Function) and f.statement.result]
    elsewhere = {r.struct for r in results if r.header}
    h += [""] + [f"struct {name};" for name in sorted(elsewhere)]
    family = None
    for f in functions:
        if f.where[0].stem != family or f.comment:
            h += [""] * (not h[-1].endswith("\n"))
        if f.where[0].stem != family:
            family = f.where[0].stem
            h.append(f"/* ---- queries/{family}.sql ---- */\n" + file_comment(f.where[0]))
        if isinstance(f, sql_lists.List):
            h.append(comment_text(f.comment) + f.structs())
        if f.function.startswith("store_"):
            h.append(f.declaration())
    return "\n".join(h) + "\n\n#endif\n"


def source(functions):
    return '#include "store/functions.h"\n\n#include "store/lists/list.h"\n\n' + "\n".join(f.definition() for f in functions)


def inner_declarations(functions):
    """Declarations of the functions that only the store calls."""
    return [f.declaration() for f in functions if not f.function.startswith("store_")]
