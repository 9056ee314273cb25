#include "grpc/gzip.hpp"

#include <zlib.h>

#include <algorithm>
#include <memory>
#include <new>

namespace limitree::server {

namespace {

// With the header and the trailer of gzip.
constexpr int kWindowBits = 15 + 16;
constexpr int kMemLevel = 8;

// The memory of zlib, which serves one message of a thread after the other.
template <int (*end)(z_stream*)>
struct End {
  void operator()(z_stream* stream) const noexcept {
    end(stream);
    delete stream;
  }
};
template <int (*end)(z_stream*)>
using Owned = std::unique_ptr<z_stream, End<end>>;

z_stream* unpacker() {
  thread_local Owned<inflateEnd> stream;
  if (stream == nullptr) {
    Owned<inflateEnd> made(new z_stream{});
    if (inflateInit2(made.get(), kWindowBits) != Z_OK) throw std::bad_alloc();
    stream = std::move(made);
  } else {
    inflateReset(stream.get());
  }
  return stream.get();
}

z_stream* packer() {
  thread_local Owned<deflateEnd> stream;
  if (stream == nullptr) {
    Owned<deflateEnd> made(new z_stream{});
    if (deflateInit2(made.get(), Z_BEST_SPEED, Z_DEFLATED, kWindowBits,
                     kMemLevel, Z_DEFAULT_STRATEGY) != Z_OK) {
      throw std::bad_alloc();
    }
    stream = std::move(made);
  } else {
    deflateReset(stream.get());
  }
  return stream.get();
}

// zlib does not write to what it reads.
void set_input(z_stream* stream, std::string_view bytes) {
  stream->next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream->avail_in = static_cast<uInt>(bytes.size());
}

void set_output(z_stream* stream, std::string* to, std::size_t used) {
  stream->next_out = reinterpret_cast<Bytef*>(to->data()) + used;
  stream->avail_out = static_cast<uInt>(to->size() - used);
}

}  // namespace

Unpacked unpack_gzip(std::string_view packed, std::size_t most,
                     std::string* message) {
  z_stream* const stream = unpacker();
  set_input(stream, packed);
  message->clear();
  for (std::size_t used = 0;;) {
    // One byte more than allowed shows that there are too many.
    const std::size_t room = std::max<std::size_t>(4096, 2 * used);
    message->resize(std::min(room, most + 1));
    set_output(stream, message, used);
    const int result = inflate(stream, Z_NO_FLUSH);
    used = message->size() - stream->avail_out;
    if (used > most) return Unpacked::kTooLarge;
    if (result == Z_STREAM_END) {
      message->resize(used);
      return stream->avail_in == 0 ? Unpacked::kDone : Unpacked::kMalformed;
    }
    // Without an error, either the room is full or the end is missing.
    if (result != Z_OK || stream->avail_out > 0) return Unpacked::kMalformed;
  }
}

std::string pack_gzip(std::string_view message) {
  z_stream* const stream = packer();
  set_input(stream, message);
  std::string packed(deflateBound(stream, stream->avail_in), '\0');
  set_output(stream, &packed, 0);
  if (deflate(stream, Z_FINISH) != Z_STREAM_END) throw std::bad_alloc();
  packed.resize(packed.size() - stream->avail_out);
  return packed;
}

}  // namespace limitree::server
