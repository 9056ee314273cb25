// What a client of the host says about a command, as what a connection of our
// own would have said.

#pragma once

#include "store/redis/common/remote.hpp"
#include "store/remote/wire/command.hpp"
#include "store/store.hpp"

namespace limitree::redis {

Outcome outcome_of(const ClientReply& reply);

}  // namespace limitree::redis
