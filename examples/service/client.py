"""Asks `limitree serve` whether alex may trade.

    pip install grpcio grpcio-reflection protobuf
    limitree serve examples/limits.yaml --listen 127.0.0.1:8081
    python3 examples/service/client.py 127.0.0.1:8081

Programs in other languages generate their client from
server/proto/limitree/v1/limiter.proto; this one asks the server for it.
"""

import sys

import grpc
from google.protobuf import descriptor_pool, message_factory
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase)


def main(address):
    with grpc.insecure_channel(address) as channel:
        pool = descriptor_pool.DescriptorPool(
            ProtoReflectionDescriptorDatabase(channel))
        method = pool.FindMethodByName("limitree.v1.Limiter.Authorize")
        request = message_factory.GetMessageClass(method.input_type)
        decision = message_factory.GetMessageClass(method.output_type)
        authorize = channel.unary_unary(
            "/limitree.v1.Limiter/Authorize",
            request_serializer=request.SerializeToString,
            response_deserializer=decision.FromString)
        answer = authorize(
            request(paths=[{"segments": ["user", "alex", "trade"]}]),
            timeout=1)
    if answer.limited:
        print(f"wait {answer.retry_after_ns / 1e9:.1f} s")
    else:
        print(f"allowed, {answer.remaining} of {answer.limit} left")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:8081")
