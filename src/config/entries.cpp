#include "config/entries.h"

#include <algorithm>

namespace twinyard::config {

std::string_view to_string(Effect effect) {
    switch (effect) {
        case Effect::Honoured:
            return "honoured";
        case Effect::NoEffect:
            return "accepted without effect";
        case Effect::Refused:
            return "refused";
    }
    return "unknown";
}

Result<bool> parse_yes_no(std::string_view text) {
    if (is_one_of(text, "yes,true,on,1,up")) return true;
    if (is_one_of(text, "no,false,off,0,down")) return false;
    return fail(ErrorCode::InvalidArgument, "'" + printable(text, 60) + "' is neither YES nor NO");
}

Result<std::optional<std::int64_t>> parse_limit(std::string_view text,
                                                std::int64_t min,
                                                std::int64_t max) {
    if (is_one_of(text, "unlimited,infinite,-1")) return std::optional<std::int64_t>();
    TRY(const std::int64_t value, parse_number<std::int64_t>(text, min, max));
    return std::optional(value);
}

Result<std::size_t> parse_choice(std::string_view text, std::string_view choices) {
    const std::vector<std::string_view> words = split(choices, ',');
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (equal_nocase(words[i], text)) return i;
    }
    return fail(ErrorCode::InvalidArgument,
                "'" + printable(text, 60) + "' is none of " + join(words, ", ") +
                    did_you_mean(text, words));
}

std::vector<std::string> parse_list(std::string_view text) {
    const std::vector<std::string_view> parts = split_list(text);
    return {parts.begin(), parts.end()};
}

Status check_text(std::string_view text) {
    const auto control = [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte < 0x20 || byte == 0x7f;
    };
    if (std::ranges::none_of(text, control)) return {};
    return fail(ErrorCode::InvalidArgument,
                "'" + printable(text, 60) + "' has a control character");
}

bool is_one_of(std::string_view value, std::string_view choices) {
    const std::vector<std::string_view> words = split_list(choices);
    return std::ranges::any_of(words, [&](auto word) { return equal_nocase(word, value); });
}

std::optional<Finding> effect_finding(const ConfLine& at,
                                      const Pair& pair,
                                      Effect effect,
                                      std::string_view why,
                                      std::string_view fine) {
    if (effect == Effect::Honoured || is_one_of(pair.value, fine)) return std::nullopt;
    const Severity severity = effect == Effect::Refused ? Severity::Refused : Severity::NoEffect;
    return Finding{at.file,
                   at.line,
                   severity,
                   pair.key + "=" + printable(pair.value, 60) + ": " + std::string(why)};
}

Finding unknown_key(const ConfLine& at,
                    std::string_view kind,
                    std::string_view key,
                    std::span<const std::string_view> known) {
    return {at.file,
            at.line,
            Severity::Error,
            "unknown " + std::string(kind) + " '" + printable(key, 60) + "'" +
                did_you_mean(key, known)};
}

}  // namespace twinyard::config
