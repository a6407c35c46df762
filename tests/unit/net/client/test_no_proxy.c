#include "cmocka_setup.h"

#include "net/client/no_proxy.h"

struct no_proxy_case {
    const char *list, *host;
    long port;
    bool excepted;
};

static void test_no_proxy__excepts_what_it_lists(void **state)
{
    static const struct no_proxy_case cases[] = {
        {"", "lab.example", 80, false},
        {" , ,", "lab.example", 80, false},
        {"*", "lab.example", 80, true},
        {"*", "fd00::1", 80, true},
        {"other, *", "10.0.0.1", 80, true},
        /* addresses and ranges */
        {"10.1.2.3", "10.1.2.3", 80, true},
        {"10.1.2.3", "10.1.2.30", 80, false},
        {"2.3", "10.1.2.3", 80, false}, /* an address is no name */
        {"10.0.0.0/8", "10.255.0.1", 80, true},
        {"10.0.0.0/8", "11.0.0.1", 80, false},
        {"172.16.0.0/12 192.168.0.0/16", "192.168.7.9", 8080, true},
        {"192.168.1.0/25", "192.168.1.128", 80, false},
        {"10.0.0.0/33", "10.0.0.1", 80, false},
        {"fd00::/8", "fd12::1", 80, true},
        {"fd00::/8", "fe80::1", 80, false},
        {"[fd12::1]", "fd12::1", 80, true},
        {"::1", "::1", 8080, true},
        {"10.0.0.0/8", "10.example", 80, false}, /* a name: nobody asks where it leads */
        /* names */
        {"lab.example", "lab.example", 80, true},
        {"lab.example", "LAB.Example.", 80, true},
        {"lab.example", "gpu1.lab.example", 80, true},
        {".lab.example", "gpu1.lab.example", 80, true},
        {"*.lab.example", "gpu1.lab.example", 80, true},
        {".lab.example", "lab.example", 80, true},
        {"lab.example", "collab.example", 80, false},
        {"lab.example", "example", 80, false},
        {".", "example", 80, false},
        {"localhost,127.0.0.1", "localhost", 80, true},
        /* ports */
        {"lab.example:8080", "lab.example", 8080, true},
        {"lab.example:8080", "gpu1.lab.example", 8080, true},
        {"lab.example:8080", "lab.example", 80, false},
        {"10.1.2.3:8080", "10.1.2.3", 8080, true},
        {"10.1.2.3:8080", "10.1.2.3", 443, false},
        {"10.0.0.0/8:8080", "10.1.2.3", 8080, true},
        {"10.0.0.0/8:8080", "10.1.2.3", 80, false},
        {"[::1]:8080", "::1", 8080, true},
        {"[::1]:8080", "::1", 80, false},
        {"*:8080", "lab.example", 8080, true},
        {"*:8080", "lab.example", 80, false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct no_proxy_case *c = &cases[i];
        if (no_proxy_excepts(c->list, c->host, c->port) != c->excepted)
            fail_msg("NO_PROXY=\"%s\" %s %s port %ld", c->list, c->excepted ? "does not except" : "excepts", c->host,
                     c->port);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_proxy__excepts_what_it_lists)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
