#include "store/store.h"

namespace twinyard::store {
namespace {

constexpr std::size_t kWordBytes = 8;

void append_word(std::string& out, std::uint64_t value) {
    for (int shift = 56; shift >= 0; shift -= 8) {
        out.push_back(static_cast<char>(static_cast<unsigned char>(value >> shift)));
    }
}

std::uint64_t word_at(std::string_view bytes, std::size_t index) {
    std::uint64_t value = 0;
    for (const char c : bytes.substr(index * kWordBytes, kWordBytes)) {
        value = value << 8 | static_cast<unsigned char>(c);
    }
    return value;
}

}  // namespace

std::string_view to_string(Outcome outcome) {
    switch (outcome) {
        case Outcome::Durable:
            return "durable";
        case Outcome::Refused:
            return "refused";
        case Outcome::Unknown:
            return "unknown";
        case Outcome::TermLost:
            return "term lost";
        case Outcome::GuardFailed:
            return "guard failed";
    }
    return "?";
}

Result<BatchMark> Store::last_batch() {
    TRY(const std::optional<std::string> bytes, get(kBatchKey));
    if (!bytes) return BatchMark{};
    return decode_mark(*bytes);
}

std::string encode_mark(const BatchMark& mark) {
    std::string out;
    out.reserve(3 * kWordBytes);
    append_word(out, mark.seq);
    append_word(out, mark.term);
    append_word(out, mark.last_revision);
    return out;
}

Result<BatchMark> decode_mark(std::string_view bytes) {
    if (bytes.size() != 3 * kWordBytes) return fail(ErrorCode::Corrupt, "meta/batch: wrong size");
    return BatchMark{word_at(bytes, 0), word_at(bytes, 1), word_at(bytes, 2)};
}

std::string encode_term(std::uint64_t term) {
    std::string out;
    append_word(out, term);
    return out;
}

Result<std::uint64_t> decode_term(std::string_view bytes) {
    if (bytes.size() != kWordBytes) return fail(ErrorCode::Corrupt, "meta/term: wrong size");
    return word_at(bytes, 0);
}

}  // namespace twinyard::store
