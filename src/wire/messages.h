#pragma once

#include <string>
#include <string_view>

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

/// "type number field" lines of all tables.
void list_model_numbers(std::string& out);
void list_agent_numbers(std::string& out);
void list_slurm_numbers(std::string& out);

}  // namespace twinyard::wire
