"""For gen-sql: the triggers that note who has changed what, made from contract/audited.json.

A trigger writes into the table change_notes while somebody is named as the author of changes (store_act_as()); at the commit
the store makes records of the audit log of the notes (src/store/changes). On SQLite the triggers are temporary: they belong to the
connection that writes, and every start makes them again. On PostgreSQL they are part of the database, and are made again when their text
has changed. `statements` are the texts, `digest` tells whether they have changed."""
import hashlib
import json
import sys

ACTIONS = ("insert", "update", "delete")
LONGEST = 16384 # characters of one value; of a longer one only the length is kept

# What an older version of this program has made is dropped first, also for tables that are not listed any more.
POSTGRES_BEGIN = r"""
DO $$ DECLARE f record; BEGIN
    FOR f IN SELECT oid::regprocedure AS name FROM pg_proc WHERE proname ~ '^det_note_' AND pronamespace = current_schema()::regnamespace LOOP
        EXECUTE 'DROP FUNCTION ' || f.name || ' CASCADE';
    END LOOP;
END $$;
DROP FUNCTION IF EXISTS det_shown(jsonb, boolean);"""

# Notes of the connection that writes. They live from a change to its commit only, so they need no page of the file.
SQLITE_BEGIN = """
CREATE TEMP TABLE change_notes (id INTEGER PRIMARY KEY, actor TEXT NOT NULL, kind TEXT NOT NULL, object_id TEXT NOT NULL,
    action TEXT NOT NULL, old_values TEXT, new_values TEXT) STRICT;"""


def fail(row, text):
    sys.exit(f"contract/audited.json: {row.get('table', row)}: {text}")


def check(row, schema):
    known = schema.get(row["table"]) or fail(row, "there is no such table")
    for name in [*row["id"], *row["columns"], *row.get("hidden", []), *filter(None, [row.get("null")])]:
        if name not in known:
            fail(row, f"the table has no column '{name}'")
    if set(row.get("hidden", [])) - set(row["columns"]):
        fail(row, "a hidden column is not among the columns")
    if set(row) - {"table", "kind", "id", "columns", "hidden", "only", "null"} or set(row.get("only", [])) - set(ACTIONS):
        fail(row, "unknown words")


def sqlite_value(row, name, side):
    column = f"{side}.{name}"
    if name in row.get("hidden", []):
        return f"CASE WHEN {column} IS NOT NULL THEN '(hidden)' END"
    return f"CASE WHEN length({column}) > {LONGEST} THEN '(' || length({column}) || ' characters)' ELSE {column} END"


def sqlite_values(row, action, side):
    if action != "update":
        return "json_object(" + ", ".join(f"'{c}', {sqlite_value(row, c, side)}" for c in row["columns"]) + ")"
    parts = " UNION ALL ".join(f"SELECT '{c}' AS k, {sqlite_value(row, c, side)} AS v WHERE OLD.{c} IS NOT NEW.{c}" for c in row["columns"])
    return f"(SELECT json_group_object(k, v) FROM ({parts}))"


def sqlite_trigger(row, action):
    side = "OLD" if action == "delete" else "NEW"
    when = ["det_actor() IS NOT NULL"]
    if row.get("null"):
        when.append(f"{side}.{row['null']} IS NULL")
    if action == "update":
        when.append("(" + " OR ".join(f"OLD.{c} IS NOT NEW.{c}" for c in row["columns"]) + ")")
    on = f"UPDATE OF {', '.join(row['columns'])}" if action == "update" else action.upper()
    old = "NULL" if action == "insert" else sqlite_values(row, action, "OLD")
    new = "NULL" if action == "delete" else sqlite_values(row, action, "NEW")
    id_text = " || '/' || ".join(f"coalesce({side}.{c}, '')" for c in row["id"])
    return (f"CREATE TEMP TRIGGER det_{action}_{row['table']} AFTER {on} ON main.{row['table']} WHEN {' AND '.join(when)} BEGIN "
            f"INSERT INTO change_notes (actor, kind, object_id, action, old_values, new_values) "
            f"VALUES (det_actor(), '{row['kind']}', {id_text}, '{action}', {old}, {new}); END;")


