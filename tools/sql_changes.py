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

POSTGRES_FUNCTION = f"""
CREATE OR REPLACE FUNCTION det_note_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    o jsonb; n jsonb; old_values jsonb; new_values jsonb; name text; id text := '';
    hidden text[] := string_to_array(TG_ARGV[3], ',');
BEGIN
    IF TG_OP <> 'INSERT' THEN o := to_jsonb(OLD); END IF;
    IF TG_OP <> 'DELETE' THEN n := to_jsonb(NEW); END IF;
    IF TG_ARGV[4] <> '' AND coalesce(n, o) ->> TG_ARGV[4] IS NOT NULL THEN RETURN NULL; END IF;
    FOREACH name IN ARRAY string_to_array(TG_ARGV[2], ',') LOOP
        IF TG_OP = 'UPDATE' AND (o -> name) IS NOT DISTINCT FROM (n -> name) THEN CONTINUE; END IF;
        IF o IS NOT NULL THEN
            old_values := coalesce(old_values, '{{}}') || jsonb_build_object(name, det_shown(o -> name, name = ANY (hidden)));
        END IF;
        IF n IS NOT NULL THEN
            new_values := coalesce(new_values, '{{}}') || jsonb_build_object(name, det_shown(n -> name, name = ANY (hidden)));
        END IF;
    END LOOP;
    IF old_values IS NULL AND new_values IS NULL THEN RETURN NULL; END IF;
    FOREACH name IN ARRAY string_to_array(TG_ARGV[1], ',') LOOP
        id := id || CASE WHEN id = '' THEN '' ELSE '/' END || coalesce(coalesce(n, o) ->> name, '');
    END LOOP;
    INSERT INTO change_notes (actor, kind, object_id, action, old_values, new_values)
    VALUES (current_setting('det.actor'), TG_ARGV[0], id, lower(TG_OP), old_values, new_values);
    RETURN NULL;
END $$;
CREATE OR REPLACE FUNCTION det_shown(value jsonb, hidden boolean) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN value = 'null' THEN value WHEN hidden THEN '"(hidden)"'
        WHEN length(value #>> '{{}}') > {LONGEST} THEN to_jsonb('(' || length(value #>> '{{}}') || ' characters)') ELSE value END
$$;"""


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


def postgres_trigger(row):
    on = " OR ".join(a.upper() for a in row.get("only", ACTIONS))
    arguments = ", ".join(f"'{a}'" for a in (row["kind"], ",".join(row["id"]), ",".join(row["columns"]), ",".join(row.get("hidden", [])),
                                              row.get("null") or ""))
    return (f"DROP TRIGGER IF EXISTS det_changed ON {row['table']};\n"
            f"CREATE TRIGGER det_changed AFTER {on} ON {row['table']} FOR EACH ROW WHEN (current_setting('det.actor', true) <> '')"
            f" EXECUTE FUNCTION det_note_change({arguments});")


def statements(contract, schema):
    """{dialect: text}, and a digest of both."""
    rows = json.loads(contract.read_text())["tables"]
    for row in rows:
        check(row, schema)
    texts = {"sqlite": "\n".join(sqlite_trigger(row, action) for row in rows for action in row.get("only", ACTIONS)),
             "postgres": POSTGRES_FUNCTION.strip() + "\n" + "\n".join(postgres_trigger(row) for row in rows)}
    return texts, hashlib.sha256("".join(texts.values()).encode()).hexdigest()
