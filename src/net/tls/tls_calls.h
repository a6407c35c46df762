/* OpenSSL and libevent's TLS, loaded at the first call (common/system/lazy_library.h), for clients that mostly need no
 * TLS: libcrypto alone doubles the time that a program takes to start. Include this header in place of those of OpenSSL
 * and of <event2/bufferevent_ssl.h>. The server's side (net/http) is linked with them and includes those. */
#ifndef DET_NET_TLS_TLS_CALLS_H
#define DET_NET_TLS_TLS_CALLS_H

#include <event2/bufferevent_ssl.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "common/base/error.h"
#include "common/system/lazy_library.h"

#define TLS_SSL_FUNCTIONS(X) \
    X(BIO_new_ssl_connect) \
    X(SSL_CTX_ctrl) \
    X(SSL_CTX_free) \
    X(SSL_CTX_get0_param) \
    X(SSL_CTX_load_verify_locations) \
    X(SSL_CTX_new) \
    X(SSL_CTX_set_cert_verify_callback) \
    X(SSL_CTX_set_default_verify_paths) \
    X(SSL_CTX_set_verify) \
    X(SSL_CTX_use_PrivateKey_file) \
    X(SSL_CTX_use_certificate_chain_file) \
    X(SSL_ctrl) \
    X(SSL_free) \
    X(SSL_get0_param) \
    X(SSL_get0_peer_certificate) \
    X(SSL_get_peer_cert_chain) \
    X(SSL_get_verify_result) \
    X(SSL_new) \
    X(SSL_set1_host) \
    X(TLS_client_method)

#define TLS_CRYPTO_FUNCTIONS(X) \
    X(ASN1_STRING_get0_data) \
    X(ASN1_STRING_length) \
    X(BIO_ctrl) \
    X(BIO_free) \
    X(BIO_free_all) \
    X(BIO_new) \
    X(BIO_s_mem) \
    X(ERR_clear_error) \
    X(ERR_get_error) \
    X(ERR_reason_error_string) \
    X(EVP_sha256) \
    X(GENERAL_NAMES_free) \
    X(OPENSSL_sk_num) \
    X(OPENSSL_sk_value) \
    X(PEM_write_bio_X509) \
    X(X509_NAME_get_text_by_NID) \
    X(X509_STORE_CTX_get0_cert) \
    X(X509_STORE_CTX_set_error) \
    X(X509_VERIFY_PARAM_set1_ip_asc) \
    X(X509_VERIFY_PARAM_set_flags) \
    X(X509_digest) \
    X(X509_get_ext_d2i) \
    X(X509_get_subject_name) \
    X(X509_verify_cert_error_string)

#define TLS_EVENT_FUNCTIONS(X) \
    X(bufferevent_get_openssl_error) \
    X(bufferevent_openssl_filter_new) \
    X(bufferevent_openssl_get_ssl) \
    X(bufferevent_openssl_set_allow_dirty_shutdown) \
    X(bufferevent_openssl_socket_new)

struct tls_calls {
    struct tls_ssl_calls {
        TLS_SSL_FUNCTIONS(LAZY_MEMBER)
    } ssl;
    struct tls_crypto_calls {
        TLS_CRYPTO_FUNCTIONS(LAZY_MEMBER)
    } crypto;
    struct tls_event_calls {
        TLS_EVENT_FUNCTIONS(LAZY_MEMBER)
    } event;
};
/* Loads the libraries. tls_calls() loads them, too, and ends the program if it cannot. */
int tls_calls_load(struct error *err);
const struct tls_calls *tls_calls(void);

