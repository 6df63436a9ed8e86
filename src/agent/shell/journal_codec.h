#pragma once

#include <string>
#include <string_view>

#include "agent/core/events.h"
#include "base/result.h"

namespace twinyard::agent {

/// A fact as a record of the journal file: kind (1 byte), node (4, little-endian), then the fact in
/// the wire's format. Kinds are never used again.
[[nodiscard]] std::string encode_entry(const JournalEntry& entry);
/// Corrupt if it is no such record.
[[nodiscard]] Result<JournalEntry> decode_entry(std::string_view record);

}  // namespace twinyard::agent
