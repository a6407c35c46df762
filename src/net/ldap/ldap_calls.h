/* libldap and liblber of OpenLDAP, loaded at the first call (common/system/lazy_library.h). Include this header in
 * place of <ldap.h>. */
#ifndef DET_NET_LDAP_LDAP_CALLS_H
#define DET_NET_LDAP_LDAP_CALLS_H

#include <ldap.h>

#include "common/base/error.h"
#include "common/system/lazy_library.h"

#define LDAP_FUNCTIONS(X) \
    X(ldap_control_free) \
    X(ldap_controls_free) \
    X(ldap_create_passwordpolicy_control) \
    X(ldap_dn_normalize) \
    X(ldap_dnfree) \
    X(ldap_err2string) \
    X(ldap_first_entry) \
    X(ldap_get_dn) \
    X(ldap_get_option) \
    X(ldap_get_values_len) \
    X(ldap_initialize) \
    X(ldap_memfree) \
    X(ldap_msgfree) \
    X(ldap_msgtype) \
    X(ldap_parse_passwordpolicy_control) \
    X(ldap_parse_result) \
    X(ldap_result) \
    X(ldap_sasl_bind) \
    X(ldap_search_ext) \
    X(ldap_set_option) \
    X(ldap_start_tls_s) \
    X(ldap_str2dn) \
    X(ldap_unbind_ext_s) \
    X(ldap_value_free_len)

#define LBER_FUNCTIONS(X) X(ber_sockbuf_ctrl)

struct ldap_calls {
    struct ldap_ldap_calls {
        LDAP_FUNCTIONS(LAZY_MEMBER)
    } ldap;
    struct ldap_lber_calls {
        LBER_FUNCTIONS(LAZY_MEMBER)
    } lber;
};
/* Loads the libraries. ldap_calls() loads them, too, and ends the program if it cannot. */
int ldap_calls_load(struct error *err);
const struct ldap_calls *ldap_calls(void);

#define ldap_control_free (ldap_calls()->ldap.ldap_control_free_)
#define ldap_controls_free (ldap_calls()->ldap.ldap_controls_free_)
#define ldap_create_passwordpolicy_control (ldap_calls()->ldap.ldap_create_passwordpolicy_control_)
#define ldap_dn_normalize (ldap_calls()->ldap.ldap_dn_normalize_)
#define ldap_dnfree (ldap_calls()->ldap.ldap_dnfree_)
#define ldap_err2string (ldap_calls()->ldap.ldap_err2string_)
#define ldap_first_entry (ldap_calls()->ldap.ldap_first_entry_)
#define ldap_get_dn (ldap_calls()->ldap.ldap_get_dn_)
#define ldap_get_option (ldap_calls()->ldap.ldap_get_option_)
#define ldap_get_values_len (ldap_calls()->ldap.ldap_get_values_len_)
#define ldap_initialize (ldap_calls()->ldap.ldap_initialize_)
#define ldap_memfree (ldap_calls()->ldap.ldap_memfree_)
#define ldap_msgfree (ldap_calls()->ldap.ldap_msgfree_)
#define ldap_msgtype (ldap_calls()->ldap.ldap_msgtype_)
#define ldap_parse_passwordpolicy_control (ldap_calls()->ldap.ldap_parse_passwordpolicy_control_)
#define ldap_parse_result (ldap_calls()->ldap.ldap_parse_result_)
#define ldap_result (ldap_calls()->ldap.ldap_result_)
#define ldap_sasl_bind (ldap_calls()->ldap.ldap_sasl_bind_)
#define ldap_search_ext (ldap_calls()->ldap.ldap_search_ext_)
#define ldap_set_option (ldap_calls()->ldap.ldap_set_option_)
#define ldap_start_tls_s (ldap_calls()->ldap.ldap_start_tls_s_)
#define ldap_str2dn (ldap_calls()->ldap.ldap_str2dn_)
#define ldap_unbind_ext_s (ldap_calls()->ldap.ldap_unbind_ext_s_)
#define ldap_value_free_len (ldap_calls()->ldap.ldap_value_free_len_)
#define ber_sockbuf_ctrl (ldap_calls()->lber.ber_sockbuf_ctrl_)

#endif
