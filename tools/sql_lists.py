"""Lists of the store with filters, an order and a page: what tools/gen-sql makes of `-- list:` in src/store/queries.

    -- fragment: users_count
    SELECT count(*) FROM users u WHERE 1 = 1

    -- fragment: users_rows
    SELECT {store_user} FROM users u WHERE 1 = 1

    -- fragment: users_filter_active with active: bool
    AND u.active = $active

    -- By the numbers of api.v1.GetUsersRequest.SortBy.
    -- list: store_user_list of users in memory pages
    -- sort: 0, 1 u.id
    -- sort: 2 u.display_name NULLS LAST, u.id
    -- sort: 3 with now_us: us $now_us - u.created_us, u.id
    -- sort: when nickname: text ...

A list has the fragments USERS_count and USERS_rows, all USERS_filter_… of the file, and the orders that follow it. Out of it come
the struct of the filter (struct store_user_filter), that of the answer (struct store_user_list) and the function, which counts and
reads a page (store/lists/list.h).

What a fragment takes is a field of the filter. A filter counts if its field is set: a text that is neither NULL nor empty, a list
or a number that is not empty or 0, a bool with `has_…`. What count and rows take always counts. `sort: when` goes before the
numbers if its field is set. The pages are those of memory lists or of query lists (store/lists/page.h).

An order is written ascending. Descending, each of its terms is turned round, but for those that end in ASC.
"""
import re

import sql_rows

HEAD = re.compile(r"(\w+) of (\w+) in (memory|query) pages")
SORT = re.compile(r"(?s)(?:(\d+(?:, \d+)*)|when (\w+: \w+))(?: with (\w+: \w+))?\s*(.*)")
FIELDS = {"text": "const char *%s;", "bool": "bool has_%s, %s;", "id": "int32_t %s;", "us": "int64_t %s;",
          "ints": "struct store_ints %s;", "texts": "struct store_texts %s;"}
IS_SET = {"text": "(f->%s && *f->%s)", "bool": "f->has_%s", "id": "f->%s", "us": "f->%s", "ints": "f->%s.n", "texts": "f->%s.n"}


def order(terms, descending):
    """ORDER BY of an order that is written ascending."""
    parts = []
    for term in sql_rows.split_columns(terms):
        m = re.fullmatch(r"(?s)(.*?)(\s+NULLS LAST)?(\s+ASC)?", term)
        parts.append(m[1] + (" DESC" if descending and not m[3] else "") + (m[2] or ""))
    return "ORDER BY " + ", ".join(parts)


