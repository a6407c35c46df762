"""Rows of the store: what tools/gen-sql makes of `-- row:` in src/store/queries (the form: docs/decisions/0010).

A row is the one declaration of a record: its columns, in SQL, with the field and the C type of each. Out of it come the
struct, the reader (columns to fields), the list of columns for SELECT and INSERT, and the binders (fields to parameters).
"""
import re
import sys

# What a column's value is in C, and how it is declared as a field.
TYPES = {"id": "int32_t %s;", "i32": "int32_t %s;", "i64": "int64_t %s;", "us": "int64_t %s;", "bool": "bool %s;",
         "real": "double %s;", "text": "const char *%s;", "blob": "const void *%s; size_t %s_n;",
         "borrowed": "const void *%s; size_t %s_n;", "chars": "char %s[];", "bytes": "uint8_t %s[];"}
NUMBERS = ("i32", "i64", "real")
IN_MEMORY = {"number": "N", "text": "T", "labels": "L", "document": "D"}
# Parameters that are fields of no record: how they come, and what is bound.
PARAMETERS = {"id": ("int32_t %s", "sql_int(%s)"), "i32": ("int32_t %s", "sql_int(%s)"), "i64": ("int64_t %s", "sql_int(%s)"),
              "i32?": ("bool has_%s, int32_t %s", "sql_opt_int(has_%s, %s)"), "us": ("int64_t %s", "sql_time(%s)"), "bool": ("bool %s", "sql_bool(%s)"), "real": ("double %s", "sql_real(%s)"),
              "text": ("const char *%s", "sql_text(%s)"), "text?": ("const char *%s", "sql_opt_text(%s)"),
              "strbuf": ("const struct strbuf *%s", "sql_strbuf(%s)"),
              "hash": ("const uint8_t %s[STORE_TOKEN_HASH_SIZE]", "sql_blob(%s, STORE_TOKEN_HASH_SIZE)"),
              "ints": ("struct store_ints %s", "sql_text(json_of_ints(a, %s))"),
              "texts": ("struct store_texts %s", "sql_text(json_of_texts(a, %s))")}
SELECT_ROW = re.compile(r"SELECT (?:DISTINCT )?\{(\w+)(?: \w+)?\}(?=\s+FROM\b|\s*$)")
PLACE = re.compile(r"\{(\w+)(?: (\w+))?\}")
REPLACE = re.compile(r"ON CONFLICT \(([a-z_, ]+)\) DO UPDATE SET \{replace (\w+)\}")
PARAMETER = re.compile(r"\$([a-z_][a-z_0-9.]*)(\?)?")
ITEM_TYPE = re.compile(r'(?s)(.*[^:\s])\s*:\s*(by )?([a-z_]\w*)(?:\[(\w+)\])?(?:(\?)(\w*))?(?: if (\w+))?(?: or "([^"]*)")?')
ITEM_FIELD = re.compile(r"(?s)(.*\S)\s+AS\s+([a-z_][\w.\[\]]*)")


class Column:
    """A column of a table, as the migrations leave it."""
    def __init__(self, declaration):
        self.type = (re.search(r"\b(INTEGER|REAL|TEXT|BLOB)\b", declaration) or [""])[0]
        self.may_be_null = not re.search(r"NOT NULL|PRIMARY KEY", declaration)


def split_columns(text):
    """At the commas that are within no parentheses and no quotes."""
    parts, depth, quoted = [""], 0, False
    for c in text:
        quoted ^= c == "'"
        depth += 0 if quoted else (c == "(") - (c == ")")
        if c == "," and depth == 0 and not quoted:
            parts.append("")
        else:
            parts[-1] += c
    return [p.strip() for p in parts]


