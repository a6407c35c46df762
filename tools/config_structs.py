"""Makes structs of C of a table of configuration keys, for tools/gen-config.

Each section of the table becomes a struct, each key a field with its type. The unit of a number is part of the field's name. A key
that may be unset has a second field, `has_NAME`; texts, trees and lists are NULL instead. A union (`selector`) is one struct with the
keys of all its kinds, and an enum that tells the kind. What is made and what is not is written in docs/decisions/0012.
"""
import json
import re
import sys

INT32 = (-(2 ** 31), 2 ** 31 - 1)
SCALARS = {"bool": ("bool", "BOOL"), "number": ("double", "DOUBLE"), "size": ("int64_t", "SIZE"),
           "duration": ("int64_t", "DURATION")}
UNITS = {"s": "_s", "ms": "_ms", "days": "_days", "batches": "_batches", "bytes": "_bytes", "MB": "_mb", "GB": "_gb"}
LENGTH_UNITS = ("batches", "records", "epochs")
FILES = {"exp": "experiment_config", "task": "task_config"}  # of the structs of each table, in gen/


def c_name(text):
    return re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_") or "none"


def c_number(value):
    if isinstance(value, float) and not value.is_integer():
        return repr(value)
    value = int(value)
    return str(value) if INT32[0] < value <= INT32[1] else f"INT64_C({value})"


class Field:
    """A key of a section, as it is in the section's struct."""

    def __init__(self, record, node, only):
        self.node, self.only, self.key, self.record = node, only, node.name, None
        row = node.row
        unit = UNITS.get(row.get("unit"), "_us" if row["type"] == "duration" else "")
        self.name = node.name if node.name.endswith(unit) else node.name + unit
        self.nullable = not any(row.get(flag) for flag in ("required", "complete")) and "default" not in row
        self.choice = None
        self.kind, self.type = self.type_of(record, node)
        if self.kind == "CHOICE" and record.selector == node.name:
            self.name = "kind"
        self.is_list = self.kind in ("TEXTS", "INT32S", "RECORDS")
        self.beside = f"{self.name}_n" if self.is_list else \
            f"has_{self.name}" if self.nullable and self.kind not in ("TEXT", "TREE", "RECORD") else None

    def type_of(self, record, node):
        """The schema_field_type, and the type of C."""
        row = node.row
        if row.get("check") == "length":
            self.choice = "exp_unit"
            return "LENGTH", "struct schema_length"
        types = [row["normal"]] if "normal" in row else node.types
        if len(types) > 1 or types[0] in ("map", "any"):
            return "TREE", "struct json_object *"
        kind = types[0]
        if kind in SCALARS:
            return SCALARS[kind][1], SCALARS[kind][0]
        if kind == "int":
            low, high = row.get("min", INT32[0]), row.get("max", INT32[1])
            return ("INT32", "int32_t") if INT32[0] <= low and high <= INT32[1] else ("INT64", "int64_t")
        if kind == "string" and "choices" in row:
            is_kind = record.selector == node.name
            self.choice = f"{record.enum_prefix}_{'kind' if is_kind else node.name}"
            return "CHOICE", f"enum {self.choice}"
        if kind == "string":
            return "TEXT", "const char *"
        if kind == "object":
            self.record = record.document.record(node, record.path + [node.name])
            return "RECORD", f"struct {self.record.name}"
        if kind == "list":
            return self.type_of_list(record, node)
        sys.exit(f"gen-config: row {row['key']}: no struct can have the type {kind}")

    def type_of_list(self, record, node):
        if node.item is None:
            return "TREE", "struct json_object *"
        types = [node.item.row["normal"]] if "normal" in node.item.row else node.item.types
        if types == ["string"]:
            return "TEXTS", "const char *const *"
        if types == ["int"]:
            return "INT32S", "const int32_t *"
        if types == ["object"]:
            self.record = record.document.record(node.item, record.path + [node.name])
            return "RECORDS", f"const struct {self.record.name} *"
        return "TREE", "struct json_object *"

    def comment(self):
        row, notes = self.node.row, []
        if row.get("default") not in (None, [], {}):
            notes.append("default " + json.dumps(row["default"], ensure_ascii=False))
        if "min" in row:
            notes.append(("more than " if row.get("min_exclusive") else "at least ") + str(row["min"]))
        if "max" in row:
            notes.append(f"at most {row['max']}")
        if self.only:
            notes.append("only of " + ", ".join(self.only))
        text = row["help"].rstrip(".") + (f" ({'; '.join(notes)})" if notes else "")
        return text.replace("*/", "* /")

    def declaration(self):
        gap = "" if self.type.endswith("*") else " "
        own = f"{self.type}{gap}{self.name};"
        if self.is_list:
            return f"{own} size_t {self.beside};"
        return f"bool {self.beside}; {own}" if self.beside else own

    def default_within(self, section):
        """`section`: the default of the whole section."""
        own, given = self.node.row.get("default"), section.get(self.key)
        if self.kind == "RECORD" and own is not None and given is not None:
            return {**own, **given}
        return own if given is None else given

    def initializer(self, value):
        """Of the default; None: it is zero."""
        if value is None or self.kind == "TREE" or value == [] or value is False:
            return None
        if self.kind == "RECORD":
            return f".{self.name} = {self.record.initializer(value)}"
        if self.kind == "RECORDS":
            items = ", ".join(self.record.initializer(v) for v in value)
            return f".{self.name} = (const struct {self.record.name}[]){{{items}}}, .{self.beside} = {len(value)}"
        if self.kind == "TEXTS":
            return f".{self.name} = (const char *const[]){{{', '.join(json.dumps(v) for v in value)}}}, .{self.beside} = {len(value)}"
        if self.kind == "LENGTH":
            (unit, units), = value.items()
            return f".{self.name} = {{EXP_UNIT_{unit.upper()}, {c_number(units)}}}"
        if self.kind == "CHOICE":
            return f".{self.name} = {enumerator(self.choice, value)}"
        texts = {"BOOL": lambda: "true", "TEXT": lambda: json.dumps(value), "DURATION": lambda: c_number(duration_us(value))}
        text = texts.get(self.kind, lambda: c_number(value))()
        return f".{self.name} = {text}"


