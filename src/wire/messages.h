#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

/// Our own messages and records to bytes and back: every struct of api/ and model/ that has a field
/// table (model_fields.h, agent_fields.h, slurm_fields.h). Another type does not link. Any thread.
namespace twinyard::wire {

/// Appends the message. Cannot fail.
template <class T>
void append(const T& value, std::string& out);

template <class T>
[[nodiscard]] std::string encode(const T& value) {
    std::string out;
    append(value, out);
    return out;
}

/// Corrupt if the bytes are no such message. Unknown fields are skipped, absent ones have the
/// struct's defaults.
template <class T>
[[nodiscard]] Result<T> decode(std::string_view bytes);

/// Rows of a streamed answer, packed: each part of the stream holds whole rows, each with its
/// length before it.
void append_length(std::size_t length, std::string& part);
template <class T>
void append_row(const T& row, std::string& part) {
    std::string bytes = encode(row);
    append_length(bytes.size(), part);
    part += bytes;
}
/// Cuts the first row off; false at the end of the part or when it is malformed (then `part` is not
/// empty).
[[nodiscard]] bool take_row(std::string_view& part, std::string_view& row);

/// visit(T&&) → void for each row of a part.
template <class T, class Visit>
[[nodiscard]] Status for_each_row(std::string_view part, Visit&& visit) {
    std::string_view bytes;
    while (take_row(part, bytes)) {
        TRY(T row, decode<T>(bytes));
        visit(std::move(row));
    }
    if (!part.empty()) return fail(ErrorCode::Corrupt, "malformed part of a listing");
    return {};
}

/// "type number field" lines of all tables.
void list_model_numbers(std::string& out);
void list_agent_numbers(std::string& out);
void list_slurm_numbers(std::string& out);

}  // namespace twinyard::wire
