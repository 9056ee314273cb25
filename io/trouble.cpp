#include "io/trouble.hpp"

#include <exception>
#include <new>

namespace limitree {

namespace {

TroubleListener trouble_listener = nullptr;

void tell_lost_work(const char* why) { tell_trouble("some work is lost", why); }

}  // namespace

void listen_to_trouble(TroubleListener listener) {
  trouble_listener = listener;
}

void tell_trouble(std::string_view what, std::string_view why) {
  if (trouble_listener != nullptr) trouble_listener(what, why);
}

void tell_exception() noexcept {
  try {
    try {
      throw;
    } catch (const std::bad_alloc&) {
      // Any work may lack memory; who cannot do without it says so itself.
    } catch (const std::exception& error) {
      tell_lost_work(error.what());
    } catch (...) {
      tell_lost_work("an unknown error");
    }
  } catch (...) {
    // There is no way to report it.
  }
}

}  // namespace limitree