def enumerator(choice, value):
    prefix = choice[:-len("_kind")] if choice.endswith("_kind") else choice
    return f"{prefix}_{c_name(value)}".upper()


class Record:
    """A section: its struct, its defaults, and where its fields are."""

    def __init__(self, document, node, path, name):
        self.document, self.node, self.path, self.name = document, node, path, name
        self.enum_prefix = name if path else document.prefix
        self.selector = node.row.get("selector")
        self.fields = []
        rows = [child for child in node.children if not child.row.get("drop") and "replaced_by" not in child.row]
        rows.sort(key=lambda child: child.name != self.selector)
        for child in rows:
            self.add(child)
        if self.selector and (not self.fields or self.fields[0].kind != "CHOICE"):
            sys.exit(f"gen-config: row {node.row['key']}: the selector {self.selector} must be a string with choices")

    def add(self, child):
        field = Field(self, child, child.row.get("only"))
        same = next((f for f in self.fields if f.name == field.name), None)
        if same is None:
            self.fields.append(field)
        elif same.type != field.type or not same.only or not field.only:
            sys.exit(f"gen-config: row {child.row['key']}: has two types, one for each of two kinds; a struct can have one")
        elif same.node.row.get("default") != field.node.row.get("default"):
            sys.exit(f"gen-config: row {child.row['key']}: has two defaults, one for each of two kinds; a struct can have one")
        else:
            same.only = same.only + field.only
            same.nullable = same.nullable or field.nullable

    def initializer(self, value):
        """`value`: a default that the section has as a whole, over those of its keys."""
        parts = [f.initializer(f.default_within(value)) for f in self.fields]
        return "{" + (", ".join(p for p in parts if p) or "0") + "}"

    def struct(self):
        where = ".".join(self.path)
        text = f"/* {where}: {self.node.row['help'].rstrip('.')}. */\n" if where else f"/* {self.node.row['help']} */\n"
        text += f"struct {self.name} {{\n    struct json_object *tree; /* the section as it stands in the document; NULL: it is not there */\n"
        return text + "".join(f"    {f.declaration()} /* {f.comment()} */\n" for f in self.fields) + "};\n"

    def kinds(self, field):
        if not field.only:
            return "0"
        choices = self.fields[0].node.row["choices"]
        return hex(sum(1 << choices.index(kind) for kind in set(field.only)))

    def table(self):
        rows = ""
        for f in self.fields:
            rows += f'    {{.name = "{f.key}", .type = SCHEMA_FIELD_{f.kind}, .offset = offsetof(struct {self.name}, {f.name})'
            rows += f", .only = {self.kinds(f)}" if f.only else ""
            rows += f", .beside = offsetof(struct {self.name}, {f.beside})" if f.beside else ""
            rows += f", .choice = {f.choice}_names" if f.choice else ""
            rows += f", .record = &{f.record.name}_record" if f.record else ""
            rows += "},\n"
        return (f"const struct {self.name} {self.name}_defaults = {self.initializer({})};\n"
                f"static const struct schema_field {self.name}_fields[] = {{\n{rows}}};\n"
                f"const struct schema_record {self.name}_record = {{.size = sizeof(struct {self.name}), .defaults = &{self.name}_defaults,\n"
                f"    .field = {self.name}_fields, .field_n = {len(self.fields)}}};\n"
                f"void {self.name}_read(struct json_object *section, struct arena *a, struct {self.name} *ret)\n"
                f"{{\n    schema_read(&{self.name}_record, section, a, ret);\n}}\n\n")


