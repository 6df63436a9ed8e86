#include "os/cpu_list.h"

#include <algorithm>
#include <charconv>

namespace twinyard::os {

namespace {

constexpr int kCpuMax = 65535;

Result<int> parse_number(std::string_view text) {
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = error == std::errc{} && end == text.data() + text.size();
    if (!whole || text.front() == '-' || value > kCpuMax) {
        return fail(ErrorCode::InvalidArgument,
                    "bad number in CPU list: '" + std::string(text) + "'");
    }
    return value;
}

Status parse_range(std::string_view text, std::vector<int>& out) {
    if (text.empty()) return fail(ErrorCode::InvalidArgument, "empty entry in CPU list");
    const std::size_t dash = text.find('-', 1);
    TRY(const int first, parse_number(text.substr(0, dash)));
    int last = first;
    if (dash != std::string_view::npos) {
        if (dash + 1 == text.size()) {
            return fail(ErrorCode::InvalidArgument, "open range in CPU list");
        }
        TRY(last, parse_number(text.substr(dash + 1)));
    }
    if (last < first) return fail(ErrorCode::InvalidArgument, "range goes down in CPU list");
    for (int cpu = first; cpu <= last; ++cpu)
        out.push_back(cpu);
    return {};
}

}  // namespace

std::string format_cpu_list(std::span<const int> numbers) {
    std::string text;
    for (std::size_t i = 0; i < numbers.size();) {
        std::size_t end = i + 1;
        while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1)
            ++end;
        if (!text.empty()) text += ',';
        text += std::to_string(numbers[i]);
        if (end - i > 1) text += '-' + std::to_string(numbers[end - 1]);
        i = end;
    }
    return text;
}

Result<std::vector<int>> parse_cpu_list(std::string_view text) {
    while (!text.empty() && (text.back() == '\n' || text.back() == ' '))
        text.remove_suffix(1);
    std::vector<int> numbers;
    while (!text.empty()) {
        const std::size_t comma = text.find(',');
        TRY_STATUS(parse_range(text.substr(0, comma), numbers));
        if (comma == std::string_view::npos) break;
        text.remove_prefix(comma + 1);
        if (text.empty()) return fail(ErrorCode::InvalidArgument, "empty entry in CPU list");
    }
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    return numbers;
}

}  // namespace twinyard::os
