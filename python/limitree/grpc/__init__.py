"""Limits for servers of grpcio: interceptors for threads and for asyncio.

    server = grpc.server(pool, interceptors=[RateLimitInterceptor(
        rules=[RateLimit("100/minute")],
        key=lambda call: call.metadata["x-user"])])
"""

from limitree.grpc.aio import AsyncRateLimitInterceptor
from limitree.grpc.gate import Call, Ended
from limitree.grpc.interceptor import RateLimitInterceptor

__all__ = ["AsyncRateLimitInterceptor", "Call", "Ended",
           "RateLimitInterceptor"]
