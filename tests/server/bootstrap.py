"""The parts of a configuration of Envoy."""

import json

TYPES = "type.googleapis.com/envoy.extensions"
FILTERS = f"{TYPES}.filters.http"
RATE_LIMIT = "envoy.filters.http.ratelimit"


def address_of(target):
    """Envoy's form of "127.0.0.1:8081" or "unix:/path"."""
    if target.startswith("unix:"):
        return {"pipe": {"path": target.removeprefix("unix:")}}
    host, _, port = target.rpartition(":")
    return {"socket_address": {"address": host, "port_value": int(port)}}


def cluster(name, target, *, http2=False, **fields):
    made = {
        "name": name, "connect_timeout": "5s", "type": "STATIC",
        "load_assignment": {"cluster_name": name, "endpoints": [
            {"lb_endpoints": [
                {"endpoint": {"address": address_of(target)}}]}]},
        **fields}
    if http2:
        made["typed_extension_protocol_options"] = {
            "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
                "@type": f"{TYPES}.upstreams.http.v3.HttpProtocolOptions",
                "explicit_http_config": {"http2_protocol_options": {}}}}
    return made


def tls_to(authority, pair=None, *, name="localhost"):
    """TLS to a server of this name, with the certificate of a client."""
    context = {"validation_context": {
        "trusted_ca": {"filename": str(authority.cert)},
        "match_typed_subject_alt_names": [
            {"san_type": "DNS", "matcher": {"exact": name}}]}}
    if pair is not None:
        cert, key = pair
        context["tls_certificates"] = [
            {"certificate_chain": {"filename": str(cert)},
             "private_key": {"filename": str(key)}}]
    return {"name": "envoy.transport_sockets.tls", "typed_config": {
        "@type": f"{TYPES}.transport_sockets.tls.v3.UpstreamTlsContext",
        "sni": name, "common_tls_context": context}}


def key(name, value):
    """An entry that is always the same."""
    return {"generic_key": {"descriptor_key": name, "descriptor_value": value}}


def header(name):
    """An entry with the name and the value of a header."""
    return {"request_headers": {"header_name": name, "descriptor_key": name}}


def descriptor(*actions, **fields):
    return {"actions": list(actions), **fields}


def route(prefix, *descriptors, **fields):
    """Descriptors as most people write them: in the route."""
    return {"match": {"prefix": prefix},
            "route": {"cluster": "upstream",
                      "rate_limits": list(descriptors)}, **fields}


def filter_route(prefix, *descriptors, **fields):
    """Descriptors where Envoy allows more: in the route's filter."""
    return {"match": {"prefix": prefix}, "route": {"cluster": "upstream"},
            "typed_per_filter_config": {RATE_LIMIT: {
                "@type": f"{FILTERS}.ratelimit.v3.RateLimitPerRoute",
                "rate_limits": list(descriptors)}}, **fields}


def http_filter(name, **fields):
    kind = "".join(word.capitalize() for word in name.split("_"))
    return {"name": f"envoy.filters.http.{name}", "typed_config": {
        "@type": f"{FILTERS}.{name}.v3.{kind}", **fields}}


def rate_limit_filter(**fields):
    made = http_filter("ratelimit", **{
        "domain": "shop", "timeout": "10s",
        "enable_x_ratelimit_headers": "DRAFT_VERSION_03",
        "rate_limit_service": {
            "transport_api_version": "V3",
            "grpc_service": {"envoy_grpc": {"cluster_name": "limitree"}}},
        **fields})
    made["typed_config"]["@type"] = f"{FILTERS}.ratelimit.v3.RateLimit"
    return made


def listener(routes, filters):
    manager = {
        "@type": f"{TYPES}.filters.network.http_connection_manager.v3."
                 "HttpConnectionManager",
        "stat_prefix": "http",
        "route_config": {"virtual_hosts": [
            {"name": "all", "domains": ["*"], "routes": routes}]},
        "http_filters": [*filters, http_filter("router")]}
    return {"name": "http", "address": address_of("127.0.0.1:0"),
            "filter_chains": [{"filters": [
                {"name": "envoy.filters.network.http_connection_manager",
                 "typed_config": manager}]}]}


def bootstrap(routes, filters, clusters):
    """A configuration; Envoy chooses the ports that it listens on."""
    return json.dumps({
        "admin": {"address": address_of("127.0.0.1:0")},
        "static_resources": {"listeners": [listener(routes, filters)],
                             "clusters": clusters}})
