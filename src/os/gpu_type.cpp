#include <algorithm>
#include <array>
#include <cctype>

#include "os/inventory.h"

namespace twinyard::os {

namespace {

constexpr std::array<std::string_view, 6> kMakers = {
    "nvidia", "tesla", "geforce", "quadro", "amd", "instinct"};
/// Families whose number alone says too little: "rtx_3090", "titan_v".
constexpr std::array<std::string_view, 4> kFamilies = {"rtx", "gtx", "titan", "graphics"};

bool has_digit(std::string_view word) {
    return std::any_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::vector<std::string> words_of(std::string_view name) {
    std::vector<std::string> words(1);
    for (const char raw : name) {
        const auto c = static_cast<unsigned char>(raw);
        if (std::isalnum(c) != 0) {
            words.back() += static_cast<char>(std::tolower(c));
        } else if (!words.back().empty()) {
            words.emplace_back();
        }
    }
    if (words.back().empty()) words.pop_back();
    std::erase_if(words, [](const std::string& word) {
        return std::find(kMakers.begin(), kMakers.end(), word) != kMakers.end();
    });
    return words;
}

}  // namespace

std::string gpu_type_of(std::string_view name) {
    const std::vector<std::string> words = words_of(name);
    if (words.empty()) return "gpu";
    const bool family = std::find(kFamilies.begin(), kFamilies.end(), words[0]) != kFamilies.end();
    if (family) return words.size() > 1 ? words[0] + '_' + words[1] : words[0];
    const auto model = std::find_if(words.begin(), words.end(), has_digit);
    return model == words.end() ? words[0] : *model;
}

}  // namespace twinyard::os
