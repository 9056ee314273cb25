// Variables of the environment, read by the table of options.

#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "config/options.hpp"

namespace limitree::server {

using Variables = std::map<std::string, std::string>;

struct Read {
  ServeSettings settings;
  EnvironmentReport report;
};

inline Read read(const Variables& all) {
  Read made;
  made.settings.places = {{ListenFor::kGrpc, ":8081"}};
  made.report = read_environment(
      [&](const char* name) -> const char* {
        const auto found = all.find(name);
        return found == all.end() ? nullptr : found->second.c_str();
      },
      &made.settings);
  return made;
}

// The settings of variables that make sense.
inline ServeSettings good(const Variables& all) {
  const Read made = read(all);
  EXPECT_EQ(made.report.errors, std::vector<std::string>());
  EXPECT_EQ(made.report.warnings, std::vector<std::string>());
  return made.settings;
}

inline std::string error(const Variables& all) {
  const Read made = read(all);
  return made.report.errors.size() == 1 ? made.report.errors[0] : "not one";
}

inline std::string warning(const Variables& all) {
  const Read made = read(all);
  EXPECT_EQ(made.report.errors, std::vector<std::string>());
  return made.report.warnings.size() == 1 ? made.report.warnings[0] : "not one";
}

}  // namespace limitree::server