def read_schema(migrations):
    """{table: {column: Column}} of SQLite's texts, in their order."""
    tables = {}
    for sql in migrations:
        for statement in re.split(r";\s*(?:\n|$)", sql):
            s = statement.strip()
            if m := re.match(r"(?s)CREATE TABLE (\w+) \((.*)\)(?: STRICT)?$", s):
                parts = [p for p in split_columns(m[2]) if not re.match(r"(PRIMARY|UNIQUE|CHECK|FOREIGN)\b", p)]
                tables[m[1]] = {p.split()[0]: Column(p) for p in parts}
            elif m := re.match(r"(?s)ALTER TABLE (\w+) ADD COLUMN (\w+) (.*)$", s):
                tables[m[1]][m[2]] = Column(m[3])
            elif m := re.match(r"ALTER TABLE (\w+) DROP COLUMN (\w+)$", s):
                del tables[m[1]][m[2]]
            elif m := re.match(r"ALTER TABLE (\w+) RENAME TO (\w+)$", s):
                tables[m[2]] = tables.pop(m[1])
            elif m := re.match(r"DROP TABLE (\w+)$", s):
                del tables[m[1]]
    return tables


class Item:
    """One column of a row."""
    def __init__(self, where, text, row):
        self.where, self.comment, self.mode = where, "", row.mode
        self.by, self.size, self.flag, self.only_if, self.default = None, None, None, None, None
        marked, self.type = False, None
        if m := ITEM_TYPE.fullmatch(text):
            text, self.type, self.size, marked, self.only_if, self.default = m[1], m[3], m[4], bool(m[5]), m[7], m[8]
            self.by = m[3] if m[2] else None
        explicit = ITEM_FIELD.fullmatch(text)
        self.expression, self.field = (explicit[1], explicit[2]) if explicit else (text, None)
        self.alias, self.name, column = row.find_column(self)
        self.field = self.field or self.name or (text if re.fullmatch(r"[a-z_]\w*", text) else None)
        if not self.field:
            fail(where, f"'{text}' is an expression: give it a name (AS …)")
        self.shown_as = self.field if explicit and not self.name and "." not in self.field else None
        self.type = self.type or self.usual_type(column, row)
        self.may_be_null = marked or bool(column and column.may_be_null)
        if marked and self.type in (*NUMBERS, "bool"):
            self.flag = self.beside(m[6] or "has_" + self.leaf().removesuffix("_id"))
        self.only_if = self.beside(self.only_if) if self.only_if else None
        if self.may_be_null and self.type in (*NUMBERS, "bool") and not (self.flag or self.only_if or self.mode):
            fail(where, f"{self.expression} may be NULL: '{self.type}?' tells so in a field of its own")

    def usual_type(self, column, row):
        if row.in_memory and column and self.name != "id":
            return "text" if column.type == "TEXT" else "number"
        if not column:
            fail(self.where, f"'{self.expression}' is an expression: give it a type (: text, i32, i64, us, id, bool, real …)")
        if column.type != "INTEGER":
            return {"TEXT": "text", "REAL": "real", "BLOB": "blob"}[column.type]
        if self.name.endswith("_us"):
            return "us"
        if self.name == "id" or self.name.endswith("_id"):
            return "id"
        fail(self.where, f"{self.expression} is an INTEGER: say which (: i32, i64, bool, id)")

    def leaf(self):
        return self.field.rpartition(".")[2]

    def beside(self, name):
        return self.field.rpartition(".")[0] + "." * ("." in self.field) + name

    def moved(self, alias, to, prefix):
        """The same in a row that has it under another alias, within one of its own fields."""
        copy = Item.__new__(Item)
        copy.__dict__.update(self.__dict__)
        if to:
            copy.expression = re.sub(rf"\b{alias}\.", f"{to}.", self.expression)
            copy.alias = to if self.alias == alias else self.alias
        if prefix:
            for key in ("field", "flag", "only_if"):
                if getattr(self, key):
                    setattr(copy, key, f"{prefix}.{getattr(self, key)}")
            copy.shown_as = None
        return copy

    def signature(self):
        return self.field, self.type, self.flag, self.mode

    def declaration(self):
        if self.type in TYPES:
            text = TYPES[self.type].replace("%s", self.leaf())
        else:
            text = f"enum {self.type} {self.leaf()};"
        if self.type in ("chars", "bytes"):
            if not self.size:
                fail(self.where, f"{self.field}: how large is it? ({self.type}[N])")
            text = text.replace("[]", f"[{self.size}]")
        return f"bool {self.flag}; {text}" if self.flag else text

    def reader(self):
        f = f"x->{self.field}"
        if self.by:
            return f"{self.by}_read(take_text(q, a), x);"
        if self.flag:
            how = {"i32": "take_opt_i32", "i64": "take_opt_int", "real": "take_opt_real"}[self.type]
            return f"x->{self.flag} = {how}(q, &{f});"
        if self.type in ("chars", "bytes"):
            return f"take_{self.type}(q, {f}, sizeof({f}));"
        if self.type in ("blob", "borrowed"):
            return f"{f} = take_{self.type}({'q, a' if self.type == 'blob' else 'q'}, &{f}_n);"
        if self.type == "text":
            return f"{f} = take_{'opt_' if self.may_be_null and not self.only_if else ''}text(q, a);"
        how = {"id": "i32", "i32": "i32", "i64": "int", "us": "int", "bool": "bool", "real": "real"}.get(self.type)
        return f"{f} = take_{how}(q);" if how else f"take_chars(q, name, sizeof(name));\n    {self.type}_parse(name, &{f});"

    def value(self, may_be_null):
        """What is bound; may_be_null: where the statement takes NULL for "none"."""
        f = f"x->{self.field}"
        condition = self.flag or self.only_if
        may_be_null = may_be_null or self.may_be_null
        if self.by:
            return f"sql_text({self.by}_write(x, a))"
        if self.type == "text":
            if condition:
                return f"sql_opt_text(x->{condition} ? {f} : NULL)"
            return f"sql_opt_text({f})" if may_be_null else \
                f'sql_text({f} ? {f} : "{self.default}")' if self.default is not None else f"sql_text({f})"
        if self.type == "chars":
            return f"sql_opt_text(*{f} ? {f} : NULL)" if may_be_null else f"sql_text({f})"
        if self.type == "bytes":
            return f"sql_blob({f}, sizeof({f}))"
        if self.type in ("blob", "borrowed"):
            return f"sql_blob({f}, {f}_n)"
        if self.type in ("id", "us"):
            return f"sql_opt_int({f} != 0, {f})" if may_be_null else f"sql_int({f})"
        if self.type == "real":
            return f"sql_opt_real(x->{condition}, {f})" if condition else f"sql_real({f})"
        if self.type in ("i32", "i64", "bool"):
            return f"sql_opt_int(x->{condition}, {f})" if condition else f"sql_int({f})"
        return f"sql_text({self.type}_name({f}))"


