// What all pages of /v1 have in common: who may ask, and how they tell errors.

#pragma once

#include <string_view>

#include "http/exchange.hpp"

namespace limitree::server {

// Ends the request with an error as application/problem+json.
void answer_problem(Exchange* exchange, int status, std::string_view detail);

// Answers and returns false if the body is not said to be JSON: a page of
// another site can send other types without a preflight request.
bool takes_json(Exchange* exchange);

// Answers and returns false if the client has not the admin token, which it
// needs here wherever it connects from: `what` can be done only with it.
bool has_token(const AdminToken& token, std::string_view what,
               Exchange* exchange);

// Answers and returns false if the client may not change buckets.
bool lets_change(Exchange* exchange);

}  // namespace limitree::server
