#include "slurm/file_pattern.h"

#include <algorithm>

#include "base/text.h"

namespace twinyard::slurm {

namespace {

constexpr std::size_t kPadMax = 10;

std::string padded(std::uint64_t number, std::size_t width) {
    std::string digits = std::to_string(number);
    if (digits.size() < width) digits.insert(0, width - digits.size(), '0');
    return digits;
}

/// The text of one letter; false: there is no such letter.
bool append_letter(std::string& out, char letter, std::size_t width, const PatternFacts& facts) {
    const auto number = [&](std::uint64_t value) { out += padded(value, width); };
    switch (letter) {
        case 'A':
            number(facts.array_job.value_or(facts.job));
            return true;
        case 'a':
            // Slurm prints the number that means "none" for jobs that are no array elements.
            number(facts.array_task.value_or(4294967294U));
            return true;
        case 'b':
            number(facts.array_task.value_or(4294967294U) % 10);
            return true;
        case 'J':
            number(facts.job);
            if (facts.step) out += "." + std::to_string(*facts.step);
            return true;
        case 'j':
            number(facts.job);
            return true;
        case 'N':
            out += facts.node.substr(0, facts.node.find('.'));
            return true;
        case 'n':
            number(facts.node_index);
            return true;
        case 'r':
            number(facts.restarts);
            return true;
        case 's':
            if (facts.step) {
                number(*facts.step);
            } else {
                out += "batch";
            }
            return true;
        case 't':
            number(facts.task);
            return true;
        case 'u':
            out += facts.user;
            return true;
        case 'x':
            out += facts.job_name;
            return true;
        case '%':
            out += '%';
            return true;
        default:
            return false;
    }
}

bool has_letter(std::string_view pattern, std::string_view letters) {
    if (pattern.find('\\') != std::string_view::npos) return false;
    for (std::size_t at = pattern.find('%'); at != std::string_view::npos;
         at = pattern.find('%', at + 1)) {
        ++at;
        while (at < pattern.size() && is_digit(pattern[at]))
            ++at;
        if (at < pattern.size() && letters.find(pattern[at]) != std::string_view::npos) return true;
    }
    return false;
}

}  // namespace

std::string expand_file_pattern(std::string_view pattern, const PatternFacts& facts) {
    std::string out;
    if (pattern.find('\\') != std::string_view::npos) {
        for (const char c : pattern) {
            if (c != '\\') out += c;
        }
        return out;
    }
    while (!pattern.empty()) {
        const std::size_t percent = std::min(pattern.find('%'), pattern.size());
        out += pattern.substr(0, percent);
        pattern.remove_prefix(percent);
        if (pattern.empty()) break;
        std::size_t end = 1;
        std::size_t width = 0;
        for (; end < pattern.size() && is_digit(pattern[end]); ++end) {
            width = std::min(width * 10 + static_cast<std::size_t>(pattern[end] - '0'), kPadMax);
        }
        if (end < pattern.size() && append_letter(out, pattern[end], width, facts)) {
            pattern.remove_prefix(end + 1);
        } else {
            out += '%';
            pattern.remove_prefix(1);
        }
    }
    return out;
}

bool is_per_task(std::string_view pattern) {
    return has_letter(pattern, "t");
}

bool is_per_node(std::string_view pattern) {
    return has_letter(pattern, "Nn");
}

}  // namespace twinyard::slurm
