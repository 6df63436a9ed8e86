#include <algorithm>
#include <optional>

#include "base/duration_text.h"
#include "base/text.h"
#include "slurm/errors.h"
#include "slurm/translate.h"

namespace twinyard::slurm {

namespace {

constexpr std::int64_t kCountMax = 1'000'000;

bool is_gres_word(std::string_view word) {
    if (word.empty() || word.size() > 64 || word.front() == '-') return false;
    return std::ranges::all_of(word, [](char c) {
        return is_digit(c) || (to_lower(c) >= 'a' && to_lower(c) <= 'z') || c == '_' || c == '-' ||
               c == '.';
    });
}

/// "8", "2K"; none for a word.
std::optional<std::int64_t> parse_count(std::string_view text) {
    if (text.empty() || !is_digit(text[0])) return std::nullopt;
    const Result<std::int64_t> count = parse_size(text, 1);
    if (!count || *count > kCountMax) return std::nullopt;
    return *count;
}

/// One entry of the comma list: name[:type][:count], or with `bare_gpu` [type:]count.
std::optional<model::DeviceRequest> parse_entry(std::string_view entry, bool bare_gpu) {
    std::vector<std::string_view> parts = split(entry, ':');
    if (bare_gpu) parts.insert(parts.begin(), "gpu");
    if (parts.size() > 1 && parts[0] == "gres") parts.erase(parts.begin());
    // "gres/gpu:8", as --tres-per-task writes it.
    if (parts[0].starts_with("gres/")) parts[0].remove_prefix(5);
    if (parts.empty() || parts.size() > 3 || !is_gres_word(parts[0])) return std::nullopt;

    model::DeviceRequest request;
    request.class_path = to_lower(parts[0]);
    request.count = 1;
    bool has_count = false;
    if (parts.size() > 1) {
        if (const auto count = parse_count(parts.back())) {
            request.count = *count;
            has_count = true;
            parts.pop_back();
        }
    }
    if (parts.size() > 2 || (bare_gpu && !has_count)) return std::nullopt;
    if (parts.size() == 2) {
        if (!is_gres_word(parts[1]) || is_digit(parts[1][0])) return std::nullopt;
        request.class_path += "/" + to_lower(parts[1]);
    }
    return request;
}

void add_device(std::vector<model::DeviceRequest>& devices, model::DeviceRequest request) {
    const auto at = std::ranges::lower_bound(
        devices, request.class_path, {}, &model::DeviceRequest::class_path);
    if (at != devices.end() && at->class_path == request.class_path) {
        at->count += request.count;
    } else {
        devices.insert(at, std::move(request));
    }
}

}  // namespace

Result<std::vector<model::DeviceRequest>> parse_gres(std::string_view text, bool bare_gpu) {
    std::vector<model::DeviceRequest> devices;
    if (equal_nocase(text, "none")) return devices;
    for (const std::string_view entry : split(text, ',')) {
        std::optional<model::DeviceRequest> request = parse_entry(entry, bare_gpu);
        if (!request) return refuse(Refusal::InvalidGres);
        // Zero takes nothing, as a step that wants none of its job's GPUs says.
        if (request->count > 0) add_device(devices, *std::move(request));
    }
    return devices;
}

}  // namespace twinyard::slurm
