#include "core/records/change_record.h"

#include <sha2.h>
#include <string.h>

#include "common/base/hex.h"

static void add_text(SHA2_CTX *sum, const char *text)
{
    char head[24];
    if (!text) {
        SHA256Update(sum, (const uint8_t *)"~,", 2);
        return;
    }
    int n = snprintf(head, sizeof(head), "%zu:", strlen(text));
    SHA256Update(sum, (const uint8_t *)head, (size_t)n);
    SHA256Update(sum, (const uint8_t *)text, strlen(text));
    SHA256Update(sum, (const uint8_t *)",", 1);
}

static void add_number(SHA2_CTX *sum, int64_t number)
{
    char text[24];
    snprintf(text, sizeof(text), "%lld", (long long)number);
    add_text(sum, text);
}

void change_record_hash(const char *before, const struct change_record *c, char ret[CHANGE_HASH_TEXT_MAX])
{
    const char *const text[] = {c->address, c->route, c->kind, c->object_id, c->action, c->old_values, c->new_values};
    uint8_t digest[SHA256_DIGEST_LENGTH];
    SHA2_CTX sum;
    SHA256Init(&sum);
    add_text(&sum, before);
    add_number(&sum, c->seq);
    add_number(&sum, c->at_us);
    add_number(&sum, c->user_id);
    add_text(&sum, c->username);
    add_text(&sum, c->via);
    add_number(&sum, c->session_id);
    for (size_t i = 0; i < sizeof(text) / sizeof(*text); i++)
        add_text(&sum, text[i]);
    SHA256Final(digest, &sum);
    hex_encode(digest, sizeof(digest), ret);
}

void change_chain_begin(struct change_chain *chain, int64_t seq, const char *hash)
{
    chain->seq = seq;
    snprintf(chain->hash, sizeof(chain->hash), "%s", hash);
}

int change_chain_add(struct change_chain *chain, const struct change_record *c, struct error *err)
{
    char hash[CHANGE_HASH_TEXT_MAX];
    if (c->seq != chain->seq + 1)
        return error_set(err, ERR_PRECONDITION,
                         "the audit log is damaged: record %lld is missing, record %lld follows record %lld",
                         (long long)chain->seq + 1, (long long)c->seq, (long long)chain->seq);
    change_record_hash(chain->hash, c, hash);
    if (!c->hash || strcmp(hash, c->hash) != 0)
        return error_set(err, ERR_PRECONDITION,
                         "the audit log is damaged: record %lld, or the hash of the record before it, is not what was "
                         "written (its hash is %s, but its content has the hash %s)",
                         (long long)c->seq, c->hash ? c->hash : "missing", hash);
    change_chain_begin(chain, c->seq, hash);
    return 0;
}

int change_chain_end(const struct change_chain *chain, int64_t seq, const char *hash, struct error *err)
{
    if (chain->seq == seq && strcmp(chain->hash, hash) == 0)
        return 0;
    if (chain->seq < seq)
        return error_set(err, ERR_PRECONDITION,
                         "the audit log is damaged: it ends with record %lld, but record %lld was written",
                         (long long)chain->seq, (long long)seq);
    return error_set(err, ERR_PRECONDITION,
                     "the audit log is damaged: its last record, %lld with the hash %s, is not the one that was noted, "
                     "%lld with the hash %s",
                     (long long)chain->seq, chain->hash, (long long)seq, hash);
}
