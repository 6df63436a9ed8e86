#include "wire/messages.h"

#include "wire/codec.h"

namespace twinyard::wire {

void append_length(std::size_t length, std::string& part) {
    put_varint(length, part);
}

bool take_row(std::string_view& part, std::string_view& row) {
    if (part.empty()) return false;
    CodedInputStream in(reinterpret_cast<const std::uint8_t*>(part.data()),
                        static_cast<int>(part.size()));
    std::uint64_t length = 0;
    if (!in.ReadVarint64(&length)) return false;
    const auto start = static_cast<std::size_t>(in.CurrentPosition());
    if (length > part.size() - start) return false;
    row = part.substr(start, length);
    part.remove_prefix(start + length);
    return true;
}

}  // namespace twinyard::wire
