#include "base/hash.h"

#include <openssl/evp.h>

#include <algorithm>

#include "base/check.h"

namespace twinyard {

ContentHash content_hash(std::string_view data) {
    std::array<std::uint8_t, EVP_MAX_MD_SIZE> digest{};
    unsigned int size = 0;
    const int ok =
        EVP_Digest(data.data(), data.size(), digest.data(), &size, EVP_sha256(), nullptr);
    CHECK(ok == 1 && size == 32);
    ContentHash hash;
    std::copy_n(digest.begin(), hash.bytes.size(), hash.bytes.begin());
    return hash;
}

std::string to_hex(const ContentHash& hash) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    text.reserve(2 * hash.bytes.size());
    for (const std::uint8_t byte : hash.bytes) {
        text.push_back(kDigits[byte >> 4U]);
        text.push_back(kDigits[byte & 15U]);
    }
    return text;
}

}  // namespace twinyard