class Row:
    """Made of the lines of a `-- row:` block: (number, text, comment). in_memory: of a `-- columns:` block, which is no struct."""
    def __init__(self, path, number, head, comment, lines, schema, rows, in_memory=False):
        self.where, self.schema, self.mode, self.in_memory = (path, number), schema, "", in_memory
        m = re.fullmatch(r"(\w+)(?: in (\S+\.h))?(?: into (\w+))?(?: of (.*))?", head)
        if not m:
            fail(self.where, f"'{head}' is not NAME [in HEADER | into ROW] of TABLE ALIAS, …")
        self.name, self.header, self.struct, self.comment = m[1], m[2], m[3] or m[1], comment
        self.tables = {alias: table for table, alias in (t.split() for t in (m[4] or "").split(", ") if t)}
        for table in self.tables.values():
            if table not in schema:
                fail(self.where, f"there is no table '{table}'")
        self.items, self.members = [], [] # in the order of columns; of the struct: Item, (row, field, comment) or text
        self.read_lines(path, lines, rows)

    def read_lines(self, path, lines, rows):
        text, last = "", None
        for number, line, comment in lines:
            if m := re.fullmatch(r"(read|write) only(?:: (.*))?", comment) if not line else None:
                self.mode = m[1]
                self.members.append(f"/* {m[2] or comment} */")
            elif m := re.fullmatch(r"also: ([^;]*;(?: [^;]*;)*)(?: -- (.*))?", comment) if not line else None:
                self.members.append(m[1] + (f" /* {m[2]} */" if m[2] else ""))
            elif not line:
                self.members.append(f"/* {comment} */")
            *whole, text = split_columns(f"{text}\n{line}") if line else (text,)
            for part in whole:
                last = self.add(path, number, part.strip(), rows) if part.strip() else last
            if line and comment and text.strip():
                last, text = self.add(path, number, text.strip(), rows), ""
            if line and comment:
                last.comment = comment
        if text.strip():
            self.add(path, lines[-1][0], text.strip(), rows)

    def add(self, path, number, text, rows):
        m = re.fullmatch(r"\{(\w+)(?: (\w+))?\}(?:\s+AS\s+(\w+))?", text)
        if not m:
            item = Item((path, number), text, self)
            self.items.append(item)
            self.members.append(item)
            return item
        inner = rows.get(m[1])
        if not inner:
            fail((path, number), f"there is no row '{m[1]}' before this one")
        alias = next(iter(inner.tables), None)
        moved = [i.moved(alias, m[2], m[3]) for i in inner.items]
        for item in moved:
            item.mode = item.mode or self.mode
        self.items += moved
        if m[3]:
            self.members.append(Member(inner.struct, m[3]))
            return self.members[-1]
        self.members += [moved[inner.items.index(x)] if isinstance(x, Item) and x in inner.items else x
                         for x in inner.members]
        return moved[-1]

    def find_column(self, item):
        """(alias, name, Column) when the expression is a column."""
        m = re.fullmatch(r"(?:(\w+)\.)?([a-z_]\w*)", item.expression)
        alias = m[1] or next(iter(self.tables), None) if m else None
        if not m or (not m[1] and m[2] not in self.schema.get(self.tables.get(alias), {})):
            return None, None, None
        table = self.tables.get(alias)
        if not table and item.type:
            return None, None, None
        if not table:
            fail(item.where, f"{item.expression}: no table of this row has the alias '{alias}'")
        if m[2] not in self.schema[table]:
            fail(item.where, f"the table {table} has no column '{m[2]}'")
        return alias, m[2], self.schema[table][m[2]]

    def read_items(self):
        return [i for i in self.items if i.mode != "write"]

    def needs_arena(self):
        return any(re.search(r"\(q, a\)|, a\b", i.reader()) for i in self.read_items())

    def written(self):
        alias = next(iter(self.tables), None)
        return [i for i in self.items if i.mode != "read" and i.name and i.alias == alias]

    def table(self):
        return next(iter(self.tables.values()))

    def select(self, alias):
        mine = next(iter(self.tables), None)
        items = [i.moved(mine, alias, None) for i in self.read_items()]
        return ", ".join(i.expression + (f' AS "{i.shown_as}"' if i.shown_as else "") for i in items)

    def by_field(self, where, field):
        for item in self.items:
            if item.field == field:
                return item
        fail(where, f"the row {self.name} has no field '{field}'")

    def struct_text(self):
        lines = [f"/* {self.comment} */"] if self.comment else []
        lines.append(f"struct {self.name} {{")
        for member in self.members:
            if isinstance(member, Item) and ("." in member.field or member.by):
                continue # such a member is declared beside (also: …)
            text = member if isinstance(member, str) else member.declaration()
            comment = "" if isinstance(member, str) else member.comment
            lines.append(f"    {text}" + (f" /* {comment} */" if comment else ""))
        return "\n".join(lines) + "\n};\n"

    def column_names(self):
        return [i.leaf() for i in self.items[1:] if i.type != "document"]

    def columns_text(self):
        """The places of columns in memory, after the id, and a letter for what each of them holds."""
        prefix = self.name.rpartition("_")[2].upper()
        names = "".join(f"{prefix}_{name.upper()}, " for name in self.column_names())
        return (f"/* {self.comment} */\n" if self.comment else "") + f"enum {self.name} {{ {names}{prefix}_NR }};\n" \
            f"extern const char {self.name}_types[]; /* N: number, T: text, L: labels, D: document, which comes last */\n"

    def column_types_text(self):
        if self.items[0].type != "id":
            fail(self.where, "columns begin with an id")
        return f'const char {self.name}_types[] = "{"".join(IN_MEMORY[i.type] for i in self.items[1:])}";'

    def reader_text(self):
        items = self.read_items()
        is_enum = any(not i.by and i.type not in TYPES for i in items)
        lines = [f"void read_{self.name}(struct query *q, struct arena *a, void *row)", "{",
                 f"    struct {self.struct} *x = row;"] + ["    char name[32];"] * is_enum
        lines.append(f"    *x = (struct {self.struct}){{0}};")
        lines += [f"    {i.reader()}" for i in items]
        return "\n".join(lines) + "\n}\n"