def postgres_value(row, name, side, column):
    """The value as text of JSON."""
    value = f"{side}.{name}"
    if name in row.get("hidden", []):
        return f"CASE WHEN {value} IS NULL THEN 'null' ELSE '\"(hidden)\"' END"
    if column.type == "INTEGER":
        return f"coalesce({value}::text, 'null')"
    shown = f"coalesce(to_json({value})::text, 'null')"
    if column.type != "TEXT":
        return shown
    return f"CASE WHEN length({value}) > {LONGEST} THEN '\"(' || length({value}) || ' characters)\"' ELSE {shown} END"


def postgres_pair(row, name, side, schema):
    return f"'\"{name}\":' || {postgres_value(row, name, side, schema[row['table']][name])}"


def postgres_all(row, side, schema):
    return "'{' || " + " || ',' || ".join(postgres_pair(row, c, side, schema) for c in row["columns"]) + " || '}'"


def postgres_body(row, action, schema):
    """What stands before the INSERT of the note, and the two values of the note. An update notes the columns that differ."""
    if action == "insert":
        return "BEGIN", "NULL", postgres_all(row, "NEW", schema)
    if action == "delete":
        return "BEGIN", postgres_all(row, "OLD", schema), "NULL"
    lines = [f"IF OLD.{c} IS DISTINCT FROM NEW.{c} THEN o := o || ',' || {postgres_pair(row, c, 'OLD', schema)}; "
             f"n := n || ',' || {postgres_pair(row, c, 'NEW', schema)}; END IF;" for c in row["columns"]]
    return "\n".join(["DECLARE o text := ''; n text := '';", "BEGIN", *lines]), "'{' || substr(o, 2) || '}'", "'{' || substr(n, 2) || '}'"


def postgres_trigger(row, action, schema):
    """A function of its own for each table and action: its text names the columns, so that a row is not made JSON as a whole. The
    condition is the trigger's, so that a row in which nothing has changed calls no function."""
    side = "OLD" if action == "delete" else "NEW"
    name = f"det_note_{action}_{row['table']}"
    when = ["current_setting('det.actor', true) <> ''"]
    if row.get("null"):
        when.append(f"{side}.{row['null']} IS NULL")
    if action == "update":
        when.append("(" + " OR ".join(f"OLD.{c} IS DISTINCT FROM NEW.{c}" for c in row["columns"]) + ")")
    begin, old, new = postgres_body(row, action, schema)
    id_text = " || '/' || ".join(f"coalesce({side}.{c}::text, '')" for c in row["id"])
    return (f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ {begin}\n"
            f"INSERT INTO change_notes (actor, kind, object_id, action, old_values, new_values) "
            f"VALUES (current_setting('det.actor'), '{row['kind']}', {id_text}, '{action}', {old}, {new});\n"
            f"RETURN NULL; END $$;\n"
            f"CREATE TRIGGER {name} AFTER {action.upper()} ON {row['table']} FOR EACH ROW WHEN ({' AND '.join(when)}) "
            f"EXECUTE FUNCTION {name}();")


def statements(contract, schema):
    """{dialect: text}, and a digest of both."""
    rows = json.loads(contract.read_text())["tables"]
    for row in rows:
        check(row, schema)
    wanted = [(row, action) for row in rows for action in row.get("only", ACTIONS)]
    texts = {"sqlite": "\n".join([SQLITE_BEGIN.strip(), *(sqlite_trigger(row, action) for row, action in wanted)]),
             "postgres": "\n".join([POSTGRES_BEGIN.strip(), *(postgres_trigger(row, action, schema) for row, action in wanted)])}
    return texts, hashlib.sha256("".join(texts.values()).encode()).hexdigest()