class Document:
    """A whole table of keys. Parts of config-parts.json that another table has, too, have the structs of that table."""

    def __init__(self, prefix, root, other=None):
        self.prefix, self.other, self.records, self.by_name = prefix, other, [], {}
        self.root = self.record(root, [])

    def record(self, node, path):
        """The struct of a section; a part of config-parts.json has one, wherever it stands."""
        if "part" in node.row and self.other and f"{self.other.prefix}_{node.row['part']}" in self.other.by_name:
            return self.other.by_name[f"{self.other.prefix}_{node.row['part']}"]
        words = [node.row["part"]] if "part" in node.row else path or ["values"]
        name = "_".join([self.prefix, *words])
        if name not in self.by_name:
            self.by_name[name] = Record(self, node, path, name)
            self.records.append(self.by_name[name]) # behind those that it contains
        return self.by_name[name]

    def enums(self):
        """[(name, words)], the units of a length first."""
        found = {} if self.other else {"exp_unit": LENGTH_UNITS}
        for record in self.records:
            for f in record.fields:
                if f.kind == "CHOICE":
                    found[f.choice] = f.node.row["choices"]
        return found.items()


def enum_text(name, words):
    first = [f"{name}_none".upper()] if name == "exp_unit" else []
    values = first + [enumerator(name, w) for w in words]
    return (f"enum {name} {{ {', '.join(values)} }};\n"
            f"#define {name.upper()}_NR {len(values)}\n"
            f"extern const char *const {name}_names[]; /* ends with NULL */\n"
            f"const char *{name}_name(enum {name} v);\n\n")


def enum_code(name, words):
    place = "v - 1" if name == "exp_unit" else "v"
    return (f"const char *const {name}_names[] = {{{', '.join(json.dumps(w) for w in words)}, NULL}};\n"
            f"const char *{name}_name(enum {name} v)\n{{\n    return {name}_names[{place}];\n}}\n\n")


def structs_header(document):
    file = FILES[document.prefix]
    text = (f"#ifndef DET_GEN_{file.upper()}_H\n#define DET_GEN_{file.upper()}_H\n\n#include <stdbool.h>\n#include <stddef.h>\n"
            "#include <stdint.h>\n\n#include \"common/config/schema_read.h\"\n")
    text += f'#include "gen/{FILES[document.other.prefix]}.h"\n\n' if document.other else "\n"
    text += "".join(enum_text(*e) for e in document.enums())
    for r in document.records:
        text += (f"{r.struct()}extern const struct {r.name} {r.name}_defaults;\nextern const struct schema_record {r.name}_record;\n"
                 f"void {r.name}_read(struct json_object *section, struct arena *a, struct {r.name} *ret);\n\n")
    return text + "#endif\n"


def structs_code(document):
    return (f'#include "gen/{FILES[document.prefix]}.h"\n\n' + "".join(enum_code(*e) for e in document.enums()) +
            "".join(r.table() for r in document.records))


# ---- numbers ---------------------------------------------------------------------------------------------------------

def duration_us(text):
    """As Go writes durations: "1h30m"."""
    factors = {"h": 3600e6, "m": 60e6, "s": 1e6, "ms": 1e3}
    parts = re.findall(r"([0-9.]+)(ms|[hms])", text)
    if "".join(a + b for a, b in parts) != text:
        sys.exit(f"gen-config: the default {text} is no duration")
    return int(sum(float(a) * factors[b] for a, b in parts))


def number_rows(prefix, node, path=()):
    """(name, value) of each default and each bound of a number below the row."""
    for child in node.children + ([node.item] if node.item else []):
        row, names = child.row, path if child.name in ("[]", "*") else (*path, child.name)
        unit = UNITS.get(row.get("unit"), "_bytes" if child.types == ["size"] else "_us" if child.types == ["duration"] else "")
        name = c_name("_".join((prefix, *names)))
        name = (name if name.endswith(unit) else name + unit).upper()
        if child.types == ["duration"] and isinstance(row.get("default"), str):
            yield f"{name}_DEFAULT", c_number(duration_us(row["default"]))
        if {"int", "number", "size"} & set(child.types):
            for member in ("default", "min", "max", "unset"):
                if isinstance(row.get(member), (int, float)) and not isinstance(row[member], bool):
                    yield f"{name}_{member.upper()}", c_number(row[member])
        yield from number_rows(prefix, child, names)


def numbers_header(tables):
    """Defaults and bounds as constants. Kinds of a union may differ in them: then there is none."""
    found = {}
    for prefix, root in tables:
        for name, value in number_rows(prefix, root):
            found.setdefault(name, set()).add(value)
    lines = "".join(f"#define {name} {values.pop()}\n" for name, values in found.items() if len(values) == 1)
    return f"#ifndef DET_GEN_CONFIG_NUMBERS_H\n#define DET_GEN_CONFIG_NUMBERS_H\n\n#include <stdint.h>\n\n{lines}\n#endif\n"
