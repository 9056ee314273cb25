"""Server reflection, by the client of grpcio-reflection and by hand."""

import grpc
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool
from grpc_reflection.v1alpha import reflection_pb2 as pb
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase)

SERVICES = {"envoy.service.ratelimit.v3.RateLimitService",
            "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection",
            "grpc.reflection.v1alpha.ServerReflection",
            "limitree.v1.Descriptors", "limitree.v1.Limiter"}


def test_a_client_finds_everything(service):
    database = ProtoReflectionDescriptorDatabase(service.channel())
    assert set(database.get_services()) == SERVICES
    pool = descriptor_pool.DescriptorPool(database)
    for name in SERVICES:
        pool.FindServiceByName(name)
    limiter = pool.FindServiceByName("limitree.v1.Limiter")
    assert [method.name for method in limiter.methods] == [
        "Authorize", "Peek", "Spend", "Refund", "Reserve", "Settle", "Cancel",
        "Extend", "Reset", "Block", "Unblock"]
    decision = pool.FindMessageTypeByName("limitree.v1.Decision")
    assert decision.fields_by_name["levels"].message_type.name == "Level"
    pool.FindEnumTypeByName(
        "grpc.health.v1.HealthCheckResponse.ServingStatus")


# Both versions have the same messages.
@pytest.fixture(name="ask", params=["v1", "v1alpha"])
def make_ask(service, request):
    call = service.channel().stream_stream(
        f"/grpc.reflection.{request.param}.ServerReflection"
        "/ServerReflectionInfo",
        request_serializer=pb.ServerReflectionRequest.SerializeToString,
        response_deserializer=pb.ServerReflectionResponse.FromString)
    return lambda *requests: list(call(iter(requests)))


def test_one_stream_takes_many_requests(ask):
    requests = [pb.ServerReflectionRequest(host=str(i), list_services="*")
                for i in range(300)]
    answers = ask(*requests)
    assert [answer.valid_host for answer in answers] == [
        str(i) for i in range(300)]
    assert [answer.original_request for answer in answers] == requests
    assert {service.name for service in
            answers[0].list_services_response.service} == SERVICES


def test_files(ask):
    by_name, by_symbol = ask(
        pb.ServerReflectionRequest(
            file_by_filename="limitree/v1/limiter.proto"),
        pb.ServerReflectionRequest(
            file_containing_symbol="limitree.v1.Limiter.Authorize"))
    assert by_name.file_descriptor_response == (
        by_symbol.file_descriptor_response)
    file = descriptor_pb2.FileDescriptorProto.FromString(
        by_name.file_descriptor_response.file_descriptor_proto[0])
    assert file.package == "limitree.v1"


def test_what_is_not_there(ask):
    answers = ask(
        pb.ServerReflectionRequest(file_by_filename="no.proto"),
        pb.ServerReflectionRequest(file_containing_symbol="no.Symbol"),
        pb.ServerReflectionRequest(
            file_containing_extension=pb.ExtensionRequest(
                containing_type="limitree.v1.Decision", extension_number=100)),
        pb.ServerReflectionRequest(
            all_extension_numbers_of_type="limitree.v1.Decision"),
        pb.ServerReflectionRequest())
    errors = [(answer.error_response.error_code,
               answer.error_response.error_message) for answer in answers]
    not_found = grpc.StatusCode.NOT_FOUND.value[0]
    assert errors == [
        (not_found, "there is no no.proto"),
        (not_found, "there is no no.Symbol"),
        (not_found, "there are no extensions"),
        (not_found, "there are no extensions"),
        (grpc.StatusCode.INVALID_ARGUMENT.value[0], "nothing is asked")]
