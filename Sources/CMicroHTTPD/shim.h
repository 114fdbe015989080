// libmicrohttpd for Swift. Contains no logic: only what is variadic in C, which Swift cannot call, and macros.
#ifndef SLUICE_CMICROHTTPD_SHIM_H
#define SLUICE_CMICROHTTPD_SHIM_H

#include <stdint.h>
#include <microhttpd.h>
// Swift's Glibc module lacks these.
#include <sys/epoll.h>
#include <sys/eventfd.h>

static inline struct MHD_Daemon *sluice_start_daemon(
    unsigned int flags, MHD_AccessHandlerCallback handler, void *context, struct MHD_OptionItem *options) {
    return MHD_start_daemon(flags, 0, NULL, NULL, handler, context, MHD_OPTION_ARRAY, options, MHD_OPTION_END);
}
static inline int sluice_epoll_descriptor(struct MHD_Daemon *daemon) {
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
    return info ? info->epoll_fd : -1;
}
static inline unsigned int sluice_connection_count(struct MHD_Daemon *daemon) {
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
    return info ? info->num_connections : 0;
}
static inline int sluice_connection_socket(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}
static inline size_t sluice_header_size(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    return info ? info->header_size : 0;
}
static inline enum MHD_Result sluice_set_timeout(struct MHD_Connection *connection, unsigned int seconds) {
    return MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT, seconds);
}
static inline enum MHD_Result sluice_without_chunks(struct MHD_Response *response) {
    return MHD_set_response_options(response, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT, MHD_RO_END);
}

#endif