#define BIO_new_ssl_connect (tls_calls()->ssl.BIO_new_ssl_connect_)
#define SSL_CTX_ctrl (tls_calls()->ssl.SSL_CTX_ctrl_)
#define SSL_CTX_free (tls_calls()->ssl.SSL_CTX_free_)
#define SSL_CTX_get0_param (tls_calls()->ssl.SSL_CTX_get0_param_)
#define SSL_CTX_load_verify_locations (tls_calls()->ssl.SSL_CTX_load_verify_locations_)
#define SSL_CTX_new (tls_calls()->ssl.SSL_CTX_new_)
#define SSL_CTX_set_cert_verify_callback (tls_calls()->ssl.SSL_CTX_set_cert_verify_callback_)
#define SSL_CTX_set_default_verify_paths (tls_calls()->ssl.SSL_CTX_set_default_verify_paths_)
#define SSL_CTX_set_verify (tls_calls()->ssl.SSL_CTX_set_verify_)
#define SSL_CTX_use_PrivateKey_file (tls_calls()->ssl.SSL_CTX_use_PrivateKey_file_)
#define SSL_CTX_use_certificate_chain_file (tls_calls()->ssl.SSL_CTX_use_certificate_chain_file_)
#define SSL_ctrl (tls_calls()->ssl.SSL_ctrl_)
#define SSL_free (tls_calls()->ssl.SSL_free_)
#define SSL_get0_param (tls_calls()->ssl.SSL_get0_param_)
#define SSL_get0_peer_certificate (tls_calls()->ssl.SSL_get0_peer_certificate_)
#define SSL_get_peer_cert_chain (tls_calls()->ssl.SSL_get_peer_cert_chain_)
#define SSL_get_verify_result (tls_calls()->ssl.SSL_get_verify_result_)
#define SSL_new (tls_calls()->ssl.SSL_new_)
#define SSL_set1_host (tls_calls()->ssl.SSL_set1_host_)
#define TLS_client_method (tls_calls()->ssl.TLS_client_method_)

#define ASN1_STRING_get0_data (tls_calls()->crypto.ASN1_STRING_get0_data_)
#define ASN1_STRING_length (tls_calls()->crypto.ASN1_STRING_length_)
#define BIO_ctrl (tls_calls()->crypto.BIO_ctrl_)
#define BIO_free (tls_calls()->crypto.BIO_free_)
#define BIO_free_all (tls_calls()->crypto.BIO_free_all_)
#define BIO_new (tls_calls()->crypto.BIO_new_)
#define BIO_s_mem (tls_calls()->crypto.BIO_s_mem_)
#define ERR_clear_error (tls_calls()->crypto.ERR_clear_error_)
#define ERR_get_error (tls_calls()->crypto.ERR_get_error_)
#define ERR_reason_error_string (tls_calls()->crypto.ERR_reason_error_string_)
#define EVP_sha256 (tls_calls()->crypto.EVP_sha256_)
#define GENERAL_NAMES_free (tls_calls()->crypto.GENERAL_NAMES_free_)
#define OPENSSL_sk_num (tls_calls()->crypto.OPENSSL_sk_num_)
#define OPENSSL_sk_value (tls_calls()->crypto.OPENSSL_sk_value_)
#define PEM_write_bio_X509 (tls_calls()->crypto.PEM_write_bio_X509_)
#define X509_NAME_get_text_by_NID (tls_calls()->crypto.X509_NAME_get_text_by_NID_)
#define X509_STORE_CTX_get0_cert (tls_calls()->crypto.X509_STORE_CTX_get0_cert_)
#define X509_STORE_CTX_set_error (tls_calls()->crypto.X509_STORE_CTX_set_error_)
#define X509_VERIFY_PARAM_set1_ip_asc (tls_calls()->crypto.X509_VERIFY_PARAM_set1_ip_asc_)
#define X509_VERIFY_PARAM_set_flags (tls_calls()->crypto.X509_VERIFY_PARAM_set_flags_)
#define X509_digest (tls_calls()->crypto.X509_digest_)
#define X509_get_ext_d2i (tls_calls()->crypto.X509_get_ext_d2i_)
#define X509_get_subject_name (tls_calls()->crypto.X509_get_subject_name_)
#define X509_verify_cert_error_string (tls_calls()->crypto.X509_verify_cert_error_string_)

#define bufferevent_get_openssl_error (tls_calls()->event.bufferevent_get_openssl_error_)
#define bufferevent_openssl_filter_new (tls_calls()->event.bufferevent_openssl_filter_new_)
#define bufferevent_openssl_get_ssl (tls_calls()->event.bufferevent_openssl_get_ssl_)
#define bufferevent_openssl_set_allow_dirty_shutdown (tls_calls()->event.bufferevent_openssl_set_allow_dirty_shutdown_)
#define bufferevent_openssl_socket_new (tls_calls()->event.bufferevent_openssl_socket_new_)

#endif
