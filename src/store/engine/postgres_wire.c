/* Values as they are sent: numbers in network byte order, texts and bytes unchanged. */
#include <endian.h>
#include <string.h>

#include "store/engine/postgres.h"

static uint64_t bits_of(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof(bits));
    return bits;
}

static bool is_bytes(const struct sql_value *v)
{
    return v->type == SQL_TEXT || v->type == SQL_BLOB;
}

static int fail_too_large(struct error *err)
{
    return error_set(err, ERR_TOO_LARGE, "a value is too large for the database");
}

/* ---- parameters -------------------------------------------------------------------------------------------------- */

static void put_number(struct postgres_params *w, int i, uint64_t bits)
{
    w->number[i] = htobe64(bits);
    w->value[i] = (const char *)&w->number[i];
    w->length[i] = 8;
}

int postgres_put_param(const struct engine_stmt *s, struct postgres_params *w, int i, struct error *err)
{
    const struct sql_value *v = &s->value[i];
    Oid type = s->type[i];
    w->format[i] = 1;
    if (v->type == SQL_NULL)
        return 0;
    if (v->type == SQL_INT && type == TYPE_INT8)
        put_number(w, i, (uint64_t)v->integer);
    else if (v->type == SQL_INT && type == TYPE_FLOAT8)
        put_number(w, i, bits_of((double)v->integer));
    else if (v->type == SQL_REAL && type == TYPE_FLOAT8)
        put_number(w, i, bits_of(v->real));
    else if (is_bytes(v) && v->n > INT32_MAX)
        return fail_too_large(err);
    else if (is_bytes(v) && (type == TYPE_TEXT || type == TYPE_JSON || type == TYPE_BYTEA)) {
        w->value[i] = v->n ? v->data : "";
        w->length[i] = (int)v->n;
    } else
        return error_set(err, ERR_INTERNAL, "%s: parameter %d does not fit the type %u", s->sql, i + 1, type);
    return 0;
}

/* ---- columns ----------------------------------------------------------------------------------------------------- */

static uint64_t get_bits(const char *at, int size)
{
    uint64_t bits = 0;
    for (int i = 0; i < size; i++)
        bits = bits << 8 | (unsigned char)at[i];
    return bits;
}

int64_t postgres_get_integer(const char *at, int size)
{
    uint64_t bits = get_bits(at, size);
    return size == 4 ? (int32_t)bits : (int64_t)bits;
}

double postgres_get_real(const char *at)
{
    uint64_t bits = get_bits(at, 8);
    double v;
    memcpy(&v, &bits, sizeof(v));
    return v;
}

/* ---- COPY (FORMAT binary): a header, rows of a count and length-prefixed fields, a count of -1 ------------------- */

static void add_be16(struct strbuf *out, uint16_t v)
{
    v = htobe16(v);
    strbuf_add(out, (const char *)&v, sizeof(v));
}

static void add_be32(struct strbuf *out, uint32_t v)
{
    v = htobe32(v);
    strbuf_add(out, (const char *)&v, sizeof(v));
}

static void add_number(struct strbuf *out, uint64_t bits)
{
    bits = htobe64(bits);
    add_be32(out, sizeof(bits));
    strbuf_add(out, (const char *)&bits, sizeof(bits));
}

void postgres_copy_header(struct strbuf *out)
{
    strbuf_add(out, "PGCOPY\n\377\r\n", 11); /* the NUL at the end of the literal is part of the signature */
    add_be32(out, 0);                        /* flags */
    add_be32(out, 0);                        /* the length of the header's extension: there is none */
}

int postgres_copy_row(const struct sql_value *value, size_t n, struct strbuf *out, struct error *err)
{
    add_be16(out, (uint16_t)n);
    for (const struct sql_value *v = value; v < value + n; v++) {
        if (v->type == SQL_NULL)
            add_be32(out, UINT32_MAX);
        else if (v->type == SQL_INT)
            add_number(out, (uint64_t)v->integer);
        else if (v->type == SQL_REAL)
            add_number(out, bits_of(v->real));
        else if (v->n > INT32_MAX)
            return fail_too_large(err);
        else {
            add_be32(out, (uint32_t)v->n);
            strbuf_add(out, v->data, v->n);
        }
    }
    return 0;
}

void postgres_copy_trailer(struct strbuf *out)
{
    add_be16(out, UINT16_MAX);
}