class List:
    """One list; its fragments are added as they are read."""
    def __init__(self, where, head, comment):
        m = HEAD.fullmatch(head) or sql_rows.fail(where, f"'{head}' is not FUNCTION of FRAGMENTS in memory|query pages")
        self.where, self.comment, self.function, self.prefix, self.pages = where, comment, m[1], m[2], m[3]
        self.sorts = [] # (numbers, parameter of `when`, parameter of `with`, name of the fragment)

    def sort(self, where, head, text):
        """The order as (numbers, when, with, name, terms)."""
        m = SORT.fullmatch(f"{head}\n{text}".strip()) or sql_rows.fail(where, f"'{head}' is not NUMBER, … or 'when NAME: TYPE', and terms")
        name = f"{self.prefix}_sort_" + (m[2].split(":")[0] if m[2] else m[1].split(",")[0])
        self.sorts.append((m[1], m[2], m[3], name))
        return name, m[2] or m[3], m[4]

    def resolve(self, statements):
        """Looks its fragments up, once all of them are read."""
        self.count, self.rows = (statements.get(f"{self.prefix}_{what}") for what in ("count", "rows"))
        if not self.count or not self.rows or not self.rows.result:
            sql_rows.fail(self.where, f"the fragments {self.prefix}_count and {self.prefix}_rows, which selects a row, are missing")
        if self.count.extra != self.rows.extra:
            sql_rows.fail(self.where, "count and rows take different parameters")
        self.filters = {name: s for name, s in statements.items() if name.startswith(f"{self.prefix}_filter_")}
        self.row = self.rows.result.struct
        self.noun = self.row.removeprefix("store_")

    def fields(self):
        """The fields of the filter: {name: (type, comment)}"""
        found = {name: (kind, self.rows.comment) for name, kind in self.rows.extra.items()}
        for s in self.filters.values():
            found |= {name: (kind, s.comment) for name, kind in s.extra.items()}
        for _, when, of, _ in self.sorts:
            for parameter in filter(None, (when, of)):
                name, kind = parameter.split(": ")
                found[name] = (kind, "what the list is sorted by, if it is not NULL" if when else "")
        for name, (kind, _) in found.items():
            if kind not in FIELDS:
                sql_rows.fail(self.where, f"{name}: '{kind}' is no type of a filter: {', '.join(FIELDS)}")
        return found

    def structs(self):
        lines = [f"struct {self.row}_filter {{"]
        lines += [f"    {FIELDS[kind].replace('%s', name)}" + (f" /* {comment} */" if comment else "")
                  for name, (kind, comment) in self.fields().items()]
        lines += ["    int32_t sort_by;"] * (len(self.sorts) > 1) + ["    bool descending;", "    struct page page;", "};"]
        lines.append(f"struct {self.row}_list {{ struct {self.row} *{self.noun}; size_t {self.noun}_n; struct page_window window; }};")
        return "\n".join(lines)

    def head(self):
        return (f"int {self.function}(struct store *st, const struct {self.row}_filter *f, struct arena *a, struct {self.row}_list *ret,\n"
                f"{' ' * (len(self.function) + 5)}struct error *err)")

    def declaration(self):
        return self.head() + ";"

    def add(self, fragment, extra):
        values = ", ".join(sql_rows.PARAMETERS[kind][1].replace("%s", f"f->{name}") for name, kind in extra.items())
        return f"compose_add(c, {fragment}, {f'SQL_ARGS({values})' if values else 'SQL_NO_ARGS'});"

    def of_compose(self, name, parameters, lines):
        """A function that adds fragments."""
        return (f"static void {self.function}_{name}({parameters})\n{{\n    const struct {self.row}_filter *f = filter;\n"
                + "".join(f"    {line}\n" for line in lines) + "}\n")

    def start_text(self):
        return self.of_compose("start", "struct compose *c, enum sql_fragment fragment, const void *filter",
                               [self.add("fragment", self.rows.extra)])

    def filters_text(self):
        lines = ["(void)a;"] if not any(s.binds_arena() for s in self.filters.values()) else []
        for name, s in self.filters.items():
            is_set = " || ".join(IS_SET[kind].replace("%s", field) for field, kind in s.extra.items())
            lines += [f"if ({is_set})", f"    {self.add(f'F_{name.upper()}', s.extra)}"]
        return self.of_compose("filter", "struct compose *c, const void *filter, struct arena *a", lines)

    def special(self):
        """(when it applies, number or none, fragment, parameter) of the orders that take a parameter."""
        for numbers, when, of, name in self.sorts:
            if when:
                yield IS_SET[when.split(": ")[1]].replace("%s", when.split(":")[0]), name, when
            elif of:
                yield f"f->sort_by == {numbers}", name, of

    def sort_text(self):
        lines = []
        for is_set, name, parameter in self.special():
            field, kind = parameter.split(": ")
            q = f"F_{name.upper()}"
            lines += [f"if ({is_set})", f"    {self.add(f'descending ? {q}_DESC : {q}', {field: kind})}"]
        return self.of_compose("sort", "struct compose *c, const void *filter, bool descending", lines)

    def definition(self):
        special, functions = list(self.special()), [self.filters_text()]
        fields = [f".count = F_{self.prefix.upper()}_COUNT", f".rows = F_{self.prefix.upper()}_ROWS",
                  f".add_filters = {self.function}_filter", ".filter = f"]
        if self.rows.extra:
            functions.append(self.start_text())
            fields.append(f".start = {self.function}_start")
        if special:
            functions.append(self.sort_text())
            fields.append(f".add_sort = {' || '.join(s[0] for s in special)} ? {self.function}_sort : NULL")
        plain = [(number, name) for numbers, when, of, name in self.sorts if not when and not of for number in numbers.split(", ")]
        sorts = "\n".join(f"    {{{number}, F_{name.upper()}, F_{name.upper()}_DESC}}," for number, name in plain)
        fields += [f".sort = {self.function}_sorts", f".sort_n = {len(plain)}"] + [".sort_by = f->sort_by"] * (len(self.sorts) > 1)
        fields += [".descending = f->descending", ".page = f->page", f".window = page_of_{self.pages}_list"]
        return "\n".join([f"static const struct list_sort {self.function}_sorts[] = {{\n{sorts}\n}};\n", *functions, self.head(), "{",
                          "    const struct list_spec spec = {", *(f"        {field}," for field in fields), "    };",
                          f"    return list_run(st, &spec, a, &ret->{self.noun}, &ret->{self.noun}_n, &ret->window, err);", "}\n"])