class Member:
    def __init__(self, struct, field):
        self.struct, self.field, self.comment = struct, field, ""

    def declaration(self):
        return f"struct {self.struct} {self.field};"


class Statement:
    """A statement with what its rows and its parameters are."""
    def __init__(self, where, source, extra, result, rows):
        self.where, self.rows, self.function = where, rows, None
        self.source = rows[source] if source in rows else fail(where, f"there is no row '{source}'") if source else None
        self.result = rows[result] if result in rows else fail(where, f"there is no row '{result}'") if result else None
        self.extra = dict(p.split(": ") for p in extra.split(", ")) if extra else {}
        for type in self.extra.values():
            if type not in PARAMETERS:
                fail(where, f"'{type}' is no type of a parameter: {', '.join(PARAMETERS)}")
        self.parameters = [f"${name}" for name in self.extra]
        self.arguments = [PARAMETERS[type][1].replace("%s", name) for name, type in self.extra.items()]

    def expand(self, sql):
        """Rows become columns, named parameters numbers."""
        for m in SELECT_ROW.finditer(sql):
            if m[1] in self.rows:
                self.result = self.rows[m[1]]
        if m := re.search(r"\{insert (\w+)\}", sql):
            self.source = self.rows.get(m[1]) or fail(self.where, f"there is no row '{m[1]}'")
            names = [i.name for i in self.source.written()]
            values = ", ".join(f"${i.field}" for i in self.source.written())
            sql = sql.replace(m[0], f"{self.source.table()} ({', '.join(names)})\nVALUES ({values})")
        if m := REPLACE.search(sql):
            row = self.rows.get(m[2]) or fail(self.where, f"there is no row '{m[2]}'")
            names = [i.name for i in row.written() if i.name not in m[1].split(", ")]
            sql = sql.replace(f"{{replace {m[2]}}}", ", ".join(f"{name} = excluded.{name}" for name in names))
        for m in PLACE.finditer(sql):
            if m[1] not in self.rows:
                fail(self.where, f"{{{m[1]}}} is not defined")
            if not SELECT_ROW.search(sql):
                fail(self.where, f"{{{m[1]}}} is a row: it is all that a SELECT selects")
        sql = PLACE.sub(lambda m: self.rows[m[1]].select(m[2]), sql)
        for name in self.extra:
            if not re.search(rf"\${name}\b", sql):
                fail(self.where, f"the parameter ${name} is not used")
        return PARAMETER.sub(self.number, sql)

    def number(self, m):
        if m[0] not in self.parameters:
            self.parameters.append(m[0])
            if not self.source:
                fail(self.where, f"{m[0]} is a field of no row, and is not named after 'with'")
            self.arguments.append(self.source.by_field(self.where, m[1]).value(bool(m[2])))
        return f"${1 + self.parameters.index(m[0])}"

    def binds_arena(self):
        return any("_write(x, a)" in value or "(a, " in value for value in self.arguments)

    def check_columns(self, sql):
        """A statement that spells its columns out: they are the row's, by name and in their order."""
        outer = re.sub(r"\(|\)|[^()]+", Outer(), sql)
        m = re.search(r"(?s)SELECT (?:DISTINCT )?(.*?)(?:\sFROM\b|$)", outer)
        found = [re.search(r"(\w*)$", c)[1] for c in split_columns(m[1])] if m else []
        wanted = [i.leaf() for i in self.result.read_items()]
        if found != wanted:
            fail(self.where, f"the columns are {', '.join(found)}; those of {self.result.name} are {', '.join(wanted)}")


