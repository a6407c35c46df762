/* Prints "NAME JSON" for an empty message of each kind, for test_contract.py. */
#include <stdio.h>

#include "gen/wire.h"

int main(void)
{
    for (size_t i = 0; i < WIRE_MESSAGES_N; i++) {
        struct arena a cleanup_arena = ARENA_INIT;
        struct strbuf json cleanup_strbuf = STRBUF_INIT;
        codec_encode(wire_messages[i], arena_alloc(&a, wire_messages[i]->size), &json);
        printf("%s %s\n", wire_messages[i]->name, json.s);
    }
    return 0;
}
