#!/usr/bin/env python3
"""A row of the store gives its struct, its reader and its binders, and whatever does not fit the tables stops the build with a sentence."""
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
TABLE = """CREATE TABLE pets (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    nickname TEXT,
    tame INTEGER NOT NULL,
    weight REAL,
    born_us INTEGER
) STRICT;
"""
ROW = """-- A pet.
-- row: store_pet of pets p
p.id,
p.name, -- as it is called
p.nickname, p.tame: bool, p.weight: real?, p.born_us
"""
QUERIES = """
-- name: pets_insert
INSERT INTO {insert store_pet};

-- name: pets_by_id
SELECT {store_pet} FROM pets p WHERE p.id = $1;

-- name: pets_rename from store_pet with now_us: us
UPDATE pets SET name = $name, born_us = coalesce(born_us, $now_us) WHERE id = $id;
"""


def generate(queries=ROW + QUERIES, table=TABLE):
    """Runs gen-sql; gives its exit status, its words and what it made by file."""
    with tempfile.TemporaryDirectory() as d:
        path = pathlib.Path(d)
        for name in ("migrations", "queries", "out"):
            (path / name).mkdir()
        (path / "migrations/0001_tables.sql").write_text(table)
        (path / "queries/pets.sql").write_text(queries)
        (path / "audited.json").write_text('{"tables": []}')
        p = subprocess.run([ROOT / "tools/gen-sql", path / "out", path / "migrations", path / "queries", path / "audited.json"], capture_output=True, text=True)
        return p.returncode, p.stderr, {f.name: f.read_text() for f in (path / "out").iterdir()}