class Outer:
    """For re.sub: drops what is within parentheses."""
    def __init__(self):
        self.depth = 0

    def __call__(self, m):
        self.depth += (m[0] == "(") - (m[0] == ")")
        return "" if self.depth or m[0] in "()" else m[0]


def fail(where, text):
    sys.exit(f"{where[0]}:{where[1]}: {text}")


def passed(parameter, type):
    """The arguments that one parameter is, as a call has them."""
    return [f"has_{parameter}", parameter] if type == "i32?" else [parameter]


def binder(name, statement):
    """(declaration, definition, macro) of what makes a statement's parameters of a row and single values."""
    n, names, takes = len(statement.arguments), [], []
    if statement.source:
        names, takes = ["x"], [f"const struct {statement.source.struct} *x"]
    for parameter, type in statement.extra.items():
        names += passed(parameter, type)
        takes.append(PARAMETERS[type][0].replace("%s", parameter))
    if statement.binds_arena():
        names.append("a")
        takes.append("struct arena *a")
    head = f"const struct sql_value *bind_{name}(struct sql_value *v, {', '.join(takes)})"
    body = "".join(f"    v[{i}] = {value};\n" for i, value in enumerate(statement.arguments))
    given = ", ".join(names)
    macro = f"#define ARGS_{name.upper()}({given}) " \
        f"((struct sql_args){{bind_{name}((struct sql_value[{n}]){{{{0}}}}, {given}), {n}}})"
    return head + ";", f"{head}\n{{\n{body}    return v;\n}}\n", macro


