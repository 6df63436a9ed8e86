#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/duration_text.h"
#include "base/result.h"
#include "base/text.h"
#include "base/time.h"
#include "config/conf_text.h"
#include "config/finding.h"

namespace twinyard::config {

/// What follows from a key in this version of the product.
enum class Effect : std::uint8_t { Honoured, NoEffect, Refused };
[[nodiscard]] std::string_view to_string(Effect effect);

/// One row a key: the parser, the checks, `show config` and the "did you mean" hint all read it.
template <class Target>
struct Entry {
    using Setter = Status (*)(Target&, std::string_view value);
    using Shower = std::string (*)(const Target&);

    std::string_view key;
    Effect effect = Effect::Honoured;
    std::string_view
        why;  ///< For what is not honoured: the reason, to be read by an administrator.
    std::string_view fine = {};   ///< Values, comma-separated, with which there is nothing to say:
                                  ///< those that ask for nothing.
    std::string_view shown = {};  ///< The default, where no `show` reads it from the target.
    Setter set = nullptr;         ///< Null: the value is kept as text only.
    Shower show = nullptr;
};

template <class Target>
constexpr Entry<Target> ignored(std::string_view key,
                                std::string_view why,
                                std::string_view shown = "(null)",
                                std::string_view fine = "") {
    return {key, Effect::NoEffect, why, fine, shown, nullptr, nullptr};
}

template <class Target>
constexpr Entry<Target> refused(std::string_view key,
                                std::string_view why,
                                std::string_view shown,
                                std::string_view fine) {
    return {key, Effect::Refused, why, fine, shown, nullptr, nullptr};
}

template <class Member>
struct MemberOf;
template <class C, class F>
struct MemberOf<F C::*> {
    using Class = C;
    using Field = F;
};
template <auto Member>
using ClassOf = typename MemberOf<decltype(Member)>::Class;

template <class Field>
struct Bare {
    using Type = Field;
};
template <class Field>
struct Bare<std::optional<Field>> {
    using Type = Field;
};
/// The member's type without the optional around it.
template <auto Member>
using ValueOf = typename Bare<typename MemberOf<decltype(Member)>::Field>::Type;

[[nodiscard]] Result<bool> parse_yes_no(std::string_view text);
/// None for UNLIMITED, INFINITE and -1.
[[nodiscard]] Result<std::optional<std::int64_t>> parse_limit(std::string_view text,
                                                              std::int64_t min,
                                                              std::int64_t max);
/// The word's place among the comma-separated choices, case ignored; the error names them all.
[[nodiscard]] Result<std::size_t> parse_choice(std::string_view text, std::string_view choices);
[[nodiscard]] std::vector<std::string> parse_list(std::string_view text);
[[nodiscard]] Status check_text(std::string_view text);

template <auto Member, std::int64_t Min, std::int64_t Max>
Status set_number(ClassOf<Member>& target, std::string_view text) {
    TRY(const std::int64_t value, parse_number<std::int64_t>(text, Min, Max));
    target.*Member = static_cast<ValueOf<Member>>(value);
    return {};
}

/// UNLIMITED clears an optional member.
template <auto Member, std::int64_t Min, std::int64_t Max>
Status set_limit(ClassOf<Member>& target, std::string_view text) {
    TRY(const std::optional<std::int64_t> value, parse_limit(text, Min, Max));
    if (value) {
        target.*Member = static_cast<ValueOf<Member>>(*value);
    } else {
        (target.*Member).reset();
    }
    return {};
}

template <auto Member, std::int64_t Min, std::int64_t Max>
Status set_seconds(ClassOf<Member>& target, std::string_view text) {
    TRY(const std::int64_t value, parse_number<std::int64_t>(text, Min, Max));
    target.*Member = Seconds{value};
    return {};
}

/// A time in Slurm's notation; kUnlimited where it says so.
template <auto Member>
Status set_time(ClassOf<Member>& target, std::string_view text) {
    TRY(target.*Member, parse_time_limit(text));
    return {};
}

template <auto Member>
Status set_text(ClassOf<Member>& target, std::string_view text) {
    TRY_STATUS(check_text(text));
    target.*Member = std::string(text);
    return {};
}

template <auto Member>
Status set_list(ClassOf<Member>& target, std::string_view text) {
    TRY_STATUS(check_text(text));
    target.*Member = parse_list(text);
    return {};
}

template <auto Member>
Status set_yes_no(ClassOf<Member>& target, std::string_view text) {
    TRY(target.*Member, parse_yes_no(text));
    return {};
}

template <auto Member>
std::string show_number(const ClassOf<Member>& target) {
    return std::to_string(target.*Member);
}
template <auto Member>
std::string show_seconds(const ClassOf<Member>& target) {
    return std::to_string((target.*Member).count()) + " sec";
}
template <auto Member>
std::string show_time(const ClassOf<Member>& target) {
    return format_time_limit_padded(target.*Member);
}
template <auto Member>
std::string show_text(const ClassOf<Member>& target) {
    return (target.*Member).empty() ? "(null)" : target.*Member;
}
template <auto Member>
std::string show_list(const ClassOf<Member>& target) {
    return (target.*Member).empty() ? "(null)" : join(target.*Member, ",");
}
template <auto Member>
std::string show_flag(const ClassOf<Member>& target) {
    return target.*Member ? "1" : "0";
}
template <auto Member>
std::string show_yes_no(const ClassOf<Member>& target) {
    return target.*Member ? "Yes" : "No";
}

/// Is the value one of the comma-separated ones? Case ignored.
[[nodiscard]] bool is_one_of(std::string_view value, std::string_view choices);

/// What is to be said of a known key that is not honoured; none when there is nothing to say.
[[nodiscard]] std::optional<Finding> effect_finding(const ConfLine& at,
                                                    const Pair& pair,
                                                    Effect effect,
                                                    std::string_view why,
                                                    std::string_view fine);

/// A key that the table does not have, with the nearest one that it has.
[[nodiscard]] Finding unknown_key(const ConfLine& at,
                                  std::string_view kind,
                                  std::string_view key,
                                  std::span<const std::string_view> known);

template <class Target>
[[nodiscard]] const Entry<Target>* find_entry(std::span<const Entry<Target>> table,
                                              std::string_view key) {
    for (const Entry<Target>& entry : table) {
        if (equal_nocase(entry.key, key)) return &entry;
    }
    return nullptr;
}

template <class Target>
[[nodiscard]] std::vector<std::string_view> keys_of(std::span<const Entry<Target>> table) {
    std::vector<std::string_view> keys;
    for (const Entry<Target>& entry : table)
        keys.push_back(entry.key);
    return keys;
}

/// Sets one key of the target by its row. Null when the key is unknown; what is wrong is in the
/// findings.
template <class Target>
const Entry<Target>* apply_pair(std::span<const Entry<Target>> table,
                                std::string_view kind,
                                const ConfLine& at,
                                const Pair& pair,
                                Target& target,
                                Findings& findings) {
    const Entry<Target>* entry = find_entry(table, pair.key);
    if (entry == nullptr) {
        const auto known = findings.full() ? std::vector<std::string_view>() : keys_of(table);
        findings.add(unknown_key(at, kind, pair.key, known));
        return nullptr;
    }
    const std::optional<Finding> finding =
        effect_finding(at, pair, entry->effect, entry->why, entry->fine);
    if (finding) findings.add(*finding);
    if (entry->set == nullptr) return entry;
    const Status status = entry->set(target, pair.value);
    if (status) return entry;
    findings.add({at.file,
                  at.line,
                  Severity::Error,
                  std::string(entry->key) + ": " + status.error().message()});
    return entry;
}

}  // namespace twinyard::config