class GenSql(unittest.TestCase):
    def refused(self, queries, words):
        status, text, _ = generate(queries)
        self.assertEqual(status, 1)
        self.assertIn(words, text)

    def test_a_row_is_a_struct_with_the_types_of_its_table(self):
        status, text, made = generate()
        self.assertEqual((status, text), (0, ""))
        for line in ("/* A pet. */\nstruct store_pet {", "    int32_t id;", "    const char *name; /* as it is called */",
                     "    bool tame;", "    bool has_weight; double weight;", "    int64_t born_us;"):
            self.assertIn(line, made["rows.h"])

    def test_its_reader_takes_the_columns_that_the_statement_selects(self):
        made = generate()[2]
        self.assertIn("SELECT p.id, p.name, p.nickname, p.tame, p.weight, p.born_us FROM pets p", made["sql.c"])
        taken = [line.strip() for line in made["row_io.c"].splitlines() if "take_" in line and "#include" not in line]
        self.assertEqual(taken, ["x->id = take_i32(q);", "x->name = take_text(q, a);", "x->nickname = take_opt_text(q, a);",
                                 "x->tame = take_bool(q);", "x->has_weight = take_opt_real(q, &x->weight);",
                                 "x->born_us = take_int(q);"])

    def test_its_binder_gives_the_values_of_the_insert(self):
        made = generate()[2]
        self.assertIn("INSERT INTO pets (id, name, nickname, tame, weight, born_us)\\n\"\n        \"VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                      made["sql.c"])
        self.assertIn("    v[2] = sql_opt_text(x->nickname);\n    v[3] = sql_int(x->tame);\n"
                      "    v[4] = sql_opt_real(x->has_weight, x->weight);\n    v[5] = sql_opt_int(x->born_us != 0, x->born_us);\n",
                      made["row_io.c"])

    def test_a_row_that_is_there_takes_over_all_but_its_key(self):
        made = generate(ROW + QUERIES + "\n-- name: pets_put\nINSERT INTO {insert store_pet}\n"
                        "ON CONFLICT (id) DO UPDATE SET {replace store_pet};\n")[2]
        self.assertIn("ON CONFLICT (id) DO UPDATE SET name = excluded.name, nickname = excluded.nickname, tame = excluded.tame, "
                      "weight = excluded.weight, born_us = excluded.born_us", made["sql.c"])

    def test_parameters_have_names(self):
        made = generate()[2]
        self.assertIn("UPDATE pets SET name = ?2, born_us = coalesce(born_us, ?1) WHERE id = ?3", made["sql.c"])
        self.assertIn("bind_pets_rename(struct sql_value *v, const struct store_pet *x, int64_t now_us)\n{\n"
                      "    v[0] = sql_time(now_us);\n    v[1] = sql_text(x->name);\n    v[2] = sql_int(x->id);", made["row_io.c"])

    def test_a_fragment_knows_its_rows(self):
        made = generate(ROW + QUERIES + "\n-- fragment: pets_rows\nSELECT {store_pet} FROM pets p WHERE 1 = 1\n")[2]
        self.assertIn("[F_PETS_ROWS] = { read_store_pet, sizeof(struct store_pet) },", made["row_io.c"])

    def test_columns_in_memory_are_an_enum_and_their_types(self):
        made = generate(ROW + QUERIES + "\n-- columns: seen_y of pets p\np.id, p.name, p.tame, p.weight AS heavy, p.nickname: document\n"
                        "\n-- name: seen\nSELECT {seen_y} FROM pets p;\n")[2]
        self.assertIn("enum seen_y { Y_NAME, Y_TAME, Y_HEAVY, Y_NR };", made["row_io.h"])
        self.assertIn('seen_y_types[] = "TNND";', made["row_io.c"])
        self.assertIn("SELECT p.id, p.name, p.tame, p.weight, p.nickname FROM pets p", made["sql.c"])

    def test_the_same_input_gives_the_same_output(self):
        self.assertEqual(generate(), generate())

    def test_an_integer_that_does_not_say_which(self):
        self.refused(ROW.replace("p.tame: bool", "p.tame"), "p.tame is an INTEGER: say which")

    def test_a_column_that_is_not_there(self):
        self.refused(ROW.replace("p.nickname", "p.nick"), "the table pets has no column 'nick'")

    def test_a_column_that_a_later_migration_took_away(self):
        status, text, _ = generate(table=TABLE + "ALTER TABLE pets DROP COLUMN nickname;\n")
        self.assertEqual(status, 1)
        self.assertIn("the table pets has no column 'nickname'", text)

    def test_a_number_that_may_be_null(self):
        self.refused(ROW.replace("real?", "real"), "p.weight may be NULL: 'real?' tells so")

    def test_an_expression_without_a_name(self):
        self.refused(ROW.replace("p.born_us", "coalesce(p.born_us, 0): i64"), "give it a name")

    def test_an_expression_without_a_type(self):
        self.refused(ROW.replace("p.born_us", "coalesce(p.born_us, 0) AS since"), "give it a type")

    def test_a_row_that_is_only_a_part_of_what_is_selected(self):
        self.refused(ROW + QUERIES.replace("SELECT {store_pet} FROM", "SELECT {store_pet}, 1 FROM"), "it is all that a SELECT selects")

    def test_columns_that_are_spelled_out_in_another_order(self):
        self.refused(ROW + "\n-- name: pets_all to store_pet\nSELECT id, nickname, name, tame, weight, born_us FROM pets;\n",
                     "the columns are id, nickname, name, tame, weight, born_us; those of store_pet are id, name, nickname")

    def test_a_parameter_that_is_no_field(self):
        self.refused(ROW + QUERIES.replace("name = $name", "name = $title"), "the row store_pet has no field 'title'")

    def test_a_parameter_that_is_not_used(self):
        self.refused(ROW + QUERIES.replace("$now_us)", "0)"), "the parameter $now_us is not used")

    def test_a_row_that_differs_between_the_engines(self):
        self.refused(ROW.replace("p.born_us", "\n-- sqlite: p.born_us AS since: i64?\n-- postgres: p.born_us AS born: i64?"),
                     "has other columns for PostgreSQL than for SQLite")


if __name__ == "__main__":
    unittest.main()