def runners(name, row):
    q, struct = f"Q_{name.upper()}", row.struct
    return (f"static inline int get_{name}(struct store *st, struct sql_args args, struct arena *a, struct {struct} *ret, "
            f"struct error *err)\n{{\n    return query_one(st, {q}, args, read_{row.name}, a, ret, err);\n}}\n"
            f"static inline int list_{name}(struct store *st, struct sql_args args, struct arena *a, struct {struct} **ret, "
            f"size_t *ret_n, struct error *err)\n{{\n    return query_all(st, {q}, args, read_{row.name}, sizeof(**ret), a, "
            f"ret, ret_n, err);\n}}\n")


def public_header(rows):
    made = [r for r in rows.values() if r.struct == r.name and not r.header and not r.in_memory and r.name.startswith("store_")]
    return ("/* The records that the store hands out. */\n#ifndef DET_STORE_ROWS_H\n#define DET_STORE_ROWS_H\n\n"
            '#include "core/records/rows.h"\n#include "store/store.h"\n\n' + "\n".join(r.struct_text() for r in made) + "\n#endif\n")


def fragment_rows(fragments):
    """What reads the rows of lists that are put together."""
    lines = [f"    [F_{name.upper()}] = {{ read_{s.result.name}, sizeof(struct {s.result.struct}) }},"
             for name, s in fragments.items() if s.result]
    return "const struct sql_row_type sql_fragment_rows[F_NR] = {\n" + "\n".join(lines) + "\n};\n"


def inner_header(rows, statements, copies, declarations):
    columns = [r for r in rows.values() if r.in_memory]
    rows = {name: r for name, r in rows.items() if not r.in_memory}
    own = [r for r in rows.values() if r.struct == r.name and not r.header and not r.name.startswith("store_")]
    headers = sorted({r.header for r in rows.values() if r.header})
    h = ["/* Within the store: reading and binding the records of queries, statement by statement. */",
         "#ifndef DET_STORE_ROW_IO_H\n#define DET_STORE_ROW_IO_H\n", '#include "store/engine/query.h"\n#include "store/rows.h"']
    h += [f'#include "{x}"' for x in headers] + [""]
    h += [r.columns_text() for r in columns] + [r.struct_text() for r in own]
    h += [f"void read_{r.name}(struct query *q, struct arena *a, void *row);" for r in rows.values() if r.read_items()] + [""]
    for name, s in {**statements, **copies}.items():
        if s.arguments:
            declaration, _, macro = binder(name, s)
            h += [declaration, macro]
        if s.result and not s.result.in_memory and name in statements:
            h.append(runners(name, s.result))
    h.append("/* The rows that a fragment selects; none: read is NULL. */\nstruct sql_row_type { row_fn *read; size_t size; };\n"
             "extern const struct sql_row_type sql_fragment_rows[F_NR];\n")
    h += [f"enum {{ COPY_{name.upper()}_COLUMNS = {len(s.arguments)} }};" for name, s in copies.items() if s.source]
    h += ["", *declarations]
    return "\n".join(h) + "\n#endif\n"


def source(rows, statements, copies, fragments):
    c = ['#include "store/row_io.h"\n\n#include "store/lists/row_types.h"\n#include "store/engine/take.h"\n']
    c += [r.column_types_text() + "\n" for r in rows.values() if r.in_memory]
    c += [r.reader_text() for r in rows.values() if r.read_items() and not r.in_memory]
    c += [binder(name, s)[1] for name, s in {**statements, **copies}.items() if s.arguments]
    c.append(fragment_rows(fragments))
    return "\n".join(c)
