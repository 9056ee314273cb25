#include "decisions/decider.hpp"

#include <gtest/gtest.h>

#include <string>

#include "io/trouble.hpp"

namespace limitree::server {
namespace {

std::string told;

TEST(MessageForClient, WhatIsWrongWithTheStoreIsNotForClients) {
  listen_to_trouble([](std::string_view what, std::string_view /*why*/) {
    told.append(what).append("\n");
  });
  const auto message = [](limitree_status status) {
    return message_for_client(status, nullptr);
  };
  EXPECT_EQ(message(LIMITREE_STORE_UNAVAILABLE), "the store does not answer");
  EXPECT_EQ(message(LIMITREE_STORE_TIMEOUT),
            "the store does not answer in time");
  EXPECT_EQ(message(LIMITREE_STORE_PROTOCOL),
            "the store does not answer as it should");
  EXPECT_EQ(message(LIMITREE_INTERNAL), "the server has made a mistake");
  EXPECT_EQ(message(LIMITREE_UNKNOWN_ROOT), "unknown_root");
  EXPECT_EQ(message(LIMITREE_CANCELLED), "cancelled");
  listen_to_trouble(nullptr);
  EXPECT_EQ(told,
            "store_unavailable\nstore_timeout\nstore_protocol\ninternal\n");
}

}  // namespace
}  // namespace limitree::server
